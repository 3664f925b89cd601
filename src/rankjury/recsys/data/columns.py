"""How others call the columns of a log: who, what, how much, when."""

from collections.abc import Mapping, Sequence

import polars as pl

from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.recsys.data.log import ITEM, TIME, USER, VALUE

COLUMNS = (USER, ITEM, VALUE, TIME)
NO_COLUMN = "none"
_USUAL = {
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
    """Which of the columns hold user, item, value and time; the last two may be missing, those ``given`` may not.

    A value or a time that is given as ``none`` is not looked for.
    """
    given, absent = _parted(names, given)
    for name in given.values():
        if name not in names:
            raise UnknownName("column", name, names, where=where)
    found = dict(given)
    for column in COLUMNS:
        if column not in found and column not in absent:
            match = _usual(names, column, set(found.values()))
            found |= {column: match} if match else {}
    twice = next((name for name in found.values() if list(found.values()).count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"the column {twice!r} was named for two things", where=where, expected="a column for each")
    missing = [column for column in (USER, ITEM) if column not in found]
    if missing:
        raise DataError(
            f"found the columns {', '.join(names)}; none for {' and '.join(missing)}",
            where=where,
            expected="a header with user, item, and perhaps rating and timestamp",
            hint="Name the columns, or is the header missing?",
        )
    return {column: found[column] for column in COLUMNS if column in found}


def names_columns(names: Sequence[str], given: Mapping[str, str]) -> bool:
    """Whether these cells are a header: they have the columns that were named, or the usual ones of user and item."""
    given, _ = _parted(names, given)
    if any(name not in names for name in given.values()):
        return False
    return all(column in given or _usual(names, column, set()) is not None for column in (USER, ITEM))


def _parted(names: Sequence[str], given: Mapping[str, str]) -> tuple[dict[str, str], set[str]]:
    """The columns that were named, and those of which it was said that there are none."""
    absent = {one for one in (VALUE, TIME) if given.get(one) == NO_COLUMN and NO_COLUMN not in names}
    return {column: name for column, name in given.items() if column not in absent}, absent


def usual_id(names: Sequence[str], column: str) -> str | None:
    """The column of users or items in a table, by the names that logs have for it."""
    return _usual(names, column, set())


def as_whole(ids: pl.Series) -> pl.Series:
    """Whole numbers that were kept as floats, as pandas keeps what has gaps, as such; other ids as they are."""
    if not ids.dtype.is_float() or not (ids.is_null() | ids.is_nan() | (ids == ids.round())).all():
        return ids
    known = ids.fill_nan(None)
    whole = known.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == known.null_count() else ids


def _usual(names: Sequence[str], column: str, taken: set[str]) -> str | None:
    folded = {_folded(name): name for name in reversed(names) if name not in taken}
    return next((folded[name] for name in _USUAL[column] if name in folded), None)


def _folded(name: str) -> str:
    """``userid`` of userId, user_id and user-id; and of user_id:token, as RecBole writes it."""
    plain = name.partition(":")[0].strip().lower()
    return plain.replace("_", "").replace("-", "").replace(" ", "")
