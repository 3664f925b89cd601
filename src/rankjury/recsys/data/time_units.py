"""Units of time: how many of each a second has, and which of them a number is of."""

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
UNTIL = {"s": 1e11, "ms": 1e14, "us": 1e17, "ns": float("inf")}
"""Magnitudes: seconds reach to the year 5138, milliseconds begin in March 1973, and so on."""


def unit_of(number: float) -> str:
    """Of which unit a number since 1970 is, by its magnitude."""
    return next(unit for unit, until in UNTIL.items() if abs(number) < until)
