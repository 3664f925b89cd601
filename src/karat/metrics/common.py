"""What several families share: who is relevant, who is within the cut-off, sums by query."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from karat.errors import DataError
from karat.judged import Judged
from karat.measure import COMMON_OPTIONS, Option
from karat.types import Bools, Floats, Ints

__all__ = [
    "HIGHEST_SUMMED",
    "NEGATIVE",
    "REL",
    "check_highest",
    "discounts",
    "divide",
    "hits_of",
    "nth_in_row",
    "relevant",
    "relevant_count",
    "running_count",
    "sum_by_row",
    "ties_or",
    "within",
]

HIGHEST_SUMMED = 1e300
"""Of grades up to this, the sum of 10^8 is still a float."""
NEGATIVE = Option("negative", "an item of a grade below 0 is unjudged, or judged not relevant", ("unjudged", "judged"))
REL = Option("rel", "grade from which an item is relevant (otherwise the gold's own: any grade above 0)")


def is_relevant(grades: Floats, rel: float | None, judged: Judged) -> Bools:
    """Which of these grades are relevant: ``rel`` and better, else the gold's own threshold, else above zero."""
    threshold = judged.relevant_from if rel is None else rel
    return grades > 0 if threshold is None else grades >= threshold


def check_highest(judged: Judged, highest: float, expected: str, hint: str | None = None) -> None:
    """Refuse a gold with a grade above ``highest``; the error names the first query that has one."""
    if judged.highest <= highest:
        return
    above = np.flatnonzero(judged.gold_grades > highest)
    if above.size:  # none, where only some queries or items of the gold are looked at here
        query, grade = judged.queries[int(judged.gold_rows[above[0]])], judged.gold_grades[above[0]]
        raise DataError(f"query {query!r} has an item of grade {grade:g}", where="gold", expected=expected, hint=hint)


def relevant(judged: Judged, rel: float | None) -> Bools:
    """Which of the judged retrieved items are relevant."""
    return is_relevant(judged.grade, rel, judged)


def within(judged: Judged, k: int | None) -> Bools:
    """Which of the judged retrieved items stand at rank k or better."""
    return np.ones(judged.rank.size, bool) if k is None else judged.rank <= k


def sum_by_row(judged: Judged, where: Bools, weights: Floats | None = None) -> Floats:
    """Sums of the weights (or counts) of the chosen items by query, added in order of rank."""
    chosen = None if weights is None else weights[where]
    return np.bincount(judged.row[where], chosen, minlength=len(judged)).astype(np.float64)


def hits_of(judged: Judged, k: int | None, rel: float | None) -> Floats:
    """How many relevant items each query has within the cut-off."""
    return sum_by_row(judged, relevant(judged, rel) & within(judged, k))


def relevant_count(judged: Judged, rel: float | None) -> Floats:
    """How many relevant items the gold has for each query; worked out once for each threshold."""
    if rel not in judged.relevant_counts:
        starts, grades, numbers = judged.gold_starts, judged.gold_grades, None
        if judged.counted is not None:
            starts, grades, numbers = judged.counted.starts, judged.counted.grades, judged.counted.counts
        chosen = is_relevant(grades, rel, judged)
        total = np.concatenate(([0], np.cumsum(chosen if numbers is None else chosen * numbers)))
        found = np.diff(total[starts]).astype(np.float64)
        found.flags.writeable = False
        judged.relevant_counts[rel] = found
    return judged.relevant_counts[rel]


def cut_or_depth(judged: Judged, k: int | None) -> Floats:
    """The cut-off of each query: k, or where there is none, how many were retrieved."""
    return judged.depth.astype(np.float64) if k is None else np.full(len(judged), float(k))


def divide(numerator: NDArray[np.number], denominator: NDArray[np.number]) -> Floats:
    """The quotient, and 0 where nothing is divided by nothing."""
    quotient: Floats = np.divide(numerator, denominator, out=np.zeros(numerator.size), where=denominator > 0)
    return quotient


def nth_in_row(rows: Ints) -> Floats:
    """For rows in ascending order: 1, 2, 3 … within each row."""
    if rows.size == 0:
        return np.empty(0)
    firsts = np.flatnonzero(np.concatenate(([True], rows[1:] != rows[:-1])))
    lengths = np.diff(np.append(firsts, rows.size))
    return np.arange(1.0, rows.size + 1) - np.repeat(firsts, lengths)


@lru_cache(maxsize=8)
def discounts(up_to: int) -> Floats:
    """log2(rank + 1) at index ``rank``; by the C library, whose last digit the other tools share."""
    return np.array([math.inf, *(math.log2(rank + 1) for rank in range(1, up_to + 1))])


def running_count(judged: Judged, chosen: Bools) -> Floats:
    """How many chosen items of the same query stand above each item or at it."""
    total = np.cumsum(chosen)
    starts = np.searchsorted(judged.row, np.arange(len(judged)))
    before = np.concatenate(([0], total))[starts]
    return np.asarray(total - before[judged.row], dtype=np.float64)


def ties_or(choice: str, about: str) -> Option:
    """The common option ``ties`` with one more choice, which the judge need not know."""
    usual = next(option for option in COMMON_OPTIONS if option.name == "ties")
    return Option("ties", f"{usual.about}; {choice}: {about}", (*usual.choices, choice))
