"""Python functions for scripts and notebooks: gold and rankings in any form, measures by name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

import numpy as np
import polars as pl

from rankjury.core.convert import frame_of, is_named_runs
from rankjury.core.text import plural
from rankjury.core.types import Background, Gold, Ranking
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UnknownName, UsageError, guard_reading
from rankjury.evaluation.baseline_file import looks_like_baseline, match_baseline, read_baseline
from rankjury.evaluation.checks import warn_of_names
from rankjury.evaluation.compare import assess, report_on
from rankjury.evaluation.evaluate import DEFAULT_MEASURES, evaluate as evaluate_judged, resolve_measures
from rankjury.evaluation.gate import Gate, check_targets
from rankjury.evaluation.judge import DuplicateRule
from rankjury.evaluation.report import Report, looks_like_report, read_report
from rankjury.evaluation.scores import Scores
from rankjury.evaluation.sections import as_warnings, with_unit
from rankjury.evaluation.slices import SliceTable
from rankjury.evaluation.slices.files import split_attributes
from rankjury.evaluation.slices.groups import parse_attributes
from rankjury.evaluation.targets import Target, read_targets
from rankjury.io.attributes import check_attributes, read_attributes, read_column
from rankjury.io.formats import load_gold, load_ranking
from rankjury.io.source import Source
from rankjury.measures.dialects import NamedMeasure
from rankjury.measures.measure import Measure, OnEmpty, OnMissing, ScorePrecision, SelfMatches, Ties
from rankjury.stats.resampling import Resampling

_RESAMPLING = Resampling()
NamedRun = Ranking | str | Path | pl.DataFrame | Mapping[str, Mapping[str, float] | Sequence[str]]
"""What tells ``{name: run}`` from one run, for type checkers."""
_UNNAMED = Ranking.source
"""The source of a ranking that did not come from a file."""
_MOST_GRADES = 6
"""Distinct values up to which whole scores look like grades."""


@overload
def evaluate(
    gold: Any,
    ranking: Mapping[str, NamedRun],
    measures: str | Measure | Iterable[str | Measure] = ...,
    *,
    resampling: Resampling | None = ...,
    dialect: str | None = ...,
    duplicates: DuplicateRule = ...,
    background: Background | None = ...,
    rel: float | None = ...,
    ties: Ties | None = ...,
    missing: OnMissing | None = ...,
    empty: OnEmpty | None = ...,
    self: SelfMatches | None = ...,
    scores: ScorePrecision | None = ...,
) -> Report: ...
@overload
def evaluate(
    gold: Any,
    ranking: Any,
    measures: str | Measure | Iterable[str | Measure] = ...,
    *,
    resampling: Resampling | None = ...,
    dialect: str | None = ...,
    duplicates: DuplicateRule = ...,
    background: Background | None = ...,
    rel: float | None = ...,
    ties: Ties | None = ...,
    missing: OnMissing | None = ...,
    empty: OnEmpty | None = ...,
    self: SelfMatches | None = ...,
    scores: ScorePrecision | None = ...,
) -> Scores: ...
@check_arguments
def evaluate(
    gold: Any,
    ranking: Any,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    resampling: Resampling | None = _RESAMPLING,
    dialect: str | None = None,
    duplicates: DuplicateRule = "error",
    background: Background | None = None,
    rel: float | None = None,
    ties: Ties | None = None,
    missing: OnMissing | None = None,
    empty: OnEmpty | None = None,
    self: SelfMatches | None = None,
    scores: ScorePrecision | None = None,
) -> Scores | Report:
    """Score one ranking, or several by name, against a gold.

    Args:
        gold: The relevant items: a path; ``{query: {item: grade}}``; ``{query: [items]}``, of grade 1 each; a Polars or
            pandas frame, or any table with the Arrow capsule interface, with query_id, item_id and grade; records with
            these keys; or a two-dimensional array with one row of relevant items per query.
        ranking: The retrieved items: a path; ``{query: {item: score}}``; ``{query: [items]}``, best first; a frame with
            query_id, item_id and score or rank; hits, ``[{"query": …, "id": …, "score": …}]``; or a two-dimensional
            array with one row of items per query, best first. Several by name, ``{"bm25": …, "dense": …}``, each in
            one of these forms.
        measures: Measures such as ``"ndcg@10"`` or ``["rr", "recall(rel=2)@100"]``; ``rankjury list metrics`` lists
            them.
        resampling: How the intervals of several systems are made; None for no intervals. For one system they are made
            when they are shown, or by ``scores.estimates(resampling)``.
        dialect: Name of a tool whose conventions are used, such as ``"trec_eval"``.
        duplicates: How to handle duplicate (query, item) pairs: ``error``, or keep the ``first``, ``last`` or ``max``.
        background: What measures beyond accuracy, such as novelty, compare with: ``task.background``.
        rel: Grade from which an item is relevant; by default any above 0.
        ties: Order of equal scores: by id (``id``), by id descending (``id-desc``), or as given (``order``).
        missing: A query of the gold that the ranking lacks: scored ``zero``, left out (``skip``), or an ``error``.
        empty: A query with nothing relevant: left out (``skip``), scored ``zero``, or an ``error``.
        self: An item whose id is the query's: ``keep`` it in the ranking, or ``drop`` it.
        scores: Compare scores as 64-bit (``double``) or 32-bit (``single``) numbers.

    Returns:
        Scores of one ranking: ``print`` shows the answer; ``mean()``, ``per_query``, ``estimates()``, ``to_pandas()``
        and ``save("report.html")``. Of several rankings a Report, which has the same for every system.

    Raises:
        DataError: The data is wrong: duplicates, missing ids, NaN, no common queries …
        UsageError: An argument is wrong: a measure, dialect or convention that is not known …

    Example:
        >>> rankjury.evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, ["rr", "ndcg@10"]).mean()
        {'rr': 0.5, 'ndcg@10': 0.6309297535714575}
    """
    conventions = {"rel": rel, "ties": ties, "missing": missing, "empty": empty, "self": self, "scores": scores}
    asked = resolve_measures(measures, dialect, conventions)
    truth = load_gold(gold)
    if isinstance(ranking, Mapping) and is_named_runs(ranking):
        _check_resampling(resampling)
        return _assess(gold, truth, ranking, asked, resampling, duplicates=duplicates, background=background)
    found = load_ranking(ranking)
    _check_order(gold, truth, found)
    single = evaluate_judged(truth, found, asked, duplicates=duplicates, background=background)
    name = Source(str(ranking), Path(ranking)).system if isinstance(ranking, str | Path) else single.source
    warnings = with_unit([*warn_of_names(asked), *single.warnings])
    return replace(single, source=name, warnings=warnings, gold=replace(truth))


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
    names: Mapping[str, str] | str | None = None,
    texts: Mapping[str, str] | str | None = None,
    recorded: Mapping[str, Mapping[str, float]] | None = None,
    resampling: Resampling = _RESAMPLING,
    dialect: str | None = None,
    duplicates: DuplicateRule = "error",
    background: Background | None = None,
    rel: float | None = None,
    ties: Ties | None = None,
    missing: OnMissing | None = None,
    empty: OnEmpty | None = None,
    self: SelfMatches | None = None,
    scores: ScorePrecision | None = None,
) -> Report:
    """Compare rankings with one of them, the baseline: is it better, where, and by how much?

    Args:
        gold: The relevant items, in any form that ``rankjury.evaluate`` takes.
        rankings: Two or more rankings by name, ``{"bm25": …, "dense": …}``, in any form that ``rankjury.evaluate``
            takes.
        measures: Measures such as ``"ndcg@10"``.
        baseline: Name of the ranking that the others are compared with; by default the first.
        slices: Attributes of queries: a path, perhaps with those to break down by (``"queries.csv:type"``), or a frame
            or dict with a column of query ids.
        by: Which attributes to break down by: ``"type,length(quantiles=3),type*lang"``; by default all that group.
        item_slices: Attributes of items, in the same forms.
        items_by: Which attributes of items to break down by.
        names: Names of items, shown in tables and on pages: ``{"d1": "Reset a password"}`` or ``"items.csv:title"``.
        texts: Texts of queries, in the same forms: ``"queries.jsonl:text"``.
        recorded: Other values of systems, which a gate can check: ``{"dense": {"latency_p95_ms": 12.5}}``.
        resampling: How intervals and tests are made.
        dialect: Name of a tool whose conventions are used, such as ``"trec_eval"``.
        duplicates: How to handle duplicate (query, item) pairs: ``error``, or keep the ``first``, ``last`` or ``max``.
        background: What measures beyond accuracy, such as novelty, compare with: ``task.background``.
        rel: Grade from which an item is relevant; by default any above 0.
        ties: Order of equal scores: by id (``id``), by id descending (``id-desc``), or as given (``order``).
        missing: A query of the gold that a ranking lacks: scored ``zero``, left out (``skip``), or an ``error``.
        empty: A query with nothing relevant: left out (``skip``), scored ``zero``, or an ``error``.
        self: An item whose id is the query's: ``keep`` it in the ranking, or ``drop`` it.
        scores: Compare scores as 64-bit (``double``) or 32-bit (``single``) numbers.

    Returns:
        The report: ``print`` shows the answer; ``to_pandas()``, ``save("report.html")``, ``comparisons``, ``slices``.

    Raises:
        DataError: The data is wrong: duplicates, missing ids, NaN, no common queries …
        UsageError: An argument is wrong: fewer than two rankings, an unknown baseline, measure or attribute …

    Example:
        >>> gold, bm25, dense = {"q": {"a": 1}}, {"q": ["b", "a"]}, {"q": ["a", "b"]}
        >>> rankjury.compare(gold, {"bm25": bm25, "dense": dense}, "rr").comparisons[0].difference
        0.5
    """
    is_dict = isinstance(rankings, Mapping)
    first = next(iter(rankings.values()), None) if is_dict else None
    if not is_dict or (isinstance(first, Mapping | list) and first and not is_named_runs(rankings)):
        raise UsageError(
            "found one ranking" if is_dict else f"found rankings of type {type(rankings).__name__}",
            expected='two rankings or more by name, in one dict: rankjury.compare(gold, {"old": a, "new": b})',
        )
    conventions = {"rel": rel, "ties": ties, "missing": missing, "empty": empty, "self": self, "scores": scores}
    asked = resolve_measures(measures, dialect, conventions)
    if len(rankings) < 2 or not asked:
        many = plural(len(rankings), "ranking", "rankings")
        raise UsageError(
            f"found {many} by name and {plural(len(asked), 'measure', 'measures')}",
            expected="two rankings or more, by name, and a measure",
            hint="rankjury.evaluate scores one ranking." if len(rankings) == 1 else None,
        )
    for table, attributes in ((slices, by), (item_slices, items_by)):
        if table is None and attributes is not None:
            raise UsageError(f"no table has the attributes {attributes!r}", expected="slices=…, or item_slices=…")
    _check_resampling(resampling, needed=True)
    if recorded is not None and not isinstance(recorded, Mapping):
        raise UsageError(
            f"found recorded of type {type(recorded).__name__}", expected='such as {"dense": {"latency_p95_ms": 12.5}}'
        )
    report = _assess(
        gold,
        load_gold(gold),
        rankings,
        asked,
        resampling,
        baseline=next(iter(rankings)) if baseline is None else baseline,
        slices=[_cuts(slices, by, "queries")] if slices is not None else [],
        item_slices=[_cuts(item_slices, items_by, "items")] if item_slices is not None else [],
        duplicates=duplicates,
        background=background,
    )
    for system in recorded or {}:
        if system not in report.systems:
            raise UnknownName("system", system, report.systems, where="recorded")
    report = report.with_recorded(recorded or {})
    if names is None and texts is None:
        return report
    return report.with_texts(_texts_by_id(names, "item", "names"), _texts_by_id(texts, "query", "texts"))


def _texts_by_id(given: Mapping[str, str] | str | None, kind: str, what: str) -> Mapping[str, str]:
    """Return texts by id, which were given so or as a column of a file."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {str(id_): str(text) for id_, text in given.items()}
    return read_column(given, kind, what)


