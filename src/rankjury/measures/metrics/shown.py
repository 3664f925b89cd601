"""What measures of lists share: the items that were shown, means and sums over them, features of items."""

from collections.abc import Callable

import numpy as np

from rankjury.core.lists import Lists
from rankjury.core.types import Floats, Ints, Matrix, cut_rows, in_threads
from rankjury.errors import UsageError
from rankjury.measures.judged import Judged
from rankjury.measures.measure import Option

BY = Option("by", "the feature of items that is looked at", ("genre", "text", "tag", "category"))
_CELLS_AT_ONCE = 1 << 16


def shown_lists(judged: Judged) -> Lists:
    """The lists that were shown."""
    if judged.lists is None:
        raise ValueError("judge with lists to look at them")
    return judged.lists


def sum_per_list(values: Matrix | Ints, codes: Ints) -> Floats:
    """Sums of a figure of items over each list; where a list has no item, nothing is added."""
    return np.asarray(np.append(values, values.dtype.type(0))[codes].sum(axis=1), dtype=np.float64)


def mean_per_list(values: Floats, codes: Ints) -> Floats:
    """Means of a figure of items over each list, without those whose figure is NaN; NaN where none is left."""
    held = ~np.isnan(values)
    total, number = sum_per_list(np.where(held, values, 0.0), codes), sum_per_list(held, codes)
    means: Floats = np.divide(total, number, out=np.full(number.size, np.nan), where=number > 0)
    return means


def compute_in_blocks(work: Callable[[int, int], Floats], users: int, width: int) -> Floats:
    """What is worked out for some users at a time (first, past the last), with a row of so many cells for each."""
    parts = cut_rows(users, max(1, _CELLS_AT_ONCE // max(1, width)))
    return np.concatenate([np.empty(0), *in_threads(work, parts)])


def row_sums(table: Floats, codes: Ints) -> Floats:
    """Of each list the sum of its items' rows of a table whose last row is zero."""
    found = np.zeros((codes.shape[0], table.shape[1]))
    for places in codes.T:
        found += table.take(places, axis=0, mode="wrap")
    return found


def feature(judged: Judged, by: str, measure: str) -> Floats:
    """A feature of the catalogue's items, a row an item; a row of zeros is unknown."""
    features = shown_lists(judged).background.features
    if by not in features:
        known = ", ".join(sorted(features))
        raise UsageError(
            f"items have no feature {by!r}",
            where=f"{measure}, by={by}",
            expected=f"one of those that are known: {known}" if known else "features of items, and there are none",
            hint=None if known else "Give the items with their genres along with the log.",
        )
    return np.asarray(features[by], dtype=np.float64)
