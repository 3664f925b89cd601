"""Charts as PNG and SVG pictures, drawn by matplotlib; equal charts give equal bytes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from io import BytesIO
from itertools import pairwise
from math import ceil, inf, nan
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from rankjury.errors import UsageError
from rankjury.reporting.charts.layout import (
    UNSHOWN,
    Box,
    Scale,
    Spot,
    clean_text,
    place_labels,
    place_marks,
    x_scale,
    y_scale,
)
from rankjury.reporting.charts.spec import (
    Bars,
    Chart,
    ChartGrid,
    DotPlot,
    DotRow,
    HistogramChart,
    LineChart,
    LineSeries,
    Number,
    Scatter,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ft2font import FT2Font

GREY, SOFT, DARK = "#888888", "#666666", "#444444"
PICTURE_FORMATS = ("png", "svg")
_SVG: dict[Any, Any] = {"svg.hashsalt": "rankjury", "svg.fonttype": "path", "svg.image_inline": True}
"""Ids depend only on the drawing; letters are outlines, so that no font is needed."""
_HEIGHT = 3.4
_PANEL_HEIGHTS = {1: 2.3, 2: 2.1, 3: 1.9}
"""Of lines in a grid, in inches, by the number of charts side by side."""
_DOT, _ROW, _BETWEEN = 0.165, 0.22, 0.09
"""In inches: the line of a dot with its figures, the least a row is high, and what is between rows of several dots."""
_CLOSE_DOT = 0.055
"""The line of a dot whose figures are not shown."""
_TONES = {"good": "#0072B2", "bad": "#D55E00", "even": DARK}
_STRIP, _LONE, _THINNEST = 0.95, 2.4, 0.006
_MOST_MARKERS = 60
_MARK_LINE = 10.0
_LABEL, _MARKER, _RING, _GAP, _STEP = 6.5, 3.2, 12.0, 4.4, 4.0
"""In points: the text of a label, half of a marker, the whole of a ring, from a point to its label, between boxes
along a line."""
_ALONG_X, _ALONG_Y = ("data", "axes fraction"), ("axes fraction", "data")
"""Coordinates of a text at a value of x or of y, at an edge of the axes."""
_DASHED: Any = {"color": DARK, "linewidth": 0.8, "dashes": (4, 3), "zorder": 1}
_FRONTIER: dict[str, Any] = {"color": "#BBBBBB", "linewidth": 5.0, "alpha": 0.5, "solid_capstyle": "round"}
TITLE, TEXT, SMALL = 10.0, 8.0, 7.0
POINTS = 72.0
"""An inch, and so are all sizes of texts."""
_WIDTH = 7.2
"""In inches."""
_MARGIN, _HANDLE = 10.0, 46.0
"""In points: around the figure, and of a legend entry's line and the space about it."""
ROOM = _WIDTH * POINTS - 2 * _MARGIN
# Okabe and Ito's palette, neighbours far apart in lightness; grey for its yellow, which is lost on white.
COLOURS = ("#0072B2", "#E69F00", "#000000", "#CC79A7", "#009E73", "#56B4E9", "#D55E00", "#999999")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_DASHES: tuple[tuple[float, ...], ...] = ((), (5, 1.5), (1.2, 1.2), (5, 1.2, 1.2, 1.2), (9, 2), (2.5, 1), (7, 1, 1, 1))
_STYLED = (
    *("agg.", "axes.", "figure.", "font.", "grid.", "legend.", "lines."),
    *("markers.", "patch.", "path.", "savefig.", "text.", "xtick.", "ytick."),
)
"""Prefixes of the settings of matplotlib that change a picture."""
_LONGEST = 500
_DRAWING = Lock()


def to_picture(chart: Chart | ChartGrid, format: Literal["png", "svg"] = "png", *, dpi: int = 150) -> bytes:
    """Return a chart as a picture, about seven inches wide and readable in grey."""
    from matplotlib import rc_context

    if format not in PICTURE_FORMATS:
        raise UsageError(f"a picture as {format!r}", expected=" or ".join(PICTURE_FORMATS))
    metadata = {"Software": None} if format == "png" else {"Date": None, "Creator": None}
    picture = BytesIO()
    with default_style(), rc_context(_SVG):
        draw(chart).savefig(picture, format=format, dpi=dpi, metadata=metadata)
    return picture.getvalue()


