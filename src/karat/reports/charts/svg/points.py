"""Points with intervals both ways in SVG, their names beside them, and the frontier."""

from karat.reports.charts.model import Point, Scatter, place_of
from karat.reports.charts.scales import across_of, upright_of
from karat.reports.charts.svg.plot import Plot, height_for
from karat.reports.charts.svg.sheet import SMALL, TEXT, Sheet, number
from karat.reports.charts.texts import fit, width_of
from karat.reports.labelling import place_labels

__all__ = ["draw_points"]

_AROUND = 6.0
_WIDEST_NAME = 0.3


def draw_points(sheet: Sheet, chart: Scatter) -> float:
    """How high it became."""
    top = sheet.legend(chart.series, lines=False) if len(chart.points) > 1 else 2.0
    plot = Plot.laid_out(sheet, across_of(chart), upright_of(chart), top + 22.0, height_for(sheet.width) + 40)
    plot.draw_ground(chart.x_label, chart.y_label)
    if len(chart.frontier) > 1:
        spots = "L".join(f"{number(plot.x(one.x))} {number(plot.y(one.y))}" for one in chart.frontier)
        sheet.path(f"M{spots}", "frontier", ' fill="none"')
    _draw_names(plot, chart)
    for series, point in enumerate(chart.points):
        _draw_point(plot, point, series)
    return plot.bottom + 44.0


def _draw_point(plot: Plot, point: Point, series: int) -> None:
    """Hollow where another point is better."""
    sheet, x, y = plot.sheet, plot.x(point.x), plot.y(point.y)
    sheet.open(f"{sheet.hue(series)}{'' if point.on_frontier else ' muted'}", point.title)
    if point.x_ends:
        sheet.across(plot.x(point.x_ends[0]), plot.x(point.x_ends[1]), y, "whisker")
    if point.y_ends:
        sheet.upright(x, plot.y(point.y_ends[1]), plot.y(point.y_ends[0]), "whisker")
    sheet.marker(x, y, place_of(sheet.chart, series))
    sheet.close()


def _draw_names(plot: Plot, chart: Scatter) -> None:
    """Those on the frontier choose their place first; where there is no room, the name is left to who points at it."""
    order = sorted(range(len(chart.points)), key=lambda one: not chart.points[one].on_frontier)
    names = [fit(chart.points[one].name, _WIDEST_NAME * plot.sheet.width, TEXT) for one in order]
    spots = [(plot.x(chart.points[one].x), plot.y(chart.points[one].y)) for one in order]
    taken = [(x - _AROUND, y - _AROUND, x + _AROUND, y + _AROUND) for x, y in spots]
    sizes = [(width_of(name, TEXT), SMALL + 2) for name in names]
    within = plot.left, plot.top - 4, plot.right + 10, plot.bottom
    places = place_labels(spots, sizes, within, taken, gap=8.0)
    for name, spot, size, place in zip(names, spots, sizes, places, strict=True):
        if place is not None:
            _lead(plot, spot, place, size)
            plot.sheet.text(place[0], place[1] + 4, name, "label", "middle")


def _lead(plot: Plot, spot: tuple[float, float], place: tuple[float, float], size: tuple[float, float]) -> None:
    """A fine line from a point to the nearest edge of its name: points may stand close together."""
    ends = []
    for at, middle, half in zip(spot, place, (size[0] / 2, size[1] / 2), strict=True):
        ends.append(max(middle - half, min(middle + half, at)))
    (x, y), (to_x, to_y) = spot, ends
    plot.sheet.path(f"M{number(x)} {number(y)}L{number(to_x)} {number(to_y)}", "lead", ' fill="none"')
