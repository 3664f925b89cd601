"""Audit of a log before it is split or models are trained: what it holds, and what in it would leak or mislead."""

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
from rankjury.core.types import Floats, Ints, places_in
from rankjury.core.validation import Record, check_arguments
from rankjury.errors import DataError, UsageError
from rankjury.recsys.data.attributes import Attributes, read_items
from rankjury.recsys.data.log import Log, user_time_keys
from rankjury.recsys.data.movielens import find_companions
from rankjury.recsys.data.read import read_log
from rankjury.recsys.data.times import PER_SECOND, SECONDS_PER_DAY, format_time
from rankjury.recsys.split import Fractions, read_fractions
from rankjury.recsys.splitting.temporal import temporal_cutoffs
from rankjury.stats.formatting import format_percent

_BULK = 10
"""More rows of a user than this within one second were not made one by one."""
_EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
_MAX_VALUES, _BINS = 20, 10


@dataclass(frozen=True)
class TimeRange(Record):
    """The range of a log's times, and how many of them cannot be right."""

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
    """Rows that share it with another row of the same user."""
    largest: int
    """Rows of the most frequent time."""
    largest_at: int
    largest_of_user: int
    """The most rows of one user at one time."""
    users_of_one_time: int
    """Users with two rows or more, all of one time."""
    users_of_several_rows: int
    bulk_users: int
    """Users with more than ``bulk`` rows within one second."""
    bulk: int = _BULK


@dataclass(frozen=True)
class SplitPreview(Record):
    """A temporal split by fractions, the same for all users: rows before a time train, rows from another on test."""

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
    """Test rows of a user or an item that training lacks."""


@dataclass(frozen=True)
class CountSummary(Record):
    """Distribution of the numbers of rows per user or item."""

    min: int
    median: float
    mean: float
    max: int


@dataclass(frozen=True)
class AuditSide(Record):
    """Users, or items that have rows."""

    computed = ("cold_share",)

    n: int
    rows: CountSummary
    gini: float
    """Gini coefficient of the rows: 0 where all have equally many, near 1 where one has all."""
    top_share: float
    """Share of the rows that the most frequent fifth has; the fifth is rounded up."""
    cold: int
    """How many have fewer rows than the threshold."""

    @property
    def cold_share(self) -> float:
        """The share of cold users or items."""
        return self.cold / self.n if self.n else float("nan")


@dataclass(frozen=True)
class CatalogueCoverage(Record):
    """The catalogue: items that can be recommended, whether the log has them or not."""

    n: int
    never_taken: int
    unlisted: int
    """Items of the log that the file of items lacks."""
    gini: float
    """Over the catalogue and unlisted items; items without rows count as 0."""


@dataclass(frozen=True)
class HistogramBin(Record):
    """The number of values from ``low`` to below ``high``; the last bin includes its end; one value has no width."""

    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Ratings(Record):
    """Distribution of the ratings."""

    mean: float
    std: float
    """Of these rows: divided by their number."""
    lowest: float
    highest: float
    distinct: int
    high_from: float
    """The lowest high rating: the first that occurs at three quarters of the observed scale."""
    high_share: float
    histogram: tuple[HistogramBin, ...]


@dataclass(frozen=True)
class Audit(Record):
    """Counts and warnings of a log."""

    source: str
    rows: int
    users: AuditSide
    items: AuditSide
    catalogue: CatalogueCoverage | None
    """None where no list of items was given."""
    sparsity: float
    """Share of the (user, item) pairs of the log that have no row."""
    duplicate_pairs: int
    """Rows of a user and an item that an earlier row is of."""
    exact_duplicates: int
    """Those of them that repeat value and time as well."""
    ratings: Ratings | None
    """None where the log is implicit."""
    times: TimeRange | None
    ties: TimeTies | None
    future: SplitPreview | None
    """What a temporal split would hold out that training lacks."""
    cold: int
    """Users and items with fewer rows than this are cold."""
    warnings: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    """The warnings that follow from the counts, each in a few words with its count."""

    def __repr__(self) -> str:
        return (
            f"Audit({self.source}: {self.rows:,} rows, {self.users.n:,} users, {self.items.n:,} items. {self.sentence})"
        )

    @property
    def sentence(self) -> str:
        """What the log can be used for, and its risks: ``Usable; 2 risks: …``."""
        empty = self.future is not None and not (self.future.train_rows and self.future.test_rows)
        by_time = self.times is not None and self.times.first < self.times.last and not empty
        use = "Usable" if by_time else "Usable for random splits only"
        if not self.risks:
            return f"{use}; no risk found."
        return f"{use}; {plural(len(self.risks), 'risk', 'risks')}: {', '.join(self.risks)}."

    def to_json(self) -> dict[str, Any]:
        """Return all of it; undefined values are null."""
        return {"schema": "rankjury.audit/1", **super().to_json()}


