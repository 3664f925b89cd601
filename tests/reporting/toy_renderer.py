"""The renderer of the weather: a table and a sentence, for all writers."""

from rankjury.evaluation.report import Report
from rankjury.reporting.sections import SectionBlock, renderer
from rankjury.reporting.tables import make_table
from tests.reporting.toy_section import Weather


@renderer("weather")
def render(report: Report, brief: bool) -> SectionBlock | None:
    found = report.sections_of(Weather)
    rows = [[system, place, f"{value:.1f}"] for system, one in found.items() for place, value in one.degrees.items()]
    weather = make_table(["system", "place", "degrees"], rows, text=(0, 1), title="Weather by place")
    return SectionBlock("Weather", [weather], ["Measured in the shade"]) if rows else None
