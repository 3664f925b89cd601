"""What the tests of timing share: queries that do something on purpose."""

import time
from collections.abc import Callable

import numpy as np

from rankjury.core.types import Floats
from rankjury.retrieval.bench.latency import QueryTimes

STALL = 0.2


def stalling(at: int, seconds: float = STALL) -> Callable[[int], None]:
    """Answers at once, but for the ``at``-th call, which hangs."""
    calls = iter(range(1, 1_000_000))

    def ask(query: int) -> None:
        if next(calls) == at:
            time.sleep(seconds)

    return ask


def timed(seconds: Floats, *, wall: float = 1.0, planned: int | None = None) -> QueryTimes:
    """Times as a loop would have recorded them; NaN is a failure."""
    failures = tuple((int(place), "OSError: no answer") for place in np.flatnonzero(np.isnan(seconds)))
    return QueryTimes(
        seconds=seconds,
        service=seconds.copy(),
        queries=np.arange(seconds.size),
        failures=failures,
        wall=wall,
        kind="closed",
        concurrency=1,
        rate=None,
        gc_seconds=0.002,
        overhead_seconds=1e-6,
        planned=seconds.size if planned is None else planned,
    )
