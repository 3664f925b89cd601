"""Times of a log as people write them, and back."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from math import ceil

import numpy as np

from karat.errors import UsageError

__all__ = ["days_in", "read_moment", "written_moment"]

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_A_DAY = 86_400
_WITHIN = 2**63


def written_moment(time: int, unit: str) -> str | None:
    """``2003-02-28T17:49:50Z``; None where times are plain numbers, or beyond what the unit can tell."""
    if unit not in _PER_SECOND or abs(time) >= _WITHIN:
        return None
    return str(np.datetime_as_string(np.array(time).astype(f"datetime64[{unit}]"), timezone="UTC"))


def read_moment(text: str, unit: str, what: str) -> int:
    """A number in the log's unit, or an ISO date or time (UTC unless it says otherwise), as a time of the log.

    Between two times of the log it is the later one.
    """
    text = text.strip()
    try:
        number = Decimal(text)
        if number.is_finite() and abs(number) < _WITHIN:
            return ceil(number)
    except InvalidOperation:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{what} is {text!r}", expected="a date like 2000-12-31, or a number") from None
    if unit not in _PER_SECOND:
        raise UsageError(f"{what} is {text!r}, where times are plain numbers", expected="a number")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    micros = (moment - _EPOCH) // timedelta(microseconds=1)
    return -(-micros * _PER_SECOND[unit] // 10**6)


def days_in(days: float, unit: str) -> int:
    """How long so many days are in the log's unit, at least one."""
    if unit not in _PER_SECOND:
        raise UsageError("days, where times are plain numbers", expected="a share of the rows")
    return max(1, round(days * _SECONDS_A_DAY * _PER_SECOND[unit]))
