"""Result of a sweep: its points, those that no other beats, and the cheapest that meets a target."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal, get_args

from rankjury.errors import DataError, UnknownName
from rankjury.retrieval.bench.paired_times import SINGLE_FACTOR, PairedTimes, surely_less
from rankjury.retrieval.bench.points import Point, Status

SCHEMA = "rankjury.sweep/1"
Cost = Literal["p95", "size", "build"]
COSTS: dict[str, Callable[[Point], float]] = {
    "p95": lambda point: inf if point.p95 is None else point.p95.ms,
    "size": lambda point: inf if point.size_bytes is None else point.size_bytes,
    "build": lambda point: inf if point.build_seconds is None else point.build_seconds,
}
"""What cheap means, the lower the cheaper."""


@dataclass(frozen=True)
class Choice:
    """The cheapest setting that meets what is wanted."""

    outcome: Literal["sure", "tied", "unsure", "none"]
    """sure: it meets the target, and is cheaper than every other that does; tied: ``rivals`` may be as cheap; unsure:
    its means meet the target, its intervals do not; none: no mean does, and ``point`` comes nearest."""
    point: Point | None
    by: Cost
    recall: float | None
    p95_ms: float | None
    cheaper: Point | None = None
    """A cheaper one whose means meet the target, but not surely."""
    rivals: tuple[Point, ...] = ()
    """Others that meet the target as surely, and whose cost cannot be distinguished from that of ``point``."""

    def to_json(self) -> dict[str, Any]:
        def brief(point: Point | None) -> dict[str, Any] | None:
            return None if point is None else {"build": dict(point.build), "search": dict(point.search)}

        form = {"outcome": self.outcome, "by": self.by, "point": brief(self.point)}
        return form | {
            "cheaper_but_unsure": brief(self.cheaper),
            "cannot_be_distinguished": [brief(rival) for rival in self.rivals],
        }


@dataclass(frozen=True)
class Sweep:
    """All points of one index, in the order of the grid."""

    name: str
    engine: str
    metric: str
    k: int
    items: int
    dimensions: int
    queries: int
    points: tuple[Point, ...]
    target: float | None = None
    limit_p95_ms: float | None = None
    level: float | None = None
    """Of the intervals; None where there are none."""
    timed: Mapping[str, int] = field(default_factory=dict)
    """Rounds, warm-up and concurrency."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Everything that decides the result but the settings."""
    notes: tuple[str, ...] = ()
    resumed: int = 0
    """How many points were measured by an earlier call."""
    times: PairedTimes | None = None
    """P95 of the settings that meet the target, from interleaved rounds; None where they were not compared."""

    def of(self, status: Status) -> list[Point]:
        return [point for point in self.points if point.status == status]

    @property
    def aims(self) -> bool:
        """Whether there is something to meet."""
        return self.target is not None or self.limit_p95_ms is not None

    @property
    def comparable(self) -> list[Point]:
        return [point for point in self.points if point.comparable]

    def frontier(self) -> list[Point]:
        """The points that no other beats: none finds as much in less time, or more in as much; quickest first."""
        best, found = -inf, []
        for point in sorted(self.comparable, key=lambda point: (COSTS["p95"](point), -(point.recall or 0.0))):
            if (point.recall or 0.0) > best:
                best = point.recall or 0.0
                found.append(point)
        return found

    def meeting(self, recall: float | None = None, p95_ms: float | None = None) -> list[Point]:
        """Return the points whose means meet the target, in the order of the grid."""
        if recall is None and p95_ms is None:
            recall, p95_ms = self.target, self.limit_p95_ms
        return [point for point in self.comparable if _meets(point, recall, p95_ms)]

    def cheapest(self, recall: float | None = None, p95_ms: float | None = None, *, by: Cost = "p95") -> Choice:
        """Of the points that find at least ``recall`` within ``p95_ms``; the sweep's own target where neither is given.

        Whether a point meets the target is decided by the worse end of its interval, and whether it is cheaper than
        another by ``_is_cheaper``. Equal costs go by the other costs, then by the order of the grid.
        """
        if by not in COSTS:
            raise UnknownName("cost", by, COSTS)
        if recall is None and p95_ms is None:
            recall, p95_ms = self.target, self.limit_p95_ms
        ordered = sorted(self.comparable, key=lambda point: self._costs(point, by))
        meeting = [point for point in ordered if _meets(point, recall, p95_ms)]
        if not meeting:
            nearest = min(ordered, key=lambda point: max(_shortfalls(point, recall, p95_ms), default=0.0), default=None)
            return Choice("none", nearest, by, recall, p95_ms)
        sure = [point for point in meeting if _surely_meets(point, recall, p95_ms)]
        best, *others = sure or meeting
        tests = len(meeting) - 1
        if by != "p95":  # searches of one build share its size and time
            others = [point for point in others if dict(point.build) != dict(best.build)]
        rivals = tuple(point for point in others if not self._is_cheaper(best, point, by, tests))
        outcome: Literal["sure", "tied", "unsure"] = "unsure" if not sure else "tied" if rivals else "sure"
        doubtful = (point for point in meeting if sure and point not in sure)
        cheaper = next((point for point in doubtful if self._is_cheaper(point, best, by, tests)), None)
        return Choice(outcome, best, by, recall, p95_ms, cheaper, rivals)

    def _costs(self, point: Point, by: Cost) -> tuple[float, ...]:
        """Return what points are ordered by; those that were compared in pairs come first where P95 decides."""
        mean = None if self.times is None or by != "p95" else self.times.mean(point)
        own = (mean is None, COSTS[by](point) if mean is None else mean)
        return (*own, *(cost(point) for cost in COSTS.values()))

    def _is_cheaper(self, point: Point, other: Point, by: Cost, tests: int) -> bool:
        """Decide whether a point costs less than another, beyond chance.

        P95: in the paired rounds. The size is the same whenever it is measured. What was measured only once (the time
        to build, and P95 without paired rounds) must be twice as much.
        """
        if by == "size":
            return COSTS[by](point) < COSTS[by](other)
        paired = [None if self.times is None else self.times.of(one) for one in (point, other)]
        if by == "p95" and paired[0] and paired[1]:
            return surely_less(paired[0], paired[1], tests)
        return SINGLE_FACTOR * COSTS[by](point) <= COSTS[by](other)

    def to_json(self) -> dict[str, Any]:
        place = {id(point): number for number, point in enumerate(self.points)}
        return {
            "schema": SCHEMA,
            "name": self.name,
            "engine": self.engine,
            "metric": self.metric,
            "k": self.k,
            "items": self.items,
            "dimensions": self.dimensions,
            "queries": self.queries,
            "level": self.level,
            "timed": dict(self.timed),
            "target": {"recall": self.target, "p95_ms": self.limit_p95_ms},
            "points": [point.to_json() for point in self.points],
            "frontier": [place[id(point)] for point in self.frontier()],
            "cheapest": {by: self.cheapest(by=by).to_json() for by in get_args(Cost)} if self.aims else None,
            "comparison": None if self.times is None else self.times.to_json(),
            "resumed": self.resumed,
            "notes": list(self.notes),
            "about": dict(self.about),
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any], where: str = "sweep") -> "Sweep":
        """What ``to_json`` gave, read back; the frontier and the cheapest are worked out anew."""
        if not isinstance(form, Mapping) or form.get("schema") != SCHEMA:
            found = form.get("schema") if isinstance(form, Mapping) else type(form).__name__
            raise DataError(f"not a sweep: found {found!r}", where=where, expected=f"schema {SCHEMA}")
        try:
            return cls(
                **{key: form[key] for key in ("name", "engine", "metric", "k", "items", "dimensions", "queries")},
                points=tuple(map(Point.from_json, form["points"])),
                target=form["target"]["recall"], limit_p95_ms=form["target"]["p95_ms"], level=form["level"],
                timed=form["timed"], about=form["about"], notes=tuple(form["notes"]), resumed=form["resumed"],
                times=None if form.get("comparison") is None else PairedTimes.from_json(form["comparison"]),
            )  # fmt: skip
        except (KeyError, TypeError, ValueError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise DataError(f"the sweep cannot be read: {what}", where=where) from error


def _meets(point: Point, recall: float | None, p95_ms: float | None) -> bool:
    return not any(_shortfalls(point, recall, p95_ms))


def _surely_meets(point: Point, recall: float | None, p95_ms: float | None) -> bool:
    """By the worse end of each interval; a figure without one is not sure."""
    assert point.p95 is not None
    finds = recall is None or (point.recall_ci is not None and point.recall_ci[0] >= recall)
    return finds and (p95_ms is None or point.p95.surely_within(p95_ms))


def _shortfalls(point: Point, recall: float | None, p95_ms: float | None) -> Iterator[float]:
    """How far a point is from each thing wanted, as a share of it."""
    if recall is not None:
        yield max(0.0, recall - (point.recall or 0.0)) / recall if recall else 0.0
    if p95_ms is not None:
        yield max(0.0, COSTS["p95"](point) - p95_ms) / p95_ms
