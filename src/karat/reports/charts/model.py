"""What a chart says, before anybody draws it: the same description becomes inline SVG and a picture."""

from dataclasses import dataclass
from math import isfinite
from typing import Literal

__all__ = [
    "Bars",
    "Chart",
    "Dot",
    "DotPlot",
    "Histogram",
    "Line",
    "LineChart",
    "Mark",
    "Point",
    "Row",
    "Scatter",
    "place_of",
]

Tone = Literal["", "good", "bad", "even"]
"""What a dot says by its colour, where that is not whose it is."""
Spacing = Literal["even", "linear", "log", "time"]
Number = float | None
"""None: undefined, and not drawn."""


@dataclass(frozen=True)
class Dot:
    """A figure with its interval; undefined figures have no dot."""

    value: Number
    low: Number = None
    high: Number = None
    series: int = 0
    """Whose it is, by its place among the chart's series."""
    muted: bool = False
    """Not to be relied on: drawn hollow."""
    tone: Tone = ""
    title: str = ""
    """All that is to be known of it, for who points at it."""
    shown: str = ""
    """The figures in words, with the digits that they deserve."""


@dataclass(frozen=True)
class Row:
    """What stands on one line of a dot plot: a slice, a system, a figure; one dot a series."""

    label: str
    dots: tuple[Dot, ...]
    note: str = ""
    """Beside the label, such as how many queries there are."""


@dataclass(frozen=True)
class DotPlot:
    """Figures with their intervals under each other, in the order in which they are to be read."""

    title: str
    description: str
    x_label: str
    rows: tuple[Row, ...]
    series: tuple[str, ...] = ()
    """Names of those told apart by colour and marker."""
    places: tuple[int, ...] = ()
    """Which colour and marker each series has, where it is not its own place: a system looks alike in all charts."""
    keyed: bool = True
    """Whether a legend says whose the dots are; not where rows say it."""
    reference: Number = None
    reference_label: str = ""
    band: tuple[float, float] | None = None
    """What is allowed."""
    percent: bool = False
    """Figures are shares, and shown in percent."""
    footnote: str = ""

    def __post_init__(self) -> None:
        _check_series(self.series, [dot.series for row in self.rows for dot in row.dots])

    @property
    def dots(self) -> tuple[Dot, ...]:
        return tuple(dot for row in self.rows for dot in row.dots)

    def figures(self) -> list[float]:
        """All that the axis must reach."""
        ends = [end for dot in self.dots for end in (dot.value, dot.low, dot.high)]
        return _known([*ends, self.reference, *(self.band or ())])


@dataclass(frozen=True)
class Line:
    """A series against x, with a band where intervals are known."""

    name: str
    xs: tuple[float, ...]
    """Ascending; places from 0 where the chart is evenly spaced, seconds since 1970 where it is by time."""
    ys: tuple[Number, ...]
    lows: tuple[Number, ...] = ()
    highs: tuple[Number, ...] = ()
    titles: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for values in (self.ys, self.lows or self.xs, self.highs or self.xs, self.titles or self.xs):
            if len(values) != len(self.xs):
                raise ValueError(f"{len(values)} values for {len(self.xs)} places of the line {self.name!r}")


@dataclass(frozen=True)
class Mark:
    """An upright line with a word beside it, such as where a step was found."""

    x: float
    label: str


@dataclass(frozen=True)
class LineChart:
    """Series against k, time, or anything else that is ordered."""

    title: str
    description: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    places: tuple[int, ...] = ()
    """Which colour and marker each series has, where it is not its own place: a system looks alike in all charts."""
    spacing: Spacing = "linear"
    x_names: tuple[str, ...] = ()
    """What places are called where they are evenly spaced."""
    marks: tuple[Mark, ...] = ()
    y_range: tuple[float, float] | None = None
    """None: as the figures need."""
    footnote: str = ""

    @property
    def series(self) -> tuple[str, ...]:
        return tuple(line.name for line in self.lines)

    def xs(self) -> list[float]:
        places = [float(place) for place in range(len(self.x_names))]
        return sorted({*places, *(x for line in self.lines for x in line.xs), *(mark.x for mark in self.marks)})

    def figures(self) -> list[float]:
        return _known([end for line in self.lines for end in (*line.ys, *line.lows, *line.highs)])


@dataclass(frozen=True)
class Bars:
    """How many there are between each edge and the next."""

    name: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    note: str = ""

    def __post_init__(self) -> None:
        if len(self.edges) != len(self.counts) + 1 or list(self.edges) != sorted(self.edges):
            raise ValueError(
                f"{len(self.edges)} edges for {len(self.counts)} counts of {self.name!r}, or not ascending"
            )


@dataclass(frozen=True)
class Histogram:
    """Distributions, a strip each, over one axis."""

    title: str
    description: str
    x_label: str
    y_label: str
    strips: tuple[Bars, ...]
    places: tuple[int, ...] = ()
    """Which colour and marker each series has, where it is not its own place: a system looks alike in all charts."""
    footnote: str = ""

    @property
    def series(self) -> tuple[str, ...]:
        return tuple(bars.name for bars in self.strips)

    def figures(self) -> list[float]:
        return _known([edge for bars in self.strips for edge in bars.edges])


@dataclass(frozen=True)
class Point:
    """One of a scatter, with intervals both ways where they are known."""

    name: str
    x: float
    y: float
    x_ends: tuple[float, float] | None = None
    y_ends: tuple[float, float] | None = None
    on_frontier: bool = False
    """No other point is better both ways."""
    title: str = ""


@dataclass(frozen=True)
class Scatter:
    """Two figures against each other; a line leads through the points on the frontier."""

    title: str
    description: str
    x_label: str
    y_label: str
    points: tuple[Point, ...]
    places: tuple[int, ...] = ()
    """Which colour and marker each series has, where it is not its own place: a system looks alike in all charts."""
    log_x: bool = False
    footnote: str = ""

    @property
    def series(self) -> tuple[str, ...]:
        return tuple(point.name for point in self.points)

    @property
    def frontier(self) -> tuple[Point, ...]:
        """From left to right."""
        return tuple(sorted((one for one in self.points if one.on_frontier), key=lambda one: (one.x, one.y)))

    def xs(self) -> list[float]:
        return _known([end for one in self.points for end in (one.x, *(one.x_ends or ()))])

    def figures(self) -> list[float]:
        return _known([end for one in self.points for end in (one.y, *(one.y_ends or ()))])


Chart = DotPlot | LineChart | Histogram | Scatter


def place_of(chart: Chart, series: int) -> int:
    """Which colour and marker a series has."""
    return chart.places[series] if series < len(chart.places) else series


def _known(values: list[Number]) -> list[float]:
    return [value for value in values if value is not None and isfinite(value)]


def _check_series(names: tuple[str, ...], used: list[int]) -> None:
    if used and not 0 <= min(used) <= max(used) < max(1, len(names)):
        raise ValueError(f"a dot of series {max(used)}, but there are {len(names)}")
