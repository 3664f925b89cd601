"""The closed loop, where a worker asks the next query when the last was answered; the open loop, where they come."""

import gc
from collections.abc import Sequence
from math import isfinite
from time import perf_counter_ns
from typing import Any, Literal, Self, get_args

import numpy as np

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Floats, Ints
from rankjury.errors import UnknownName, UsageError
from rankjury.retrieval.bench.timing.latency import Timed
from rankjury.retrieval.bench.timing.workers import Ask, Work, run


class Collections:
    """Listens to the collector as long as it is entered."""

    def __init__(self) -> None:
        self._spans: list[tuple[int, int]] = []
        self._started: int | None = None

    def __enter__(self) -> Self:
        gc.callbacks.append(self._hear)
        return self

    def __exit__(self, *error: object) -> None:
        gc.callbacks.remove(self._hear)

    def _hear(self, phase: str, info: dict[str, Any]) -> None:
        now = perf_counter_ns()
        if phase == "start":
            self._started = now
        elif self._started is not None:
            self._spans.append((self._started, now))
            self._started = None

    def seconds(self, first: int, last: int) -> float:
        """What collections took that began between two moments of the clock."""
        return sum(end - start for start, end in self._spans if first <= start <= last) / 1e9


Arrivals = Literal["even", "random"]
_ORDER, _GAPS = 0, 1
_SEEDS = 2**64


def asking_order(n: int, total: int, seed: int) -> Ints:
    """``total`` of ``n`` queries: all of them in a random order, then again in another."""
    random = _random(seed, _ORDER)
    rounds = [random.permutation(n) for _ in range(-(-total // n))]
    return np.concatenate([np.empty(0, dtype=np.int64), *rounds])[:total]


def arrival_times(total: int, rate: float, arrivals: Arrivals, seed: int) -> Floats:
    """Seconds from the start: evenly spaced, or with gaps as of callers who know nothing of each other."""
    if arrivals not in get_args(Arrivals):
        raise UnknownName("kind of arrivals", arrivals, get_args(Arrivals))
    if arrivals == "even":
        return np.arange(total) / rate
    return np.cumsum(_random(seed, _GAPS).exponential(1.0 / rate, total))


def _random(seed: int, stream: int) -> np.random.Generator:
    return np.random.default_rng((seed % _SEEDS, stream))


WARM_UP = 20
"""Queries that every worker asks before the clock runs."""
_LATE = 1_000_000
_EMPTY_CLOSED, _EMPTY_OPEN, _EMPTY_GAP = 1_000, 100, 500_000


def closed_loop(
    asks: Sequence[Ask],
    n: int,
    *,
    rounds: int = 1,
    total: int | None = None,
    warm_up: int = WARM_UP,
    seed: int = 0,
    progress: Progress = NO_PROGRESS,
    give_up: float | None = None,
) -> Timed:
    """Ask queries 0 to n − 1, each ``rounds`` times in random orders, by as many workers as there are ``asks``.

    ``total``: so many queries instead, all of them in a random order, then again in another.
    One worker runs in the calling thread, several in a thread each. ``give_up``: seconds, warm-up included, after which
    no further query is asked. A query that raises an ``Exception`` has failed, and is counted with its message.
    """
    wanted = n * rounds if total is None else total
    _check(asks, n, wanted, warm_up, give_up)
    overhead = _closed_overhead()
    work = Work(asking_order(n, wanted, seed), give_up=give_up)
    with Collections() as collections:
        run(work, asks, _warming(asks, n, warm_up, seed), progress)
    return _timed(work, len(asks), None, collections, overhead)


def open_loop(
    asks: Sequence[Ask],
    n: int,
    *,
    rate: float,
    total: int | None = None,
    arrivals: Arrivals = "even",
    seed: int = 0,
    warm_up: int = WARM_UP,
    progress: Progress = NO_PROGRESS,
    give_up: float | None = None,
) -> Timed:
    """Ask ``total`` of n queries (all, once) that arrive ``rate`` a second, whether or not those before were answered.

    Times count from the planned arrival on: whoever waits behind a slow query is slow as well. Where it gives up,
    queries that were due by then and not asked have failed.
    """
    wanted = n if total is None else total
    _check(asks, n, wanted, warm_up, give_up)
    if not (isfinite(rate) and rate > 0):
        raise UsageError(f"the rate is {rate}", expected="queries a second, more than 0")
    times = arrival_times(wanted, rate, arrivals, seed)
    overhead = _open_overhead()
    work = Work(asking_order(n, wanted, seed), (times * 1e9).astype(np.int64), give_up)
    with Collections() as collections:
        run(work, asks, _warming(asks, n, warm_up, seed), progress)
    return _timed(work, len(asks), rate, collections, overhead)


def _check(asks: Sequence[Ask], n: int, times: int, warm_up: int, give_up: float | None) -> None:
    if not asks:
        raise UsageError("there is nobody to ask", expected="one function a worker, each with its own connection")
    if n < 1 or times < 1:
        raise UsageError("there is no query to ask", expected="at least one query, asked at least once")
    if warm_up < 0:
        raise UsageError(f"the warm-up is {warm_up} queries", expected="0 or more")
    if give_up is not None and not give_up > 0:
        raise UsageError(f"to give up after {give_up} s leaves no time", expected="more than 0 seconds")


def _warming(asks: Sequence[Ask], n: int, warm_up: int, seed: int) -> list[int]:
    return list(map(int, asking_order(n, warm_up * len(asks), seed + 1)))


def _timed(work: Work, workers: int, rate: float | None, collections: Collections, overhead: float) -> Timed:
    asked, last = work.asked, int(work.ends.max())
    counted = asked
    if work.due is not None and asked < len(work.order):  # what was due when the loop gave up, and was not asked
        counted = int(np.searchsorted(work.began + work.due, work.deadline))
    starts, ends = work.starts[:counted], work.ends[:counted]
    due = starts if work.due is None else work.began + work.due[:counted]
    unasked = [(place, "not asked before the loop gave up") for place in range(asked, counted)]
    failures = (*sorted(work.failures), *unasked)
    failed = np.isin(np.arange(counted), [place for place, _ in failures])
    return Timed(
        seconds=np.where(failed, np.nan, (ends - due) / 1e9),
        service=np.where(failed, np.nan, (ends - starts) / 1e9),
        queries=np.array(work.order[:counted], dtype=np.int64),
        failures=failures,
        wall=max(0, last - work.began - work.paused) / 1e9,
        kind="closed" if work.due is None else "open",
        concurrency=workers,
        rate=rate,
        gc_seconds=collections.seconds(work.began, last),
        overhead_seconds=overhead,
        late=int(np.count_nonzero(starts[:asked] - due[:asked] > _LATE)),
        planned=len(work.order),
    )


def _closed_overhead() -> float:
    """From the start of an empty query to the start of the next: all that the loop does for one."""
    return float(np.median(np.diff(_empty(_EMPTY_CLOSED, None).starts))) / 1e9


def _open_overhead() -> float:
    """From the arrival of an empty query to its end, where a worker waited for it: how late that wakes up."""
    work = _empty(_EMPTY_OPEN, np.arange(_EMPTY_OPEN) * _EMPTY_GAP)
    due = work.began + np.arange(_EMPTY_OPEN) * _EMPTY_GAP
    waited = np.append(True, work.ends[:-1] <= due[1:])
    return float(np.median((work.ends - due)[waited])) / 1e9


def _empty(total: int, due: Ints | None) -> Work:
    work = Work(np.zeros(total, dtype=np.int64), due)
    run(work, [lambda query: None], [])
    return work
