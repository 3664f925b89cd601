"""Which settings need not be measured.

Stated of a parameter with ``more_finds_more``: as it grows, recall does not fall and time does not shorten. So within
one build, of settings that differ in such parameters only:

- a setting can find no more than any measured one above it, and no more than everything (recall 1);
- it takes no less time than any below it.

Where a measured one below already finds as much as the setting can find at most, the setting is dominated: it finds no
more and is no quicker, whatever it would measure. That is the case above a setting that finds everything, and between
two that find equally much. Such a point can be neither on the frontier (but for noise) nor the cheapest.

What is not pruned: settings above one that meets the target. They are no cheaper, but may find more, and belong to the
frontier. Nor are builds ever held against each other: what a larger graph costs is stated nowhere.
"""

from collections.abc import Mapping, Sequence

from karat.engines import Param, Params
from karat.lab.grid import not_above
from karat.lab.points import Point

__all__ = ["needless"]


def needless(search: Params, measured: Sequence[Point], known: Mapping[str, Param]) -> Point | None:
    """Of the points measured on one build, the one that makes this setting needless; None: it must be measured."""
    sound = [point for point in measured if point.comparable]
    ceiling = min((point.recall or 0.0 for point in sound if not_above(search, point.search, known)), default=1.0)
    for point in sound:
        if (point.recall or 0.0) >= ceiling and not_above(point.search, search, known):
            return point
    return None
