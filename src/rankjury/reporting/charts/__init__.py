"""Charts of reports: one neutral description, drawn as inline SVG for pages and as pictures by matplotlib."""

from rankjury.reporting.charts.builders import (
    all_charts,
)
from rankjury.reporting.charts.builders.distributions import score_charts
from rankjury.reporting.charts.builders.drift import drift_chart
from rankjury.reporting.charts.builders.history import HistoryPoint, HistorySeries, history_chart
from rankjury.reporting.charts.builders.measures import curves_charts, differences_chart, headline_chart, slices_chart
from rankjury.reporting.charts.builders.sweep import frontier_chart, sweeps_chart
from rankjury.reporting.charts.css import CHART_CSS
from rankjury.reporting.charts.grids import curves_grid, recommenders_grid
from rankjury.reporting.charts.matplotlib import to_figure, to_picture, write_pictures
from rankjury.reporting.charts.spec import Chart, ChartGrid, DotPlot, HistogramChart, LineChart, Scatter
from rankjury.reporting.charts.svg import to_svg

__all__ = [
    "CHART_CSS",
    "Chart",
    "ChartGrid",
    "DotPlot",
    "HistogramChart",
    "HistoryPoint",
    "HistorySeries",
    "LineChart",
    "Scatter",
    "all_charts",
    "curves_charts",
    "curves_grid",
    "differences_chart",
    "drift_chart",
    "frontier_chart",
    "headline_chart",
    "history_chart",
    "recommenders_grid",
    "score_charts",
    "slices_chart",
    "sweeps_chart",
    "to_figure",
    "to_picture",
    "to_svg",
    "write_pictures",
]
