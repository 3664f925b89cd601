"""Times of a log: parsing of columns of any type to integers of one unit; parsing and formatting of single times."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from math import ceil

import numpy as np
import polars as pl

from rankjury.errors import DataError, UsageError

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
SECONDS_PER_DAY = 86_400
_UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_BELOW = {"s": 1e11, "ms": 1e14, "us": 1e17, "ns": float("inf")}
"""Upper bounds of the units: seconds reach to the year 5138, milliseconds begin in March 1973, and so on."""
_PLAIN_BELOW = 1e8
"""If all times are below March 1973 in seconds, they are plain numbers, such as steps."""
_FINER = {"s": ("us", 1e6), "ms": ("us", 1e3), "us": ("ns", 1e3), "ns": ("ns", 1.0), "": ("", 1e6)}
_DAYS = (19000101, 21001231)
_NAIVE = (
    *("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M"),
    *("%Y/%m/%d %H:%M:%S%.f", "%Y/%m/%d"),
)
_ZONED = ("%+", "%Y-%m-%d %H:%M:%S%.f %#z", "%Y-%m-%d %H:%M:%S%.f%#z")
_YEAR_LAST = r"^(\d{1,2})[./-](\d{1,2})[./-](\d{4})\b"
_UTC = r"(?i)\s*(?:UTC|GMT|Z)$"
"""The only supported names of time zones; others are ambiguous."""
_EXPECTED = "seconds, milliseconds, microseconds or nanoseconds since 1970, or dates such as 2020-01-31 12:00:00"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_DAYS = 100_000
"""Longer than any log, and still a 64-bit integer in nanoseconds."""
_LIMIT = 2**63
_CALENDAR = re.compile(r"(19|20)\d\d((0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01]))?")
"""A year, or a day without separators."""


@dataclass(frozen=True)
class ParsedTimes:
    """Times as whole numbers of one unit."""

    values: pl.Series
    unit: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TimeParser:
    """Parser of a column of times; errors name the column and the location of the row."""

    name: str
    place: Callable[[int], str]

    def parse(self, column: pl.Series) -> ParsedTimes:
        """Return times of any type as integers."""
        if column.null_count():
            row = int(column.is_null().arg_max() or 0)
            raise DataError(f"no {self.name}", where=self.place(row), expected="a time in every row")
        if column.dtype == pl.String:
            return self._texts(column.str.strip_chars())
        if isinstance(column.dtype, pl.Datetime):
            return _from_datetimes(column, column.dtype.time_unit)
        if column.dtype == pl.Date:
            return ParsedTimes(column.to_physical().cast(pl.Int64) * SECONDS_PER_DAY, "s")
        if column.dtype.is_integer():
            numbers = column.cast(pl.Int64, strict=False)
            self._refuse(numbers.is_null(), column)  # beyond 64 bits
            return self._integers(numbers)
        if column.dtype.is_float():
            return self._floats(column.cast(pl.Float64))
        raise DataError(f"{self.name} is of type {column.dtype}", where=self.place(0), expected=_EXPECTED)

    def _refuse(self, bad: pl.Series, column: pl.Series, hint: str | None = None) -> None:
        """Raise an error for the first invalid row, if there is one."""
        if bad.any():
            row = int(bad.arg_max() or 0)
            shown = repr(column[row]) if column.dtype == pl.String else column[row]
            raise DataError(f"the {self.name} is {shown}", where=self.place(row), expected=_EXPECTED, hint=hint)

    def _texts(self, texts: pl.Series) -> ParsedTimes:
        whole = texts.cast(pl.Int64, strict=False)
        if not whole.null_count():
            return self._integers(whole)
        numbers = texts.cast(pl.Float64, strict=False)
        if not numbers.null_count():
            return self._floats(numbers)
        naive = _parse_dates(texts, _NAIVE)
        if not naive.null_count():
            return _from_datetimes(naive, "us")
        zoned = _parse_dates(texts.str.replace(_UTC, "+00:00"), _ZONED)
        if not zoned.null_count():
            return _from_datetimes(zoned, "us")
        bad = naive.is_null() & numbers.is_null() & zoned.is_null()
        self._refuse(bad, texts, _order_hint(texts.filter(bad)))
        kinds = {"as numbers": numbers, "as dates": naive, "as dates with a time zone": zoned}
        raise self._mixed(texts, {kind: parsed.is_not_null() for kind, parsed in kinds.items()})

    def _floats(self, column: pl.Series) -> ParsedTimes:
        self._refuse(~column.is_finite(), column)
        if (column == column.round()).all() and float(column.abs().max() or 0) < _LIMIT:  # type: ignore[arg-type]
            return self._integers(column.cast(pl.Int64))
        unit = self._unit(column)
        finer, factor = _FINER[unit]
        notes = () if unit else (f"{self.name}: plain numbers with fractions, multiplied by a million",)
        values = (column * factor).round().cast(pl.Int64, strict=False)
        self._refuse(values.is_null(), column)
        return ParsedTimes(values, finer, notes)

    def _integers(self, column: pl.Series) -> ParsedTimes:
        low, high = _ends(column)
        if low >= _DAYS[0] and high <= _DAYS[1]:
            days = column.cast(pl.String).str.to_date("%Y%m%d", strict=False)
            if not days.null_count():
                note = f"{self.name}: whole numbers such as {column[0]} were read as dates"
                return ParsedTimes(days.to_physical().cast(pl.Int64) * SECONDS_PER_DAY, "s", (note,))
        return ParsedTimes(column, self._unit(column))

    def _unit(self, column: pl.Series) -> str:
        """Return the common unit of all times by their magnitude; empty for plain numbers. Zeros fit any unit."""
        low, high = _ends(column)
        size = max(abs(low), abs(high))
        if size < _PLAIN_BELOW:
            return ""
        unit = _unit_of(size)
        if unit == "s" or (_unit_of(min(abs(low), abs(high))) == unit and (low > 0 or high < 0)):
            return unit
        sizes, begin = column.abs(), 0.0
        kinds: dict[str, pl.Series] = {}
        for name, end in _BELOW.items():
            kinds[f"in {_UNITS[name]}"] = (sizes > begin if name == "s" else sizes >= begin) & (sizes < end)
            begin = end
        if sum(bool(rows.any()) for rows in kinds.values()) > 1:
            raise self._mixed(column, kinds)
        return unit

    def _mixed(self, column: pl.Series, kinds: dict[str, pl.Series]) -> DataError:
        """Return the error for times of several types, with the count and the first row of each."""
        shown = []
        for kind, rows in kinds.items():
            if rows.any():
                row = int(rows.arg_max() or 0)
                shown.append(f"{int(rows.sum()):,} {kind} (first {column[row]} at {self.place(row)})")
        return DataError(
            f"{self.name} has values of several types: {', '.join(shown)}",
            expected="times of one type",
            hint="Convert them to one unit.",
        )


def _order_hint(texts: pl.Series) -> str | None:
    """Return how to write dates with the year last, such as 14/12/2009; None for other texts.

    Where the day and not the month comes first, or the reverse, is known from a number above 12.
    """
    parts = texts.str.extract_groups(_YEAR_LAST).struct.unnest().select(pl.all().cast(pl.Int64)).drop_nulls()
    if len(parts) < len(texts) or not len(parts):
        return None
    first, second = int(parts["1"].max()), int(parts["2"].max())  # type: ignore[arg-type]
    if first > 12 and second > 12:
        return None
    if first <= 12 and second <= 12:
        return "Write them as year-month-day; these dates do not show whether the day or the month comes first."
    order, dayfirst = ("day, month, year", True) if first > 12 else ("month, day, year", False)
    numbers = parts.row(0)
    month, day = numbers[1::-1] if dayfirst else numbers[:2]
    example = f"{numbers[2]}-{month:02}-{day:02}"
    return f"These dates are {order}: write {example} (pandas.to_datetime(column, dayfirst={dayfirst}) converts them)."


def find_date_format(text: str) -> str | None:
    """Return the Polars format of a date without a time zone; None if it is not a common format."""
    series = pl.Series([text])
    return next((form for form in _NAIVE if not series.str.to_datetime(form, strict=False).null_count()), None)


def _parse_dates(texts: pl.Series, formats: tuple[str, ...]) -> pl.Series:
    """Return points in time; null if no format matches."""
    parsed = pl.Series(texts.name, [None], dtype=pl.Datetime("us")).new_from_index(0, len(texts))
    for form in formats:
        by_form = texts.str.to_datetime(form, strict=False, time_unit="us").dt.replace_time_zone(None)
        parsed = parsed.zip_with(parsed.is_not_null(), by_form)
        if not parsed.null_count():
            break
    return parsed


def _from_datetimes(column: pl.Series, unit: str) -> ParsedTimes:
    """Return seconds if all are whole seconds, else the column's unit."""
    values, per_second = column.to_physical(), PER_SECOND[unit]
    whole = (values % per_second == 0).all()
    return ParsedTimes(values // per_second, "s") if whole else ParsedTimes(values, unit)


def _ends(column: pl.Series) -> tuple[float, float]:
    return float(column.min() or 0), float(column.max() or 0)  # type: ignore[arg-type]


def _unit_of(number: float) -> str:
    """Return the unit of a number since 1970, by its magnitude."""
    return next(unit for unit, end in _BELOW.items() if abs(number) < end)


def format_time(time: int, unit: str) -> str | None:
    """Return ``2003-02-28T17:49:50Z``; None if times are plain numbers, or out of range."""
    if unit not in PER_SECOND or abs(time) >= _LIMIT:
        return None
    return str(np.datetime_as_string(np.array(time).astype(f"datetime64[{unit}]"), timezone="UTC"))


def parse_time(text: str, unit: str, what: str) -> int:
    """Return a number, or an ISO date or time (UTC by default), as a time in the unit of a log.

    A time between two times of the log's unit is rounded up. If times are dates, the unit of a number is determined by
    its magnitude, as when reading a log: 2020 is a year, 20201231 a day, others are seconds, milliseconds … since 1970.
    """
    text = text.strip()
    with suppress(InvalidOperation):
        number = Decimal(text)
        if number.is_finite() and abs(number) < _LIMIT:
            if unit not in PER_SECOND:
                return ceil(number)
            if not _CALENDAR.fullmatch(text):
                return ceil(number * PER_SECOND[unit] / PER_SECOND[_unit_of(float(number))])
    try:
        moment = datetime.fromisoformat(f"{text}-01-01" if len(text) == 4 else text)
    except ValueError:
        raise UsageError(f"{what} is {text!r}", expected="a date like 2000-12-31, or a number") from None
    if unit not in PER_SECOND:
        raise UsageError(f"{what} is {text!r}, but the times of the log are plain numbers", expected="a number")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    micros = (moment - _EPOCH) // timedelta(microseconds=1)
    return -(-micros * PER_SECOND[unit] // 10**6)


def days_to_units(days: float, unit: str) -> int:
    """Return the length of a number of days in the log's unit, at least one."""
    if unit not in PER_SECOND:
        raise UsageError("found days, but times are plain numbers", expected="a share of the rows")
    if not abs(days) < _MAX_DAYS:
        raise UsageError(f"{days:g} days", expected=f"fewer than {_MAX_DAYS:,}")
    return max(1, round(days * SECONDS_PER_DAY * PER_SECOND[unit]))
