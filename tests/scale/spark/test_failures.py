"""Errors that travel, and what Spark's own mean."""

import re

import pytest

from rankjury.core.version import __version__
from rankjury.errors import DataError, EngineLost, MissingExtra, RankjuryError, UnknownName, UsageError
from rankjury.scale.spark.errors import translate_error
from rankjury.scale.spark.jobs import check_release, dump_error, load_error


@pytest.mark.parametrize(
    "error",
    [
        DataError("found", where="run.parquet", expected="other", hint="Do it.", details=["row 1", "row 2"]),
        UsageError("ünïcode ☃ \n line"),
        EngineLost("gone"),
        UnknownName("measure", "ndgc", ["ndcg", "map"], where="-m"),
        MissingExtra("pyspark", "spark", "working on Spark"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_arrives_as_it_left(error: RankjuryError) -> None:
    arrived = load_error(dump_error(error))
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert vars(arrived) == vars(error) | {"details": tuple(error.details)}
    assert arrived.exit_code == error.exit_code


def test_an_error_of_somebody_elses_kind_arrives_as_the_nearest_of_ours() -> None:
    class OddError(DataError):
        pass

    arrived = load_error(dump_error(OddError("found")))
    assert type(arrived) is DataError and str(arrived) == "found"


def test_another_release_on_the_executors_is_refused() -> None:
    check_release(__version__)
    with pytest.raises(
        DataError, match=rf"executors have rankjury {re.escape(__version__)}, .*driver has 0\.0; expected the same"
    ):
        check_release("0.0")


@pytest.mark.parametrize(
    ("said", "kind", "means"),
    [
        ("java.io.IOException: No space left on device", DataError, "a disk that Spark writes to is full"),
        (
            "ModuleNotFoundError: No module named 'rankjury.scale'",
            DataError,
            "rankjury is not installed on the executors",
        ),
        (
            "Can't get attribute 'Packing' on <module 'rankjury.scale",
            DataError,
            "another release of rankjury, without Packing. Install the same",
        ),
        (
            "cannot import name 'spread' from 'rankjury.scale'",
            DataError,
            "another release of rankjury, without spread. Install the same",
        ),
        ("[COLUMN_ALREADY_EXISTS] The column `a` already exists.", DataError, "several columns are called 'a'"),
        (
            "Mkdirs failed to create file:/tmp/a%20b/_temporary/0/x",
            DataError,
            "/tmp/a b: cannot be written here",
        ),
        ('Cannot run program "python9": error=2', DataError, "the executors have no python9"),
        ("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)", DataError, "process ended"),
        ("java.lang.OutOfMemoryError: Java heap space", DataError, "ran out of memory"),
        ('No FileSystem for scheme "foo"', UsageError, 'No FileSystem for scheme "foo"'),
        ("Answer from Java side is empty", DataError, "the cluster was lost"),
    ],
)
def test_errors_of_spark_are_translated(said: str, kind: type[RankjuryError], means: str) -> None:
    error = translate_error(f"An error occurred while calling o1.count.\n: {said}\n\tat java.lang.Thread.run")
    assert type(error) is kind
    assert means in str(error)


def test_internal_errors_are_not_translated() -> None:
    assert translate_error("TypeError: unsupported operand type(s)") is None
