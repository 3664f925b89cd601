"""Assertion for tests: a ranking is checked against targets, and a failure shows values, intervals and losses."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os.path import exists
from pathlib import Path
from typing import Any

from rankjury.core.text import visible
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, RankjuryError, UsageError, shorten
from rankjury.evaluation.api import evaluate
from rankjury.evaluation.baseline_file import (
    ACCEPTED,
    baseline_text,
    compare_baselines,
    looks_like_baseline,
    match_baseline,
    read_baseline,
)
from rankjury.evaluation.compare import report_on
from rankjury.evaluation.gate import Gate, Verdict, check_targets, target_measures
from rankjury.evaluation.paired import largest_drops, pair_scores
from rankjury.evaluation.report import Report, looks_like_report, read_report
from rankjury.evaluation.scores import Scores
from rankjury.evaluation.sections import group_warnings
from rankjury.evaluation.targets import Target, Targets, read_targets
from rankjury.io.atomic import make_folder, write_text
from rankjury.measures.dialects import resolve
from rankjury.measures.measure import OnEmpty, OnMissing, Ties
from rankjury.reporting.tables.verdicts import allowed
from rankjury.stats.formatting import format_difference
from rankjury.stats.resampling import Resampling
from rankjury.tracking import assertion_log
from rankjury.tracking.assertion_log import BaselineRequest, record

_LOSSES = 5
"""Queries with the largest losses that a failure names."""
_WARNINGS = 3
"""Lines of warnings below those of the targets."""
_NAMED = 3
"""Measures whose difference is shown where a baseline file is replaced."""


@check_arguments
def assert_ranking(
    gold: Any,
    ranking: Any,
    *targets: Any,
    baseline: Any = None,
    strict: bool = False,
    lenient: bool = False,
    dialect: str | None = None,
    rel: float | None = None,
    ties: Ties | None = None,
    missing: OnMissing | None = None,
    empty: OnEmpty | None = None,
) -> Gate:
    """Check a ranking against targets in a test, and raise an AssertionError where one fails.

    An unsure target passes here unless ``strict``, as with ``rankjury gate`` and ``assert not gate.failed``; ``assert
    gate``, with the Gate of ``rankjury.gate``, fails on it.

    Args:
        gold: The relevant items, in any form that ``rankjury.evaluate`` takes.
        ranking: The retrieved items, in any form that ``rankjury.evaluate`` takes.
        *targets: Targets such as ``"ndcg@10 >= 0.6"`` or ``"ap drop <= 0.01"``, paths of files with targets, or lists
            of these.
        baseline: What targets on a difference compare with: a ranking, a Report or Scores, the path of a run, a report
            or a baseline file, or the value of the pytest fixture ``ranking_baseline``. By default that of the file
            with targets.
        strict: Whether an unsure target fails too; by default it passes, and the summary of pytest shows it.
        lenient: Whether a target fails only where no part of its interval holds.
        dialect: Name of a tool whose conventions are used, such as ``"trec_eval"``.
        rel: Grade from which an item is relevant; by default any above 0.
        ties: Order of equal scores: by id (``id``), by id descending (``id-desc``), or as given (``order``).
        missing: A query of the gold that the ranking lacks: scored ``zero``, left out (``skip``), or an ``error``.
        empty: A query with nothing relevant: left out (``skip``), scored ``zero``, or an ``error``.

    Returns:
        The Gate with the verdict on each target. While pytest updates baseline files, targets on a difference are not
        among them.

    Raises:
        AssertionError: A target failed, or is unsure with ``strict``. The message begins with the verdict, and shows
            every target with its value, interval and n, the queries with the largest losses, and up to three warnings
            about the data.
        UsageError: No target was given, or one cannot be read, or needs a baseline and there is none.
        DataError: The data is wrong, or the baseline file is missing, damaged, or of another gold or other conventions.

    Example:
        >>> gold, run = {"q1": ["a"], "q2": ["b"]}, {"q1": ["a"], "q2": ["b", "a"]}
        >>> rankjury.assert_ranking(gold, run, "rr >= 0.9").outcome
        'pass'
    """
    __tracebackhide__ = True
    conventions = {"dialect": dialect, "rel": rel, "ties": ties, "missing": missing, "empty": empty}
    try:
        gate, more = _checked(gold, ranking, read_targets(targets), baseline, bool(strict), bool(lenient), conventions)
    except RankjuryError as error:
        raise error.with_traceback(None) from None  # pytest shows the test instead of what is within
    if gate.exit_code:
        raise AssertionError("\n".join([*str(gate).splitlines(), *more]))
    return gate


def _checked(
    gold: Any,
    ranking: Any,
    asked: Targets,
    baseline: Any,
    strict: bool,
    lenient: bool,
    conventions: Mapping[str, Any],
) -> tuple[Gate, list[str]]:
    """Return the verdicts, and lines on the queries that lost most and on the data, for a failure.

    A baseline file is written if that is asked.
    """
    labels = _measures(asked)
    report = _report_on(gold, ranking, labels, conventions)
    chosen = asked.baseline if baseline is None else baseline
    other: Report | None = None
    targets: Sequence[Target] = asked.targets
    if isinstance(chosen, BaselineRequest) and chosen.update:
        _update(chosen, report)
        targets = [target for target in asked.targets if not target.relative]
    elif chosen is not None:
        other = _baseline(chosen, report, asked.targets, gold, labels, conventions)
    elif asked.relative:
        spelling = next(target.spelling for target in asked.targets if target.relative)
        hint = "Give a ranking, a report or a baseline file with baseline=."
        raise UsageError(f"the target {spelling!r} needs a baseline", hint=hint)
    gate = Gate((), report.source, None, strict, lenient)
    if targets:
        gate = check_targets(targets, report, other, strict=strict, lenient=lenient)
    for verdict in gate.verdicts:
        record(f"{verdict.outcome.upper()} {_describe(verdict)}")
    warnings = _warnings(report)
    for line in warnings:
        record(f"WARNING {line}")
    return gate, [*_losses(gate, report, other), *(f"warning: {line}" for line in warnings)]


def _measures(asked: Targets) -> list[str]:
    """Return the measures of the targets; slices and recorded values are refused."""
    if asked.slices or asked.item_slices or any(target.slice for target in asked.targets):
        found = "found a target on a slice, or a file of targets with slices"
        raise UsageError(found, expected="targets on all queries", hint="rankjury gate checks slices.")
    if not asked.targets:
        raise UsageError("no target was given", expected='at least one, such as "ndcg@10 >= 0.85"')
    try:
        return target_measures(asked.targets, ())
    except UsageError as error:
        if error.hint and "--record" in error.hint:
            error.hint = "rankjury list metrics lists the measures; recorded values are checked by rankjury.gate."
        raise


def _report_on(gold: Any, ranking: Any, labels: list[str], conventions: Mapping[str, Any]) -> Report:
    """Return the report on one ranking."""
    scores = evaluate(gold, ranking, labels, **conventions)
    if isinstance(scores, Report):
        raise UsageError(f"found {len(scores.systems)} rankings by name", expected="one ranking")
    return report_on(scores)


def _baseline(
    given: Any,
    report: Report,
    targets: Sequence[Target],
    gold: Any,
    labels: list[str],
    conventions: Mapping[str, Any],
) -> Report:
    """Return what targets on a difference compare with, as a report."""
    if isinstance(given, Report | Scores):
        return report_on(given) if isinstance(given, Scores) else given
    path = _shown(given.path) if isinstance(given, BaselineRequest) else given
    if isinstance(path, str | Path):
        renew = f"rankjury.write_baseline(rankjury.evaluate(gold, ranking_of_main, {labels}), {str(path)!r})"
        renew = given.command if isinstance(given, BaselineRequest) else renew
        if not exists(path) and (isinstance(given, BaselineRequest) or str(path).endswith(".json")):
            raise DataError("no such baseline file", where=str(path), hint=f"Make it {ACCEPTED}: {renew}")
        if isinstance(given, BaselineRequest) or looks_like_baseline(str(path)):
            return match_baseline(read_baseline(str(path)), report, targets, renew)
        if looks_like_report(str(path)):
            return read_report(str(path))
    return _report_on(gold, given, labels, conventions)


def _update(request: BaselineRequest, report: Report) -> None:
    """Write the baseline file of a test, and record how it differs from the one before."""
    content, path = baseline_text(report), request.path.absolute()
    if assertion_log.written.setdefault(path, content) != content:
        raise UsageError(
            "two comparisons write the same baseline file",
            where=_shown(path),
            hint='Give each a name: ranking_baseline("NAME.json").',
        )
    change = _change(path, content, report)
    if change != "unchanged":
        make_folder(path.parent)
        write_text(path, content)
    record(f"BASELINE {_shown(path)}: {change}")


def _change(path: Path, content: str, report: Report) -> str:
    """Return how a new baseline differs from that of the file, in a few words."""
    if not exists(path):
        return "new"
    if not looks_like_baseline(str(path)):
        expected = "a new file, or a baseline file to replace"
        raise DataError("the file exists and is not a baseline file", where=_shown(path), expected=expected)
    if path.read_text(encoding="utf-8", errors="replace") == content:
        return "unchanged"
    try:
        changes, notes = compare_baselines(read_baseline(str(path)), report, next(iter(report.systems)), Resampling())
    except DataError:
        return "replaced a file that could not be read"
    compared = [
        f"{row.measure} {format_difference(row.difference, row.ci)}"
        for row in (changes.comparisons if changes is not None else ())[:_NAMED]
    ]
    return "; ".join(["replaced", *compared, *(note.rstrip(".") for note in notes)])


def _shown(path: Path) -> str:
    """Return a path relative to the current folder, where it is below."""
    return os.path.relpath(path) if path.absolute().is_relative_to(Path.cwd()) else str(path)


def _describe(verdict: Verdict) -> str:
    difference = "difference " if verdict.target.relative else ""
    return f"{verdict.target.title} {difference}{verdict.shown}, n {verdict.n}, {allowed(verdict)}"


def _warnings(report: Report) -> list[str]:
    """Return what to know of the data; few queries are not among it, because each line of a target has their number."""
    found = [replace(warning, system=None) for warning in report.warnings if warning.code != "few-queries"]
    lines = group_warnings(found, list(report.systems), report.unit, _WARNINGS, "rankjury.evaluate shows all")
    return [visible(line, one_line=True) for line in lines]


def _losses(gate: Gate, report: Report, other: Report | None) -> Iterator[str]:
    """Yield the queries that lost most under each measure whose difference is limited."""
    relative = dict.fromkeys(verdict.target.subject for verdict in gate.verdicts if verdict.target.relative)
    if other is None or other.queries is None:
        return
    ((system, scores),) = report.scores.items()
    name = system if system in other.systems else next(iter(other.systems))
    for subject in relative:
        label = subject if subject in scores.labels else resolve(subject).label
        pair = pair_scores(system, scores.only([label]), name, other.scores[name])
        for column in pair.columns():
            before, after = column.baseline_values, column.values
            sides = (after, before) if column.lower_is_better else (before, after)
            queries = pair.queries.to_list()
            rows = [] if column.whole else largest_drops(*sides, _LOSSES)
            names = [shorten(visible(queries[row], one_line=True)) for row in rows]
            losses = [f"{name} {before[row]:.3f} → {after[row]:.3f}" for name, row in zip(names, rows, strict=True)]
            if losses:
                yield f"largest losses in {label}: {', '.join(losses)}"
