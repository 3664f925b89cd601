"""How scores, similarities and lengths are spread: a strip a system, over one axis where their ranges are alike."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import floor

from karat.reports.charts.from_form.reading import Form, number_in, places_of, queries_named, systems_of
from karat.reports.charts.model import Bars, Histogram
from karat.wording import count, figure_shown

__all__ = ["first_charts", "norm_charts", "score_charts", "top1_charts"]

_BINS = 30
_ALIKE = 3.0
"""So many times as wide as the widest of them may an axis be that several share."""
_NEXT_TO_NOTHING = 1e-3
"""A spread below this share of where it lies is rounding, as of normalised vectors of 16 bits."""
_MOST_STRIPS = 12
_NEAR = 0.5
"""As a share of the largest: how far apart lone values may be that share an axis."""
Strips = list[tuple[str, Bars]]


def score_charts(form: Form) -> list[Histogram]:
    """Scores of first items, similarities of each query's best item, and lengths of vectors: what the form has."""
    return [*first_charts(form), *top1_charts(form), *norm_charts(form)]


def first_charts(form: Form) -> list[Histogram]:
    strips = _strips(form, lambda one: _read(one.get("first_scores"), "item", "items"))
    charts = _charts(form, strips, "Scores of the first items", "score", "items")
    return [replace(chart, footnote=f"{chart.footnote} {_without_fallback(form, chart)}".strip()) for chart in charts]


def _without_fallback(form: Form, chart: Histogram) -> str:
    """Say of how many queries a fallback gave the items, whose scores are not the system's own."""
    systems = systems_of(form)
    left = {bars.name: (systems[bars.name].get("first_scores") or {}).get("fallback_queries") for bars in chart.strips}
    known = {name: number for name, number in left.items() if number}
    if not known:
        return ""
    who = queries_named(form)
    if len(set(known.values())) == 1 and len(known) == len(left):
        return f"Without {next(iter(known.values())):,} {who} that the fallback (popularity) served."
    told = ", ".join(f"{name} {number:,}" for name, number in known.items())
    return f"Without {who} that the fallback (popularity) served: {told}."


def top1_charts(form: Form) -> list[Histogram]:
    """Binned here, by edges that all systems share."""
    values = {name: _top1(one) for name, one in systems_of(form).items()}
    every = [value for of_system in values.values() for value in of_system]
    if not every:
        return []
    edges = _edges(min(every), max(every))
    strips = [(name, _counted(name, found, edges)) for name, found in values.items() if found]
    what = queries_named(form)
    return _charts(form, strips, f"Similarity of the best item, over {what}", "similarity of the best item", what)


def norm_charts(form: Form) -> list[Histogram]:
    """Of the systems' vectors and of spaces that are no systems."""
    strips = _strips(form, lambda one: _norms(one.get("space")))
    strips += [(name, _named(bars, name)) for name, one in (form.get("spaces") or {}).items() if (bars := _norms(one))]
    return _charts(form, strips, "Lengths of vectors", "length (L2 norm)", "vectors")


def _top1(one: Form) -> list[float]:
    queries = (one.get("stability") or {}).get("queries") or {}
    return [value for given in queries.get("top1") or () if (value := number_in(given)) is not None]


def _norms(space: Form | None) -> Bars | None:
    return _read(((space or {}).get("norm") or {}).get("histogram"), "vector", "vectors")


def _strips(form: Form, read: Callable[[Form], Bars | None]) -> Strips:
    return [(name, _named(bars, name)) for name, one in systems_of(form).items() if (bars := read(one)) is not None]


def _named(bars: Bars, name: str) -> Bars:
    return Bars(name, bars.edges, bars.counts, bars.note)


def _read(given: Form | None, one: str, many: str) -> Bars | None:
    """A histogram of the form; one bin where all lies within rounding."""
    edges = [number_in(edge) for edge in (given or {}).get("edges") or ()]
    counts = [int(number) for number in (given or {}).get("counts") or ()]
    known = [edge for edge in edges if edge is not None]
    if len(known) != len(edges) or len(edges) != len(counts) + 1 or not sum(counts) or known != sorted(known):
        return None
    note = count(sum(counts), one, many)
    low, high = known[0], known[-1]
    if len(counts) > 1 and high - low <= _NEXT_TO_NOTHING * max(abs(low), abs(high)):
        middle = (low + high) / 2
        return Bars("", (low, high), (sum(counts),), f"{note}, all {figure_shown(middle, 3)} but for rounding")
    return Bars("", tuple(known), tuple(counts), note)


def _edges(low: float, high: float) -> list[float]:
    width = (high - low) / _BINS
    return [low + place * width for place in range(_BINS)] + [high] if low + width > low else [low, high]


def _counted(name: str, values: Sequence[float], edges: Sequence[float]) -> Bars:
    """The last edge belongs to the last bin."""
    bins = len(edges) - 1
    apart = edges[-1] - edges[0]
    counts = [0] * bins
    for value in values:
        counts[min(bins - 1, floor(bins * (value - edges[0]) / apart)) if apart else 0] += 1
    return Bars(name, tuple(edges), tuple(counts), count(len(values), "query", "queries"))


def _charts(form: Form, strips: Strips, title: str, x_label: str, what: str) -> list[Histogram]:
    """Systems whose ranges are alike share an axis: on that of another some of them would be a few pixels wide."""
    groups: list[Strips] = []
    for strip in strips:
        home = next((group for group in groups if _alike([*group, strip])), None)
        if home is None:
            groups.append([strip])
        else:
            home.append(strip)
    return [_chart(form, group, title, x_label, what) for group in groups]


def _alike(strips: Strips) -> bool:
    spans = [(bars.edges[0], bars.edges[-1]) for _, bars in strips]
    whole = max(high for _, high in spans) - min(low for low, _ in spans)
    widths = [high - low for (low, high), (_, bars) in zip(spans, strips, strict=True) if len(bars.counts) > 1]
    return whole <= _ALIKE * min(widths) if widths else whole <= _NEAR * max(abs(high) for _, high in spans)


def _chart(form: Form, strips: Strips, title: str, x_label: str, what: str) -> Histogram:
    shown = strips[:_MOST_STRIPS]
    of = f" of {shown[0][0]}" if len(strips) == 1 else ""
    spans = "; ".join(
        f"{name} from {bars.edges[0]:.4g} to {bars.edges[-1]:.4g}, {bars.note}" for name, bars in shown[:8]
    )
    return Histogram(
        title=title + of,
        description=f"{title}{of}: how many {what} have which {x_label}. {spans}.",
        x_label=x_label,
        y_label=f"number of {what}",
        strips=tuple(bars for _, bars in shown),
        places=places_of(form, [name for name, _ in shown]),
        footnote="" if len(shown) == len(strips) else f"The first {len(shown)} of {len(strips)}.",
    )
