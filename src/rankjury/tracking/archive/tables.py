"""Tables of a run: scores, queries, rankings, golds and names of items as Parquet files, written and read back.

A table is checked where it is read: its hash and columns before the first row, and the rows that are read for nulls and
infinite numbers.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from io import BytesIO
from math import nan
from typing import Any

import polars as pl

from rankjury.core.convert import GRADE, ITEM, QUERY, RANK, SCORE
from rankjury.core.json_schema import parse_strict_json
from rankjury.errors import DamagedRun, DataError, UnknownName, guard_reading
from rankjury.evaluation.query_lists import IN_ALL, SYSTEM, WHICH, Answers
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import QueryData, Scores, SystemResult
from rankjury.io.parquet import check_parquet
from rankjury.tracking.archive.files import check_stored, json_bytes
from rankjury.tracking.archive.run import ArchivedRun

REPORT, SCORES, QUERIES = "report.json", "scores.parquet", "queries.parquet"
RANKINGS, GOLDS, ITEMS = "rankings.parquet", "golds.parquet", "items.parquet"
_ROWS_TOGETHER = 20_000
"""A row group: what is decoded to look at one query."""


def digest_contents(report: Report) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of every file of a report: its JSON, then its tables."""
    yield REPORT, json_bytes(report.to_json())
    yield SCORES, _parquet(scores_table(report))
    yield QUERIES, _parquet(queries_table(report))
    held: list[pl.Series] = []
    if report.answers is not None:
        for name, frame in ((RANKINGS, report.answers.rankings_frame()), (GOLDS, report.answers.golds_frame())):
            held.append(frame[ITEM].unique())
            yield name, _parquet(_by_query(frame))
    if report.names:
        yield ITEMS, _parquet(items_table(report, held))


def scores_table(report: Report) -> pl.DataFrame:
    """query_id, system and a column a measure; undefined is null, and so is what a system was not measured in."""
    frames = [
        scores.per_query.select(pl.col(QUERY).cast(pl.String), pl.lit(name).alias("system"), pl.exclude(QUERY))
        for name, scores in report.scores.items()
    ]
    return _by_query(pl.concat(frames, how="diagonal"))


def queries_table(report: Report) -> pl.DataFrame:
    """query_id, text and the names of the slices that it is in; in the order of the scores."""
    queries = next(iter(report.scores.values())).queries.cast(pl.String)
    known = report.texts
    texts = [known.get(query) for query in queries]
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


def items_table(report: Report, held: list[pl.Series]) -> pl.DataFrame:
    """item_id and name of the items that occur in the rankings or the gold; without these, of all."""
    frame = pl.DataFrame(
        {
            ITEM: pl.Series(list(report.names), dtype=pl.String),
            "name": pl.Series(list(report.names.values()), dtype=pl.String),
        }
    )
    if held:
        frame = frame.join(pl.concat(held).unique().to_frame(ITEM), on=ITEM, how="semi")
    return frame.sort(ITEM)


def _by_query(frame: pl.DataFrame) -> pl.DataFrame:
    """In the order of ids, so that a row group can be passed over by the least and greatest id in it."""
    return frame if frame[QUERY].is_sorted() else frame.sort(QUERY, maintain_order=True)


def _parquet(frame: pl.DataFrame) -> bytes:
    file = BytesIO()
    frame.write_parquet(file, compression="zstd", statistics=True, row_group_size=_ROWS_TOGETHER)
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
"""By table, its columns; that of scores has one more for each measure."""
_FILLED = (QUERY, SYSTEM, WHICH, RANK, ITEM, IN_ALL, "name", "slices")
"""Columns without nulls."""
_LARGEST = 1e150
"""Bound of scores and grades: their differences and squares stay finite."""


