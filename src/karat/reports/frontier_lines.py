"""What a picture of sweeps shows: a line a build, what its points are labelled with, and what the caption says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from karat.reports.frontier import wanted_of
from karat.wording import count, percent

if TYPE_CHECKING:
    from karat.lab.outcome import Sweep
    from karat.lab.points import Point

__all__ = ["MOST_LABELS", "Line", "caption_of", "label_of", "lines_of"]

_MOST_LINES = 12
"""Builds told apart in the legend; more are told by their sweep alone."""
MOST_LABELS = 40
"""Points that are all labelled; of more, only those on the frontier are."""


@dataclass(frozen=True)
class Line:
    """The points of one build."""

    name: str
    sweep: "Sweep"
    points: list["Point"]
    place: int
    """Of its colour and marker."""


def lines_of(sweeps: Sequence["Sweep"]) -> list[Line]:
    """One a build; where these are too many, one a sweep."""
    found: dict[tuple[int, str], list[Point]] = {}
    for number, sweep in enumerate(sweeps):
        for point in sweep.comparable:
            found.setdefault((number, point.build_title), []).append(point)
    titles = {key: f"{sweeps[key[0]].name} " * (len(sweeps) > 1) + key[1] for key in found}
    alone = len(found) <= _MOST_LINES
    places = {key: place if alone else key[0] for place, key in enumerate(found)}
    return [
        Line(titles[key] if alone else sweeps[key[0]].name, sweeps[key[0]], points, places[key])
        for key, points in found.items()
    ]


def label_of(line: Line, point: "Point") -> str:
    told = {**point.build, **point.search}
    return "/".join(_value(told[name]) for name in _told_by_labels(line))


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def _told_by_labels(line: Line) -> list[str]:
    """The parameters in which the searches of its sweep differ; and its builds, where the legend does not tell them."""
    values: dict[str, set[Any]] = {}
    for point in line.sweep.points:
        for name, value in {**point.build, **point.search}.items():
            values.setdefault(name, set()).add(value)
    differing = [name for name, found in values.items() if len(found) > 1]
    searched = [name for name in differing if name in line.points[0].search]
    return searched if searched and line.name != line.sweep.name else differing


def caption_of(sweeps: Sequence["Sweep"], lines: Sequence[Line]) -> list[str]:
    """What labels and bars are, what is wanted, over how many queries, and what is not in the picture."""
    labels, wanted, left = {}, {}, {}
    drawn = [point for line in lines for point in line.points]
    for sweep in sweeps:
        labels[sweep.name] = next((" / ".join(_told_by_labels(line)) for line in lines if line.sweep is sweep), "")
        wanted[sweep.name] = wanted_of(sweep, sweep.cheapest()) if sweep.aims else ""
        counted = [
            f"{len(sweep.of(status))} {status}" for status in ("pruned", "skipped", "failed") if sweep.of(status)
        ]
        left[sweep.name] = f"{', '.join(counted)} of {len(sweep.points)} settings" if counted else ""
    levels = {percent(sweep.level) for sweep in sweeps if sweep.level is not None}
    said = {
        "Labels": _by_sweep(labels) + (" (of the frontier)" if len(drawn) > MOST_LABELS else ""),
        "Target": _by_sweep(wanted),
        "Bars": f"{levels.pop()} intervals" if len(levels) == 1 else "",
        "Over": _by_sweep({sweep.name: count(sweep.queries, "query", "queries") for sweep in sweeps}),
        "Not drawn": _by_sweep(left),
    }
    text = ". ".join(f"{title}: {told}" for title, told in said.items() if told)
    return wrap(f"{text}.", 128) if text else []


def _by_sweep(told: Mapping[str, str]) -> str:
    """Once where all say the same."""
    if len(set(told.values())) == 1:
        return next(iter(told.values()))
    return "; ".join(f"{text} ({name})" for name, text in told.items() if text)
