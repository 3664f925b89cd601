"""Comparison of scores query by query (``compare``, ``diff``, ``drift``, gates), and the queries that changed most."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import polars as pl

from rankjury.core.types import ROW_NUMBER, Bools, Floats, Gold
from rankjury.core.validation import Record
from rankjury.evaluation.scores import Scores
from rankjury.measures.judged import Judged, is_relevant
from rankjury.stats.comparison import (
    Comparison,
    PairedValues,
    add_relative_differences,
    compare_pairs,
    correct_p_values,
)
from rankjury.stats.resampling import Resampling, query_keys


@dataclass(frozen=True, eq=False)
class ScorePair:
    """Scores of a system and of a baseline over the queries that both have, in the same order.

    Columns stand for the same measures, in the same order; the labels are those of the system.
    """

    system: str
    baseline: str
    scores: Scores
    baseline_scores: Scores
    unmatched: tuple[str, ...] = ()
    """Measures of the system that the baseline does not have under the same conventions."""
    incomplete: tuple[str, ...] = ()
    """Measures that are one value over all queries, and are not compared: the queries differ."""
    only: tuple[int, int] = (0, 0)
    """How many queries only the system has, and only the baseline."""

    @property
    def queries(self) -> pl.Series:
        """The queries in common."""
        return self.scores.queries

    def columns(self, members: Bools | slice = slice(None)) -> list[PairedValues]:
        """Return what is compared under each measure, over some of the queries."""
        ours, theirs = self.scores, self.baseline_scores
        return [
            PairedValues(
                *(self.system, self.baseline, label, ours.aggregates[place]),
                lower_is_better=label in ours.lower_is_better,
                whole=label in ours.whole,
                descriptive=label in ours.descriptive,
                values=ours.values[members, place],
                baseline_values=theirs.values[members, place],
            )
            for place, label in enumerate(ours.labels)
        ]


def pair_scores(system: str, scores: Scores, baseline: str, baseline_scores: Scores) -> ScorePair:
    """Align the scores of two systems on the ids of their queries, and on the conventions of their measures.

    A value over all queries, such as a coverage, is left out where a query that contributes to it is not in common:
    the mean of the other contributions is a value of nothing.
    """
    known = dict(zip(baseline_scores.labels, baseline_scores.conventions, strict=True))
    matched = {}
    for label, convention in zip(scores.labels, scores.conventions, strict=True):
        same = [other for other, of_other in known.items() if of_other == convention]
        if same:
            matched[label] = label if label in same else same[0]
    unmatched = tuple(label for label in scores.labels if label not in matched)
    ours, theirs = scores.only(list(matched)), baseline_scores.only(list(matched.values()))
    ids, other_ids = (side.queries.cast(pl.String) for side in (ours, theirs))
    if ids.equals(other_ids):
        return ScorePair(system, baseline, ours, theirs, unmatched)
    rows = pl.DataFrame({"id": ids}).with_row_index("row")
    other_rows = pl.DataFrame({"id": other_ids}).with_row_index("other_row")
    both = rows.join(other_rows, on="id", how="inner", maintain_order="left")
    parts = ours.part(both["row"].to_numpy()), theirs.part(both["other_row"].to_numpy())
    numbers = [(~np.isnan(side.values)).sum(axis=0) for side in (ours, theirs, *parts)]
    lost = (numbers[0] > numbers[2]) | (numbers[1] > numbers[3])
    incomplete = tuple(label for label, number in zip(matched, lost, strict=True) if number and label in ours.whole)
    compared = {label: other for label, other in matched.items() if label not in incomplete}
    return ScorePair(
        *(system, baseline, parts[0].only(list(compared)), parts[1].only(list(compared.values()))),
        *(unmatched, incomplete, (len(ids) - len(both), len(other_ids) - len(both))),
    )


def pair_with_baseline(systems: Mapping[str, Scores], baseline: str) -> list[ScorePair]:
    """Return every system but the baseline, paired with it."""
    return [
        pair_scores(name, scores, baseline, systems[baseline]) for name, scores in systems.items() if name != baseline
    ]


def compare_scores(
    pairs: Sequence[ScorePair], resampling: Resampling, *, relative: bool = False
) -> list[list[Comparison]]:
    """Compare pairs of scores under all their measures.

    Queries are paired. A measure that is one value over all queries is tested by the jackknife, others by sign flips.
    P-values are corrected for all comparisons of the call together (``stats.comparison.correct_p_values``).

    Args:
        pairs: What to compare.
        resampling: How intervals and tests are made.
        relative: Whether to tell differences as shares of the baseline's mean too.

    Returns:
        For each pair, one comparison per measure.
    """
    found: list[list[Comparison]] = [[] for _ in pairs]
    places = list(range(len(pairs)))
    while places:  # pairs over the same queries are resampled together
        queries = pairs[places[0]].queries
        alike = [place for place in places if pairs[place].queries.equals(queries)]
        keys = query_keys(queries, resampling.seed)
        columns = [pairs[place].columns() for place in alike]
        flat = [column for some in columns for column in some]
        compared = compare_pairs(flat, keys, resampling)
        rows = iter(add_relative_differences(compared, flat, keys, resampling) if relative else compared)
        for place, some in zip(alike, columns, strict=True):
            found[place] = [next(rows) for _ in some]
        places = [place for place in places if place not in alike]
    corrected = iter(correct_p_values(comparison for some in found for comparison in some))
    return [[next(corrected) for _ in some] for some in found]


_ROUNDING = 2.0**-36  # share of the largest score under which two are equal


@dataclass(frozen=True)
class Move(Record):
    """A relevant item's rank before and after; None where it was not retrieved."""

    json_keys = MappingProxyType({"item": "item_id", "before": "from", "after": "to"})

    item: str
    grade: float
    before: int | None
    after: int | None


