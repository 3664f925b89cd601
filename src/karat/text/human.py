"""Labels that people gave: they override the rules', and say how far those can be trusted."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from karat.columns import GRADE, ITEM, QUERY, match_columns
from karat.errors import DataError
from karat.formats.source import Source
from karat.guard import guard_reading
from karat.statistics.intervals import Resampling
from karat.statistics.kappa import Kappa, cohen_kappa, confusion
from karat.statistics.streams import keys_of
from karat.text.labels import GRADES, Labels
from karat.text.records import Record, read_records

__all__ = ["HUMAN", "LabelAgreement", "merge", "read_human"]

HUMAN = "human"
"""The rule of a grade that a person gave."""
_HEURISTIC = "heuristic"
_HELD = {QUERY: "query set", ITEM: "catalogue"}


@dataclass(frozen=True, eq=False)
class LabelAgreement:
    """The rules' grades beside people's, over the pairs that both graded."""

    pairs: int
    exact: int
    kappa: Kappa
    weighted: Kappa
    """With quadratic weights: two grades apart is four times as bad as one."""
    table: tuple[tuple[int, ...], ...]
    """How often the rules say i (down) and people j (across)."""
    disagreements: pl.DataFrame
    """query_id, item_id, heuristic, human, rule, category, attributes, brand; the widest apart first."""

    def to_json(self) -> dict[str, Any]:
        return {
            "pairs": self.pairs,
            "exact": self.exact,
            "kappa": self.kappa.to_json(),
            "weighted_kappa": self.weighted.to_json(),
            "grades": list(GRADES),
            "confusion": [list(row) for row in self.table],
            "disagreements": self.disagreements.to_dicts(),
        }


def read_human(given: str | Path, labels: Labels) -> pl.DataFrame:
    """query_id, item_id, grade: each pair once, of queries and items that there are, graded 0 to 3."""
    source = Source.open(given)
    with guard_reading(source.name, "judgements"):
        return _judgements(source, labels)


def _judgements(source: Source, labels: Labels) -> pl.DataFrame:
    records = read_records(source)
    names = list(dict.fromkeys(name for one in records for name in one.fields))
    columns = match_columns(names, "gold", where=source.name)
    known = {QUERY: set(labels.queries["id"]), ITEM: set(labels.items)}
    rows = [_row(one, columns, known) for one in records]
    first: dict[tuple[str, str], str] = {}
    for row, record in zip(rows, records, strict=True):
        earlier = first.setdefault((row[QUERY], row[ITEM]), record.place)
        if earlier != record.place:
            found = f"query {row[QUERY]} with item {row[ITEM]} stands at {earlier} already"
            raise DataError(found, where=record.place, expected="each pair once")
    return pl.DataFrame(rows, schema={QUERY: pl.String, ITEM: pl.String, GRADE: pl.Int64})


def merge(
    labels: Labels, human: pl.DataFrame, *, resampling: Resampling | None = None
) -> tuple[Labels, LabelAgreement]:
    """Labels in which people's grades stand instead of the rules', and how far the two agreed."""
    told = human.select(QUERY, ITEM, pl.col(GRADE).alias(HUMAN))
    pairs = told.join(labels.found, on=(QUERY, ITEM), how="left", maintain_order="left").with_columns(
        pl.col(GRADE).fill_null(0).alias(_HEURISTIC), pl.col("rule").fill_null("nothing")
    )
    agreement = _agreement(pairs, resampling)
    queries = pl.Enum(labels.queries["id"])
    order = {name: place for place, name in enumerate(labels.items)}
    joined = labels.found.join(told, on=(QUERY, ITEM), how="full", coalesce=True).with_columns(
        pl.coalesce(HUMAN, GRADE).alias(GRADE),
        pl.when(pl.col(HUMAN).is_null()).then("rule").otherwise(pl.lit(HUMAN)).alias("rule"),
        pl.col("attributes").fill_null(pl.lit([], dtype=pl.List(pl.String))),
    )
    ordered = joined.sort(
        pl.col(QUERY).cast(queries), pl.col(ITEM).replace_strict(order, return_dtype=pl.Int64), maintain_order=True
    )
    return replace(labels, found=ordered.select(labels.found.columns)), agreement


def _row(record: Record, columns: Mapping[str, str], known: Mapping[str, set[str]]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name in (QUERY, ITEM):
        value = record.fields.get(columns[name])
        row[name] = "" if value is None else str(value).strip()
        if row[name] not in known[name]:
            kind = "query" if name == QUERY else "item"
            found = f"unknown {kind} {row[name]!r}" if row[name] else f"no {columns[name]}"
            raise DataError(found, where=record.place, expected=f"an id of the {_HELD[name]}")
    row[GRADE] = _grade(record.fields.get(columns[GRADE]))
    if row[GRADE] is None:
        found = f"the grade of query {row[QUERY]} with item {row[ITEM]} is {record.fields.get(columns[GRADE])!r}"
        raise DataError(found, where=record.place, expected="0, 1, 2 or 3")
    return row


def _grade(value: Any) -> int | None:
    try:
        number = float(value) if not isinstance(value, bool) else -1.0
    except (TypeError, ValueError):
        return None
    return int(number) if number in GRADES else None


def _agreement(pairs: pl.DataFrame, resampling: Resampling | None) -> LabelAgreement:
    heuristic, human = pairs[_HEURISTIC].to_numpy(), pairs[HUMAN].to_numpy()
    chosen = resampling or Resampling()
    queries = pairs[QUERY].unique(maintain_order=True)
    group = pairs[QUERY].replace_strict(queries, np.arange(len(queries)), return_dtype=pl.Int64).to_numpy()
    keys = keys_of(queries, chosen.seed)
    kappa = partial(cohen_kappa, heuristic, human, grades=len(GRADES), group=group, keys=keys, resampling=chosen)
    apart = (pl.col(_HEURISTIC) - pl.col(HUMAN)).abs()
    differing = pairs.filter(apart > 0).sort(apart, descending=True, maintain_order=True)
    return LabelAgreement(
        pairs.height,
        int((heuristic == human).sum()),
        kappa(),
        kappa(weighting="quadratic"),
        tuple(map(tuple, confusion(heuristic, human, len(GRADES)).tolist())),
        differing.select(QUERY, ITEM, _HEURISTIC, HUMAN, "rule", "category", "attributes", "brand"),
    )
