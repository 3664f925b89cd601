"""Charts as inline SVG for a page: no style, no script, no link; colours by class, texts escaped."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite

from rankjury.reporting.charts.layout import (
    Box,
    Scale,
    Spot,
    clean_text,
    fit_text,
    place_labels,
    place_marks,
    text_width,
    x_scale,
    y_scale,
)
from rankjury.reporting.charts.spec import (
    Bars,
    Chart,
    DotPlot,
    DotRow,
    HistogramChart,
    LineChart,
    LineSeries,
    Scatter,
    ScatterPoint,
)

TEXT, SMALL = 12.0, 11.0
_SERIES = 8
_DASHES = ("", "7 3", "2 3", "8 3 2 3", "12 4", "4 2", "10 2 2 2", "1 2")
# Around 0, about as large as each other to the eye.
_MARKERS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M-3.5-3.5h7v7h-7z",
    "M0-4.6L4.4 3.4H-4.4z",
    "M0-5L5 0L0 5L-5 0z",
    "M0 4.6L4.4-3.4H-4.4z",
    "M-1.6-4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z",
    "M-4.6 0L3.4-4.4V4.4z",
    "M4.6 0L-3.4-4.4V4.4z",
)
_LEGEND_LINE, _SWATCH, _BETWEEN = 18.0, 30.0, 16.0
_LONGEST_TITLE = 300
_UPRIGHT_TICK, _MOST_UPRIGHT, _MOST_ACROSS = 27.0, 8, 12
_RIGHT = 14.0
_DOT, _ROW, _GAP = 15.0, 23.0, 10.0
"""How high a dot's line is, the least a row is, and how far columns are apart."""
_WIDEST_LABEL, _WIDEST_NOTE, _NARROWEST_PLOT = 0.36, 0.2, 0.3
"""As shares of the width."""
_CAPTION_LINE = 14.0
_NARROW, _LABEL_LINE = 480.0, 17.0
"""A sheet that is narrower, as on a phone, has the label of a row above its dots, in a line of this height."""
_TICK_ROOM = 64.0
_MOST_MARKERS = 60
"""On one line; more would hide it."""
_MARK_LINE, _MARK_GAP, _WIDEST_MARK = 14.0, 14.0, 0.4
_STRIP, _NAME, _LONE = 62.0, 20.0, 130.0
"""How high bars reach, what their name takes above them, and how high they reach where there is one strip."""
_THINNEST = 4.0
_AROUND = 6.0
_WIDEST_NAME = 0.3
_CIRCLE = "a9 9 0 1 0 18 0a9 9 0 1 0-18 0z"
# Okabe and Ito's palette in the order of matplotlib.py, its light hues darkened for a light ground and its dark ones
# lightened for a dark ground, so that each contrasts with what it is on by at least 3 : 1 and texts by 4.5 : 1.
_COLOUR_NAMES = ["0", "1", "2", "3", "4", "5", "6", "7", "text", "soft", "grid", "axis", "ground", "good", "bad"]
_LIGHT = (
    "#0072b2 #b87400 #1f2328 #b5568c #008a63 #2a8fcb #c24e00 #7a7a7a "
    "#1f2328 #57606a #e2e5e9 #7d8590 #ffffff #0072b2 #c24e00"
)
_DARK = (
    "#4da3e0 #e69f00 #f0f0f0 #d98bb8 #1fb587 #8fd0f5 #f07830 #a0a0a0 "
    "#e6e9ed #a3adb8 #323841 #7d8793 #14171c #4da3e0 #f07830"
)
_LIGHT_CSS, _DARK_CSS = (
    ";".join(f"--chart-{name}:{colour}" for name, colour in zip(_COLOUR_NAMES, colours.split(), strict=True))
    for colours in (_LIGHT, _DARK)
)
_RULES = (
    "svg.chart{display:block;width:100%;height:auto;max-width:60rem;overflow:visible;"
    "font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'DejaVu Sans',sans-serif;"
    "font-variant-numeric:tabular-nums}",
    "svg.chart text{fill:var(--chart-text);stroke:none}",
    "svg.chart .tick,svg.chart .note{fill:var(--chart-soft)}",
    "svg.chart .over{paint-order:stroke;stroke:var(--chart-ground);stroke-width:4px}",
    "svg.chart .grid{stroke:var(--chart-grid);stroke-width:1;fill:none}",
    "svg.chart .axis,svg.chart .lead{stroke:var(--chart-axis);stroke-width:1;fill:none}",
    "svg.chart .reference{stroke:var(--chart-soft);stroke-width:1.2;stroke-dasharray:4 3;fill:none}",
    "svg.chart .mark{stroke:var(--chart-soft);stroke-width:1.2;stroke-dasharray:2 3;fill:none}",
    "svg.chart .frontier{stroke:var(--chart-axis);stroke-width:6;stroke-linejoin:round;stroke-linecap:round;"
    "stroke-opacity:.35;fill:none}",
    "svg.chart .circle{stroke:var(--chart-text);stroke-width:1.4;fill:none}",
    "svg.chart .faint .circle{stroke:var(--chart-axis)}",
    "svg.chart .behind{--hue:var(--chart-grid)}",
    "svg.chart .allowed{fill:var(--chart-good);fill-opacity:.12;stroke:none}",
    *(f"svg.chart .c{place}{{--hue:var(--chart-{place})}}" for place in range(8)),
    "svg.chart .good{--hue:var(--chart-good)}",
    "svg.chart .bad{--hue:var(--chart-bad)}",
    "svg.chart .even{--hue:var(--chart-soft)}",
    "svg.chart .line{stroke:var(--hue);stroke-width:2;stroke-linejoin:round;fill:none}",
    "svg.chart .band{fill:var(--hue);fill-opacity:.14;stroke:none}",
    "svg.chart .whisker{stroke:var(--hue);stroke-width:2;fill:none}",
    "svg.chart .bar{fill:var(--hue);stroke:none}",
    "svg.chart .dot{fill:var(--hue);stroke:var(--hue);stroke-width:1}",
    "svg.chart .point .dot{stroke:var(--chart-ground)}",
    "svg.chart .muted .dot{fill:var(--chart-ground);stroke-width:1.6}",
    "svg.chart .muted .whisker{stroke-width:1.2}",
)
CHART_CSS = "\n".join(
    (
        f":root{{{_LIGHT_CSS}}}",
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{_DARK_CSS}}}}}",
        f":root[data-theme=dark]{{{_DARK_CSS}}}",
        *_RULES,
        f"@media print{{:root,:root[data-theme]{{{_LIGHT_CSS}}}svg.chart{{break-inside:avoid}}}}",
        "@media print and (prefers-color-scheme:dark){:root:not([data-theme=light]){" + _LIGHT_CSS + "}}",
    )
)
"""A page that has grounds of its own sets ``--chart-ground`` to them, for hollow markers."""


