"""Rows drawn whatever their time, and what splits let models learn that they could not know when deployed."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankjury.core.params import Param
from rankjury.core.types import Ints
from rankjury.recsys.data.log import Log
from rankjury.recsys.split import FRACTIONS, WINDOWS, WindowCodes, fractions_record, read_fractions
from rankjury.recsys.splitting import SplitResult, split_kind
from rankjury.stats.formatting import format_percent
from rankjury.stats.resampling import keys_of, random_words

_BLOCK = 1 << 20
_WORDS = 2**64


@split_kind(
    "random",
    "rows drawn by chance, whatever their time",
    {"fractions": FRACTIONS, "seed": Param(0, "another seed draws other rows", max=2**63 - 1)},
    timed=False,
)
def drawn_at_random(log: Log, settings: Mapping[str, Any]) -> SplitResult:
    """Each row by itself, by seed, user, item and time: sizes are near the fractions, and no row moves another."""
    fractions = read_fractions(settings["fractions"])
    edges = [int(share * _WORDS) for share in (fractions[0], fractions[0] + fractions[1])]
    chance = row_hashes(log, settings["seed"])
    part = np.zeros(len(log), dtype=np.int8)
    for start in range(0, len(log), _BLOCK):
        rows = slice(start, start + _BLOCK)
        words = chance(rows)
        if log.time is not None:
            words = _mixed(words + log.time[rows].view(np.uint64))
        for edge in edges:
            part[rows] += words >= np.uint64(edge)
    leak = leak_note(log, part, "rows are drawn whatever their time", "the same users and others did later")
    leaks = (leak,) if leak else ()
    return SplitResult(part, leaks=leaks, validation=bool(fractions[1]), told=fractions_record(fractions))


def leak_note(log: Log, part: WindowCodes, why: str, what: str) -> str | None:
    """A sentence that tells how many training rows are later than half of the test rows.

    None where not one of them is later than any test row.
    """
    if log.time is None:
        return f"{why}: models may learn from what {what}"
    tested = log.time[part == WINDOWS.index("test")]
    training = log.time[part == WINDOWS.index("train")]
    if not tested.size or not (training > tested.min()).any():
        return None
    middle = np.partition(tested, tested.size // 2)[tested.size // 2]
    later = np.count_nonzero(training > middle) / training.size
    share = format_percent(later, 1)
    return f"{why}: models learn from what {what} ({share} of training is later than half of the test rows)"


def row_hashes(log: Log, seed: int) -> Callable[[slice | Ints], NDArray[np.uint64]]:
    """Gives random bits for rows of the log, by the seed and the ids of their user and item alone."""
    user = random_words(keys_of(log.users, seed), 0, 1)[:, 0]
    item = keys_of(log.items, seed)
    return lambda rows: _mixed(user[log.user[rows]] + item[log.item[rows]])


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    words: NDArray[np.uint64] = random_words(keys, 0, 1)[:, 0]
    return words
