"""The random baseline: what a ranker that knows nothing is to be expected to score, exactly.

Every query has n candidates, all of its judged items among them, and its ranking is one of their n! orders, each as
likely as the others. Conventions, cut-offs and policies are those of the measures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import cast

import numpy as np
import polars as pl

from karat.dialects import Asked
from karat.errors import DataError, UsageError
from karat.evaluation import cut_gold, measure_values
from karat.expectations import EXPECTATIONS
from karat.judged import Judged
from karat.judging import Bench, DuplicateRule
from karat.measure import Measure
from karat.metrics.common import relevant_count
from karat.results import Scores
from karat.types import Floats, Gold, Ints, Ranking, Runs, gathered
from karat.wording import count

__all__ = ["Chance", "expected_scores", "has_expectation"]


@dataclass(frozen=True, eq=False)
class Chance:
    """A ranker that orders the candidates of every query at random: scored by its exact expectation."""

    candidates: int | Mapping[str, int]
    """How many candidates a query has: the same for all, or by query id. Judged items are among them."""
    source: str = "random"


def has_expectation(measure: Measure) -> bool:
    """Whether the measure's expectation under a random order is known in closed form."""
    return measure.name in EXPECTATIONS


def expected_scores(
    gold: Gold, chance: Chance, asked: Sequence[Asked], *, duplicates: DuplicateRule = "error"
) -> Scores:
    """All measures for every query, each the mean over all orders of the query's candidates."""
    for one in asked:
        if not has_expectation(one.measure):
            raise _no_closed_form(one.measure)
    # Ranked by itself the gold is matched, checked and grouped as any ranking is; where items stand does not count.
    itself = Ranking(gold.queries, gold.starts, gold.items, gold.grades, chance.source)
    bench = Bench(gold, itself, duplicates=duplicates)
    candidates = _candidates(bench, chance)
    rules = {str(one.measure["self"]) for one in asked}
    whole = bench.judge()
    if whole.counted is not None:
        columns = _by_number(whole, whole.counted, candidates, asked, chance.source)
    else:
        judgings = {rule: _judged(bench, candidates, rule) for rule in rules}
        columns = [_expected(judgings[str(one.measure["self"])], one.measure, chance.source) for one in asked]
    return Scores(
        queries=bench.queries,
        labels=tuple(one.label for one in asked),
        conventions=tuple(str(one.measure) for one in asked),
        aggregates=tuple(one.measure.metric.aggregate for one in asked),
        values=np.column_stack(columns) if columns else np.empty((len(bench.queries), 0)),
        source=chance.source,
        lower_is_better=frozenset(one.label for one in asked if one.measure.metric.lower_is_better),
    )


def _expected(judged: Judged, measure: Measure, source: str) -> Floats:
    """One measure for every query; one with nothing relevant gets what the measure's policy gives it in any order."""
    judged = cut_gold(judged, measure)
    in_one_order = measure_values(judged, measure, source)
    values = EXPECTATIONS[measure.name](judged, measure.k, **measure.own_options())
    if not measure.metric.needs_relevant:
        return values
    empty = relevant_count(judged, cast(float | None, measure["rel"])) == 0
    return np.where(empty, in_one_order, values)


def _judged(bench: Bench, candidates: Ints, self_matches: str) -> Judged:
    """The gold's items as found among the candidates; a judged item that is the query itself may be dropped."""
    judged = bench.judge(self_matches=self_matches, places=True)
    dropped = np.diff(judged.gold_starts) - judged.depth
    return replace(judged, depth=candidates - dropped)


def _by_number(judged: Judged, runs: Runs, candidates: Ints, asked: Sequence[Asked], source: str) -> list[Floats]:
    """The same of a gold that tells its grades by number; queries with the same numbers come to the same."""
    numbers: dict[tuple[int, bytes, bytes], int] = {}
    which = np.empty(len(judged), dtype=np.int64)
    for row, (first, last) in enumerate(pairwise(runs.starts.tolist())):
        alike = int(candidates[row]), runs.grades[first:last].tobytes(), runs.counts[first:last].tobytes()
        which[row] = numbers.setdefault(alike, len(numbers))
    rows = np.unique(which, return_index=True)[1]
    starts, at = gathered(runs.starts, rows)
    different = replace(
        judged,
        queries=judged.queries.gather(rows),
        present=judged.present[rows],
        depth=candidates[rows],
        counted=Runs(starts, runs.grades[at], runs.counts[at]),
    )
    values = [[_expected(part, one.measure, source) for one in asked] for part in map(_all_found, different.parts())]
    return [np.concatenate(column)[which] for column in zip(*values, strict=True)]


def _all_found(part: Judged) -> Judged:
    """Every item of the gold retrieved, at whatever rank."""
    ranks = part.gold_places
    return replace(
        part,
        row=part.gold_rows,
        rank=ranks,
        tie_first=ranks,
        tie_last=ranks,
        grade=part.gold_grades,
        gold_index=np.zeros_like(ranks),
    )


def _candidates(bench: Bench, chance: Chance) -> Ints:
    """How many candidates each query has, checked to be enough for its judged items."""
    if isinstance(chance.candidates, Mapping):
        given = [chance.candidates.get(query) for query in bench.queries]
        if None in given:
            raise _unknown_candidates(bench.queries, given, chance.source)
        candidates = np.array(given, dtype=np.int64)
    else:
        candidates = np.full(len(bench.queries), chance.candidates, dtype=np.int64)
    whole = bench.judge()
    judged = whole.depth if whole.counted is None else relevant_count(whole, 0.0).astype(np.int64)
    short = candidates < judged
    if short.any():
        at = int(np.argmax(short))
        raise DataError(
            f"query {bench.queries[at]!r} has {count(int(candidates[at]), 'candidate', 'candidates')}, but "
            f"{count(int(judged[at]), 'judged item', 'judged items')} "
            f"({count(int(short.sum()), 'such query', 'such queries')})",
            where=f"{bench.gold.source} × {chance.source}",
            expected="judged items to be among the candidates",
            hint="Count every item that could have been ranked for the query.",
        )
    return candidates


def _unknown_candidates(queries: pl.Series, given: Sequence[int | None], source: str) -> DataError:
    lacking = count(given.count(None), "such query", "such queries")
    return DataError(
        f"the number of candidates of query {queries[given.index(None)]!r} is not given ({lacking})",
        where=source,
        expected="one for every query of the gold",
    )


def _no_closed_form(measure: Measure) -> UsageError:
    return UsageError(
        f"no closed form for {measure} under a random order",
        hint=f"Measures that have one: {', '.join(sorted(EXPECTATIONS))}.",
    )
