"""Conversion of frames, dicts and arrays to a Gold or a Ranking: names of columns, checks."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, islice
from os.path import exists
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.columns import (
    COLUMNS_OF_RECORDS,
    GOLD_FIRST,
    GRADE,
    GRADE_COLUMNS,
    ITEM,
    ORDER_COLUMNS,
    QUERY,
    QUERY_COLUMNS,
    RANK,
    SCORE,
    fold_name,
    is_item_column,
    match_columns,
)
from rankjury.core.types import Floats, Gold, Ints, Ranking, block_heads, stable_order
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, guard_reading, shorten


def check_grades(column: str | None, grades: pl.Series, where: str) -> None:
    """Refuse a run's scores where a gold's grades are expected: gold and run were swapped.

    Grades in a ``column`` called score, as BEIR's are, must be whole. None: the values have no column, as in
    {query: {item: number}}. Grades are few and have two decimals at most; hardly any two scores of a run are equal.
    """
    if column is not None:
        if fold_name(column) == SCORE and not (grades == grades.round()).all():
            raise DataError(
                "the column score holds fractions, as a run's scores do",
                where=where,
                expected="a gold with whole grades",
                hint=f"{GOLD_FIRST} If these are grades, name the column grade.",
            )
        return
    finer = ((grades * 100) != (grades * 100).round()).sum()
    if len(grades) >= 20 and 2 * finer > len(grades) and 2 * grades.n_unique() > len(grades):
        raise DataError(
            f"the {len(grades):,} values look like scores, not grades ({grades[0]}, {grades[1]} …)",
            where=where,
            expected="a gold: {query: {item: grade}}",
            hint=f"{GOLD_FIRST} If these are grades, give a table with a column named grade.",
        )


_IDS = "strings or whole numbers"
_ID = (str, int, np.integer)
_NOT_IDS = (float, np.floating, bytes, type(None), tuple, list, dict, set, np.ndarray)
_NO_ROWS, _ANY_ROW = "found no rows", "at least one query with an item"
_KINDS_OF_INPUT = (
    "a dict of dicts, a dict of lists, a Polars or pandas frame, any object with the Arrow capsule interface, a list "
    "of records such as {query, id, score}, or a two-dimensional array of item ids with one row per query"
)


@check_arguments
@guard_reading("the gold", expected=_KINDS_OF_INPUT)
def as_gold(data: Any, *, relevant_from: float | None = None) -> Gold:
    """Return a gold from anything in memory.

    Args:
        data: ``{query: {item: grade}}``; ``{query: [items]}``, of grade 1 each; a frame or records with query_id,
            item_id and grade; or an array with one row of relevant items per query (negative numbers are padding).
            Lists whose order is the truth go through ``ordered_gold``.
        relevant_from: Grade from which an item is relevant; by default any above 0.

    Returns:
        The gold.

    Raises:
        DataError: It cannot be read as a gold.

    Example:
        >>> rankjury.as_gold({"q": {"a": 2, "b": 1}}, relevant_from=2)
        Gold(gold: 1 queries, 2 judged items)
    """
    if isinstance(data, Gold):
        return data
    data, _ = joined_hits(data)
    if isinstance(data, Mapping):
        frame = _frame_of_mapping(data, GRADE, lambda items: [1.0] * len(items))
        check_grades(None, frame[GRADE], "the gold")
    elif _are_records(data):
        frame = _renamed(_frame_of_records(data), "gold")
    elif isinstance(data, np.ndarray | list | tuple):
        frame = _frame_of_array(data).with_columns(pl.lit(1.0).alias(GRADE))
    else:
        frame = _renamed(frame_of(data, "the gold"), "gold")
    return gold_from_frame(frame, relevant_from=relevant_from)


@check_arguments
def ordered_gold(lists: Mapping[Any, Iterable[Any]], *, source: str = "gold") -> Gold:
    """Return a gold from ordered lists: the grade of an item is length + 1 − position.

    Args:
        lists: For each query its items, best first.
        source: The name that errors and reports show.

    Returns:
        The gold, which measures with ``gold=k`` cut at k.

    Raises:
        DataError: An item is a duplicate, or an id is neither a string nor a whole number.

    Example:
        >>> rankjury.ordered_gold({"q": ["best", "second"]})
        Gold(gold: 1 queries, 2 judged items)
    """
    with guard_reading(source, expected=f"ids that are {_IDS}"):
        frame = _frame_of_mapping(lists, GRADE, lambda items: [float(len(items) - i) for i in range(len(items))])
    return gold_from_frame(frame, source=source, ordered=True)


@guard_reading("the ranking", expected=_KINDS_OF_INPUT)
def as_ranking(data: Any) -> Ranking:
    """Return a ranking from anything in memory.

    Args:
        data: ``{query: {item: score}}``; ``{query: [items]}``, best first; a frame with query_id, item_id and score or
            rank; hits, ``[{"query": …, "id": …, "score": …}]`` or ``{query: [{"id": …, "score": …}]}``; or an array
            with one row of items per query, best first (negative numbers are padding, as faiss writes them).

    Returns:
        The ranking.

    Raises:
        DataError: It cannot be read as a ranking.

    Example:
        >>> rankjury.as_ranking([{"query": "q", "id": "a", "score": 0.9}, {"query": "q", "id": "b", "score": 0.7}])
        Ranking(ranking: 1 queries, 2 retrieved items)
    """
    made = getattr(data, "ranking", data)  # what rank_vectors returns has one
    if isinstance(made, Ranking):
        return made
    data, bare = joined_hits(data)
    if _are_records(data):
        frame = _frame_of_records(data)
        found = match_columns(frame.columns, "run", "the hits", has_order=True)
        frame = frame.select(pl.col(column).alias(name) for name, column in found.items())
        return ranking_from_frame(frame, queries_without_rows=bare)
    if isinstance(data, Mapping):
        frame = _frame_of_mapping(data, SCORE, lambda items: [-1.0 - i for i in range(len(items))])
        if all(not isinstance(items, Mapping) for items in data.values()):
            frame = frame.drop(SCORE)
        return ranking_from_frame(frame, queries_without_rows=[q for q, items in data.items() if not len(items)])
    if isinstance(data, np.ndarray | list | tuple):
        frame = _frame_of_array(data)
        padded = np.setdiff1d(np.arange(len(data)), frame[QUERY].to_numpy())
        return ranking_from_frame(frame, queries_without_rows=padded.tolist())
    return ranking_from_frame(_renamed(frame_of(data, "the ranking"), "run"))


def is_named_runs(given: Mapping[Any, Any]) -> bool:
    """Return whether a dict holds runs by name, rather than the items of each query."""
    return bool(given) and any(_is_run(value) for value in given.values())


def _is_run(value: Any) -> bool:
    if isinstance(value, Path | Ranking | pl.DataFrame | pl.LazyFrame) or isinstance(
        getattr(value, "ranking", None), Ranking
    ):
        return True
    if isinstance(value, str):
        return exists(value) or bool(Path(value).suffix) or "/" in value
    if isinstance(value, Mapping):
        first = next(iter(value.values()), None)
        return hits_in(value) is None and isinstance(first, Mapping | list | tuple | set | np.ndarray | pl.Series)
    if isinstance(value, list | tuple) and value:
        if _are_records(value):
            return any(fold_name(str(key)) in QUERY_COLUMNS for key in value[0])
        return all(isinstance(row, list | np.ndarray) and all(isinstance(id_, _ID) for id_ in row) for row in value)
    return getattr(value, "ndim", 2 if hasattr(value, "columns") else 1) == 2


def _are_records(given: Any) -> bool:
    """Return whether it is a list of dicts, such as the hits of a search."""
    return isinstance(given, list | tuple) and bool(given) and isinstance(given[0], Mapping)


_MOST_LOOKED_AT = 100
"""Records among which one with results is looked for."""
_BY_QUERY = '{query: response}, or records such as {"query": "q1", "hits": [{"id": "a", "score": 0.9}]}'


def hits_in(value: Any) -> Sequence[Any] | None:
    """Return the hits of a query: of a list of dicts, of ``{"hits": […]}``, or of Elasticsearch's response; or None."""
    if not isinstance(value, Mapping):
        return value if isinstance(value, list | tuple) and all(isinstance(hit, Mapping) for hit in value) else None
    inner = (value.get(name) for name in ("hits", "results", "matches", "documents", "response"))
    return next((hits for hits in map(hits_in, inner) if hits is not None), None)


