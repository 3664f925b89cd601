"""sqlite-vec: every query against every item, within SQLite."""

from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from rankjury.core.importing import import_optional
from rankjury.core.params import Params, Setting
from rankjury.core.progress import Progress
from rankjury.errors import UsageError
from rankjury.retrieval.engines.arrays import ArrayEngine, attribute_column, attribute_columns
from rankjury.retrieval.engines.base import ENGINES, Filter, pad_rows
from rankjury.retrieval.engines.temp_folder import FOLDER, Folder, bytes_in, folder_in
from rankjury.retrieval.knn.search import Neighbours
from rankjury.retrieval.knn.similarity import Singles

_ROWS_AT_ONCE = 1 << 12
_MOST_BY_MATCH = 4096
"""Neighbours that a table of vectors gives at most; more are had by sorting all distances."""


def _sqlite() -> Any:
    """A module of SQLite whose connections load extensions: Python's own, or else pysqlite3."""
    import sqlite3

    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return sqlite3
    try:
        import pysqlite3  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as error:
        raise UsageError(
            "this Python's sqlite3 loads no extensions, which the engine sqlite-vec is",
            expected="a Python that was built to load them, or the library pysqlite3",
            hint="Install it with: pip install pysqlite3",
        ) from error
    return pysqlite3


@ENGINES.register("sqlite-vec")
class SqliteVec(ArrayEngine):
    """One file, read by a connection a thread."""

    description = "sqlite-vec: every query against every item, within SQLite"
    extra = "engines"
    libraries = ("sqlite_vec",)
    open_params: ClassVar = {"folder": FOLDER}
    metrics = ("cosine", "l2")
    approximate = False
    exact_mode = True
    native_filter = True

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        super().__init__(metric, settings)
        self._loader = import_optional("sqlite_vec", "the engine sqlite-vec")
        self._sqlite = _sqlite()
        self._folder: Folder | None = None
        self._file = Path()
        self._connection: Any = None
        self._others: list[SqliteVec] = []

    def _fill(self, held: Singles, progress: Progress) -> None:
        self.close()
        self._folder = folder_in(str(self.settings["folder"]), "sqlite-vec")
        self._file = Path(self._folder.name) / "items.db"
        self._connection = self._connected()
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        run, by = self._connection, "cosine" if self.metric == "cosine" else "L2"
        run.execute(f"CREATE VIRTUAL TABLE items USING vec0(vector float[{held.shape[1]}] distance_metric={by})")
        names = attribute_columns(self._attributes)
        run.execute(f"CREATE TABLE attributes (row INTEGER PRIMARY KEY{''.join(f', {name} TEXT' for name in names)})")
        marks = ", ".join("?" * (1 + len(names)))
        for first, last in self._batches(_ROWS_AT_ONCE, progress):
            rows = zip(range(first, last), map(bytes, held[first:last]), strict=True)
            run.executemany("INSERT INTO items (rowid, vector) VALUES (?, ?)", rows)
            if self._attributes is not None:
                part = self._attributes[first:last].cast(pl.String).rows()
                told = ((row, *values) for row, values in zip(range(first, last), part, strict=True))
                run.executemany(f"INSERT INTO attributes VALUES ({marks})", told)
        self._connection.commit()

    def _connected(self) -> Any:
        # By turns threads may use a connection: the lab makes them in one thread and asks in another.
        connection = self._sqlite.connect(str(self._file), check_same_thread=False)
        connection.enable_load_extension(True)
        self._loader.load(connection)
        connection.enable_load_extension(False)
        return connection

    def _find(
        self, asked: Singles, k: int, values: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> Neighbours:
        statement, given = self._statement(k, filter)
        found = [self._connection.execute(statement, (bytes(query), *given)).fetchall() for query in asked]
        rows = [np.array([row for row, _ in each], dtype=np.int64) for each in found]
        apart = [np.array([distance for _, distance in each], dtype=np.float64) for each in found]
        nearest = 1.0 if self.metric == "cosine" else 0.0
        return pad_rows(rows, [nearest - each for each in apart], k)

    def _statement(self, k: int, filter: Filter | None) -> tuple[str, list[Any]]:
        """What finds the k nearest, and what it is given after the query."""
        among, value = self._among(filter)
        if k <= _MOST_BY_MATCH:
            where = f"WHERE vector MATCH ? AND k = ? {among and 'AND ' + among}"
            return f"SELECT rowid, distance FROM items {where} ORDER BY distance", [k, *value]
        by = "vec_distance_cosine" if self.metric == "cosine" else "vec_distance_L2"
        where = among and f"WHERE {among}"
        return f"SELECT rowid, {by}(vector, ?) AS apart FROM items {where} ORDER BY apart LIMIT ?", [*value, k]

    def _among(self, filter: Filter | None) -> tuple[str, list[str]]:
        if filter is None:
            return "", []
        column = attribute_column(self._attributes, filter)
        return f"rowid IN (SELECT row FROM attributes WHERE {column} = ?)", [filter.value]

    def size(self) -> int:
        """Bytes of its file."""
        return bytes_in(self._folder)

    def metadata(self) -> dict[str, Any]:
        return {
            "library": "sqlite-vec",
            "version": version("sqlite-vec"),
            "sqlite": self._sqlite.sqlite_version,
            "sqlite_module": self._sqlite.__name__,
        }

    def for_thread(self) -> Self:
        """Another connection to the same file; closed with this one."""
        other = type(self)(self.metric, self.settings)
        other._file, other._shape, other._attributes = self._file, self._shape, self._attributes
        other._connection = other._connected()
        self._others.append(other)
        return other

    def close(self) -> None:
        while self._others:
            self._others.pop().close()
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