def to_svg(chart: Chart, prefix: str, *, width: float = 720.0, tooltips: bool = True) -> str:
    """Draw the chart as one ``<svg>``; ``prefix`` begins its ids and must be unique on the page.

    It fills the width of its container. ``width`` is the one at which texts have their size, 12 pixels and 11: give
    360 for charts in two columns. Without ``tooltips`` and its description it is smaller.
    """
    sheet = Sheet(chart, width, tooltips=tooltips)
    if isinstance(chart, DotPlot):
        height = draw_dots(sheet, chart)
    elif isinstance(chart, LineChart):
        height = draw_lines(sheet, chart)
    elif isinstance(chart, HistogramChart):
        height = draw_bars(sheet, chart)
    else:
        height = draw_points(sheet, chart)
    return sheet.markup(prefix, height)


def number(value: float) -> str:
    """Return a coordinate, to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


class Sheet:
    """A drawing in the making: pieces of SVG, from the back to the front."""

    def __init__(self, chart: Chart, width: float, *, tooltips: bool = True) -> None:
        self.chart = chart
        self.tooltips = tooltips
        self.width = width
        self._pieces: list[str] = []

    def markup(self, prefix: str, height: float) -> str:
        """Return the SVG, with the chart's title and description for readers who cannot see it."""
        name = escape("".join(letter for letter in prefix if letter.isalnum() or letter in "-_"), quote=True)
        about = f'<desc id="{name}-desc">{_escaped(self.chart.description, 1_000)}</desc>' if self.tooltips else ""
        return (
            f'<svg class="chart" role="img" aria-labelledby="{name}-title{about and f" {name}-desc"}" width="100%" '
            f'viewBox="0 0 {number(self.width)} {number(height)}" font-size="{number(SMALL)}" '
            f'preserveAspectRatio="xMinYMin meet"><title id="{name}-title">{_escaped(self.chart.title)}</title>'
            f"{about}{''.join(self._pieces)}</svg>"
        )

    def text(self, x: float, y: float, content: str, kind: str = "label", anchor: str = "start") -> None:
        """Write a text that is already shortened to its room; ``y`` is its base line."""
        aligned = "" if anchor == "start" else f' text-anchor="{anchor}"'
        # The other texts, which are many, are small.
        size = f' font-size="{number(TEXT)}"' if kind.startswith("label") else ""
        self._pieces.append(
            f'<text class="{kind}" x="{number(x)}" y="{number(y)}"{aligned}{size}>{escape(content, quote=False)}</text>'
        )

    def path(self, d: str, kind: str, attributes: str = "") -> None:
        self._pieces.append(f'<path class="{kind}" d="{d}"{attributes}/>')

    def open(self, kind: str, title: str = "") -> None:
        """Open a group; pointing at it shows its title."""
        tooltip = f"<title>{_escaped(title)}</title>" if title and self.tooltips else ""
        self._pieces.append(f'<g class="{kind}">{tooltip}')

    def close(self) -> None:
        self._pieces.append("</g>")

    def across(self, left: float, right: float, y: float, kind: str) -> None:
        self.path(f"M{number(left)} {number(y)}H{number(right)}", kind)

    def upright(self, x: float, top: float, bottom: float, kind: str) -> None:
        self.path(f"M{number(x)} {number(top)}V{number(bottom)}", kind)

    def marker(self, x: float, y: float, place: int) -> None:
        shape = _MARKERS[place % len(_MARKERS)]
        self._pieces.append(f'<path class="dot" d="{shape}" transform="translate({number(x)} {number(y)})"/>')

    def hue(self, series: int) -> str:
        """Return the class that gives a series its colour."""
        return f"c{self.chart.place(series) % _SERIES}"

    def dashes(self, series: int) -> str:
        dashes = _DASHES[self.chart.place(series) % len(_DASHES)]
        return f' stroke-dasharray="{dashes}"' if dashes else ""

    def legend(self, names: Sequence[str], *, lines: bool) -> float:
        """Write the names of the series along the top, in as many lines as they need; return the height."""
        x, y = 0.0, 13.0
        for series, name in enumerate(names):
            shown = fit_text(name, self.width - _SWATCH, TEXT)
            wide = _SWATCH + text_width(shown, TEXT)
            if x and x + wide > self.width:
                x, y = 0.0, y + _LEGEND_LINE
            self.open(f"{self.hue(series)} key")
            if lines:
                self.path(f"M{number(x)} {number(y - 4)}h24", "line", f' fill="none"{self.dashes(series)}')
            self.marker(x + 12, y - 4, self.chart.place(series))
            self.close()
            self.text(x + _SWATCH, y, shown)
            x += wide + _BETWEEN
        return y + 10.0

    def centred(self, middle: float, y: float, content: str, kind: str = "note") -> None:
        """Write a text under or over a place, as near to it as the sheet's edges let it."""
        half = text_width(content, SMALL) / 2
        self.text(max(half, min(self.width - half, middle)), y, content, kind, "middle")


