"""Random baseline: the exact expected score of a random order.

Every query has n candidates, all of its judged items among them, and its ranking is one of their n! orders, each as
likely as the others. Conventions, cut-offs and policies are those of the measures.

Each judged item then stands at each of the n ranks with probability 1/n. ``depth`` is n; the ranks that a ``Judged``
holds do not count. Most metrics add up what each item gives by itself, a gain times a weight that falls with the rank:
these are themselves asked what they give with every item at rank 1, so that gains, divisors and thresholds stay theirs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from rankjury.core.text import plural
from rankjury.core.types import Floats, Gold, Ints, Ranking, Runs, gathered
from rankjury.errors import DataError, UsageError
from rankjury.evaluation.evaluate import cut_gold, make_scores, measure_values
from rankjury.evaluation.judge import DuplicateRule, MatchedRanking, OrderRules
from rankjury.evaluation.scores import Scores
from rankjury.measures.dialects import NamedMeasure
from rankjury.measures.judged import Judged, count_hits, count_relevant, cut_or_depth, divide
from rankjury.measures.measure import METRICS, Measure
from rankjury.measures.metrics import average, gain, sets

Function = Callable[..., Floats]


def in_the_top(metric: Function, judged: Judged, k: int | None, **options: Any) -> Floats:
    """Metrics that are linear in the number of items within the cut-off.

    An item is within it with probability s = min(k, n) / n, so E = s · metric(all within) + (1 − s) · metric(none
    within). With R relevant and J judged items:

        precision@k    s · R / k                recall@k    s                 f1@k    s · 2R / (k + R)
        hit_count@k    s · R                    judged@k    s · J / min(k, n) = J / n
    """
    all_within = metric(_with_all_at(1, judged), k, **options)
    if k is None:
        return all_within
    share = divide(_length_of_top(judged, k), judged.depth)
    return share * all_within + (1 - share) * metric(_with_all_at(k + 1, judged), k, **options)


def discounted(metric: Function, judged: Judged, k: int | None, **options: Any) -> Floats:
    """DCG and nDCG: Σ gain(grade) · 1/n · Σ 1/log2(r + 1) over the ranks r ≤ min(k, n); nDCG divides by the ideal.

    discount=rank: Σ 1/log2(max(r, 2)).
    """
    top = _length_of_top(judged, k)
    ranks = np.arange(1.0, top.max(initial=0) + 1)
    weights = 1 / np.log2(np.maximum(ranks, 2.0) if options["discount"] == "rank" else ranks + 1)
    return metric(_with_all_at(1, judged), k, **options) * divide(_sums(weights)[top], judged.depth)


def rank_biased_precision(judged: Judged, k: int | None, *, p: float, **options: Any) -> Floats:
    """(1 − p) · Σ r(grade) · 1/n · Σ p^(r − 1) over the ranks r ≤ min(k, n)."""
    top = _length_of_top(judged, k)
    weights = np.power(p, np.arange(0.0, top.max(initial=0)))
    return average.rbp(_with_all_at(1, judged), k, p=p, **options) * divide(_sums(weights)[top], judged.depth)


def r_precision(judged: Judged, k: int | None, *, rel: float | None, **options: Any) -> Floats:
    """R/n where the cut-off c (R, or a multiple) is at most n, otherwise R/c: the lesser of the two; 0 for c = 0."""
    all_within = sets.r_precision(_with_all_at(1, judged), k, rel=rel, **options)
    return np.minimum(all_within, divide(count_hits(judged, None, rel), judged.depth))


def hit_rate(judged: Judged, k: int | None, *, rel: float | None) -> Floats:
    """Σ over the ranks r ≤ min(k, n) of P(the first relevant item stands at r), which is 1 − C(n − k, R) / C(n, R)."""

    def for_one(n: int, wanted: int, top: int) -> float:
        return 1.0 if top > n - wanted else float(_chances_of_first(n, wanted, top).sum())

    return _by_counts(for_one, judged, k, rel)


def reciprocal_rank(judged: Judged, k: int | None, *, rel: float | None) -> Floats:
    """Σ 1/r · C(n − r, R − 1) / C(n, R) over the ranks r ≤ min(k, n).

    Where no rank of the first relevant item is past the cut-off, this is R / (n − R + 1) · (1/R + … + 1/n).
    """

    def for_one(n: int, wanted: int, top: int) -> float:
        if top > n - wanted:
            return wanted / (n - wanted + 1) * float((1 / np.arange(wanted, n + 1.0)).sum())
        return float(_chances_of_first(n, wanted, top) @ (1 / np.arange(1, top + 1.0)))

    return _by_counts(for_one, judged, k, rel)


def average_precision(judged: Judged, k: int | None, *, over: str, rel: float | None, **options: Any) -> Floats:
    """With m = min(k, n) and H the harmonic number of m: R/n · (H + (R − 1) / (n − 1) · (m − H)) / divisor.

    For an item is relevant at rank r with probability R/n, and then (r − 1)(R − 1)/(n − 1) others stand above it.

    over=found: the h items found lie at random within the top m, which makes the same sum with m for n and h for R.
    Divided by h it is linear in h, so that with P = P(h ≥ 1) the mean is (P · H + (E[h] − P) / (m − 1) · (m − H)) / m.
    """
    top, found = _length_of_top(judged, k), count_hits(judged, None, rel)
    harmonic = _sums(1 / np.arange(1.0, top.max(initial=0) + 1))[top]
    if over == "found":
        any_found = hit_rate(judged, k, rel=rel)
        more = divide(found * top, judged.depth) - any_found
        return divide(any_found * harmonic + divide(more * (top - harmonic), top - 1), top)
    by_one = harmonic + divide((found - 1) * (top - harmonic), judged.depth - 1)
    # Recall and average precision have the same divisors; of n candidates no more than n are relevant.
    divisor = "min" if over == "least" else over
    return sets.recall(_with_all_at(1, judged), k, over=divisor, rel=rel) * divide(by_one, judged.depth)


def _with_all_at(rank: int, judged: Judged) -> Judged:
    """Every judged item at the same rank: what an additive metric makes of it is the sum of what each item gives."""
    ranks = np.full(judged.rank.size, rank)
    return replace(judged, rank=ranks, tie_first=ranks, tie_last=ranks)


def _length_of_top(judged: Judged, k: int | None) -> Ints:
    return np.minimum(cut_or_depth(judged, k), judged.depth).astype(np.int64)


def _sums(weights: Floats) -> Floats:
    """The sum of the first m weights, at index m."""
    return np.concatenate(([0.0], np.cumsum(weights)))


def _by_counts(for_one: Callable[[int, int, int], float], judged: Judged, k: int | None, rel: float | None) -> Floats:
    """Compute what depends only on n, R and the length of the top, once for all queries that share these."""
    relevant = count_hits(judged, None, rel).astype(np.int64)
    counts_of_query = np.column_stack((judged.depth, relevant, _length_of_top(judged, k)))
    kinds, kind = np.unique(counts_of_query, axis=0, return_inverse=True)
    values = [for_one(n, wanted, top) if wanted else 0.0 for n, wanted, top in kinds.tolist()]
    return np.array(values, dtype=np.float64)[kind.reshape(-1)]


def _chances_of_first(n: int, wanted: int, top: int) -> Floats:
    """P(first relevant at r) = C(n − r, R − 1) / C(n, R) for r = 1 … top ≤ n − R, as a product of shares below 1."""
    above = np.arange(float(top))
    none_above = np.concatenate(([1.0], np.cumprod((n - wanted - above) / (n - above))[:-1]))
    chances: Floats = none_above * wanted / (n - above)
    return chances


_LINEAR = (
    *("f1", "hit_count", "judged", "num_nonrel_ret", "num_q", "num_rel", "num_rel_ret", "num_ret", "precision"),
    *("recall", "set_ap", "unjudged", "utility"),
)
EXPECTATIONS: dict[str, Function] = {
    **{name: partial(in_the_top, METRICS.get(name).function) for name in _LINEAR},
    "ap": average_precision,
    "dcg": partial(discounted, gain.dcg),
    "hit_rate": hit_rate,
    "ndcg": partial(discounted, gain.ndcg),
    "r_precision": r_precision,
    "rbp": rank_biased_precision,
    "rr": reciprocal_rank,
}
"""By name of the metric: functions ``(judged, k, **options) → float64[queries]``, as the metrics themselves."""


@dataclass(frozen=True, eq=False)
class RandomRanking:
    """A ranker that orders the candidates of every query at random: scored by its exact expectation."""

    candidates: int | Mapping[str, int]
    """How many candidates a query has: the same for all, or by query id. Judged items are among them."""
    source: str = "random"


def has_expectation(measure: Measure) -> bool:
    """Whether the measure's expectation under a random order is known in closed form."""
    return measure.name in EXPECTATIONS


