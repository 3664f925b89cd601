"""Query loops: the closed loop, where a worker asks the next query when the last was answered, and the open loop.

A query is measured alone, on a monotonic clock. In the open loop queries arrive at times that are fixed beforehand, and
waiting for a free worker counts. One worker runs in the calling thread, several run in a thread each.
"""

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from math import isfinite
from threading import Barrier, BrokenBarrierError, Event, Thread
from time import perf_counter_ns as clock, sleep
from typing import Any, Literal, get_args

import numpy as np

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Floats, Ints
from rankjury.errors import UnknownName, UsageError
from rankjury.retrieval.bench.latency import QueryTimes

Ask = Callable[[int], object]
"""Runs the query of this number and returns when it is answered."""

# All times are nanoseconds.
_NEVER = 1 << 62
_MILLISECOND = 1_000_000
_SPIN = 200_000
"""A sleep may end this late: the rest of the wait is a busy loop."""
_UPDATE_EVERY = 100_000_000
_STEP = "Timing"
_PATIENCE = 5_000_000_000
"""Time for workers to end their queries after a stop."""
# A busy loop that keeps the interpreter lock would delay the other workers' answers.
_let_others_run: Callable[[], None] = getattr(os, "sched_yield", lambda: sleep(0))


class QueryQueue:
    """Queue of queries with their due, start and end times in nanoseconds."""

    def __init__(self, order: Ints, due: Ints | None = None, give_up: float | None = None) -> None:
        self.order: list[int] = order.tolist()
        self.due = due
        """From the beginning on; None: as soon as a worker is free."""
        self.starts, self.ends = np.zeros((2, len(order)), dtype=np.int64)
        self.failures: list[tuple[int, str]] = []
        self.stop = Event()
        self.deadline = _NEVER if give_up is None else clock() + int(give_up * 1e9)
        self.began = 0
        self.paused = 0
        """Time spent on showing progress while no query was due."""
        self._turns = count()
        self._moments: list[int] | None = None

    def begin(self) -> None:
        """Start the clock; the first arrival is shortly after, when all workers are ready."""
        self.began = clock()
        if self.due is not None:
            self.began += _MILLISECOND
            self._moments = (self.began + self.due).tolist()

    def warm(self, ask: Ask, queries: Sequence[int]) -> None:
        """Ask without measuring; failures are counted in the loop only."""
        for query in queries:
            if self.stop.is_set() or clock() >= self.deadline:
                return
            with suppress(Exception):
                ask(query)

    def take_turns(self, ask: Ask, progress: Progress = NO_PROGRESS) -> None:
        """Ask queries until none is left or the queue is stopped."""
        order, moments, starts, ends = self.order, self._moments, self.starts, self.ends
        total, deadline, stopped, turns = len(order), self.deadline, self.stop.is_set, self._turns
        now = clock()
        update_at = now + _UPDATE_EVERY if progress.is_visible else _NEVER
        while now < deadline and not stopped():
            place = next(turns)
            if place >= total or (moments is not None and not self._wait_until(moments[place])):
                return
            start = clock()
            try:
                ask(order[place])
                now = clock()
            except Exception as error:
                now = clock()
                self.failures.append((place, f"{type(error).__name__}: {error}"))
            starts[place], ends[place] = start, now
            # Progress is shown where that cannot delay the next arrival.
            if now >= update_at and (moments is None or moments[min(place + 1, total - 1)] - now > _MILLISECOND):
                progress.update(_STEP, place + 1, total)
                updated = clock()
                update_at = updated + _UPDATE_EVERY
                self.paused += updated - now if moments is None else 0

    def _wait_until(self, moment: int) -> bool:
        """Wait until a query is due; return False if it must not be asked."""
        if moment >= self.deadline:
            return False
        while (left := moment - clock()) > _SPIN:
            if self.stop.wait((left - _SPIN) / 1e9):
                return False
        while clock() < moment:
            _let_others_run()
        return True

    @property
    def asked(self) -> int:
        return int(np.count_nonzero(self.ends))


