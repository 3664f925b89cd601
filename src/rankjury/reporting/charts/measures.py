"""Charts of measures: systems, differences to the baseline, both by slice, and curves over cut-offs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isfinite, nan
from typing import Any

from rankjury.core.text import plural
from rankjury.errors import UsageError
from rankjury.evaluation.report import Report
from rankjury.evaluation.slices.stats import Gap, Slice
from rankjury.recsys.sections import Exposure, Interactions
from rankjury.reporting.charts.layout import range_with_zero
from rankjury.reporting.charts.spec import Bars, ChartGrid, Dot, DotPlot, DotRow, LineChart, LineSeries, Tone
from rankjury.reporting.tables.cutoffs import CutMeasure, CutoffGrid, cut_labels, cutoff_grid
from rankjury.stats.comparison import Comparison
from rankjury.stats.estimates import Estimate
from rankjury.stats.formatting import (
    NO_VALUE,
    format_difference,
    format_percent,
    format_range,
    format_value,
    format_with_interval,
    interval_decimals,
)
from rankjury.stats.significance import is_significant

_MOST_DOTS = 60
_MOST_SLICES, _FEWEST_SLICES = 30, 8
_MOST_PANELS, _MOST_CUTS = 9, 3
_FILLED = 0.4
"""Charts have one vertical range where each fills at least this share of it."""
_TICKS_APART = 0.06
"""As a share of the axis: nearer ticks would have labels that overlap."""


def headline_chart(report: Report, measure: str) -> DotPlot:
    """Return every system's mean, in the report's order, with a line at the baseline's."""
    rows: list[DotRow] = []
    for name, system in report.systems.items():
        if (estimate := system.estimates.get(measure)) is not None:
            rows.append(DotRow(name, (mean_dot(estimate, name, series=len(rows)),), f"n {estimate.n:,}"))
    names = tuple(row.label for row in rows)
    mean = next((row.dots[0].value for row in rows if row.label == report.baseline), None)
    means = "; ".join(f"{row.label} {row.dots[0].shown}" for row in rows[:8])
    return DotPlot(
        title=f"{measure} of all systems",
        description=f"Mean {measure} over {report.unit[1]} of each system, with {interval_name(report)}s. {means}.",
        x_label=f"mean {measure}" + (" (less is better)" if report.lower_is_better(measure) else ""),
        rows=tuple(rows),
        series=names,
        keyed=False,
        places=style_places(report, names),
        reference=mean,
        reference_label="" if mean is None else f"{report.baseline}",
        footnote=_footnote(report, rows),
    )