def joined_hits(given: Any) -> tuple[Any, list[Any]]:
    """Return ``{query: response or hits}``, or records of these, as one list of hits, and the queries without any."""
    if isinstance(given, Mapping):
        whole = [given, *given["responses"]] if isinstance(given.get("responses"), list) else [given]
        if any(isinstance(answer, Mapping) and hits_in(answer.get("hits")) is not None for answer in whole):
            raise DataError("found a search response, which does not name its query", expected=_BY_QUERY)
        by_query = list(given.items())
    elif _are_records(given) and hits_in(given[0]) is not None:
        names = [key for key in given[0] if fold_name(str(key)) in (*QUERY_COLUMNS, "id")]
        if not names:
            raise DataError("the responses do not name their queries", expected=_BY_QUERY)
        by_query = [(record.get(names[0]), record) for record in given]
    else:
        _refuse_nested_hits(given)
        return given, []
    lists = [hits_in(value) for _, value in by_query]
    if not any(lists):
        return given, []
    joined: list[dict[Any, Any]] = []
    for (query, value), hits in zip(by_query, lists, strict=True):
        if hits is None:
            failed = isinstance(value, Mapping) and "error" in value  # as Elasticsearch answers
            what = f"the error {shorten(str(value['error']))}" if failed else type(value).__name__
            found = f"query {str(query)!r} has {what} instead of hits"
            raise DataError(found, expected='a list such as [{"id": "a", "score": 0.9}]')
        single = ({key: cell for key, cell in hit.items() if not isinstance(cell, Mapping | list)} for hit in hits)
        joined += [{QUERY: query, **hit} for hit in single]
    return joined, [query for (query, _), hits in zip(by_query, lists, strict=True) if not hits]


