"""Charts of a report's versioned form, fresh or archived; what a form lacks has no chart."""

from karat.reports.charts.from_form.curves import curves_charts
from karat.reports.charts.from_form.slices import slices_chart

__all__ = ["curves_charts", "slices_chart"]
