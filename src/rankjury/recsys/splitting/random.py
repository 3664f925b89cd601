"""Random splits: rows drawn independent of time; and the share of training that is later than the test rows."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankjury.core.params import Param
from rankjury.core.types import Ints
from rankjury.recsys.data.log import Log
from rankjury.recsys.split import FRACTIONS, WINDOWS, WindowCodes, read_fractions
from rankjury.recsys.splitting import SplitResult, split_kind
from rankjury.stats.formatting import format_percent
from rankjury.stats.resampling import query_keys, random_words

_BLOCK = 1 << 20
_WORDS = 2**64


@split_kind(
    "random",
    "random rows, independent of time",
    {"fractions": FRACTIONS, "seed": Param(0, "random seed", max=2**63 - 1)},
    timed=False,
)
def draw_rows(log: Log, settings: Mapping[str, Any]) -> SplitResult:
    """Draw each row by a hash of seed, user, item and time: sizes are near the fractions, and rows are independent."""
    fractions = read_fractions(settings["fractions"])
    edges = [int(share * _WORDS) for share in (fractions[0], fractions[0] + fractions[1])]
    hashes = row_hashes(log, settings["seed"])
    codes = np.zeros(len(log), dtype=np.int8)
    for start in range(0, len(log), _BLOCK):
        rows = slice(start, start + _BLOCK)
        words = hashes(rows)
        if log.time is not None:
            words = _mix(words + log.time[rows].view(np.uint64))
        for edge in edges:
            codes[rows] += words >= np.uint64(edge)
    leak = leak_note(log, codes, "rows are drawn independent of time", "the same users and others did later")
    record = {"fractions": [*map(float, fractions)]}
    return SplitResult(codes, leaks=(leak,) if leak else (), has_validation=bool(fractions[1]), record=record)


def leak_note(log: Log, codes: WindowCodes, why: str, what: str) -> str | None:
    """Return a sentence with the share of training rows that are later than half of the test rows.

    None if no training row is later than any test row.
    """
    if log.time is None:
        return f"{why}: models may learn from what {what}"
    tested = log.time[codes == WINDOWS.index("test")]
    training = log.time[codes == WINDOWS.index("train")]
    if not tested.size or not (training > tested.min()).any():
        return None
    median = np.partition(tested, tested.size // 2)[tested.size // 2]
    later = format_percent(np.count_nonzero(training > median) / training.size, 1)
    return f"{why}: models learn from what {what} ({later} of training is later than half of the test rows)"


def row_hashes(log: Log, seed: int) -> Callable[[slice | Ints], NDArray[np.uint64]]:
    """Return a function that gives random bits for rows of the log, determined by seed, user id and item id."""
    user = random_words(query_keys(log.users, seed), 0, 1)[:, 0]
    item = query_keys(log.items, seed)
    return lambda rows: _mix(user[log.user[rows]] + item[log.item[rows]])


def _mix(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    words: NDArray[np.uint64] = random_words(keys, 0, 1)[:, 0]
    return words