def _refuse_nested_hits(given: Any) -> None:
    """Refuse records of queries whose hits are below other keys than those of ``hits_in``, and name the keys."""
    if not _are_records(given):
        return
    names = {fold_name(str(key)) for key in given[0]}
    of_query = names & {*QUERY_COLUMNS, "id"}
    if not of_query or {"id"} < of_query or any(map(is_item_column, names)) or names & {"text", "title"}:
        return  # records of an item each, or of texts
    records = (record for record in given[:_MOST_LOOKED_AT] if isinstance(record, Mapping))
    path = next(filter(None, map(_path_of_hits, records)), None)
    if path is not None:
        expected = '{"query": "q1", "results": [{"id": "a", "score": 0.9}]}, an object per query'
        raise DataError(f"the results of a query are nested in {path!r}", expected=expected)


def _path_of_hits(record: Mapping[Any, Any]) -> str | None:
    """Return the path of the first list of objects with an item id, such as ``data.items``; the shallowest first."""
    waiting: list[tuple[str, Mapping[Any, Any]]] = [("", record)]
    for prefix, node in waiting:
        for key, value in node.items():
            if isinstance(value, Mapping):
                waiting.append((f"{prefix}{key}.", value))
            elif _are_records(value) and _names_item(value[0]):
                return f"{prefix}{key}"
    return None


def _names_item(names: Iterable[Any]) -> bool:
    """Return whether one of these keys is that of an item's id."""
    return any(fold_name(str(name)) == "id" or is_item_column(str(name)) for name in names)


def _frame_of_records(records: Sequence[Any]) -> pl.DataFrame:
    """Return records as a frame of the columns that matter: ids as strings, numbers as floats."""
    for number, record in enumerate(records, 1):
        if not isinstance(record, Mapping):
            raise DataError(f"record {number:,} is of type {type(record).__name__}", expected=_RECORD)
    columns = {}
    for key in dict.fromkeys(key for record in records for key in record):
        name, column = fold_name(str(key)), str(key)
        if name not in COLUMNS_OF_RECORDS:
            continue
        values = [record.get(key) for record in records]
        if None in values:
            raise DataError(f"record {values.index(None) + 1:,} has no {key}", expected=_RECORD)
        if name in ORDER_COLUMNS or name in GRADE_COLUMNS:
            columns[column] = pl.Series(_as_floats(values), dtype=pl.Float64)
        else:
            _check_ids(values, "query" if name in QUERY_COLUMNS else "item")
            columns[column] = pl.Series([str(value) for value in values], dtype=pl.String)
    return pl.DataFrame(columns)


