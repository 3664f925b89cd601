"""Whose fault it is that the best order is not reached: the embedding's or the index's."""

from collections.abc import Sequence
from math import nan

from rankjury.core.types import Gold, Ranking
from rankjury.evaluation.evaluate import evaluate
from rankjury.evaluation.scores import Scores
from rankjury.measures.dialects import NamedMeasure
from rankjury.retrieval.bench.result import Loss, Mean
from rankjury.stats.comparison import PairedValues, compare_pairs
from rankjury.stats.resampling import Resampling, query_keys


def measure_of_loss(asked: Sequence[NamedMeasure], k: int) -> NamedMeasure | None:
    """nDCG at k, else at another cut-off, else none: only of it the best is one for every query."""
    gains = [one for one in asked if one.measure.metric.name == "ndcg"]
    return next((one for one in gains if one.measure.k == k), gains[0] if gains else None)


def loss_of(gold: Gold, exact: Ranking, scores: Scores, asked: NamedMeasure, resampling: Resampling) -> Loss:
    """Ideal → exact search → the index: ``scores`` are the index's, ``exact`` what exact search brings."""
    ours = scores.only([asked.label])
    theirs = evaluate(gold, exact, [asked])
    estimates = theirs.estimates(resampling)[asked.label], ours.estimates(resampling)[asked.label]
    pair = PairedValues(
        "index", "exact", asked.label, ours[asked.label], theirs[asked.label], asked.measure.metric.aggregate, False
    )
    (apart,) = compare_pairs([pair], query_keys(ours.queries, resampling.seed), resampling)
    exactly, found = (Mean(one.mean if one.n else nan, one.ci, one.n) for one in estimates)
    lost = Mean(0.0 - apart.difference if apart.n else nan, apart.ci and (0.0 - apart.ci[1], 0.0 - apart.ci[0]))
    return Loss(asked.label, exactly, found, lost)
