"""Messages of errors, the guard at the boundary of reading, and the capture of panics."""

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest

from rankjury.errors import (
    NATIVE_STDERR,
    DataError,
    DuplicatePair,
    RankjuryError,
    UnknownName,
    UsageError,
    guard_reading,
    shorten,
)

LONG = "x" * 1_000_000


@pytest.mark.parametrize(
    "make",
    [
        lambda: DataError(f"found {LONG}"),
        lambda: DataError("found", where=LONG, expected=LONG, hint=LONG),
        lambda: DataError("found", details=[LONG] * 1000),
        lambda: UnknownName("measure", LONG, ["ndcg"]),
        lambda: UnknownName("column", "a", [f"{LONG}{n}" for n in range(3)]),
        lambda: UnknownName("column", "a", map(str, range(100_000))),
        lambda: DuplicatePair(LONG, LONG, 3, LONG),
    ],
)
def test_no_message_grows_with_the_data(make: Callable[[], RankjuryError]) -> None:
    message = str(make())
    assert len(message) < 60_000
    assert max(map(len, message.splitlines())) < 5_000


def test_a_cut_message_keeps_its_end() -> None:
    assert "for query 'q'" in str(DuplicatePair("q", LONG, 1, "run.trec"))


def test_the_rest_of_many_details_is_counted() -> None:
    error = DataError("many", details=[f"fault {n}" for n in range(1000)])
    assert str(error).splitlines()[-1] == "  and 950 more"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("ab", "ab"), (12, "12"), (None, "None"), ("a" * 30, "aaaaaaaaaaaaaa…aaaaaa (30 characters)")],
)
def test_values_are_shortened(value: object, expected: str) -> None:
    assert shorten(value, 20) == expected


def test_an_integer_that_python_does_not_write_out() -> None:
    assert shorten(10**5000) == "an integer of 16,610 bits"


def test_some_of_many_are_listed() -> None:
    known = [f"d{n:03}" for n in range(1000)]
    assert UnknownName("x", "yyy", known).hint == f"Known: {', '.join(known[:100])} and 900 more"
    assert UnknownName("x", "yyy", ["b", "a"]).hint == "Known: a, b"
    assert UnknownName("x", "yyy", []).hint == "Known: "


@pytest.mark.parametrize(
    "error",
    [ValueError("odd"), KeyError("x"), MemoryError(), RecursionError(), OSError(5, "I/O error"), OverflowError(),
     pl.exceptions.PanicException("index out of bounds")],
)  # fmt: skip
def test_whatever_a_library_raises_becomes_an_error_with_the_file(error: BaseException) -> None:
    with pytest.raises(DataError) as caught, guard_reading("run.parquet", "Parquet"):
        raise error
    assert caught.value.where == "run.parquet"
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), UsageError("own")])
def test_interrupts_exits_and_own_errors_pass(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught, guard_reading("run.parquet"):
        raise error
    assert caught.value is error


def test_long_reasons_are_cut() -> None:
    with pytest.raises(DataError, match="nested too deeply"), guard_reading("run.jsonl", "JSON"):
        json.loads("[" * 100_000)
    with pytest.raises(DataError) as caught, guard_reading("run.jsonl"):
        raise ValueError("x" * 10_000)
    assert len(str(caught.value)) < 300


PANIC = b"thread 'async-executor-1' (7) panicked at crates/x.rs:1:2:\nassertion failed\n"


@pytest.fixture
def enabled() -> Iterator[None]:
    NATIVE_STDERR.enabled = True
    yield
    NATIVE_STDERR.enabled = False


@pytest.mark.usefixtures("enabled")
def test_a_panic_is_held_back_and_other_messages_are_passed_on(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError), guard_reading("a.parquet", "Parquet"):
        os.write(2, PANIC)
        raise ValueError
    with guard_reading("a.parquet", "Parquet"):
        os.write(2, b"a warning of a library\n")
    os.write(2, b"afterwards\n")
    assert capfd.readouterr().err == "a warning of a library\nafterwards\n"


@pytest.mark.usefixtures("enabled")
def test_several_threads_read_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    def read(number: int) -> None:
        with guard_reading(f"{number}.parquet", "Parquet"), guard_reading(f"{number}.parquet", "Parquet"):
            os.write(2, PANIC)

    before = os.dup(2)  # the lowest number that is free
    os.close(before)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(read, range(200)))
    os.write(2, b"afterwards\n")
    assert capfd.readouterr().err == "afterwards\n"
    after = os.dup(2)
    os.close(after)
    assert after == before


@pytest.mark.usefixtures("enabled")
def test_a_library_leaves_the_descriptor_alone(capfd: pytest.CaptureFixture[str]) -> None:
    NATIVE_STDERR.enabled = False
    with guard_reading("a.parquet", "Parquet"):
        os.write(2, PANIC)
        assert b"panicked" in capfd.readouterr().err.encode()
