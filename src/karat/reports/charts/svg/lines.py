"""Lines with their bands in SVG."""

from collections.abc import Iterator, Sequence
from math import isfinite

from karat.reports.charts.arranging import rows_for
from karat.reports.charts.model import Line, LineChart, place_of
from karat.reports.charts.scales import across_of, upright_of
from karat.reports.charts.svg.plot import Plot, height_for
from karat.reports.charts.svg.sheet import SMALL, Sheet
from karat.reports.charts.texts import fit, width_of

__all__ = ["draw_lines"]

_MOST_MARKERS = 60
"""On one line; more would hide it."""
_MARK_LINE, _MARK_GAP, _WIDEST_MARK = 14.0, 14.0, 0.4
Spot = tuple[float, float]


def draw_lines(sheet: Sheet, chart: LineChart) -> float:
    """How high it became."""
    top = sheet.legend(chart.series, lines=True) if len(chart.lines) > 1 else 2.0
    marks = _placed_marks(chart, sheet.width)
    rows = 1 + max((row for _, _, row in marks), default=-1)
    high = height_for(sheet.width)
    plot = Plot.laid_out(sheet, across_of(chart), upright_of(chart), top + 22 + _MARK_LINE * rows, high)
    plot.draw_ground(chart.x_label, chart.y_label, above=_MARK_LINE * rows)
    heights = [plot.top - _MARK_LINE * (rows - row - 1) - 5 for _, _, row in marks]
    for (x, _, _), y in zip(marks, heights, strict=True):
        sheet.upright(plot.x(x), y + 3, plot.bottom, "mark")
    for (x, label, _), y in zip(marks, heights, strict=True):
        half = width_of(label, SMALL) / 2
        sheet.text(max(plot.left + half, min(plot.right - half, plot.x(x))), y, label, "note over", "middle")
    for series, line in enumerate(chart.lines):
        _draw_band(plot, line, sheet.hue(series))
    for series, line in enumerate(chart.lines):
        _draw_line(plot, line, series)
    return plot.bottom + 44.0


def _placed_marks(chart: LineChart, width: float) -> list[tuple[float, str, int]]:
    """Marks with the row in which their word finds room, by a rough guess of where they stand."""
    scale = across_of(chart)
    labels = [fit(mark.label, _WIDEST_MARK * width, SMALL) for mark in chart.marks]
    spans = []
    for mark, label in zip(chart.marks, labels, strict=True):
        middle, half = scale.part(mark.x) * 0.85 * width, width_of(label, SMALL) / 2
        spans.append((middle - half, middle + half))
    rows = rows_for(spans, _MARK_GAP)
    return [(mark.x, label, row) for mark, label, row in zip(chart.marks, labels, rows, strict=True)]


def _draw_band(plot: Plot, line: Line, hue: str) -> None:
    """A band where neighbours have intervals; a bar where one stands alone."""
    if not line.lows or not line.highs:
        return
    for run in _runs(list(zip(line.xs, line.lows, line.highs, strict=True))):
        lows, highs = ([(plot.x(one[0]), plot.y(one[end])) for one in run] for end in (1, 2))
        if len(run) > 1:
            plot.sheet.path(f"{_through(highs)}L{_through(lows[::-1])[1:]}z", f"band {hue}")
        else:
            ((x, low),), ((_, high),) = lows, highs
            plot.sheet.upright(x, high, low, f"whisker {hue}")


def _draw_line(plot: Plot, line: Line, series: int) -> None:
    sheet = plot.sheet
    known = list(zip(line.xs, line.ys, strict=True))
    sheet.open(sheet.hue(series))
    for run in _runs(known):
        spots = [(plot.x(x), plot.y(y)) for x, y in run]
        if len(spots) > 1:
            sheet.path(_through(spots), "line", f' fill="none"{sheet.dashes(series)}')
    if len(line.xs) <= _MOST_MARKERS:
        titles = line.titles or [""] * len(line.xs)
        for (x, y), title in zip(known, titles, strict=True):
            if y is not None and isfinite(y):
                sheet.open("point", title)
                sheet.marker(plot.x(x), plot.y(y), place_of(sheet.chart, series))
                sheet.close()
    sheet.close()


def _runs(rows: Sequence[tuple[float | None, ...]]) -> Iterator[list[tuple[float, ...]]]:
    """The stretches without a gap."""
    run: list[tuple[float, ...]] = []
    for row in rows:
        known = [value for value in row if value is not None and isfinite(value)]
        if len(known) == len(row):
            run.append(tuple(known))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _through(spots: Sequence[Spot]) -> str:
    return "M" + "L".join([f"{x:.1f} {y:.1f}" for x, y in spots])
