"""Layout of charts: axes with round numbers along them, and labels that are short enough and cover nothing."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise
from math import ceil, floor, inf, log10
from unicodedata import category, east_asian_width

from rankjury.reporting.charts.spec import DotPlot, HistogramChart, LineChart, Scatter, Spacing
from rankjury.stats.formatting import format_percent, format_value

_ROOM = 0.04
"""Between the outermost values and the ends of an axis, as a share of it."""
_BETWEEN_EVEN = 0.3
_ROUNDING, _LONE, _MOSTLY_EMPTY = 1e-9, 0.02, 0.7
_STEPS = (1.0, 2.0, 5.0, 10.0)
_MOST_DECIMALS = 10
_THOUSANDS = 10_000.0
_DAY = 86_400
_MINUTE = 60
_TIME_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(_MINUTE * minutes for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080, 20160)),
)
"""In seconds."""
_YEAR = 12
_MONTHS = (1, 2, 3, 6, _YEAR, 24, 60, 120, 240, 600, 1200)
Tick = tuple[float, str]
Spot = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""
_SIDES: tuple[Spot, ...] = ((1, -1), (-1, 1), (0, -1), (0, 1), (1, 0), (-1, 0), (1, 1), (-1, -1))
_AWAY = (1.0, 2.2, 4.0, 6.5, 9.5, 13.0)
"""Distances of a label from its point, in units of the gap."""
_APART = 0.6
_NEARBY = 16
"""The nearest free places, from which one that covers no line is chosen."""
UNSHOWN = "□"
"""Replaces characters that cannot be shown."""
_LONGEST = 400
"""Characters of a name that are shown at most."""
_MOST_MARKS = 2
"""Accents on one letter: more would cover the lines above and below."""
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_JOINING = frozenset("\u200c\u200d\ufe0e\ufe0f")
# Widths in ems, by DejaVu Sans, the widest of the fonts that pages ask for.
_WIDTHS = {
    **dict.fromkeys("ijlI.,:;|!'\\/ft r", 0.4),
    **dict.fromkeys('()[]-"*sJ_', 0.53),
    **dict.fromkeys("+=<>−~#^&±×→", 0.85),
    **dict.fromkeys("w", 0.82),
    **dict.fromkeys("mMW%@—…", 1.0),
}
_LOWER, _UPPER, _FOREIGN, _FULL = 0.64, 0.79, 0.9, 1.25


@dataclass(frozen=True)
class Scale:
    """An axis from ``low`` to ``high``."""

    low: float
    high: float
    spacing: Spacing = "linear"
    names: tuple[str, ...] = ()
    """Labels of the places where these are evenly spaced."""
    shares: bool = False
    named: tuple[Tick, ...] = ()
    """Values that are named instead of round numbers."""
    most: float = inf
    """No value is above it, and no tick."""

    def part(self, value: float) -> float:
        """Return the position of a value: 0 at the low end, 1 at the high one."""
        if self.spacing == "log":
            return log10(value / self.low) / log10(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self, most: int) -> list[Tick]:
        if self.named:
            return [self.named[place] for place in even_ticks(len(self.named), most)]
        if self.spacing == "even":
            return [(float(place), self.names[place]) for place in even_ticks(len(self.names), most)]
        if self.spacing == "time":
            return time_ticks(self.low, self.high, most)
        find = log_ticks if self.spacing == "log" else linear_ticks
        values = [value for value in find(self.low, self.high, most) if value <= self.most]
        if self.spacing == "log":
            return [(value, f"{value:,.10g}") for value in values]
        return list(zip(values, format_ticks(values, shares=self.shares), strict=True))

    def fitting_ticks(self, most: int, room: float, width: Callable[[str], float], gap: float) -> list[Tick]:
        """Return as many ticks as there is room for their names, which are ``width`` wide and ``gap`` apart."""
        for number in range(most, 1, -1):
            ticks = self.ticks(number)
            if all(width(name) <= room / max(1, len(ticks)) - gap for _, name in ticks):
                break
        return ticks


def x_scale(chart: DotPlot | LineChart | HistogramChart | Scatter) -> Scale:
    """Return the horizontal axis of a chart."""
    if isinstance(chart, DotPlot):
        return Scale(*(chart.x_range or _with_room(chart.figures())), shares=chart.percent)
    if isinstance(chart, HistogramChart):
        lone = all(len(bars.counts) == 1 for bars in chart.strips)
        return Scale(*_with_room(chart.figures(), 0.0, least=_LONE if lone else _ROUNDING))
    xs = chart.xs()
    if isinstance(chart, LineChart) and chart.spacing == "even":
        return Scale(-_BETWEEN_EVEN, max(len(chart.x_names) - 1, 0) + _BETWEEN_EVEN, "even", chart.x_names)
    spacing: Spacing = ("log" if chart.log_x else "linear") if isinstance(chart, Scatter) else chart.spacing
    if spacing == "log" and xs and min(xs) > 0:
        ratio = max(max(xs) / min(xs), 1.5)
        return Scale(min(xs) / ratio**0.08, max(xs) * ratio**0.08, "log")
    low, high = _with_room(xs)
    if spacing == "time" and len(set(xs)) < 2:
        low, high = min(xs, default=0.0) - 60.0, max(xs, default=0.0) + 60.0
    if isinstance(chart, LineChart):
        return Scale(*(chart.x_range or (low, high)), "time" if spacing == "time" else "linear", named=chart.x_ticks)
    return Scale(low, high)


def y_scale(chart: LineChart | Scatter) -> Scale:
    """Return the vertical axis of a chart."""
    if isinstance(chart, LineChart) and chart.y_range is not None:
        return Scale(*chart.y_range)
    most = chart.y_most if isinstance(chart, Scatter) else inf
    return Scale(*_with_room(chart.figures(), 0.06), most=most)


def range_with_zero(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis: with 0, unless most of it would be empty; up to 1 where shares come near it."""
    room = 0.06 * (high - low) or 0.05 * abs(high) or 0.05
    bottom = low - room
    if low >= 0 and (low < _MOSTLY_EMPTY * high or low == high):
        bottom = 0.0
    return bottom, 1.0 if 0.9 <= high <= 1.0 and bottom == 0.0 else high + room


