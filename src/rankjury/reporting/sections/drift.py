"""Renderer of drift: the rule, the statistics, rank churn, and what changed between two reports."""

from collections.abc import Iterator, Sequence
from math import isfinite, isnan
from typing import Any

from rankjury.core.text import json_text, plural
from rankjury.evaluation.drift import Churn, Drift, DriftTest, MovedValue
from rankjury.evaluation.report import Report
from rankjury.reporting.charts.sections import drift_chart
from rankjury.reporting.sections import SectionBlock, renderer
from rankjury.reporting.tables import CellStyle, TableCell, TextTable, make_table
from rankjury.retrieval.hints import Hint
from rankjury.stats.formatting import NO_VALUE, format_p, format_percent, format_value

DRIFTS_SCHEMA = "rankjury.drifts/1"
_DECIMALS = 4
_WITHIN = {True: "within", False: "beyond", None: NO_VALUE}
_STYLES: dict[str, CellStyle] = {"within": "pass", "beyond": "fail"}
_STANDINGS = {
    "same": "no difference",
    "noise": "within noise: the interval holds 0",
    "real": "real: the interval excludes 0",
    "unsure": "unsure: the test cannot show it",
}


@renderer("drift")
def render(report: Report, brief: bool) -> SectionBlock | None:
    """Return what changed since an earlier report and what came of it, system by system, without the tables."""
    lines: list[str] = []
    for drift in report.sections_of(Drift).values():
        churn = [] if drift.churn is None else [_churn_line(drift.churn)]
        lines.append(f"Drift of {drift.system} since {drift.old_source}")
        lines += [f"  {line.strip()}" for line in (*churn, *_change_lines(drift), *_verdict_lines(drift))]
    lines = [*lines, "All of it: rankjury drift NEW OLD"] if lines else []
    return (
        SectionBlock("Drift", lines=lines, charts=lambda: list(filter(None, [drift_chart(report)])), order=52)
        if lines
        else None
    )


def drift_block(drift: Drift, hints: Sequence[Hint] = ()) -> SectionBlock:
    """Return all of one drift, for ``rankjury drift``."""
    tables = [_moves_table(drift), _tested_table([*drift.tested, *drift.quality])]
    if drift.churn is not None:
        tables.append(_churn_table(drift.churn))
    lines = [*_change_lines(drift), *_verdict_lines(drift), *(f"Hint: {hint.text}" for hint in hints)]
    return SectionBlock(
        f"{drift.system} of {drift.source} beside {drift.old_system} of {drift.old_source}", tables, lines
    )


def _moves_table(drift: Drift) -> TextTable:
    """Return the values that the rule is about."""
    rows: list[list[str | TableCell]] = []
    for one in drift.moved:
        within = _WITHIN[one.within]
        rows.append(
            [
                one.figure,
                _format_figure(one.old),
                _format_figure(one.new),
                _format_change(one),
                TableCell(within, _STYLES.get(within, "")),
            ]
        )
    relative = any(move.relative_to == "mean" for move in drift.moved)
    notes = ["* as a share of the mean: a spread next to 0 doubles by rounding alone"] if relative else []
    header = ["figure", "old", "new", "change", f"±{format_percent(drift.allowed)}"]
    return make_table(header, rows, text=(0, 4), wraps=(0,), notes=notes)


def _format_figure(value: float) -> str:
    return NO_VALUE if isnan(value) else format_value(value, _DECIMALS)


def _format_change(move: MovedValue) -> str:
    if isnan(move.change):
        return NO_VALUE
    text = _format_share(move.change) if isfinite(move.change) else "from 0"
    return f"{text}*" if move.relative_to == "mean" else text


