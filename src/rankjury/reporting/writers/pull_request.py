"""A report for a pull request: Markdown that begins with what a reviewer must know, and is never too long for GitHub.

Names are untrusted: none of them mentions a person, refers to an issue, loads a picture or breaks a table.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

from rankjury.core.text import escape_markdown, plural
from rankjury.core.version import __version__
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import Report
from rankjury.reporting.sections import render_sections
from rankjury.reporting.tables import TextTable, about_line, first_labels, list_conventions
from rankjury.reporting.tables.differences import (
    changes_table,
    largest_losses,
    p_legend,
    slices_table,
    slices_title,
    summary_table,
)
from rankjury.reporting.tables.verdicts import verdict_counts, verdicts_table
from rankjury.reporting.writers import OutputRequest, writer
from rankjury.reporting.writers.markdown import markdown_table, section_lines

LONGEST = 65_536
"""Characters that GitHub takes in a comment."""
_KEPT_FREE = 1_000
"""Characters for the last lines, and the note that something was cut."""
_LONGEST_CELL, _LONGEST_SENTENCE = 160, 500
_WORST_SLICES = 5
_LARGEST_LOSSES = 5
_MARKS = {"pass": "✅ PASS", "fail": "❌ FAIL", "unsure": "⚠️ UNSURE"}
_CUT = "*Something was left out here: GitHub takes no longer comment. The report itself has all of it.*"
_SPELLING = re.compile(r"\w[\w(),=@.+ -]{0,158}[\w)]", re.ASCII)


@dataclass(frozen=True)
class CommentPart:
    """A piece of the summary: a table that may be cut after any of its rows, and the lines around it."""

    before: Sequence[str]
    rows: Sequence[str]
    after: Sequence[str] = ("",)


@writer("pull-request", ".md", by_suffix=False)
def to_comment(report: Report, request: OutputRequest | None = None) -> str:
    """Return a report, with its verdicts where there are any, as a comment in Markdown."""
    if request is not None and request.gate is not None:
        report = report.with_sections(request.gate)
    return _joined([_head(report), *_open(report), *_folded(report)], _provenance(report))


def _joined(parts: Sequence[CommentPart], last: str) -> str:
    """Return as much as fits: a part that does not is cut after the last row that does, and the rest is omitted."""
    lines: list[str] = []
    room = LONGEST - _KEPT_FREE - len(last)
    for part in parts:
        room -= _size(part.before) + _size(part.after)
        if room < 0:
            lines += [_CUT, ""]
            break
        sizes = accumulate(len(row) + 1 for row in part.rows)
        fitting = sum(size <= room for size in sizes)
        lines += [*part.before, *part.rows[:fitting], *part.after]
        if fitting < len(part.rows):
            lines += [_CUT, ""]
            break
        room -= _size(part.rows)
    return "\n".join([*lines, last]) + "\n"


def _size(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _head(report: Report) -> CommentPart:
    """Return the verdict, the summary, and what it is about."""
    name = escape_text(str(report.provenance.get("name") or "report"))
    gate = report.section(Gate)
    title = f"### {'rankjury' if gate is None else _MARKS[gate.outcome]} · {name}"
    targets = [] if gate is None else [f"targets: {verdict_counts(gate)}"]
    summary = [part for line in report.summary for part in (escape_text(line, _LONGEST_SENTENCE), "")]
    return CommentPart([title, "", *summary, escape_text(" · ".join([*targets, about_line(report)]))], [])


def _open(report: Report) -> Iterator[CommentPart]:
    """Return what is read without unfolding anything: targets that do not hold, means, and where they were lost."""
    gate = report.section(Gate)
    labels, _ = first_labels(report)
    label = labels[0]
    losses = largest_losses(report, label, most=_LARGEST_LOSSES)
    for title, found in (
        ("", None if gate is None else verdicts_table(gate, "fail", "unsure")),
        ("", summary_table(report, labels)),
        (
            f"**{escape_text(slices_title(report, label))}**",
            slices_table(report, label, losing=True).first(_WORST_SLICES),
        ),
        (f"**Largest losses in {_coded(label)}**", changes_table(report, losses, texts=True)),
    ):
        if found:
            yield _table(title, found)


def _folded(report: Report) -> Iterator[CommentPart]:
    """Return the rest."""
    warnings, gate = report.warning_lines, report.section(Gate)
    if warnings:
        yield _details(
            plural(len(warnings), "warning", "warnings"), [f"- {escape_text(warning, 500)}" for warning in warnings]
        )
    passed = None if gate is None else verdicts_table(gate, "pass")
    if passed:
        yield _folded_table(plural(len(passed.rows), "target holds", "targets hold"), passed)
    (label, *_), others = first_labels(report)
    if others:
        yield _folded_table(plural(len(others), "further measure", "further measures"), summary_table(report, others))
    slices = slices_table(report, label, changed=True)
    if len(slices.rows) > _WORST_SLICES:
        differing = " where anything differs" if report.comparisons else ""
        yield _folded_table(f"All slices{differing}: {slices_title(report, label)}", slices)
    for _, block in render_sections(report, "pull-request"):
        lines = list(section_lines(block, brief=True, text=partial(escape_text, longest=500)))
        if lines:
            yield _details(block.title, lines[1:])
    lines = [f"- intervals are over {report.unit[1]}"]
    lines += [f"- {escape_text(p_legend(report))}"] if report.comparisons else []
    lines += [
        f"- {_coded(convention.label)}: {_coded(convention.spelled_out)}" for convention in list_conventions(report)
    ]
    yield _details("Conventions", lines)


def _provenance(report: Report) -> str:
    given, resampling = report.provenance, report.resampling
    parts = [
        f"rankjury {__version__}",
        *(f"{key} {given[key]}" for key in ("plan", "dialect", "made") if given.get(key)),
        *([f"{resampling.resamples:,} resamples, seed {resampling.seed}"] if resampling else ()),
    ]
    return f"<sub>{escape_text(' · '.join(parts), 400)}</sub>"


def _table(title: str, found: TextTable) -> CommentPart:
    """Return a table with a title over it."""
    formats = {name: _coded if name in ("measure", "target") else escape_text for name in found.header}
    lines = markdown_table(found, formats)
    return CommentPart([*([title, ""] if title else ()), *lines[:2]], lines[2:])


def _details(title: str, lines: Sequence[str], before: Sequence[str] = ()) -> CommentPart:
    """Folded away; ``before`` are the lines without which the others are nothing."""
    return CommentPart(
        [f"<details><summary>{escape_text(title)}</summary>", "", *before], lines, ["", "</details>", ""]
    )


def _folded_table(title: str, table: TextTable) -> CommentPart:
    part = _table("", table)
    return _details(title, part.rows, part.before)


def _coded(label: str) -> str:
    """A measure as code, in which GitHub looks for nothing; what is no spelling is put like any other name."""
    return f"`{label}`" if _SPELLING.fullmatch(label) else escape_text(label)


def escape_text(text: str, longest: int = _LONGEST_CELL) -> str:
    """Return a text as Markdown that shows nothing but this text, in one line, cut where it is long."""
    return escape_markdown(text if len(text) <= longest else f"{text[: longest - 1]}…")
