"""A small bench, and an engine whose recall is known beforehand and which can be lost."""

from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

from rankjury.core.journal import Journal
from rankjury.core.params import Param, Setting
from rankjury.core.progress import Progress
from rankjury.core.types import Floats, Ints, Matrix, Vectors
from rankjury.errors import DataError, ImpossibleSetting, UsageError
from rankjury.retrieval.bench.benchmark import IndexBenchmark
from rankjury.retrieval.bench.sweep_result import SCHEMA, PairedTimes, SweepPoint, SweepResult
from rankjury.retrieval.engines.base import ENGINES, Filter
from rankjury.retrieval.engines.exact import Exact
from rankjury.stats.resampling import Resampling

ITEMS, QUERIES, K = 200, 12, 5


def vectors(count: int, prefix: str, seed: int, dimensions: int = 8) -> Vectors:
    values = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    return Vectors(pl.Series([f"{prefix}{number}" for number in range(count)]), values)


def bench(engine: str = "glance", *, seed: int = 0, **more: Any) -> IndexBenchmark:
    given: dict[str, Any] = {"k": K, "resampling": Resampling(resamples=100)} | more
    return IndexBenchmark(vectors(ITEMS, "i", seed), vectors(QUERIES, "q", seed + 1), engine=engine, **given)


class Glance(Exact):
    """Looks at the first items of the corpus only: the more it looks at, the more it finds, and all at last."""

    approximate = True
    open_params: ClassVar = {"url": Param("", "where it would be"), "api_key": Param("", "a secret")}
    build_params: ClassVar = {"m": Param(8, "nothing but a number", min=1, max=64)}
    search_params: ClassVar = {
        "reach": Param(50, "how many it looks at", min=1, monotonic_recall=True),
        "twice": Param(False, "look twice"),
        "share": Param(1.0, "of the reach", min=0.0, monotonic_recall=True),
    }
    built: ClassVar[list[int]] = []
    """The m of every build."""
    searched: ClassVar[list[int]] = []
    """The reach of every search of all queries."""
    turns: ClassVar[list[tuple[int, int]]] = []
    """The m and reach of every search of a single query."""
    open_now: ClassVar[int] = 0
    most_open: ClassVar[int] = 0
    lost_at: ClassVar[set[tuple[int, int]]] = set()
    """By m and reach: where the connection is lost."""
    lost_when_timed: ClassVar[set[tuple[int, int]]] = set()
    waits: ClassVar[float] = 0.0
    """Seconds that it waits for an answer when it is lost."""
    lost: ClassVar[int] = 0
    """How often it waited in vain."""
    refused: ClassVar[set[int]] = set()
    impossible: ClassVar[set[int]] = set()
    """A reach or an m that it can never be searched or built with."""
    unbuildable: ClassVar[set[int]] = set()
    stuck: ClassVar[bool] = False
    """Whether it cannot be closed."""

    def _build(self, vectors: Matrix, ids: pl.Series, progress: Progress) -> None:
        self.m = int(self._build_values["m"])
        if self.m in self.unbuildable:
            raise DataError(f"no room for m={self.m}")
        if self.m in self.impossible:
            raise ImpossibleSetting(f"m is {self.m}", expected="a divisor of 8")
        super()._build(vectors, ids, progress)
        Glance.built.append(self.m)
        Glance.open_now += 1
        Glance.most_open = max(Glance.most_open, Glance.open_now)
        self._open = True

    def _search(
        self, queries: Any, k: int, params: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> tuple[Ints, Floats]:
        reach = int(params["reach"] * float(params["share"]))
        if (self.m, reach) in (self.lost_at if len(queries) > 1 else self.lost_when_timed):
            Glance.lost += 1
            Glance.lost_at.add((self.m, reach))  # it stays lost
            sleep(self.waits)
            raise RuntimeError("server closed the connection\nunexpectedly")
        if reach in self.refused:
            raise UsageError(f"reach is {reach}", expected="another")
        if reach in self.impossible:
            raise ImpossibleSetting(f"reach is {reach}", expected="k or more")
        if len(queries) == 1:
            Glance.turns.append((self.m, reach))
        if len(queries) > 1:
            Glance.searched.append(reach)
        whole, self._index = self._index, self._index[:reach]
        places, self._places = self._places, self._places[:reach]
        try:
            return super()._search(queries, min(k, reach), params, filter, exact)
        finally:
            self._index, self._places = whole, places

    def close(self) -> None:
        super().close()
        if getattr(self, "_open", False):
            Glance.open_now -= 1
            self._open = False
            if self.stuck:
                raise OSError("will not close")


@pytest.fixture
def glance(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Glance]]:
    """The engine under its name, with nothing counted yet and nothing broken."""
    entries = {name: ENGINES.get(name) for name in ENGINES.names()}
    monkeypatch.setattr(ENGINES, "_entries", {**entries, "glance": Glance})
    for name in ("built", "searched", "turns"):
        monkeypatch.setattr(Glance, name, [])
    for name in ("lost_at", "lost_when_timed", "refused", "impossible", "unbuildable"):
        monkeypatch.setattr(Glance, name, set())
    for name, value in (("stuck", False), ("open_now", 0), ("most_open", 0), ("waits", 0.0), ("lost", 0)):
        monkeypatch.setattr(Glance, name, value)
    yield Glance
    assert Glance.open_now == 0, "an index was left open"


def lines_of(path: Path) -> list[str]:
    """The finished points of a journal."""
    return path.read_text().splitlines()[1:]


def journal_in(folder: Path) -> Journal:
    return Journal(folder / "journal.jsonl")


def sweep_from_json(form: dict[str, Any]) -> SweepResult:
    """Read the JSON of a sweep; the frontier and the cheapest point are computed again."""
    assert form["schema"] == SCHEMA
    plain = ("name", "engine", "metric", "k", "items", "dimensions", "queries", "level", "timed", "about", "resumed")
    return SweepResult(
        **{key: form[key] for key in plain},
        points=tuple(map(SweepPoint.from_json, form["points"])),
        target=form["target"]["recall"],
        limit_p95_ms=form["target"]["p95_ms"],
        notes=tuple(form["notes"]),
        times=None if form["comparison"] is None else PairedTimes.from_json(form["comparison"]),
    )


def point(
    recall: float, p95: float, ci: tuple[float, float] | None = None, *, p95_ci: tuple[float, float] | None = None,
    bounded: bool = True, size: int | None = 100, seconds: float = 1.0, failed: int = 0, **search: Any,
) -> SweepPoint:  # fmt: skip
    """A measured point, with intervals as wide as nothing unless given."""
    low, high = p95_ci or (p95, p95)
    ends = {"ms": p95, "ci": [low, high], "bounded": bounded}
    p50, p99 = ({"ms": ms, "ci": None} for ms in (p95 / 2, 2 * p95))
    form = {
        "build": {"m": 8},
        "search": search or {"reach": int(1000 * p95)},
        "status": "measured",
        "recall": {"mean": recall, "ci": ci or (recall, recall), "p5": recall / 2, "n": 40},
        "latency": {"p50": p50, "p95": ends, "p99": p99, "qps": 1000 / p95},
        "build_seconds": seconds,
        "size_bytes": size,
        "failed_queries": failed,
    }
    return SweepPoint.from_json(form)