def to_figure(chart: Chart | ChartGrid) -> "Figure":
    """Return the matplotlib figure of a chart."""
    with default_style():
        return draw(chart)


def draw(chart: Chart | ChartGrid) -> "Figure":
    """Return the figure of a chart."""
    if isinstance(chart, ChartGrid):
        return _draw_grid(chart)
    if isinstance(chart, HistogramChart):
        return _draw_histogram(chart)
    if isinstance(chart, Scatter):
        return _draw_scatter(chart)
    legend = len(chart.series) > 1 and (isinstance(chart, LineChart) or chart.keyed)
    figure = new_figure(chart, _height(chart), legend=legend, lines=isinstance(chart, LineChart))
    if isinstance(chart, DotPlot):
        _draw_dots(figure.add_subplot(), chart, "", ROOM)
    else:
        _draw_lines(figure.add_subplot(), chart, "" if chart.y_label == chart.title else chart.y_label, ROOM)
    return figure


def _draw_grid(grid: ChartGrid) -> "Figure":
    columns = [len(part) if len(part) < 4 else 2 if len(part) == 4 else 3 for part in grid.parts]
    rows = [ceil(len(part) / across) for part, across in zip(grid.parts, columns, strict=True)]
    lone = rows == columns == [1]
    heights = [
        down * _height(part[0], 0 if lone else across)
        for part, down, across in zip(grid.parts, rows, columns, strict=True)
    ]
    charts = [chart for part in grid.parts for chart in part]
    lines = any(isinstance(chart, LineChart) and any(len(line.xs) > 1 for line in chart.lines) for chart in charts)
    figure = new_figure(grid, sum(heights), legend=True, lines=lines)
    # Each part in a figure of its own: the names of rows in a dot plot would push the other parts aside.
    places: Any = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False).flat if heights else ()
    for place, part, down, across in zip(places, grid.parts, rows, columns, strict=True):
        for number, chart in enumerate(part):
            axes = place.add_subplot(down, across, number + 1)
            if isinstance(chart, DotPlot):
                _draw_dots(axes, chart, chart.title, ROOM / across)
            else:
                below = number + across < len(part)
                _draw_lines(axes, replace(chart, x_label="") if below else chart, chart.title, ROOM / across)
    return figure


def _height(chart: DotPlot | LineChart, across: int = 0) -> float:
    """Return a height in inches; ``across``: how many charts are side by side, 0 where it is the only one."""
    if isinstance(chart, DotPlot):
        return 0.75 + (sum(_row_height(chart, row) for row in chart.rows) or 0.2)
    return _PANEL_HEIGHTS[across] if across else _HEIGHT + _MARK_LINE * _place_marks(chart, ROOM)[1] / POINTS


def _dot_height(chart: DotPlot) -> float:
    return _DOT if any(dot.shown for dot in chart.dots) else _CLOSE_DOT


def _row_height(chart: DotPlot, row: DotRow) -> float:
    return max(_ROW, len(row.dots) * _dot_height(chart) + _BETWEEN)


