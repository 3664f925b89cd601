"""Reference ranking as gold, and ``agree``: candidate models evaluated against a reference model.

The gold of a measure at k is the reference's first k items (``gold=k``). If its k-th and k+1-th score are equal, the id
decides; or all items that tie with the k-th count (``gold=tied``), for which items of equal scores share a grade here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np
import polars as pl

from rankjury.core.types import Floats, Gold, Ints, Ranking, Vectors, names_of, segments_within
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.evaluation.compare import assess
from rankjury.evaluation.evaluate import resolve_measures
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import as_warnings
from rankjury.io.vectors import read_ids
from rankjury.retrieval.agreement.pairs import PairCollector, ReferenceModel, VectorSimilarities, sample_ids, select_ids
from rankjury.retrieval.agreement.stats import ReferenceSource
from rankjury.retrieval.diagnostics import GoldSpaces, SpaceDiagnostics
from rankjury.retrieval.rank import as_id_list, as_vectors, check_same_items, rank_vectors, resolve_exclude_self
from rankjury.stats.resampling import Resampling

MEASURES = {
    "recall": "recall(over=k,{cut})",
    "ndcg": "ndcg(gain=binary,{cut})",
    "mrr": "rr({cut})",
    "map": "ap(over=found,{cut})",
}
"""Measures of the papers protocol by its names; the cut is ``gold=k``."""
_LISTS = "rbo"
ReferenceTies = Literal["id", "any"]
Rank = Callable[[pl.Series, int], Ranking]
"""Ranks up to k items for each of these queries; equal scores by id."""


def reference_measures(ties: ReferenceTies = "id", *options: str) -> list[str]:
    """Return the protocol's measures and rank-biased overlap, without cut-offs, with further options."""
    cut = ",".join(["gold=k" if ties == "id" else "gold=tied", *options])
    lists = f"{_LISTS}({','.join(options)})" if options else _LISTS
    return [*(measure.format(cut=cut) for measure in MEASURES.values()), lists]


@dataclass(frozen=True, eq=False)
class ReferenceJudgments:
    """The gold, and the ranks with tied scores, where the cut is arbitrary."""

    gold: Gold
    ties: ReferenceTies
    tied_places: Ints
    """Rank of the first of every two consecutive items of a query with equal scores."""

    def tied_at(self, k: int) -> int:
        """Return how many queries have equal scores at ranks k and k + 1."""
        return int(np.count_nonzero(self.tied_places == k))

    def notes(self, cuts: Sequence[int]) -> list[str]:
        """Return notes on ties at the cut-offs."""
        tied = ", ".join(f"{n:,} at {k}" for k in cuts if (n := self.tied_at(k)))
        rule = "all that tie count" if self.ties == "any" else "the id decides (ties = any counts all)"
        return [f"the reference's k-th and k+1-th score are equal, queries: {tied}: {rule}"] if tied else []


def reference_gold(
    rank: Rank, queries: pl.Series, depth: int, *, ties: ReferenceTies = "id", needed: int = 1, source: str = "gold"
) -> ReferenceJudgments:
    """Return the first ``depth`` items of each query as gold; ``ties="any"``: and all that tie with the last of them.

    A query of which fewer than ``needed`` are ranked is an error.
    """
    ranking = rank(queries, depth + 1)
    _check_ranking(queries, ranking, needed, source)
    if ties == "any":
        ranking = _deep_enough(rank, ranking, depth)
    place = segments_within(ranking.starts)
    equal = np.zeros(len(ranking.items), dtype=bool)  # whether an item's score equals that of the next of its query
    if ranking.scores is not None and equal.size:
        equal[:-1] = (ranking.scores[:-1] == ranking.scores[1:]) & (place[1:] > 0)
    better = place  # the number of the query's items with a higher score
    if ties == "any" and equal.size:
        begins = np.concatenate(([True], ~equal[:-1]))
        better = np.asarray(place[begins][np.cumsum(begins) - 1], dtype=np.int64)
    chosen = better < depth
    starts = np.concatenate(([0], np.cumsum(chosen)))[ranking.starts]
    lengths = np.repeat(np.diff(starts), np.diff(ranking.starts))
    gold = Gold(
        ranking.queries,
        starts,
        ranking.items.filter(pl.Series(chosen)),
        (lengths - better)[chosen].astype(np.float64),
        ordered=True,
        source=source,
    )
    return ReferenceJudgments(gold, ties, place[equal] + 1)


