"""The closed loop: every query measured alone, failures and collections counted."""

import gc
import signal
import threading
import time

import numpy as np
import pytest

from rankjury.core.progress import Progress
from rankjury.errors import UsageError
from rankjury.retrieval.bench.latency import summarise
from rankjury.retrieval.bench.loops import closed_loop
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
