"""What speed costs: recall against exact search beside the time that a query takes."""

from collections.abc import Sequence
from dataclasses import replace

from karat.reports.charts.from_form.reading import Form, bounds_in, interval_told, number_in, places_of, systems_of
from karat.reports.charts.model import Point, Scatter
from karat.statistics.intervals import Bounds
from karat.wording import bounds_shown, decimals_of, figure_shown

__all__ = ["frontier_chart"]

_LOG_FROM = 6.0
_CLOCKS = ("p95", "p50")
Figure = tuple[float, Bounds | None]


def frontier_chart(form: Form) -> Scatter | None:
    """Systems with an index; None where not one of them has both figures."""
    for clock in _CLOCKS:
        points = [point for name, one in systems_of(form).items() if (point := _point(name, one, clock)) is not None]
        if points:
            return _chart(form, _with_frontier(points), clock)
    return None


def _point(name: str, one: Form, clock: str) -> Point | None:
    recall, latency = _recall(one), _latency(one, clock)
    if recall is None or latency is None:
        return None
    (y, y_ends), (x, x_ends) = recall, latency
    title = f"{name}: recall {_told(y, y_ends)}, {clock} {_told(x, x_ends)} ms"
    return Point(name, x, y, x_ends, y_ends, title=title)


def _recall(one: Form) -> Figure | None:
    """Of the figures, and of what was found of the index where they lack it."""
    figures = one.get("figures") or {}
    recorded = next((figures[label] for label in figures if label.startswith("ann_recall@")), None)
    if (value := number_in(recorded)) is not None:
        return value, bounds_in(recorded)
    found = (one.get("index") or {}).get("recall") or {}
    mean = number_in(found.get("mean"))
    return None if mean is None else (mean, bounds_in(found))


def _latency(one: Form, clock: str) -> Figure | None:
    recorded = (one.get("figures") or {}).get(f"latency_{clock}_ms")
    if (value := number_in(recorded)) is not None:
        return value, bounds_in(recorded)
    timed = ((one.get("index") or {}).get("latency") or {}).get("index_only") or {}
    found = timed.get(clock) or {}
    ms = number_in(found.get("ms"))
    return None if ms is None else (ms, bounds_in(found))


def _with_frontier(points: Sequence[Point]) -> tuple[Point, ...]:
    """A point is dominated where another is at least as good both ways, and better in one."""
    return tuple(replace(one, on_frontier=not any(_beats(other, one) for other in points)) for one in points)


def _beats(other: Point, one: Point) -> bool:
    return other.x <= one.x and other.y >= one.y and (other.x < one.x or other.y > one.y)


def _chart(form: Form, points: tuple[Point, ...], clock: str) -> Scatter:
    times = [end for point in points for end in (point.x, *(point.x_ends or ()))]
    far = min(times) > 0 and max(times) > _LOG_FROM * min(times)
    ks = {label.rpartition("@")[2] for one in systems_of(form).values() for label in _recalls(one)}
    recall = f"recall@{next(iter(ks))}" if len(ks) == 1 else "recall"
    hollow = any(not point.on_frontier for point in points)
    return Scatter(
        title=f"{recall} against {clock.upper()} latency",
        description=f"Recall against exact search and {clock.upper()} latency of each index, with "
        f"{interval_told(form)}s; up and left is better. {'; '.join(point.title for point in points[:8])}.",
        x_label=f"{clock.upper()} latency, milliseconds" + (" (log scale)" if far else ""),
        y_label=f"{recall} against exact search",
        points=points,
        places=places_of(form, [point.name for point in points]),
        log_x=far,
        footnote=f"Lines: {interval_told(form)}s." + (" Hollow: another index is at least as good." if hollow else ""),
    )


def _recalls(one: Form) -> list[str]:
    """Labels of the recall, from the figures or from the index."""
    labels = [label for label in one.get("figures") or {} if label.startswith("ann_recall@")]
    k = ((one.get("index") or {}).get("recall") or {}).get("k")
    return labels[:1] or ([f"ann_recall@{k}"] if k else [])


def _told(value: float, ci: Bounds | None) -> str:
    return f"{figure_shown(value, decimals_of(ci))}" + (f" {bounds_shown(ci)}" if ci else "")
