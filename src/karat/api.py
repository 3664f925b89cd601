"""What a script or a notebook calls: anything that is gold, anything that is a ranking, measures by name."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from karat.assessment import assess
from karat.columns import find_id_column
from karat.errors import UsageError
from karat.evaluation import DEFAULT_MEASURES, resolve_all
from karat.evaluation import evaluate as evaluate_judged
from karat.formats.attributes import read_attributes
from karat.gates import Gate, check_targets
from karat.gold.labels import read_gold
from karat.intake import as_gold, as_ranking
from karat.judging import DuplicateRule
from karat.measure import Measure, Value
from karat.rankers.runs import read_run
from karat.report import Report
from karat.reports.saved import read_report
from karat.results import Scores
from karat.saved import Saved
from karat.slices import Cuts, parse_attributes
from karat.statistics.intervals import Resampling
from karat.targets import Target, parse_target
from karat.types import Gold, Ranking

__all__ = ["compare", "evaluate", "gate"]

_RESAMPLING = Resampling()


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
    asked = resolve_all(_listed(measures), dialect, conventions)
    return evaluate_judged(_gold(gold), _ranking(ranking), asked, duplicates=duplicates)


def compare(
    gold: Any,
    rankings: Mapping[str, Any],
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    baseline: str | None = None,
    slices: Any = None,
    by: str | None = None,
    how: Resampling = _RESAMPLING,
    dialect: str | None = None,
    duplicates: DuplicateRule = "error",
    **conventions: Value,
) -> Report:
    """Compare rankings, by name, with one of them: the first, or ``baseline``.

    ``slices`` is a table of attributes of queries (a path, or a frame with a column of query ids), ``by`` says which to
    break down by: ``"type,length(quantiles=3),type*lang"``.
    """
    asked = resolve_all(_listed(measures), dialect, conventions)
    if len(rankings) < 2:
        raise UsageError(f"found {len(rankings)} ranking", expected="two or more, by name")
    return assess(
        _gold(gold),
        {name: partial(_ranking, given) for name, given in rankings.items()},
        asked,
        how=how,
        baseline=baseline or next(iter(rankings)),
        slices=[_cuts(slices, by)] if slices is not None else [],
        duplicates=duplicates,
    )


def gate(report: Report | str | Path, *targets: str | Target, baseline: str | Report | Path | None = None) -> Gate:
    """Hold a report, fresh or saved, against targets: ``karat.gate(report, "ndcg@10 >= 0.85").outcome``."""
    other = baseline if isinstance(baseline, str | None) else _saved(baseline)
    asked = [parse_target(target) if isinstance(target, str) else target for target in targets]
    return check_targets(asked, _saved(report), other)


def _listed(measures: str | Measure | Iterable[str | Measure]) -> Iterable[str | Measure]:
    return [measures] if isinstance(measures, str | Measure) else measures


def _gold(given: Any) -> Gold:
    return read_gold(given) if isinstance(given, str | Path) else as_gold(given)


def _ranking(given: Any) -> Ranking:
    return read_run(given) if isinstance(given, str | Path) else as_ranking(given)


def _cuts(given: Any, by: str | None) -> Cuts:
    if isinstance(given, str | Path):
        table, id_column = read_attributes(str(given), "query")
    else:
        table = pl.DataFrame(given)
        id_column = find_id_column(table.columns, "query", "slices")
    return Cuts(table, id_column, "queries", parse_attributes(by) if by else None, "slices")


def _saved(report: Report | str | Path) -> Saved:
    return Saved(report.as_json(queries=True), "report") if isinstance(report, Report) else read_report(str(report))
