"""What all pictures share: one style whatever the user has set, colours told apart by anybody, names that fit."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "HANDLE",
    "MARGIN",
    "MARKERS",
    "POINTS",
    "SMALL",
    "TEXT",
    "TITLE",
    "WIDTH",
    "add_legend",
    "fitted",
    "legend_of",
    "own_style",
    "plain",
    "style_of",
]

WIDTH = 6.0
TITLE, TEXT, SMALL = 10.0, 8.0, 7.0
POINTS = 72.0
MARGIN, HANDLE = 10.0, 46.0
"""In points: around the legend, and of an entry's line and the space about it."""
# Okabe and Ito's palette, neighbours far apart in lightness; grey for its yellow, which is lost on white.
COLOURS = ("#0072B2", "#E69F00", "#000000", "#CC79A7", "#009E73", "#56B4E9", "#D55E00", "#999999")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_DASHES: tuple[tuple[float, ...], ...] = ((), (5, 1.5), (1.2, 1.2), (5, 1.2, 1.2, 1.2), (9, 2), (2.5, 1), (7, 1, 1, 1))
_STYLED = (
    "agg.", "axes.", "figure.", "font.", "grid.", "legend.", "lines.", "markers.", "patch.", "path.", "savefig.",
    "text.", "xtick.", "ytick.",
)  # fmt: skip
"""How the settings of matplotlib begin that the picture hangs on."""
_DRAWING = Lock()


@contextmanager
def own_style() -> Iterator[None]:
    """matplotlib's defaults, whatever style the user has set, and names that are never read as formulas."""
    from matplotlib import rc_context, rcParamsDefault

    usual = {key: rcParamsDefault[key] for key in rcParamsDefault if key.startswith(_STYLED)}
    with _DRAWING, rc_context({**usual, "text.parse_math": False}):
        yield


def add_legend(figure: "Figure", names: Sequence[str], columns: int, title: str, *, lines: bool) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **style_of(place, line=lines)) for place in range(len(names))]
    legend = figure.legend(
        handles, [str(place) for place in range(len(names))], loc="outside upper left", ncols=columns, fontsize=TEXT,
        frameon=False, handlelength=3.2, columnspacing=1.5, borderpad=0.1, labelspacing=0.35, alignment="left",
        title=title or None, title_fontsize=TITLE,
    )  # fmt: skip
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)  # given as labels, names that begin with _ would be passed over


def style_of(place: int, *, line: bool = True) -> dict[str, Any]:
    """Of the system at a place: told apart by colour, lightness, marker and dashes."""
    style: dict[str, Any] = {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}
    style |= {"markersize": 5.0, "markeredgecolor": "white", "markeredgewidth": 0.4, "linewidth": 1.4}
    return style | ({"dashes": _DASHES[place % len(_DASHES)]} if line else {"linestyle": "none"})


def legend_of(systems: Sequence[str]) -> tuple[list[str], int]:
    """What systems are called, told apart though shortened, and in how many columns they stand."""
    room = WIDTH * POINTS - 2 * MARGIN
    names = [fitted(name, room - HANDLE, TEXT) for name in systems]
    if len(set(names)) < len(names):
        names = [f"{place + 1}: {fitted(name, room - HANDLE - 25, TEXT)}" for place, name in enumerate(systems)]
    columns = int(room / (max(_width(name, TEXT) for name in names) + HANDLE)) or 1
    return names, ceil(len(names) / ceil(len(names) / columns))


def fitted(text: str, points: float, size: float) -> str:
    """One line that the font can show, with its middle left out where it is too long."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    glyphs = get_font(findfont(FontProperties(family="DejaVu Sans"))).get_charmap()
    shown = whole = "".join(letter if ord(letter) in glyphs else "□" for letter in " ".join(text.split()))
    kept = len(whole)
    while (width := _width(shown, size)) > points:
        kept = min(kept - 1, int(kept * points / width))
        shown = f"{whole[: ceil(kept / 2)]}…{whole[len(whole) - kept // 2 :]}"
    return shown


def _width(text: str, size: float) -> float:
    """In points."""
    from matplotlib.textpath import TextPath

    return float(TextPath((0, 0), text, size=size).get_extents().width) if text.strip() else 0.0


def plain(axes: "Axes") -> None:
    """Light lines behind, and no more frame than is needed."""
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#888888")
