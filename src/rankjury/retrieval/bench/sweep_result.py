"""Result of a sweep: its points, the Pareto frontier, and the cheapest setting that meets a target.

P95 latencies that were measured one setting after the other cannot be compared on a machine that does other work: a
burst of load slows whichever setting is measured then. So the candidates take turns (``PairedTimes``). In every round
each of them answers the same queries in the same order, and the order of the candidates is drawn anew. Only values of
the same round are compared.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from json import dumps
from math import exp, fsum, inf, log
from typing import Any, Literal, get_args

import numpy as np

from rankjury.core.params import Params, Setting
from rankjury.errors import UnknownName
from rankjury.retrieval.bench.grid import format_params
from rankjury.retrieval.bench.latency import Percentile
from rankjury.stats.resampling import Bounds
from rankjury.stats.significance import SignedRanks

Status = Literal["measured", "pruned", "skipped", "failed"]
"""skipped: the engine refuses the setting for good; failed: it may succeed another time."""


@dataclass(frozen=True)
class SweepPoint:
    """A setting: measured, pruned as dominated, skipped as impossible, or failed; ``because`` has the reason."""

    build: Params
    search: Params
    status: Status
    recall: float | None = None
    recall_ci: Bounds | None = None
    recall_p5: float | None = None
    n: int = 0
    """Queries that recall is over."""
    p50: Percentile | None = None
    p95: Percentile | None = None
    p99: Percentile | None = None
    qps: float | None = None
    failed_queries: int = 0
    build_seconds: float | None = None
    size_bytes: int | None = None
    because: str | None = None
    by: Mapping[str, Setting] | None = None
    """The search setting of the same build that dominates this one."""
    latency: Mapping[str, Any] = field(default_factory=dict)
    """JSON of the latency."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Metadata of the engine."""

    @property
    def title(self) -> str:
        """``m=16 ef_search=64``"""
        return format_params({**self.build, **self.search})

    @property
    def build_title(self) -> str:
        return format_params(self.build)

    @property
    def search_title(self) -> str:
        return format_params(self.search)

    @property
    def comparable(self) -> bool:
        """Whether it was measured and every query was answered."""
        return self.recall is not None and self.p95 is not None and not self.failed_queries

    def to_json(self) -> dict[str, Any]:
        form: dict[str, Any] = {"build": dict(self.build), "search": dict(self.search), "status": self.status}
        if self.status != "measured":
            return form | {"because": self.because} | ({"by": dict(self.by)} if self.by is not None else {})
        ci = None if self.recall_ci is None else list(self.recall_ci)
        return form | {
            "recall": {"mean": self.recall, "ci": ci, "p5": self.recall_p5, "n": self.n},
            "latency": dict(self.latency),
            "failed_queries": self.failed_queries,
            "build_seconds": self.build_seconds,
            "size_bytes": self.size_bytes,
            "facts": dict(self.facts),
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> "SweepPoint":
        """Read the JSON of a point; raise KeyError, TypeError or ValueError if it is not one.

        That of a measured point has the JSON of its ``AnnRecall`` and ``Latency``.
        """
        build, search, status = dict(form["build"]), dict(form["search"]), form["status"]
        if status not in get_args(Status):
            raise ValueError(f"status is {status!r}")
        if status != "measured":
            return cls(build, search, status, because=form["because"], by=form.get("by"))
        recall, latency = form["recall"], form["latency"]
        p50, p95, p99 = (_quantile(latency.get(name)) for name in ("p50", "p95", "p99"))
        return cls(
            build, search, status, recall["mean"], _bounds(recall["ci"]), recall["p5"], recall["n"], p50, p95, p99,
            latency.get("qps"), max(form["failed_queries"], int(latency.get("failed") or 0)), form["build_seconds"],
            form["size_bytes"], latency=dict(latency), facts=dict(form.get("facts") or {}),
        )  # fmt: skip


def _quantile(form: Mapping[str, Any] | None) -> Percentile | None:
    if form is None or form["ms"] is None:
        return None
    return Percentile(float(form["ms"]), _bounds(form.get("ci")), bool(form.get("bounded", True)))


def _bounds(form: Any) -> Bounds | None:
    return None if form is None or None in form else (float(form[0]), float(form[1]))


PAIRED_ROUNDS = 16
"""The least p-value of 16 paired values is 2/2^16, so that 1,600 candidates can still be distinguished."""


def setting_key(build: Params, search: Params) -> str:
    """Return a text that is the same for equal settings, whatever the order of their parameters."""
    return dumps([dict(build), dict(search)], sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True)
class PairedTimes:
    """P95 of each candidate in each interleaved round, in milliseconds."""

    settings: tuple[tuple[Params, Params], ...]
    """Build and search parameters of the candidates."""
    p95_ms: tuple[tuple[float, ...], ...]
    """One row per candidate, one value per round."""
    asked: int = 0
    """Queries that each candidate answered in a round."""

    @property
    def rounds(self) -> int:
        return len(self.p95_ms[0]) if self.p95_ms else 0

    def of(self, point: SweepPoint) -> tuple[float, ...] | None:
        """Return the values of a setting, one per round; None where it was not compared."""
        key = setting_key(point.build, point.search)
        keys = [setting_key(*setting) for setting in self.settings]
        return self.p95_ms[keys.index(key)] if key in keys else None

    def mean(self, point: SweepPoint) -> float | None:
        """Return the geometric mean over the rounds; None where the setting was not compared."""
        values = self.of(point)
        return None if not values else exp(fsum(map(log, values)) / len(values))

    def to_json(self) -> dict[str, Any]:
        rows = [
            {"build": dict(build), "search": dict(search), "p95_ms": list(values)}
            for (build, search), values in zip(self.settings, self.p95_ms, strict=True)
        ]
        return {"rounds": self.rounds, "asked": self.asked, "settings": rows}

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> "PairedTimes":
        """Read what ``to_json`` gave; KeyError, TypeError or ValueError where it is something else."""
        rows = form["settings"]
        times = tuple(tuple(map(float, row["p95_ms"])) for row in rows)
        if {len(values) for values in times} - {int(form["rounds"])} or any(
            value <= 0 for row in times for value in row
        ):
            raise ValueError("expected a positive time for every round")
        return cls(tuple((dict(row["build"]), dict(row["search"])) for row in rows), times, int(form["asked"]))


def is_significantly_less(quick: Sequence[float], slow: Sequence[float], tests: int = 1) -> bool:
    """Decide whether the first is less than the second, in the same rounds, by more than 5 %.

    Equal indexes in one process can differ by a few per cent in every round, as their memory is laid out differently,
    and by another amount when they are built again. Wilcoxon's signed-rank test of the logarithms of the ratios must
    reject, at 95 %, that the second is at most 5 % larger; with Bonferroni's correction for so many ``tests``. As the
    order within a round is random, the test is exact whatever the load was.
    """
    ratios = np.log(np.asarray(slow, dtype=np.float64) / np.asarray(quick, dtype=np.float64)) - log(1.05)
    ranks = SignedRanks.of(ratios)
    part = ranks.part()
    mostly_less = 2 * part.positive > part.n * (part.n + 1)  # of all doubled ranks
    return mostly_less and ranks.p * max(1, tests) <= 1.0 - 0.95


SCHEMA = "rankjury.sweep/1"
Cost = Literal["p95", "size", "build"]
COSTS: dict[str, Callable[[SweepPoint], float]] = {
    "p95": lambda point: inf if point.p95 is None else point.p95.ms,
    "size": lambda point: inf if point.size_bytes is None else point.size_bytes,
    "build": lambda point: inf if point.build_seconds is None else point.build_seconds,
}
"""Costs by name; lower is cheaper."""


@dataclass(frozen=True)
class SweepChoice:
    """The cheapest setting that meets the target."""

    outcome: Literal["sure", "tied", "unsure", "none"]
    """sure: it meets the target, and is cheaper than every other that does; tied: ``rivals`` may be as cheap; unsure:
    its means meet the target, its intervals do not; none: no mean does, and ``point`` comes nearest."""
    point: SweepPoint | None
    by: Cost
    recall: float | None
    p95_ms: float | None
    cheaper: SweepPoint | None = None
    """A cheaper point whose means meet the target, but whose intervals do not."""
    rivals: tuple[SweepPoint, ...] = ()
    """Other points that meet the target and whose cost cannot be distinguished from that of ``point``."""

    def to_json(self) -> dict[str, Any]:
        point, cheaper, *rivals = (
            None if point is None else {"build": dict(point.build), "search": dict(point.search)}
            for point in (self.point, self.cheaper, *self.rivals)
        )
        return {
            "outcome": self.outcome,
            "by": self.by,
            "point": point,
            "cheaper_but_unsure": cheaper,
            "cannot_be_distinguished": rivals,
        }


@dataclass(frozen=True)
class SweepResult:
    """Result of a sweep: all points of one index, in the order of the grid."""

    name: str
    engine: str
    metric: str
    k: int
    items: int
    dimensions: int
    queries: int
    points: tuple[SweepPoint, ...]
    target: float | None = None
    limit_p95_ms: float | None = None
    level: float | None = None
    """Confidence level; None without intervals."""
    timed: Mapping[str, int] = field(default_factory=dict)
    """Rounds, warm-up and concurrency."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Conditions of the sweep: everything but the settings that determines the result."""
    notes: tuple[str, ...] = ()
    resumed: int = 0
    """Points that were measured by an earlier call."""
    times: PairedTimes | None = None
    """P95 of the settings that meet the target, from interleaved rounds; None where they were not compared."""

    def of(self, status: Status) -> list[SweepPoint]:
        return [point for point in self.points if point.status == status]

    @property
    def aims(self) -> bool:
        """Whether there is a target."""
        return self.target is not None or self.limit_p95_ms is not None

    @property
    def comparable(self) -> list[SweepPoint]:
        return [point for point in self.points if point.comparable]

    def frontier(self) -> list[SweepPoint]:
        """Return the Pareto frontier of recall and P95, quickest first."""
        best, frontier = -inf, []
        for point in sorted(self.comparable, key=lambda point: (COSTS["p95"](point), -(point.recall or 0.0))):
            if (point.recall or 0.0) > best:
                best = point.recall or 0.0
                frontier.append(point)
        return frontier

    def meeting(self) -> list[SweepPoint]:
        """Return the points whose means meet the target, in the order of the grid."""
        return [point for point in self.comparable if not any(_shortfalls(point, self.target, self.limit_p95_ms))]

    def cheapest(self, recall: float | None = None, p95_ms: float | None = None, *, by: Cost = "p95") -> SweepChoice:
        """Return the cheapest point with at least ``recall`` within ``p95_ms``; defaults are the sweep's target.

        Whether a point meets the target is decided by the worse end of its interval, and whether it is cheaper than
        another by ``_is_cheaper``. Equal costs go by the other costs, then by the order of the grid.
        """
        if by not in COSTS:
            raise UnknownName("cost", by, COSTS)
        if recall is None and p95_ms is None:
            recall, p95_ms = self.target, self.limit_p95_ms
        ordered = sorted(self.comparable, key=lambda point: self._costs(point, by))
        meeting = [point for point in ordered if not any(_shortfalls(point, recall, p95_ms))]
        if not meeting:
            nearest = min(ordered, key=lambda point: max(_shortfalls(point, recall, p95_ms), default=0.0), default=None)
            return SweepChoice("none", nearest, by, recall, p95_ms)
        sure = [point for point in meeting if _surely_meets(point, recall, p95_ms)]
        best, *others = sure or meeting
        tests = len(meeting) - 1
        if by != "p95":  # searches of one build share its size and time
            others = [point for point in others if dict(point.build) != dict(best.build)]
        rivals = tuple(point for point in others if not self._is_cheaper(best, point, by, tests))
        outcome: Literal["sure", "tied", "unsure"] = "unsure" if not sure else "tied" if rivals else "sure"
        doubtful = (point for point in meeting if sure and point not in sure)
        cheaper = next((point for point in doubtful if self._is_cheaper(point, best, by, tests)), None)
        return SweepChoice(outcome, best, by, recall, p95_ms, cheaper, rivals)

    def _costs(self, point: SweepPoint, by: Cost) -> tuple[float, ...]:
        """Return what points are ordered by; those that were compared in pairs come first where P95 decides."""
        mean = None if self.times is None or by != "p95" else self.times.mean(point)
        return (mean is None, COSTS[by](point) if mean is None else mean, *(cost(point) for cost in COSTS.values()))

    def _is_cheaper(self, point: SweepPoint, other: SweepPoint, by: Cost, tests: int) -> bool:
        """Decide whether a point costs less than another, beyond chance.

        P95: in the paired rounds. The size is the same whenever it is measured. What was measured only once (the time
        to build, and P95 without paired rounds) must be twice as much.
        """
        if by == "size":
            return COSTS[by](point) < COSTS[by](other)
        paired = [None if self.times is None else self.times.of(candidate) for candidate in (point, other)]
        if by == "p95" and paired[0] and paired[1]:
            return is_significantly_less(paired[0], paired[1], tests)
        return 2.0 * COSTS[by](point) <= COSTS[by](other)

    def to_json(self) -> dict[str, Any]:
        place = {id(point): number for number, point in enumerate(self.points)}
        plain = ("name", "engine", "metric", "k", "items", "dimensions", "queries", "level")
        return {
            "schema": SCHEMA,
            **{key: getattr(self, key) for key in plain},
            "timed": dict(self.timed),
            "target": {"recall": self.target, "p95_ms": self.limit_p95_ms},
            "points": [point.to_json() for point in self.points],
            "frontier": [place[id(point)] for point in self.frontier()],
            "cheapest": {by: self.cheapest(by=by).to_json() for by in get_args(Cost)} if self.aims else None,
            "comparison": None if self.times is None else self.times.to_json(),
            "resumed": self.resumed,
            "notes": list(self.notes),
            "about": dict(self.about),
        }


def _surely_meets(point: SweepPoint, recall: float | None, p95_ms: float | None) -> bool:
    """Decide by the worse end of each interval; a value without an interval is not sure."""
    p95 = point.p95
    finds = recall is None or (point.recall_ci is not None and point.recall_ci[0] >= recall)
    return finds and (p95_ms is None or bool(p95 and p95.ci and p95.bounded and p95.ci[1] <= p95_ms))


def _shortfalls(point: SweepPoint, recall: float | None, p95_ms: float | None) -> Iterator[float]:
    """Yield the shortfall from each target as a share of it."""
    if recall is not None:
        yield max(0.0, recall - (point.recall or 0.0)) / recall if recall else 0.0
    if p95_ms is not None:
        yield max(0.0, COSTS["p95"](point) - p95_ms) / p95_ms
