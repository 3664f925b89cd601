"""What an audit tells of time: its range, its ties, and what a temporal split would hold out unseen."""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from rankjury.core.types import Bools, Ints
from rankjury.core.validation import Record
from rankjury.recsys.data.log import Codes, Log
from rankjury.recsys.data.time_units import PER_SECOND
from rankjury.recsys.splitting.fractions import Fractions
from rankjury.recsys.splitting.temporal import cutoffs_at
from rankjury.recsys.splitting.timestamps import written_moment

BULK = 10
"""More rows of a user than this within one second were not made one by one."""
_EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
_SECONDS_A_DAY = 86_400


@dataclass(frozen=True)
class Times(Record):
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
class Ties(Record):
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
class Future(Record):
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


def times_of(log: Log, now: datetime | None = None) -> Times | None:
    """The range of the times, and how many cannot be right."""
    if log.time is None:
        return None
    first, last = int(log.time.min()), int(log.time.max())
    dates = written_moment(first, log.unit), written_moment(last, log.unit)
    per_second = PER_SECOND.get(log.unit)
    if per_second is None:
        return Times(first, last, log.unit, *dates, None, 0, 0)
    early, late = (per_second * int(when.timestamp()) for when in (_EARLIEST, now or datetime.now(UTC)))
    days = (last - first) / (_SECONDS_A_DAY * per_second)
    return Times(first, last, log.unit, *dates, days, int((log.time < early).sum()), int((log.time > late).sum()))


def ties_of(log: Log) -> Ties | None:
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
    return Ties(
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


def future_of(log: Log, fractions: Fractions) -> Future | None:
    """What a global temporal split would hold out; equal times are never parted."""
    if log.time is None:
        return None
    cuts = cutoffs_at(log.time, [fractions[0], fractions[0] + fractions[1]])
    train, test = log.time < cuts[0], log.time >= cuts[1]
    seen_users = np.bincount(log.user[train], minlength=len(log.users)) > 0
    seen_items = np.bincount(log.item[train], minlength=len(log.items)) > 0
    users, items = np.unique(log.user[test]), np.unique(log.item[test])
    unseen = ~seen_users[log.user[test]] | ~seen_items[log.item[test]]
    train_rows, test_rows = int(train.sum()), int(test.sum())
    return Future(
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
