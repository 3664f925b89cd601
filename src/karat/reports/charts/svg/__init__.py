"""Charts as inline SVG for a page: no style, no script, no link; colours by class, texts escaped."""

from karat.reports.charts.model import Chart, DotPlot, Histogram, LineChart
from karat.reports.charts.svg.plots import draw_bars, draw_dots, draw_lines, draw_points
from karat.reports.charts.svg.primitives import Sheet

__all__ = ["to_svg"]


def to_svg(chart: Chart, prefix: str, *, width: float = 720.0) -> str:
    """Draw the chart as one ``<svg>``; ``prefix`` begins its ids and must be unique on the page.

    It fills the width of its container. ``width`` is the one at which texts have their size, 12 pixels and 11: give
    360 for charts in two columns.
    """
    sheet = Sheet(chart, width)
    if isinstance(chart, DotPlot):
        height = draw_dots(sheet, chart)
    elif isinstance(chart, LineChart):
        height = draw_lines(sheet, chart)
    elif isinstance(chart, Histogram):
        height = draw_bars(sheet, chart)
    else:
        height = draw_points(sheet, chart)
    return sheet.markup(prefix, height)
