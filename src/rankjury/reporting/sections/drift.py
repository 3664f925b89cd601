"""Renderer of drift: the rule, the statistics, rank churn, and what changed between two reports."""

from collections.abc import Iterator, Sequence
from math import isfinite, isnan

from rankjury.core.text import json_text, plural
from rankjury.evaluation.drift import Churn, Drift, DriftTest, MovedValue
from rankjury.evaluation.report import Report
from rankjury.reporting.charts.sections import drift_chart
from rankjury.reporting.sections import SectionBlock, renderer
from rankjury.reporting.tables import CellStyle, TableCell, TextTable, make_table
from rankjury.retrieval.hints import Hint
from rankjury.stats.formatting import NO_VALUE, format_difference, format_p, format_percent, format_value

DRIFTS_SCHEMA = "rankjury.drifts/1"
_DECIMALS = 4
_WITHIN = {True: "within", False: "beyond", None: NO_VALUE}
_STYLES: dict[str, CellStyle] = {"within": "pass", "beyond": "fail"}
_STANDINGS = {
    "same": "no difference",
    "noise": "within noise: the interval includes 0",
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
        lines.append(f"  {verdict_line(drift)}")
    if not lines:
        return None
    lines.append("All of it: rankjury drift OLD NEW")
    return SectionBlock("Drift", lines=lines, charts=lambda: list(filter(None, [drift_chart(report)])), order=52)


def drift_block(drift: Drift, hints: Sequence[Hint] = ()) -> SectionBlock:
    """Return all of one drift, for ``rankjury drift``."""
    tables = [_moves_table(drift), _tested_table([*drift.tested, *drift.quality])]
    if drift.churn is not None:
        tables.append(_churn_table(drift.churn))
    lines = [*_change_lines(drift), *_verdict_lines(drift), *(f"Hint: {hint.text}" for hint in hints)]
    title = f"{drift.system} of {drift.source} compared with {drift.old_system} of {drift.old_source}"
    return SectionBlock(title, tables, lines)


def _moves_table(drift: Drift) -> TextTable:
    """Return the values that the rule is about."""
    rows: list[list[str | TableCell]] = []
    for move in drift.moved:
        within = _WITHIN[move.within]
        values = [_format_figure(move.old), _format_figure(move.new), _format_change(move)]
        rows.append([move.figure, *values, TableCell(within, _STYLES.get(within, ""))])
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
    """Return means over the queries in common, the difference as a share, and how sure it is."""
    rows = []
    for test in tested:
        comparison, short = test.comparison, _STANDINGS[test.standing].partition(":")[0]
        means = f"{_format_figure(comparison.baseline_mean)} → {_format_figure(comparison.mean)}"
        p = format_p(comparison.p_holm, at_floor=comparison.at_floor)
        rows.append([comparison.measure, means, _format_relative(test), p, short])
    header = ["mean of", "old → new", "change", "p", "the difference is"]
    title = f"The same queries ({tested[0].comparison.n:,}), before and after"
    return make_table(header, rows, text=(0, 4), wraps=(0, 4), title=title)


def _format_relative(test: DriftTest) -> str:
    """``+0.8 % [+0.5, +1.1]``"""
    share, ends = test.comparison.relative, test.comparison.relative_ci
    if share is None:
        return NO_VALUE
    return _format_share(share) + (f" [{', '.join(_format_signed(100 * end) for end in ends)}]" if ends else "")


def _churn_line(churn: Churn) -> str:
    changed = f"{plural(round(churn.changed * churn.n), 'query', 'queries')} of {churn.n:,} changed"
    return (
        f"First {churn.k} items: overlap {format_value(churn.overlap, 3)}, RBO {format_value(churn.rbo, 3)}; {changed}"
        + (", most of all" if churn.most else "")
    )


def _churn_table(churn: Churn) -> TextTable:
    """Return the queries whose first items changed most."""
    rows = []
    for change in churn.most:
        items = (" ".join(names) or NO_VALUE for names in (change.gone, change.new))
        rows.append([change.query, format_value(change.overlap, 2), format_value(change.rbo, 2), *items])
    header = ["query", "overlap", "RBO", "gone", "new"]
    return make_table(header, rows, text=(0, 3, 4), wraps=(0, 3, 4), title=_churn_line(churn))


def _change_lines(drift: Drift) -> Iterator[str]:
    about = drift.circumstances
    if about.changed:
        yield f"Changed: {' · '.join(map(str, about.changed))}"
    elif not about.undeclared and not about.unknown:
        yield "Changed: no declared or recorded version or input"
    for sentence in about.undeclared:
        yield f"Undeclared: {sentence}"
    if about.unknown:
        yield f"Not known: whether {', '.join(about.unknown)} changed (declare versions under [meta] in the plan)"


def _verdict_lines(drift: Drift) -> Iterator[str]:
    """Yield what the rule and what the test says of each mean."""
    moved = {move.figure: move for move in drift.moved}
    allowed = f"±{format_percent(drift.allowed)}"
    for test in drift.tested:
        label = test.comparison.measure.removesuffix(" mean")
        within = moved[f"{label} mean"].within
        joint = "and" if within is (test.standing in ("same", "noise")) else "but"
        rule = f"{_WITHIN[within]} {allowed}" if within is not None else f"not judged by {allowed}"
        yield f"{label}: {_format_relative(test)}, {rule}, {joint} {_STANDINGS[test.standing]}"


def verdict_line(drift: Drift) -> str:
    """Return ``FAIL: hnsw drifted from old.json: …``."""
    return f"{drift.outcome.upper()}: {drift.sentence}"


def drifts_to_json(drifts: Sequence[Drift], *, strict: bool) -> str:
    """Return the verdict over all systems, and each drift."""
    outcomes = [drift.outcome for drift in drifts]
    verdict = next((outcome for outcome in ("fail", "unsure") if outcome in outcomes), "pass")
    about = {"schema": DRIFTS_SCHEMA, "verdict": verdict, "strict": strict}
    return json_text(about | {"drifts": [drift.to_json() for drift in drifts]})


def _format_share(share: float) -> str:
    return f"{_format_signed(100 * share)} %"


def _format_signed(value: float) -> str:
    return format_difference(value, None, decimals=1)