def _escaped(text: str, longest: int = _LONGEST_TITLE) -> str:
    return escape(clean_text(text, longest), quote=False)


def height_for(width: float) -> float:
    """Return the height of the plane at a width."""
    return max(150.0, min(260.0, 0.42 * width))


def _most(high: float) -> int:
    return min(_MOST_UPRIGHT, int(high / _UPRIGHT_TICK))


@dataclass(frozen=True)
class Plot:
    """A plane on the sheet, with its axes."""

    sheet: Sheet
    across: Scale
    upright: Scale
    left: float
    right: float
    top: float
    bottom: float

    @classmethod
    def laid_out(cls, sheet: Sheet, across: Scale, upright: Scale, top: float, high: float) -> "Plot":
        """Return a plot with room to the left for the labels of the upright axis."""
        names = [name for _, name in upright.ticks(_most(high))]
        left = max((text_width(name, SMALL) for name in names), default=0.0) + 8
        return cls(sheet, across, upright, left, sheet.width - _RIGHT, top, top + high)

    def x(self, value: float) -> float:
        return self.left + self.across.part(value) * (self.right - self.left)

    def within(self, x: float, label: str) -> float:
        """Return the middle of a small label, as near to ``x`` as keeps it between the ends of the plot."""
        half = text_width(label, SMALL) / 2
        return max(self.left + half, min(self.right - half, x))

    def y(self, value: float) -> float:
        return self.bottom - self.upright.part(value) * (self.bottom - self.top)

    def draw_ground(self, x_label: str, y_label: str, *, above: float = 0.0) -> None:
        """Draw grid, ticks and labels; ``above`` is the space between the plane and the label of its upright axis."""
        sheet = self.sheet
        for value, name in self.upright.ticks(_most(self.bottom - self.top)):
            sheet.across(self.left, self.right, self.y(value), "grid")
            sheet.text(self.left - 6, self.y(value) + 4, name, "tick", "end")
        sheet.text(0.0, self.top - 13 - above, fit_text(y_label, self.right, SMALL), "note")
        self.draw_across(x_label)

    def draw_across(self, x_label: str) -> None:
        """Draw the axis at the bottom."""
        sheet, wide = self.sheet, self.right - self.left
        ticks = self.across.fitting_ticks(_MOST_ACROSS, wide, lambda name: text_width(name, SMALL), 12)
        for value, name in ticks:
            sheet.upright(self.x(value), self.bottom, self.bottom + 4, "axis")
            sheet.centred(self.x(value), self.bottom + 18, fit_text(name, wide / len(ticks) - 12, SMALL), "tick")
        sheet.across(self.left, self.right, self.bottom, "axis")
        sheet.centred((self.left + self.right) / 2, self.bottom + 36, fit_text(x_label, sheet.width, SMALL))


