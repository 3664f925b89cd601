"""Reports, scores, comparisons and verdicts in a notebook: a snippet of HTML, self-contained, for light and dark pages.

Colours are those of the page, there is no script, nothing is loaded, and all names are escaped.
"""

import re
from collections.abc import Sequence
from html import escape

from rankjury.core.text import SNIPPETS, align_columns, plural
from rankjury.evaluation.compare import report_on
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import Scores
from rankjury.evaluation.sections import group_warnings
from rankjury.measures.measure import with_common_name
from rankjury.reporting.sections import SectionBlock, render_sections
from rankjury.reporting.tables import TextTable, about_line, first_labels, make_table
from rankjury.reporting.tables.differences import (
    changes_table,
    format_mean,
    largest_losses,
    p_legend,
    slices_table,
    slices_title,
    summary_table,
)
from rankjury.reporting.tables.verdicts import verdict_counts, verdicts_table
from rankjury.stats.comparison import Comparison
from rankjury.stats.formatting import format_difference, format_estimate, format_p

_MOST_ROWS = 60
_MOST_LOSSES = 10
_LONGEST_CELL, _LONGEST_LINE = 200, 1_000
_MARKS = {"pass": "✓ PASS", "fail": "✗ FAIL", "unsure": "? UNSURE"}
_OURS = str.maketrans("", "", "−–…→·▲▼≈✓✗Σ")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_BOX = "max-width:100%;overflow-x:auto;color:inherit;font-variant-numeric:tabular-nums;line-height:1.4"
_TABLE = "border-collapse:collapse;margin:0.4em 0;color:inherit;font-size:inherit;background:none;border:none"
_ROW = "background:none;border-bottom:1px solid rgba(128,128,128,0.4)"
_FIGURE = "padding:0.15em 0.7em;text-align:right;white-space:nowrap"
_WORD = "padding:0.15em 0.7em;text-align:left;white-space:nowrap"
_TEXT = "padding:0.15em 0.7em;text-align:left;overflow-wrap:anywhere;min-width:14em;max-width:30em"
_LONGEST_WORD = 36
"""What is longer may be broken anywhere."""


@SNIPPETS.register("report")
def report_snippet(report: Report) -> str:
    """Return verdicts, measures and warnings; slices, losses and sections are folded away."""
    shown, others = first_labels(report)
    label = shown[0]
    gate = report.section(Gate)
    verdict = "" if gate is None else f"{_MARKS[gate.outcome]}: {verdict_counts(gate)}"
    first, *further = report.summary or ("",)
    losses = changes_table(report, largest_losses(report, label, most=_MOST_LOSSES), texts=True)
    legend = [p_legend(report), "+/=/−: better, equal, worse"] if report.comparisons else []
    return _box(
        _title(first) if first else "",
        *(f'<p style="margin:0.1em 0">{_escape(line, _LONGEST_LINE)}</p>' for line in further),
        _small(f"Report on {about_line(report)}"),
        "" if gate is None else f'<p style="margin:0.3em 0"><strong>{_escape(verdict)}</strong></p>',
        "" if gate is None else _table(verdicts_table(gate, "fail", "unsure")),
        _table(summary_table(report, shown)),
        _small(" · ".join([f"intervals are over {report.unit[1]}", *legend])),
        _folded(plural(len(others), "further measure", "further measures"), summary_table(report, others)),
        _folded(slices_title(report, label), slices_table(report, label, changed=True)),
        _folded(f"largest losses in {label}", losses),
        *(_section(block) for _, block in render_sections(report, "notebook")),
        _warnings(report.warning_lines),
    )


def _section(block: SectionBlock) -> str:
    """Return a section, folded away."""
    content = "".join(map(_small, block.lines))
    for found in filter(None, block.own_tables):
        content += "".join(_small(line) for line in found.title.split("\n") if line) + _table(found.first(_MOST_ROWS))
    return _details(block.title, content) if content else ""


@SNIPPETS.register("scores")
def scores_snippet(scores: Scores) -> str:
    report = report_on(scores)
    table = _table(make_table(["measure", "mean", "n", "undefined"], _estimates(scores)))
    return _box(*map(_title, report.summary), table, _warnings([str(warning) for warning in report.warnings]))


@SNIPPETS.register("report text")
def report_text(report: Report) -> str:
    """Return the answer, means and differences, and the warnings as plain text, for ``print(report)``."""
    rows = [["measure", "system", "mean", *(("difference", "p") if report.baseline else ())]]
    differences = {
        (by.measure, by.system): (format_difference(by.difference, by.ci), format_p(by.p_holm, at_floor=by.at_floor))
        for by in report.comparisons
    }
    for label in report.labels:
        for name, system in report.systems.items():
            difference = differences.get((label, name), ("", "")) if report.baseline else ()
            rows.append([report.both_names(label), name, format_estimate(system.estimates[label]), *difference])
    answer = report.summary or [f"Report on {about_line(report)}"]
    warnings = group_warnings(report.warnings, list(report.systems), report.unit, more="report.warning_lines has all")
    return "\n".join([*answer, "", *align_columns(rows, left=2), *(f"warning: {line}" for line in warnings)])


