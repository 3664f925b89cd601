"""Splits by time, the same for all users, so that nothing is learned from the future: temporal, dates, rolling."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from rankjury.core.params import Param
from rankjury.core.types import Ints
from rankjury.errors import DataError, UsageError
from rankjury.recsys.data.log import Log
from rankjury.recsys.data.times import days_to_units, parse_time
from rankjury.recsys.split import FRACTIONS, NO_WINDOW, WindowCodes, exact_fraction, read_fractions
from rankjury.recsys.splitting import SplitResult, split_kind

_SHARE = 0.1


@split_kind("temporal", "by time: the first share of all rows is training, the last test", {"fractions": FRACTIONS})
def temporal(log: Log, settings: Mapping[str, Any]) -> SplitResult:
    """Train is before the first cut-off, test from the second on."""
    assert log.time is not None
    fractions = read_fractions(settings["fractions"])
    has_validation = bool(fractions[1])
    shares = {"validation": fractions[0], "test": fractions[0] + fractions[1]}
    wanted = shares if has_validation else {"test": fractions[0]}
    cutoffs = dict(zip(wanted, temporal_cutoffs(log.time, list(wanted.values())), strict=True))
    codes = windows_between(log.time, cutoffs.get("validation"), cutoffs["test"])
    return SplitResult(codes, cutoffs, has_validation=has_validation, record={"fractions": [*map(float, fractions)]})


@split_kind(
    "dates",
    "by dates",
    {
        "validation": Param("", "start of validation: an ISO date or a number in the log's unit; empty: no validation"),
        "test": Param("", "start of test, in the same format"),
    },
)
def dates(log: Log, settings: Mapping[str, Any]) -> SplitResult:
    """Split at the given dates."""
    assert log.time is not None
    if not settings["test"]:
        raise UsageError("a split by dates needs a date", expected="the start of test, such as test = 2000-12-31")
    cutoffs = {
        name: parse_time(settings[name], log.unit, f"the date of {name}")
        for name in ("validation", "test")
        if settings[name]
    }
    validation = cutoffs.get("validation")
    if validation is not None and validation >= cutoffs["test"]:
        found = f"validation begins at {settings['validation']}, test at {settings['test']}"
        raise UsageError(found, expected="validation before test")
    codes = windows_between(log.time, validation, cutoffs["test"])
    return SplitResult(codes, cutoffs, has_validation=validation is not None)


@split_kind(
    "rolling",
    "consecutive time windows at the end of the log; each is tested with training on the time before it",
    {
        "windows": Param(3, "number of windows", min=1, max=1000),
        "window": Param(1, "number of the window, from 1", min=1),
        "share": Param(_SHARE, "share of the rows in each window", min=1e-6, max=0.999999),
        "days": Param(0.0, "length of each window in days; 0: by share", min=0),
        "train": Param(
            "expanding",
            "training from the start of the log (expanding), or from a start that moves with the window (sliding)",
            choices=("expanding", "sliding"),
        ),
    },
    folds_param="windows",
    fold_param="window",
)
def rolling(log: Log, settings: Mapping[str, Any]) -> SplitResult:
    """Test is one window; later rows, and rows before a sliding training window, are in no window."""
    assert log.time is not None
    window, windows, days = settings["window"], settings["windows"], settings["days"]
    if days and settings["share"] != _SHARE:
        raise UsageError("windows by share and by days", expected="one of them")
    if days:
        length = days_to_units(days, log.unit)
        first, last = int(log.time.min()), int(log.time.max())
        if last + 1 - length * windows <= first:
            found = f"{windows} windows of {days:g} days leave no rows before the first"
            raise DataError(found, where=log.source, expected="fewer or shorter windows")
        train, test = first + length * (window - 1), last + 1 - length * (windows - window + 1)
        end = test + length
    else:
        share = exact_fraction(settings["share"])
        before = 1 - share * windows
        if before <= 0:
            found = f"{windows} windows of {settings['share']:g} of the rows leave no rows before the first"
            raise UsageError(found, expected="fewer or smaller windows")
        begin = before + share * (window - 1)
        train, test, end = temporal_cutoffs(log.time, [share * (window - 1), begin, min(begin + share, Fraction(1))])
    cutoffs = {"train": train} if settings["train"] == "sliding" and window > 1 else {}
    cutoffs |= {"test": test} | ({"end": end} if window < windows else {})
    codes = windows_between(log.time, None, test, first=cutoffs.get("train"), end=cutoffs.get("end"))
    return SplitResult(codes, cutoffs, has_validation=False, record={"share" if days else "days": None})


def temporal_cutoffs(time: Ints, shares: Sequence[Fraction]) -> list[int]:
    """Return the times before which the share of rows is nearest to each share; ties: the earlier."""
    rows = len(time)
    places = [min(int(share * rows), rows - 1) for share in shares]
    ordered = np.partition(time, sorted(set(places)))
    cutoffs = []
    for place, share in zip(places, shares, strict=True):
        at, wanted = int(ordered[place]), share * rows  # time of the row at which the share is reached
        later = time > at
        upto = rows - int(np.count_nonzero(later))
        before = int(np.count_nonzero(time < at))
        is_nearest = upto == rows or wanted - before <= upto - wanted
        cutoffs.append(at if is_nearest else int(np.min(time, where=later, initial=np.iinfo(np.int64).max)))
    return cutoffs


def windows_between(
    time: Ints, validation: int | None, test: int, *, first: int | None = None, end: int | None = None
) -> WindowCodes:
    """Return the window of each row: train from ``first`` on, test before ``end``, if these are given."""
    codes = (time >= test).astype(np.int8)
    codes += codes if validation is None else time >= validation
    if first is not None:
        codes[time < first] = NO_WINDOW
    if end is not None:
        codes[time >= end] = NO_WINDOW
    return codes