def draw_dots(sheet: Sheet, chart: DotPlot) -> float:
    """Draw a dot plot and return its height; values in words are omitted where they leave too little for the dots.

    Labels are left of the dots, or above them on a narrow sheet.
    """
    narrow = sheet.width < _NARROW
    above = _LABEL_LINE if narrow else 0.0
    labels = [text_width(clean_text(row.label), TEXT) for row in chart.rows]
    note = max((text_width(clean_text(row.note), SMALL) for row in chart.rows), default=0.0)
    note = min(note, _WIDEST_NOTE * sheet.width)
    shown = max((text_width(clean_text(dot.shown), SMALL) for dot in chart.dots), default=0.0)
    # A lone dot of a row has its value in the line of the label.
    beside = narrow and all(len(row.dots) < 2 for row in chart.rows)
    widest = sheet.width - note - 2 * _GAP - (shown if beside else 0.0) if narrow else _WIDEST_LABEL * sheet.width
    label = min(max(labels, default=0.0), widest)
    left = 1.4 * _GAP + (0.0 if narrow else label + (_GAP + note if note else 0.0))
    in_words = not beside and shown > 0 and sheet.width - left - shown - 1.4 * _GAP >= _NARROWEST_PLOT * sheet.width
    right = sheet.width - (shown + 1.4 * _GAP if in_words else _GAP)
    top = sheet.legend(chart.series, lines=False) if chart.keyed and len(chart.series) > 1 else 4.0
    if chart.reference_label:
        top += 16.0
    bottom = top + sum(_height(row) + above for row in chart.rows)
    plot = Plot(sheet, x_scale(chart), Scale(0.0, 1.0), left, right, top, bottom)
    _draw_ground(plot, chart)
    y = top
    for row in chart.rows:
        middle = y + above + _height(row) / 2
        line = y + _LABEL_LINE if narrow else middle + 4  # base line of the label
        if y > top:
            sheet.across(0.0, sheet.width, y, "grid")
        name = fit_text(row.label, label, TEXT)
        sheet.open("row", row.label if name != row.label else "")  # pointing at a shortened name shows all of it
        sheet.text(0.0, line, name, "label over" if narrow else "label")
        sheet.close()
        if row.note:
            shown_note = fit_text(row.note, _WIDEST_NOTE * sheet.width, SMALL)
            sheet.text(label + _GAP + note, line, shown_note, "note over" if narrow else "note", "end")
        for dot in row.dots if beside else ():
            sheet.text(sheet.width, line, clean_text(dot.shown), "tick over", "end")
        _draw_row_dots(plot, chart, row, middle, in_words=in_words)
        y += _height(row) + above
    if not chart.rows:
        sheet.text(left, bottom + 4, "nothing to show", "note")
    y = bottom + 36
    for text in _lines_of(chart.x_label, sheet.width):
        sheet.centred((left + right) / 2, y, fit_text(text, sheet.width, SMALL))
        y += _CAPTION_LINE
    return y - _CAPTION_LINE + 8.0


