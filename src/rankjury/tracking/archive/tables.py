"""Parquet tables of an archived run: scores, queries, rankings, golds and names of items.

A table is checked when it is read: its hash and columns before the first row, and the rows that are read for nulls and
infinite numbers.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.columns import GRADE, ITEM, QUERY, RANK, SCORE
from rankjury.core.types import Ints
from rankjury.errors import DamagedRun, DataError, UnknownName, guard_reading
from rankjury.evaluation.query_lists import IN_ALL, SYSTEM, WHICH, Answers
from rankjury.evaluation.report import Report
from rankjury.evaluation.report_json import gold_form
from rankjury.evaluation.scores import QueryData, Scores, SystemResult
from rankjury.io.parquet import check_parquet
from rankjury.tracking.archive.files import check_stored, json_bytes, parse_strict_json, read_stored

REPORT, SCORES, QUERIES = "report.json", "scores.parquet", "queries.parquet"
RANKINGS, GOLDS, ITEMS = "rankings.parquet", "golds.parquet", "items.parquet"
_GROUP_ROWS = 20_000
"""Rows of a row group, which is decoded as a whole to read one query."""


def report_files(report: Report) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of every file of a report: its JSON, then its tables."""
    yield REPORT, json_bytes(report.to_json() | gold_form(report.gold))
    scores = [
        table.per_query.select(pl.col(QUERY).cast(pl.String), pl.lit(name).alias(SYSTEM), pl.exclude(QUERY))
        for name, table in report.scores.items()
    ]
    yield SCORES, _parquet(_sort_by_query(pl.concat(scores, how="diagonal")))
    yield QUERIES, _parquet(queries_table(report))
    items: list[pl.Series] = []
    if report.answers is not None:
        for name, frame in ((RANKINGS, report.answers.rankings_frame()), (GOLDS, report.answers.golds_frame())):
            items.append(frame[ITEM].unique())
            yield name, _parquet(_sort_by_query(frame))
    if report.names:
        names = pl.DataFrame({ITEM: list(report.names), "name": list(report.names.values())}, schema=_SCHEMAS[ITEMS])
        if items:  # only the items that occur
            names = names.join(pl.concat(items).unique().to_frame(ITEM), on=ITEM, how="semi")
        yield ITEMS, _parquet(names.sort(ITEM))


def queries_table(report: Report) -> pl.DataFrame:
    """Return query_id, text and the names of the query's slices, in the order of the scores."""
    queries = next(iter(report.scores.values())).queries.cast(pl.String)
    texts = [report.texts.get(query) for query in queries]
    frame = pl.DataFrame({QUERY: queries, "text": pl.Series(texts, dtype=pl.String)}).with_row_index("row")
    parts = [part for part in report.slices if part.of == "queries" and part.rows]
    members = pl.DataFrame(
        {
            "row": pl.Series([row for part in parts for row in part.rows], dtype=pl.UInt32),
            "slices": pl.Series([part.name for part in parts for _ in part.rows], dtype=pl.String),
        }
    )
    grouped = members.group_by("row", maintain_order=True).agg("slices")
    frame = frame.join(grouped, on="row", how="left", maintain_order="left")
    return frame.select(QUERY, "text", pl.col("slices").fill_null([]))


def _sort_by_query(frame: pl.DataFrame) -> pl.DataFrame:
    """Sort by id, so that a reader can skip row groups by their smallest and largest id."""
    return frame if frame[QUERY].is_sorted() else frame.sort(QUERY, maintain_order=True)


def _parquet(frame: pl.DataFrame) -> bytes:
    file = BytesIO()
    frame.write_parquet(file, compression="zstd", statistics=True, row_group_size=_GROUP_ROWS)
    return file.getvalue()


_TEXT, _NUMBER = pl.String(), pl.Float64()
_SCHEMAS: dict[str, dict[str, pl.DataType]] = {
    SCORES: {QUERY: _TEXT, SYSTEM: _TEXT},
    QUERIES: {QUERY: _TEXT, "text": _TEXT, "slices": pl.List(pl.String)},
    RANKINGS: {
        **{QUERY: _TEXT, SYSTEM: _TEXT, RANK: pl.Int32(), ITEM: _TEXT},
        **{SCORE: _NUMBER, GRADE: _NUMBER, IN_ALL: pl.Int32()},
    },
    GOLDS: {QUERY: _TEXT, WHICH: _TEXT, ITEM: _TEXT, GRADE: _NUMBER, IN_ALL: pl.Int32()},
    ITEMS: {ITEM: _TEXT, "name": _TEXT},
}
"""Columns by table; the scores have one more per measure."""
_NOT_NULL = (QUERY, SYSTEM, WHICH, RANK, ITEM, IN_ALL, "name", "slices")
_MAX_VALUE = 1e150
"""Bound of scores and grades: their differences and squares stay finite."""


