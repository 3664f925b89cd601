"""Human labels: they override the rules' labels, and Cohen's κ measures the agreement of both.

Sources: Cohen, A coefficient of agreement for nominal scales, 1960; Cohen, Weighted kappa, 1968.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import isnan, nan
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from rankjury.core.columns import GRADE, ITEM, QUERY, match_columns
from rankjury.core.types import Floats, Ints, places_in
from rankjury.core.validation import Record
from rankjury.errors import DataError, UnknownName, guard_reading
from rankjury.io.source import Source
from rankjury.io.tables import Row, read_records
from rankjury.labeling.products.labels import GRADES, Labels
from rankjury.stats.resampling import Bounds, Keys, Resampling, draw_sums, query_keys

Weighting = Literal["none", "linear", "quadratic"]
_FEWEST_DEFINED = 0.9
"""An interval needs this share of resamples with a defined κ: in the others one side has a single grade."""


@dataclass(frozen=True)
class Kappa(Record):
    """Cohen's κ, and its interval if there are enough groups to resample."""

    value: float
    ci: Bounds | None = None
    weighting: Weighting = "none"


def confusion_counts(first: Ints, second: Ints, grades: int) -> Ints:
    """Return the number of pairs with grade i by the first and j by the second side; grades are 0, 1, 2 …."""
    return np.bincount(first * grades + second, minlength=grades * grades).reshape(grades, grades)


def kappa_from_counts(counts: Ints | Floats, weighting: Weighting = "none") -> Floats:
    """Return κ of tables of counts, the last two axes; NaN if both sides always give the same grade, or none.

    Formula: 1 − Σ w·observed ÷ Σ w·expected, w = 0 on the diagonal and else 1, |i − j| or (i − j)².
    """
    if weighting not in get_args(Weighting):
        raise UnknownName("weighting", weighting, get_args(Weighting))
    table = np.asarray(counts, dtype=np.float64)
    places = np.arange(table.shape[-1])
    apart = np.abs(places[:, None] - places[None, :]).astype(np.float64)
    weights = {"none": (apart > 0).astype(np.float64), "linear": apart, "quadratic": apart**2}[weighting]
    total = table.sum(axis=(-2, -1))
    observed = (weights * table).sum(axis=(-2, -1)) * total
    expected = (weights * (table.sum(axis=-1)[..., :, None] * table.sum(axis=-2)[..., None, :])).sum(axis=(-2, -1))
    share = np.divide(observed, expected, out=np.full(np.shape(total), nan), where=expected > 0)
    return np.asarray(1.0 - share)


def cohen_kappa(
    first: Ints,
    second: Ints,
    *,
    grades: int,
    weighting: Weighting = "none",
    group: Ints | None = None,
    keys: Keys | None = None,
    resampling: Resampling | None = None,
) -> Kappa:
    """Return κ of two sides' grades of the same pairs.

    With ``group`` (of each pair, from 0 on) and the ``keys`` of groups, a percentile interval is computed: whole
    groups, such as all pairs of a query, are resampled, since they are graded by the same person.
    """
    table = confusion_counts(first, second, grades)
    value = float(kappa_from_counts(table, weighting))
    if group is None or keys is None or isnan(value) or keys.size < 2:
        return Kappa(value, None, weighting)
    chosen = resampling or Resampling()
    cells = np.zeros((keys.size, grades * grades))
    np.add.at(cells, (group, first * grades + second), 1.0)
    sums = draw_sums(keys, cells, chosen.resamples).T.reshape(-1, grades, grades)
    drawn = kappa_from_counts(sums, weighting)
    defined = drawn[~np.isnan(drawn)]
    if defined.size < _FEWEST_DEFINED * drawn.size:
        return Kappa(value, None, weighting)
    tail = (1.0 - chosen.level) / 2.0
    low, high = np.quantile(defined, [tail, 1.0 - tail]).tolist()
    return Kappa(value, (low, high), weighting)


HUMAN = "human"
"""Rule name of a grade from a person."""
_HEURISTIC = "heuristic"


@dataclass(frozen=True, eq=False)
class LabelAgreement:
    """Agreement of the rules' grades with people's, over the pairs that both graded."""

    pairs: int
    exact: int
    kappa: Kappa
    weighted: Kappa
    """With quadratic weights: a difference of two grades is four times as bad as one."""
    table: tuple[tuple[int, ...], ...]
    """Number of pairs with grade i by the rules (rows) and j by people (columns)."""
    disagreements: pl.DataFrame
    """query_id, item_id, heuristic, human, rule, category, attributes, brand; the largest differences first."""

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