def _draw_dots(axes: "Axes", chart: DotPlot, heading: str, room: float) -> None:
    """Draw rows under each other, in inches from above; figures to the right."""
    close = _dot_height(chart) < _DOT
    add_axis(axes, x_scale(chart), 7, 0.5 * room)
    name_axes(axes, chart.x_label, heading, room, 0.55)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    if chart.band is not None:
        axes.axvspan(*chart.band, facecolor="#0072B2", alpha=0.1, linewidth=0)
    if chart.reference is not None:
        axes.axvline(chart.reference, **_DASHED)
        label = shorten(chart.reference_label, 0.4 * room, SMALL)
        _write(axes, label, (chart.reference, 1.0), (0, 3), _ALONG_X, ha="center", va="bottom")
    middles, y = [], 0.0
    for row in chart.rows:
        high = _row_height(chart, row)
        middles.append(y + high / 2)
        _draw_row(axes, chart, row, middles[-1], room)
        y += high
        axes.axhline(y, color="#EEEEEE", linewidth=0.6, zorder=0)
    axes.set_ylim(y or 1.0, 0.0)
    size = SMALL if close else TEXT
    names = [shorten(row.label, (0.5 if close else 0.34) * room, size) for row in chart.rows]
    axes.set_yticks(middles, names, fontsize=size)
    # Notes stand apart from the names, as names may be written from right to left.
    notes = [shorten(row.note, 0.15 * room, TEXT) for row in chart.rows]
    for note, middle in zip(notes, middles, strict=True):
        _write(axes, note, (0.0, middle), (-5, 0), _ALONG_Y, ha="right", va="center", fontsize=TEXT)
    widest = max((font_width(note, TEXT) for note in notes), default=0.0)
    axes.tick_params(axis="y", length=0, pad=5 + (widest + 8.0 if widest else 0.0))


def _draw_row(axes: "Axes", chart: DotPlot, row: DotRow, middle: float, room: float) -> None:
    high = _dot_height(chart)
    close = high < _DOT
    y = middle - high * (len(row.dots) - 1) / 2
    for dot in row.dots:
        colour = _TONES.get(dot.tone) or series_colour(chart, dot.series)
        style = series_style(chart, dot.series, hollow=dot.muted) | {"color": colour, "markeredgecolor": colour}
        style |= {"markersize": 4.0} if close else {}
        if dot.low is not None and dot.high is not None:
            wide = 1.0 if dot.muted or close else 1.6
            axes.plot([dot.low, dot.high], [y, y], color=colour, linewidth=wide, zorder=2)
        if dot.value is not None:
            axes.plot([dot.value], [y], **style, zorder=3, clip_on=False)
        grey = SOFT if dot.muted else DARK
        _write(axes, shorten(dot.shown, 0.3 * room, SMALL), (1.0, y), (6, 0), _ALONG_Y, va="center", color=grey)
        y += high


def _draw_lines(axes: "Axes", chart: LineChart, heading: str, room: float) -> None:
    across, upright = x_scale(chart), y_scale(chart)
    add_axis(axes, across, 12 if across.spacing == "even" or across.named else 8, 0.85 * room)
    add_axis(axes, upright, 7 if room == ROOM else 6, room, upright=True)
    name_axes(axes, chart.x_label, heading, room, 0.9 if room == ROOM else 0.76)
    marks, rows = _place_marks(chart, room)
    if rows:
        axes.set_title(axes.get_title(loc="left"), loc="left", fontsize=TEXT, color=DARK, pad=6 + _MARK_LINE * rows)
    for x, label, row in marks:
        axes.axvline(x, color=DARK, linewidth=0.9, dashes=(1.5, 2.5), zorder=1)
        above = 2 + _MARK_LINE * (rows - row - 1)
        _write(axes, label, (x, 1.0), (0, above), _ALONG_X, ha="center", va="bottom")
    if upright.low < 0 < upright.high:
        axes.axhline(0.0, color=GREY, linewidth=0.8, zorder=1)
    if chart.bars is not None:
        _draw_bars(axes, chart.bars, 0.0, color="#E3E3E3", zorder=0)
    for series, line in enumerate(chart.lines):
        _draw_line(axes, chart, line, series)


def _place_marks(chart: LineChart, room: float) -> tuple[list[tuple[float, str, int]], int]:
    wide = 0.87 * room
    return place_marks(
        chart,
        wide,
        8.0,
        lambda label: shorten(label, 0.3 * wide, SMALL),
        lambda label: font_width(label, SMALL),
    )


def _write(
    axes: "Axes",
    text: str,
    at: Spot,
    offset: Spot,
    coordinates: str | tuple[str, str],
    **style: Any,
) -> None:
    """Write a text at an offset, in points, from a place."""
    style = {"ha": "left", "fontsize": SMALL, "color": DARK, **style}
    axes.annotate(text, at, offset, textcoords="offset points", xycoords=coordinates, **style)


