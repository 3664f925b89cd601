"""Charts of reports: one neutral description, drawn as inline SVG for pages and as pictures by matplotlib."""

from karat.reports.charts.css import CHART_CSS
from karat.reports.charts.from_form import curves_charts, slices_chart
from karat.reports.charts.model import Chart, DotPlot, Histogram, LineChart, Scatter
from karat.reports.charts.svg import to_svg

__all__ = [
    "CHART_CSS",
    "Chart",
    "DotPlot",
    "Histogram",
    "LineChart",
    "Scatter",
    "curves_charts",
    "slices_chart",
    "to_svg",
]
