"""Sessions of Spark: the one that is there already, or one of our own, quiet, which leaves nothing behind."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rankjury.core.importing import missing_library
from rankjury.errors import UsageError
from rankjury.scale.spark.launch import start_session
from rankjury.scale.spark.masters import parse_master
from rankjury.scale.spark.quiet import silence_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
"""What Spark 4 asks for."""
_HINT = "On Debian: apt-get install openjdk-17-jre-headless. JAVA_HOME says which Java is taken."
_ANSWERS_WITHIN = 30


def check_java() -> None:
    """Refuse to start Spark where it would fail for want of Java."""
    wanted = f"Java {OLDEST_JAVA} or later, on which Spark 4 runs"
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")  # as Spark's own script looks for it
    if java is None:
        raise UsageError("there is no java on the PATH, and JAVA_HOME is not set", expected=wanted, hint=_HINT)
    try:
        ran = subprocess.run(
            [java, "-version"], capture_output=True, text=True, errors="replace", timeout=_ANSWERS_WITHIN, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"cannot start {java}: {error}", expected=wanted, hint=_HINT) from None
    said = ran.stderr + ran.stdout
    version = java_version(said)
    if version is None:
        first = next(iter(said.strip().splitlines()), "nothing")
        raise UsageError(f"'{java} -version' says {first!r}", expected=wanted, hint=_HINT)
    if version < OLDEST_JAVA:
        raise UsageError(f"{java} is Java {version}", expected=wanted, hint=_HINT)


def java_version(said: str) -> int | None:
    """The number of the release in what ``java -version`` says: 8 of ``1.8.0_412``, 17 of ``17.0.15``."""
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found.group(1)) if found else None


EVERY_CORE = "local[*]"
"""The master where none is named: every core of this machine."""
_LEAST_MEMORY = 450 << 20
"""With less, Spark does not start."""


@contextmanager
def open_session(
    master: str | None = None,
    *,
    memory: int | None = None,
    temp: Path | None = None,
    settings: Mapping[str, str] | None = None,
) -> Iterator["SparkSession"]:
    """A session to work with: the active one, which is left running, or one of our own, stopped in the end.

    ``memory`` is what each of Spark's Java processes may take, in bytes; ``temp`` the folder for what Spark puts on
    disk; ``settings`` are Spark's own, by name. All three are for a session of our own.
    """
    check_libraries()
    if memory is not None and memory < _LEAST_MEMORY:
        raise UsageError(
            f"{memory:,} bytes of memory for Spark's Java", expected=f"{_LEAST_MEMORY:,} bytes (450 MiB) or more"
        )
    with silence_pyspark():
        running = _active_session(master)
    if running is not None:
        yield running
        return
    where = parse_master(master or EVERY_CORE)
    check_java()
    where.check_answers()
    with start_session(where, memory, temp, settings or {}) as spark:
        yield spark


def check_libraries() -> None:
    for library in ("pyspark", "pyarrow", "pandas"):
        if find_spec(library) is None:
            raise missing_library(library, "working on Spark")


def check_classic(spark: "SparkSession") -> None:
    """Refuse what is no session that can be watched and cancelled: one of Spark Connect, or one that was stopped."""
    if getattr(spark, "_jsparkSession", None) is None:
        raise UsageError(
            f"{type(spark).__module__}.{type(spark).__name__} is no classic session of Spark",
            expected="a SparkSession with a SparkContext of its own, not one of Spark Connect",
        )
    if spark.sparkContext._jsc is None:
        raise UsageError(
            "the session of Spark was stopped", hint="Start another one: SparkSession.builder.getOrCreate()."
        )


def _active_session(master: str | None) -> "SparkSession | None":
    """The session that somebody has started already, which has to be where it is wanted."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    if context is None:
        return None
    if master is not None and master != context.master:
        raise UsageError(
            f"a session on {context.master} is active, and {master} was asked for",
            hint="Stop that one first, or name no master.",
        )
    return SparkSession.builder.getOrCreate()
