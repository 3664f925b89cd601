"""Windows of time, the same for everybody: nothing that came later is learnt from."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from rankjury.core.params import Param
from rankjury.core.types import Ints
from rankjury.errors import DataError, UsageError
from rankjury.recsys.data.log import Log
from rankjury.recsys.data.times import days_to_units, parse_time
from rankjury.recsys.split import FRACTIONS, NOWHERE, WindowCodes, exact_fraction, fractions_record, read_fractions
from rankjury.recsys.splitting import SplitResult, split_kind


def times_of(log: Log) -> Ints:
    """The times, which the kinds that ask for them have been told to be there."""
    assert log.time is not None
    return log.time


@split_kind("temporal", "by time: the first share of all rows trains, the last tests", {"fractions": FRACTIONS})
def temporal(log: Log, settings: Mapping[str, Any]) -> SplitResult:
    """Train is before the first cut-off, test from the second on."""
    fractions = read_fractions(settings["fractions"])
    time = times_of(log)
    wanted = [fractions[0], fractions[0] + fractions[1]] if fractions[1] else [fractions[0]]
    cuts = temporal_cutoffs(time, wanted)
    cutoffs = dict(zip(("validation", "test") if fractions[1] else ("test",), cuts, strict=True))
    part = windows_between(time, cutoffs.get("validation"), cutoffs["test"])
    return SplitResult(part, cutoffs, validation=bool(fractions[1]), told=fractions_record(fractions))


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
def dates(log: Log, settings: Mapping[str, Any]) -> SplitResult:
    """Windows begin when they are told to."""
    if not settings["test"]:
        raise UsageError("a split by dates without a date", expected="when test begins, like test = 2000-12-31")
    cutoffs = {
        name: parse_time(settings[name], log.unit, f"the date of {name}")
        for name in ("validation", "test")
        if settings[name]
    }
    validation = cutoffs.get("validation")
    if validation is not None and validation >= cutoffs["test"]:
        raise UsageError(
            f"validation begins at {settings['validation']}, test at {settings['test']}", expected="the other order"
        )
    part = windows_between(times_of(log), validation, cutoffs["test"])
    return SplitResult(part, cutoffs, validation=validation is not None)


def temporal_cutoffs(time: Ints, shares: Sequence[Fraction]) -> list[int]:
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


def windows_between(
    time: Ints, validation: int | None, test: int, *, first: int | None = None, end: int | None = None
) -> WindowCodes:
    """The window of each row: train from ``first`` on, test up to ``end``, where these are given."""
    part = (time >= test).astype(np.int8)
    part += part if validation is None else time >= validation
    if first is not None:
        part[time < first] = NOWHERE
    if end is not None:
        part[time >= end] = NOWHERE
    return part


_SHARE = 0.1


@split_kind(
    "rolling",
    "windows of time one after the other, at the log's end; each is tested on what came before it",
    {
        "windows": Param(3, "how many windows there are", min=1, max=1000),
        "window": Param(1, "which of them is tested, from 1 on", min=1),
        "share": Param(_SHARE, "how many of the rows each window has", min=1e-6, max=0.999999),
        "days": Param(0.0, "how many days each window lasts; 0: by share", min=0),
        "train": Param(
            "expanding",
            "whether training begins with the log or moves on with the window",
            choices=("expanding", "sliding"),
        ),
    },
    number_of="windows",
    one_of="window",
)
def rolling(log: Log, settings: Mapping[str, Any]) -> SplitResult:
    """Test is one window; what comes after it is nowhere, nor what comes before a sliding training window."""
    time, place, number = times_of(log), settings["window"], settings["windows"]
    if settings["days"] and settings["share"] != _SHARE:
        raise UsageError("windows by share and by days", expected="one of them")
    edges = _by_days(log, settings) if settings["days"] else _by_share(time, settings)
    first = edges["sliding"] if settings["train"] == "sliding" and place > 1 else None
    end = edges["end"] if place < number else None
    named = {"train": first, "test": edges["test"], "end": end}
    cutoffs = {name: at for name, at in named.items() if at is not None}
    part = windows_between(time, None, edges["test"], first=first, end=end)
    unused = "share" if settings["days"] else "days"
    return SplitResult(part, cutoffs, validation=False, told={unused: None})


def _by_share(time: Ints, settings: Mapping[str, Any]) -> dict[str, int]:
    """Where the window begins and ends, and where a sliding training window begins."""
    share, place, number = exact_fraction(settings["share"]), settings["window"], settings["windows"]
    before = 1 - share * number
    if before <= 0:
        raise UsageError(
            f"{number} windows of {settings['share']:g} of the rows leave nothing before the first",
            expected="fewer or smaller windows",
        )
    begins = before + share * (place - 1)
    wanted = [share * (place - 1), begins, min(begins + share, Fraction(1))]
    return dict(zip(("sliding", "test", "end"), temporal_cutoffs(time, wanted), strict=True))


def _by_days(log: Log, settings: Mapping[str, Any]) -> dict[str, int]:
    time, place, number = times_of(log), settings["window"], settings["windows"]
    length = days_to_units(settings["days"], log.unit)
    first, last = int(time.min()), int(time.max())
    test = last + 1 - length * (number - place + 1)
    if last + 1 - length * number <= first:
        raise DataError(
            f"{number} windows of {settings['days']:g} days leave nothing before the first",
            where=log.source,
            expected="fewer or shorter windows",
        )
    return {"sliding": first + length * (place - 1), "test": test, "end": test + length}