def _lines_of(text: str, room: float) -> list[str]:
    """Return a small text, in two lines where it is too wide for one."""
    if text_width(clean_text(text), SMALL) <= room:
        return [text]
    spaces = [place for place, letter in enumerate(text) if letter == " "]
    middle = min(spaces, key=lambda place: abs(place - len(text) / 2), default=len(text))
    return [text[:middle], text[middle + 1 :]]


def _height(row: DotRow) -> float:
    return max(_ROW, 8.0 + _DOT * len(row.dots))


def _draw_ground(plot: Plot, chart: DotPlot) -> None:
    """Draw what is behind the dots: the allowed band, ticks, and the reference with its label."""
    sheet, wide = plot.sheet, plot.right - plot.left
    if chart.band is not None:
        left, right = map(plot.x, chart.band)
        high = number(plot.bottom - plot.top)
        sheet.path(f"M{number(left)} {number(plot.top)}H{number(right)}v{high}H{number(left)}z", "allowed")
    for value, name in plot.across.ticks(max(2, int(wide / _TICK_ROOM))):
        sheet.upright(plot.x(value), plot.top, plot.bottom + 4, "grid")
        sheet.centred(plot.x(value), plot.bottom + 18, name, "tick")
    sheet.across(plot.left, plot.right, plot.bottom, "axis")
    if chart.reference is not None:
        sheet.upright(plot.x(chart.reference), plot.top - 4, plot.bottom, "reference")
    if chart.reference is not None and chart.reference_label:
        shown = fit_text(chart.reference_label, wide, SMALL)
        sheet.text(plot.within(plot.x(chart.reference), shown), plot.top - 8, shown, "note", "middle")


def _draw_row_dots(plot: Plot, chart: DotPlot, row: DotRow, middle: float, *, in_words: bool) -> None:
    sheet, y = plot.sheet, middle - _DOT * (len(row.dots) - 1) / 2
    for dot in row.dots:
        kinds = (dot.tone or sheet.hue(dot.series), "muted" if dot.muted else "")
        sheet.open(" ".join(filter(None, kinds)), dot.title)
        if dot.low is not None and dot.high is not None:
            sheet.across(plot.x(dot.low), plot.x(dot.high), y, "whisker")
        if dot.value is not None:
            sheet.marker(plot.x(dot.value), y, chart.place(dot.series))
        if in_words:
            sheet.text(sheet.width, y + 4, clean_text(dot.shown), "tick", "end")
        sheet.close()
        y += _DOT


def draw_lines(sheet: Sheet, chart: LineChart) -> float:
    """Draw a line chart and return its height."""
    top = sheet.legend(chart.series, lines=True) if len(chart.lines) > 1 else 2.0
    marks, rows = place_marks(
        chart,
        0.85 * sheet.width,  # the plane is about as wide: its left margin is not known before its height is
        _MARK_GAP,
        lambda label: fit_text(label, _WIDEST_MARK * sheet.width, SMALL),
        lambda label: text_width(label, SMALL),
    )
    high = height_for(sheet.width)
    plot = Plot.laid_out(sheet, x_scale(chart), y_scale(chart), top + 26 + _MARK_LINE * rows, high)
    plot.draw_ground(chart.x_label, chart.y_label, above=_MARK_LINE * rows)
    heights = [plot.top - _MARK_LINE * (rows - row - 1) - 5 for _, _, row in marks]
    for (x, _, _), y in zip(marks, heights, strict=True):
        sheet.upright(plot.x(x), y + 3, plot.bottom, "mark")
    for (x, label, _), y in zip(marks, heights, strict=True):
        sheet.text(plot.within(plot.x(x), label), y, label, "note over", "middle")
    if chart.bars is not None:
        sheet.open("bars behind", chart.bars.name)
        for left, right, count in zip(chart.bars.edges, chart.bars.edges[1:], chart.bars.counts, strict=False):
            _draw_bar(plot, left, right, count)
        sheet.close()
    for series, line in enumerate(chart.lines):
        _draw_band(plot, line, sheet.hue(series))
    for series, line in enumerate(chart.lines):
        _draw_line(plot, line, series)
    return plot.bottom + 44.0