_RECORD = 'records such as {"query": "q1", "id": "a", "score": 0.9}'


def gold_from_frame(
    frame: pl.DataFrame,
    *,
    source: str = "gold",
    relevant_from: float | None = None,
    ordered: bool = False,
) -> Gold:
    """Return a gold from a frame with the columns query_id, item_id, grade."""
    _check_rows(frame, source)
    grades = finite_numbers(frame, GRADE, source)
    queries, starts, order = _grouped(frame[QUERY], source)
    items = as_ids(frame[ITEM], source)
    if order is not None:
        items, grades = items.gather(order), grades[order]
    return Gold(queries, starts, items, grades, relevant_from, ordered, source=source)


def ranking_from_frame(
    frame: pl.DataFrame, *, source: str = "ranking", queries_without_rows: Iterable[Any] = ()
) -> Ranking:
    """Return a ranking from a frame with query_id, item_id and score, or rank, or neither (rows are in order).

    Where both score and rank are given the score decides, as in trec_eval. A row with neither item nor score nor rank
    is a query that found nothing, unless the query has other rows: an outer join leaves both.
    """
    nothing = _found_nothing(frame)
    bare = pl.Series(QUERY, [str(query) for query in queries_without_rows], dtype=pl.String)
    if len(frame) or not len(bare):
        _check_rows(frame, source, without_item=nothing)
    if nothing is not None:
        bare = pl.concat([bare, as_ids(frame[QUERY].filter(nothing), source).cast(pl.String)])
        frame = frame.filter(~nothing)
    scores = None
    if SCORE in frame.columns:
        scores = finite_numbers(frame, SCORE, source)
    elif RANK in frame.columns:
        scores = -finite_numbers(frame, RANK, source)
    queries, starts, order = _grouped(frame[QUERY], source)
    items = as_ids(frame[ITEM], source)
    if order is not None:
        items = items.gather(order)
        scores = None if scores is None else scores[order]
    bare = bare.unique(maintain_order=True)
    bare = bare.filter(~bare.is_in(queries.implode()))
    if len(bare):
        queries = pl.concat([queries, bare])
        starts = np.concatenate([starts, np.full(len(bare), starts[-1])])
    return Ranking(queries, starts, items, scores, source, ranks_only=SCORE not in frame.columns)


def _grouped(query: pl.Series, source: str) -> tuple[pl.Series, Ints, Ints | None]:
    """Distinct queries in order of appearance, CSR starts, and the permutation that groups the rows, if one is needed.

    Queries mostly come in blocks, so only the head of each block is looked at as a string.
    """
    heads = block_heads(query)
    names = as_ids(query.gather(heads), source).cast(pl.String).rename(QUERY)
    distinct = names.unique(maintain_order=True)
    bounds = np.append(heads, len(query)).astype(np.int64)
    if len(distinct) == len(names):
        return names, bounds, None
    codes = names.replace_strict(distinct, np.arange(len(distinct)), return_dtype=pl.Int64).to_numpy()
    per_row = np.repeat(codes, np.diff(bounds))
    starts = np.concatenate(([0], np.cumsum(np.bincount(per_row, minlength=len(distinct)))))
    return distinct, starts.astype(np.int64), stable_order(per_row)


def as_ids(column: pl.Series, where: str | None = None) -> pl.Series:
    """Return ids as strings, or as 64-bit whole numbers where they came as whole numbers."""
    if column.dtype == pl.String:
        return column
    if column.dtype.is_integer():
        wide = column.dtype in (pl.UInt64, pl.Int128, pl.UInt128)
        return column.cast(pl.String if wide else pl.Int64)
    if column.dtype.is_float():
        hint = "Missing values turn whole numbers into floats in pandas: drop them or cast the column to string."
        found = f"the ids in column {column.name!r} are floating-point numbers"
        raise DataError(found, where=where, expected=_IDS, hint=hint)
    if column.dtype not in (pl.Categorical, pl.Enum, pl.Null):
        raise DataError(f"the ids in column {column.name!r} are of type {column.dtype}", where=where, expected=_IDS)
    return column.cast(pl.String)


