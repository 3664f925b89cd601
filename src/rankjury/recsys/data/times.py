"""Times of a log: parse columns of any type to integers of one unit, and parse and format single times."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from math import ceil

import numpy as np
import polars as pl

from rankjury.errors import DataError, UsageError

_UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_PLAIN_BELOW = 1e8
"""Where no time is as late as March 1973 in seconds, they are plain numbers, such as steps."""
_FINER = {"s": ("us", 1e6), "ms": ("us", 1e3), "us": ("ns", 1e3), "ns": ("ns", 1.0), "": ("", 1e6)}
_DAYS = (19000101, 21001231)
_DAY = 86400
_NAIVE = (
    *("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M"),
    *("%Y/%m/%d %H:%M:%S%.f", "%Y/%m/%d"),
)
_ZONED = ("%+", "%Y-%m-%d %H:%M:%S%.f %#z", "%Y-%m-%d %H:%M:%S%.f%#z")
_UTC = r"(?i)\s*(?:UTC|GMT|Z)$"
"""The only names of time zones that are understood; others mean different things in different places."""
_EXPECTED = "seconds, milliseconds, microseconds or nanoseconds since 1970, or dates such as 2020-01-31 12:00:00"
Place = Callable[[int], str]


@dataclass(frozen=True)
class ParsedTimes:
    """Whole numbers, and of what."""

    values: pl.Series
    unit: str
    notes: tuple[str, ...] = ()


def read_times(column: pl.Series, name: str, place: Place) -> ParsedTimes:
    """Times of any kind; ``place`` tells where a row stands."""
    if column.null_count():
        row = int(column.is_null().arg_max() or 0)
        raise DataError(f"no {name}", where=place(row), expected="a time in every row")
    if column.dtype == pl.String:
        return _of_texts(column, name, place)
    if isinstance(column.dtype, pl.Datetime):
        return _of_moments(column, column.dtype.time_unit)
    if column.dtype == pl.Date:
        return ParsedTimes(column.to_physical().cast(pl.Int64) * _DAY, "s")
    if column.dtype.is_integer():
        numbers = column.cast(pl.Int64, strict=False)
        if numbers.null_count():  # beyond 64 bits
            row = int(numbers.is_null().arg_max() or 0)
            raise DataError(f"the {name} is {column[row]}", where=place(row), expected=_EXPECTED)
        return _of_numbers(numbers, name, place)
    if column.dtype.is_float():
        return _of_floats(column.cast(pl.Float64), name, place)
    raise DataError(f"{name} is of type {column.dtype}", where=place(0), expected=_EXPECTED)


def format_of(text: str) -> str | None:
    """The format, as Polars writes it, of a date without a time zone; None where it is in none of the usual ones."""
    one = pl.Series([text])
    return next((form for form in _NAIVE if not one.str.to_datetime(form, strict=False).null_count()), None)


def _of_texts(column: pl.Series, name: str, place: Place) -> ParsedTimes:
    texts = column.str.strip_chars()
    whole = texts.cast(pl.Int64, strict=False)
    if not whole.null_count():
        return _of_numbers(whole, name, place)
    numbers = texts.cast(pl.Float64, strict=False)
    if not numbers.null_count():
        return _of_floats(numbers, name, place)
    naive, zoned = _parsed(texts, _NAIVE), None
    if naive.null_count():
        zoned = _parsed(texts.str.replace(_UTC, "+00:00"), _ZONED)
        naive = naive if zoned.null_count() else zoned
    if naive.null_count():
        raise _no_time(texts, numbers, naive, zoned, name, place)
    return _of_moments(naive, "us")


def _of_moments(column: pl.Series, unit: str) -> ParsedTimes:
    """In seconds where all are whole ones, else in the unit that they have."""
    values, per_second = column.to_physical(), PER_SECOND[unit]
    whole = (values % per_second == 0).all()
    return ParsedTimes(values // per_second, "s") if whole else ParsedTimes(values, unit)


def _parsed(texts: pl.Series, formats: tuple[str, ...]) -> pl.Series:
    """As points in time; null where no format fits."""
    found = pl.Series(texts.name, [None], dtype=pl.Datetime("us")).new_from_index(0, len(texts))
    for form in formats:
        one = texts.str.to_datetime(form, strict=False, time_unit="us").dt.replace_time_zone(None)
        found = found.zip_with(found.is_not_null(), one)
        if not found.null_count():
            break
    return found


def _no_time(
    texts: pl.Series, numbers: pl.Series, naive: pl.Series, zoned: pl.Series | None, name: str, place: Place
) -> DataError:
    """The error for the first text that is no time, or unlike most others."""
    bad = naive.is_null() & numbers.is_null()
    if zoned is not None:
        bad = bad & zoned.is_null()
    if bad.any():
        row = int(bad.arg_max() or 0)
        return DataError(f"the {name} is {texts[row]!r}", where=place(row), expected=_EXPECTED)
    kinds = {"as numbers": numbers.is_not_null(), "as dates": naive.is_not_null()}
    if zoned is not None:
        kinds |= {"as dates with a time zone": zoned.is_not_null()}
    return _mixed(texts, {kind: which for kind, which in kinds.items() if which.any()}, name, place)


def _of_floats(column: pl.Series, name: str, place: Place) -> ParsedTimes:
    bad = ~column.is_finite()
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise DataError(f"the {name} is {column[row]}", where=place(row), expected=_EXPECTED)
    if (column == column.round()).all() and float(column.abs().max() or 0) < 2**63:  # type: ignore[arg-type]
        return _of_numbers(column.cast(pl.Int64), name, place)
    unit = _unit(column, name, place)
    finer, factor = _FINER[unit]
    notes = () if unit else (f"{name}: plain numbers with fractions, taken a million times",)
    values = (column * factor).round().cast(pl.Int64, strict=False)
    if values.null_count():
        row = int(values.is_null().arg_max() or 0)
        raise DataError(f"the {name} is {column[row]:g}", where=place(row), expected=_EXPECTED)
    return ParsedTimes(values, finer, notes)


def _of_numbers(column: pl.Series, name: str, place: Place) -> ParsedTimes:
    low, high = _ends(column)
    if low >= _DAYS[0] and high <= _DAYS[1]:
        days = column.cast(pl.String).str.to_date("%Y%m%d", strict=False)
        if not days.null_count():
            note = f"{name}: whole numbers such as {column[0]} were read as dates"
            return ParsedTimes(days.to_physical().cast(pl.Int64) * _DAY, "s", (note,))
    return ParsedTimes(column, _unit(column, name, place))


def _ends(column: pl.Series) -> tuple[float, float]:
    return float(column.min() or 0), float(column.max() or 0)  # type: ignore[arg-type]


def _unit(column: pl.Series, name: str, place: Place) -> str:
    """The one unit that all have by their magnitude; empty for plain numbers. A zero may be of any."""
    low, high = _ends(column)
    size = max(abs(low), abs(high))
    if size < _PLAIN_BELOW:
        return ""
    found = unit_of(size)
    if found == "s" or (unit_of(min(abs(low), abs(high))) == found and (low > 0 or high < 0)):
        return found
    kinds: dict[str, pl.Series] = {}
    size_of, low_end = column.abs(), 0.0
    for unit, until in UNTIL.items():
        which = (size_of > low_end if unit == "s" else size_of >= low_end) & (size_of < until)
        kinds |= {f"in {_UNITS[unit]}": which} if which.any() else {}
        low_end = until
    if len(kinds) > 1:
        raise _mixed(column, kinds, name, place)
    return found


def _mixed(column: pl.Series, kinds: dict[str, pl.Series], name: str, place: Place) -> DataError:
    """The error for times of several kinds in one file: how many there are of each, and where the first stands."""
    told = []
    for kind, which in kinds.items():
        row = int(which.arg_max() or 0)
        told.append(f"{int(which.sum()):,} {kind} (first {column[row]} at {place(row)})")
    return DataError(
        f"{name} is of several kinds: {', '.join(told)}",
        expected="times of one kind",
        hint="Bring them to one unit: their order would be wrong otherwise.",
    )


"""Units of time: how many of each a second has, and which of them a number is of."""

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
UNTIL = {"s": 1e11, "ms": 1e14, "us": 1e17, "ns": float("inf")}
"""Magnitudes: seconds reach to the year 5138, milliseconds begin in March 1973, and so on."""


def unit_of(number: float) -> str:
    """Of which unit a number since 1970 is, by its magnitude."""
    return next(unit for unit, until in UNTIL.items() if abs(number) < until)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_A_DAY = 86_400
_MOST_DAYS = 100_000
"""Longer than any log, and in nanoseconds still a 64-bit integer."""
_WITHIN = 2**63
_CALENDAR = re.compile(r"(19|20)\d\d((0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01]))?")
"""A year, or a day without anything between its parts."""


def format_time(time: int, unit: str) -> str | None:
    """``2003-02-28T17:49:50Z``; None where times are plain numbers, or beyond what the unit can tell."""
    if unit not in PER_SECOND or abs(time) >= _WITHIN:
        return None
    return str(np.datetime_as_string(np.array(time).astype(f"datetime64[{unit}]"), timezone="UTC"))


def parse_time(text: str, unit: str, what: str) -> int:
    """A number as logs have them, or an ISO date or time (UTC unless it says otherwise), as a time of the log.

    Between two times of the log it is the later one. Where times are dates, a number is of the unit that its magnitude
    tells, as when a log is read: 2020 is a year, 20201231 a day, others are seconds, milliseconds … since 1970.
    """
    text = text.strip()
    number = _number(text)
    if number is not None and unit not in PER_SECOND:
        return ceil(number)
    if number is not None and not _CALENDAR.fullmatch(text):
        return ceil(number * PER_SECOND[unit] / PER_SECOND[unit_of(float(number))])
    try:
        moment = datetime.fromisoformat(f"{text}-01-01" if len(text) == 4 else text)
    except ValueError:
        raise UsageError(f"{what} is {text!r}", expected="a date like 2000-12-31, or a number") from None
    if unit not in PER_SECOND:
        raise UsageError(f"{what} is {text!r}, where times are plain numbers", expected="a number")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    micros = (moment - _EPOCH) // timedelta(microseconds=1)
    return -(-micros * PER_SECOND[unit] // 10**6)


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number) < _WITHIN else None


def days_to_units(days: float, unit: str) -> int:
    """How long so many days are in the log's unit, at least one."""
    if unit not in PER_SECOND:
        raise UsageError("days, where times are plain numbers", expected="a share of the rows")
    if not abs(days) < _MOST_DAYS:
        raise UsageError(f"{days:g} days", expected=f"fewer than {_MOST_DAYS:,}")
    return max(1, round(days * _SECONDS_A_DAY * PER_SECOND[unit]))
