"""Words along a line that must not cover each other."""

from collections.abc import Sequence

__all__ = ["rows_for"]


def rows_for(spans: Sequence[tuple[float, float]], gap: float) -> list[int]:
    """In which row each span finds room, from left to right: the first in which the last one ended before it."""
    order = sorted(range(len(spans)), key=lambda one: spans[one])
    rows, ends = [0] * len(spans), list[float]()
    for one in order:
        left, right = spans[one]
        row = next((row for row, end in enumerate(ends) if end <= left), len(ends))
        ends[row : row + 1] = [right + gap]
        rows[one] = row
    return rows
