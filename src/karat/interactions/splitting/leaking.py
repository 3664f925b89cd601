"""What a split lets models learn that they could not know when they are deployed."""

import numpy as np

from karat.interactions.log import Log
from karat.interactions.split import WINDOWS, Parts
from karat.wording import percent

__all__ = ["learnt_later"]


def learnt_later(log: Log, part: Parts, why: str, what: str) -> str | None:
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
    return f"{why}: models learn from what {what} ({percent(later, 1)} of training is later than half of the test rows)"
