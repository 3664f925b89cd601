"""sqlite-vec: every query against every item, within SQLite."""

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from rankjury.core.params import Params, Setting
from rankjury.core.progress import Progress
from rankjury.core.types import Floats, Ints, Matrix
from rankjury.errors import UsageError
from rankjury.retrieval.engines.base import ENGINES, FileEngine, Filter, stack_rows

_MAX_BY_MATCH = 4096
"""The most neighbours that a vector table returns; for more, all distances are sorted."""
_METRICS = {"cosine": ("cosine", "vec_distance_cosine", 1.0), "l2": ("L2", "vec_distance_L2", 0.0)}
"""For each metric: the table's distance, the SQL function, and the score of distance 0."""


@ENGINES.register("sqlite-vec")
class SqliteVec(FileEngine):
    """One database file, read by one connection per thread."""

    description = "sqlite-vec: every query against every item, within SQLite"
    extra = "engines"
    libraries = ("sqlite_vec",)
    package = "sqlite-vec"
    metrics: ClassVar = tuple(_METRICS)
    approximate = False
    exact_mode = True
    native_filter = True

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        super().__init__(metric, settings)
        self._sqlite = _sqlite_module()
        self._file = Path()

    def _build(self, vectors: Matrix, ids: pl.Series, progress: Progress) -> None:
        self._file = self._new_folder() / "items.db"
        database = self._index = self._connect()
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        column = f"vector float[{self._dimensions}] distance_metric={_METRICS[self.metric][0]}"
        database.execute(f"CREATE VIRTUAL TABLE items USING vec0({column})")
        texts = self._attribute_texts()
        columns = "".join(f", {name} TEXT" for name in texts.columns)
        database.execute(f"CREATE TABLE attributes (row INTEGER PRIMARY KEY{columns})")
        marks = ", ".join("?" * (1 + texts.width))
        for first, last in self._batches(progress, 1 << 12):
            rows = zip(range(first, last), map(bytes, vectors[first:last]), strict=True)
            database.executemany("INSERT INTO items (rowid, vector) VALUES (?, ?)", rows)
            values = ((row, *line) for row, line in enumerate(texts[first:last].iter_rows(), first))
            database.executemany(f"INSERT INTO attributes VALUES ({marks})", values)
        database.commit()

    def _connect(self) -> Any:
        # Threads take turns with a connection: a bench opens it in one thread and searches in another.
        connection = self._sqlite.connect(str(self._file), check_same_thread=False)
        connection.enable_load_extension(True)
        self._library.load(connection)
        connection.enable_load_extension(False)
        return connection

    def _search(
        self, queries: Any, k: int, params: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> tuple[Ints, Floats]:
        condition, value = "", []
        if filter is not None:
            column = self._attribute_column(filter)
            condition, value = f"rowid IN (SELECT row FROM attributes WHERE {column} = ?)", [filter.value]
        _, function, best = _METRICS[self.metric]
        if k <= _MAX_BY_MATCH:
            where = f"WHERE vector MATCH ? AND k = ? {condition and 'AND ' + condition}"
            statement, values = f"SELECT rowid, distance FROM items {where} ORDER BY distance", [k, *value]
        else:
            distances = f"SELECT rowid, {function}(vector, ?) AS distance FROM items"
            statement = f"{distances} {condition and 'WHERE ' + condition} ORDER BY distance LIMIT ?"
            values = [*value, k]
        results = []
        for query in queries:
            pairs = self._index.execute(statement, (bytes(query), *values)).fetchall()
            scores = best - np.array([distance for _, distance in pairs], dtype=np.float64)
            results.append((np.array([row for row, _ in pairs], dtype=np.int64), scores))
        return stack_rows(results, k)

    def metadata(self) -> dict[str, Any]:
        module = self._sqlite
        return super().metadata() | {"sqlite": module.sqlite_version, "sqlite_module": module.__name__}

    def for_thread(self) -> Self:
        """Return an engine with another connection to the same file."""
        other = self._copy()
        other._folder, other._index = None, self._connect()
        return other

    def close(self) -> None:
        if self._index is not None:
            self._index.close()
        super().close()


def _sqlite_module() -> Any:
    """Return a SQLite module whose connections load extensions: Python's own, or else pysqlite3."""
    import sqlite3

    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return sqlite3
    try:
        import pysqlite3  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as error:
        found = "this Python's sqlite3 loads no extensions, and the engine sqlite-vec is one"
        expected = "a Python that was built to load them, or the library pysqlite3"
        raise UsageError(found, expected=expected, hint="Install it with: pip install pysqlite3") from error
    return pysqlite3