def read_human_labels(given: str | Path, labels: Labels) -> pl.DataFrame:
    """Read query_id, item_id and grade: each pair once, of known queries and items, graded 0 to 3."""
    source = Source.open(given)
    with guard_reading(source.name, "judgements"):
        records = read_records(source)
        names = list(dict.fromkeys(name for record in records for name in record.fields))
        columns = match_columns(names, "gold", where=source.name)
        known = {QUERY: set(labels.queries["id"]), ITEM: set(labels.items)}
        rows = [_row(record, columns, known) for record in records]
        first: dict[tuple[str, str], str] = {}
        for row, record in zip(rows, records, strict=True):
            earlier = first.setdefault((row[QUERY], row[ITEM]), record.place)
            if earlier != record.place:
                found = f"query {row[QUERY]} with item {row[ITEM]} is at {earlier} already"
                raise DataError(found, where=record.place, expected="each pair once")
        return pl.DataFrame(rows, schema={QUERY: pl.String, ITEM: pl.String, GRADE: pl.Int64})


def merge_human_labels(
    labels: Labels, human: pl.DataFrame, *, resampling: Resampling | None = None
) -> tuple[Labels, LabelAgreement]:
    """Return the labels with people's grades instead of the rules', and the agreement of both."""
    graded = human.select(QUERY, ITEM, pl.col(GRADE).alias(HUMAN))
    pairs = graded.join(labels.found, on=(QUERY, ITEM), how="left", maintain_order="left").with_columns(
        pl.col(GRADE).fill_null(0).alias(_HEURISTIC), pl.col("rule").fill_null("nothing")
    )
    agreement = _agreement(pairs, resampling)
    queries = pl.Enum(labels.queries["id"])
    order = {name: place for place, name in enumerate(labels.items)}
    joined = labels.found.join(graded, on=(QUERY, ITEM), how="full", coalesce=True).with_columns(
        pl.coalesce(HUMAN, GRADE).alias(GRADE),
        pl.when(pl.col(HUMAN).is_null()).then("rule").otherwise(pl.lit(HUMAN)).alias("rule"),
        pl.col("attributes").fill_null(pl.lit([], dtype=pl.List(pl.String))),
    )
    ordered = joined.sort(
        pl.col(QUERY).cast(queries), pl.col(ITEM).replace_strict(order, return_dtype=pl.Int64), maintain_order=True
    )
    return replace(labels, found=ordered.select(labels.found.columns)), agreement


def _row(record: Row, columns: Mapping[str, str], known: Mapping[str, set[str]]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, kind, source in ((QUERY, "query", "query set"), (ITEM, "item", "catalogue")):
        value = record.fields.get(columns[name])
        row[name] = "" if value is None else str(value).strip()
        if row[name] not in known[name]:
            found = f"unknown {kind} {row[name]!r}" if row[name] else f"no {columns[name]}"
            raise DataError(found, where=record.place, expected=f"an id of the {source}")
    given: Any = record.fields.get(columns[GRADE])
    try:
        grade = float(given) if not isinstance(given, bool) else -1.0
    except (TypeError, ValueError):
        grade = -1.0
    if grade not in GRADES:
        found = f"the grade of query {row[QUERY]} with item {row[ITEM]} is {given!r}"
        raise DataError(found, where=record.place, expected="0, 1, 2 or 3")
    return {**row, GRADE: int(grade)}


def _agreement(pairs: pl.DataFrame, resampling: Resampling | None) -> LabelAgreement:
    heuristic, human = pairs[_HEURISTIC].to_numpy(), pairs[HUMAN].to_numpy()
    chosen = resampling or Resampling()
    queries = pairs[QUERY].unique(maintain_order=True)
    keys, group = query_keys(queries, chosen.seed), places_in(queries, pairs[QUERY])
    kappa = partial(cohen_kappa, heuristic, human, grades=len(GRADES), group=group, keys=keys, resampling=chosen)
    distance = (pl.col(_HEURISTIC) - pl.col(HUMAN)).abs()
    differing = pairs.filter(distance > 0).sort(distance, descending=True, maintain_order=True)
    return LabelAgreement(
        pairs.height,
        int((heuristic == human).sum()),
        kappa(),
        kappa(weighting="quadratic"),
        tuple(map(tuple, confusion_counts(heuristic, human, len(GRADES)).tolist())),
        differing.select(QUERY, ITEM, _HEURISTIC, HUMAN, "rule", "category", "attributes", "brand"),
    )