def _check_ranking(queries: pl.Series, ranking: Ranking, needed: int, source: str) -> None:
    asked = queries.cast(pl.String)
    lacking = asked.filter(~asked.is_in(ranking.queries.cast(pl.String).implode()))
    if len(lacking):
        raise DataError(
            f"the reference ranks nothing for query {lacking[0]!r} (for {len(lacking):,} of {len(asked):,} queries)",
            where=source,
            expected="other items for every query",
        )
    lengths = np.diff(ranking.starts)
    short = lengths < needed
    if short.any():
        query = ranking.queries[int(np.argmax(short))]
        raise DataError(
            f"the cut-off is {needed:,}, but for query {query!r} the reference ranks {int(lengths[short][0]):,} items "
            f"(for {int(short.sum()):,} of {lengths.size:,} queries fewer than that)",
            where=source,
            expected=f"cut-offs up to {int(lengths.min()):,}",
        )


def _deep_enough(rank: Rank, ranking: Ranking, depth: int) -> Ranking:
    """Rank deeper for queries whose items tie up to the last rank, and replace their items."""
    deep = depth + 1
    while (scores := ranking.scores) is not None:
        open_ = np.diff(ranking.starts) >= deep
        open_[open_] = scores[ranking.starts[1:][open_] - 1] == scores[ranking.starts[:-1][open_] + depth - 1]
        if not open_.any():
            break
        deep *= 2
        deeper = rank(ranking.queries.filter(pl.Series(open_)), deep)
        source = np.zeros(len(ranking), dtype=np.int64)  # the row of each query in the deeper ranking
        source[open_] = np.arange(len(deeper))
        lengths = np.where(open_, np.diff(deeper.starts)[source], np.diff(ranking.starts))
        starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        first = np.where(open_, len(ranking.items) + deeper.starts[:-1][source], ranking.starts[:-1])
        rows = np.repeat(first, lengths) + segments_within(starts)
        items = pl.concat([ranking.items, deeper.items]).gather(rows)
        every_score = np.append(scores, cast(Floats, deeper.scores))
        ranking = replace(ranking, starts=starts, items=items, scores=every_score[rows])
    return ranking


_RESAMPLING = Resampling()


