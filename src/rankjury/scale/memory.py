"""How much memory there is, and how many rows at once fit into it.

Polars holds the row groups of Parquet whole. That is not allowed for here: groups of 10 million rows (narrow tables cut
by bytes, not by rows, may have them) took 1.1 GB more than groups of 120,000.
"""

import re
from dataclasses import dataclass
from math import isfinite

from rankjury.errors import UsageError
from rankjury.io.source import in_units

LEAST_MEMORY = 512 * 10**6
"""Most of it is taken before many rows are read."""

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY_UNITS = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
# Measured: the most that a process of its own took to read and to score five measures, with ids of 8 to 40 bytes.
_AT_START = 450 * 10**6
"""Libraries, and what Polars reads ahead."""
_BYTES_PER_ROW = 100
"""What the kernels add to a row."""
_COPIES = 2
"""Of the row itself."""
_MOST_ROWS = 4_000_000
_LEAST_ROWS = 10_000
_BATCHES_PER_BLOCK = 4


def parse_memory(text: str) -> int:
    """``2GB``, ``512 MiB``, ``1.5g`` → bytes."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([kmgt]?i?)b?", re.sub(r"\s", "", text.lower()))
    unit = (_UNITS | _BINARY_UNITS).get(found[2]) if found else None
    if found is None or unit is None or not isfinite(float(found[1]) * unit):
        raise UsageError(f"the memory is given as {text!r}", expected="a size such as 2GB, 512MB or 1.5GiB")
    size = round(float(found[1]) * unit)
    if size < LEAST_MEMORY:
        raise UsageError(
            f"a memory of {text!r} is too small",
            expected=f"at least {in_units(LEAST_MEMORY)}",
            hint="Try --memory 2GB.",
        )
    return size


@dataclass(frozen=True)
class Budget:
    """How many rows are held at once so that the whole process stays below so many bytes."""

    memory: int
    most_rows: int = _MOST_ROWS
    """Larger blocks gain nothing."""

    def block_rows(self, bytes_per_row: float) -> int:
        """Of all tables together, from what one row takes on the average."""
        room = self.memory - _AT_START
        fitting = int(room / (_BYTES_PER_ROW + _COPIES * bytes_per_row))
        return min(max(fitting, _LEAST_ROWS), self.most_rows)

    def batch_rows(self, bytes_per_row: float) -> int:
        """Of one table, read at once on the way to a block."""
        return max(self.block_rows(bytes_per_row) // _BATCHES_PER_BLOCK, 1)