def _tested_table(tested: Sequence[DriftTest]) -> TextTable:
    """Means over the queries in common, the difference as a share, and how sure it is."""
    rows = []
    for test in tested:
        found, short = test.comparison, _STANDINGS[test.standing].partition(":")[0]
        means = f"{_format_figure(found.baseline_mean)} → {_format_figure(found.mean)}"
        p = format_p(found.p_holm, at_floor=found.at_floor)
        rows.append([found.measure, means, _format_relative(test), p, short])
    header = ["mean of", "old → new", "change", "p", "the difference is"]
    title = f"The same queries ({tested[0].comparison.n:,}), before and after"
    return make_table(header, rows, text=(0, 4), wraps=(0, 4), title=title)


def _format_relative(test: DriftTest) -> str:
    """``+0.8 % [+0.5, +1.1]``"""
    found = test.comparison
    if found.relative is None:
        return NO_VALUE
    ends = found.relative_ci
    return _format_share(found.relative) + (
        f" [{', '.join(_format_signed(100 * end) for end in ends)}]" if ends else ""
    )


def _churn_line(churn: Churn) -> str:
    changed = f"{plural(round(churn.changed * churn.n), 'query', 'queries')} of {churn.n:,} changed"
    return (
        f"First {churn.k} items: overlap {format_value(churn.overlap, 3)}, RBO {format_value(churn.rbo, 3)}; {changed}"
        + (", most of all" if churn.most else "")
    )


def _churn_table(churn: Churn) -> TextTable:
    """The queries whose first items changed most."""
    rows = [
        [one.query, format_value(one.overlap, 2), format_value(one.rbo, 2), " ".join(one.gone) or NO_VALUE,
         " ".join(one.new) or NO_VALUE]
        for one in churn.most
    ]  # fmt: skip
    header = ["query", "overlap", "RBO", "gone", "new"]
    return make_table(header, rows, text=(0, 3, 4), wraps=(0, 3, 4), title=_churn_line(churn))


def _change_lines(drift: Drift) -> Iterator[str]:
    found = drift.circumstances
    if found.changed:
        yield f"Changed: {' · '.join(map(str, found.changed))}"
    elif not found.undeclared and not found.unknown:
        yield "Changed: nothing, by what is declared and what can be told"
    for sentence in found.undeclared:
        yield f"Undeclared: {sentence}"
    if found.unknown:
        yield f"Not known: whether {', '.join(found.unknown)} changed (declare versions under [meta] in the plan)"


def _verdict_lines(drift: Drift) -> Iterator[str]:
    """The rule and the statistics, each in its own right."""
    moved = {one.figure: one for one in drift.moved}
    allowed = f"±{format_percent(drift.allowed)}"
    for one in drift.tested:
        label = one.comparison.measure.removesuffix(" mean")
        within = moved[f"{label} mean"].within
        joint = "and" if within is (one.standing in ("same", "noise")) else "but"
        rule = f"{_WITHIN[within]} {allowed}" if within is not None else f"not judged by {allowed}"
        yield f"{label}: {_format_relative(one)}, {rule}, {joint} {_STANDINGS[one.standing]}"
    worst = drift.worst
    if worst is None or not worst.change:
        moved_most = ": no figure moved"
    else:
        moved_most = f": {worst.figure} moved most, {_format_change(worst).rstrip('*')}"
    unsure = f"; an interval reaches past {allowed}" if drift.outcome == "unsure" else ""
    yield f"{drift.outcome.upper()}{moved_most}{unsure}"


def drifts_to_json(drifts: Sequence[Drift], *, strict: bool) -> str:
    """The verdict over all systems, and each."""
    outcomes = [drift.outcome for drift in drifts]
    verdict = next((one for one in ("fail", "unsure") if one in outcomes), "pass")
    form: dict[str, Any] = {"schema": DRIFTS_SCHEMA, "verdict": verdict, "strict": strict}
    return json_text(form | {"drifts": [one.to_json() for one in drifts]})


def _format_share(share: float) -> str:
    return f"{_format_signed(100 * share)} %"


def _format_signed(value: float) -> str:
    rounded = round(value, 1)
    return f"{rounded:+.1f}".replace("-", "−") if rounded else "0.0"