def _draw_line(axes: "Axes", chart: LineChart, line: LineSeries, series: int) -> None:
    """Draw a line with a band where neighbours have intervals, and bars where one is alone, as a band takes two."""
    colour = series_colour(chart, series)
    lows, highs = _values(line.lows), _values(line.highs)
    known = [low == low and high == high for low, high in zip(lows, highs, strict=True)]
    if len(known) > 1 and any(known):
        axes.fill_between(line.xs, lows, highs, facecolor=(colour, 0.14), edgecolor=(colour, 0.4), linewidth=0.4)
    for place, here in enumerate(known):
        if here and sum(known[max(0, place - 1) : place + 2]) == 1:
            axes.plot([line.xs[place]] * 2, [lows[place], highs[place]], color=colour, linewidth=1.4, marker="_")
    style = series_style(chart, series, line=len(line.xs) > 1)
    if len(line.xs) > _MOST_MARKERS:
        style |= {"marker": ""}
    axes.plot(line.xs, _values(line.ys), **style, clip_on=False)


def _values(numbers: tuple[Number, ...]) -> list[float]:
    return [nan if number is None else number for number in numbers]


def _draw_bars(axes: "Axes", bars: Bars, thinnest: float, **style: Any) -> None:
    edges = list(pairwise(bars.edges))
    widths = [max(high - low, thinnest) for low, high in edges]
    axes.bar([(low + high) / 2 for low, high in edges], bars.counts, widths, edgecolor="white", linewidth=0.4, **style)


def _draw_histogram(chart: HistogramChart) -> "Figure":
    """Draw a strip for each distribution, over one axis."""
    many = len(chart.strips)
    figure = new_figure(chart, 0.6 + (_STRIP * many if many > 1 else _LONE), legend=False)
    scale = x_scale(chart)
    for number, bars in enumerate(chart.strips):
        axes = figure.add_subplot(many, 1, number + 1)
        last = number == many - 1
        add_axis(axes, scale, 8, 0.85 * ROOM)
        name_axes(axes, chart.x_label if last else "", "", ROOM)
        axes.tick_params(labelbottom=last)
        most = max(*bars.counts, 1)
        axes.set_ylim(0, most)
        axes.set_yticks([0, most], ["0", f"{most:,}"])
        _draw_bars(axes, bars, _THINNEST * (scale.high - scale.low), color=series_colour(chart, number))
        axes.set_title(shorten(bars.name, 0.5 * ROOM, TEXT), loc="left", fontsize=TEXT, pad=3)
        axes.set_title(shorten(bars.note, 0.35 * ROOM, SMALL), loc="right", fontsize=SMALL, color=DARK, pad=3)
    figure.supylabel(shorten(chart.y_label, 0.3 * ROOM, TEXT), fontsize=TEXT)
    return figure


def _draw_scatter(chart: Scatter) -> "Figure":
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    more = {"frontier (filled points)": _FRONTIER} if chart.frontiers else {}
    more |= {ring.label: {**_ring(ring.faint), "markersize": 9.0} for ring in chart.rings}
    lines = bool(chart.lines)
    height, legend = _HEIGHT + (1.2 if lines else 0.3), lines or len(chart.series) > 1
    figure = new_figure(chart, height, legend=legend, lines=lines, more=more)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    add_axis(axes, x_scale(chart), 8, 0.85 * ROOM)
    add_axis(axes, y_scale(chart), 7, ROOM, upright=True)
    name_axes(axes, chart.x_label, chart.y_label, ROOM)
    axes.grid(axis="x", color="#E4E4E4", linewidth=0.6)
    for frontier in chart.frontiers:
        axes.plot([point.x for point in frontier], [point.y for point in frontier], **_FRONTIER, zorder=1)
    for points in chart.lines:
        style = series_style(chart, chart.series.index(points[0].name), line=True)
        style |= {"marker": "", "linewidth": 0.9, "alpha": 0.55}
        axes.plot([point.x for point in points], [point.y for point in points], **style)
    for point in chart.points:
        series = chart.series.index(point.name)
        fine: dict[str, Any] = {"color": series_colour(chart, series), "linewidth": 0.8, "alpha": 0.4 if lines else 1.0}
        if point.x_ends:
            axes.plot(point.x_ends, [point.y] * 2, **fine)
        if point.y_ends:
            axes.plot([point.x] * 2, point.y_ends, **fine)
        style = series_style(chart, series, hollow=not point.on_frontier)
        axes.plot([point.x], [point.y], **style, zorder=4, clip_on=False)
    for ring in chart.rings:
        xs, ys = [point.x for point in ring.points], [point.y for point in ring.points]
        axes.plot(xs, ys, **_ring(ring.faint), zorder=5, clip_on=False)
    _draw_scatter_marks(axes, chart)
    canvas.draw()  # type: ignore[no-untyped-call]
    figure.set_layout_engine("none")  # it is laid out, and labels stand where there is room
    _add_labels(axes, chart)
    return figure


