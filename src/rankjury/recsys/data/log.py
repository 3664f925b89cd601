"""Log: interactions of users and items, with values, times and integer codes of ids; and detection of its columns."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.types import Bools, Floats, Ints, freeze, names_of, places_in
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UnknownName, UsageError

USER, ITEM, VALUE, TIME = "user", "item", "value", "time"
"""Columns of a log's frame."""
COLUMNS = (USER, ITEM, VALUE, TIME)
Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class UserItems:
    """Distinct items of each user (CSR), ascending."""

    starts: Ints
    items: Codes
    values: Floats
    dropped: int
    """Number of rows that duplicate the pair of another row."""

    def __post_init__(self) -> None:
        freeze(self)


@dataclass(frozen=True, eq=False)
class Log:
    """Interaction log with one row per interaction. Windows of a log share its ids, so that codes are comparable."""

    users: pl.Series
    """Distinct ids, ascending as strings; a row's ``user`` is an index into them."""
    items: pl.Series
    user: Codes
    item: Codes
    value: Floats
    """The rating, or 1 if there is none."""
    time: Ints | None = None
    unit: str = "s"
    """Unit of ``time``: s, ms, us or ns since 1970; empty if times are plain numbers."""
    rated: bool = True
    """Whether the log has values."""
    source: str = "log"
    notes: tuple[str, ...] = ()
    """Warnings from reading the log."""

    def __post_init__(self) -> None:
        freeze(self)

    def __len__(self) -> int:
        return len(self.user)

    def __repr__(self) -> str:
        return f"Log({self.source}: {len(self):,} rows, {len(self.users):,} users, {len(self.items):,} items)"

    @check_arguments
    def take(self, rows: Ints | Bools) -> "Log":
        """Return the log with some of the rows; users and items keep their codes."""
        time = None if self.time is None else self.time[rows]
        return replace(self, user=self.user[rows], item=self.item[rows], value=self.value[rows], time=time)

    @check_arguments
    def with_items(self, ids: pl.Series) -> "Log":
        """Return the log with these items added to its items, even if no row has them."""
        items, item = _extended(self.items, names_of(ids, "the items"), self.item)
        return replace(self, items=items, item=item)

    def with_users(self, ids: pl.Series) -> "Log":
        """Return the log with these users added to its users, even if no row has them."""
        users, user = _extended(self.users, ids, self.user)
        return replace(self, users=users, user=user)

    def frame(self) -> pl.DataFrame:
        """Return the rows as a Polars frame: user, item, value, time."""
        columns = {USER: self.users.gather(self.user), ITEM: self.items.gather(self.item), VALUE: self.value}
        return pl.DataFrame(columns if self.time is None else columns | {TIME: self.time})

    @cached_property
    def per_user(self) -> Ints:
        """Number of rows of each user."""
        return np.bincount(self.user, minlength=len(self.users)).astype(np.int64)

    @cached_property
    def per_item(self) -> Ints:
        """Number of rows of each item."""
        return np.bincount(self.item, minlength=len(self.items)).astype(np.int64)

    @cached_property
    def pairs(self) -> UserItems:
        """Each (user, item) pair once: its latest row; of rows with equal times, the one with the highest value."""
        key = self.user.astype(np.int64) * max(1, len(self.items)) + self.item
        if (key[1:] > key[:-1]).all():
            order = np.arange(key.size)
            last = np.ones(key.size, dtype=bool)
        else:
            order = np.lexsort((self.value, key) if self.time is None else (self.value, self.time, key))
            key = key[order]
            last = np.append(key[1:] != key[:-1], True)[: key.size]
        chosen = order[last]
        starts = np.searchsorted(self.user[chosen], np.arange(len(self.users) + 1)).astype(np.int64)
        return UserItems(starts, self.item[chosen], self.value[chosen], int(key.size - chosen.size))


def user_time_keys(log: Log, time: Ints) -> tuple[Ints, int, Callable[[Ints], Ints]]:
    """Return a sort key per row by user and time, its factor, and a function from remainder to time."""
    first, span = int(time.min()), int(time.max()) - int(time.min()) + 1
    keys: Ints = log.user.astype(np.int64)
    if span * len(log.users) < 2**63:
        keys *= span
        keys += time - first
        return keys, span, lambda places: places + first
    distinct, places = np.unique(time, return_inverse=True)
    keys *= distinct.size
    keys += places
    return keys, distinct.size, lambda places: distinct[places]


def _extended(ids: pl.Series, more: pl.Series, codes: Codes) -> tuple[pl.Series, Codes]:
    """Return the extended, ascending ids, and the codes of the rows among them."""
    extended = pl.concat([ids, more.rename(ids.name)]).unique().sort()
    return extended, places_in(extended, ids).astype(np.int32)[codes]


