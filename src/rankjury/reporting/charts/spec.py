"""Chart descriptions that do not depend on a renderer: the same value becomes inline SVG and a picture."""

from dataclasses import KW_ONLY, dataclass
from math import inf, isfinite
from typing import Literal

Tone = Literal["", "good", "bad", "even"]
"""What a dot says by its colour, where that is not whose it is."""
Spacing = Literal["even", "linear", "log", "time"]
Number = float | None
"""None: undefined, and not drawn."""


@dataclass(frozen=True)
class _Titled:
    """Fields of all charts."""

    title: str
    description: str
    """For readers who cannot see the chart."""
    _: KW_ONLY
    places: tuple[int, ...] = ()
    """Which colour and marker each series has, where it is not its own place: a system looks alike in all charts."""
    footnote: str = ""

    def place(self, series: int) -> int:
        """Return the number of the colour and marker of a series."""
        return self.places[series] if series < len(self.places) else series


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
class DotRow:
    """What stands on one line of a dot plot: a slice, a system, a figure; one dot a series."""

    label: str
    dots: tuple[Dot, ...]
    note: str = ""
    """Beside the label, such as how many queries there are."""


@dataclass(frozen=True)
class DotPlot(_Titled):
    """Figures with their intervals under each other, in the order in which they are to be read."""

    x_label: str
    rows: tuple[DotRow, ...]
    series: tuple[str, ...] = ()
    """Names of those told apart by colour and marker."""
    keyed: bool = True
    """Whether a legend says whose the dots are; not where rows say it."""
    reference: Number = None
    reference_label: str = ""
    band: tuple[float, float] | None = None
    """What is allowed."""
    x_range: tuple[float, float] | None = None
    """None: as the figures need."""
    percent: bool = False
    """Figures are shares, and shown in percent."""

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
class LineSeries:
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
    """A line across the plot with a word beside it, such as where a step was found, or a target."""

    at: float
    label: str


@dataclass(frozen=True)
class Bars:
    """How many there are between each edge and the next."""

    name: str
    edges: tuple[float, ...]
    counts: tuple[float, ...]
    note: str = ""

    def __post_init__(self) -> None:
        if len(self.edges) != len(self.counts) + 1 or list(self.edges) != sorted(self.edges):
            raise ValueError(
                f"{len(self.edges)} edges for {len(self.counts)} counts of {self.name!r}, or not ascending"
            )


@dataclass(frozen=True)
class LineChart(_Titled):
    """Series against k, time, or anything else that is ordered."""

    x_label: str
    y_label: str
    lines: tuple[LineSeries, ...]
    spacing: Spacing = "linear"
    x_names: tuple[str, ...] = ()
    """What places are called where they are evenly spaced."""
    marks: tuple[Mark, ...] = ()
    """Upright lines."""
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    """None: as the figures need."""
    x_ticks: tuple[tuple[float, str], ...] = ()
    """Named values of x; round numbers where there are none."""
    bars: Bars | None = None
    """Behind the lines, to compare them with."""

    @property
    def series(self) -> tuple[str, ...]:
        return tuple(line.name for line in self.lines)

    def xs(self) -> list[float]:
        places = [float(place) for place in range(len(self.x_names))]
        return sorted({*places, *(x for line in self.lines for x in line.xs), *(mark.at for mark in self.marks)})

    def figures(self) -> list[float]:
        return _known([end for line in self.lines for end in (*line.ys, *line.lows, *line.highs)])


@dataclass(frozen=True)
class HistogramChart(_Titled):
    """Distributions, a strip each, over one axis."""

    x_label: str
    y_label: str
    strips: tuple[Bars, ...]

    @property
    def series(self) -> tuple[str, ...]:
        return tuple(bars.name for bars in self.strips)

    def figures(self) -> list[float]:
        return _known([edge for bars in self.strips for edge in bars.edges])


@dataclass(frozen=True)
class ScatterPoint:
    """One of a scatter, with intervals both ways where they are known."""

    name: str
    """Its series."""
    x: float
    y: float
    x_ends: tuple[float, float] | None = None
    y_ends: tuple[float, float] | None = None
    on_frontier: bool = False
    """No other point of its group is better both ways."""
    title: str = ""
    label: str | None = None
    """The text beside it; None: its name."""
    group: int = 0
    """Points of one group have a frontier of their own."""
    line: str = ""
    """Points of the same line are joined by one; "": by none."""


@dataclass(frozen=True)
class Ring:
    """Circles around chosen points."""

    label: str
    """Its meaning, in the legend."""
    points: tuple[ScatterPoint, ...]
    """The most important first."""
    faint: bool = False


@dataclass(frozen=True)
class Scatter(_Titled):
    """Two figures against each other; a line leads through the points on each frontier."""

    x_label: str
    y_label: str
    points: tuple[ScatterPoint, ...]
    log_x: bool = False
    rings: tuple[Ring, ...] = ()
    x_marks: tuple[Mark, ...] = ()
    """Upright lines, such as a limit: drawn where the axis reaches that far."""
    y_marks: tuple[Mark, ...] = ()
    """Level lines, such as a target."""
    y_most: float = inf
    """The highest possible value of y: no tick is above it."""
    labelled: bool = True
    """Whether all points have their label; else only those on a frontier, and the first of each ring."""

    @property
    def series(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(point.name for point in self.points))

    @property
    def frontiers(self) -> list[list[ScatterPoint]]:
        """By group, from left to right; those of one point left out, as there is no line to draw."""
        found: dict[int, list[ScatterPoint]] = {}
        for point in sorted(self.points, key=lambda one: (one.x, one.y)):
            if point.on_frontier:
                found.setdefault(point.group, []).append(point)
        return [found[group] for group in sorted(found) if len(found[group]) > 1]

    @property
    def lines(self) -> list[list[ScatterPoint]]:
        """Points that are joined, from left to right."""
        found: dict[str, list[ScatterPoint]] = {}
        for point in sorted(self.points, key=lambda one: (one.x, one.y)):
            found.setdefault(point.line, []).append(point)
        return [points for line, points in found.items() if line]

    def to_label(self) -> list[ScatterPoint]:
        """Return the points that have a label, the most important first: these choose their place first."""
        chosen = [ring.points[0] for ring in self.rings]

        def rank(point: ScatterPoint) -> int:
            return 0 if point in chosen else 1 if point.on_frontier else 2

        return sorted((one for one in self.points if self.labelled or rank(one) < 2), key=rank)

    def xs(self) -> list[float]:
        return _known([end for point in self.points for end in (point.x, *(point.x_ends or ()))])

    def figures(self) -> list[float]:
        ends = [end for point in self.points for end in (point.y, *(point.y_ends or ()))]
        return _known([*ends, *(mark.at for mark in self.y_marks)])


Chart = DotPlot | LineChart | HistogramChart | Scatter


@dataclass(frozen=True)
class ChartGrid(_Titled):
    """Charts on one page, with one legend and one footnote."""

    series: tuple[str, ...]
    parts: tuple[tuple[DotPlot | LineChart, ...], ...]
    """Charts of a part are alike and stand side by side, as many as there is room for; parts are under each other."""


def _known(values: list[Number]) -> list[float]:
    return [value for value in values if value is not None and isfinite(value)]


def _check_series(names: tuple[str, ...], used: list[int]) -> None:
    if used and not 0 <= min(used) <= max(used) < max(1, len(names)):
        raise ValueError(f"a dot of series {max(used)}, but there are {len(names)}")