def scan_table(run: ArchivedRun, name: str) -> pl.LazyFrame:
    """Return one of a run's tables, after a check of its hash and its columns.

    Raises:
        DamagedRun: Where the file is gone, was changed, or has other columns than rankjury writes.
    """
    path, about = run.path / name, run.manifest["files"].get(name)
    if about is None or name not in _SCHEMAS:
        raise DamagedRun(path, "the run has no such table")
    check_stored(path, about)
    expected = dict(_SCHEMAS[name])
    if name == SCORES:
        expected |= {label: _NUMBER for measures in run.manifest["summary"].values() for label in measures}
    with _guard(run, name):
        if name not in run.checked_tables:
            check_parquet(path, str(path))
        frame = pl.scan_parquet(path, glob=False)
        if name not in run.checked_tables:
            found = frame.collect_schema()
            for column, type_ in expected.items():
                if found.get(column) != type_:
                    fault = (
                        f"the column {column} is of type {found[column]}" if column in found else f"no column {column}"
                    )
                    raise DamagedRun(path, fault, expected=f"a column {column} of type {type_}")
            run.checked_tables.add(name)
    return frame.select(*expected)


def read_rows(
    run: ArchivedRun, name: str, columns: Sequence[str] | None = None, where: pl.Expr | None = None
) -> pl.DataFrame:  # fmt: skip
    """Read rows of one of a run's tables: some columns, and those rows that fit ``where``.

    Raises:
        DamagedRun: Where the table is not as it was stored, or a row is not as rankjury writes it.
    """
    rows = scan_table(run, name)
    with _guard(run, name):
        rows = rows if where is None else rows.filter(where)
        frame = (rows if columns is None else rows.select(*columns)).collect()
    for column in frame.get_columns():
        if column.name in _FILLED and column.name in _SCHEMAS[name] and column.null_count():
            raise DamagedRun(run.path / name, f"the column {column.name} has nulls")
        is_bounded = column.dtype == _NUMBER and (name, column.name) != (RANKINGS, SCORE)
        if is_bounded and not (column.abs() <= _LARGEST).all():  # nulls do not count
            raise DamagedRun(run.path / name, f"the column {column.name} has an infinite number")
    return frame


def is_empty(run: ArchivedRun, name: str) -> bool:
    """Whether one of a run's tables has no row."""
    rows = scan_table(run, name)
    with _guard(run, name):
        return bool(rows.select(pl.len()).collect().item() == 0)


@contextmanager
def _guard(run: ArchivedRun, name: str) -> Iterator[None]:
    """Turn whatever Polars raises about a table into an error that names the run."""
    try:
        with guard_reading(str(run.path / name), "Parquet"):
            yield
    except DamagedRun:
        raise
    except DataError as error:
        raise DamagedRun(run.path / name, error.found, expected=error.expected) from error


def asked_of(run: ArchivedRun, *columns: str) -> pl.DataFrame:
    """Read the queries of a run, each once: their ids and further columns, in the order of the scores."""
    frame = read_rows(run, QUERIES, (QUERY, *columns))
    if frame[QUERY].n_unique() < len(frame):
        raise DamagedRun(run.path / QUERIES, "a query occurs twice")
    return frame


def answers_of(run: ArchivedRun, query: str | None) -> Answers | None:
    """Of one query, or of all."""
    if query is None:
        return _answers(run, None, None)
    found = _answers(run, pl.Series(QUERY, [query], dtype=pl.String), pl.col(QUERY) == query)
    nothing = found is not None and not any(len(one.items) for one in (*found.golds.values(), *found.systems.values()))
    if nothing and read_rows(run, QUERIES, (QUERY,), pl.col(QUERY) == query).is_empty():
        raise UnknownName("query", query, (), where=run.name)
    return found


def answers_to(run: ArchivedRun, queries: pl.Series, ids: Iterable[str]) -> Answers | None:
    """Of some queries, in the order of all; the others have none here. None where the run kept no answers."""
    return _answers(run, queries, pl.col(QUERY).is_in(list(ids)))


def _answers(run: ArchivedRun, queries: pl.Series | None, where: pl.Expr | None) -> Answers | None:
    about = run.manifest.get("answers")
    if about is None or run.file(RANKINGS) is None or run.file(GOLDS) is None:
        return None
    rankings, golds = (read_rows(run, name, where=where) for name in (RANKINGS, GOLDS))
    asked = asked_of(run)[QUERY] if queries is None else queries
    known = about["systems"], about["golds"], about["gold_of"]
    with _guard(run, RANKINGS):  # a query that nobody asked has no place
        return Answers.from_frames(asked, *known, rankings, golds, about.get("depth"))


