"""Charts as inline SVG for a page: no style, no script, no link; colours by class, texts escaped."""

from karat.reports.charts.model import Chart, DotPlot, Histogram, LineChart
from karat.reports.charts.svg.bars import draw_bars
from karat.reports.charts.svg.dots import draw_dots
from karat.reports.charts.svg.lines import draw_lines
from karat.reports.charts.svg.points import draw_points
from karat.reports.charts.svg.sheet import Sheet

__all__ = ["to_svg"]


def to_svg(chart: Chart, prefix: str, *, width: float = 720.0) -> str:
    """The chart as one ``<svg>``; ``prefix`` begins its ids and must be the page's only one of its kind.

    It fills the width of where it stands. ``width`` is the one at which texts have their size, 12 pixels and 11: give
    360 for charts that stand two beside each other.
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