def _ring(faint: bool) -> dict[str, Any]:
    ring = {"marker": "o", "markersize": _RING, "markerfacecolor": "none", "linestyle": "none"}
    return ring | {"markeredgecolor": "#AAAAAA" if faint else "black", "markeredgewidth": 1.1}


def _draw_scatter_marks(axes: "Axes", chart: Scatter) -> None:
    for mark in chart.y_marks:
        axes.axhline(mark.at, **_DASHED)
        _write(axes, shorten(mark.label, 0.3 * ROOM, SMALL), (0.0, mark.at), (4, 2.5), _ALONG_Y, va="bottom")
    for mark in chart.x_marks:
        if 0 < x_scale(chart).part(mark.at) < 1:
            axes.axvline(mark.at, **_DASHED)
            label = shorten(mark.label, 0.3 * ROOM, SMALL)
            _write(axes, label, (mark.at, 0.0), (-2.5, 3), _ALONG_X, ha="right", va="bottom", rotation=90)


def _add_labels(axes: "Axes", chart: Scatter) -> None:
    """Label the points; a fine line leads to a label that is far off."""
    from matplotlib.patheffects import withStroke

    scale = POINTS / axes.figure.dpi

    def spot(x: float, y: float) -> Spot:
        across, up = axes.transData.transform((x, y)).tolist()
        return across * scale, up * scale

    def extent(box: Any) -> Box:
        left, bottom, right, top = (float(end) * scale for end in box.extents)
        return left, bottom, right, top

    points = chart.to_label()
    names = [shorten(point.name if point.label is None else point.label, 0.25 * ROOM, _LABEL) for point in points]
    sizes = [(font_width(name, _LABEL) + 1.0, _LABEL) for name in names]
    spots = [spot(point.x, point.y) for point in points]
    ringed = [point for ring in chart.rings for point in ring.points]
    taken = [extent(text.get_window_extent()) for text in axes.texts]
    taken += [_around(spot(point.x, point.y), 0.55 * _RING if point in ringed else _MARKER) for point in chart.points]
    lines = [[spot(point.x, point.y) for point in line] for line in chart.lines]
    avoided = [box for line in lines for box in _along(line)]
    places = place_labels(spots, sizes, extent(axes.bbox.padded(6)), taken, gap=_GAP, avoided=avoided)
    for point, name, size, (x, y), place in zip(points, names, sizes, spots, places, strict=True):
        if place is None or not name:
            continue
        far = max(abs(place[0] - x) - size[0] / 2, abs(place[1] - y) - size[1] / 2) > 2 * _GAP
        colour = "black" if point.label is None else series_colour(chart, chart.series.index(point.name))
        style: Any = {"ha": "center", "va": "center", "fontsize": _LABEL, "color": colour, "zorder": 6}
        style |= {"arrowprops": {"arrowstyle": "-", "linewidth": 0.5, "color": colour, "shrinkB": 3} if far else None}
        style |= {"annotation_clip": False, "path_effects": [withStroke(linewidth=1.6, foreground="white")]}
        _write(axes, name, (point.x, point.y), (place[0] - x, place[1] - y), "data", **style)


