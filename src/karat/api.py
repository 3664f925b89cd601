"""What a script or a notebook calls: anything that is gold, anything that is a ranking, measures by name."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from karat.evaluation import DEFAULT_MEASURES, resolve_all
from karat.evaluation import evaluate as evaluate_judged
from karat.gold.labels import read_gold
from karat.intake import as_gold, as_ranking
from karat.judging import DuplicateRule
from karat.measure import Measure, Value
from karat.rankers.runs import read_run
from karat.results import Scores

__all__ = ["evaluate"]


def evaluate(
    gold: Any,
    ranking: Any,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    dialect: str | None = None,
    duplicates: DuplicateRule = "error",
    **conventions: Value,
) -> Scores:
    """Score a ranking against a gold.

    Both may be a path, a dict of dicts (``{query: {item: number}}``), a dict of lists, a Polars or pandas frame or
    anything else with the Arrow capsule interface, or a two-dimensional array of item ids. Further keywords are
    conventions for all measures: ``ties="order"``, ``missing="skip"``, ``rel=2`` …

    >>> karat.evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, ["rr", "ndcg@10"]).mean()
    {'rr': 0.5, 'ndcg@10': 0.6309297535714575}
    """
    asked = resolve_all([measures] if isinstance(measures, str | Measure) else measures, dialect, conventions)
    truth = read_gold(gold) if isinstance(gold, str | Path) else as_gold(gold)
    found = read_run(ranking) if isinstance(ranking, str | Path) else as_ranking(ranking)
    return evaluate_judged(truth, found, asked, duplicates=duplicates)