def _assess(
    given: Any,
    gold: Gold,
    rankings: Mapping[str, Any],
    asked: Sequence[NamedMeasure],
    resampling: Resampling | None,
    **options: Any,
) -> Report:
    """Return the report of several rankings; ``given``: the gold as the caller gave it."""

    def load(name: str) -> Ranking:
        try:
            ranking = load_ranking(rankings[name])
        except DataError as error:
            if isinstance(rankings[name], str | Path):  # the file is named already
                raise
            raise DataError(error.found, where=f"ranking {name!r}", expected=error.expected, hint=error.hint) from error
        _check_order(given, gold, ranking)
        return replace(ranking, source=f"ranking {name!r}") if ranking.source == _UNNAMED else ranking

    names = list(rankings)
    for name in names:
        if not isinstance(name, str):
            raise UsageError(f"found the name {name!r} of a ranking", expected="names that are texts")
    notes: list[tuple[str, ...]] = []

    def load_all() -> Iterator[tuple[str, Ranking]]:
        for name in names:
            ranking = load(name)
            notes.append(ranking.notes)
            yield name, ranking

    report = assess(gold, load_all(), asked, golds=dict.fromkeys(names, gold), resampling=resampling, **options)
    # Notes that all rankings have, such as those on the task that they share, are shown once and first.
    shared = [note for note in notes[0] if all(note in others for others in notes)] if len(names) > 1 else []
    further = (warning for warning in report.warnings if warning.text not in shared)
    return replace(report, warnings=(*as_warnings(shared, "ranking"), *further))