def _with_room(figures: Sequence[float], room: float = _ROOM, *, least: float = _ROUNDING) -> tuple[float, float]:
    """Return the ends of an axis, far beyond the values where their distance is less than ``least``, as a share."""
    low, high = (min(figures), max(figures)) if figures else (0.0, 1.0)
    apart = high - low
    if apart <= least * max(abs(low), abs(high)):
        apart, room = 0.1 * max(abs(low), abs(high)) or 1.0, max(room, 0.5)
    return low - room * apart, high + room * apart


def linear_ticks(low: float, high: float, most: int) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten: ``most`` at most, and at least two where possible."""
    if not high > low:
        return [low]
    most = max(2, most)
    power = 10.0 ** floor(log10((high - low) / most))
    finer: list[float] = []
    for step in (power * digit * ten for ten in (1.0, 10.0) for digit in _STEPS):
        ticks = _multiples(low, high, step)
        if len(ticks) < 2 and finer:
            return [finer[0], finer[-1]]
        if len(ticks) <= most:
            return ticks
        finer = ticks
    return [low, high]


def _multiples(low: float, high: float, step: float) -> list[float]:
    """Return multiples rounded to the step's digits, so that 3 × 0.1 is 0.3, within the ends but for rounding."""
    slack = 1e-9 * step
    decimals = max(0, min(_MOST_DECIMALS + 5, 1 - floor(log10(step))))
    first, last = ceil((low - slack) / step), floor((high + slack) / step)
    return [round(number * step, decimals) + 0.0 for number in range(first, last + 1)]


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Return powers of ten, with their multiples where few of them are within the ends."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for parts in ((1, 2, 3, 5), (1, 2, 5), (1, 3), (1,)):
        ticks = [part * 10.0**power for power in powers for part in parts]
        within = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if len(within) <= most:
            break
    if len(within) > most:
        within = within[:: ceil(len(within) / most)]
    return within if len(within) >= 2 else linear_ticks(low, high, most)