def _draw_band(plot: Plot, line: LineSeries, hue: str) -> None:
    """Draw a band where neighbours have intervals, and a bar where a point without such neighbours has one."""
    if not line.lows or not line.highs:
        return
    for run in _runs(list(zip(line.xs, line.lows, line.highs, strict=True))):
        lows, highs = ([(plot.x(row[0]), plot.y(row[end])) for row in run] for end in (1, 2))
        if len(run) > 1:
            plot.sheet.path(f"{_through(highs)}L{_through(lows[::-1])[1:]}z", f"band {hue}")
        else:
            ((x, low),), ((_, high),) = lows, highs
            plot.sheet.upright(x, high, low, f"whisker {hue}")


def _draw_line(plot: Plot, line: LineSeries, series: int) -> None:
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
                sheet.marker(plot.x(x), plot.y(y), sheet.chart.place(series))
                sheet.close()
    sheet.close()


def _runs(rows: Sequence[tuple[float | None, ...]]) -> Iterator[list[tuple[float, ...]]]:
    """Yield the stretches in which no value is undefined."""
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


def draw_bars(sheet: Sheet, chart: HistogramChart) -> float:
    """Draw histograms and return their height."""
    high = _STRIP if len(chart.strips) > 1 else _LONE
    most = max((count for bars in chart.strips for count in bars.counts), default=1)
    left = max(30.0, text_width(f"{most:,}", SMALL) + 8)
    y = 20.0
    sheet.text(0.0, 11.0, fit_text(chart.y_label, sheet.width, SMALL), "note")
    plot = Plot(sheet, x_scale(chart), Scale(0.0, 1.0), left, sheet.width - 14, y, y)
    for series, bars in enumerate(chart.strips):
        plot = Plot(sheet, plot.across, Scale(0.0, max(*bars.counts, 1)), left, plot.right, y + _NAME, y + _NAME + high)
        _draw_strip(plot, bars, sheet.hue(series))
        y = plot.bottom + 8
    plot.draw_across(chart.x_label)
    return plot.bottom + 44.0


def _draw_strip(plot: Plot, bars: Bars, hue: str) -> None:
    sheet, most = plot.sheet, max(*bars.counts, 1)
    sheet.across(plot.left, plot.right, plot.top, "grid")
    sheet.text(plot.left - 6, plot.top + 4, f"{most:,}", "tick", "end")
    sheet.text(plot.left - 6, plot.bottom + 4, "0", "tick", "end")
    note = fit_text(bars.note, 0.45 * sheet.width, SMALL)
    room = plot.right - plot.left - text_width(note, SMALL) - 12
    sheet.text(plot.left, plot.top - 5, fit_text(bars.name, room, TEXT))
    sheet.text(plot.right, plot.top - 5, note, "note", "end")
    sheet.open(f"bars {hue}", clean_text(f"{bars.name} {bars.note}"))
    for left, right, count in zip(bars.edges, bars.edges[1:], bars.counts, strict=False):
        if count:
            _draw_bar(plot, left, right, count)
    sheet.close()
    sheet.across(plot.left, plot.right, plot.bottom, "axis")


def _draw_bar(plot: Plot, left: float, right: float, count: float) -> None:
    """Draw a bar a pixel apart from the next, and never too thin to be seen."""
    first, last = plot.x(left), plot.x(right)
    wide = max(last - first - 1.0, _THINNEST)
    middle = (first + last) / 2
    top, base = number(plot.y(count)), number(plot.bottom)
    plot.sheet.path(f"M{number(middle - wide / 2)} {base}V{top}h{number(wide)}V{base}z", "bar")


