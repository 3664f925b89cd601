"""Windows of time, the same for everybody: nothing that came later is learnt from."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from rankjury.core.params import Param
from rankjury.core.types import Ints
from rankjury.errors import UsageError
from rankjury.recsys.data.log import Log
from rankjury.recsys.splitting import Parted, split_kind
from rankjury.recsys.splitting.fractions import FRACTIONS, fractions_told, read_fractions
from rankjury.recsys.splitting.split import NOWHERE, Parts
from rankjury.recsys.splitting.timestamps import read_moment


def times_of(log: Log) -> Ints:
    """The times, which the kinds that ask for them have been told to be there."""
    assert log.time is not None
    return log.time


@split_kind("temporal", "by time: the first share of all rows trains, the last tests", {"fractions": FRACTIONS})
def temporal(log: Log, settings: Mapping[str, Any]) -> Parted:
    """Train is before the first cut-off, test from the second on."""
    fractions = read_fractions(settings["fractions"])
    time = times_of(log)
    wanted = [fractions[0], fractions[0] + fractions[1]] if fractions[1] else [fractions[0]]
    cuts = cutoffs_at(time, wanted)
    cutoffs = dict(zip(("validation", "test") if fractions[1] else ("test",), cuts, strict=True))
    part = parts_between(time, cutoffs.get("validation"), cutoffs["test"])
    return Parted(part, cutoffs, validation=bool(fractions[1]), told=fractions_told(fractions))


@split_kind(
    "dates",
    "by given dates",
    {
        "validation": Param(
            "", "when validation begins: an ISO date or a number in the log's unit; empty: there is none"
        ),
        "test": Param("", "when test begins, likewise"),
    },
)
def dates(log: Log, settings: Mapping[str, Any]) -> Parted:
    """Windows begin when they are told to."""
    if not settings["test"]:
        raise UsageError("a split by dates without a date", expected="when test begins, like test = 2000-12-31")
    cutoffs = {
        name: read_moment(settings[name], log.unit, f"the date of {name}")
        for name in ("validation", "test")
        if settings[name]
    }
    validation = cutoffs.get("validation")
    if validation is not None and validation >= cutoffs["test"]:
        raise UsageError(
            f"validation begins at {settings['validation']}, test at {settings['test']}", expected="the other order"
        )
    part = parts_between(times_of(log), validation, cutoffs["test"])
    return Parted(part, cutoffs, validation=validation is not None)


def cutoffs_at(time: Ints, shares: Sequence[Fraction]) -> list[int]:
    """The times before which the share of rows is nearest to each of the shares; of two as near the earlier."""
    rows = len(time)
    places = [min(int(share * rows), rows - 1) for share in shares]
    ordered = np.partition(time, sorted(set(places)))
    return [_nearest(time, int(ordered[place]), share * rows) for place, share in zip(places, shares, strict=True)]


def _nearest(time: Ints, at: int, wanted: Fraction) -> int:
    """The time of the row at which the share is reached, or the next one."""
    later = time > at
    upto = len(time) - int(np.count_nonzero(later))
    before = int(np.count_nonzero(time < at))
    if upto == len(time) or wanted - before <= upto - wanted:
        return at
    return int(np.min(time, where=later, initial=np.iinfo(np.int64).max))


def parts_between(
    time: Ints, validation: int | None, test: int, *, first: int | None = None, end: int | None = None
) -> Parts:
    """The window of each row: train from ``first`` on, test up to ``end``, where these are given."""
    part = (time >= test).astype(np.int8)
    part += part if validation is None else time >= validation
    if first is not None:
        part[time < first] = NOWHERE
    if end is not None:
        part[time >= end] = NOWHERE
    return part
