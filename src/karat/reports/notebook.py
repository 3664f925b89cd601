"""Reports, scores, comparisons and verdicts in a notebook: a snippet of HTML, self-contained, for light and dark pages.

Colours are the page's own, there is no script, nothing is loaded, and whatever somebody named is escaped.
"""

import re
from collections.abc import Sequence
from html import escape

from karat.gates import Gate
from karat.markup import SNIPPETS
from karat.report import Report
from karat.report_warnings import warning_lines
from karat.reports import gate as gates
from karat.reports.charts.from_form.reading import Form
from karat.reports.digest import (
    MOVES,
    Names,
    about,
    headline_table,
    labels_first,
    losses_table,
    names_in,
    slices_table,
    verdict_counts,
    verdicts_table,
)
from karat.reports.html.sections import p_legend, verdict_of, who_of
from karat.reports.table import Table
from karat.results import Scores
from karat.statistics.differences import Comparison
from karat.usual import beside
from karat.wording import count, decimals_of, difference_shown, estimate_shown, figure_shown, p_shown

__all__ = ["comparison_snippet", "form_snippet", "gate_snippet", "report_snippet", "scores_snippet"]

_MOST_ROWS = 60
_MOST_LOSSES = 10
_LONGEST_CELL = 200
_MARKS = {"pass": "✓ PASS", "fail": "✗ FAIL", "unsure": "? UNSURE"}
_NAMES = {"", "measure", "system", "slice", "verdict", "target", "wanted", "query", "user", MOVES}
"""Columns that hold words."""
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
    return _of_form(report.to_json(), Names(report.texts, report.names))


@SNIPPETS.register("form")
def form_snippet(form: Form) -> str:
    """A report in its versioned form, such as that of an archived run."""
    return _of_form(form, Names({}, {}))


def _of_form(form: Form, names: Names) -> str:
    """Verdicts, measures and warnings; folded away where it loses."""
    shown, others = labels_first(form)
    label = shown[0]
    verdict = verdict_of(form)
    held = [f"{_MARKS.get(verdict, verdict)}: {verdict_counts(form)}"] if verdict else []
    slices = slices_table(form, label)
    lost = losses_table(form, label, _MOST_LOSSES, names_in(form) | names)
    legend = [p_legend(form), "+/=/−: better, equal, worse"] if form.get("comparisons") else []
    further = count(len(others), "further measure", "further measures")
    return _box(
        _title(f"Report on {about(form)}"),
        *map(_strong, held),
        _table(verdicts_table(form, "fail", "unsure")),
        _table(headline_table(form, shown)),
        _small(" · ".join([f"intervals are over {who_of(form)[1]}", *legend])),
        _folded(further, headline_table(form, others)),
        _folded(f"{label} by slice, worst first", slices),
        _folded(f"largest losses in {label}", lost),
        _warnings(warning_lines(form)),
    )


@SNIPPETS.register("scores")
def scores_snippet(scores: Scores) -> str:
    usual = scores.usual_names
    rows = []
    for label in scores.labels:
        one = scores.summary(label)
        rows.append([beside(label, usual.get(label)), estimate_shown(one), f"{one.n:,}", f"{one.undefined:,}"])
    return _box(_title(scores.title), _table((["measure", "mean", "n", "undefined"], rows)), _warnings(scores.warnings))


@SNIPPETS.register("comparison")
def comparison_snippet(one: Comparison) -> str:
    decimals = decimals_of(one.ci)
    known = "–" if one.detectable is None else f"{one.detectable:.2g}"
    rows = [
        ["mean", figure_shown(one.mean, decimals) if one.n else "–"],
        [f"mean of {one.baseline}", figure_shown(one.baseline_mean, decimals) if one.n else "–"],
        ["difference", difference_shown(one.difference, one.ci)],
        ["p, corrected after Holm", p_shown(one.p_holm, at_floor=one.at_floor)],
        ["p by itself", p_shown(one.p, at_floor=one.at_floor)],
        *([] if one.whole else [["better / equal / worse", f"{one.better:,} / {one.equal:,} / {one.worse:,}"]]),
        ["n", f"{one.n:,}" + (f" ({one.left_out:,} undefined)" if one.left_out else "")],
        ["difference that so many would show", known],
    ]
    less = " (less is better)" if one.lower_is_better else ""
    title = f"{one.system} beside {one.baseline}: {one.measure}{less}"
    return _box(_title(title), _table((["", one.system], rows)))


@SNIPPETS.register("gate")
def gate_snippet(gate: Gate) -> str:
    counts = {outcome: sum(one.outcome == outcome for one in gate.verdicts) for outcome in ("fail", "unsure", "pass")}
    shown = gates.verdicts_table(gate)
    told = " · ".join(f"{n:,} {outcome}" for outcome, n in counts.items() if n)
    against = f" · baseline {gate.baseline}" if gate.baseline else ""
    return _box(
        _title(f"{_MARKS[gate.outcome]}: {told}{against}"), _table((shown.header, shown.texts)), _warnings(gate.notes)
    )


def _box(*parts: str) -> str:
    """The whole: what is too wide scrolls within it, from the keyboard as well."""
    return f'<div tabindex="0" style="{_BOX}">{"".join(parts)}</div>'


def _title(text: str) -> str:
    return f'<p style="margin:0.3em 0;font-weight:bold">{_shown(text)}</p>'


def _strong(text: str) -> str:
    return f'<p style="margin:0.3em 0"><strong>{_shown(text)}</strong></p>'


def _small(text: str) -> str:
    return f'<p style="margin:0.1em 0;font-size:0.9em">{_shown(text)}</p>'


def _table(table: Table) -> str:
    header, rows = table
    if not rows:
        return ""
    words = [name in _NAMES for name in header]
    head = "".join(_cell("th", name, left, ' scope="col"') for name, left in zip(header, words, strict=True))
    body = "".join(f'<tr style="{_ROW}">{_row(row, words)}</tr>' for row in rows)
    return f'<table style="{_TABLE}"><thead><tr style="{_ROW}">{head}</tr></thead><tbody>{body}</tbody></table>'


def _row(row: Sequence[str], words: Sequence[bool]) -> str:
    return "".join(_cell("td", cell, left) for cell, left in zip(row, words, strict=True))


def _cell(tag: str, text: str, left: bool, more: str = "") -> str:
    style = _FIGURE if not left else _WORD if len(text) <= _LONGEST_WORD else _TEXT
    return f'<{tag}{more} style="{style}">{_shown(text)}</{tag}>'


def _folded(title: str, table: Table) -> str:
    """A table that opens with a click; of many rows the first."""
    header, rows = table
    if not rows:
        return ""
    told = f"{title} ({_MOST_ROWS} of {len(rows):,} rows)" if len(rows) > _MOST_ROWS else title
    summary = f'<summary style="cursor:pointer">{_shown(told)}</summary>'
    return f'<details style="margin:0.3em 0">{summary}{_table((header, rows[:_MOST_ROWS]))}</details>'


def _warnings(warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    listed = "".join(f"<li>{_shown(one, 1_000)}</li>" for one in warnings)
    return f'<p style="margin:0.3em 0 0">Warnings:</p><ul style="margin:0 0 0.3em;overflow-wrap:anywhere">{listed}</ul>'


def _shown(text: str, longest: int = _LONGEST_CELL) -> str:
    """Somebody's text as text; one that may be read from the right turns no direction but its own."""
    kept = escape(_CONTROLS.sub("�", text if len(text) <= longest else f"{text[: longest - 1]}…"))
    return kept if kept.translate(_OURS).isascii() else f"<bdi>{kept}</bdi>"
