"""Windows that roll through the log: each is tested on what came before it."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from rankjury.core.params import Param
from rankjury.core.types import Ints
from rankjury.errors import DataError, UsageError
from rankjury.recsys.data.log import Log
from rankjury.recsys.splitting import Parted, split_kind
from rankjury.recsys.splitting.fractions import exactly
from rankjury.recsys.splitting.temporal import cutoffs_at, parts_between, times_of
from rankjury.recsys.splitting.timestamps import days_in

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
def rolling(log: Log, settings: Mapping[str, Any]) -> Parted:
    """Test is one window; what comes after it is nowhere, nor what comes before a sliding training window."""
    time, place, number = times_of(log), settings["window"], settings["windows"]
    if settings["days"] and settings["share"] != _SHARE:
        raise UsageError("windows by share and by days", expected="one of them")
    edges = _by_days(log, settings) if settings["days"] else _by_share(time, settings)
    first = edges["sliding"] if settings["train"] == "sliding" and place > 1 else None
    end = edges["end"] if place < number else None
    named = {"train": first, "test": edges["test"], "end": end}
    cutoffs = {name: at for name, at in named.items() if at is not None}
    part = parts_between(time, None, edges["test"], first=first, end=end)
    unused = "share" if settings["days"] else "days"
    return Parted(part, cutoffs, validation=False, told={unused: None})


def _by_share(time: Ints, settings: Mapping[str, Any]) -> dict[str, int]:
    """Where the window begins and ends, and where a sliding training window begins."""
    share, place, number = exactly(settings["share"]), settings["window"], settings["windows"]
    before = 1 - share * number
    if before <= 0:
        raise UsageError(
            f"{number} windows of {settings['share']:g} of the rows leave nothing before the first",
            expected="fewer or smaller windows",
        )
    begins = before + share * (place - 1)
    wanted = [share * (place - 1), begins, min(begins + share, Fraction(1))]
    return dict(zip(("sliding", "test", "end"), cutoffs_at(time, wanted), strict=True))


def _by_days(log: Log, settings: Mapping[str, Any]) -> dict[str, int]:
    time, place, number = times_of(log), settings["window"], settings["windows"]
    length = days_in(settings["days"], log.unit)
    first, last = int(time.min()), int(time.max())
    test = last + 1 - length * (number - place + 1)
    if last + 1 - length * number <= first:
        raise DataError(
            f"{number} windows of {settings['days']:g} days leave nothing before the first",
            where=log.source,
            expected="fewer or shorter windows",
        )
    return {"sliding": first + length * (place - 1), "test": test, "end": test + length}
