"""SVG primitives: a sheet with strokes and a legend, and a plane with two axes. Colours are CSS classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from karat.reports.charts.axes import Scale
from karat.reports.charts.labels import clean, fit, width_of
from karat.reports.charts.model import Chart

__all__ = ["SMALL", "TEXT", "Plot", "Sheet", "height_for", "number"]

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


def number(value: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


class Sheet:
    """A drawing in the making: pieces of SVG, from the back to the front."""

    def __init__(self, chart: Chart, width: float) -> None:
        self.chart = chart
        self.width = width
        self._pieces: list[str] = []

    def markup(self, prefix: str, height: float) -> str:
        """The whole, with what it is called and what it shows for who cannot see it."""
        name = escape("".join(letter for letter in prefix if letter.isalnum() or letter in "-_"), quote=True)
        return (
            f'<svg class="chart" role="img" aria-labelledby="{name}-title {name}-desc" width="100%" '
            f'viewBox="0 0 {number(self.width)} {number(height)}" font-size="{number(TEXT)}" '
            f'preserveAspectRatio="xMinYMin meet"><title id="{name}-title">{_escaped(self.chart.title)}</title>'
            f'<desc id="{name}-desc">{_escaped(self.chart.description, 1_000)}</desc>{"".join(self._pieces)}</svg>'
        )

    def text(self, x: float, y: float, content: str, kind: str = "label", anchor: str = "start") -> None:
        """Already shortened to its room; ``y`` is its base line."""
        aligned = "" if anchor == "start" else f' text-anchor="{anchor}"'
        size = "" if kind == "label" else f' font-size="{number(SMALL)}"'
        self._pieces.append(
            f'<text class="{kind}" x="{number(x)}" y="{number(y)}"{aligned}{size}>{escape(content, quote=False)}</text>'
        )

    def path(self, d: str, kind: str, attributes: str = "") -> None:
        self._pieces.append(f'<path class="{kind}" d="{d}"{attributes}/>')

    def open(self, kind: str, title: str = "") -> None:
        """A group; who points at it is told its title."""
        self._pieces.append(f'<g class="{kind}">' + (f"<title>{_escaped(title)}</title>" if title else ""))

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
        """The class that gives a series its colour."""
        return f"c{self.chart.place(series) % _SERIES}"

    def dashes(self, series: int) -> str:
        dashes = _DASHES[self.chart.place(series) % len(_DASHES)]
        return f' stroke-dasharray="{dashes}"' if dashes else ""

    def legend(self, names: Sequence[str], *, lines: bool) -> float:
        """Names of the series along the top, in as many lines as they need; how high it is."""
        x, y = 0.0, 13.0
        for series, name in enumerate(names):
            shown = fit(name, self.width - _SWATCH, TEXT)
            wide = _SWATCH + width_of(shown, TEXT)
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
        """Under or over a place, as near to it as the sheet's edges let it; already shortened to its room."""
        half = width_of(content, SMALL) / 2
        self.text(max(half, min(self.width - half, middle)), y, content, kind, "middle")


def _escaped(text: str, longest: int = _LONGEST_TITLE) -> str:
    return escape(clean(text, longest), quote=False)


def height_for(width: float) -> float:
    """Of the plane, as high as is pleasant."""
    return max(150.0, min(260.0, 0.42 * width))


def _most(high: float) -> int:
    return min(_MOST_UPRIGHT, int(high / _UPRIGHT_TICK))


@dataclass(frozen=True)
class Plot:
    """Where figures stand on the sheet."""

    sheet: Sheet
    across: Scale
    upright: Scale
    left: float
    right: float
    top: float
    bottom: float

    @classmethod
    def laid_out(cls, sheet: Sheet, across: Scale, upright: Scale, top: float, high: float) -> "Plot":
        """With room to the left for the figures of the upright axis."""
        names = [name for _, name in upright.ticks(_most(high))]
        left = max((width_of(name, SMALL) for name in names), default=0.0) + 8
        return cls(sheet, across, upright, left, sheet.width - _RIGHT, top, top + high)

    def x(self, value: float) -> float:
        return self.left + self.across.part(value) * (self.right - self.left)

    def y(self, value: float) -> float:
        return self.bottom - self.upright.part(value) * (self.bottom - self.top)

    def draw_ground(self, x_label: str, y_label: str, *, above: float = 0.0) -> None:
        """``above``: how much stands between the plane and what its upright axis is about."""
        sheet = self.sheet
        for value, name in self.upright.ticks(_most(self.bottom - self.top)):
            sheet.across(self.left, self.right, self.y(value), "grid")
            sheet.text(self.left - 6, self.y(value) + 4, name, "tick", "end")
        sheet.text(0.0, self.top - 9 - above, fit(y_label, self.right, SMALL), "note")
        self.draw_across(x_label)

    def draw_across(self, x_label: str) -> None:
        """The axis at the bottom."""
        sheet = self.sheet
        wide = self.right - self.left
        ticks = self.across.fitting_ticks(_MOST_ACROSS, wide, lambda name: width_of(name, SMALL), 12)
        for value, name in ticks:
            sheet.upright(self.x(value), self.bottom, self.bottom + 4, "axis")
            sheet.centred(self.x(value), self.bottom + 18, fit(name, wide / len(ticks) - 12, SMALL), "tick")
        sheet.across(self.left, self.right, self.bottom, "axis")
        sheet.centred((self.left + self.right) / 2, self.bottom + 36, fit(x_label, sheet.width, SMALL))