def _found_nothing(frame: pl.DataFrame) -> pl.Series | None:
    """Return which rows hold neither an item nor a score nor a rank; None where all have an item."""
    if not frame[ITEM].null_count():
        return None
    empty = frame[ITEM].is_null()
    for name in (SCORE, RANK):
        if name in frame.columns:
            column = frame[name]
            empty &= column.fill_nan(None).is_null() if column.dtype.is_float() else column.is_null()
    return empty


def _check_rows(frame: pl.DataFrame, source: str, *, without_item: pl.Series | None = None) -> None:
    """Refuse rows without an id; ``without_item``: which may lack that of the item."""
    if frame.is_empty():
        raise DataError(_NO_ROWS, where=source, expected=_ANY_ROW)
    for name in (QUERY, ITEM):
        lacking = frame[name].is_null()
        if name == ITEM and without_item is not None:
            lacking &= ~without_item
        if lacking.any():
            row = int(lacking.arg_max() or 0)
            raise DataError(f"row {row + 1} has no {name}", where=source, expected="an id in every row")


def finite_numbers(frame: pl.DataFrame, name: str, source: str, *, rows_before: int | None = None) -> Floats:
    """Return a column as 64-bit floats; ``rows_before``: as many of the source's rows came before this part."""
    column = frame[name]
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise DataError(f"column {name!r} is of type {column.dtype}", where=source, expected="numbers")
    values = column.cast(pl.Float64).to_numpy()
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()
    if column.null_count() or not np.isfinite(total):
        bad = column.is_null().to_numpy() | ~np.isfinite(values)
        if not bad.any():  # the sum was too large, no value is
            return values
        row = int(np.argmax(bad))
        query, item = frame[QUERY][row], frame[ITEM][row]
        place = f"row {(rows_before or 0) + row + 1:,}"
        many = int(bad.sum())
        such = f"{many:,} such rows, the first is {place}" if rows_before is None and many > 1 else place
        shown = "missing or NaN" if column[row] is None else "NaN" if values[row] != values[row] else column[row]
        raise DataError(
            f"the {name} of item {item!r} for query {query!r} is {shown} ({such})",
            where=source,
            expected=f"a finite {name} in every row",
            hint=f"Drop such rows, or give those items the lowest {name}.",
        )
    return values


def _renamed(frame: pl.DataFrame, kind: str) -> pl.DataFrame:
    where = f"the {kind}'s frame"
    if frame.is_empty():
        raise DataError(_NO_ROWS, where=where, expected=_ANY_ROW)
    found = match_columns(frame.columns, kind, where=where)
    renamed = frame.select(pl.col(given).alias(name) for name, given in found.items())
    if kind == "gold" and renamed[GRADE].dtype.is_numeric():
        check_grades(found[GRADE], renamed[GRADE], where)
    return renamed


@guard_reading("the frame", expected="columns of numbers and texts")
def frame_of(given: Any, where: str | None = None) -> pl.DataFrame:
    """Return a frame of any library as a Polars frame; ``where``: what it is, for errors."""
    if isinstance(given, pl.DataFrame):
        return given
    if isinstance(given, pl.LazyFrame):
        return given.collect()
    if type(given).__module__.split(".")[0] == "pandas" and hasattr(given, "columns"):
        try:
            return pl.DataFrame(given)
        except ImportError:  # pandas offers Arrow but needs pyarrow for it, a large library that may be missing
            return pl.DataFrame([_pandas_series(str(name), given[name]) for name in given.columns])
    if hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__"):
        return pl.DataFrame(given)
    raise DataError(f"found an object of type {type(given).__name__}", where=where, expected=_KINDS_OF_INPUT)


def _pandas_series(name: str, column: Any) -> pl.Series:
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        return pl.Series(name, column.to_numpy(), nan_to_null=True)
    missing = column.isna().to_list()
    values = [None if lacks else value for value, lacks in zip(column.to_list(), missing, strict=True)]
    return pl.Series(name, values, strict=False)


