"""Baseline file: the scores of one system as JSON, to be committed and compared with later runs query by query.

It holds no time and no path, and its queries are sorted, so that the same inputs give the same bytes. It is read as a
report of one system. A gate refuses it where the gold or the conventions are not those that it was made with.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from json import dumps
from math import isclose, isnan
from os.path import isfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.hashing import GoldDigest, digest_gold
from rankjury.core.text import plural
from rankjury.core.types import Floats
from rankjury.core.validation import Record, RecordError, check_arguments, read_record, to_json
from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError, shorten
from rankjury.evaluation.compare import report_on
from rankjury.evaluation.paired import compare_scores, pair_scores
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import QueryData, RecordedValue, Scores, SystemResult, estimate_systems
from rankjury.evaluation.targets import Target
from rankjury.io.atomic import write_text
from rankjury.io.json import parse_json, unique_members
from rankjury.io.source import Source
from rankjury.measures.dialects import resolve
from rankjury.measures.measure import Measure
from rankjury.stats.resampling import Resampling

BASELINE_SCHEMA = "rankjury.baseline/1"
NEW, OLD = "new baseline", "old baseline"
_EXPECTED = f"a baseline file of rankjury ({BASELINE_SCHEMA})"
_HINT = "rankjury baseline write GOLD RUN -o baseline.json makes one."
_DAMAGED = "a baseline file as rankjury writes it"
_SCHEMA = re.compile(r'"schema"\s*:\s*"rankjury\.baseline/')
_SHA256 = re.compile("[0-9a-f]{64}")
ACCEPTED = "from a run that you accept, such as that of the main branch"
"""What a baseline is made from, for hints: one from the run that is checked would let every loss pass."""
_ROUNDING = 1e-9
"""Relative difference of two means that is rounding: that of a geometric mean depends on the processor."""


@dataclass(frozen=True)
class BaselineMeasure(Record):
    """A measure of the file: its spelling with every convention, and its mean."""

    convention: str
    mean: float


@dataclass(frozen=True)
class _BaselineForm:
    system: str
    gold: GoldDigest
    measures: dict[str, BaselineMeasure]
    scores: dict[str, Floats]
    recorded: dict[str, RecordedValue] = field(default_factory=dict)
    rankjury: str = ""


@check_arguments
def write_baseline(report: Report | Scores, path: str | Path, *, system: str | None = None) -> Path:
    """Write the scores of one system to a baseline file, which is committed and compared with later runs.

    Args:
        report: A Report with per-query scores, or the Scores of one ranking.
        path: The file, such as ``"baseline.json"``; an existing one is replaced.
        system: The system of a report that has several.

    Returns:
        The path of the file, which ``rankjury.gate(report, targets, baseline=path)`` and ``rankjury gate --baseline``
        take.

    Raises:
        UsageError: The report has several systems and none is named, or it has no per-query scores.
        DataError: The gold is not known, such as for a saved report of several golds; or the file cannot be written.

    Example:
        >>> rankjury.write_baseline(scores, "baseline.json").name
        'baseline.json'
    """
    if "\0" in str(path) or any("\ud800" <= letter <= "\udfff" for letter in str(path)):
        raise UsageError(f"found the path {str(path)!r}", expected="the name of a file")
    content = baseline_text(report_on(report) if isinstance(report, Scores) else report, system)
    write_text(Path(path), content)
    return Path(path)


def chosen_system(report: Report, system: str | None) -> str:
    """Return the system of a baseline: the one that is named, or the only one of the report."""
    if system is not None and system not in report.systems:
        raise UnknownName("system", system, report.systems, where=report.source)
    if system is None and len(report.systems) != 1:
        names = ", ".join(shorten(name) for name in list(report.systems)[:10])
        hint = 'Choose one with --system NAME; in Python system="NAME".'
        raise UsageError(f"a baseline is of one system, and there are {len(report.systems)}: {names}", hint=hint)
    return next(iter(report.systems)) if system is None else system


def baseline_text(report: Report, system: str | None = None) -> str:
    """Return the content of a baseline file: one line per measure and per query, sorted by id."""
    name = chosen_system(report, system)
    result, scores, gold = report.systems[name], report.scores[name], _known_gold(report)
    if len(scores.queries) != gold.queries:
        found = f"the scores are of {len(scores.queries):,} queries, and the gold has {gold.queries:,}"
        raise UsageError(found, where=report.source, expected="the scores of all queries")
    measures = {
        label: {"convention": _spelled_out(result, label), "mean": to_json(estimate.mean)}
        for label, estimate in result.estimates.items()
    }
    rows = dict(zip(scores.queries.cast(pl.String).to_list(), to_json(scores.values.tolist()), strict=True))
    parts = {
        "schema": _line(BASELINE_SCHEMA),
        "rankjury": _line(report.version),
        "system": _line(name),
        "gold": _line(gold.to_json()),
        "measures": _table(measures),
    }
    if result.recorded:
        parts["recorded"] = _table({key: to_json(value) for key, value in sorted(result.recorded.items())})
    parts["scores"] = _table(dict(sorted(rows.items())))
    return "{\n" + ",\n".join(f"  {_line(key)}: {value}" for key, value in parts.items()) + "\n}\n"


def _line(value: Any) -> str:
    return dumps(value, ensure_ascii=False, allow_nan=False)


def _table(rows: Mapping[str, Any]) -> str:
    return "{\n" + ",\n".join(f"    {_line(key)}: {_line(value)}" for key, value in rows.items()) + "\n  }"


def _spelled_out(result: SystemResult, label: str) -> str:
    measure = result.measures[label]
    return result.conventions[label] if measure is None else measure.spelled_out()


def _known_gold(report: Report) -> GoldDigest:
    gold = digest_gold(report.gold)
    if gold is None:
        raise DataError(
            "the report does not record its gold",
            where=report.source,
            expected="a report of one gold with listed judgments, made by this version of rankjury",
            hint="Evaluate the run again, or give the gold and the run instead of the report.",
        )
    return gold


def looks_like_baseline(path: str) -> bool:
    """Return whether a file says that it is a baseline file, of whatever version and however damaged."""
    if path == "-" or not isfile(path) or not Path(path).stat().st_size:
        return False
    source = Source.open(path)
    return not source.is_parquet() and source.head.lstrip()[:1] == "{" and _SCHEMA.search(source.head) is not None


def read_baseline(path: str) -> Report:
    """Read a baseline file as a report of one system, without intervals.

    Raises:
        DataError: Where it is not a baseline file, or not as rankjury writes it.
    """
    content = parse_json(Source.open(path).text(), path, expected=_EXPECTED, members=unique_members(path, "key"))
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema != BASELINE_SCHEMA:
        problem = f"the schema is {shorten(schema, quoted=True)}" if schema else "the file has no schema"
        raise DataError(problem, where=path, expected=_EXPECTED, hint=_HINT)
    try:
        form: _BaselineForm = read_record(_BaselineForm, content, path)
    except RecordError as error:
        raise DataError(error.found, where=path, expected=_DAMAGED) from error
    _check_form(form, path)
    conventions = {label: _short_spelling(measure.convention) for label, measure in form.measures.items()}
    result = SystemResult(dict.fromkeys(form.measures), conventions, recorded=form.recorded)  # type: ignore[arg-type]
    ids = pl.Series("query_id", list(form.scores), dtype=pl.String)
    scores = result.scores_from(ids, np.array(list(form.scores.values())), path)
    result = replace(result, estimates=scores.estimates(None))
    for label, estimate in result.estimates.items():
        mean = form.measures[label].mean
        if not isclose(mean, estimate.mean, rel_tol=_ROUNDING) and not (isnan(mean) and isnan(estimate.mean)):
            found = f"the mean of {label} is {mean!r}, but its scores have the mean {estimate.mean!r}"
            raise DataError(found, where=path, expected=_DAMAGED)
    queries = QueryData({form.system: scores})
    systems = {form.system: result}
    return Report(systems, gold=form.gold, queries=queries, source=path, version=form.rankjury)


def _check_form(form: _BaselineForm, path: str) -> None:
    """Check the numbers of scores against each other."""
    fault = None
    if not form.measures:
        fault = "the file has no measure"
    elif not _SHA256.fullmatch(form.gold.sha256):
        fault = f"gold → sha256: found {shorten(form.gold.sha256, quoted=True)}"
    elif not form.scores or len(form.scores) != form.gold.queries:
        fault = f"the file has scores of {len(form.scores):,} queries, and its gold has {form.gold.queries:,}"
    for query, row in form.scores.items():
        if fault is None and len(row) != len(form.measures):
            found = plural(len(row), "score", "scores")
            fault = f"query {shorten(query, quoted=True)} has {found} for {len(form.measures)} measures"
    if fault is not None:
        raise DataError(fault, where=path, expected=_DAMAGED)


def _short_spelling(convention: str) -> str:
    """Return the spelling as reports have it; of a measure that is not installed here, as it is in the file."""
    try:
        return str(Measure.parse(convention))
    except RankjuryError:
        return convention


def match_baseline(baseline: Report, report: Report, targets: Sequence[Target], renew: str) -> Report:
    """Return the baseline of a file with its measures called as in a report, for ``check_targets``.

    Args:
        baseline: What ``read_baseline`` returned.
        report: The report that is checked.
        targets: What must hold.
        renew: How the file is written again, for errors, with a placeholder for the run.

    Raises:
        DataError: The baseline is of another gold or of other conventions, or lacks what a target is about.
    """
    ours, theirs, hint = _known_gold(report), _known_gold(baseline), f"Renew it {ACCEPTED}: {renew}"
    if ours != theirs:
        found = f"the baseline was made from another gold: {_size(theirs)}, and here {_size(ours)}"
        found += ", with other content" if _size(ours) == _size(theirs) else ""
        raise DataError(found, where=baseline.source, expected="the same judgments", hint=hint)
    ((name, result),) = baseline.systems.items()
    labels: dict[str, str] = {}
    for target in targets:
        if target.relative:
            _check_slice(target, report, baseline.source)
            label, convention = _find_measure(report, target.subject)
            if label is not None:
                labels[label] = _find_label(result, label, convention, baseline.source, hint)
            elif target.subject in _recorded(report) and target.subject not in result.recorded:
                found = f"the baseline has no recorded value {target.subject}"
                raise DataError(found, where=baseline.source, hint=hint)
    if all(label == other for label, other in labels.items()):
        return baseline
    estimates = {label: result.estimates[other] for label, other in labels.items()}
    renamed = replace(
        result,
        estimates=estimates,
        conventions={label: result.conventions[other] for label, other in labels.items()},
    )
    scores = baseline.scores[name].only(list(labels.values()))
    called = renamed.scores_from(scores.queries, scores.values, baseline.source)
    return replace(baseline, systems={name: renamed}, queries=QueryData({name: called}))


def _size(gold: GoldDigest) -> str:
    return f"{plural(gold.queries, 'query', 'queries')} and {plural(gold.judgments, 'judgment', 'judgments')}"


def _recorded(report: Report) -> set[str]:
    return {name for system in report.systems.values() for name in system.recorded}


def _find_measure(report: Report, subject: str) -> tuple[str | None, str]:
    """Return the label and the convention of a target's measure in a report; None where it has no such measure."""
    known = {label: text for system in report.systems.values() for label, text in system.conventions.items()}
    if subject in known:
        return subject, known[subject]
    try:
        meant = str(resolve(subject).measure)
    except RankjuryError:
        return None, ""
    return next((label for label, convention in known.items() if convention == meant), None), meant


