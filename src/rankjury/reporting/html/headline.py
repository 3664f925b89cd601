"""First screen of the report page: chips of verdicts, the table of headline measures, and the chart under it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isnan

from rankjury.core.text import join_names, plural, visible
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import Report
from rankjury.evaluation.summary import contradicts_interval
from rankjury.measures.measure import common_names_note
from rankjury.reporting.charts.measures import differences_chart, headline_chart, only_tested
from rankjury.reporting.charts.spec import DotPlot
from rankjury.reporting.tables import (
    CellStyle,
    TableCell,
    TableColumn,
    TextTable,
    idle_systems,
    interval_note,
    make_table,
)
from rankjury.reporting.tables.differences import correction_note, p_legend, verdict_style
from rankjury.stats.comparison import Comparison
from rankjury.stats.estimates import Estimate
from rankjury.stats.formatting import NO_VALUE, format_difference, format_estimate, format_p, format_percent

_OPTIONS = re.compile(r"(?P<name>[^()]+)\((?P<options>.+)\)(?P<cutoff>@\d+)?")
MARKS = {"better": "▲", "worse": "▼"}
_ORDER = ("fail", "unsure", "pass")
_MOST_CHIPS = 12
_MOST_ACROSS = 7
"""Systems that are columns; where there are more, they are rows, and the measures of the headline are columns."""
_MOST_FULL = 5
"""Columns that have room for a difference with its interval."""
_MOST_DOTS = 12
"""Dots of the chart: more would not be on the first screen."""
_MOST_NAMED = 4


@dataclass(frozen=True)
class VerdictChip:
    """A verdict in a word, and what it is about."""

    outcome: str
    text: str


def verdict_chips(gate: Gate) -> tuple[list[VerdictChip], int]:
    """Return the verdicts as chips, failures first, and how many there was no room for."""
    several = len({verdict.system for verdict in gate.verdicts}) > 1
    chips = []
    for verdict in sorted(gate.verdicts, key=lambda verdict: _ORDER.index(verdict.outcome)):
        system = f" of {verdict.system}" if several else ""
        value = verdict.shown.partition(" [")[0]
        chips.append(VerdictChip(verdict.outcome, f"{verdict.target.title}{system}: {value}, {verdict.target.wanted}"))
    return chips[:_MOST_CHIPS], max(0, len(chips) - _MOST_CHIPS)


def headline_table(report: Report, labels: Sequence[str], *, strong: bool = True) -> TextTable:
    """Return the means of some measures with their differences to the baseline, so that they fit on a page.

    Two systems that are compared have a column for each value. Otherwise measures are rows and systems are columns, or
    the other way round where there are many systems; where there are many columns, a mark stands for the difference.
    The means are in bold where ``strong``.
    """
    compared = {(comparison.system, comparison.measure): comparison for comparison in report.comparisons}
    baseline = report.baseline
    others = [name for name in report.systems if name != baseline]
    if (
        baseline is not None
        and baseline in report.systems
        and len(others) == 1
        and any((others[0], label) in compared for label in labels)
    ):
        return _two_systems(report, labels, baseline, others[0])
    down = len(report.systems) <= _MOST_ACROSS or len(labels) > _MOST_ACROSS + 1
    full = (len(report.systems) if down else len(labels)) <= _MOST_FULL

    def cell(name: str, label: str) -> TableCell:
        estimate, comparison = report.systems[name].estimates.get(label), compared.get((name, label))
        return measure_cell(estimate, comparison, report.level, full=full)

    measures = {label: TableCell(measure_name(report, label)) for label in labels}
    systems = {name: _system_cell(report, name) for name in report.systems}
    if down:
        rows = [[title, *(cell(name, label) for name in systems)] for label, title in measures.items()]
    else:
        rows = [[title, *(cell(name, label) for label in measures)] for name, title in systems.items()]
    heads = (systems if down else measures).values()
    first = TableColumn("measure" if down else "system", "text")
    return make_table([first, *(TableColumn(head.text, strong=strong) for head in heads)], rows)


def _two_systems(report: Report, labels: Sequence[str], baseline: str, system: str) -> TextTable:
    compared = {comparison.measure: comparison for comparison in report.comparisons if comparison.system == system}
    rows = []
    for label in labels:
        means = [
            measure_cell(report.systems[name].estimates.get(label), None, report.level) for name in (baseline, system)
        ]
        row: list[str | TableCell] = [measure_name(report, label), *means]
        comparison = compared.get(label)
        if comparison is None or isnan(comparison.difference):
            rows.append([*row, NO_VALUE, NO_VALUE, NO_VALUE])
            continue
        style = verdict_style(comparison, report.level)
        difference = f"{MARKS.get(style, '')} {format_difference(comparison.difference, comparison.ci)}".lstrip()
        counts = (comparison.better, comparison.equal, comparison.worse)
        tally = NO_VALUE if comparison.whole else " / ".join(f"{count:,}" for count in counts)
        rows.append([*row, TableCell(difference, style), format_p_value(comparison, report.level), tally])
    heads = [TableColumn(_system_cell(report, name).text, strong=True) for name in (baseline, system)]
    return make_table(["measure", *heads, "difference", "p", "better / equal / worse"], rows)


def measure_cell(
    estimate: Estimate | None,
    comparison: Comparison | None,
    level: float,
    *,
    full: bool = True,
    with_p: bool = False,
) -> TableCell:
    """Return a mean with its interval and its difference to the baseline.

    Args:
        estimate: The mean; None: not measured.
        comparison: The difference; None: not compared.
        level: Of the intervals.
        full: Write the difference on a second line; else only a mark where there is one.
        with_p: Write the p-value and how many queries are better, equal and worse on a third line.
    """
    if estimate is None:
        return TableCell(NO_VALUE)
    mean = format_estimate(estimate)
    if comparison is None or isnan(comparison.difference) or isnan(estimate.mean):
        return TableCell(mean)
    style = verdict_style(comparison, level)
    mark = MARKS.get(style, "")
    if full:
        difference = format_difference(comparison.difference, comparison.ci)
        lines = [mean, f"{mark} {difference}".lstrip()]
        if with_p:
            tally = "" if comparison.whole else f" · {comparison.better:,}/{comparison.equal:,}/{comparison.worse:,}"
            lines.append(f"p {format_p(comparison.p_holm, at_floor=comparison.at_floor)}{tally}")
        return TableCell("\n".join(lines), style)
    value, bracket, interval = mean.partition(" [")
    return TableCell(f"{value} {mark}{bracket}{interval}", style) if mark else TableCell(mean)


def format_p_value(comparison: Comparison, level: float) -> str:
    """Return the corrected p-value; below it the one before correction, where only that agrees with the interval."""
    p = format_p(comparison.p_holm, at_floor=comparison.at_floor)
    if comparison.p != comparison.p_holm and contradicts_interval(comparison, level):
        return f"{p}\n{format_p(comparison.p, at_floor=comparison.at_floor)} before correction"
    return p


def measure_name(report: Report, label: str) -> str:
    """Return the name of a measure, and on further lines its conventions and what it is usually called."""
    match = _OPTIONS.fullmatch(label)
    lines = [label] if match is None else [match["name"] + (match["cutoff"] or ""), match["options"].replace(",", ", ")]
    common = report.common_names.get(label)
    return "\n".join([*lines, *([f"= {common}"] if common else ())])


def _system_cell(report: Report, name: str) -> TableCell:
    system = report.systems[name]
    mark = " (baseline)" if name == report.baseline else " (by chance)" if system.random else ""
    gold = f"\nagainst {visible(system.gold, one_line=True)}" if system.gold else ""
    style: CellStyle = "baseline" if name == report.baseline else ""
    return TableCell(visible(name, one_line=True) + mark + gold, style)


def headline_notes(report: Report, labels: Sequence[str]) -> Iterator[str]:
    """Yield what brackets, marks and p-values are, and which measures are undefined for some queries."""
    if interval_note(report):
        yield f"Brackets: {format_percent(report.level)} intervals over {report.unit[1]}."
    if report.comparisons:
        number = sum(comparison.tested for comparison in report.comparisons)
        untested = any(comparison.p is None and comparison.measure in labels for comparison in report.comparisons)
        note = correction_note(report.comparisons, report.level)
        yield (
            f"▲ better, ▼ worse than {report.baseline}; no mark: not shown to differ{' or not tested' * untested}. "
            f"{p_legend(report)} for {plural(number, 'comparison', 'comparisons')}{f'; {note}' if note else ''}."
        )
    undefined = {
        label: max(system.estimates[label].undefined for system in report.systems.values() if label in system.estimates)
        for label in labels
    }
    if most := max(undefined.values(), default=0):
        names = [label for label, number in undefined.items() if number]
        yield (
            f"Undefined for {'up to ' if len(set(undefined.values()) - {0}) > 1 else ''}{plural(most, *report.unit)}, "
            f"omitted from the mean: {join_names(names, _MOST_NAMED)}."
        )
    if note := common_names_note({label: name for label, name in report.common_names.items() if label in labels}):
        yield f"{note}."


def first_chart(report: Report, labels: Sequence[str]) -> DotPlot | None:
    """Return the differences to the baseline, or the means where nothing is compared; None for a single system."""
    idle = idle_systems(report)
    shown = only_tested(comparison for comparison in report.comparisons if comparison.system not in idle)
    measures = [label for label in labels if any(comparison.measure == label for comparison in shown)]
    if measures:
        most = max(1, _MOST_DOTS // len({comparison.system for comparison in shown}))
        chosen = tuple(comparison for comparison in shown if comparison.measure in measures[:most])
        return differences_chart(replace(report, comparisons=chosen))
    return headline_chart(report, labels[0]) if labels and len(report.systems) > 1 else None