@check_arguments
def gate(
    report: Report | Scores | str | Path,
    *targets: str | Path | Target | Iterable[str | Path | Target],
    baseline: str | Report | Scores | Path | None = None,
    strict: bool = False,
    lenient: bool = False,
) -> Gate:
    """Check a report against targets: pass, fail, or unsure.

    An unsure gate is false, so ``assert rankjury.gate(…)`` fails on it; ``assert not gate.failed`` lets it pass, as
    ``rankjury gate`` and ``rankjury.assert_ranking`` do.

    Args:
        report: A Report, the Scores of one ranking, or the path of a saved report.
        *targets: Targets such as ``"ndcg@10 >= 0.85"``, paths of files with targets, or a list of both.
        baseline: A system of the report, another Report, or the path of a saved one or of a baseline file
            (``rankjury.write_baseline``), for targets on a difference.
        strict: Whether the exit code of an unsure gate is 5, as with ``rankjury gate --strict``.
        lenient: Whether a target fails only where no part of its interval holds; by default it fails where the value
            itself is beyond the limit.

    Returns:
        A Gate: ``passed``, ``failed``, ``unsure`` and ``outcome`` distinguish the three outcomes. ``print`` shows the
        verdict and every target.

    Raises:
        UsageError: No target was given, or one cannot be read, or names a system or measure that the report lacks.
        DataError: The baseline file is damaged, or of another gold or other conventions.

    Example:
        >>> report = rankjury.evaluate({"q1": ["a"], "q2": ["b"]}, {"q1": ["a"], "q2": ["b"]}, "rr")
        >>> rankjury.gate(report, ["rr >= 0.5"]).outcome
        'pass'
    """
    asked, checked = read_targets(targets).targets, _report(report)
    is_file = isinstance(baseline, str | Path) and baseline not in checked.systems
    if is_file and looks_like_baseline(str(baseline)):
        renew = f"rankjury.write_baseline(report_of_main, {str(baseline)!r})"
        other: Report | str | None = match_baseline(read_baseline(str(baseline)), checked, asked, renew)
    elif baseline is None or (isinstance(baseline, str) and not (is_file and looks_like_report(baseline))):
        other = baseline
    else:
        other = _report(baseline)
    return check_targets(asked, checked, other, strict=bool(strict), lenient=bool(lenient))


