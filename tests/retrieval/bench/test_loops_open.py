"""The open loop: arrivals are fixed beforehand, and whoever waits is slow."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rankjury.core.progress import Progress
from rankjury.errors import UnknownName, UsageError
from rankjury.retrieval.bench.latency import summarise
from rankjury.retrieval.bench.loops import arrival_times, open_loop, query_order
from tests.retrieval.bench.loop_support import STALL, stalling


def test_a_stall_shows_in_all_that_queued_behind_it() -> None:
    """At 200 a second, 0.2 s hold up forty; the closed loop sees one slow query (test_closed)."""
    timed = open_loop([stalling(at=100)], 200, rate=200.0, warm_up=0)
    found = summarise(timed)
    assert found.p99.ms >= STALL / 2 * 1e3
    assert found.p99.ci is not None and found.p99.ci[0] >= STALL / 2 * 1e3
    assert timed.late >= 30
    assert np.count_nonzero(timed.service >= STALL) == 1
    assert np.count_nonzero(timed.seconds >= STALL / 2) >= 15


def test_other_workers_go_on_during_a_stall() -> None:
    timed = open_loop([stalling(at=100)] * 4, 200, rate=400.0, warm_up=0)
    assert np.count_nonzero(timed.service >= STALL) == 1
    assert np.median(timed.seconds) < STALL / 2
    assert timed.concurrency == 4


def test_nobody_is_asked_before_being_due() -> None:
    timed = open_loop([lambda query: None], 20, rate=500.0, warm_up=0)
    assert (timed.seconds >= timed.service).all()
    assert timed.wall >= 19 / 500.0
    assert (timed.kind, timed.rate) == ("open", 500.0)


def test_an_overload_grows_the_queue() -> None:
    """Twice as many come as can be answered: each waits longer than the one before."""
    timed = open_loop([lambda query: time.sleep(0.01)], 40, rate=200.0, warm_up=0)
    assert timed.seconds[-1] >= 40 * 0.01 - 39 / 200.0
    assert timed.seconds[-1] > timed.seconds[0]
    assert timed.late >= 30


def test_the_queries_and_arrivals_hang_on_the_seed_alone() -> None:
    def queries(seed: int) -> list[int]:
        found: list[int] = open_loop([lambda query: None], 10, rate=1e4, total=25, seed=seed).queries.tolist()
        return found

    assert queries(3) == queries(3) != queries(4)
    assert sorted(queries(3)[:10]) == sorted(queries(3)[10:20]) == list(range(10))
    assert (arrival_times(50, 20.0, "random", 3) == arrival_times(50, 20.0, "random", 3)).all()
    assert (arrival_times(50, 20.0, "random", 3) != arrival_times(50, 20.0, "random", 4)).all()


def test_even_and_random_arrivals() -> None:
    assert arrival_times(4, 2.0, "even", 0).tolist() == [0.0, 0.5, 1.0, 1.5]
    gaps = np.diff(arrival_times(20_001, 50.0, "random", 0))
    assert (gaps > 0).all()
    assert gaps.mean() == pytest.approx(1 / 50, rel=0.05)
    assert gaps.std() == pytest.approx(1 / 50, rel=0.05)
    assert (gaps > 2 / 50).mean() == pytest.approx(np.exp(-2), abs=0.01)


@given(n=st.integers(1, 30), total=st.integers(0, 100), seed=st.integers(-(2**63), 2**63 - 1))
@settings(max_examples=50, deadline=None, derandomize=True, database=None)
def test_the_order_has_whole_rounds(n: int, total: int, seed: int) -> None:
    order = query_order(n, total, seed)
    assert order.size == total
    assert order.dtype == np.int64
    for first in range(0, total - n + 1, n):
        assert sorted(order[first : first + n].tolist()) == list(range(n))
    assert len(set(order[total - total % n :].tolist())) == total % n


def test_failures_are_counted() -> None:
    def ask(query: int) -> None:
        if query == 4:
            raise ConnectionError("lost")

    timed = open_loop([ask, ask], 10, rate=2_000.0, total=30)
    assert [message for _, message in timed.failures] == ["ConnectionError: lost"] * 3
    assert timed.queries[[place for place, _ in timed.failures]].tolist() == [4, 4, 4]
    assert np.isnan(timed.seconds).sum() == 3


def test_giving_up_counts_those_that_were_due() -> None:
    """100 a second come and 20 are answered: those left waiting have failed, later ones were not asked."""
    timed = open_loop([lambda query: time.sleep(0.05)], 1_000, rate=100.0, warm_up=0, give_up=0.5)
    left = [place for place, _ in timed.failures]
    asked = timed.seconds.size - len(left)
    assert 0 < asked <= 11
    assert left == list(range(asked, timed.seconds.size))
    assert asked < timed.seconds.size <= 51
    assert summarise(timed).to_json()["messages"] == [
        {"message": "not asked before the loop gave up", "count": len(left)}
    ]
    assert summarise(timed).not_asked == 1_000 - timed.seconds.size


def test_giving_up_does_not_wait_for_the_next_arrival() -> None:
    timed = open_loop([lambda query: None] * 2, 3, rate=0.01, warm_up=0, give_up=0.1)
    assert timed.seconds.size == 1
    assert timed.failures == ()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_passes_through_though_others_wait(workers: int) -> None:
    def ask(query: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_loop([ask] * workers, 10, rate=0.01, warm_up=0)
    assert not any("(serve)" in thread.name and thread.is_alive() for thread in threading.enumerate())


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_is_told(workers: int) -> None:
    told: list[tuple[int, int]] = []
    progress = Progress(lambda what, done, of: told.append((done, of)))
    open_loop([lambda query: None] * workers, 30, rate=100.0, progress=progress)
    assert len(told) >= 2
    assert told == sorted(told)
    assert told[-1] == (30, 30)


def test_the_overhead_is_how_late_a_waiting_worker_wakes_up() -> None:
    assert 0.0 < open_loop([lambda query: None], 2, rate=1_000.0).overhead_seconds < 1.0


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_rates_that_make_no_sense(rate: float) -> None:
    with pytest.raises(UsageError, match="the rate is"):
        open_loop([lambda query: None], 5, rate=rate)


def test_unknown_arrivals() -> None:
    with pytest.raises(UnknownName, match="Did you mean even"):
        open_loop([lambda query: None], 5, rate=1.0, arrivals="evn")  # type: ignore[arg-type]


def test_nothing_to_ask() -> None:
    with pytest.raises(UsageError, match="no query"):
        open_loop([lambda query: None], 5, rate=1.0, total=0)