def draw_points(sheet: Sheet, chart: Scatter) -> float:
    """Draw a scatter plot and return its height."""
    top = sheet.legend(chart.series, lines=bool(chart.lines)) if len(chart.series) > 1 else 2.0
    plot = Plot.laid_out(sheet, x_scale(chart), y_scale(chart), top + 26.0, height_for(sheet.width) + 40)
    plot.draw_ground(chart.x_label, chart.y_label)
    for frontier in chart.frontiers:
        sheet.path(_joined(plot, frontier), "frontier", ' fill="none"')
    taken = _draw_marks(plot, chart)
    for points in chart.lines:
        series = chart.series.index(points[0].name)
        sheet.path(_joined(plot, points), f"line {sheet.hue(series)}", f' fill="none"{sheet.dashes(series)}')
    _draw_names(plot, chart, taken)
    for point in chart.points:
        _draw_point(plot, point, chart.series.index(point.name))
    for ring in chart.rings:
        sheet.open("ring faint" if ring.faint else "ring", ring.label)
        for point in ring.points:
            sheet.path(f"M{number(plot.x(point.x) - 9)} {number(plot.y(point.y))}{_CIRCLE}", "circle", ' fill="none"')
        sheet.close()
    return plot.bottom + 44.0


def _joined(plot: Plot, points: Sequence[ScatterPoint]) -> str:
    return "M" + "L".join(f"{number(plot.x(point.x))} {number(plot.y(point.y))}" for point in points)


def _draw_marks(plot: Plot, chart: Scatter) -> list[Box]:
    """Draw level and upright lines; return where their words are."""
    sheet, taken = plot.sheet, []
    for mark in chart.y_marks:
        sheet.across(plot.left, plot.right, plot.y(mark.at), "reference")
        shown = fit_text(mark.label, _WIDEST_NAME * sheet.width, SMALL)
        sheet.text(plot.left + 4, plot.y(mark.at) - 4, shown, "note")
        taken.append((plot.left, plot.y(mark.at) - 15, plot.left + 4 + text_width(shown, SMALL), plot.y(mark.at)))
    for mark in chart.x_marks:
        if 0 < plot.across.part(mark.at) < 1:
            sheet.upright(plot.x(mark.at), plot.top, plot.bottom, "reference")
            shown = fit_text(mark.label, _WIDEST_NAME * sheet.width, SMALL)
            half = text_width(shown, SMALL) / 2
            x = max(plot.left + half, plot.x(mark.at) - half - 4)
            sheet.text(x, plot.bottom - 5, shown, "note", "middle")
            taken.append((x - half, plot.bottom - 16, x + half, plot.bottom))
    return taken


def _draw_point(plot: Plot, point: ScatterPoint, series: int) -> None:
    """Draw a point and its intervals; it is hollow where another point is better."""
    sheet, x, y = plot.sheet, plot.x(point.x), plot.y(point.y)
    sheet.open(f"{sheet.hue(series)}{'' if point.on_frontier else ' muted'}", point.title)
    if point.x_ends:
        sheet.across(plot.x(point.x_ends[0]), plot.x(point.x_ends[1]), y, "whisker")
    if point.y_ends:
        sheet.upright(x, plot.y(point.y_ends[1]), plot.y(point.y_ends[0]), "whisker")
    sheet.marker(x, y, sheet.chart.place(series))
    sheet.close()


def _draw_names(plot: Plot, chart: Scatter, taken: Sequence[Box]) -> None:
    """Write names beside points; where there is no room, only pointing at the point shows it."""
    points = chart.to_label()
    room = _WIDEST_NAME * plot.sheet.width
    names = [fit_text(point.name if point.label is None else point.label, room, TEXT) for point in points]
    spots = [(plot.x(point.x), plot.y(point.y)) for point in points]
    around = [(x - _AROUND, y - _AROUND, x + _AROUND, y + _AROUND) for x, y in spots]
    sizes = [(text_width(name, TEXT), SMALL + 2) for name in names]
    within = plot.left, plot.top - 4, plot.right + 10, plot.bottom
    places = place_labels(spots, sizes, within, [*around, *taken], gap=8.0)
    for name, spot, size, place in zip(names, spots, sizes, places, strict=True):
        if place is not None:
            # A fine line from the point to the nearest edge of its name: points may be close together.
            to_x, to_y = (
                max(middle - length / 2, min(middle + length / 2, at))
                for at, middle, length in zip(spot, place, size, strict=True)
            )
            line = f"M{number(spot[0])} {number(spot[1])}L{number(to_x)} {number(to_y)}"
            plot.sheet.path(line, "lead", ' fill="none"')
            plot.sheet.text(place[0], place[1] + 4, name, "label", "middle")