@check_arguments
def agree(
    reference: Any,
    candidates: Mapping[str, Any],
    k_values: Iterable[int] = (1, 3, 5, 10),
    *,
    n_samples: int | None = None,
    queries: Any = None,
    seed: int = 0,
    ids: Iterable[Any] | None = None,
    metric: str = "cosine",
    ties: ReferenceTies = "id",
    pairs: int = 20_000,
    exclude_self: bool | None = None,
    baseline: str | None = None,
    resampling: Resampling | None = _RESAMPLING,
) -> Report:
    """Compare candidate embeddings with a reference: do they find the same neighbours?

    Args:
        reference: The vectors of the reference: a matrix, a dict of id to vector, a frame of ids and vectors, a path,
            or ``rankjury.Vectors``.
        candidates: The vectors of candidates by name, in the same forms. Matrices have the same rows as the reference.
        k_values: The cut-offs.
        n_samples: How many items to ask as queries, drawn by the seed; by default all.
        queries: The items to ask instead: a list or the path of one, of ids, or of row numbers where rows have no ids.
        seed: Seed for the sampling of queries and pairs.
        ids: The ids of the rows of matrices, one per row; by default they are numbered from 0.
        metric: ``cosine``, ``cosine-zero`` (0 with a zero vector), ``ip`` or ``l2``.
        ties: Where the reference's k-th and k+1-th item tie: the ``id`` decides, or ``any`` that ties counts.
        pairs: Over how many pairs the similarities are compared; 0 for no comparison.
        exclude_self: Whether each query's own item is left out of its list; by default it is.
        baseline: The candidate that the others are compared with; by default the first.
        resampling: How intervals and tests are made; None for means only.

    Returns:
        The report: Recall, NDCG, MRR, MAP and RBO at each cut-off, and Spearman, Kendall and MAE of similarities.

    Raises:
        DataError: Vectors cannot be read, or are not of the same items.
        UsageError: An argument is not valid.

    Example:
        >>> old = {"a": [1.0, 0.0], "b": [0.9, 0.1], "c": [0.0, 1.0]}
        >>> report = rankjury.agree(old, {"same": old}, k_values=[1], pairs=0, resampling=None)
        >>> report.mean()["same"]["rbo@1"]
        1.0
    """
    numbers: list[Any] = list(k_values) if isinstance(k_values, Iterable) else [k_values]
    if not numbers or not all(isinstance(k, Integral) and int(k) >= 1 for k in numbers):
        raise UsageError(f"found the cut-offs {numbers}", expected="whole numbers from 1")
    cuts = sorted({int(k) for k in numbers})
    _check_request(candidates, n_samples, seed, ties, pairs, baseline)
    if queries is not None and n_samples is not None:
        raise UsageError("found both queries and n_samples", expected="one of both")
    names = None if ids is None else pl.Series("id", [str(id_) for id_ in ids])
    truth = as_vectors(reference, names, "reference")
    gold_name = "reference (gold)" if "reference" in candidates else "reference"
    spaces: dict[str | None, SpaceDiagnostics] = {}  # by candidate; None: of the reference
    exclude = resolve_exclude_self(exclude_self, truth, None)

    def ranked(name: str | None, vectors: Vectors, wanted: pl.Series, k: int) -> Ranking:
        space = rank_vectors(vectors, wanted=wanted, k=k, metric=metric, cuts=cuts, scored=False, exclude_self=exclude)
        spaces.setdefault(name, space.hygiene)
        return space.ranking

    asked, notes = sample_ids(truth.ids, n_samples, seed, where="n_samples"), list[str]()
    if queries is not None:
        asked, notes = select_ids(truth.ids, _listed(queries), numbered=truth.numbered, where="queries")
    rank = partial(ranked, None, truth)
    judgments = reference_gold(rank, asked, cuts[-1], ties=ties, needed=cuts[-1], source=truth.source)
    gold = judgments.gold
    side = ReferenceModel(gold, VectorSimilarities(truth, None, metric), truth, exclude)
    compared = PairCollector(side, over="sampled", size=pairs, seed=seed, k=cuts[-1]) if pairs else None

    def load(name: str) -> Ranking:
        vectors = as_vectors(candidates[name], names, name)
        check_same_items(truth, vectors)
        ranking = ranked(name, vectors, gold.queries, cuts[-1] + 1)
        if compared is not None:
            compared.add(name, VectorSimilarities(vectors, None, metric), ranking)
        return ranking

    chosen = baseline or next(iter(candidates))
    report = assess(
        gold,
        ((name, load(name)) for name in candidates),
        resolve_measures(f"{measure}@{k}" for measure in reference_measures(ties) for k in cuts),
        golds=dict.fromkeys(candidates, gold),
        resampling=resampling,
        baseline=chosen if resampling is not None and len(candidates) > 1 else None,
        tested=[f"{measure}@{cuts[-1]}" for measure in reference_measures(ties)[: len(MEASURES)]],
        relative=True,
    )
    for name, agreement in (compared.agreements(resampling, chosen) if compared else {}).items():
        report = report.with_sections(agreement, system=name)
    warnings = as_warnings((*notes, *judgments.notes(cuts)), "reference")
    report = replace(report, warnings=(*report.warnings, *warnings))
    report = report.with_sections(ReferenceSource(gold.source), GoldSpaces({gold_name: spaces.pop(None)}))
    for system, space in spaces.items():
        report = report.with_sections(space, system=system)
    return report


def _listed(queries: Any) -> pl.Series:
    if isinstance(queries, str | Path):
        return names_of(read_ids(str(queries)), str(queries))
    return as_id_list(queries, "queries")


def _check_request(candidates: Any, n_samples: Any, seed: Any, ties: str, pairs: Any, baseline: str | None) -> None:
    if not isinstance(candidates, Mapping) or not candidates:
        raise UsageError("found no candidates by name", expected='a dict of them, such as {"small": matrix}')
    for name, value, low in (("n_samples", n_samples, 1), ("seed", seed, 0), ("pairs", pairs, 0)):
        if value is not None and (not isinstance(value, Integral) or value < low):
            raise UsageError(f"{name} is {value!r}", expected=f"a whole number from {low}")
    if ties not in get_args(ReferenceTies):
        raise UnknownName("rule for ties", ties, get_args(ReferenceTies))
    if baseline is not None and baseline not in candidates:
        raise UnknownName("candidate", baseline, candidates)