@dataclass(frozen=True)
class Change(Record):
    """A query whose score differs between the baseline and a system."""

    computed = ("difference",)
    json_keys = MappingProxyType({"query": "query_id", "before": "baseline", "after": "value"})
    omitted = ("lower_is_better",)

    system: str
    measure: str
    query: str
    before: float
    after: float
    moves: tuple[Move, ...]
    lower_is_better: bool = False

    @property
    def difference(self) -> float:
        return self.after - self.before

    @property
    def gain(self) -> float:
        return -self.difference if self.lower_is_better else self.difference


@dataclass(frozen=True, eq=False)
class Trace:
    """Ranks of a system's judged items by query."""

    judged: Judged
    gold: Gold
    """The gold that ``judged.gold_index`` points into."""

    def ranks_of(self, row: int) -> dict[str, int]:
        """Return the rank of each retrieved gold item of a query."""
        first, last = np.searchsorted(self.judged.row, [row, row + 1])
        items = self.gold.items.gather(self.judged.gold_index[first:last]).cast(pl.String)
        return dict(zip(items, self.judged.rank[first:last].tolist(), strict=True))

    def relevant_of(self, query: str, rel: float | None) -> dict[str, float]:
        """Return the grades of a query's relevant items; for a gold too large to list, of those that were retrieved."""
        at = self.gold.queries.index_of(query)
        if at is None:
            return {}
        rows = np.arange(self.gold.starts[at], self.gold.starts[at + 1])
        grades = self.gold.grades[rows]
        relevant = is_relevant(grades, rel, self.judged)
        items = self.gold.items.gather(rows[relevant]).cast(pl.String)
        return dict(zip(items, grades[relevant].tolist(), strict=True))


def largest_drops(before: Floats, after: Floats, most: int) -> list[int]:
    """Return the rows whose value dropped by more than rounding, at most ``most``, largest drop first."""
    least = _ROUNDING * np.nanmax(np.abs(np.concatenate((before, after, [0.0]))))
    drops = before - after
    return [row for row in np.argsort(-drops, kind="stable")[:most].tolist() if drops[row] > least]


def changes_between(
    before: tuple[Floats, Trace],
    after: tuple[Floats, Trace],
    *,
    system: str,
    measure: str,
    rel: float | None,
    lower_is_better: bool,
    most: int,
) -> Iterator[Change]:
    """Return the queries that lost most and those that gained most, at most ``most`` of each, largest first."""
    (ours, trace), (theirs, other) = before, after
    queries = trace.judged.queries
    sides = (theirs, ours) if lower_is_better else (ours, theirs)
    for row in (*largest_drops(*sides, most), *largest_drops(sides[1], sides[0], most)):
        query = queries[row]
        old, new = trace.ranks_of(row), other.ranks_of(row)
        relevant = other.relevant_of(query, rel) | trace.relevant_of(query, rel)
        moves = [Move(item, grade, old.get(item), new.get(item)) for item, grade in relevant.items()]
        by_number = other.gold.items.dtype == ROW_NUMBER
        moves.sort(key=lambda move: (-move.grade, len(move.item) if by_number else 0, move.item))
        yield Change(system, measure, str(query), float(ours[row]), float(theirs[row]), tuple(moves), lower_is_better)
