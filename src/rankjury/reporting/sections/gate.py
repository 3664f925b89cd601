"""Renderer of the verdicts on a plan's targets, for a terminal: other writers have their own place for them."""

from dataclasses import replace

from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import Report
from rankjury.reporting.sections import SectionBlock, renderer
from rankjury.reporting.tables.verdicts import verdicts_table

_SHOWN = 12
"""Verdicts that a terminal shows, those that failed first."""


@renderer("gate")
def render(report: Report, brief: bool) -> SectionBlock | None:
    """Return the verdicts, failures first, and what they mean for the exit code."""
    gate = report.section(Gate)
    if gate is None:
        return None
    note = " · ".join(filter(None, (gate.baseline and f"baseline {gate.baseline}", gate.exit_note)))
    table = replace(verdicts_table(gate), shown=_SHOWN)
    return SectionBlock("Verdicts", [table], [note] if note else [], order=-1, only=frozenset({"console"}))
