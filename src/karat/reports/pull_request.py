"""A report for a pull request: Markdown that begins with what a reviewer must know, and is never too long for GitHub.

Names are somebody's data: none of them mentions a person, refers to an issue, loads a picture or breaks a table.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from karat.markup import markdown_text
from karat.report_warnings import warning_lines
from karat.reports import cells
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
from karat.reports.html.sections import conventions_of, p_legend, verdict_of, who_of
from karat.reports.markdown import markdown_table
from karat.reports.table import Table
from karat.wording import count

__all__ = ["LONGEST", "plain", "summary_of"]

LONGEST = 65_536
"""So many characters GitHub takes in a comment."""
_KEPT_FREE = 1_000
"""For the last lines, and the note that something was cut."""
_LONGEST_CELL = 160
_WORST_SLICES = 5
_LARGEST_LOSSES = 5
_MARKS = {"pass": "✅ PASS", "fail": "❌ FAIL", "unsure": "⚠️ UNSURE"}
_CUT = "*Something was left out here: GitHub takes no longer comment. The report itself has all of it.*"
_TEXT = {"", "measure", "system", "slice", "verdict", "target", "wanted", "query", "user", MOVES}
"""Columns that hold words."""
_SPELLING = re.compile(r"\w[\w(),=@.+ -]{0,158}[\w)]", re.ASCII)


@dataclass(frozen=True)
class Part:
    """A piece of the summary: a table that may be cut after any of its rows, and what stands around it."""

    before: Sequence[str]
    rows: Sequence[str]
    after: Sequence[str] = ("",)


def summary_of(form: Form, *, names: Names | None = None) -> str:
    """A report's form, with its gate where there is one, as a comment."""
    parts = [_head(form), *_open(form, names_in(form) | (names or Names({}, {}))), *_folded(form)]
    return _joined(parts, _provenance(form))


def _joined(parts: Sequence[Part], last: str) -> str:
    """As much as fits: a part that does not is cut after the row that still does, and the rest is left out."""
    lines: list[str] = []
    room = LONGEST - _KEPT_FREE - len(last)
    for part in parts:
        room -= _size(part.before) + _size(part.after)
        kept = _fitting(part.rows, room)
        if room < 0:
            return "\n".join([*lines, _CUT, "", last]) + "\n"
        lines += [*part.before, *part.rows[:kept], *part.after]
        if kept < len(part.rows):
            return "\n".join([*lines, _CUT, "", last]) + "\n"
        room -= _size(part.rows)
    return "\n".join([*lines, last]) + "\n"


def _fitting(rows: Sequence[str], room: int) -> int:
    """How many of the rows there is room for."""
    for number, row in enumerate(rows):
        room -= len(row) + 1
        if room < 0:
            return number
    return len(rows)


def _size(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _head(form: Form) -> Part:
    """The verdict, and over what it is."""
    name = (form.get("provenance") or {}).get("name") or "report"
    verdict = _MARKS.get(verdict_of(form) or "")
    counts = verdict_counts(form)
    title = f"### {verdict} · {plain(name)}" if verdict else f"### karat · {plain(name)}"
    return Part([title, "", plain(" · ".join(filter(None, (counts and f"targets: {counts}", about(form)))))], [])


def _open(form: Form, names: Names) -> Iterator[Part]:
    """What is read without unfolding anything: targets that do not hold, means, and where they were lost."""
    missed = verdicts_table(form, "fail", "unsure")
    if missed[1]:
        yield _table("", missed)
    labels = labels_first(form)[0]
    yield _table("", headline_table(form, labels))
    label = labels[0]
    worst = slices_table(form, label, losing=True)
    if worst[1]:
        told = "loses most" if form.get("comparisons") else "is lowest"
        yield _table(f"**Where {_coded(label)} {told}**", (worst[0], worst[1][:_WORST_SLICES]))
    lost = losses_table(form, label, _LARGEST_LOSSES, names)
    if lost[1]:
        yield _table(f"**Largest losses in {_coded(label)}**", lost)


def _folded(form: Form) -> Iterator[Part]:
    """The rest."""
    warnings = warning_lines(form)
    if warnings:
        yield _details(count(len(warnings), "warning", "warnings"), [f"- {plain(one, 500)}" for one in warnings])
    held = verdicts_table(form, "pass")
    if held[1]:
        yield _folded_table(count(len(held[1]), "target holds", "targets hold"), held)
    (label, *_), others = labels_first(form)
    if others:
        title = count(len(others), "further measure", "further measures")
        yield _folded_table(title, headline_table(form, others))
    slices = slices_table(form, label)
    if len(slices[1]) > _WORST_SLICES:
        yield _folded_table(f"{label} in all slices where anything differs, worst first", slices)
    told = [f"- {_coded(one.label)}: {_coded(one.spelled_out)}" for one in conventions_of(form)]
    legend = [f"- {plain(p_legend(form))}"] if form.get("comparisons") else []
    yield _details("Conventions", [f"- intervals are over {who_of(form)[1]}", *legend, *told])


def _provenance(form: Form) -> str:
    given = form.get("provenance") or {}
    how = form.get("resampling") or {}
    parts = [
        f"karat {form.get('karat', '?')}",
        *(f"{key} {given[key]}" for key in ("plan", "dialect", "made") if given.get(key)),
        *([f"{how['resamples']:,} resamples, seed {how['seed']}"] if how else ()),
    ]
    return f"<sub>{plain(' · '.join(parts), 400)}</sub>"


def _table(title: str, table: Table) -> Part:
    """With a title over it; columns of text to the left."""
    header, rows = table
    text = [place for place, name in enumerate(header) if name in _TEXT]
    formats = {name: _coded if name in ("measure", "target") else plain for name in header}
    lines = markdown_table(cells.table(header, rows, text=text), formats)
    return Part([*([title, ""] if title else ()), *lines[:2]], lines[2:])


def _details(title: str, lines: Sequence[str], before: Sequence[str] = ()) -> Part:
    """Folded away; ``before`` are the lines without which the others are nothing."""
    return Part([f"<details><summary>{plain(title)}</summary>", "", *before], lines, ["", "</details>", ""])


def _folded_table(title: str, table: Table) -> Part:
    part = _table("", table)
    return _details(title, part.rows, part.before)


def _coded(label: str) -> str:
    """A measure as code, in which GitHub looks for nothing; what is no spelling is put like any other name."""
    return f"`{label}`" if _SPELLING.fullmatch(label) else plain(label)


def plain(text: str, longest: int = _LONGEST_CELL) -> str:
    """Return a text as Markdown that shows nothing but this text, in one line, cut where it is long."""
    return markdown_text(text if len(text) <= longest else f"{text[: longest - 1]}…")
