"""The closed loop measures every query alone; in the open one arrivals are fixed, and waiting counts."""

import gc
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rankjury.core.progress import Progress
from rankjury.errors import UnknownName, UsageError
from rankjury.retrieval.bench.latency import summarise
from rankjury.retrieval.bench.loops import arrival_times, closed_loop, open_loop, query_order
from tests.retrieval.bench.loop_support import STALL, stalling


def test_every_query_is_asked_in_every_round_in_another_order() -> None:
    asked: list[int] = []
    found = closed_loop([asked.append], 50, rounds=3, warm_up=0, seed=7)
    assert asked == found.queries.tolist()
    rounds = found.queries.reshape(3, 50)
    assert (np.sort(rounds, axis=1) == np.arange(50)).all()
    assert len({tuple(each) for each in rounds.tolist()}) == 3
    assert found.seconds.size == found.planned == 150
    assert not np.isnan(found.seconds).any()
    assert (found.kind, found.concurrency, found.rate, found.late) == ("closed", 1, None, 0)


def test_the_order_hangs_on_the_seed_alone() -> None:
    def order(seed: int) -> list[int]:
        found: list[int] = closed_loop([lambda query: None], 40, rounds=2, seed=seed).queries.tolist()
        return found

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert order(-1) != order(1)


def test_times_are_of_the_query_they_stand_beside() -> None:
    pauses = [0.0, 0.02, 0.0, 0.05, 0.0]
    found = closed_loop([lambda query: time.sleep(pauses[query])], 5, rounds=2, warm_up=0)
    for query, seconds in zip(found.queries, found.seconds, strict=True):
        assert seconds >= pauses[query]
    assert (found.seconds == found.service).all()
    assert found.wall >= found.seconds.sum()


def test_warming_up_is_not_measured() -> None:
    asked: list[int] = []

    def ask(query: int) -> None:
        asked.append(query)
        if len(asked) <= 7:
            raise OSError("not yet")

    found = closed_loop([ask], 10, warm_up=7)
    assert len(asked) == 17
    assert asked[7:] == found.queries.tolist()
    assert found.failures == ()


def test_failures_are_counted_with_their_message() -> None:
    def ask(query: int) -> None:
        if query % 3 == 0:
            raise ValueError(f"no {query}")

    found = closed_loop([ask], 10, rounds=2, warm_up=2)
    assert len(found.failures) == 8
    for place, message in found.failures:
        assert message == f"ValueError: no {found.queries[place]}"
    failed = np.isin(found.queries, [0, 3, 6, 9])
    assert (np.isnan(found.seconds) == failed).all()
    assert (np.isnan(found.service) == failed).all()
    assert (summarise(found).n, summarise(found).failed) == (12, 8)


def test_all_that_fail_leave_no_percentile() -> None:
    def ask(query: int) -> None:
        raise TimeoutError

    found = summarise(closed_loop([ask, ask], 5, rounds=2, warm_up=1))
    form = found.to_json()
    assert (form["n"], form["failed"], form["qps"]) == (0, 10, 0.0)
    assert form["p50"] == form["p99"] == {"ms": None, "ci": None, "bounded": False}
    assert form["max_ms"] is form["mean_ms"] is None
    assert form["messages"] == [{"message": "TimeoutError: ", "count": 10}]


def test_collections_are_recorded() -> None:
    def ask(query: int) -> None:
        if query == 3:
            gc.collect()

    others = list(gc.callbacks)
    gc.disable()
    try:
        none = closed_loop([lambda query: None], 10)
        found = closed_loop([ask], 10, warm_up=10)
    finally:
        gc.enable()
    assert none.gc_seconds == 0.0
    (slow,) = found.seconds[found.queries == 3]
    assert 0.0 < found.gc_seconds <= slow
    assert gc.callbacks == others


def test_one_worker_asks_in_the_calling_thread_and_several_in_their_own() -> None:
    seen: set[int] = set()
    closed_loop([lambda query: seen.add(threading.get_ident())], 5)
    assert seen == {threading.get_ident()}
    seen.clear()
    closed_loop([lambda query: seen.add(threading.get_ident())] * 2, 5, warm_up=1)
    assert threading.get_ident() not in seen


@pytest.mark.parametrize("warm_up", [0, 3])
def test_workers_overlap(warm_up: int) -> None:
    """Nobody is answered before three are asked."""
    meeting = threading.Barrier(3)
    asks = [lambda query: meeting.wait(timeout=20)] * 3
    found = closed_loop(asks, 3, rounds=20, warm_up=warm_up)
    assert found.failures == ()
    assert sorted(found.queries.tolist()) == sorted(list(range(3)) * 20)
    assert found.concurrency == 3
    assert found.wall < found.seconds.sum()