@check_arguments
def audit(
    log: Any,
    *,
    items: Attributes | str | Path | None = None,
    cold: int = 10,
    fractions: tuple[float, float, float] = (0.8, 0.1, 0.1),
) -> Audit:
    """Count what a log holds, and warn of what in it would leak or mislead.

    Args:
        log: A path (a file, or a MovieLens folder such as ``ml-1m``), a Polars or pandas frame, or a Log.
        items: The catalogue: a path, or Attributes. Unset, it is the file of items in the folder that was given.
        cold: Users and items with fewer rows than this are cold.
        fractions: The shares of train, validation and test for the preview of a temporal split.

    Returns:
        The counts and warnings; ``to_json()`` gives all of them.

    Raises:
        UsageError: An argument is not one of these.
        DataError: The log or the catalogue cannot be read, or has no rows.

    Example:
        >>> rankjury.audit("ratings.csv").warnings
    """
    items = find_companions(log)[0] if items is None else items
    items = read_items(items) if isinstance(items, str | Path) else items
    log = log if isinstance(log, Log) else read_log(log)
    if cold < 0:
        raise UsageError(f"the threshold of cold users and items is {cold}", expected="0 or more")
    shares = read_fractions("/".join(map(str, fractions)))
    if not len(log):
        raise DataError("found no rows", where=log.source, expected="at least one interaction")
    users, of_items = (
        AuditSide(
            n=counts.size,
            rows=CountSummary(int(counts.min()), float(np.median(counts)), float(counts.mean()), int(counts.max())),
            gini=gini(counts),
            top_share=share_of_largest(counts, 0.2),
            cold=int((counts < cold).sum()),
        )
        for counts in (log.per_user[log.per_user > 0], log.per_item[log.per_item > 0])
    )
    duplicates, exact = _count_duplicates(log)
    result = Audit(
        source=log.source,
        rows=len(log),
        users=users,
        items=of_items,
        catalogue=_describe_catalogue(log, items),
        sparsity=1 - (len(log) - duplicates) / (users.n * of_items.n),
        duplicate_pairs=duplicates,
        exact_duplicates=exact,
        ratings=_describe_ratings(log) if log.rated else None,
        times=describe_times(log),
        ties=None if log.time is None else _count_ties(log, log.time),
        future=None if log.time is None else _preview_temporal_split(log, log.time, shares),
        cold=cold,
    )
    found = list(_warnings(result))
    texts, risks = (text for _, text in found), tuple(risk for risk, _ in found)
    return replace(result, warnings=(*log.notes, *texts), risks=risks)


def gini(counts: Ints) -> float:
    """Return the Gini coefficient, which says how unequal counts are.

    Formula: Σ (2i − n − 1) xᵢ / (n Σ x), xᵢ ascending, i from 1 to n; 0 where all are equal, (n − 1)/n where one has
    all. NaN where all are 0.
    """
    n, total = counts.size, int(counts.sum())
    if not total:
        return float("nan")
    ordered = np.sort(counts).astype(np.float64)
    return float((2 * np.arange(1, n + 1) - n - 1) @ ordered / (n * total))