def even_ticks(names: int, most: int) -> list[int]:
    """Return which of evenly spaced places have a label: ``most`` at most, the first and the last always."""
    last = names - 1
    step = max(1, ceil(last / max(1, most - 1)))
    return sorted({place for place in range(0, last, step) if last - place >= step} | {0, last}) if names else []


def time_ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Return round times, UTC, in seconds since 1970, with their labels."""
    wide = (high - low) / max(1, most)
    if wide > _TIME_STEPS[-1]:
        return _month_ticks(low, high, most)
    step = _TIME_STEPS[bisect_left(_TIME_STEPS, wide)]
    ticks = [float(number * step) for number in range(ceil(low / step), floor(high / step) + 1)]
    clock = "%H:%M:%S" if step < _MINUTE else "%H:%M"
    shape = "%Y-%m-%d" if step >= _DAY else f"%m-%d {clock}" if high - low > _DAY else clock
    return [(tick, datetime.fromtimestamp(tick, UTC).strftime(shape)) for tick in ticks]


def _month_ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    first, last = datetime.fromtimestamp(low, UTC), datetime.fromtimestamp(high, UTC)
    months = range(first.year * 12 + first.month - 1, last.year * 12 + last.month)
    starts = {month: datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC) for month in months}
    within = {month: start for month, start in starts.items() if low <= start.timestamp() <= high}
    for step in _MONTHS:
        chosen = [start for month, start in within.items() if month % step == 0]
        if len(chosen) <= most:
            break
    return [(start.timestamp(), start.strftime("%Y" if step >= _YEAR else "%Y-%m")) for start in chosen]


def decimals_needed(values: list[float]) -> int:
    """Return the fewest decimals that distinguish all values, to a thousandth of their distance."""
    apart = min((after - before for before, after in pairwise(sorted(set(values)))), default=abs(values[0]) * 1e-6)
    for decimals in range(_MOST_DECIMALS):
        if all(abs(round(value, decimals) - value) <= 1e-3 * apart for value in values):
            return decimals
    return _MOST_DECIMALS


def format_ticks(values: list[float], *, shares: bool = False) -> list[str]:
    """Return labels with equal decimals; thousands in groups, very large and small values by power of ten."""
    if shares:
        return [format_percent(value) for value in values]
    if not values:
        return []
    largest = max(map(abs, values))
    decimals = decimals_needed(values)
    if largest >= 1e9 or (decimals > 7 and largest < 1e-4):
        return [f"{value:g}".replace("-", "−") for value in values]
    if largest >= _THOUSANDS:
        return [f"{value:,.{decimals}f}".replace("-", "−") for value in values]
    return [format_value(value, decimals) for value in values]


@lru_cache(maxsize=4096)
def clean_text(text: str, longest: int = _LONGEST) -> str:
    """Return one line of characters that XML may hold, without its middle where it is very long.

    Marks that change the direction of text are shown as ``UNSHOWN``.
    """
    if len(text) > 4 * longest:  # of more nothing would be left
        text = f"{text[: 2 * longest]}{text[-2 * longest :]}"
    shown: list[str] = []
    marks = 0
    for letter in " ".join(text.split()):
        kind = category(letter)
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        if marks > _MOST_MARKS and letter not in _JOINING:
            continue
        unshown = letter in _TURNING or kind in ("Cc", "Cs", "Co", "Cn", "Zl", "Zp")
        shown.append(UNSHOWN if unshown or (kind == "Cf" and letter not in _JOINING) else letter)
    whole = "".join(shown)
    return whole if len(whole) <= longest else _without_middle(whole, longest - 1)


def _without_middle(whole: str, kept: int) -> str:
    """Keep the beginning and the end, as either may distinguish a name from others."""
    return f"{whole[: ceil(kept / 2)].rstrip()}…{whole[len(whole) - kept // 2 :].lstrip()}"


def text_width(text: str, size: float) -> float:
    """Return about the width of a text in a sans-serif font, rather more than less."""
    return size * sum(map(_em, text))


@lru_cache(maxsize=4096)
def _em(letter: str) -> float:
    if letter in _JOINING or category(letter) in ("Mn", "Me"):
        return 0.0
    if (known := _WIDTHS.get(letter)) is not None:
        return known
    if letter == UNSHOWN or east_asian_width(letter) in ("W", "F") or category(letter) == "So":
        return _FULL
    return _FOREIGN if not letter.isascii() else _UPPER if letter.isupper() else _LOWER


def fit_text(text: str, room: float, size: float) -> str:
    """Return a clean text, without its middle where it is too long."""
    whole = shown = clean_text(text)
    kept = len(whole)
    while kept > 0 and (width := text_width(shown, size)) > room:
        kept = max(0, min(kept - 1, int(kept * room / width)))
        shown = _without_middle(whole, kept)
    return shown


def place_marks(
    chart: LineChart, width: float, gap: float, shorten: Callable[[str], str], measure: Callable[[str], float]
) -> tuple[list[tuple[float, str, int]], int]:
    """Return value, label and row of each mark of a chart, and the number of rows; labels in a row do not overlap.

    ``width`` is about that of the x axis, ``gap`` the least distance between labels; ``measure`` returns their width.
    """
    scale, labels = x_scale(chart), [shorten(mark.label) for mark in chart.marks]
    spans = []
    for mark, label in zip(chart.marks, labels, strict=True):
        middle, half = scale.part(mark.at) * width, measure(label) / 2
        spans.append((middle - half, middle + half))
    rows, ends = [0] * len(spans), list[float]()
    for place in sorted(range(len(spans)), key=lambda place: spans[place]):
        left, right = spans[place]
        rows[place] = next((row for row, end in enumerate(ends) if end <= left), len(ends))
        ends[rows[place] : rows[place] + 1] = [right + gap]
    return [(mark.at, label, row) for mark, label, row in zip(chart.marks, labels, rows, strict=True)], len(ends)


def place_labels(
    spots: Sequence[Spot],
    sizes: Sequence[Spot],
    within: Box,
    taken: Sequence[Box] = (),
    *,
    gap: float = 4.0,
    avoided: Sequence[Box] = (),
) -> list[Spot | None]:
    """Return the middle of each label, as near to its spot as there is room, in order; None where there is none.

    ``sizes`` are widths and heights, ``taken`` is what must not be covered, ``gap`` the distance from spot to label.
    What is ``avoided`` is covered only where there is no other place nearby.
    """
    blocked = list(taken)
    placed: list[Spot | None] = []
    for spot, size in zip(spots, sizes, strict=True):
        free = [middle for middle in _candidates(spot, size, gap) if _free(_box(middle, size), within, blocked)]
        clear = (middle for middle in free[:_NEARBY] if _free(_box(middle, size), within, avoided))
        chosen = next(clear, free[0] if free else None)
        if chosen is not None:
            blocked.append(_box(chosen, (size[0] + 2 * _APART, size[1] + 2 * _APART)))
        placed.append(chosen)
    return placed


def _candidates(spot: Spot, size: Spot, gap: float) -> Iterator[Spot]:
    for away in _AWAY:
        for across, up in _SIDES:
            reach = gap * away * (0.8 if across and up else 1.0)
            yield spot[0] + across * (reach + size[0] / 2), spot[1] + up * (reach + size[1] / 2)


def _box(middle: Spot, size: Spot) -> Box:
    return middle[0] - size[0] / 2, middle[1] - size[1] / 2, middle[0] + size[0] / 2, middle[1] + size[1] / 2


def _free(box: Box, within: Box, blocked: Sequence[Box]) -> bool:
    inside = box[0] >= within[0] and box[1] >= within[1] and box[2] <= within[2] and box[3] <= within[3]
    return inside and not any(
        box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3] for other in blocked
    )
