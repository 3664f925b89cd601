"""Histograms of scores, similarities and lengths: a strip per system, on one axis where their ranges are alike."""

from collections.abc import Sequence
from dataclasses import replace
from math import floor, isfinite

from rankjury.core.text import plural
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import ScoreHistogram
from rankjury.evaluation.similarity_profile import Stability
from rankjury.reporting.charts.builders.measures import style_places
from rankjury.reporting.charts.spec import Bars, HistogramChart
from rankjury.retrieval.diagnostics import GoldSpaces, Hygiene
from rankjury.stats.formatting import format_value

_BINS = 30
_ALIKE = 3.0
"""So many times as wide as the widest of them may an axis be that several share."""
_NEXT_TO_NOTHING = 1e-3
"""A spread below this share of where it lies is rounding, as of normalised vectors of 16 bits."""
_MOST_STRIPS = 12
_NEAR = 0.5
"""As a share of the largest: how far apart lone values may be that share an axis."""


def score_charts(report: Report) -> list[HistogramChart]:
    """Return the scores of first items, similarities of each query's best item, and lengths of vectors."""
    return [*first_charts(report), *top1_charts(report), *norm_charts(report)]


def first_charts(report: Report) -> list[HistogramChart]:
    """Return the scores of first items; the footnote says of how many queries a fallback gave the items."""
    found, many = report.sections_of(ScoreHistogram), report.unit[1]
    strips = [_bars(name, one.edges, one.counts, "item", "items") for name, one in found.items()]
    charts = []
    for chart in _charts(report, strips, "Scores of the first items", "score", "items"):
        known = {bars.name: number for bars in chart.strips if (number := found[bars.name].fallback_queries)}
        note = f" Without {many} that the fallback (popularity) served: " + ", ".join(
            f"{name} {number:,}" for name, number in known.items()
        )
        if len(set(known.values())) == 1 and len(known) == len(chart.strips):
            note = f" Without {next(iter(known.values())):,} {many} that the fallback (popularity) served"
        charts.append(replace(chart, footnote=f"{chart.footnote}{note}.".strip()) if known else chart)
    return charts


def top1_charts(report: Report) -> list[HistogramChart]:
    """Return the similarities of each query's best item, in bins that all systems share."""
    values = {
        name: [value for value in one.queries.top1.tolist() if isfinite(value)]
        for name, one in report.sections_of(Stability).items()
    }
    every = [value for of_system in values.values() for value in of_system]
    if not every:
        return []
    edges, many = _edges(min(every), max(every)), report.unit[1]
    strips = [_counted(name, found, edges) for name, found in values.items() if found]
    return _charts(report, strips, f"Similarity of the best item, over {many}", "similarity of the best item", many)


def norm_charts(report: Report) -> list[HistogramChart]:
    """Return the lengths of vectors, of systems and of other spaces."""
    gold = report.section(GoldSpaces)
    spaces = [*report.sections_of(Hygiene).items(), *(gold.spaces.items() if gold is not None else ())]
    found = [(name, one.norm.histogram) for name, one in spaces]
    strips = [_bars(name, one.edges, one.counts, "vector", "vectors") for name, one in found]
    return _charts(report, strips, "Lengths of vectors", "length (L2 norm)", "vectors")


def _bars(name: str, edges: Sequence[float], counts: Sequence[int], one: str, many: str) -> Bars | None:
    """Return a histogram; one bin where all values are equal but for rounding, None where it is empty or damaged."""
    ordered = all(map(isfinite, edges)) and list(edges) == sorted(edges)
    if len(edges) != len(counts) + 1 or not sum(counts) or not ordered:
        return None
    note, low, high = plural(sum(counts), one, many), edges[0], edges[-1]
    if len(counts) > 1 and high - low <= _NEXT_TO_NOTHING * max(abs(low), abs(high)):
        middle = format_value((low + high) / 2, 3)
        return Bars(name, (low, high), (sum(counts),), f"{note}, all {middle} but for rounding")
    return Bars(name, tuple(edges), tuple(counts), note)


def _edges(low: float, high: float) -> list[float]:
    width = (high - low) / _BINS
    return [low + place * width for place in range(_BINS)] + [high] if low + width > low else [low, high]


def _counted(name: str, values: Sequence[float], edges: Sequence[float]) -> Bars:
    """Return a histogram of values; the last edge belongs to the last bin."""
    bins = len(edges) - 1
    apart = edges[-1] - edges[0]
    counts = [0] * bins
    for value in values:
        counts[min(bins - 1, floor(bins * (value - edges[0]) / apart)) if apart else 0] += 1
    return Bars(name, tuple(edges), tuple(counts), plural(len(values), "query", "queries"))


def _charts(report: Report, strips: Sequence[Bars | None], title: str, x_label: str, what: str) -> list[HistogramChart]:
    """Return charts of systems whose ranges are alike: on another's axis some would be a few pixels wide."""
    groups: list[list[Bars]] = []
    for bars in strips:
        if bars is None:
            continue
        home = next((group for group in groups if _alike([*group, bars])), None)
        if home is None:
            groups.append([bars])
        else:
            home.append(bars)
    charts = []
    for group in groups:
        shown = tuple(group[:_MOST_STRIPS])
        of = f" of {shown[0].name}" if len(group) == 1 else ""
        spans = (f"{bars.name} from {bars.edges[0]:.4g} to {bars.edges[-1]:.4g}, {bars.note}" for bars in shown[:8])
        chart = HistogramChart(
            title=title + of,
            description=f"{title}{of}: how many {what} have which {x_label}. {'; '.join(spans)}.",
            x_label=x_label,
            y_label=f"number of {what}",
            strips=shown,
            places=style_places(report, [bars.name for bars in shown]),
            footnote="" if len(shown) == len(group) else f"The first {len(shown)} of {len(group)}.",
        )
        charts.append(chart)
    return charts


def _alike(strips: Sequence[Bars]) -> bool:
    spans = [(bars.edges[0], bars.edges[-1]) for bars in strips]
    whole = max(high for _, high in spans) - min(low for low, _ in spans)
    widths = [high - low for (low, high), bars in zip(spans, strips, strict=True) if len(bars.counts) > 1]
    return whole <= _ALIKE * min(widths) if widths else whole <= _NEAR * max(abs(high) for _, high in spans)
