"""The text of a Rust panic is kept off standard error while a file is read; other messages are passed on."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from rankjury.errors import NATIVE_STDERR, DataError, guard_reading

PANIC = b"thread 'async-executor-1' (7) panicked at crates/x.rs:1:2:\nassertion failed\n"


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    NATIVE_STDERR.enabled = True
    yield
    NATIVE_STDERR.enabled = False


def test_a_panic_is_held_back_and_other_messages_are_passed_on(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError), guard_reading("a.parquet", "Parquet"):
        os.write(2, PANIC)
        raise ValueError
    with guard_reading("a.parquet", "Parquet"):
        os.write(2, b"a warning of a library\n")
    os.write(2, b"afterwards\n")
    assert capfd.readouterr().err == "a warning of a library\nafterwards\n"


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


def test_a_library_leaves_the_descriptor_alone(capfd: pytest.CaptureFixture[str]) -> None:
    NATIVE_STDERR.enabled = False
    with guard_reading("a.parquet", "Parquet"):
        os.write(2, PANIC)
        assert b"panicked" in capfd.readouterr().err.encode()
