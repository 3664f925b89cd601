"""Translation of Spark's errors into messages that name the fault and the file."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from rankjury.errors import DataError, RankjuryError, UsageError

_MAX_LENGTH = 300
Meaning = Callable[[re.Match[str], str], RankjuryError]


@contextmanager
def translate_errors(where: str | None = None) -> Iterator[None]:
    """Raise Spark errors that a user can act on as ours; ``where``: for errors without a file name."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        ours = translate_error(str(error))
        if ours is None:
            raise
        ours.where = ours.where or where
        raise ours from error


def translate_error(text: str) -> RankjuryError | None:
    """Return the error for the text of a Spark error, with Java's stack; None if a user cannot act on it."""
    matches = ((re.search(pattern, text), error_of) for pattern, error_of in _MEANINGS)
    return next((error_of(match, text) for match, error_of in matches if match), None)


def _unreadable(found: re.Match[str], text: str) -> RankjuryError:
    """Return the error for a file that is not Parquet, is damaged, or has another type in a column."""
    path, said = local_path(found.group("path")), found.group("said").strip()
    types = re.search(r"column \[?(.+?)\]?\. Expected Spark type (\S+), actual Parquet type (\S+?)\.", said)
    if types:
        column, expected, actual = types.groups()
        return DataError(
            f"column {column!r} is {actual} in this file", where=path, expected=f"{expected}, as elsewhere"
        )
    causes = re.findall(r"Caused by: [\w.$]+: (.+)", text)
    reason = next((cause for cause in causes if "FAILED_READ_FILE" not in cause and "awaitResult" not in cause), said)
    if "is not a Parquet file" in reason:
        return DataError("not a Parquet file, or its end is missing", where=path)
    return DataError(f"cannot be read: {_short(reason)}", where=path, hint="Is the file damaged?")


def _no_such_column(found: re.Match[str], text: str) -> RankjuryError:
    others = re.search(r"one of the following\? \[(.*?)\]", text)
    hint = f"Known columns: {others.group(1).replace('`', '')}" if others else None
    return DataError(f"there is no column {found.group(1)!r}", hint=hint)


def _says(message: str, hint: str | None = None, kind: type[RankjuryError] = DataError) -> Meaning:
    """Make an error whose message may have the groups of the pattern, {0} the first, and the complete match, {all}."""

    def error_of(found: re.Match[str], _: str) -> RankjuryError:
        groups = (" ".join(group.split()) for group in found.groups())
        return kind(message.format(*groups, all=_short(found.group(0))), hint=hint)

    return error_of


def local_path(uri: str) -> str:
    """Return a file URI as a path of this machine; other URIs are unchanged."""
    return unquote(re.sub(r"^file:/+", "/", uri)) if uri.startswith("file:") else uri


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_LENGTH else line[: _MAX_LENGTH - 1] + "…"


_MEANINGS: tuple[tuple[str, Meaning], ...] = (
    (
        r"No space left on device",
        _says("a disk that Spark writes to is full", "Choose another with SPARK_LOCAL_DIRS, or --temp on one machine."),
    ),
    (
        r"\[FAILED_READ_FILE[^\]]*\] Encountered error while reading file (?P<path>\S+)\.\s(?P<said>.*)",
        _unreadable,
    ),
    (
        r"\[CANNOT_MERGE_SCHEMAS\][^\"]*\"STRUCT<([^\"]*)>\"[^\"]*\"STRUCT<([^\"]*)>\"",
        _says("files of one table have different columns: {0} and {1}"),
    ),
    (
        r"\[PATH_NOT_FOUND\] Path does not exist: (.+?)\. SQLSTATE",
        lambda found, _: DataError("no such file or folder", where=local_path(found.group(1))),
    ),
    (r"\[UNABLE_TO_INFER_SCHEMA\]", _says("there is no Parquet file in the folder")),
    (r"\[UNRESOLVED_COLUMN[^\]]*\] .*? with name `(.+?)` cannot be resolved", _no_such_column),
    (
        r"\[COLUMN_ALREADY_EXISTS\] The column `(.+?)` already exists",
        _says("several columns are called {0!r}", "Spark ignores case in column names; rename one."),
    ),
    (
        r"Mkdirs failed to create (\S+)",
        lambda found, _: DataError(
            "cannot be written here", where=local_path(found.group(1)).partition("/_temporary")[0]
        ),
    ),
    (
        r"No FileSystem for scheme \"?[\w.+-]+\"?|Class org\.apache\.hadoop\.fs\.\S+ not found",
        _says(
            "Spark cannot reach this store: {all}",
            "Add its library to Spark's jars: spark.jars.packages in spark-defaults.conf.",
            UsageError,
        ),
    ),
    (
        r"ModuleNotFoundError: No module named '(\w+)[\w.]*'",
        _says(
            "{0} is not installed on the executors",
            "Install rankjury[spark] on every machine of the cluster; PYSPARK_PYTHON selects the Python.",
        ),
    ),
    (
        r"(?:Can't get attribute|cannot import name) '(\w+)' (?:on <module|from) 'rankjury",
        _says(
            "the executors have another release of rankjury, without {0}",
            "Install the same one on every machine of the cluster.",
        ),
    ),
    (
        r"\[PYTHON_VERSION_MISMATCH\][^\n]*",
        _says("executors and driver have different Python versions: {all}", "PYSPARK_PYTHON selects the Python."),
    ),
    (
        r"Cannot run program \"([^\"]+)\"",
        _says("the executors have no {0}", "PYSPARK_PYTHON selects the Python on every machine."),
    ),
    (
        r"OutOfMemoryError|ARROW_OUT_OF_MEMORY",
        _says("Spark ran out of memory", "Increase spark.driver.memory or spark.executor.memory."),
    ),
    (
        r"Python worker exited unexpectedly",
        _says(
            "a worker's Python process ended, probably out of memory",
            "Increase spark.sql.shuffle.partitions for smaller tasks.",
        ),
    ),
    (
        r"All masters are unresponsive|Master removed our application[^\n]*|SparkContext was shut ?down",
        _says("the cluster was lost: {all}"),
    ),
    (
        r"Answer from Java side is empty|Connection refused|Connection reset by peer",
        _says("the cluster was lost: {all}"),
    ),
)
"""Patterns of Spark's messages with their translations; the first match counts."""
