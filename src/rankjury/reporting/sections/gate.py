"""Renderer of the verdicts on a plan's targets, for a terminal: other writers have their own place for them."""

from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import Report
from rankjury.reporting.sections import SectionBlock, renderer
from rankjury.reporting.writers.gate import verdict_counts, verdicts_table


@renderer("gate")
def render(report: Report, brief: bool) -> SectionBlock | None:
    """Return the verdicts, failures first, with how many there are of each."""
    gate = report.section(Gate)
    if gate is None:
        return None
    against = f" · baseline {gate.baseline}" if gate.baseline else ""
    lines = [f"{verdict_counts(gate)}{against}"]
    return SectionBlock("Verdicts", [verdicts_table(gate)], lines, order=-1, only=frozenset({"console"}))
