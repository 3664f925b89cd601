"""What Spark raises, as errors that say what is wrong with which file."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from karat.errors import DataError, KaratError, UsageError

__all__ = ["explained", "path_of", "what_it_means"]

_LONGEST = 300


@contextmanager
def explained(where: str | None = None) -> Iterator[None]:
    """Whatever of Spark's own errors has a meaning for a user is raised as ours, about ``where`` if about no file."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        ours = what_it_means(str(error))
        if ours is None:
            raise
        ours.where = ours.where or where
        raise ours from error


def what_it_means(text: str) -> KaratError | None:
    """The error behind the text of one of Spark's, Java's stack and all; None where it is none of the user's."""
    for pattern, error_of in _MEANINGS:
        found = re.search(pattern, text)
        if found:
            return error_of(found, text)
    return None


def _unreadable(found: re.Match[str], text: str) -> KaratError:
    """A file that is no Parquet, is damaged, or has another type in a column."""
    path, said = path_of(found.group("path")), found.group("said").strip()
    types = re.search(r"column \[?(.+?)\]?\. Expected Spark type (\S+), actual Parquet type (\S+?)\.", said)
    if types:
        column, expected, actual = types.groups()
        return DataError(
            f"column {column!r} is {actual} in this file", where=path, expected=f"{expected}, as elsewhere"
        )
    causes = re.findall(r"Caused by: [\w.$]+: (.+)", text)
    reason = next((cause for cause in causes if "FAILED_READ_FILE" not in cause and "awaitResult" not in cause), said)
    if "is not a Parquet file" in reason:
        return DataError("this is no Parquet file, or its end is missing", where=path)
    return DataError(f"cannot be read: {_short(reason)}", where=path, hint="Is the file damaged?")


def _apart(found: re.Match[str], text: str) -> KaratError:
    first, second = (" ".join(part.split()) for part in found.groups())
    return DataError(f"files of one table have different columns: {first} and {second}")


def _not_there(found: re.Match[str], text: str) -> KaratError:
    return DataError("no such file or folder", where=path_of(found.group(1)))


def _nothing_there(found: re.Match[str], text: str) -> KaratError:
    return DataError("there is no Parquet file in the folder")


def _no_such_column(found: re.Match[str], text: str) -> KaratError:
    others = re.search(r"one of the following\? \[(.*?)\]", text)
    hint = f"There are: {others.group(1).replace('`', '')}" if others else None
    return DataError(f"there is no column {found.group(1)!r}", hint=hint)


def _same_name(found: re.Match[str], text: str) -> KaratError:
    return DataError(
        f"several columns are called {found.group(1)!r}", hint="Spark does not tell upper from lower case; rename one."
    )


def _unwritable(found: re.Match[str], text: str) -> KaratError:
    return DataError("cannot be written here", where=path_of(found.group(1)).partition("/_temporary")[0])


def _no_scheme(found: re.Match[str], text: str) -> KaratError:
    return UsageError(
        f"Spark cannot reach this store: {_short(found.group(0))}",
        hint="Its library has to be among Spark's jars: spark.jars.packages in spark-defaults.conf.",
    )


def _no_module(found: re.Match[str], text: str) -> KaratError:
    library = found.group(1).split(".")[0]
    return DataError(
        f"{library} is not installed on the executors",
        hint="Install karat[spark] on every machine of the cluster; PYSPARK_PYTHON says which Python is taken.",
    )


def _other_release(found: re.Match[str], text: str) -> KaratError:
    return DataError(
        f"the executors' karat is of another release: it has no {found.group(1)}",
        hint="Install the same one on every machine of the cluster.",
    )


def _other_python(found: re.Match[str], text: str) -> KaratError:
    return DataError(
        f"the executors' Python is not the driver's: {_short(found.group(0))}",
        hint="PYSPARK_PYTHON says which Python is taken.",
    )


def _no_python(found: re.Match[str], text: str) -> KaratError:
    return DataError(
        f"the executors have no {found.group(1)}", hint="PYSPARK_PYTHON says which Python is taken on every machine."
    )


def _disk_full(found: re.Match[str], text: str) -> KaratError:
    return DataError(
        "a disk that Spark puts its parts on is full", hint="SPARK_LOCAL_DIRS, or --temp on one machine, names another."
    )


def _killed(found: re.Match[str], text: str) -> KaratError:
    return DataError(
        "a worker's Python process ended, as happens where memory runs out",
        hint="More partitions make smaller tasks: spark.sql.shuffle.partitions.",
    )


def _no_memory(found: re.Match[str], text: str) -> KaratError:
    return DataError(
        "Spark ran out of memory", hint="spark.driver.memory and spark.executor.memory say how much there is."
    )


def _lost(found: re.Match[str], text: str) -> KaratError:
    return DataError(f"the cluster was lost: {_short(found.group(0))}")


def path_of(uri: str) -> str:
    """A path of this machine as people write it; one of elsewhere as it is."""
    return unquote(re.sub(r"^file:/+", "/", uri)) if uri.startswith("file:") else uri


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


_MEANINGS: tuple[tuple[str, Callable[[re.Match[str], str], KaratError]], ...] = (
    (r"No space left on device", _disk_full),
    (
        r"\[FAILED_READ_FILE[^\]]*\] Encountered error while reading file (?P<path>\S+)\.\s(?P<said>.*)",
        _unreadable,
    ),
    (r"\[CANNOT_MERGE_SCHEMAS\][^\"]*\"STRUCT<([^\"]*)>\"[^\"]*\"STRUCT<([^\"]*)>\"", _apart),
    (r"\[PATH_NOT_FOUND\] Path does not exist: (.+?)\. SQLSTATE", _not_there),
    (r"\[UNABLE_TO_INFER_SCHEMA\]", _nothing_there),
    (r"\[UNRESOLVED_COLUMN[^\]]*\] .*? with name `(.+?)` cannot be resolved", _no_such_column),
    (r"\[COLUMN_ALREADY_EXISTS\] The column `(.+?)` already exists", _same_name),
    (r"Mkdirs failed to create (\S+)", _unwritable),
    (r"No FileSystem for scheme \"?[\w.+-]+\"?|Class org\.apache\.hadoop\.fs\.\S+ not found", _no_scheme),
    (r"ModuleNotFoundError: No module named '([\w.]+)'", _no_module),
    (r"(?:Can't get attribute|cannot import name) '(\w+)' (?:on <module|from) 'karat", _other_release),
    (r"\[PYTHON_VERSION_MISMATCH\][^\n]*", _other_python),
    (r"Cannot run program \"([^\"]+)\"", _no_python),
    (r"OutOfMemoryError|ARROW_OUT_OF_MEMORY", _no_memory),
    (r"Python worker exited unexpectedly", _killed),
    (r"All masters are unresponsive|Master removed our application[^\n]*|SparkContext was shut ?down", _lost),
    (r"Answer from Java side is empty|Connection refused|Connection reset by peer", _lost),
)
"""From what Spark says to what it means; the first that is found."""