def test_each_worker_has_its_own_ask() -> None:
    met: dict[int, set[int]] = {0: set(), 1: set()}
    meeting = threading.Barrier(2)

    def ask_as(worker: int, query: int) -> None:
        met[worker].add(threading.get_ident())
        meeting.wait(timeout=20)

    closed_loop([lambda query: ask_as(0, query), lambda query: ask_as(1, query)], 10, warm_up=1)
    assert len(met[0]) == len(met[1]) == 1
    assert met[0] != met[1]


def test_a_stall_is_one_slow_query_to_the_closed_loop() -> None:
    found = summarise(closed_loop([stalling(at=100)], 200, warm_up=0))
    assert found.max_ms >= STALL * 1e3
    assert found.p99.ms < STALL / 2 * 1e3


@pytest.mark.parametrize("workers", [1, 3])
def test_what_is_no_failed_query_passes_through(workers: int) -> None:
    asked: list[int] = []

    def ask(query: int) -> None:
        asked.append(query)
        if len(asked) >= 10:
            raise KeyboardInterrupt

    others = list(gc.callbacks)
    with pytest.raises(KeyboardInterrupt):
        closed_loop([ask] * workers, 100, rounds=100, warm_up=0)
    assert len(asked) < 10 + workers
    assert _workers() == []
    assert gc.callbacks == others


def test_an_interrupt_while_warming_up_passes_through() -> None:
    def ask(query: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        closed_loop([ask, lambda query: None], 10, warm_up=5)
    assert _workers() == []


def test_ctrl_c_stops_the_workers() -> None:
    asked: list[int] = []

    def ask(query: int) -> None:
        asked.append(query)
        time.sleep(0.002)
        if len(asked) == 20:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            closed_loop([ask, ask], 100, rounds=100, warm_up=0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert 20 <= len(asked) < 10_000
    assert _workers() == []


def _workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if "(serve)" in thread.name and thread.is_alive()]


@pytest.mark.parametrize("workers", [1, 2])
def test_giving_up_keeps_what_was_measured(workers: int) -> None:
    found = closed_loop([lambda query: time.sleep(0.01)] * workers, 1_000, warm_up=1, give_up=0.1)
    assert 0 < found.seconds.size < found.planned == 1_000
    assert not np.isnan(found.seconds).any()
    assert found.failures == ()
    assert summarise(found).to_json()["not_asked"] == 1_000 - found.seconds.size


def test_giving_up_before_anything_was_asked() -> None:
    found = closed_loop([lambda query: time.sleep(0.02)], 10, warm_up=5, give_up=0.01)
    form = summarise(found).to_json()
    assert (found.seconds.size, found.wall) == (0, 0.0)
    assert (form["n"], form["failed"], form["qps"], form["not_asked"]) == (0, 0, None, 10)


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_is_told(workers: int) -> None:
    told: list[tuple[int, int]] = []
    closed_loop(
        [lambda query: time.sleep(0.02)] * workers,
        20,
        warm_up=0,
        progress=Progress(lambda what, done, of: told.append((done, of))),
    )
    assert len(told) >= 2
    assert told == sorted(told)
    assert told[-1] == (20, 20)


def test_telling_of_progress_is_no_time_of_queries() -> None:
    found = closed_loop(
        [lambda query: time.sleep(0.03)], 10, warm_up=0, progress=Progress(lambda what, done, of: time.sleep(0.2))
    )
    assert found.wall < found.seconds.sum() + 0.2


def test_the_overhead_is_that_of_an_empty_query() -> None:
    found = closed_loop([lambda query: time.sleep(0.01)], 5, warm_up=0)
    assert 0.0 < found.overhead_seconds < found.seconds.min()


def test_what_was_measured_cannot_be_changed() -> None:
    found = closed_loop([lambda query: None], 5)
    with pytest.raises(ValueError, match="read-only"):
        found.seconds[0] = 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"asks": []}, "no search function given"),
        ({"n": 0}, "no query"),
        ({"rounds": 0}, "no query"),
        ({"warm_up": -1}, "warm-up is -1"),
        ({"give_up": 0.0}, "give up after 0.0"),
        ({"give_up": float("nan")}, "give up after nan"),
    ],
)
def test_requests_that_make_no_sense(options: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"asks": [lambda query: None], "n": 5} | options
    with pytest.raises(UsageError, match=message):
        closed_loop(**given)  # type: ignore[arg-type]


def test_a_stall_shows_in_all_that_queued_behind_it() -> None:
    """At 200 a second, 0.2 s hold up forty; the closed loop sees one slow query."""
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
def test_progress_is_shown_in_the_open_loop(workers: int) -> None:
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