class RunTables:
    """Tables and report of an archived run, read from its folder and checked against its manifest."""

    def __init__(self, path: Path, manifest: Mapping[str, Any]) -> None:
        self.path = path
        self.manifest = manifest
        self._checked: set[str] = set()
        """Tables whose columns were checked."""

    def scan(self, name: str) -> pl.LazyFrame:
        """Return a table, after a check of its hash and its columns.

        Raises:
            DamagedRun: Where the file is gone, was changed, or has other columns than rankjury writes.
        """
        path, about = self.path / name, self.manifest["files"].get(name)
        if about is None or name not in _SCHEMAS:
            raise DamagedRun(path, "the run has no such table")
        check_stored(path, about)
        expected = dict(_SCHEMAS[name])
        if name == SCORES:
            expected |= {label: _NUMBER for measures in self.manifest["summary"].values() for label in measures}
        with _guard(path):
            if name in self._checked:
                return pl.scan_parquet(path, glob=False).select(*expected)
            check_parquet(path, str(path))
            frame = pl.scan_parquet(path, glob=False)
            schema = frame.collect_schema()
            for column, type_ in expected.items():
                if schema.get(column) != type_:
                    fault = (
                        f"the column {column} is of type {schema[column]}"
                        if column in schema
                        else f"no column {column}"
                    )
                    raise DamagedRun(path, fault, expected=f"a column {column} of type {type_}")
        self._checked.add(name)
        return frame.select(*expected)

    def read(self, name: str, columns: Sequence[str] | None = None, where: pl.Expr | None = None) -> pl.DataFrame:
        """Read rows of a table: all or some columns, and those rows that fit ``where``.

        Raises:
            DamagedRun: Where the table is not as it was stored, or a row is not as rankjury writes it.
        """
        path, rows = self.path / name, self.scan(name)
        with _guard(path):
            rows = rows if where is None else rows.filter(where)
            frame = (rows if columns is None else rows.select(*columns)).collect()
        for column in frame.get_columns():
            if column.name in _NOT_NULL and column.name in _SCHEMAS[name] and column.null_count():
                raise DamagedRun(path, f"the column {column.name} has nulls")
            is_bounded = column.dtype == _NUMBER and (name, column.name) != (RANKINGS, SCORE)
            if is_bounded and not (column.abs() <= _MAX_VALUE).all():  # nulls do not count
                raise DamagedRun(path, f"the column {column.name} has an infinite number")
        return frame

    def is_empty(self, name: str) -> bool:
        """Return whether a table has no row."""
        rows = self.scan(name)
        with _guard(self.path / name):
            return bool(rows.select(pl.len()).collect().item() == 0)

    def queries(self, *columns: str) -> pl.DataFrame:
        """Read the queries, which are unique: their ids and further columns, in the order of the scores."""
        frame = self.read(QUERIES, (QUERY, *columns))
        if frame[QUERY].n_unique() < len(frame):
            raise DamagedRun(self.path / QUERIES, "a query occurs twice")
        return frame

    @cached_property
    def ids(self) -> pl.Series:
        """Ids of the queries in the order of the scores."""
        return self.queries()[QUERY]

    @cached_property
    def score_rows(self) -> dict[str, Ints]:
        """Row of each query in the table of scores, by system; −1 where a system has no such row.

        The table is sorted by query, then by system in the report's order. As no pair occurs twice, the number of rows
        shows whether all systems have all queries.
        """
        systems = list(self.manifest["summary"])
        names = self.read(SCORES, (SYSTEM,))[SYSTEM]
        if len(names) == len(self.ids) * len(systems) and names.head(len(systems)).to_list() == systems:
            first = np.empty(len(self.ids), dtype=np.int64)
            first[self.ids.arg_sort().to_numpy()] = np.arange(0, len(names), len(systems))
            return {name: first + place for place, name in enumerate(systems)}
        table = self.read(SCORES, (QUERY, SYSTEM)).with_row_index("row")
        places = {}
        for name in systems:
            pairs = table.filter(pl.col(SYSTEM) == name)
            rows = self.ids.to_frame(QUERY).join(pairs, on=QUERY, how="left", maintain_order="left")["row"]
            if len(rows) != len(self.ids):
                raise DamagedRun(self.path / SCORES, f"a query of {name} occurs twice")
            places[name] = rows.cast(pl.Int64).fill_null(-1).to_numpy()
        return places

    @cached_property
    def slice_rows(self) -> dict[str, pl.Series]:
        """Rows of the queries by slice."""
        frame = self.queries("slices").with_row_index("row").explode("slices").drop_nulls("slices")
        grouped = frame.group_by("slices", maintain_order=True).agg("row")
        return dict(zip(grouped["slices"], grouped["row"], strict=True))

    def answer(self, query: str) -> Answers | None:
        """Read golds and rankings of one query; None where the run stored none."""
        answers = self.answers(pl.Series(QUERY, [query], dtype=pl.String), [query])
        lists = () if answers is None else (*answers.golds.values(), *answers.systems.values())
        is_empty = answers is not None and not any(len(ranking.items) for ranking in lists)
        if is_empty and self.read(QUERIES, (QUERY,), pl.col(QUERY) == query).is_empty():
            raise UnknownName("query", query, (), where=self.path.name)
        return answers

    def answers(self, queries: pl.Series | None = None, ids: Sequence[str] | None = None) -> Answers | None:
        """Read golds and rankings of all queries, or of ``ids``; None where the run stored none.

        Args:
            queries: The queries in the order of the rows; by default all of the run.
            ids: The queries to read; the others stay empty.
        """
        about, files = self.manifest.get("answers"), self.manifest["files"]
        if about is None or RANKINGS not in files or GOLDS not in files:
            return None
        where = None if ids is None else pl.col(QUERY).is_in(ids)
        rankings, golds = (self.read(name, where=where) for name in (RANKINGS, GOLDS))
        rows = self.ids if queries is None else queries
        with _guard(self.path / RANKINGS):  # a query that is not in the table of queries has no row
            return Answers.from_frames(
                rows, about["systems"], about["golds"], about["gold_of"], rankings, golds, about.get("depth")
            )

    def item_names(self, ids: Iterable[str] | None = None) -> dict[str, str]:
        """Read the names of some items, or of all, where they are known."""
        return self._texts(ITEMS, ITEM, "name", ids) if ITEMS in self.manifest["files"] else {}

    def query_texts(self, ids: Iterable[str] | None = None) -> dict[str, str]:
        """Read the texts of some queries, or of all, where they are known."""
        return self._texts(QUERIES, QUERY, "text", ids)

    def _texts(self, name: str, key: str, text: str, ids: Iterable[str] | None) -> dict[str, str]:
        where = None if ids is None else pl.col(key).is_in(list(dict.fromkeys(ids)))
        frame = self.read(name, (key, text), where).drop_nulls(text)
        return dict(zip(frame[key].to_list(), frame[text].to_list(), strict=True))

    def report(self) -> Report:
        """Read the report; the data of its queries is read when it is first used.

        Raises:
            DamagedRun: Where the file is not as it was stored, or not as rankjury writes it.
        """
        path, about = self.path / REPORT, self.manifest["files"].get(REPORT)
        if about is None:
            raise DamagedRun(path, "the manifest does not list this file")
        try:
            report = Report.from_json(parse_strict_json(read_stored(path, about), str(path)), str(path))
        except DamagedRun:
            raise
        except DataError as error:
            raise DamagedRun(path, error.found, expected=error.expected) from error
        stored = {name: list(measures) for name, measures in self.manifest["summary"].items()}
        if {name: list(system.estimates) for name, system in report.systems.items()} != stored:
            raise DamagedRun(path, "it has other systems or measures than the manifest")
        slices = (
            replace(part, rows=_SliceRows(self, part.name)) if part.of == "queries" else part for part in report.slices
        )
        queries = ArchivedQueries(self, report.systems)
        return replace(report, slices=tuple(slices), queries=queries, source=self.path.name)


