"""Timed: what a loop measured, query by query."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from karat.types import Floats, Ints

__all__ = ["Loop", "Timed"]

Loop = Literal["closed", "open"]


@dataclass(frozen=True, eq=False)
class Timed:
    """Each asked query's time, in the order asked. Arrays are read-only."""

    seconds: Floats
    """In the open loop from the planned arrival on, so with the wait for a free worker; NaN where it failed."""
    service: Floats
    """From the moment it was asked on; NaN where it failed."""
    queries: Ints
    """Which query each was."""
    failures: tuple[tuple[int, str], ...]
    """Its place in the order asked, and why it failed."""
    wall: float
    """Seconds from the first that was due to the last that ended; warm-up does not count."""
    kind: Loop
    concurrency: int
    rate: float | None
    """How many came a second, in the open loop."""
    gc_seconds: float
    """What Python's garbage collector took meanwhile; it is part of the times."""
    overhead_seconds: float
    """What the loop itself takes for a query, found with an empty one; it is part of the times."""
    late: int = 0
    """How many were asked more than a millisecond after they were due, as no worker was free."""
    planned: int = 0
    """How many were to be asked; more than there are if the loop gave up."""

    def __post_init__(self) -> None:
        self.seconds.flags.writeable = self.service.flags.writeable = self.queries.flags.writeable = False

    @property
    def answered(self) -> Floats:
        """The times of the queries that did not fail."""
        return self.seconds[~np.isnan(self.seconds)]
