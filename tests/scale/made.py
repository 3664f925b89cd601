"""A small gold and some runs, as Parquet in every way it may be laid out, scored at once and in blocks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.convert import gold_from_frame, ranking_from_frame
from rankjury.evaluation.compare import assess
from rankjury.evaluation.evaluate import resolve_measures
from rankjury.evaluation.judge import DuplicateRule
from rankjury.evaluation.report import Report
from rankjury.evaluation.slices import SliceTable
from rankjury.evaluation.slices.groups import parse_attributes
from rankjury.io.attributes import read_attributes
from rankjury.scale.local import evaluate_tables
from rankjury.scale.memory import Budget
from rankjury.scale.request import EvaluationRequest, SliceFile
from rankjury.stats.resampling import Resampling

QUICK = Resampling(resamples=100)
GIGABYTE = 10**9
WAYS = ("sorted", "shuffled", "files", "hive", "split")
_ITEMS = 60


def gold_of(queries: int, seed: int = 0) -> pl.DataFrame:
    """Eight judged items a query; of some queries none is relevant."""
    chance = np.random.default_rng(seed)
    ids = np.repeat(np.arange(queries), 8)
    grades = chance.integers(0, 4, ids.size) * (ids % 7 != 0)
    return pl.DataFrame({"query_id": ids, "item_id": _items(chance, queries, 8), "grade": grades})


def run_of(queries: int, seed: int) -> pl.DataFrame:
    """Lists of 15 with many equal scores; a few of the gold's queries are missing, and five are not in the gold."""
    chance = np.random.default_rng(seed)
    ids = np.repeat(np.arange(queries + 5), 15)
    scores = np.round(chance.random(ids.size) * 40) / 40
    rows = pl.DataFrame({"query_id": ids, "item_id": _items(chance, queries + 5, 15), "score": scores})
    return rows.filter(~pl.col("query_id").is_in(chance.integers(0, queries, 4).tolist()))


def _items(chance: np.random.Generator, queries: int, each: int) -> np.ndarray:
    return np.concatenate([chance.permutation(_ITEMS)[:each] for _ in range(queries)])


def as_text(rows: pl.DataFrame) -> pl.DataFrame:
    ids = [name for name in ("query_id", "item_id") if name in rows.columns]
    return rows.with_columns(pl.format("{}-x", name).alias(name) for name in ids)


def laid_out(rows: pl.DataFrame, path: Path, way: str) -> pl.DataFrame:
    """Written to a file, or to a folder of them; the rows as they are read back, in order."""
    if way == "shuffled":
        rows = rows.sample(fraction=1.0, shuffle=True, seed=3)
    if way in ("sorted", "shuffled"):
        rows.write_parquet(path)
        return rows
    path.mkdir()
    if way == "hive":
        parts = {f"day={part}": rows.filter(pl.col("query_id").hash(1) % 3 == part) for part in range(3)}
    elif way == "split":  # half of every query's rows are in another file
        odd = pl.int_range(pl.len()) % 2 == 1
        parts = {"even.parquet": rows.filter(~odd), "odd.parquet": rows.filter(odd)}
    else:
        size = -(-rows.height // 11)
        parts = {f"part-{place}.parquet": rows.slice(place * size, size) for place in range(11)}
    for name, part in parts.items():
        if way == "hive":
            (path / name).mkdir()
        part.write_parquet(path / name / "0.parquet" if way == "hive" else path / name)
    return pl.concat(parts.values())


@dataclass(frozen=True)
class Study:
    """What is asked of a gold and runs that are there both as frames and as files."""

    gold: tuple[pl.DataFrame, Path]
    runs: Mapping[str, tuple[pl.DataFrame, Path]]
    measures: Sequence[str] = ("ndcg@10", "ap", "precision@5", "judged@10")
    resampling: Resampling | None = QUICK
    baseline: str | None = None
    slices: Sequence[tuple[Path, str]] = ()
    """Tables of attributes, and what to group by; empty: whatever groups well."""
    item_slices: Sequence[tuple[Path, str]] = ()
    duplicates: DuplicateRule = "error"
    quantiles: Sequence[float] = field(default=())

    @classmethod
    def of(cls, folder: Path, way: str, *, queries: int = 60, systems: int = 2, text: bool = False) -> "Study":
        """With runs a, b, c …, laid out in one of the ways."""

        def put(name: str, rows: pl.DataFrame) -> tuple[pl.DataFrame, Path]:
            path = folder / name
            return laid_out(as_text(rows) if text else rows, path, way), path

        folder.mkdir(exist_ok=True)
        runs = {name: put(name, run_of(queries, seed)) for seed, name in enumerate("abcdef"[:systems], 1)}
        return cls(put("gold", gold_of(queries)), runs)

    def at_once(self) -> Report:
        rows, path = self.gold
        return assess(
            gold_from_frame(rows, source=str(path)),
            {name: ranking_from_frame(one, source=str(where)) for name, (one, where) in self.runs.items()},
            resolve_measures(self.measures),
            resampling=self.resampling,
            baseline=self.baseline,
            slices=[_cuts(path, by, "query") for path, by in self.slices],
            item_slices=[_cuts(path, by, "item") for path, by in self.item_slices],
            duplicates=self.duplicates,
        )

    @property
    def request(self) -> EvaluationRequest:
        """Without slices, which are read from their files."""
        return EvaluationRequest(
            str(self.gold[1]),
            {name: str(path) for name, (_, path) in self.runs.items()},
            tuple(resolve_measures(self.measures)),
            self.resampling,
            self.baseline,
            self.duplicates,
            quantiles=tuple(self.quantiles),
        )

    @property
    def slices_asked(self) -> tuple[list[SliceFile], list[SliceFile]]:
        """Of queries, and of items."""
        of_queries, of_items = (
            [SliceFile(str(path), parse_attributes(by) if by else None) for path, by in given]
            for given in (self.slices, self.item_slices)
        )
        return of_queries, of_items

    def in_blocks(self, max_rows: int = 700, **options: Any) -> Report:
        return evaluate_tables(self.request, *self.slices_asked, Budget(GIGABYTE, max_rows), **options)

    def asking(self, **changes: Any) -> "Study":
        return replace(self, **changes)


def _cuts(path: Path, by: str, kind: str) -> SliceTable:
    table, id_column = read_attributes(str(path), kind)
    of = "queries" if kind == "query" else "items"
    return SliceTable(table, id_column, of, parse_attributes(by) if by else None, str(path))


def form_of(report: Report) -> dict[str, Any]:
    """All but the queries that changed most, which are not looked for in blocks."""
    form = report.to_json()
    form.pop("changes", None)
    return form