@contextmanager
def _guard(path: Path) -> Iterator[None]:
    """Turn whatever Polars raises about a table into an error that names the run."""
    try:
        with guard_reading(str(path), "Parquet"):
            yield
    except DamagedRun:
        raise
    except DataError as error:
        raise DamagedRun(path, error.found, expected=error.expected) from error


class ArchivedQueries(QueryData):
    """Data of the queries of an archived run; each table is read when it is first used."""

    def __init__(self, tables: RunTables, systems: Mapping[str, SystemResult]) -> None:
        self._tables = tables
        self._systems = systems

    def only(self, labels: Sequence[str]) -> "ArchivedQueries":
        """Return the same data with the scores of some of the measures; nothing is read."""
        return ArchivedQueries(self._tables, {name: system.only(labels) for name, system in self._systems.items()})

    @cached_property
    def ids(self) -> pl.Series:
        return self._tables.ids

    @cached_property
    def scores(self) -> Mapping[str, Scores]:
        table = self._tables.read(SCORES)
        padded = pl.concat((table, table.clear(1)))  # nulls at −1
        scores = {}
        for name, system in self._systems.items():
            columns = padded.select(pl.col(*system.labels).fill_null(np.nan))
            values = columns[self._tables.score_rows[name]].to_numpy()
            scores[name] = system.scores_from(self.ids, values, self._tables.path.name)
        return scores

    @cached_property
    def answers(self) -> Answers | None:
        return self._tables.answers()

    @cached_property
    def query_texts(self) -> Mapping[str, str]:
        return self._tables.query_texts()

    @cached_property
    def names(self) -> Mapping[str, str]:
        return self._tables.item_names()

    @property
    def queries_are_items(self) -> bool:
        return bool(self._tables.manifest.get("queries_are_items"))


class _SliceRows(Sequence[int]):
    """Rows of a slice's queries, read when they are first used."""

    def __init__(self, tables: RunTables, name: str) -> None:
        self._tables = tables
        self._name = name

    @cached_property
    def _rows(self) -> list[int]:
        rows = self._tables.slice_rows.get(self._name)
        return [] if rows is None else rows.to_list()

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: Any) -> Any:
        return self._rows[place]

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows)