@SNIPPETS.register("scores text")
def scores_text(scores: Scores) -> str:
    """Return the answer, the means and the warnings as plain text, for ``print(scores)``."""
    report = report_on(scores)
    table = align_columns([["measure", "mean", "n", "undefined"], *_estimates(scores)])
    return "\n".join([*report.summary, "", *table, *(f"warning: {warning}" for warning in report.warnings)])


def _estimates(scores: Scores) -> list[list[str]]:
    return [
        [with_common_name(label, scores.common_names.get(label)), format_estimate(by), f"{by.n:,}", f"{by.undefined:,}"]
        for label, by in scores.estimates().items()
    ]


@SNIPPETS.register("comparison")
def comparison_snippet(comparison: Comparison) -> str:
    detectable = "–" if comparison.detectable is None else f"{comparison.detectable:.2g}"
    tally = " / ".join(f"{count:,}" for count in (comparison.better, comparison.equal, comparison.worse))
    rows = [
        ["mean", format_mean(comparison.mean, comparison)],
        [f"mean of {comparison.baseline}", format_mean(comparison.baseline_mean, comparison)],
        ["difference", format_difference(comparison.difference, comparison.ci)],
        ["p, corrected after Holm", format_p(comparison.p_holm, at_floor=comparison.at_floor)],
        ["p by itself", format_p(comparison.p, at_floor=comparison.at_floor)],
        *([] if comparison.whole else [["better / equal / worse", tally]]),
        ["n", f"{comparison.n:,}" + (f" ({comparison.left_out:,} undefined)" if comparison.left_out else "")],
        ["difference that so many would show", detectable],
    ]
    less = " (less is better)" if comparison.lower_is_better else ""
    title = f"{comparison.system} beside {comparison.baseline}: {comparison.measure}{less}"
    return _box(_title(title), _table(make_table(["", comparison.system], rows)))


@SNIPPETS.register("gate")
def gate_snippet(gate: Gate) -> str:
    against = f" · baseline {gate.baseline}" if gate.baseline else ""
    title = f"{_MARKS[gate.outcome]}: {verdict_counts(gate)}{against}"
    return _box(
        _title(title),
        _small(gate.sentence),
        _table(verdicts_table(gate)),
        _small(gate.exit_note),
        _warnings(gate.notes),
    )


@SNIPPETS.register("gate text")
def gate_text(gate: Gate) -> str:
    """Return the verdict and all targets as plain text, for ``print(gate)``."""
    found = verdicts_table(gate)
    lines = align_columns([found.header, *found.texts], left=len(found.header))
    return "\n".join([gate.sentence, "", *lines, *(f"note: {note}" for note in gate.notes)])


def _box(*parts: str) -> str:
    """Return the whole snippet: what is too wide scrolls within it, from the keyboard as well."""
    return f'<div tabindex="0" style="{_BOX}">{"".join(parts)}</div>'


def _title(text: str) -> str:
    return f'<p style="margin:0.3em 0;font-weight:bold">{_escape(text, _LONGEST_LINE)}</p>'


def _small(text: str) -> str:
    return f'<p style="margin:0.1em 0;font-size:0.9em">{_escape(text, _LONGEST_LINE)}</p>'


def _table(found: TextTable) -> str:
    """Return a table and its notes; nothing of one without rows."""
    if not found:
        return ""
    words = [column.kind == "text" for column in found.columns]
    head = "".join(_cell("th", name, left, ' scope="col"') for name, left in zip(found.header, words, strict=True))
    rows = ("".join(_cell("td", cell, left) for cell, left in zip(row, words, strict=True)) for row in found.texts)
    body = "".join(f'<tr style="{_ROW}">{row}</tr>' for row in rows)
    shown = f'<table style="{_TABLE}"><thead><tr style="{_ROW}">{head}</tr></thead><tbody>{body}</tbody></table>'
    return shown + "".join(map(_small, found.notes))


def _cell(tag: str, text: str, left: bool, more: str = "") -> str:
    style = _FIGURE if not left else _WORD if len(text) <= _LONGEST_WORD else _TEXT
    return f'<{tag}{more} style="{style}">{_escape(text)}</{tag}>'


def _folded(title: str, found: TextTable) -> str:
    """Return a table that opens with a click; of many rows the first."""
    cut = f" ({_MOST_ROWS} of {len(found.rows):,} rows)" if len(found.rows) > _MOST_ROWS else ""
    return _details(title + cut, _table(found.first(_MOST_ROWS))) if found else ""


def _details(title: str, content: str) -> str:
    summary = f'<summary style="cursor:pointer">{_escape(title)}</summary>'
    return f'<details style="margin:0.3em 0">{summary}{content}</details>'


def _warnings(warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    listed = "".join(f"<li>{_escape(warning, _LONGEST_LINE)}</li>" for warning in warnings)
    return f'<p style="margin:0.3em 0 0">Warnings:</p><ul style="margin:0 0 0.3em;overflow-wrap:anywhere">{listed}</ul>'


def _escape(text: str, longest: int = _LONGEST_CELL) -> str:
    """Escape a text; one that may be written from right to left does not change the direction of what follows."""
    kept = escape(_CONTROLS.sub("�", text if len(text) <= longest else f"{text[: longest - 1]}…"))
    return kept if kept.translate(_OURS).isascii() else f"<bdi>{kept}</bdi>"