def _frame_of_mapping(given: Mapping[Any, Any], value: str, values_of_list: Any) -> pl.DataFrame:
    _check_ids(given, "query")
    kinds = Sequence | Mapping | np.ndarray | pl.Series if value == SCORE else Collection  # a set has no order
    for query, items in given.items():
        if isinstance(items, str | bytes) or not isinstance(items, kinds):
            found = f"query {str(query)!r} has {type(items).__name__} {items!r:.60} instead of items"
            raise DataError(found, expected=f"a list of items, or {{item: {value}}}")
        _check_ids(items, f"item of query {str(query)!r}")
    lengths = [len(items) for items in given.values()]
    queries = [str(query) for query in given]
    if len(set(queries)) < len(queries):
        twice = Counter(queries).most_common(1)[0][0]
        raise DataError(f"the query {twice!r} is there as a string and as a number", expected="each query once")
    mappings: list[Mapping[Any, Any]] = [
        items if isinstance(items, Mapping) else dict(zip(items, values_of_list(items), strict=True))
        for items in given.values()
    ]
    if [len(mapping) for mapping in mappings] != lengths:
        twice = next(q for q, m, n in zip(queries, mappings, lengths, strict=True) if len(m) != n)
        item = Counter(map(str, list(given.values())[queries.index(twice)])).most_common(1)[0][0]
        raise DataError(f"duplicate item {item!r} in the list of query {twice!r}", expected="each item once per query")

    def pair_of(number: int) -> str:
        query, item = next(islice(((q, i) for q, m in zip(queries, mappings, strict=True) for i in m), number, None))
        return f"item {shorten(str(item), quoted=True)} of query {shorten(query, quoted=True)}"

    return pl.DataFrame(
        {
            QUERY: pl.Series(np.repeat(np.asarray(queries, dtype=object), lengths), dtype=pl.String),
            ITEM: pl.Series(map(str, chain.from_iterable(mappings)), dtype=pl.String),
            value: pl.Series(_as_floats(chain.from_iterable(m.values() for m in mappings), pair_of), dtype=pl.Float64),
        }
    )


def _check_ids(ids: Iterable[Any], kind: str) -> None:
    """Refuse what would become another id as a string, such as 1.0, None or a pair of item and score."""
    if not all(issubclass(kind_of_id, str | int | np.integer) for kind_of_id in {type(id_) for id_ in ids}):
        for bad in (id_ for id_ in ids if isinstance(id_, _NOT_IDS)):
            hint = "Give scores or grades as {query: {item: number}}." if isinstance(bad, tuple | list) else None
            raise DataError(f"found the {kind} {bad!r}", expected=f"ids that are {_IDS}", hint=hint)


def _as_floats(values: Iterable[Any], place: Callable[[int], str] = "record {}".format) -> list[float]:
    """Return numbers as floats; ``place`` names the value of a number, from 0, in an error."""
    given, numbers = list(values), list[float]()
    try:
        numbers.extend(map(float, given))
    except (TypeError, ValueError, OverflowError):
        bad = given[len(numbers)]
        shown = shorten(bad) if isinstance(bad, int) else f"{bad!r:.60}"
        found = f"found the value {shown} for {place(len(numbers))}"
        raise DataError(found, expected="a number for every item") from None
    return numbers


def _frame_of_array(given: Any) -> pl.DataFrame:
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise DataError("found a list of lists of unequal length", expected=_KINDS_OF_INPUT) from error
    if array.shape[:1] == (0,):
        raise DataError(_NO_ROWS, expected=_ANY_ROW)
    if array.ndim != 2 or array.dtype.kind not in "iuUSO":
        hint = "Are these vectors? rankjury.rank_vectors(matrix) ranks them." if array.dtype.kind == "f" else None
        found = f"found an array of shape {array.shape} and type {array.dtype}"
        raise DataError(found, expected=_KINDS_OF_INPUT, hint=hint)
    queries = np.repeat(np.arange(len(array)), array.shape[1])
    items = array.ravel()
    if items.dtype.kind in "iu":
        queries, items = queries[items >= 0], items[items >= 0]
    else:
        for query, item in zip(queries, items, strict=True) if items.dtype.kind == "O" else ():
            if item is None or isinstance(item, float):
                hint = "Give rows of unequal length as a dict: {query: [items]}."
                raise DataError(f"row {query} holds the item {item}", expected="an id in every cell", hint=hint)
        items = items.astype(str)
    return pl.DataFrame({QUERY: queries, ITEM: items})
