"""An audit of a log before anything is split or trained: what it holds, and what in it would leak or mislead."""

from dataclasses import asdict, dataclass, replace
from math import ceil, isfinite
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from karat.errors import DataError, UsageError
from karat.interactions.attributes import Attributes, read_items
from karat.interactions.audit.times import Future, Ties, Times, future_of, ties_of, times_of
from karat.interactions.audit.warnings import warnings_of
from karat.interactions.folders import find_companions
from karat.interactions.log import Log
from karat.interactions.reading import read_log
from karat.interactions.splitting.shares import read_fractions
from karat.types import Floats, Ints, places_in
from karat.validation import check_arguments

__all__ = [
    "Audit",
    "Bin",
    "Catalogue",
    "Ratings",
    "Side",
    "Spread",
    "audit",
    "duplicates",
    "gini",
    "histogram",
    "share_of_top",
    "spread",
]

_MOST_VALUES = 20
_BINS = 10


@dataclass(frozen=True)
class Spread:
    """Of whole numbers."""

    min: int
    median: float
    mean: float
    max: int


@dataclass(frozen=True)
class Bin:
    """How many values there are from ``low`` to below ``high``; the last holds its end, and one value has no width."""

    low: float
    high: float
    count: int


def spread(counts: Ints) -> Spread:
    return Spread(int(counts.min()), float(np.median(counts)), float(counts.mean()), int(counts.max()))


def gini(counts: Ints) -> float:
    """How unequal the counts are.

    Formula: Σ (2i − n − 1) xᵢ / (n Σ x), xᵢ ascending, i from 1 to n; 0 where all are equal, (n − 1)/n where one has
    all. NaN where there is nothing to hold.
    """
    n, total = counts.size, int(counts.sum())
    if not total:
        return float("nan")
    ordered = np.sort(counts).astype(np.float64)
    return float((2 * np.arange(1, n + 1) - n - 1) @ ordered / (n * total))


def share_of_top(counts: Ints, top: float) -> float:
    """The share of all that the largest counts hold: so many of them, rounded up to whole ones."""
    many = max(1, ceil(round(top * counts.size, 9)))
    return float(np.sort(counts)[::-1][:many].sum() / counts.sum())


def duplicates(log: Log) -> tuple[int, int]:
    """How many rows are of a pair that another row stands for, and how many of them repeat value and time as well."""
    key = log.user.astype(np.int64) * max(1, len(log.items)) + log.item
    ordered = np.sort(key)
    many = int(np.count_nonzero(ordered[1:] == ordered[:-1]))
    del ordered
    if not many:
        return 0, 0
    rows = np.flatnonzero(pl.Series(key).is_duplicated().to_numpy())
    columns: dict[str, NDArray[np.generic]] = {"key": key[rows], "value": log.value[rows]}
    frame = pl.DataFrame(columns if log.time is None else columns | {"time": log.time[rows]})
    return many, frame.height - frame.n_unique()


def histogram(values: Floats, counts: Ints) -> tuple[Bin, ...]:
    """Of ascending distinct values with their counts: each by itself, or in bins of equal width where they are many."""
    if values.size <= _MOST_VALUES:
        return tuple(Bin(value, value, n) for value, n in zip(values.tolist(), counts.tolist(), strict=True))
    numbers, edges = np.histogram(values, bins=_BINS, weights=counts)
    ends = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    return tuple(Bin(low, high, round(n)) for (low, high), n in zip(ends, numbers.tolist(), strict=True))


_TOP = 0.2
_POSITIVE = 0.75
"""A rating is high from three quarters of the way between the lowest and the highest that occurs: 4 of 1 to 5."""


@dataclass(frozen=True)
class Side:
    """Users, or items that somebody took."""

    n: int
    rows: Spread
    """Of how many rows each has."""
    gini: float
    """Of the counts, as ``audit_figures.gini`` has it: 0 where all have as many, near 1 where one has all."""
    top_share: float
    """Share of the rows that the most frequent fifth holds, rounded up to whole ones."""
    cold: int
    """How many have fewer rows than the threshold."""

    @property
    def cold_share(self) -> float:
        return self.cold / self.n if self.n else float("nan")


@dataclass(frozen=True)
class Catalogue:
    """The items that there are, whether anybody took them or not."""

    n: int
    never_taken: int
    unlisted: int
    """Items of the log that the file of items lacks."""
    gini: float
    """Over all of the catalogue and what is not listed: those never taken count as 0."""


@dataclass(frozen=True)
class Ratings:
    """What values the rows have."""

    mean: float
    std: float
    """Of these rows: divided by their number."""
    lowest: float
    highest: float
    distinct: int
    high_from: float
    """The rating from which one is high: the first that occurs at three quarters of the observed scale."""
    high_share: float
    histogram: tuple[Bin, ...]