def share_of_largest(counts: Ints, top: float) -> float:
    """Return the share of the total that the largest counts have; ``top`` is their share, rounded up."""
    many = max(1, ceil(round(top * counts.size, 9)))
    return float(np.sort(counts)[::-1][:many].sum() / counts.sum())


def _count_duplicates(log: Log) -> tuple[int, int]:
    """Return how many rows repeat the pair of another row, and how many of them repeat value and time as well."""
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


def _describe_catalogue(log: Log, items: Attributes | None) -> CatalogueCoverage | None:
    taken = log.per_item > 0
    if items is None:
        never = int((~taken).sum())
        return CatalogueCoverage(taken.size, never, 0, gini(log.per_item)) if never else None
    listed = places_in(log.items, items.ids)
    known = np.zeros(taken.size, dtype=bool)
    known[listed[listed >= 0]] = True
    never = len(items) - int((known & taken).sum())
    counts = np.concatenate((log.per_item[taken], np.zeros(never, dtype=np.int64)))
    return CatalogueCoverage(len(items), never, int((taken & ~known).sum()), gini(counts))


def _describe_ratings(log: Log) -> Ratings:
    values, counts = np.unique(log.value, return_counts=True)
    low, high = float(values[0]), float(values[-1])
    limit = low + 0.75 * (high - low)  # 4 on a scale of 1 to 5
    high_from = float(values[np.searchsorted(values, limit - 1e-9 * max(1.0, abs(high)))])
    return Ratings(
        mean=float(log.value.mean()),
        std=float(log.value.std()),
        lowest=low,
        highest=high,
        distinct=values.size,
        high_from=high_from,
        high_share=float(counts[values >= high_from].sum() / len(log)),
        histogram=histogram(values, counts),
    )


def histogram(values: Floats, counts: Ints) -> tuple[HistogramBin, ...]:
    """Return a bin per distinct value, or bins of equal width where there are many; values are ascending."""
    if values.size <= _MAX_VALUES:
        return tuple(HistogramBin(value, value, n) for value, n in zip(values.tolist(), counts.tolist(), strict=True))
    numbers, edges = np.histogram(values, bins=_BINS, weights=counts)
    bins = zip(edges[:-1].tolist(), edges[1:].tolist(), numbers.tolist(), strict=True)
    return tuple(HistogramBin(low, high, round(n)) for low, high, n in bins)


def describe_times(log: Log, now: datetime | None = None) -> TimeRange | None:
    """Return the range of the times, and how many are too early or in the future; None for a log without times."""
    if (time := log.time) is None:
        return None
    first, last = int(time.min()), int(time.max())
    dates = format_time(first, log.unit), format_time(last, log.unit)
    per_second = PER_SECOND.get(log.unit)
    if per_second is None:
        return TimeRange(first, last, log.unit, *dates, None, 0, 0)
    early, late = (per_second * int(moment.timestamp()) for moment in (_EARLIEST, now or datetime.now(UTC)))
    days = (last - first) / (SECONDS_PER_DAY * per_second)
    return TimeRange(first, last, log.unit, *dates, days, int((time < early).sum()), int((time > late).sum()))


