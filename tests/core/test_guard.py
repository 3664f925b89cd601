"""The guard at the boundary of reading."""

import json

import polars as pl
import pytest

from rankjury.errors import DataError, UsageError, guard_reading


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


def test_the_line_is_named_and_long_reasons_are_cut() -> None:
    with pytest.raises(DataError) as caught, guard_reading("run.jsonl", "JSON", line=7):
        json.loads("[" * 100_000)
    assert caught.value.where == "run.jsonl:7"
    with pytest.raises(DataError) as caught, guard_reading("run.jsonl"):
        raise ValueError("x" * 10_000)
    assert len(str(caught.value)) < 300