def expected_scores(
    gold: Gold, chance: RandomRanking, asked: Sequence[NamedMeasure], *, duplicates: DuplicateRule = "error"
) -> Scores:
    """Return all measures for every query, each the mean over all orders of the query's candidates."""
    for named in asked:
        if not has_expectation(named.measure):
            raise UsageError(
                f"no closed form for {named.measure} under a random order",
                hint=f"Measures that have one: {', '.join(sorted(EXPECTATIONS))}.",
            )
    # Ranked by itself the gold is matched, checked and grouped as any ranking is; where items stand does not count.
    itself = Ranking(gold.queries, gold.starts, gold.items, gold.grades, chance.source)
    matched = MatchedRanking(gold, itself, duplicates=duplicates)
    whole = matched.judge(OrderRules())
    candidates = _candidates(matched, whole, chance)
    if whole.counted is not None:
        columns = _by_number(whole, whole.counted, candidates, asked, chance.source)
    else:
        judgings = {}
        for rule in {str(named.measure["self"]) for named in asked}:
            judged = matched.judge(OrderRules(self_matches=rule), places=True)
            dropped = np.diff(judged.gold_starts) - judged.depth  # judged items that are the query itself
            judgings[rule] = replace(judged, depth=candidates - dropped)
        columns = [_expected(judgings[str(named.measure["self"])], named.measure, chance.source) for named in asked]
    values = np.column_stack(columns) if columns else np.empty((len(matched.queries), 0))
    return make_scores(asked, matched.queries, values, source=chance.source)


