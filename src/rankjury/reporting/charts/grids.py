"""Pages of charts of a report: measures against their cut-off, and recommenders by tier, popularity and cut-off."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from rankjury.errors import UsageError
from rankjury.evaluation.report import Report
from rankjury.evaluation.slices.stats import Slice
from rankjury.recsys.exposure import Exposure
from rankjury.recsys.summary import Interactions
from rankjury.reporting.charts.builders.measures import curve_chart
from rankjury.reporting.charts.layout import range_with_zero
from rankjury.reporting.charts.spec import Bars, ChartGrid, ChartLine, Dot, DotPlot, DotRow, LineChart
from rankjury.reporting.tables.cutoffs import CutMeasure, CutoffGrid, cutoff_grid
from rankjury.stats.estimates import Estimate
from rankjury.stats.formatting import format_percent

_MOST_PANELS, _MOST_CUTS = 9, 3
_FILLED = 0.4
"""Charts have one vertical range where each fills at least this share of it."""
_TICKS_APART = 0.06
"""As a share of the axis: nearer ticks would have labels that overlap."""


def curves_grid(report: Report) -> ChartGrid:
    """Return a chart for each measure at its cut-offs, with a line and its interval for each system."""
    grid = cutoff_grid(report)
    measures = grid.measures[:_MOST_PANELS]
    charts = _curves(grid, measures)
    known = any(low is not None for chart in charts for line in chart.lines for low in line.lows)
    drawn = "bars" if all(len(chart.x_names) == 1 for chart in charts) else "bands"
    notes = [f"Mean over {grid.over}" + (f"; {drawn}: {format_percent(report.level)} interval" if known else "")]
    cut = [one.name for one, chart in zip(measures, charts, strict=True) if chart.y_range and chart.y_range[0] > 0]
    if cut:
        notes.append(f"Vertical axes that do not begin at 0: {'all' if len(cut) == len(charts) else ', '.join(cut)}")
    if len(grid.measures) > len(charts):
        notes.append(f"The first {len(charts)} of {len(grid.measures)} measures")
    return ChartGrid(
        title=str(report.provenance.get("name") or ""),
        description=f"{', '.join(chart.title for chart in charts)} of {', '.join(grid.systems)}.",
        series=grid.systems,
        parts=(charts,),
        footnote=". ".join(notes) + ".\n" + "; ".join(grid.conventions),
    )


def _curves(grid: CutoffGrid, measures: Sequence[CutMeasure]) -> tuple[LineChart, ...]:
    charts = [_curve(grid, measure) for measure in measures]
    ends = [(min(values, default=0.0), max(values, default=1.0)) for values in (chart.figures() for chart in charts)]
    low, high = range_with_zero(min(low for low, _ in ends), max(high for _, high in ends))
    shared = all(top - bottom >= _FILLED * (high - low) for bottom, top in ends)
    return tuple(
        replace(chart, y_range=(low, high) if shared else range_with_zero(*own))
        for chart, own in zip(charts, ends, strict=True)
    )


def _curve(grid: CutoffGrid, measure: CutMeasure) -> LineChart:
    ks = grid.ks_of(measure)
    name = measure.name_at_k + (" (less is better)" if measure.lower_is_better else "")
    return curve_chart(
        {k: f"{measure.name}@{k}" for k in ks},
        {system: grid.row(system, measure) for system in grid.systems},
        name,
        f"Mean {name} over {grid.over} at k = {', '.join(map(str, ks))}.",
    )


def recommenders_grid(report: Report) -> ChartGrid:
    """Return the first measure by tier, what is recommended by popularity, and measures by cut-off."""
    interactions = report.section(Interactions)
    if not interactions:
        raise UsageError("the report is of no log", expected="a gold of the kind interactions")
    measure, slices = _tiers(report)
    grid = cutoff_grid(report) if any("@" in label for label in report.labels) else None
    measures = [one for one in grid.measures if len(grid.ks_of(one)) > 1][:_MOST_CUTS] if grid else []
    notes = [
        f"Evaluated on {interactions.window}",
        "tiers are of training interactions" if slices else "",
        "tiers of items: only items of the tier are ranked and relevant" * any(part.of == "items" for part in slices),
        f"lines and bands: {format_percent(report.level)} intervals"
        if report.resampling and (slices or measures)
        else "",
        *(f"{one.name}: {one.spelling}" for one in measures if "(" in one.spelling and one.name != one.spelling),
    ]
    parts: list[tuple[DotPlot | LineChart, ...]] = [(_tier_chart(report, slices, measure),)] if slices else []
    parts += [(_exposure_chart(report),)] if report.sections_of(Exposure) else []
    parts += [_curves(grid, measures)] if grid and measures else []
    return ChartGrid(
        title=str(report.provenance.get("name") or ""),
        description="; ".join(chart.description for part in parts for chart in part),
        series=tuple(report.systems),
        parts=tuple(parts),
        footnote="; ".join(filter(None, notes)) + ".",
    )


def _tiers(report: Report) -> tuple[str, list[Slice]]:
    """Return the first measure that has slices, those that were compared before the others; and its slices."""
    for measure in dict.fromkeys((*(one.measure for one in report.comparisons), *report.labels)):
        slices = [
            part for part in report.slices if all(measure in part.estimates.get(name, {}) for name in report.systems)
        ]
        if slices:
            return measure, slices
    return report.labels[0], []


def _tier_chart(report: Report, slices: Sequence[Slice], measure: str) -> DotPlot:
    def dot(series: int, estimate: Estimate) -> Dot:
        low, high = estimate.ci or (None, None)
        return Dot(estimate.mean, low, high, series) if estimate.n else Dot(None, series=series)

    rows = []
    for part in slices:
        estimates = [part.estimates[name][measure] for name in report.systems]
        n = max(of[measure].n for of in part.estimates.values())
        rows.append(DotRow(f"{part.name} ({n:,})", tuple(dot(place, one) for place, one in enumerate(estimates))))
    name = report.both_names(measure)
    chart = DotPlot(f"{name} by tier (n users)", f"Mean {name} by tier", "", tuple(rows), tuple(report.systems))
    values = chart.figures()
    return replace(chart, x_range=(min(0.0, *values), 1.04 * max(0.0, *values) or 1.0)) if values else chart


def _exposure_chart(report: Report) -> LineChart:
    """Which part of the catalogue recommendations come from, most popular first, and what was taken in training."""
    exposures = report.sections_of(Exposure)
    first = next(iter(exposures.values()))
    names = list(report.systems)
    places = [place for place, name in enumerate(names) if name in exposures]
    edges = (0.0, *first.edges)
    middles = tuple((low + high) / 2 for low, high in pairwise(edges))
    ticks: list[float] = []
    for edge in reversed(first.edges):
        if not ticks or ticks[-1] - edge >= _TICKS_APART:
            ticks.append(edge)
    title = f"Share of the first {first.k} recommendations (lines) and of training (bars)"
    return LineChart(
        title=title,
        description=f"{title}, by parts of the catalogue",
        x_label="catalogue, most popular in training first",
        y_label="share",
        lines=tuple(ChartLine(names[place], middles, exposures[names[place]].recommended) for place in places),
        places=tuple(places),
        x_range=(0.0, 1.0),
        y_range=(0.0, 1.02),
        x_ticks=tuple((edge, format_percent(edge, 0)) for edge in reversed(ticks)),
        bars=Bars("training", edges, first.taken),
    )