def _around(spot: Spot, size: float) -> Box:
    return spot[0] - size, spot[1] - size, spot[0] + size, spot[1] + size


def _along(spots: Sequence[Spot]) -> list[Box]:
    """Return small boxes that cover the line through these spots."""
    found = []
    for (x, y), (to_x, to_y) in pairwise(spots):
        steps = max(1, int(max(abs(to_x - x), abs(to_y - y)) / _STEP))
        ways = (step / steps for step in range(steps + 1))
        found += [_around((x + way * (to_x - x), y + way * (to_y - y)), 1.0) for way in ways]
    return found


@contextmanager
def default_style() -> Iterator[None]:
    """Use matplotlib's defaults, whatever style the user has set, and never read names as formulas."""
    from matplotlib import rc_context, rcParamsDefault

    defaults = {key: rcParamsDefault[key] for key in rcParamsDefault if key.startswith(_STYLED)}
    with _DRAWING, rc_context({**defaults, "text.parse_math": False}):
        yield


@lru_cache(maxsize=1024)
def shorten(text: str, points: float, size: float) -> str:
    """Return one line that the font can show, with its middle left out where it is too long."""
    glyphs = _glyphs()
    shown = whole = "".join(letter if ord(letter) in glyphs else UNSHOWN for letter in clean_text(text, _LONGEST))
    kept = len(whole)
    while kept > 0 and (width := font_width(shown, size)) > points:
        kept = max(0, min(kept - 1, int(kept * points / width)))
        shown = f"{whole[: ceil(kept / 2)]}…{whole[len(whole) - kept // 2 :]}"
    return shown


def wrap_text(text: str, points: float, size: float) -> list[str]:
    """Return lines of whole words; a word is shortened where it is wider than a line."""
    lines: list[str] = []
    for word in shorten(text, inf, size).split():
        if lines and font_width(f"{lines[-1]} {word}", size) <= points:
            lines[-1] += f" {word}"
        else:
            lines.append(shorten(word, points, size))
    return lines


@lru_cache(maxsize=1024)  # FreeType lays text out letter by letter, and a chart asks for the same names again and again
def font_width(text: str, size: float) -> float:
    """Return the width of a text in points."""
    font = _font()
    font.set_size(size, POINTS)
    font.set_text(text)
    return float(font.get_width_height()[0]) / 64.0


@lru_cache(maxsize=1)
def _glyphs() -> frozenset[int]:
    return frozenset(_font().get_charmap())


def _font() -> "FT2Font":
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return get_font(findfont(FontProperties(family="DejaVu Sans")))


def series_colour(chart: Chart | ChartGrid, series: int) -> str:
    return COLOURS[chart.place(series) % len(COLOURS)]


def series_style(chart: Chart | ChartGrid, series: int, *, hollow: bool = False, line: bool = False) -> dict[str, Any]:
    """Return the style of a series: distinct by colour, lightness, marker and dashes."""
    place, colour = chart.place(series), series_colour(chart, series)
    style: dict[str, Any] = {"color": colour, "marker": MARKERS[place % len(MARKERS)], "markersize": 5.5}
    style |= {"linewidth": 1.4, "markeredgecolor": colour, "markeredgewidth": 1.1 if hollow else 0.4}
    style |= {"dashes": _DASHES[place % len(_DASHES)]} if line else {"linestyle": "none"}
    return style | ({"markerfacecolor": "white"} if hollow else {})


