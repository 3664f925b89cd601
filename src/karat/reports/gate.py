"""Verdicts of a gate as JUnit XML, Markdown, JSON and cells for the console."""

import re
from collections.abc import Callable, Iterable
from json import dumps
from pathlib import Path
from xml.sax.saxutils import quoteattr

from karat.errors import UsageError
from karat.formats.atomic import write_files
from karat.gates import Gate, Verdict
from karat.markup import markdown_text, visible
from karat.reports.console import print_table, verdict_style
from karat.reports.markdown import markdown_table
from karat.reports.table import Table
from karat.wording import bounds_shown, decimals_of, difference_shown

__all__ = ["check_form", "gate_table", "gate_to_json", "gate_to_junit", "gate_to_markdown", "print_gate", "write_gates"]

_NOT_IN_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WORDS = {"pass": "PASS", "fail": "FAIL", "unsure": "UNSURE"}


def gate_table(gate: Gate) -> Table:
    """A row for each verdict, failures first."""
    order = {"fail": 0, "unsure": 1, "pass": 2}
    rows = [
        [
            _WORDS[verdict.outcome],
            verdict.target.title,
            verdict.system,
            value_shown(verdict),
            "" if verdict.n is None else f"{verdict.n:,}",
            verdict.target.wanted,
        ]
        for verdict in sorted(gate.verdicts, key=lambda verdict: order[verdict.outcome])
    ]
    header = ["verdict", "target", "system", "found", "n", "wanted"]
    if len({verdict.system for verdict in gate.verdicts}) == 1:
        return header[:2] + header[3:], [row[:2] + row[3:] for row in rows]
    return header, rows


def print_gate(gate: Gate) -> None:
    """The verdicts on standard output, and the sum of them."""
    header, rows = gate_table(gate)
    styles = {(number, 0): verdict_style(row[0].lower()) for number, row in enumerate(rows)}
    words = range(1, header.index("found"))
    print_table(header, rows, text=(0, *words, len(header) - 1), folding=(*words, len(header) - 1), styles=styles)
    counted = {outcome: sum(v.outcome == outcome for v in gate.verdicts) for outcome in _WORDS}
    against = f" · baseline {gate.baseline}" if gate.baseline else ""
    print(visible(" · ".join(f"{n} {outcome}" for outcome, n in counted.items() if n) + against))


def value_shown(verdict: Verdict) -> str:
    """``0.871 [0.852, 0.889]``, ``−0.014 [−0.022, −0.006]``."""
    value, ci = verdict.value, verdict.ci
    if verdict.target.share:
        ends = [f"{100 * end:+.1f}".replace("-", "−") for end in (value, *(ci or ()))]
        return f"{ends[0]} %" + (f" [{ends[1]}, {ends[2]}]" if ci else "")
    if verdict.target.relative:
        return difference_shown(value, ci)
    if ci is None:
        return f"{value:.6g}"
    return f"{value:.{decimals_of(ci)}f} {bounds_shown(ci)}"


def gate_to_json(gate: Gate) -> str:
    return dumps(gate.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def gate_to_markdown(gate: Gate) -> str:
    against = f", baseline {gate.baseline}" if gate.baseline else ""
    lines = [f"### karat gate: {_WORDS[gate.outcome]}", "", markdown_text(gate.source + against), ""]
    header, rows = gate_table(gate)
    lines += markdown_table(header, rows, text=(*range(header.index("found")), len(header) - 1))
    if gate.notes:
        lines += ["", *(f"- {markdown_text(note)}" for note in gate.notes)]
    return "\n".join(lines) + "\n"


def gate_to_junit(gate: Gate) -> str:
    """One test case a verdict: a failure where it failed; where it is unsure skipped, or a failure if strict."""
    elements = {"pass": "", "fail": "failure", "unsure": "failure" if gate.strict else "skipped"}
    made = [elements[verdict.outcome] for verdict in gate.verdicts]
    totals = f'tests="{len(made)}" failures="{made.count("failure")}" errors="0" skipped="{made.count("skipped")}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="karat gate" {totals}>']
    lines.append(f"  <testsuite name={_attribute(gate.source)} {totals}>")
    for verdict in gate.verdicts:
        name, system = _attribute(f"{verdict.target.title}: {verdict.target.wanted}"), _attribute(verdict.system)
        found = f"found {value_shown(verdict)}, wanted {verdict.target.wanted}"
        message = _attribute(f"{found}. {verdict.note}" if verdict.note else found)
        element = elements[verdict.outcome] and f"<{elements[verdict.outcome]} message={message}/>"
        lines.append(f"    <testcase classname={system} name={name}>{element}</testcase>")
    return "\n".join([*lines, "  </testsuite>", "</testsuites>"]) + "\n"


def _attribute(text: str) -> str:
    """Quoted, without the characters that XML does not allow."""
    return quoteattr(_NOT_IN_XML.sub("", text))


_FORMS: dict[str, Callable[[Gate], str]] = {
    ".xml": gate_to_junit,
    ".md": gate_to_markdown,
    ".json": gate_to_json,
}


def check_form(path: Path) -> None:
    """Refuse a name that tells no form."""
    if path.suffix.lower() not in _FORMS:
        expected = f"a suffix among {', '.join(_FORMS)} (.xml is JUnit's)"
        raise UsageError(f"cannot tell the form from {path.name!r}", expected=expected)


def write_gates(gate: Gate, paths: Iterable[Path]) -> None:
    """Write the verdicts in the forms that the suffixes name: all files or none."""
    write_files({path: _FORMS[path.suffix.lower()](gate) for path in paths})
