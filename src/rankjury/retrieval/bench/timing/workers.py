"""Workers that take queries in turn: in the calling thread where there is one, else in a thread each."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from threading import Barrier, BrokenBarrierError, Event, Thread
from time import perf_counter_ns as clock, sleep

import numpy as np

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Ints

Ask = Callable[[int], object]
"""Asks the query of this number, and returns when it is answered."""

# All times are nanoseconds.
_NEVER = 1 << 62
_LEAD = 1_000_000
"""From the start to the first arrival, so that workers are there."""
_SPIN = 200_000
"""A sleep ends this late, or earlier: what is left is spent looking at the clock."""
_TELL_EVERY = 100_000_000
_SPARE = 1_000_000
"""Telling of progress must not make the next arrival wait."""
_WHAT = "Timing"
_PATIENCE = 5_000_000_000
"""What workers have to end their queries when all is called off."""
# Looking at the clock without letting go of the interpreter would hold up the other workers' answers.
_let_others_run: Callable[[], None] = getattr(os, "sched_yield", lambda: sleep(0))


class Work:
    """Queries in their order, with the moments when they are due, began and ended, in nanoseconds of the clock."""

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
        """Spent on telling of progress, while nothing was asked or due."""
        self._turns = count()
        self._moments: list[int] | None = None

    def begin(self) -> None:
        """The clock runs from now on; the first arrival is a moment ahead."""
        self.began = clock()
        if self.due is not None:
            self.began += _LEAD
            self._moments = (self.began + self.due).tolist()

    def warm(self, ask: Ask, queries: Sequence[int]) -> None:
        """Ask without measuring; what fails here is met again, and counted, in the loop."""
        for query in queries:
            if self.stop.is_set() or clock() >= self.deadline:
                return
            with suppress(Exception):
                ask(query)

    def take_turns(self, ask: Ask, progress: Progress = NO_PROGRESS) -> None:
        """Ask the next query, and the next, until none is left or all is called off."""
        order, moments, starts, ends = self.order, self._moments, self.starts, self.ends
        total, deadline, stopped, turns = len(order), self.deadline, self.stop.is_set, self._turns
        now = clock()
        tell_at = now + _TELL_EVERY if progress.is_significant else _NEVER
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
            if now >= tell_at and self._spare(place + 1, now):
                progress.update(_WHAT, place + 1, total)
                told = clock()
                tell_at = told + _TELL_EVERY
                self.paused += told - now if moments is None else 0

    def _wait_until(self, moment: int) -> bool:
        """Sleep until a query is due, and look at the clock for the last bit; false if it is not to be asked."""
        if moment >= self.deadline:
            return False
        while (left := moment - clock()) > _SPIN:
            if self.stop.wait((left - _SPIN) / 1e9):
                return False
        while clock() < moment:
            _let_others_run()
        return True

    def _spare(self, place: int, now: int) -> bool:
        if self._moments is None:
            return True
        return place < len(self._moments) and self._moments[place] - now > _SPARE

    @property
    def asked(self) -> int:
        return int(np.count_nonzero(self.ends))


def run(work: Work, asks: Sequence[Ask], warming: Sequence[int], progress: Progress = NO_PROGRESS) -> None:
    """Warm every worker up with its share of queries, then begin, and work until all is done."""
    shares = [warming[worker :: len(asks)] for worker in range(len(asks))]
    if len(asks) == 1:
        work.warm(asks[0], warming)
        work.begin()
        work.take_turns(asks[0], progress)
    else:
        _run_in_threads(work, asks, shares, progress)
    progress.update(_WHAT, work.asked, len(work.order))


def _run_in_threads(work: Work, asks: Sequence[Ask], shares: Sequence[Sequence[int]], progress: Progress) -> None:
    """What is no failed query (Ctrl-C above all) stops every worker, and is raised here."""
    together = Barrier(len(asks), action=work.begin)
    fatal: list[BaseException] = []

    def serve(ask: Ask, share: Sequence[int]) -> None:
        try:
            work.warm(ask, share)
            together.wait()
            work.take_turns(ask)
        except BrokenBarrierError:
            pass
        except BaseException as error:
            fatal.append(error)
            work.stop.set()
            together.abort()

    threads = [Thread(target=serve, args=pair, daemon=True) for pair in zip(asks, shares, strict=True)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive() and not fatal:
                thread.join(_TELL_EVERY / 1e9)
                progress.update(_WHAT, work.asked, len(work.order))
    finally:
        work.stop.set()
        together.abort()
        until = clock() + _PATIENCE  # those in the middle of a query may end it; one that hangs is left behind
        for thread in threads:
            if thread.ident is not None:
                thread.join(max(0, until - clock()) / 1e9)
    if fatal:
        raise fatal[0]
