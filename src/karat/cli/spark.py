"""Commands that can be given to Spark: where they run, and a session for them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from karat.cli.common import show_progress
from karat.cli.options import Place
from karat.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check_place", "spark_session"]


def check_place(on: Place, master: str | None) -> None:
    if master is not None and on is not Place.spark:
        raise UsageError("--master without --on spark", expected="both, or neither")


@contextmanager
def spark_session(master: str | None, *, quiet: bool, temp: Path | None = None) -> Iterator["SparkSession"]:
    from karat.scale.spark.session import open_session

    with ExitStack() as stack:
        with show_progress("Starting Spark", quiet=quiet):
            spark = stack.enter_context(open_session(master, temp=temp))
        yield spark