def _count_ties(log: Log, time: Ints) -> TimeTies:
    """Return how far time leaves the order of rows open, of all rows and within users."""
    ordered = np.sort(time)
    sizes = _group_sizes(ordered)
    largest_at = int(ordered[int(sizes[: int(sizes.argmax())].sum())])
    del ordered
    keys, span, time_of = user_time_keys(log, time)
    keys.sort()
    users, times = np.divmod(keys, span)
    times = time_of(times)
    within = _group_sizes(users, times)
    times_per_user = np.bincount(users[np.cumsum(within) - 1], minlength=len(log.users))
    several = log.per_user >= 2
    bulk_users = 0
    if log.unit in PER_SECOND:
        per_second = _group_sizes(users, times // PER_SECOND[log.unit])
        bulk_users = int(np.unique(users[np.cumsum(per_second)[per_second > _BULK] - 1]).size)
    return TimeTies(
        rows=int(sizes[sizes > 1].sum()),
        rows_within_users=int(within[within > 1].sum()),
        largest=int(sizes.max()),
        largest_at=largest_at,
        largest_of_user=int(within.max()),
        users_of_one_time=int((several & (times_per_user == 1)).sum()),
        users_of_several_rows=int(several.sum()),
        bulk_users=bulk_users,
    )


def _group_sizes(*ordered: Ints) -> Ints:
    """Return the sizes of groups of equal neighbouring rows."""
    changes = np.logical_or.reduce([column[1:] != column[:-1] for column in ordered])
    return np.diff(np.flatnonzero(changes) + 1, prepend=0, append=ordered[0].size).astype(np.int64)


def _preview_temporal_split(log: Log, time: Ints, fractions: Fractions) -> SplitPreview:
    """Return what a temporal split would hold out; rows of one time stay together."""
    validation_from, test_from = temporal_cutoffs(time, [fractions[0], fractions[0] + fractions[1]])
    train, test = time < validation_from, time >= test_from
    seen_users = np.bincount(log.user[train], minlength=len(log.users)) > 0
    seen_items = np.bincount(log.item[train], minlength=len(log.items)) > 0
    users, items = np.unique(log.user[test]), np.unique(log.item[test])
    unseen = ~seen_users[log.user[test]] | ~seen_items[log.item[test]]
    train_rows, test_rows = int(train.sum()), int(test.sum())
    return SplitPreview(
        fractions=tuple(map(float, fractions)),
        validation_from=validation_from,
        test_from=test_from,
        train_rows=train_rows,
        validation_rows=len(log) - train_rows - test_rows,
        test_rows=test_rows,
        test_users=users.size,
        unseen_users=int((~seen_users[users]).sum()),
        test_items=items.size,
        unseen_items=int((~seen_items[items]).sum()),
        unseen_rows=int(unseen.sum()),
    )


def _warnings(result: Audit) -> Iterator[tuple[str, str]]:
    """Yield risks in a few words, each with a warning: what was counted and what follows from it."""
    if result.duplicate_pairs > 0.01 * result.rows:
        exact = f", {result.exact_duplicates:,} of them in full" if result.exact_duplicates else ""
        share = format_percent(result.duplicate_pairs / result.rows, 1)
        yield (
            f"repeated pairs of user and item ({share} of rows)",
            f"{plural(result.duplicate_pairs, 'row repeats', 'rows repeat')} a user and an item of another row "
            f"({share}{exact}): a random split would test what it "
            "trains on, and of each pair only the latest row counts",
        )
    elif result.exact_duplicates:
        rows = plural(result.exact_duplicates, "row repeats another", "rows repeat others")
        yield plural(result.exact_duplicates, "repeated row", "repeated rows"), f"{rows} in full"
    if result.users.n < 30:
        users = plural(result.users.n, "user", "users")
        yield f"only {users}", f"{users} only: intervals over users will be wide, if there are any"
    unlisted = 0 if result.catalogue is None else result.catalogue.unlisted
    if unlisted == result.items.n:
        yield (
            "no item of the log is in the items file",
            "not one item of the log is in the file of items: are the ids of another kind?",
        )
    elif unlisted:
        items = plural(unlisted, "item of the log is", "items of the log are")
        yield (
            f"{plural(unlisted, 'item', 'items')} not in the items file",
            f"{items} not in the file of items: with that as catalogue they are candidates of their takers alone",
        )
    if result.ratings is not None:
        yield from _rating_warnings(result.ratings)
    times = result.times
    if times is None:
        yield (
            "no times",
            "no column of times (--time COLUMN names one): it can only be split at random, and models then learn from "
            "what came later",
        )
    elif times.first == times.last:
        yield (
            "one time for all rows",
            f"all rows have one time ({_when(times.first, times.unit)}): nothing can be split by time",
        )
    elif result.ties is not None and result.future is not None:
        if not times.unit:
            yield "times without dates", "times are plain numbers: they order rows, but are not dates"
        for count, what in (
            (times.future, f"from the future (until {_when(times.last, times.unit)})"),
            (times.early, f"from before 1990 (from {_when(times.first, times.unit)} on)"),
        ):
            if count:
                rows = plural(count, "row", "rows")
                yield f"{rows} {what.partition(' (')[0]}", f"{rows} {'is' if count == 1 else 'are'} {what}"
        yield from _tie_warnings(result.ties, times.unit, result.rows, result.future)
        yield from _preview_warnings(result.future)


def _when(time: int, unit: str) -> str:
    return format_time(time, unit) or f"{time:,}"


def _rating_warnings(ratings: Ratings) -> Iterator[tuple[str, str]]:
    if ratings.lowest == ratings.highest:
        yield "equal ratings", f"all ratings are {ratings.lowest:g}: they say no more than that an item was taken"
        return
    if ratings.lowest < 0:
        yield (
            f"ratings down to {ratings.lowest:g}",
            f"ratings go down to {ratings.lowest:g}: those below 0 are taken as such, which gain nothing; if they mean "
            "that something was not rated, take them out",
        )
    elif ratings.highest <= 1:
        yield (
            f"ratings of at most {ratings.highest:g}",
            f"ratings lie between {ratings.lowest:g} and {ratings.highest:g}: a threshold for scales of stars, such as "
            "rel=4, finds nothing relevant",
        )
    if ratings.high_share >= 0.75:
        yield (
            f"{format_percent(ratings.high_share, 1)} of ratings are {ratings.high_from:g} or more",
            f"{format_percent(ratings.high_share, 1)} of ratings are {ratings.high_from:g} or more: people rate what "
            "they like, and such a threshold hardly distinguishes good from bad",
        )


def _tie_warnings(ties: TimeTies, unit: str, rows: int, preview: SplitPreview) -> Iterator[tuple[str, str]]:
    smallest = min(share for share in preview.fractions if share)
    if ties.largest > smallest * rows:
        yield (
            f"{ties.largest:,} rows of one time",
            f"{ties.largest:,} rows ({format_percent(ties.largest / rows, 1)}) have one time, "
            f"{_when(ties.largest_at, unit)}: more than a window of {format_percent(smallest)} can hold, and equal "
            "times are never separated",
        )
    if ties.bulk_users:
        users = plural(ties.bulk_users, "user has", "users have")
        yield (
            f"bulk entries of {plural(ties.bulk_users, 'user', 'users')}",
            f"{users} more than {ties.bulk} rows within one second: entered in bulk, so that the order of a user's "
            "rows is arbitrary and leave-last splits draw by chance",
        )
    if ties.users_of_one_time > 0.1 * ties.users_of_several_rows:
        share = format_percent(ties.users_of_one_time / ties.users_of_several_rows, 1)
        yield (
            f"{plural(ties.users_of_one_time, 'user', 'users')} with one time",
            f"all rows of {plural(ties.users_of_one_time, 'user', 'users')} ({share} of those with several) have one "
            "time: there is no last one of them to hold out",
        )


def _preview_warnings(preview: SplitPreview) -> Iterator[tuple[str, str]]:
    windows = {"train": preview.train_rows, "validation": preview.validation_rows, "test": preview.test_rows}
    wanted = dict(zip(windows, preview.fractions, strict=True))
    empty = [name for name, rows in windows.items() if not rows and wanted[name]]
    shown = "/".join(f"{100 * share:g}" for share in preview.fractions)
    if empty:
        left = f"a temporal split of {shown} leaves {' and '.join(empty)} empty"
        yield left, f"{left}: too many rows have equal times"
        return
    for unseen, tested, what, follows in (
        (preview.unseen_users, preview.test_users, "users", "for them no model knows more than popularity"),
        (preview.unseen_items, preview.test_items, "items", "only models that know their content find them"),
    ):
        if unseen > 0.5 * tested:
            yield (
                f"{unseen:,} of {tested:,} test {what} are new",
                f"{unseen:,} of {tested:,} test {what} ({format_percent(unseen / tested, 1)}) have no row in training "
                f"under a temporal split of {shown}: {follows}",
            )
