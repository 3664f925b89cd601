"""Times of a log as people write them, and back."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from math import ceil

import numpy as np

from rankjury.errors import UsageError
from rankjury.recsys.data.time_units import PER_SECOND, unit_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_A_DAY = 86_400
_MOST_DAYS = 100_000
"""Longer than any log, and in nanoseconds still a 64-bit integer."""
_WITHIN = 2**63
_CALENDAR = re.compile(r"(19|20)\d\d((0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01]))?")
"""A year, or a day without anything between its parts."""


def written_moment(time: int, unit: str) -> str | None:
    """``2003-02-28T17:49:50Z``; None where times are plain numbers, or beyond what the unit can tell."""
    if unit not in PER_SECOND or abs(time) >= _WITHIN:
        return None
    return str(np.datetime_as_string(np.array(time).astype(f"datetime64[{unit}]"), timezone="UTC"))


def read_moment(text: str, unit: str, what: str) -> int:
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


def days_in(days: float, unit: str) -> int:
    """How long so many days are in the log's unit, at least one."""
    if unit not in PER_SECOND:
        raise UsageError("days, where times are plain numbers", expected="a share of the rows")
    if not abs(days) < _MOST_DAYS:
        raise UsageError(f"{days:g} days", expected=f"fewer than {_MOST_DAYS:,}")
    return max(1, round(days * _SECONDS_A_DAY * PER_SECOND[unit]))