def _find_label(result: SystemResult, label: str, convention: str, where: str, hint: str) -> str:
    """Return what the baseline calls a measure of the report."""
    same = [other for other, theirs in result.conventions.items() if theirs == convention]
    if same:
        return label if label in same else same[0]
    if label in result.conventions:
        spelled = Measure.parse(convention).spelled_out()
        found = f"{label} is {_spelled_out(result, label)} in the baseline and {spelled} here"
        raise DataError(found, where=where, expected="the same conventions", hint=hint)
    known = ", ".join(result.conventions)
    raise DataError(f"the baseline has no {label}", where=where, expected=f"one of {known}", hint=hint)


def _check_slice(target: Target, report: Report, where: str) -> None:
    """Refuse a difference in a slice whose queries' scores are not known, such as a slice of items."""
    part = next((part for part in report.slices if part.name == target.slice), None)
    if part is not None and not part.rows:
        raise DataError(
            f"the baseline has no scores for the slice {part.name}",
            where=where,
            expected="a slice of queries, of a report with per-query scores",
            hint="Compare with the run instead of the file: --baseline RUN; in Python with a report of it.",
        )


def compare_baselines(
    old: Report, new: Report, system: str, resampling: Resampling
) -> tuple[Report | None, tuple[str, ...]]:
    """Compare a baseline that is to be written with that of the file, query by query.

    Args:
        old: What ``read_baseline`` returned.
        new: The report with the new baseline.
        system: Its system.
        resampling: How intervals and tests are made.

    Returns:
        A report of both baselines, None where they cannot be compared; and sentences on what changed.
    """
    before, after = _known_gold(old), _known_gold(new)
    if before != after:
        note = f"The gold changed: {_size(before)} before, {_size(after)} now"
        same = " with other content" if _size(before) == _size(after) else ""
        return None, (f"{note}{same}. The scores are not compared.",)
    ((name, result),) = old.systems.items()
    pair = pair_scores(NEW, new.scores[system], OLD, old.scores[name])
    notes = []
    for label in pair.unmatched:
        now = _spelled_out(new.systems[system], label)
        was = f"{_spelled_out(result, label)} before, {now} now" if label in result.conventions else ""
        notes.append(f"{label} follows other conventions: {was}." if was else f"{label} is new.")
    kept = {*pair.baseline_scores.labels, *pair.unmatched}
    notes += [f"{label} is not in the new baseline." for label in result.estimates if label not in kept]
    if not pair.scores.labels:
        return None, tuple(notes)
    sides = {OLD: replace(pair.baseline_scores, labels=pair.scores.labels), NEW: pair.scores}
    estimates = estimate_systems(sides, resampling)
    results = {side: SystemResult.of(scores, estimates[side]) for side, scores in sides.items()}
    (comparisons,) = compare_scores([pair], resampling)
    return Report(results, resampling, OLD, tuple(comparisons), queries=QueryData(sides)), tuple(notes)
