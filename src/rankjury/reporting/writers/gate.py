"""Verdicts of a gate as JUnit XML, Markdown and JSON."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from rankjury.core.text import escape_markdown, json_text
from rankjury.errors import UsageError
from rankjury.evaluation.gate import Gate
from rankjury.io.atomic import write_files
from rankjury.reporting.tables.verdicts import verdicts_table
from rankjury.reporting.writers.markdown import markdown_table

_NOT_IN_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def gate_to_json(gate: Gate) -> str:
    return json_text(gate.to_json())


def gate_to_markdown(gate: Gate) -> str:
    against = f", baseline {gate.baseline}" if gate.baseline else ""
    lines = [f"### rankjury gate: {gate.outcome.upper()}", "", escape_markdown(gate.sentence), ""]
    lines += [*markdown_table(verdicts_table(gate)), "", escape_markdown(gate.source + against)]
    lines += ["", *(f"- {escape_markdown(note)}" for note in (*gate.notes, *filter(None, [gate.exit_note])))]
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
        found = f"found {verdict.shown}, wanted {verdict.target.wanted}"
        message = _attribute(". ".join(filter(None, (found, verdict.decided_by, verdict.note))))
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
        hint = f"rankjury compare -o {path} writes the page." if path.suffix.lower() == ".html" else None
        raise UsageError(f"cannot tell the form from {path.name!r}", expected=expected, hint=hint)


def write_gates(gate: Gate, paths: Iterable[Path]) -> None:
    """Write the verdicts in the forms that the suffixes name: all files or none."""
    write_files({path: _FORMS[path.suffix.lower()](gate) for path in paths})