def log_from_frame(frame: pl.DataFrame, *, source: str = "log", unit: str = "s", notes: tuple[str, ...] = ()) -> Log:
    """Return a log from a checked frame: user and item as strings or whole numbers, value and time optional."""
    users, user = _coded(frame[USER])
    items, item = _coded(frame[ITEM])
    rated = VALUE in frame.columns
    value = frame[VALUE].cast(pl.Float64).to_numpy() if rated else np.ones(len(frame))
    time = frame[TIME].cast(pl.Int64).to_numpy() if TIME in frame.columns else None
    return Log(users, items, user, item, value, time, unit, rated, source, notes)


def _coded(ids: pl.Series) -> tuple[pl.Series, Codes]:
    """Return the distinct ids in string order, and the index of each row's id among them."""
    distinct = ids.unique()
    spelled = distinct.cast(pl.String)
    order = spelled.arg_sort()
    ordered = distinct.gather(order)
    codes = ids.replace_strict(ordered, np.arange(len(ordered), dtype=np.int32), return_dtype=pl.Int32)
    return spelled.gather(order), codes.to_numpy()


NO_COLUMN = "none"
"""Column name that means that a log has no values or no times."""
_COMMON_NAMES = {
    USER: (
        *("user", "userid", "uid", "useridx", "userindex", "customerid", "customer", "visitorid", "memberid"),
        *("reviewerid", "profileid", "accountid", "subscriberid", "playerid", "listenerid", "sessionid", "session"),
    ),
    ITEM: (
        *("item", "itemid", "iid", "itemidx", "itemindex", "movieid", "movie", "productid", "product", "asin"),
        *("parentasin", "sku", "bookid", "isbn", "trackid", "songid", "artistid", "articleid", "newsid", "videoid"),
        *("businessid", "gameid", "animeid", "recipeid", "showid", "docid", "documentid", "contentid", "hotelid"),
    ),
    VALUE: (
        *("rating", "value", "score", "grade", "stars", "overall", "preference", "weight", "label"),
        *("playcount", "plays", "listens", "count"),
    ),
    TIME: (
        *("timestamp", "ts", "time", "date", "datetime", "unixtime", "unixreviewtime", "unixtimestamp", "eventtime"),
        *("createdat", "created", "ratedat", "updatedat", "dateadded", "reviewdate", "reviewtime"),
    ),
}


def find_columns(names: Sequence[str], given: Mapping[str, str], where: str) -> dict[str, str]:
    """Return the columns of user, item, value and time; value and time are optional unless they are ``given``.

    A value or a time given as ``none`` is not searched for.
    """
    if not names:
        raise DataError("found no rows", where=where, expected="one row per interaction")
    given, absent = _named_and_absent(names, given)
    for name in given.values():
        if name not in names:
            raise UnknownName("column", name, names, where=where)
    found = dict(given)
    for column in COLUMNS:
        if column not in found and column not in absent:
            match = find_column(names, column, found.values())
            found |= {column: match} if match else {}
    duplicate = next((name for name in found.values() if list(found.values()).count(name) > 1), None)
    if duplicate is not None:
        found_twice = f"the column {duplicate!r} was given twice"
        raise UsageError(found_twice, where=where, expected="one column each")
    missing = [column for column in (USER, ITEM) if column not in found]
    if missing:
        raise DataError(
            f"found the columns {', '.join(names)}; none for {' and '.join(missing)}",
            where=where,
            expected="a header with user, item, and perhaps rating and timestamp",
            hint="Name the columns (--user, --item; in Python user=, item=), or add the missing header.",
            plan_hint="Name the columns (user and item under [gold]), or add the missing header.",
        )
    return {column: found[column] for column in COLUMNS if column in found}


def is_header(names: Sequence[str], given: Mapping[str, str]) -> bool:
    """Return whether these cells are a header: with the ``given`` columns, or common names of user and item."""
    given, _ = _named_and_absent(names, given)
    if any(name not in names for name in given.values()):
        return False
    return all(column in given or find_column(names, column) is not None for column in (USER, ITEM))


def _named_and_absent(names: Sequence[str], given: Mapping[str, str]) -> tuple[dict[str, str], set[str]]:
    """Return the given columns, and those given as absent."""
    absent = {column for column in (VALUE, TIME) if given.get(column) == NO_COLUMN and NO_COLUMN not in names}
    return {column: name for column, name in given.items() if column not in absent}, absent


def find_column(names: Sequence[str], column: str, taken: Collection[str] = ()) -> str | None:
    """Return the first of these names, except those ``taken``, that is a common name of a column.

    ``userid`` also matches userId, user_id and user-id; and user_id:token, as in RecBole.
    """
    folded = {
        name.partition(":")[0].strip().lower().replace("_", "").replace("-", "").replace(" ", ""): name
        for name in reversed(names)
        if name not in taken
    }
    return next((folded[name] for name in _COMMON_NAMES[column] if name in folded), None)


def as_whole(ids: pl.Series) -> pl.Series:
    """Return whole floats as integers (pandas stores columns with gaps as floats); other ids unchanged."""
    if not ids.dtype.is_float() or not (ids.is_null() | ids.is_nan() | (ids == ids.round())).all():
        return ids
    known = ids.fill_nan(None)
    whole = known.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == known.null_count() else ids
