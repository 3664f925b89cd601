"""Texts of pictures: measured by the font itself, and shortened to their room."""

from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING

from karat.reports.charts.labels import UNSHOWN, clean
from karat.reports.drawing import POINTS

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

__all__ = ["font_width", "lettered"]


def lettered(text: str, points: float, size: float) -> str:
    """One line that the font can show, with its middle left out where it is too long."""
    glyphs = _glyphs()
    shown = whole = "".join(letter if ord(letter) in glyphs else UNSHOWN for letter in clean(text, 600))
    kept = len(whole)
    while kept > 0 and (width := font_width(shown, size)) > points:
        kept = max(0, min(kept - 1, int(kept * points / width)))
        shown = f"{whole[: ceil(kept / 2)]}…{whole[len(whole) - kept // 2 :]}"
    return shown


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
