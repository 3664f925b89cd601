"""An audit of a log before anything is split or trained: what it holds, and what in it would leak or mislead."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.text import plural
from rankjury.core.types import Bools, Floats, Ints, places_in
from rankjury.core.validation import Record, check_arguments
from rankjury.errors import DataError, UsageError
from rankjury.recsys.data.attributes import Attributes, read_items
from rankjury.recsys.data.log import Codes, Log
from rankjury.recsys.data.movielens import find_companions
from rankjury.recsys.data.read import read_log
from rankjury.recsys.data.times import PER_SECOND, format_time
from rankjury.recsys.split import Fractions, read_fractions
from rankjury.recsys.splitting.temporal import temporal_cutoffs
from rankjury.stats.formatting import format_percent

BULK = 10
"""More rows of a user than this within one second were not made one by one."""


_EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)


_SECONDS_A_DAY = 86_400


@dataclass(frozen=True)
class TimeRange(Record):
    """From when to when."""

    first: int
    last: int
    unit: str
    first_date: str | None
    """ISO, UTC; None for plain numbers."""
    last_date: str | None
    days: float | None
    early: int
    """Rows from before 1990."""
    future: int
    """Rows from after the moment of the audit."""


@dataclass(frozen=True)
class TimeTies(Record):
    """Rows that time does not order."""

    rows: int
    """Rows that share their time with another row."""
    rows_within_users: int
    """Rows that share it with another row of their own user."""
    largest: int
    """Rows of the commonest time."""
    largest_at: int
    largest_of_user: int
    """The most rows of one user at one time."""
    users_of_one_time: int
    """Users with two rows or more, all of one time."""
    users_of_several_rows: int
    bulk_users: int
    """Users with more than so many rows within one second."""
    bulk: int = BULK


@dataclass(frozen=True)
class SplitPreview(Record):
    """A global temporal split by fractions: rows before a time train, rows from another on test."""

    fractions: tuple[float, ...]
    validation_from: int
    test_from: int
    train_rows: int
    validation_rows: int
    test_rows: int
    test_users: int
    unseen_users: int
    """Test users without a row in training."""
    test_items: int
    unseen_items: int
    unseen_rows: int
    """Test rows of a user or an item that training has never seen."""


_MOST_VALUES = 20
_BINS = 10


@dataclass(frozen=True)
class CountSummary(Record):
    """Of whole numbers."""

    min: int
    median: float
    mean: float
    max: int


@dataclass(frozen=True)
class HistogramBin(Record):
    """How many values there are from ``low`` to below ``high``; the last holds its end, and one value has no width."""

    low: float
    high: float
    count: int


def summarize_counts(counts: Ints) -> CountSummary:
    return CountSummary(int(counts.min()), float(np.median(counts)), float(counts.mean()), int(counts.max()))


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


def share_of_largest(counts: Ints, top: float) -> float:
    """The share of all that the largest counts hold: so many of them, rounded up to whole ones."""
    many = max(1, ceil(round(top * counts.size, 9)))
    return float(np.sort(counts)[::-1][:many].sum() / counts.sum())


def count_duplicates(log: Log) -> tuple[int, int]:
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


def histogram(values: Floats, counts: Ints) -> tuple[HistogramBin, ...]:
    """Of ascending distinct values with their counts: each by itself, or in bins of equal width where they are many."""
    if values.size <= _MOST_VALUES:
        return tuple(HistogramBin(value, value, n) for value, n in zip(values.tolist(), counts.tolist(), strict=True))
    numbers, edges = np.histogram(values, bins=_BINS, weights=counts)
    ends = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    return tuple(HistogramBin(low, high, round(n)) for (low, high), n in zip(ends, numbers.tolist(), strict=True))


_MANY_DUPLICATES = 0.01
_MOSTLY = 0.75
_HALF = 0.5
_SOME_USERS = 0.1
_FEW_USERS = 30
_TOP = 0.2
_POSITIVE = 0.75
"""A rating is high from three quarters of the way between the lowest and the highest that occurs: 4 of 1 to 5."""


@dataclass(frozen=True)
class AuditSide(Record):
    """Users, or items that somebody took."""

    computed = ("cold_share",)

    n: int
    rows: CountSummary
    """Of how many rows each has."""
    gini: float
    """Gini coefficient of the counts: 0 where all have as many, near 1 where one has all."""
    top_share: float
    """Share of the rows that the most frequent fifth holds, rounded up to whole ones."""
    cold: int
    """How many have fewer rows than the threshold."""

    @property
    def cold_share(self) -> float:
        return self.cold / self.n if self.n else float("nan")


@dataclass(frozen=True)
class CatalogueCoverage(Record):
    """The items that there are, whether anybody took them or not."""

    n: int
    never_taken: int
    unlisted: int
    """Items of the log that the file of items lacks."""
    gini: float
    """Over all of the catalogue and what is not listed: those never taken count as 0."""


@dataclass(frozen=True)
class Ratings(Record):
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
    histogram: tuple[HistogramBin, ...]


@dataclass(frozen=True)
class Audit(Record):
    """What is to be known of a log."""

    source: str
    rows: int
    users: AuditSide
    items: AuditSide
    catalogue: CatalogueCoverage | None
    """None where no list of items was given."""
    sparsity: float
    """Share of the pairs of a user and an item of the log that no row is of."""
    duplicate_pairs: int
    """Rows of a user and an item that an earlier row is of."""
    exact_duplicates: int
    """Those of them that repeat value and time as well."""
    ratings: Ratings | None
    """None where the log is implicit."""
    times: TimeRange | None
    ties: TimeTies | None
    future: SplitPreview | None
    """What a global temporal split would hold out that training has never seen."""
    cold: int
    """Users and items with fewer rows than this are cold."""
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """All of it; what is undefined is null."""
        return {"schema": "rankjury.audit/1", **super().to_json()}


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

    >>> rankjury.audit("ml-1m").warnings
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
    pairs, exact = count_duplicates(log)
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
        times=describe_times(log),
        ties=count_ties(log),
        future=preview_temporal_split(log, shares),
        cold=cold,
    )
    return replace(found, warnings=(*log.notes, *_warnings(found)))


def _side(counts: Ints, cold: int) -> AuditSide:
    return AuditSide(
        counts.size, summarize_counts(counts), gini(counts), share_of_largest(counts, _TOP), int((counts < cold).sum())
    )


def _catalogue(log: Log, items: Attributes | None) -> CatalogueCoverage | None:
    taken = log.per_item > 0
    if items is None:
        if taken.all():
            return None
        return CatalogueCoverage(taken.size, int((~taken).sum()), 0, gini(log.per_item))
    listed = places_in(log.items, items.ids)
    known = np.zeros(taken.size, dtype=bool)
    known[listed[listed >= 0]] = True
    never = len(items) - int((known & taken).sum())
    counts = np.concatenate((log.per_item[taken], np.zeros(never, dtype=np.int64)))
    return CatalogueCoverage(len(items), never, int((taken & ~known).sum()), gini(counts))


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


def _warnings(found: Audit) -> Iterator[str]:
    """Each says what was found and what comes of it."""
    yield from _of_rows(found)
    if found.catalogue is not None and found.catalogue.unlisted == found.items.n:
        yield "not one item of the log is in the file of items: are the ids of another kind?"
    elif found.catalogue is not None and found.catalogue.unlisted:
        items = plural(found.catalogue.unlisted, "item of the log is", "items of the log are")
        yield f"{items} not in the file of items: with that as catalogue they are candidates of their takers alone"
    if found.ratings is not None:
        yield from _of_ratings(found.ratings)
    if found.times is None:
        yield "no column of times: it can only be split at random, and models then learn from what came later"
    elif found.times.first == found.times.last:
        yield f"all rows have one time ({_when(found.times.first, found.times.unit)}): nothing can be split by time"
    elif found.ties is not None and found.future is not None:
        times = found.times
        if not times.unit:
            yield "times are plain numbers: they order rows, but are no dates"
        if times.future:
            yield f"{plural(times.future, 'row is', 'rows are')} from the future "
            f"(until {_when(times.last, times.unit)})"
        if times.early:
            since = _when(times.first, times.unit)
            yield f"{plural(times.early, 'row is', 'rows are')} from before 1990 (from {since} on)"
        yield from _of_ties(found.ties, found.times.unit, found.rows, found.future)
        yield from _of_future(found.future)


def _share(part: int, whole: int) -> str:
    return format_percent(part / whole, 1) if whole else "none"


def _when(time: int, unit: str) -> str:
    return format_time(time, unit) or f"{time:,}"


def _of_rows(found: Audit) -> Iterator[str]:
    if found.duplicate_pairs > _MANY_DUPLICATES * found.rows:
        exact = f", {found.exact_duplicates:,} of them in full" if found.exact_duplicates else ""
        yield (
            f"{plural(found.duplicate_pairs, 'row repeats', 'rows repeat')} a user and an item of another row "
            f"({_share(found.duplicate_pairs, found.rows)}{exact}): a random split would test what it trains on, and "
            "of each pair only the latest row counts"
        )
    elif found.exact_duplicates:
        yield f"{plural(found.exact_duplicates, 'row repeats another', 'rows repeat others')} in full"
    if found.users.n < _FEW_USERS:
        yield f"{plural(found.users.n, 'user', 'users')} only: intervals over users will be wide, if there are any"


def _of_ratings(ratings: Ratings) -> Iterator[str]:
    if ratings.lowest == ratings.highest:
        yield f"all ratings are {ratings.lowest:g}: they say no more than that an item was taken"
        return
    if ratings.lowest < 0:
        yield (
            f"ratings go down to {ratings.lowest:g}: those below 0 are taken as such, which gain nothing; if they mean "
            "that something was not rated, take them out"
        )
    if ratings.lowest >= 0 and ratings.highest <= 1:
        yield (
            f"ratings lie between {ratings.lowest:g} and {ratings.highest:g}: a threshold for scales of stars, such as "
            "rel=4, finds nothing relevant"
        )
    if ratings.high_share >= _MOSTLY:
        yield (
            f"{format_percent(ratings.high_share, 1)} of ratings are {ratings.high_from:g} or more: people rate what "
            "they like, and such a threshold hardly tells good from bad"
        )


def _of_ties(ties: TimeTies, unit: str, rows: int, future: SplitPreview) -> Iterator[str]:
    least = min(share for share in future.fractions if share)
    if ties.largest > least * rows:
        yield (
            f"{ties.largest:,} rows ({_share(ties.largest, rows)}) have one time, {_when(ties.largest_at, unit)}: more "
            f"than a window of {format_percent(least)} can hold, and equal times are never parted"
        )
    if ties.bulk_users:
        users = plural(ties.bulk_users, "user has", "users have")
        yield (
            f"{users} more than {ties.bulk} rows within one second: entered in bulk, so that the order of a user's "
            "rows is arbitrary and leave-last splits draw by chance"
        )
    if ties.users_of_one_time > _SOME_USERS * ties.users_of_several_rows:
        share = _share(ties.users_of_one_time, ties.users_of_several_rows)
        yield (
            f"all rows of {plural(ties.users_of_one_time, 'user', 'users')} ({share} of those with several) have one "
            "time: there is no last one of them to hold out"
        )


def _of_future(future: SplitPreview) -> Iterator[str]:
    windows = {"train": future.train_rows, "validation": future.validation_rows, "test": future.test_rows}
    asked = dict(zip(windows, future.fractions, strict=True))
    empty = [name for name, rows in windows.items() if not rows and asked[name]]
    shown = "/".join(f"{100 * share:g}" for share in future.fractions)
    if empty:
        yield f"a temporal split of {shown} leaves {' and '.join(empty)} empty: too many rows have equal times"
        return
    under = f"have no row in training under a temporal split of {shown}"
    if future.unseen_users > _HALF * future.test_users:
        users = _of(future.unseen_users, future.test_users, "test users")
        yield f"{users} {under}: for them no model knows more than popularity"
    if future.unseen_items > _HALF * future.test_items:
        items = _of(future.unseen_items, future.test_items, "test items")
        yield f"{items} {under}: only models that know their content find them"


def _of(part: int, whole: int, what: str) -> str:
    return f"{part:,} of {whole:,} {what} ({_share(part, whole)})"


def describe_times(log: Log, now: datetime | None = None) -> TimeRange | None:
    """The range of the times, and how many cannot be right."""
    if log.time is None:
        return None
    first, last = int(log.time.min()), int(log.time.max())
    dates = format_time(first, log.unit), format_time(last, log.unit)
    per_second = PER_SECOND.get(log.unit)
    if per_second is None:
        return TimeRange(first, last, log.unit, *dates, None, 0, 0)
    early, late = (per_second * int(when.timestamp()) for when in (_EARLIEST, now or datetime.now(UTC)))
    days = (last - first) / (_SECONDS_A_DAY * per_second)
    return TimeRange(first, last, log.unit, *dates, days, int((log.time < early).sum()), int((log.time > late).sum()))


def count_ties(log: Log) -> TimeTies | None:
    """How far time leaves the order of rows open, of all and within users."""
    if log.time is None:
        return None
    ordered = np.sort(log.time)
    sizes = _sizes(ordered[1:] != ordered[:-1], ordered.size)
    largest_at = int(ordered[int(sizes[: int(sizes.argmax())].sum())])
    del ordered
    users, time = _by_user(log.user, log.time)
    own = _sizes((users[1:] != users[:-1]) | (time[1:] != time[:-1]), users.size)
    groups = np.bincount(users[np.cumsum(own) - 1], minlength=len(log.users))
    several = log.per_user >= 2
    return TimeTies(
        rows=int(sizes[sizes > 1].sum()),
        rows_within_users=int(own[own > 1].sum()),
        largest=int(sizes.max()),
        largest_at=largest_at,
        largest_of_user=int(own.max()),
        users_of_one_time=int((several & (groups == 1)).sum()),
        users_of_several_rows=int(several.sum()),
        bulk_users=_bulk_users(users, time, log.unit),
    )


def _by_user(user: Codes, time: Ints) -> tuple[Ints, Ints]:
    """Users and times of the rows, by user and then by time."""
    first = int(time.min())
    reach = int(time.max()) - first + 1
    if reach * (int(user.max()) + 1) >= 2**63:
        order = np.lexsort((time, user))
        return user[order].astype(np.int64), time[order]
    key = user.astype(np.int64) * reach
    key += time - first
    key.sort()
    users, times = np.divmod(key, reach)
    times += first
    return users, times


def _sizes(changes: Bools, n: int) -> Ints:
    """Of ordered rows how many each group has; ``changes``: where a row is unlike the one before it."""
    bounds = np.concatenate(([0], np.flatnonzero(changes) + 1, [n]))
    return np.diff(bounds).astype(np.int64)


def _bulk_users(users: Ints, time: Ints, unit: str) -> int:
    if unit not in PER_SECOND:
        return 0
    second = time // PER_SECOND[unit]
    sizes = _sizes((users[1:] != users[:-1]) | (second[1:] != second[:-1]), users.size)
    return int(np.unique(users[np.cumsum(sizes)[sizes > BULK] - 1]).size)


def preview_temporal_split(log: Log, fractions: Fractions) -> SplitPreview | None:
    """What a global temporal split would hold out; equal times are never parted."""
    if log.time is None:
        return None
    cuts = temporal_cutoffs(log.time, [fractions[0], fractions[0] + fractions[1]])
    train, test = log.time < cuts[0], log.time >= cuts[1]
    seen_users = np.bincount(log.user[train], minlength=len(log.users)) > 0
    seen_items = np.bincount(log.item[train], minlength=len(log.items)) > 0
    users, items = np.unique(log.user[test]), np.unique(log.item[test])
    unseen = ~seen_users[log.user[test]] | ~seen_items[log.item[test]]
    train_rows, test_rows = int(train.sum()), int(test.sum())
    return SplitPreview(
        fractions=tuple(map(float, fractions)),
        validation_from=cuts[0],
        test_from=cuts[1],
        train_rows=train_rows,
        validation_rows=len(log) - train_rows - test_rows,
        test_rows=test_rows,
        test_users=users.size,
        unseen_users=int((~seen_users[users]).sum()),
        test_items=items.size,
        unseen_items=int((~seen_items[items]).sum()),
        unseen_rows=int(unseen.sum()),
    )
