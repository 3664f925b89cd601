"""Chart descriptions that do not depend on a renderer: the same value becomes inline SVG and a picture."""

from dataclasses import KW_ONLY, dataclass
from math import inf, isfinite
from typing import Literal

Tone = Literal["", "good", "bad", "even"]
"""The meaning of a dot's colour, where that is not its series."""
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
    """The number of each series' colour and marker, so that a system looks alike in all charts; default: its place."""
    footnote: str = ""

    def place(self, series: int) -> int:
        """Return the number of the colour and marker of a series."""
        return self.places[series] if series < len(self.places) else series


@dataclass(frozen=True)
class Dot:
    """A value with its interval; undefined values have no dot."""

    value: Number
    low: Number = None
    high: Number = None
    series: int = 0
    """The place of its series in the chart."""
    muted: bool = False
    """Not to be relied on: drawn hollow."""
    tone: Tone = ""
    title: str = ""
    """Its tooltip."""
    shown: str = ""
    """Value and interval as text."""


@dataclass(frozen=True)
class DotRow:
    """A row of a dot plot: a slice, a system, a measure; one dot per series."""

    label: str
    dots: tuple[Dot, ...]
    note: str = ""
    """Beside the label, such as the number of queries."""


@dataclass(frozen=True)
class DotPlot(_Titled):
    """Values with their intervals, one row under another."""

    x_label: str
    rows: tuple[DotRow, ...]
    series: tuple[str, ...] = ()
    """Names that are distinguished by colour and marker."""
    keyed: bool = True
    """Whether a legend names the series; not where rows name them."""
    reference: Number = None
    reference_label: str = ""
    band: tuple[float, float] | None = None
    """The allowed range."""
    x_range: tuple[float, float] | None = None
    """None: as the values need."""
    percent: bool = False
    """Values are shares, and shown in percent."""

    def __post_init__(self) -> None:
        used = [dot.series for dot in self.dots]
        if used and not 0 <= min(used) <= max(used) < max(1, len(self.series)):
            raise ValueError(f"a dot of series {max(used)}, but there are {len(self.series)}")

    @property
    def dots(self) -> tuple[Dot, ...]:
        return tuple(dot for row in self.rows for dot in row.dots)

    def figures(self) -> list[float]:
        """Return all values that the axis must include."""
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
    """A line across the plot with a label, such as a step or a target."""

    at: float
    label: str


@dataclass(frozen=True)
class Bars:
    """A histogram: counts between each edge and the next."""

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
    """Labels of the places where these are evenly spaced."""
    marks: tuple[Mark, ...] = ()
    """Upright lines."""
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    """None: as the values need."""
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
    """Histograms, one strip each, over one axis."""

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
    """A scatter plot with a line through the points on each frontier."""

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
        """The frontier of each group, from left to right; without those of one point."""
        groups: dict[int, list[ScatterPoint]] = {}
        for point in sorted(self.points, key=lambda point: (point.x, point.y)):
            if point.on_frontier:
                groups.setdefault(point.group, []).append(point)
        return [groups[group] for group in sorted(groups) if len(groups[group]) > 1]

    @property
    def lines(self) -> list[list[ScatterPoint]]:
        """Points that are joined, from left to right."""
        lines: dict[str, list[ScatterPoint]] = {}
        for point in sorted(self.points, key=lambda point: (point.x, point.y)):
            lines.setdefault(point.line, []).append(point)
        return [points for line, points in lines.items() if line]

    def to_label(self) -> list[ScatterPoint]:
        """Return the points that have a label, the most important first: these choose their place first."""
        chosen = [ring.points[0] for ring in self.rings]

        def rank(point: ScatterPoint) -> int:
            return 0 if point in chosen else 1 if point.on_frontier else 2

        return sorted((point for point in self.points if self.labelled or rank(point) < 2), key=rank)

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