def differences_chart(report: Report) -> DotPlot | None:
    """Return every system's difference to the baseline under each headline measure; None where nothing is compared.

    All are on one axis, so that measures that are not shares between 0 and 1 are left to charts of their own. Measures
    that describe a run, and so are not tested, are omitted, unless no other measure is compared.
    """
    compared = only_tested(comparison for comparison in report.comparisons if isfinite(comparison.difference))
    headline = [label for label in report.headline if label in report.labels] or report.labels
    measures = [label for label in headline if any(comparison.measure == label for comparison in compared)]
    if not measures:
        return None
    no_shares = {
        comparison.measure
        for comparison in compared
        if not all(0.0 <= end <= 1.0 for end in (comparison.mean, comparison.baseline_mean))
    }
    shown = [label for label in measures if label not in no_shares] or measures[:1]
    systems = [name for name in report.systems if any(comparison.system == name for comparison in compared)]
    shown = shown[: max(1, _MOST_DOTS // len(systems))]
    baseline = report.baseline or "the baseline"
    rows = []
    for label in shown:
        lower = report.lower_is_better(label)
        found = {comparison.system: comparison for comparison in compared if comparison.measure == label}
        dots = _difference_dots(report, systems, found, {name: f"{name}, {label}" for name in systems})
        if len(shown) == 1 and len(dots) > 1:  # rows name the systems, so that no legend is needed
            rows += [DotRow(systems[dot.series], (dot,)) for dot in dots]
        else:
            rows.append(DotRow(label, dots, "less is better" if lower else ""))
    better = "" if all(map(report.lower_is_better, shown)) else " (right is better)"
    names = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    of = f" in {names}" if len(shown) == 1 else ""
    left_out = len(measures) - len(shown)
    return DotPlot(
        title=f"Differences from {baseline}",
        description=f"Difference of each system from {baseline} under {names}, with {interval_name(report)}s.",
        x_label=f"difference{of} from {baseline}{better}",
        rows=tuple(rows),
        series=tuple(systems),
        keyed=len(rows) == len(shown),
        places=style_places(report, systems),
        reference=0.0,
        reference_label="no difference",
        footnote=_footnote(
            report,
            rows,
            _hollow_meaning(compared, "comparisons"),
            f"{left_out} more under other measures: see the table." if left_out else "",
        ),
    )


def slices_chart(report: Report, measure: str, system: str | None = None) -> DotPlot | None:
    """Return differences to the baseline by slice, or means where nothing is compared; None without slices.

    It is of one system, or of all. At most the 30 worst slices are shown. Slices in which nothing differs are left
    out; where that is so in all of them, means are shown after all.
    """
    compared = {
        comparison.system
        for part in report.slices
        for comparison in part.beside
        if isinstance(comparison, Comparison) and comparison.measure == measure and system in (None, comparison.system)
    }
    if compared:
        chart = _slice_differences(report, measure, [name for name in report.systems if name in compared])
        if chart.rows:
            return chart
    scored = [
        name
        for name, result in report.systems.items()
        if (system is None and not result.random) or name == system
        if any(measure in part.estimates.get(name, {}) for part in report.slices)
    ]
    return _slice_means(report, measure, scored) if scored else None


def _slice_differences(report: Report, measure: str, systems: Sequence[str]) -> DotPlot:
    rows = []
    drawn: list[Comparison] = []
    for part in report.slices:
        comparisons = {
            comparison.system: comparison
            for comparison in part.beside
            if isinstance(comparison, Comparison) and comparison.measure == measure
        }
        titles = {name: f"{part.label}, {name}" for name in systems}
        if dots := _difference_dots(report, systems, comparisons, titles):
            drawn += comparisons.values()
            rows.append(DotRow(part.name, dots, f"n {format_range(each.n for each in comparisons.values())}"))
    differing = [row for row in rows if not all(dot.value == dot.low == dot.high == 0 for dot in row.dots)]
    same = len(rows) - len(differing)
    baseline = report.baseline or "the baseline"
    better = "left" if report.lower_is_better(measure) else "right"
    named, of = _named(systems)
    return _slices_plot(
        report,
        measure,
        systems,
        differing,
        f"Difference in {measure} between {named} and {baseline}",
        _hollow_meaning(drawn, "slices"),
        f"{plural(same, 'slice', 'slices')} without a difference {'is' if same == 1 else 'are'} not drawn."
        if same
        else "",
        title=f"{measure} by slice: difference from {baseline}",
        x_label=f"difference in {measure}{of} from {baseline} ({better} is better)",
        reference=0.0,
        reference_label="no difference",
    )


def _slice_means(report: Report, measure: str, systems: Sequence[str]) -> DotPlot:
    """Return means by slice; of one system, the line is at its mean over all queries."""
    rows = []
    for part in report.slices:
        alike = {
            gap.system
            for gap in part.beside
            if isinstance(gap, Gap) and gap.measure == measure and not is_significant(gap.p_holm, report.level)
        }
        estimates = {name: part.estimates[name][measure] for name in systems if measure in part.estimates.get(name, {})}
        dots = [
            mean_dot(estimate, f"{part.label}, {name}", series=systems.index(name), muted=name in alike)
            for name, estimate in estimates.items()
        ]
        if dots:
            note = f"n {format_range(estimate.n for estimate in estimates.values())}"
            rows.append(DotRow(part.name, tuple(dots), note))
    overall = report.systems[systems[0]].estimates[measure] if len(systems) == 1 else None
    mean = None if overall is None else finite_or_none(overall.mean)
    named, of = _named(systems)
    label = "" if overall is None or mean is None else f"overall {format_value(mean, interval_decimals(overall.ci))}"
    return _slices_plot(
        report,
        measure,
        systems,
        rows,
        f"Mean {measure} of {named}",
        f"not shown to differ from the other {report.unit[1]}",
        title=f"{measure} by slice",
        x_label=f"mean {measure}{of}" + (" (less is better)" if report.lower_is_better(measure) else ""),
        reference=mean,
        reference_label=label,
    )


def _slices_plot(
    report: Report,
    measure: str,
    systems: Sequence[str],
    rows: Sequence[DotRow],
    what: str,
    hollow: str,
    note: str = "",
    **fields: Any,
) -> DotPlot:
    """Return a plot of the worst slices; ``what`` begins its description, and hollow dots mean ``hollow``."""
    shown, more = _worst_first(rows, len(systems), lower=report.lower_is_better(measure))
    worst = ""
    if shown:
        values = ", ".join(dot.shown for dot in shown[0].dots if dot.value is not None)
        worst = f" Worst: {shown[0].label}, {values}."
    omitted = f"The {len(shown)} worst; {plural(more, 'more slice is', 'more slices are')} not shown." if more else ""
    return DotPlot(
        description=f"{what} in each slice of {report.unit[1]}, with {interval_name(report)}s, the worst slice first."
        + worst,
        rows=shown,
        series=tuple(systems),
        places=style_places(report, systems),
        footnote=_footnote(report, shown, hollow, omitted, note),
        **fields,
    )


def _worst_first(rows: Sequence[DotRow], systems: int, *, lower: bool) -> tuple[tuple[DotRow, ...], int]:
    """Return rows by the worst dot of each, and how many more there are; rows without any value are left out."""

    def worst(row: DotRow) -> float:
        return min((-dot.value if lower else dot.value) for dot in row.dots if dot.value is not None)

    defined = [row for row in rows if any(dot.value is not None for dot in row.dots)]
    most = min(_MOST_SLICES, max(_FEWEST_SLICES, _MOST_DOTS // systems))
    ordered = sorted(defined, key=lambda row: (worst(row), row.label))
    return tuple(ordered[:most]), len(ordered) - len(ordered[:most])


def only_tested(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """Return the comparisons under measures that are tested, or all where none is."""
    found = list(comparisons)
    tested = {comparison.measure for comparison in found if comparison.p is not None}
    return [comparison for comparison in found if comparison.measure in tested] or found


def _hollow_meaning(comparisons: Sequence[Comparison], considered: str) -> str:
    """Return what a hollow dot means: no test has shown a difference, or there was no test."""
    known = {comparison.p is not None for comparison in comparisons}
    if known == {False}:
        return "not tested"
    return f"not shown to differ, with all {considered} considered{', or not tested' if len(known) > 1 else ''}"


def _named(systems: Sequence[str]) -> tuple[str, str]:
    """Return what systems are called in a sentence, and on an axis where there is no legend."""
    return (systems[0], f" of {systems[0]}") if len(systems) == 1 else (f"{len(systems)} systems", "")


def _footnote(report: Report, rows: Sequence[DotRow], hollow: str = "", *notes: str) -> str:
    dots = [dot for row in rows for dot in row.dots]
    lines = any(dot.low is not None and dot.low != dot.high for dot in dots)
    legend = f"Lines: {interval_name(report)}s." if lines else ""
    muted = f"Hollow: {hollow}." if any(dot.muted for dot in dots) else ""
    return " ".join(filter(None, (legend, muted, *notes)))


def mean_dot(estimate: Estimate, name: str, *, series: int = 0, muted: bool = False) -> Dot:
    """Return the dot of a mean, with all that is known of it in words."""
    mean, (low, high) = finite_or_none(estimate.mean), estimate.ci or (None, None)
    shown = NO_VALUE if mean is None else format_with_interval(mean, estimate.ci)
    return Dot(mean, low, high, series, muted, title=f"{name}: {shown}, n {estimate.n:,}", shown=shown)


def _difference_dots(
    report: Report, systems: Sequence[str], comparisons: dict[str, Comparison], titles: dict[str, str]
) -> tuple[Dot, ...]:
    """Return the dots of comparisons; of a single system, green and red say better and worse."""
    dots = []
    for series, name in enumerate(systems):
        if (comparison := comparisons.get(name)) is None:
            continue
        muted = not comparison.is_significant(report.level)
        tone: Tone = "" if len(systems) > 1 else "even" if muted or not finite_or_none(comparison.gain) else "good"
        tone = "bad" if tone == "good" and comparison.gain < 0 else tone
        difference, (low, high) = finite_or_none(comparison.difference), comparison.ci or (None, None)
        shown = format_difference(nan if difference is None else difference, comparison.ci)
        known = [f"{titles[name]}: {shown}"]
        if isfinite(comparison.mean) and isfinite(comparison.baseline_mean):
            means = (
                format_value(mean, interval_decimals(comparison.ci))
                for mean in (comparison.mean, comparison.baseline_mean)
            )
            known.append(" against ".join(means))
        if not comparison.whole:
            known.append(f"{comparison.better:,} better, {comparison.equal:,} equal, {comparison.worse:,} worse")
        title = "; ".join([*known, f"n {comparison.n:,}"])
        dots.append(Dot(difference, low, high, series, muted, tone, title, shown))
    return tuple(dots)


def interval_name(report: Report) -> str:
    """``95 % interval``"""
    return f"{format_percent(report.level)} interval"


def style_places(report: Report, systems: Sequence[str]) -> tuple[int, ...]:
    """Return the places of systems in the report: each has one colour and marker in all charts."""
    order = list(report.systems)
    return tuple(order.index(system) if system in order else len(order) for system in systems)


def finite_or_none(value: float) -> float | None:
    """Return a number, or None for what is undefined."""
    return float(value) if isfinite(value) else None


def curve_chart(
    labels: Mapping[int, str], estimates: Mapping[str, Sequence[Estimate | None]], y_label: str, description: str
) -> LineChart:
    """Return a measure against k, with a line for each system and its interval as a band.

    Args:
        labels: By cut-off, ascending, what the measure is called there.
        estimates: By system, in the order of cut-offs; None is a gap.
        y_label: The name of the vertical axis, which is the title too.
        description: The chart in words.
    """
    ks = list(labels)
    even = len({after - before for before, after in pairwise(ks)}) <= 1
    lines = []
    for place, (system, row) in enumerate(estimates.items()):
        # Of one cut-off the systems are side by side, between the ends of the axis.
        shift = 0.5 * ((place + 1) / (len(estimates) + 1) - 0.5) if len(ks) == 1 else 0.0
        dots = [
            Dot(None) if estimate is None else mean_dot(estimate, f"{system}, {label}")
            for estimate, label in zip(row, labels.values(), strict=True)
        ]
        lines.append(
            LineSeries(
                name=system,
                xs=tuple(number + shift for number in range(len(ks))),
                ys=tuple(dot.value for dot in dots),
                lows=tuple(dot.low for dot in dots),
                highs=tuple(dot.high for dot in dots),
                titles=tuple(dot.title for dot in dots),
            )
        )
    return LineChart(
        title=y_label,
        description=description,
        x_label="k" if even else "k (not to scale)",
        y_label=y_label,
        lines=tuple(lines),
        spacing="even",
        x_names=tuple(map(str, ks)),
    )


def curves_charts(report: Report) -> list[LineChart]:
    """Return a chart for every measure that the report has at two cut-offs or more, in the order asked."""
    by_cutoff: dict[str, dict[int, str]] = {}
    names: dict[str, str] = {}
    for _, label, spelling, k in cut_labels(report):
        # NDCG for NDCG@5; the whole convention where a label says less than another's, or no cut-off.
        short = label.rpartition("@")[0]
        name = names.setdefault(spelling, short if short and short not in by_cutoff else spelling)
        by_cutoff.setdefault(name, {}).setdefault(k, label)
    return [_chart(report, name, dict(sorted(labels.items()))) for name, labels in by_cutoff.items() if len(labels) > 1]


def _chart(report: Report, name: str, labels: Mapping[int, str]) -> LineChart:
    """Return a measure against k; ``labels`` by cut-off, ascending."""
    ks = list(labels)
    rows = {
        system: [result.estimates.get(label) for label in labels.values()] for system, result in report.systems.items()
    }
    known = {
        system: row
        for system, row in rows.items()
        if any(estimate is not None and isfinite(estimate.mean) for estimate in row)
    }
    # The order at the last cut-off in words, for screen readers.
    last = {system: row[-1].mean for system, row in known.items() if row[-1] is not None and isfinite(row[-1].mean)}
    ends = sorted(((mean, system) for system, mean in last.items()), reverse=True)
    order = f" At {ks[-1]}: {', '.join(f'{system} {value:.3f}' for value, system in ends[:8])}." if ends else ""
    chart = curve_chart(
        labels,
        known,
        f"{name}@k" + (" (less is better)" if report.lower_is_better(labels[ks[0]]) else ""),
        f"Mean {name} over {report.unit[1]} at k = {', '.join(map(str, ks))}, with the {interval_name(report)} of each "
        f"system as a band.{order}",
    )
    figures = chart.figures()
    bottom, top = range_with_zero(min(figures, default=0.0), max(figures, default=1.0))
    banded = any(low is not None for line in chart.lines for low in line.lows)
    notes = [f"Bands: {interval_name(report)}s."] if banded else []
    notes += [f"The vertical axis begins at {bottom:.2g}, not at 0."] if bottom > 0 else []
    places = style_places(report, list(known))
    return replace(chart, title=f"{name} against k", places=places, y_range=(bottom, top), footnote=" ".join(notes))


def curves_grid(report: Report) -> ChartGrid:
    """Return a chart for each measure at its cut-offs, with a line and its interval for each system."""
    grid = cutoff_grid(report)
    measures = grid.measures[:_MOST_PANELS]
    charts = _curves(grid, measures)
    known = any(low is not None for chart in charts for line in chart.lines for low in line.lows)
    drawn = "bars" if all(len(chart.x_names) == 1 for chart in charts) else "bands"
    notes = [f"Mean over {grid.over}" + (f"; {drawn}: {format_percent(report.level)} interval" if known else "")]
    cut = [
        measure.name for measure, chart in zip(measures, charts, strict=True) if chart.y_range and chart.y_range[0] > 0
    ]
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
    measures = [measure for measure in grid.measures if len(grid.ks_of(measure)) > 1][:_MOST_CUTS] if grid else []
    notes = [
        f"Evaluated on {interactions.window}",
        "tiers are of training interactions" if slices else "",
        "tiers of items: only items of the tier are ranked and relevant" * any(part.of == "items" for part in slices),
        f"lines and bands: {format_percent(report.level)} intervals"
        if report.resampling and (slices or measures)
        else "",
        *(
            f"{measure.name}: {measure.spelling}"
            for measure in measures
            if "(" in measure.spelling and measure.name != measure.spelling
        ),
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
    for measure in dict.fromkeys((*(comparison.measure for comparison in report.comparisons), *report.labels)):
        slices = [
            part for part in report.slices if all(measure in part.estimates.get(name, {}) for name in report.systems)
        ]
        if slices:
            return measure, slices
    return report.labels[0], []


def _tier_chart(report: Report, slices: Sequence[Slice], measure: str) -> DotPlot:
    rows = []
    for part in slices:
        dots = []
        for series, name in enumerate(report.systems):
            estimate = part.estimates[name][measure]
            low, high = estimate.ci or (None, None)
            dots.append(Dot(estimate.mean, low, high, series) if estimate.n else Dot(None, series=series))
        n = max(estimates[measure].n for estimates in part.estimates.values())
        rows.append(DotRow(f"{part.name} ({n:,})", tuple(dots)))
    name = report.both_names(measure)
    chart = DotPlot(f"{name} by tier (n users)", f"Mean {name} by tier", "", tuple(rows), tuple(report.systems))
    values = chart.figures()
    return replace(chart, x_range=(min(0.0, *values), 1.04 * max(0.0, *values) or 1.0)) if values else chart


def _exposure_chart(report: Report) -> LineChart:
    """Return the share of recommendations by part of the catalogue, most popular first, and that of training."""
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
        lines=tuple(LineSeries(names[place], middles, exposures[names[place]].recommended) for place in places),
        places=tuple(places),
        x_range=(0.0, 1.0),
        y_range=(0.0, 1.02),
        x_ticks=tuple((edge, format_percent(edge, 0)) for edge in reversed(ticks)),
        bars=Bars("training", edges, first.taken),
    )