def names_of(run: ArchivedRun, ids: Iterable[str] | None) -> dict[str, str]:
    if run.file(ITEMS) is None:
        return {}
    frame = read_rows(run, ITEMS, where=None if ids is None else pl.col(ITEM).is_in(list(dict.fromkeys(ids))))
    return dict(zip(frame[ITEM].to_list(), frame["name"].to_list(), strict=True))


def texts_of(run: ArchivedRun, ids: Iterable[str]) -> dict[str, str]:
    wanted = pl.col(QUERY).is_in(list(dict.fromkeys(ids))) & pl.col("text").is_not_null()
    frame = read_rows(run, QUERIES, (QUERY, "text"), wanted)
    return dict(zip(frame[QUERY].to_list(), frame["text"].to_list(), strict=True))


class ArchivedQueries(QueryData):
    """Data of the queries of an archived run: each table is read when something in it is first asked for."""

    def __init__(self, run: ArchivedRun, systems: Mapping[str, SystemResult]) -> None:
        self._run = run
        self._systems = systems

    def only(self, labels: Sequence[str]) -> "ArchivedQueries":
        """Return it with the scores of some of the measures; nothing is read."""
        return ArchivedQueries(self._run, {name: one.only(labels) for name, one in self._systems.items()})

    @cached_property
    def ids(self) -> pl.Series:
        return asked_of(self._run)[QUERY]

    @cached_property
    def scores(self) -> Mapping[str, Scores]:
        rows, ids = read_rows(self._run, SCORES), self.ids.to_frame(QUERY)
        found = {}
        for name, system in self._systems.items():
            own = ids.join(rows.filter(pl.col(SYSTEM) == name), on=QUERY, how="left", maintain_order="left")
            if len(own) != len(ids):
                raise DamagedRun(self._run.path / SCORES, f"a query of {name} occurs twice")
            values = own.select(pl.col(*system.labels).fill_null(nan)).to_numpy()
            found[name] = system.scores_from(self.ids, values, self._run.name)
        return found

    @cached_property
    def answers(self) -> Answers | None:
        return answers_of(self._run, None)

    @cached_property
    def query_texts(self) -> Mapping[str, str]:
        frame = read_rows(self._run, QUERIES, (QUERY, "text"), pl.col("text").is_not_null())
        return dict(zip(frame[QUERY].to_list(), frame["text"].to_list(), strict=True))

    @cached_property
    def names(self) -> Mapping[str, str]:
        return names_of(self._run, None)

    @property
    def queries_are_items(self) -> bool:
        return bool(self._run.manifest.get("queries_are_items"))

    @cached_property
    def slices(self) -> dict[str, list[int]]:
        """By slice, the rows of its queries."""
        frame = asked_of(self._run, "slices").with_row_index("row").explode("slices").drop_nulls("slices")
        grouped = frame.group_by("slices", maintain_order=True).agg("row")
        return dict(zip(grouped["slices"].to_list(), grouped["row"].to_list(), strict=True))


class _SliceRows(Sequence[int]):
    """The rows of a slice's queries, read when they are first asked for."""

    def __init__(self, queries: ArchivedQueries, name: str) -> None:
        self._queries = queries
        self._name = name

    def __len__(self) -> int:
        return len(self._queries.slices.get(self._name, ()))

    def __getitem__(self, place: Any) -> Any:
        return self._queries.slices.get(self._name, [])[place]

    def __iter__(self) -> Iterator[int]:
        return iter(self._queries.slices.get(self._name, ()))


def report_of(run: ArchivedRun) -> Report:
    """Read the report of a run; the data of its queries is read when it is asked for.

    Raises:
        DamagedRun: Where the file is not as it was stored, or not as rankjury writes it.
    """
    path = run.path / REPORT
    try:
        report = Report.from_json(parse_strict_json(run.read(REPORT), str(path)), str(path))
    except DamagedRun:
        raise
    except DataError as error:
        raise DamagedRun(path, error.found, expected=error.expected) from error
    stored = {name: list(measures) for name, measures in run.manifest["summary"].items()}
    if {name: list(one.estimates) for name, one in report.systems.items()} != stored:
        raise DamagedRun(path, "it has other systems or measures than the manifest")
    queries = ArchivedQueries(run, report.systems)
    slices = (
        replace(part, rows=_SliceRows(queries, part.name)) if part.of == "queries" else part for part in report.slices
    )
    return replace(report, slices=tuple(slices), queries=queries, source=run.name)
