"""Charts of a report's versioned form, fresh or archived; what a form lacks has no chart."""

from karat.reports.charts.from_form.curves import curves_charts
from karat.reports.charts.from_form.drift import drift_chart
from karat.reports.charts.from_form.everything import all_charts
from karat.reports.charts.from_form.frontier import frontier_chart, sweeps_chart
from karat.reports.charts.from_form.history import HistoryPoint, HistorySeries, history_chart
from karat.reports.charts.from_form.scores import score_charts
from karat.reports.charts.from_form.slices import slices_chart
from karat.reports.charts.from_form.systems import differences_chart, headline_chart

__all__ = [
    "HistoryPoint",
    "HistorySeries",
    "all_charts",
    "curves_charts",
    "differences_chart",
    "drift_chart",
    "frontier_chart",
    "headline_chart",
    "history_chart",
    "score_charts",
    "slices_chart",
    "sweeps_chart",
]