def _run_workers(work: QueryQueue, asks: Sequence[Ask], warming: Sequence[int], progress: Progress) -> None:
    """Warm up every worker with its share of queries, then answer all queries.

    In threads, an error that is not a failed query (such as Ctrl-C) stops all workers and is raised here.
    """
    if len(asks) == 1:
        work.warm(asks[0], warming)
        work.begin()
        work.take_turns(asks[0], progress)
        progress.update(_STEP, work.asked, len(work.order))
        return
    together = Barrier(len(asks), action=work.begin)
    fatal: list[BaseException] = []

    def serve(worker: int, ask: Ask) -> None:
        try:
            work.warm(ask, warming[worker :: len(asks)])
            together.wait()
            work.take_turns(ask)
        except BrokenBarrierError:
            pass
        except BaseException as error:
            fatal.append(error)
            work.stop.set()
            together.abort()

    threads = [Thread(target=serve, args=numbered, daemon=True) for numbered in enumerate(asks)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive() and not fatal:
                thread.join(_UPDATE_EVERY / 1e9)
                progress.update(_STEP, work.asked, len(work.order))
    finally:
        work.stop.set()
        together.abort()
        until = clock() + _PATIENCE  # those in the middle of a query may end it; one that hangs is left behind
        for thread in threads:
            if thread.ident is not None:
                thread.join(max(0, until - clock()) / 1e9)
    if fatal:
        raise fatal[0]
    progress.update(_STEP, work.asked, len(work.order))


@contextmanager
def _recording_collections() -> Iterator[list[tuple[int, int]]]:
    """Yield a list that gets the start and the end of each garbage collection within the block."""
    spans: list[tuple[int, int]] = []
    starts: list[int] = []

    def record(phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            starts.append(clock())
        elif starts:
            spans.append((starts.pop(), clock()))

    gc.callbacks.append(record)
    try:
        yield spans
    finally:
        gc.callbacks.remove(record)


Arrivals = Literal["even", "random"]


def query_order(n: int, total: int, seed: int) -> Ints:
    """Return ``total`` of ``n`` queries: all of them in a random order, then again in another."""
    random = np.random.default_rng((seed % 2**64, 0))
    rounds = [random.permutation(n) for _ in range(-(-total // n))]
    return np.concatenate([np.empty(0, dtype=np.int64), *rounds])[:total]


def arrival_times(total: int, rate: float, arrivals: Arrivals, seed: int) -> Floats:
    """Return arrival times in seconds: evenly spaced, or a Poisson process."""
    if arrivals not in get_args(Arrivals):
        raise UnknownName("kind of arrivals", arrivals, get_args(Arrivals))
    if arrivals == "even":
        return np.arange(total) / rate
    random = np.random.default_rng((seed % 2**64, 1))  # another stream than that of the order
    return np.cumsum(random.exponential(1.0 / rate, total))


WARM_UP = 20
"""Queries that every worker asks before the clock runs."""


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
) -> QueryTimes:
    """Ask queries 0 to n − 1, each ``rounds`` times in random orders, by as many workers as there are ``asks``.

    ``total``: so many queries instead, all of them in a random order, then again in another.
    One worker runs in the calling thread, several in a thread each. ``give_up``: seconds, warm-up included, after which
    no further query is asked. A query that raises an ``Exception`` has failed, and is counted with its message.
    """
    wanted = n * rounds if total is None else total
    return _run_loop(asks, n, wanted, None, None, warm_up, seed, progress, give_up)


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
) -> QueryTimes:
    """Ask ``total`` of n queries (all, once) that arrive ``rate`` a second, whether or not those before were answered.

    Times count from the planned arrival on, including the wait behind a slow query. If the loop gives up, queries that
    were due by then and not asked have failed.
    """
    if not (isfinite(rate) and rate > 0):
        raise UsageError(f"the rate is {rate}", expected="queries a second, more than 0")
    return _run_loop(asks, n, n if total is None else total, rate, arrivals, warm_up, seed, progress, give_up)


def _measure_overhead(arrivals: Ints | None) -> float:
    """Return the seconds that a loop takes for an empty query."""
    if arrivals is None:  # the time from the start of an empty query to the start of the next
        empty = QueryQueue(np.zeros(1_000, dtype=np.int64))
        _run_workers(empty, [lambda query: None], [], NO_PROGRESS)
        return float(np.median(np.diff(empty.starts))) / 1e9
    # The time from the arrival of an empty query to its end, if a worker waited for it.
    empty = QueryQueue(np.zeros(100, dtype=np.int64), np.arange(100) * 500_000)
    _run_workers(empty, [lambda query: None], [], NO_PROGRESS)
    due = empty.began + np.arange(100) * 500_000
    waited = np.append(True, empty.ends[:-1] <= due[1:])
    return float(np.median((empty.ends - due)[waited])) / 1e9


def _run_loop(
    asks: Sequence[Ask],
    n: int,
    total: int,
    rate: float | None,
    arrivals: Arrivals | None,
    warm_up: int,
    seed: int,
    progress: Progress,
    give_up: float | None,
) -> QueryTimes:
    """Ask queries at their arrivals; without these, as soon as a worker is free."""
    if not asks:
        raise UsageError("no search function given", expected="one per worker, each with its own connection")
    if n < 1 or total < 1:
        raise UsageError("no query to time", expected="at least one query, asked at least once")
    if warm_up < 0:
        raise UsageError(f"the warm-up is {warm_up} queries", expected="0 or more")
    if give_up is not None and not give_up > 0:
        raise UsageError(f"to give up after {give_up} s leaves no time", expected="more than 0 seconds")
    planned = None
    if rate is not None and arrivals is not None:
        planned = (arrival_times(total, rate, arrivals, seed) * 1e9).astype(np.int64)
    overhead = _measure_overhead(planned)
    work = QueryQueue(query_order(n, total, seed), planned, give_up)
    with _recording_collections() as collections:
        _run_workers(work, asks, query_order(n, warm_up * len(asks), seed + 1).tolist(), progress)
    asked, last = work.asked, int(work.ends.max())
    counted = asked
    if work.due is not None and asked < len(work.order):  # what was due when the loop gave up, and was not asked
        counted = int(np.searchsorted(work.began + work.due, work.deadline))
    starts, ends = work.starts[:counted], work.ends[:counted]
    due = starts if work.due is None else work.began + work.due[:counted]
    unasked = [(place, "not asked before the loop gave up") for place in range(asked, counted)]
    failures = (*sorted(work.failures), *unasked)
    failed = np.isin(np.arange(counted), [place for place, _ in failures])
    return QueryTimes(
        seconds=np.where(failed, np.nan, (ends - due) / 1e9),
        service=np.where(failed, np.nan, (ends - starts) / 1e9),
        queries=np.array(work.order[:counted], dtype=np.int64),
        failures=failures,
        wall=max(0, last - work.began - work.paused) / 1e9,
        kind="closed" if work.due is None else "open",
        concurrency=len(asks),
        rate=rate,
        gc_seconds=sum(end - start for start, end in collections if work.began <= start <= last) / 1e9,
        overhead_seconds=overhead,
        late=int(np.count_nonzero(starts[:asked] - due[:asked] > _MILLISECOND)),
        planned=len(work.order),
    )
