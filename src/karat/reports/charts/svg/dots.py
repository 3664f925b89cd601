"""A dot plot in SVG: names to the left, dots with their intervals, figures to the right."""

from dataclasses import dataclass

from karat.reports.charts.model import Dot, DotPlot, Row, place_of
from karat.reports.charts.scales import Scale, across_of
from karat.reports.charts.svg.sheet import SMALL, TEXT, Sheet, number
from karat.reports.charts.texts import clean, fit, width_of

__all__ = ["draw_dots"]

_DOT, _ROW, _GAP = 15.0, 23.0, 10.0
"""How high a dot's line is, the least a row is, and how far columns are apart."""
_WIDEST_LABEL, _NARROWEST_PLOT = 0.36, 0.3
"""As shares of the width."""
_TICK_ROOM = 64.0


@dataclass(frozen=True)
class _Columns:
    """Where columns begin and end."""

    label: float
    note: float
    """Its right end."""
    left: float
    right: float
    figures: bool


def draw_dots(sheet: Sheet, chart: DotPlot) -> float:
    """How high it became."""
    scale, columns = across_of(chart), _columns(chart, sheet.width)
    top = sheet.legend(chart.series, lines=False) if chart.keyed and len(chart.series) > 1 else 4.0
    if chart.reference_label:
        top += 16.0
    bottom = top + sum(map(_height, chart.rows))
    ground = _Ground(sheet, scale, columns, top, bottom)
    ground.draw(chart)
    y = top
    for row in chart.rows:
        _draw_row(sheet, chart, row, ground, y)
        y += _height(row)
    if not chart.rows:
        sheet.text(columns.left, bottom + 4, "nothing to show", "note")
    sheet.centred((columns.left + columns.right) / 2, bottom + 36, fit(chart.x_label, sheet.width, SMALL))
    return bottom + 44.0


def _height(row: Row) -> float:
    return max(_ROW, 8.0 + _DOT * len(row.dots))


def _columns(chart: DotPlot, width: float) -> _Columns:
    """Figures are left out where they would leave too little for the dots."""
    label = min(max((width_of(clean(row.label), TEXT) for row in chart.rows), default=0.0), _WIDEST_LABEL * width)
    note = max((width_of(clean(row.note), SMALL) for row in chart.rows), default=0.0)
    note = min(note, 0.2 * width)
    shown = max((width_of(clean(dot.shown), SMALL) for dot in chart.dots), default=0.0)
    left = label + (_GAP + note if note else 0.0) + 1.4 * _GAP
    figures = shown > 0 and width - left - shown - 1.4 * _GAP >= _NARROWEST_PLOT * width
    right = width - (shown + 1.4 * _GAP if figures else _GAP)
    return _Columns(label, label + _GAP + note, left, right, figures)


@dataclass(frozen=True)
class _Ground:
    """What dots stand before."""

    sheet: Sheet
    scale: Scale
    columns: _Columns
    top: float
    bottom: float

    def x(self, value: float) -> float:
        return self.columns.left + self.scale.part(value) * (self.columns.right - self.columns.left)

    def draw(self, chart: DotPlot) -> None:
        sheet, wide = self.sheet, self.columns.right - self.columns.left
        if chart.band is not None:
            left, right = map(self.x, chart.band)
            high = number(self.bottom - self.top)
            sheet.path(f"M{number(left)} {number(self.top)}H{number(right)}v{high}H{number(left)}z", "allowed")
        for value, name in self.scale.ticks(max(2, int(wide / _TICK_ROOM))):
            sheet.upright(self.x(value), self.top, self.bottom + 4, "grid")
            sheet.text(self.x(value), self.bottom + 18, name, "tick", "middle")
        sheet.across(self.columns.left, self.columns.right, self.bottom, "axis")
        if chart.reference is not None:
            sheet.upright(self.x(chart.reference), self.top - 4, self.bottom, "reference")
        if chart.reference is not None and chart.reference_label:
            shown = fit(chart.reference_label, wide, SMALL)
            half = width_of(shown, SMALL) / 2
            x = max(self.columns.left + half, min(self.columns.right - half, self.x(chart.reference)))
            sheet.text(x, self.top - 8, shown, "note", "middle")


def _draw_row(sheet: Sheet, chart: DotPlot, row: Row, ground: _Ground, y: float) -> None:
    columns, high = ground.columns, _height(row)
    middle = y + high / 2
    if y > ground.top:
        sheet.across(0.0, sheet.width, y, "grid")
    sheet.open("row", row.label)
    sheet.text(0.0, middle + 4, fit(row.label, columns.label, TEXT))
    sheet.close()
    if row.note:
        sheet.text(columns.note, middle + 4, fit(row.note, 0.2 * sheet.width, SMALL), "note", "end")
    first = middle - _DOT * (len(row.dots) - 1) / 2
    for place, dot in enumerate(row.dots):
        _draw_dot(sheet, chart, dot, ground, first + _DOT * place)


def _draw_dot(sheet: Sheet, chart: DotPlot, dot: Dot, ground: _Ground, y: float) -> None:
    kinds = (dot.tone or sheet.hue(dot.series), "muted" if dot.muted else "")
    sheet.open(" ".join(filter(None, kinds)), dot.title)
    if dot.low is not None and dot.high is not None:
        sheet.across(ground.x(dot.low), ground.x(dot.high), y, "whisker")
    if dot.value is not None:
        sheet.marker(ground.x(dot.value), y, place_of(chart, dot.series))
    if ground.columns.figures:
        sheet.text(sheet.width, y + 4, clean(dot.shown), "tick", "end")
    sheet.close()