def _cuts(data: Any, by: str | None, of: str) -> SliceTable:
    kind, asked = "query" if of == "queries" else "item", None
    if isinstance(data, str | Path):
        path, asked = split_attributes(str(data), by=by)
        table, id_column = read_attributes(path, kind)
    else:
        with guard_reading(f"attributes of {of}"):
            frame = pl.DataFrame(data) if isinstance(data, Mapping) else frame_of(data)
        table, id_column = check_attributes(frame, kind, f"attributes of {of}")
        asked = parse_attributes(by) if by else None
    return SliceTable(table, id_column, of, asked, f"attributes of {of}")


def _report(report: object) -> Report:
    if isinstance(report, Scores):
        return report_on(report)
    if not isinstance(report, Report | str | Path):
        expected = "a Report, Scores, or the path of a saved report"
        raise UsageError(f"found {type(report).__name__}", expected=expected)
    return report if isinstance(report, Report) else read_report(str(report))


def _check_resampling(given: object, *, needed: bool = False) -> None:
    if isinstance(given, Resampling) or (given is None and not needed):
        return
    hint = "rankjury.evaluate(gold, rankings, resampling=None) gives means only." if given is None else None
    found = f"found resampling of type {type(given).__name__}"
    raise UsageError(found, expected="rankjury.Resampling(resamples=10000)", hint=hint)


def _check_order(given: Any, gold: Gold, ranking: Ranking) -> None:
    """Refuse a gold given as a dict whose grades look like scores, with a ranking whose scores look like grades.

    A long gold of that kind is refused by itself (``check_grades``); of few values both sides must look swapped.
    """
    scores, grades = ranking.scores, gold.grades
    if not isinstance(given, Mapping) or scores is None or not ranking.has_scores or not scores.size:
        return
    finer = int(((grades * 100) != np.rint(grades * 100)).sum())
    few = bool((scores == np.rint(scores)).all()) and scores.min() >= 0 and np.unique(scores).size <= _MOST_GRADES
    if few and 2 * finer >= grades.size:
        raise DataError(
            "the gold holds scores and the ranking holds grades",
            expected="rankjury.evaluate(gold, ranking)",
            hint="The gold comes first. If these are grades, give a table with a column named grade.",
        )
