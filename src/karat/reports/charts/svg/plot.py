"""The plane that lines and points stand in: two axes, what they are about, and light lines behind."""

from dataclasses import dataclass

from karat.reports.charts.scales import Scale
from karat.reports.charts.svg.sheet import SMALL, Sheet
from karat.reports.charts.texts import fit, width_of

__all__ = ["Plot", "height_for"]

_UPRIGHT_TICK, _MOST_UPRIGHT, _MOST_ACROSS = 27.0, 8, 12
_RIGHT = 14.0


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
        for value, name in self._named():
            sheet.upright(self.x(value), self.bottom, self.bottom + 4, "axis")
            sheet.centred(self.x(value), self.bottom + 18, name, "tick")
        sheet.across(self.left, self.right, self.bottom, "axis")
        sheet.centred((self.left + self.right) / 2, self.bottom + 36, fit(x_label, sheet.width, SMALL))

    def _named(self) -> list[tuple[float, str]]:
        """As many ticks as there is room for their names; names that are too long for two are shortened."""
        wide = self.right - self.left
        for most in range(_MOST_ACROSS, 1, -1):
            ticks = self.across.ticks(most)
            room = wide / max(1, len(ticks)) - 12
            if all(width_of(name, SMALL) <= room for _, name in ticks):
                break
        return [(value, fit(name, room, SMALL)) for value, name in ticks]