@dataclass(frozen=True)
class Audit:
    """What is to be known of a log."""

    source: str
    rows: int
    users: Side
    items: Side
    catalogue: Catalogue | None
    """None where no list of items was given."""
    sparsity: float
    """Share of the pairs of a user and an item of the log that no row is of."""
    duplicate_pairs: int
    """Rows of a user and an item that an earlier row is of."""
    exact_duplicates: int
    """Those of them that repeat value and time as well."""
    ratings: Ratings | None
    """None where the log is implicit."""
    times: Times | None
    ties: Ties | None
    future: Future | None
    """What a global temporal split would hold out that training has never seen."""
    cold: int
    """Users and items with fewer rows than this are cold."""
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """All of it; what is undefined is null."""
        form = _plain(asdict(self))
        form["users"]["cold_share"] = self.users.cold_share
        form["items"]["cold_share"] = self.items.cold_share
        return {"schema": "karat.audit/1", **form}


@check_arguments
def audit(
    log: Any,
    *,
    items: Attributes | str | Path | None = None,
    cold: int = 10,
    fractions: tuple[float, float, float] = (0.8, 0.1, 0.1),
) -> Audit:
    """Count what a log holds, and say what in it would leak or mislead.

    Args:
        log: A path (a file, or a MovieLens folder such as ``ml-1m``), a Polars or pandas frame, or a Log.
        items: The catalogue: a path, or Attributes. Unset, it is the file of items in the folder that was given.
        cold: Users and items with fewer rows than this are cold.
        fractions: The shares of train, validation and test for the look at what a temporal split would hold out.

    Returns:
        The counts and warnings; ``to_json()`` gives all of them.

    Raises:
        UsageError: An argument is not one of these.
        DataError: The log or the catalogue cannot be read, or has no rows.

    >>> karat.audit("ml-1m").warnings
    """
    if items is not None and not isinstance(items, Attributes | str | Path):
        raise UsageError(f"items is of type {type(items).__name__}", expected="a path, or Attributes")
    if items is None:
        items = find_companions(log)[0]
    items = read_items(items) if isinstance(items, str | Path) else items
    log = log if isinstance(log, Log) else read_log(log)
    if cold < 0:
        raise UsageError(f"the threshold of cold users and items is {cold}", expected="0 or more")
    shares = read_fractions("/".join(map(str, fractions)))
    if not len(log):
        raise DataError("found no rows", where=log.source, expected="at least one interaction")
    per_user, per_item = log.per_user[log.per_user > 0], log.per_item[log.per_item > 0]
    pairs, exact = duplicates(log)
    users, of_items = _side(per_user, cold), _side(per_item, cold)
    found = Audit(
        source=log.source,
        rows=len(log),
        users=users,
        items=of_items,
        catalogue=_catalogue(log, items),
        sparsity=1 - (len(log) - pairs) / (users.n * of_items.n),
        duplicate_pairs=pairs,
        exact_duplicates=exact,
        ratings=_ratings(log) if log.rated else None,
        times=times_of(log),
        ties=ties_of(log),
        future=future_of(log, shares),
        cold=cold,
    )
    return replace(found, warnings=(*log.notes, *warnings_of(found)))


def _side(counts: Ints, cold: int) -> Side:
    return Side(counts.size, spread(counts), gini(counts), share_of_top(counts, _TOP), int((counts < cold).sum()))


def _catalogue(log: Log, items: Attributes | None) -> Catalogue | None:
    taken = log.per_item > 0
    if items is None:
        if taken.all():
            return None
        return Catalogue(taken.size, int((~taken).sum()), 0, gini(log.per_item))
    listed = places_in(log.items, items.ids)
    known = np.zeros(taken.size, dtype=bool)
    known[listed[listed >= 0]] = True
    never = len(items) - int((known & taken).sum())
    counts = np.concatenate((log.per_item[taken], np.zeros(never, dtype=np.int64)))
    return Catalogue(len(items), never, int((taken & ~known).sum()), gini(counts))


def _ratings(log: Log) -> Ratings:
    values, counts = np.unique(log.value, return_counts=True)
    low, high = float(values[0]), float(values[-1])
    from_ = float(values[np.searchsorted(values, low + _POSITIVE * (high - low) - 1e-9 * max(1.0, abs(high)))])
    return Ratings(
        mean=float(log.value.mean()),
        std=float(log.value.std()),
        lowest=low,
        highest=high,
        distinct=values.size,
        high_from=from_,
        high_share=float(counts[values >= from_].sum() / len(log)),
        histogram=histogram(values, counts),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value