def new_figure(
    chart: Chart | ChartGrid,
    height: float,
    *,
    legend: bool,
    lines: bool = False,
    more: Mapping[str, dict[str, Any]] = MappingProxyType({}),
) -> "Figure":
    """Return a figure with its title, legend and footnote.

    Args:
        chart: What is drawn in it.
        height: Of all axes, in inches.
        legend: Whether the legend has the series.
        lines: Whether the legend shows them as lines, or as markers alone.
        more: Further entries of the legend: styles by name.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.lines import Line2D

    styles = [series_style(chart, number, line=lines) for number in range(len(chart.series))] if legend else []
    styles += more.values()
    names = [*(chart.series if legend else ()), *more]
    shown = [shorten(name, ROOM - _HANDLE, TEXT) for name in names]
    if len(set(shown)) < len(shown):
        shown = [f"{place + 1}: {shorten(name, ROOM - _HANDLE - 25, TEXT)}" for place, name in enumerate(names)]
    widest = max((font_width(name, TEXT) for name in shown), default=0.0)
    rows = ceil(len(shown) / max(1, int(ROOM / (widest + _HANDLE))))
    foot = [line for part in chart.footnote.split("\n") for line in wrap_text(part, 0.93 * ROOM, SMALL)]
    title = shorten(chart.title, ROOM, TITLE)
    figure = Figure(
        (_WIDTH, height + (0.3 if title else 0.05) + 0.18 * rows + 0.15 * len(foot)),
        layout=ConstrainedLayoutEngine(w_pad=_MARGIN / POINTS, h_pad=0.5 * _MARGIN / POINTS),
    )
    style: dict[str, Any] = {"fontsize": TEXT, "title_fontsize": TITLE, "frameon": False, "alignment": "left"}
    style |= {"columnspacing": 1.5, "borderpad": 0.1, "labelspacing": 0.35, "handlelength": 3.2 if lines else 1.6}
    drawn = figure.legend(
        [Line2D([], [], **style) for style in styles],
        [str(place) for place in range(len(shown))],
        loc="outside upper left",
        ncols=ceil(len(shown) / rows) if rows else 1,
        title=title or None,
        **style,
    )
    for text, name in zip(drawn.get_texts(), shown, strict=True):
        text.set_text(name)  # given as labels, names that begin with _ would be passed over
    if foot:
        figure.supxlabel("\n".join(foot), x=0.015, ha="left", fontsize=SMALL, color=DARK)
    return figure


def add_axis(axes: "Axes", scale: Scale, most: int, room: float, *, upright: bool = False) -> None:
    """Set an axis by its scale: the same ends and the same ticks as in the page, as far as there is ``room``."""
    from matplotlib.ticker import NullFormatter, NullLocator

    axis = axes.yaxis if upright else axes.xaxis
    if scale.spacing == "log":
        (axes.set_yscale if upright else axes.set_xscale)("log")
    (axes.set_ylim if upright else axes.set_xlim)(scale.low, scale.high)

    def width(name: str) -> float:
        return font_width(shorten(name, inf, SMALL), SMALL)

    ticks = scale.ticks(most) if upright else scale.fitting_ticks(most, room, width, 6.0)
    wide = 0.3 * ROOM if upright else room / max(1, len(ticks))
    axis.set_ticks([value for value, _ in ticks], labels=[shorten(name, wide, SMALL) for _, name in ticks])
    axis.set_minor_formatter(NullFormatter())
    if scale.spacing == "even":
        axis.set_ticks(range(len(scale.names)), minor=True)
    else:
        axis.set_minor_locator(NullLocator())
    axes.tick_params(labelsize=SMALL, length=3, color=GREY)
    axes.tick_params(which="minor", length=2, color=GREY)


def name_axes(axes: "Axes", x_label: str, heading: str, room: float, share: float = 0.9) -> None:
    """Label the axes and draw a light grid; ``heading`` may take a ``share`` of the room above the upright axis."""
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GREY)
    below = room * 0.62  # the plane's middle may be far from the paper's
    size = TEXT if font_width(shorten(x_label, inf, TEXT), TEXT) <= below else SMALL
    axes.set_xlabel(shorten(x_label, below, size), fontsize=size)
    lines = [shorten(heading, inf, TEXT)]
    if font_width(lines[0], TEXT) > share * room:
        lines = wrap_text(heading.replace(",", ", "), share * room, TEXT)[:4]
    axes.set_title("\n".join(lines), loc="left", fontsize=TEXT, color=DARK)