def _expected(judged: Judged, measure: Measure, source: str) -> Floats:
    """Return one measure for every query; a query with nothing relevant is scored by the measure's policy."""
    judged = cut_gold(judged, measure)
    in_one_order = measure_values(judged, measure, source)
    values = EXPECTATIONS[measure.name](judged, measure.k, **measure.metric_options())
    if not measure.metric.needs_relevant:
        return values
    empty = count_relevant(judged, measure.relevant_from) == 0
    return np.where(empty, in_one_order, values)


def _by_number(
    judged: Judged, runs: Runs, candidates: Ints, asked: Sequence[NamedMeasure], source: str
) -> list[Floats]:
    """Return the expectations for a gold that counts its grades; queries with the same counts are computed once."""
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
    values = []
    for part in different.parts():
        ranks = part.gold_places
        # Every item of the gold is retrieved, at whatever rank.
        complete = replace(
            part,
            row=part.gold_rows,
            rank=ranks,
            tie_first=ranks,
            tie_last=ranks,
            grade=part.gold_grades,
            gold_index=np.zeros_like(ranks),
        )
        values.append([_expected(complete, named.measure, source) for named in asked])
    return [np.concatenate(column)[which] for column in zip(*values, strict=True)]


def _candidates(matched: MatchedRanking, whole: Judged, chance: RandomRanking) -> Ints:
    """Return how many candidates each query has, checked to be enough for its judged items."""
    if isinstance(chance.candidates, Mapping):
        numbers = [chance.candidates.get(query) for query in matched.queries]
        if None in numbers:
            lacking = plural(numbers.count(None), "such query", "such queries")
            raise DataError(
                f"the number of candidates of query {matched.queries[numbers.index(None)]!r} is not given ({lacking})",
                where=chance.source,
                expected="one for every query of the gold",
            )
        candidates = np.array(numbers, dtype=np.int64)
    else:
        candidates = np.full(len(matched.queries), chance.candidates, dtype=np.int64)
    judged = whole.depth if whole.counted is None else count_relevant(whole, 0.0).astype(np.int64)
    short = candidates < judged
    if short.any():
        at = int(np.argmax(short))
        raise DataError(
            f"query {matched.queries[at]!r} has {plural(int(candidates[at]), 'candidate', 'candidates')}, but "
            f"{plural(int(judged[at]), 'judged item', 'judged items')} "
            f"({plural(int(short.sum()), 'such query', 'such queries')})",
            where=f"{matched.gold.source} × {chance.source}",
            expected="judged items to be among the candidates",
            hint="Count every item that could have been ranked for the query.",
        )
    return candidates
