"""Python functions for scripts and notebooks: gold and rankings in any form, measures by name."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from rankjury.core.convert import as_gold, as_ranking, frame_of
from rankjury.core.types import Background, Gold, Ranking
from rankjury.core.validation import check_arguments
from rankjury.errors import UnknownName, UsageError, guard_reading
from rankjury.evaluation.compare import assess
from rankjury.evaluation.evaluate import DEFAULT_MEASURES, evaluate as evaluate_judged, resolve_measures
from rankjury.evaluation.gate import Gate, check_targets
from rankjury.evaluation.judge import DuplicateRule
from rankjury.evaluation.report import Report, looks_like_report, read_report
from rankjury.evaluation.scores import Scores
from rankjury.evaluation.sections import as_warnings, with_unit
from rankjury.evaluation.slices import SliceTable
from rankjury.evaluation.slices.groups import parse_attributes
from rankjury.evaluation.targets import Target, parse_target, parse_targets
from rankjury.io.attributes import check_attributes, read_attributes
from rankjury.io.formats import read_gold, read_run
from rankjury.io.source import Source
from rankjury.measures.measure import Measure, Value
from rankjury.stats.resampling import Resampling

_RESAMPLING = Resampling()


@check_arguments
def evaluate(
    gold: Any,
    ranking: Any,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    dialect: str | None = None,
    duplicates: DuplicateRule = "error",
    background: Background | None = None,
    **conventions: Value,
) -> Scores:
    """Score a ranking against a gold.

    Both may be a path, a dict of dicts (``{query: {item: number}}``), a dict of lists, a Polars or pandas frame or
    anything else with the Arrow capsule interface, or a two-dimensional array of item ids. Further keywords are
    conventions for all measures: ``ties="order"``, ``missing="skip"``, ``rel=2`` … Measures beyond accuracy, such as
    novelty, look at the ``background`` of a task.

    >>> rankjury.evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, ["rr", "ndcg@10"]).mean()
    {'rr': 0.5, 'ndcg@10': 0.6309297535714575}
    """
    asked = resolve_measures(measures, dialect, conventions)
    scores = evaluate_judged(_gold(gold), _ranking(ranking), asked, duplicates=duplicates, background=background)
    return replace(scores, warnings=with_unit(scores.warnings))


@check_arguments
def compare(
    gold: Any,
    rankings: Mapping[str, Any],
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    baseline: str | None = None,
    slices: Any = None,
    by: str | None = None,
    item_slices: Any = None,
    items_by: str | None = None,
    figures: Mapping[str, Mapping[str, float]] | None = None,
    resampling: Resampling = _RESAMPLING,
    dialect: str | None = None,
    duplicates: DuplicateRule = "error",
    background: Background | None = None,
    **conventions: Value,
) -> Report:
    """Compare rankings, by name, with one of them: the first, or ``baseline``.

    ``slices`` is a table of attributes of queries (a path, or a frame with a column of query ids), ``by`` says which to
    break down by: ``"type,length(quantiles=3),type*lang"``; ``item_slices`` and ``items_by`` are the same for items.
    ``figures`` are what else is known of a system, for gates: ``{"dense": {"latency_p95_ms": 12.5}}``.
    """
    asked = resolve_measures(measures, dialect, conventions)
    if not isinstance(rankings, Mapping) or len(rankings) < 2 or not asked:
        found = f"{len(rankings)} rankings by name" if isinstance(rankings, Mapping) else type(rankings).__name__
        raise UsageError(
            f"found {found} and {len(asked)} measures", expected="two rankings or more, by name, and a measure"
        )
    for table, attributes in ((slices, by), (item_slices, items_by)):
        if table is None and attributes is not None:
            raise UsageError(f"no table has the attributes {attributes!r}", expected="slices=…, or item_slices=…")
    if not isinstance(resampling, Resampling):
        raise UsageError(
            f"found how of type {type(resampling).__name__}", expected="rankjury.Resampling(resamples=10000)"
        )
    if figures is not None and not isinstance(figures, Mapping):
        raise UsageError(
            f"found figures of type {type(figures).__name__}", expected='such as {"dense": {"latency_p95_ms": 12.5}}'
        )
    truth = _gold(gold)
    report = assess(
        truth,
        ((name, _ranking(ranking)) for name, ranking in rankings.items()),
        asked,
        golds=dict.fromkeys(rankings, truth),
        resampling=resampling,
        baseline=next(iter(rankings)) if baseline is None else baseline,
        slices=[_cuts(slices, by, "queries")] if slices is not None else [],
        item_slices=[_cuts(item_slices, items_by, "items")] if item_slices is not None else [],
        duplicates=duplicates,
        background=background,
    )
    for system in figures or {}:
        if system not in report.systems:
            raise UnknownName("system", system, report.systems, where="figures")
    # Notes that all rankings have, such as those on the task that they share, are shown once and first.
    notes = [ranking.notes if isinstance(ranking, Ranking) else () for ranking in rankings.values()]
    shared = [note for note in notes[0] if all(note in others for others in notes)]
    further = (warning for warning in report.warnings if warning.text not in shared)
    return replace(report.with_recorded(figures or {}), warnings=(*as_warnings(shared, "ranking"), *further))


@check_arguments
def gate(
    report: Report | str | Path,
    *targets: str | Path | Target,
    baseline: str | Report | Path | None = None,
    strict: bool = False,
    lenient: bool = False,
) -> Gate:
    """Check a report against targets: pass, fail, or unsure.

    Args:
        report: A Report, or the path of a saved one.
        *targets: Targets such as ``"ndcg@10 >= 0.85"``, or paths of files with targets.
        baseline: A system of the report, another Report, or the path of a saved one, for targets on a difference.
        strict: Whether an unsure gate is false and has the exit code 5, as with ``rankjury gate --strict``.
        lenient: Whether a target fails only where no part of its interval holds; by default it fails where the value
            itself is beyond the limit.

    Returns:
        A Gate. It is true where ``rankjury gate`` would exit with 0: false where a target failed; where one is unsure,
        true unless ``strict``. ``passed``, ``failed``, ``unsure`` and ``outcome`` distinguish the three outcomes.

    Raises:
        UsageError: No target was given, or one cannot be read, or names a system or measure that the report lacks.

    >>> assert rankjury.gate(report, "ndcg@10 drop <= 0.005", strict=True)
    """
    asked: list[Target] = []
    for target in targets:
        if isinstance(target, Target):
            asked.append(target)
        elif not isinstance(target, str | Path):
            raise UsageError(f"found a target of type {type(target).__name__}", expected='text such as "ap >= 0.5"')
        elif isinstance(target, Path) or target.endswith(".toml"):
            asked += parse_targets(Source.open(target).text(), str(target)).targets
        else:
            asked.append(parse_target(target))
    checked = _report(report)
    named = isinstance(baseline, str) and (baseline in checked.systems or not looks_like_report(baseline))
    other = baseline if baseline is None or (named and isinstance(baseline, str)) else _report(baseline)
    return check_targets(asked, checked, other, strict=strict, lenient=lenient)


def _gold(data: Any) -> Gold:
    return read_gold(data) if isinstance(data, str | Path) else as_gold(data)


def _ranking(data: Any) -> Ranking:
    return read_run(data) if isinstance(data, str | Path) else as_ranking(data)


def _cuts(data: Any, by: str | None, of: str) -> SliceTable:
    kind = "query" if of == "queries" else "item"
    if isinstance(data, str | Path):
        table, id_column = read_attributes(str(data), kind)
    else:
        with guard_reading(f"attributes of {of}"):
            frame = pl.DataFrame(data) if isinstance(data, Mapping) else frame_of(data)
        table, id_column = check_attributes(frame, kind, f"attributes of {of}")
    return SliceTable(table, id_column, of, parse_attributes(by) if by else None, f"attributes of {of}")


def _report(report: Report | str | Path) -> Report:
    if not isinstance(report, Report | str | Path):
        raise UsageError(f"found {type(report).__name__}", expected="a Report, or the path of a saved one")
    return report if isinstance(report, Report) else read_report(str(report))
