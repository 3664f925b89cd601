"""Figures by matplotlib: one style for all pictures, texts measured by the font, legends, footnotes and axes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from math import ceil, inf
from threading import Lock
from typing import TYPE_CHECKING, Any

from rankjury.reporting.charts.layout import UNSHOWN, Scale, clean_text
from rankjury.reporting.charts.spec import Chart, ChartGrid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ft2font import FT2Font

TITLE, TEXT, SMALL = 10.0, 8.0, 7.0
POINTS = 72.0
"""An inch, and so are all sizes of texts."""
_WIDTH = 7.2
"""In inches."""
_MARGIN, _HANDLE = 10.0, 46.0
"""In points: around the figure, and of a legend entry's line and the space about it."""
ROOM = _WIDTH * POINTS - 2 * _MARGIN
GREY, SOFT, DARK = "#888888", "#666666", "#444444"
# Okabe and Ito's palette, neighbours far apart in lightness; grey for its yellow, which is lost on white.
COLOURS = ("#0072B2", "#E69F00", "#000000", "#CC79A7", "#009E73", "#56B4E9", "#D55E00", "#999999")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_DASHES: tuple[tuple[float, ...], ...] = ((), (5, 1.5), (1.2, 1.2), (5, 1.2, 1.2, 1.2), (9, 2), (2.5, 1), (7, 1, 1, 1))
_STYLED = (
    "agg.", "axes.", "figure.", "font.", "grid.", "legend.", "lines.", "markers.", "patch.", "path.", "savefig.",
    "text.", "xtick.", "ytick.",
)  # fmt: skip
"""Prefixes of the settings of matplotlib that change a picture."""
_LONGEST = 2_000
_DRAWING = Lock()


@contextmanager
def default_style() -> Iterator[None]:
    """matplotlib's defaults, whatever style the user has set, and names that are never read as formulas."""
    from matplotlib import rc_context, rcParamsDefault

    usual = {key: rcParamsDefault[key] for key in rcParamsDefault if key.startswith(_STYLED)}
    with _DRAWING, rc_context({**usual, "text.parse_math": False}):
        yield


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


def font_width(text: str, size: float) -> float:
    """In points."""
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
    chart: Chart | ChartGrid, height: float, *, legend: bool, lines: bool = False,
    more: Sequence[tuple[dict[str, Any], str]] = (),
) -> "Figure":  # fmt: skip
    """Return a figure with its title, legend and footnote.

    Args:
        chart: What is drawn in it.
        height: Of all axes, in inches.
        legend: Whether the legend has the series.
        lines: Whether the legend shows them as lines, or as markers alone.
        more: Styles and names of further entries of the legend.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.lines import Line2D

    styles = [series_style(chart, one, line=lines) for one in range(len(chart.series))] if legend else []
    styles += [style for style, _ in more]
    names = [*(chart.series if legend else ()), *(name for _, name in more)]
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
    drawn = figure.legend(
        [Line2D([], [], **style) for style in styles], [str(place) for place in range(len(shown))],
        loc="outside upper left", ncols=ceil(len(shown) / rows) if rows else 1, fontsize=TEXT, frameon=False,
        handlelength=3.2 if lines else 1.6, columnspacing=1.5, borderpad=0.1, labelspacing=0.35, alignment="left",
        title=title or None, title_fontsize=TITLE,
    )  # fmt: skip
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
    """Write what the axes are about; light lines behind, and little frame.

    ``heading`` is above the plane and says what the upright axis is about; it may take a ``share`` of the room.
    """
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
