"""Verdicts of a gate as a table, JUnit XML, Markdown and JSON."""

import re
from collections.abc import Callable, Iterable
from math import isnan
from pathlib import Path

from rankjury.core.text import escape_markdown, json_text, visible
from rankjury.errors import UsageError
from rankjury.evaluation.gate import Gate, Verdict
from rankjury.evaluation.targets import Target
from rankjury.io.atomic import write_files
from rankjury.reporting.console import print_table
from rankjury.reporting.tables import (
    TableCell,
    TableColumn,
    TextTable,
    format_rounded,
    format_with_interval,
    make_table,
)
from rankjury.reporting.writers.markdown import markdown_table
from rankjury.stats.formatting import NO_VALUE, format_difference

_NOT_IN_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ORDER = {"fail": 0, "unsure": 1, "pass": 2}


def verdicts_table(gate: Gate, *outcomes: str, full: bool = False) -> TextTable:
    """Return one row per verdict, failures first: of all outcomes, or of some.

    Args:
        gate: The verdicts.
        outcomes: Outcomes to show; none: all.
        full: Name the system also where there is one, and the slice of a target that has a name of its own.
    """
    several = full or len({verdict.system for verdict in gate.verdicts}) > 1
    shown = [verdict for verdict in gate.verdicts if not outcomes or verdict.outcome in outcomes]
    rows = [
        [
            TableCell(verdict.outcome.upper(), verdict.outcome),
            _title(verdict.target) if full else verdict.target.title,
            *([verdict.system] if several else ()),
            format_verdict_value(verdict),
            "" if verdict.n is None else f"{verdict.n:,}",
            verdict.target.wanted,
        ]
        for verdict in sorted(shown, key=lambda verdict: _ORDER[verdict.outcome])
    ]
    words = [TableColumn(name, "text", wraps=True) for name in ("target", *(["system"] if several else ()))]
    wanted = TableColumn("wanted", "text", wraps=True)
    return make_table([TableColumn("verdict", "text"), *words, TableColumn("found"), TableColumn("n"), wanted], rows)


def _title(target: Target) -> str:
    inner = f" in {target.slice}" if target.slice and target.slice not in target.title else ""
    return f"{target.title}{inner}"


def verdict_counts(gate: Gate) -> str:
    """``1 fail · 3 pass``"""
    found = [verdict.outcome for verdict in gate.verdicts]
    return " · ".join(f"{found.count(outcome):,} {outcome}" for outcome in _ORDER if outcome in found)


def format_verdict_value(verdict: Verdict) -> str:
    """``0.871 [0.852, 0.889]``, ``−0.014 [−0.022, −0.006]``."""
    value, ci = verdict.value, verdict.ci
    if isnan(value):
        return NO_VALUE
    if verdict.target.share:
        ends = [f"{100 * end:+.1f}".replace("-", "−") for end in (value, *(ci or ()))]
        return f"{ends[0]} %" + (f" [{ends[1]}, {ends[2]}]" if ci else "")
    if verdict.target.relative:
        return format_difference(value, ci)
    return format_rounded(value) if ci is None else format_with_interval(value, ci)


def print_gate(gate: Gate) -> None:
    """Print the verdicts, and how many there are of each."""
    print_table(verdicts_table(gate))
    against = f" · baseline {gate.baseline}" if gate.baseline else ""
    print(visible(verdict_counts(gate) + against))


def gate_to_json(gate: Gate) -> str:
    return json_text(gate.to_json())


def gate_to_markdown(gate: Gate) -> str:
    against = f", baseline {gate.baseline}" if gate.baseline else ""
    lines = [f"### rankjury gate: {gate.outcome.upper()}", "", escape_markdown(gate.source + against), ""]
    lines += markdown_table(verdicts_table(gate))
    if gate.notes:
        lines += ["", *(f"- {escape_markdown(note)}" for note in gate.notes)]
    return "\n".join(lines) + "\n"


def gate_to_junit(gate: Gate) -> str:
    """Return a test case per verdict: a failure where it failed; where unsure skipped, or a failure if strict."""
    elements = {"pass": "", "fail": "failure", "unsure": "failure" if gate.strict else "skipped"}
    made = [elements[verdict.outcome] for verdict in gate.verdicts]
    totals = f'tests="{len(made)}" failures="{made.count("failure")}" errors="0" skipped="{made.count("skipped")}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="rankjury gate" {totals}>']
    lines.append(f"  <testsuite name={_attribute(gate.source)} {totals}>")
    for verdict in gate.verdicts:
        name, system = _attribute(f"{verdict.target.title}: {verdict.target.wanted}"), _attribute(verdict.system)
        found = f"found {format_verdict_value(verdict)}, wanted {verdict.target.wanted}"
        message = _attribute(f"{found}. {verdict.note}" if verdict.note else found)
        element = elements[verdict.outcome] and f"<{elements[verdict.outcome]} message={message}/>"
        lines.append(f"    <testcase classname={system} name={name}>{element}</testcase>")
    return "\n".join([*lines, "  </testsuite>", "</testsuites>"]) + "\n"


def _attribute(text: str) -> str:
    """Return a text in quotes, without the characters that XML does not allow."""
    from xml.sax.saxutils import quoteattr  # not at the top: it imports urllib.request, and pages import this module

    return quoteattr(_NOT_IN_XML.sub("", text))


_FORMS: dict[str, Callable[[Gate], str]] = {".xml": gate_to_junit, ".md": gate_to_markdown, ".json": gate_to_json}


def check_gate_suffix(path: Path) -> None:
    """Refuse a file name whose suffix is not that of a format."""
    if path.suffix.lower() not in _FORMS:
        expected = f"a suffix among {', '.join(_FORMS)} (.xml is JUnit's)"
        raise UsageError(f"cannot tell the form from {path.name!r}", expected=expected)


def write_gates(gate: Gate, paths: Iterable[Path]) -> None:
    """Write the verdicts in the forms that the suffixes name: all files or none."""
    write_files({path: _FORMS[path.suffix.lower()](gate) for path in paths})
