"""The rows of several rankings matched by query and item, and the order of rows within queries."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from rankjury.core.convert import ITEM, QUERY
from rankjury.core.types import ROW_NUMBER, Bools, Floats, Ints, Ranking, cut_into_blocks, in_threads, sort_key
from rankjury.errors import DataError


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows of all rankings by query, item and ranking, the names in ascending order of id."""

    queries: pl.Series
    items: pl.Series
    """The distinct ones."""
    query: Ints
    item: Ints
    """Of each row, as places among the distinct ones."""
    ranking: Ints
    at: Ints
    """Where the row stands in its ranking."""
    is_new: Bools
    """Whether the row is the first of its (query, item) pair."""

    @classmethod
    def of(cls, rankings: Sequence[Ranking]) -> "Rows":
        queries = pl.concat([ranking.queries for ranking in rankings]).unique().sort().rename(QUERY)
        items, item = _numbered_items([ranking.items for ranking in rankings])
        numbers = (_numbers(ranking.queries.rename(QUERY), queries) for ranking in rankings)
        query = np.concatenate(
            [np.repeat(own, np.diff(ranking.starts)) for own, ranking in zip(numbers, rankings, strict=True)]
        )
        lengths = [len(ranking.items) for ranking in rankings]
        of_ranking = np.repeat(np.arange(len(rankings)), lengths)
        at = np.concatenate([np.arange(length) for length in lengths])
        keys = (query * len(items) + item) * len(rankings) + of_ranking
        order = np.argsort(keys)
        keys = keys[order]
        is_new = np.ones(keys.size, dtype=bool)
        is_new[1:] = np.diff(keys // len(rankings)) > 0
        rows = cls(queries, items, query[order], item[order], of_ranking[order], at[order], is_new)
        again = np.flatnonzero(keys[1:] == keys[:-1])
        if again.size:
            row = int(again[0])
            twice, asked = items[int(rows.item[row])], queries[int(rows.query[row])]
            raise DataError(
                f"item {str(twice)!r} stands more than once for query {asked!r}",
                where=rankings[rows.ranking[row]].source,
                expected="each (query, item) pair once",
            )
        return rows


def _numbered_items(given: list[pl.Series]) -> tuple[pl.Series, Ints]:
    """The distinct items in ascending order of id, and the number among them of each item given.

    Whole numbers stay what they are if all are, but are in the order of their decimal form. Where some are row
    numbers and the ids of the others name rows too, all are in the order of these numbers.
    """
    dtypes = {items.dtype for items in given}
    if len(dtypes) > 1:
        given = [items.cast(pl.String) for items in given]
        if ROW_NUMBER in dtypes and all(_are_row_numbers(items) for items in given):
            given = [items.cast(ROW_NUMBER) for items in given]
    items = pl.concat([each.rename(ITEM) for each in given])
    distinct = items.unique()
    distinct = distinct.gather(sort_key(distinct).arg_sort())
    return distinct, _numbers(items, distinct)


def _are_row_numbers(ids: pl.Series) -> bool:
    """Whether all are whole numbers as rankjury writes them: 7, but not 07."""
    return bool((ids.cast(ROW_NUMBER, strict=False).cast(pl.String) == ids).fill_null(False).all())


def _numbers(names: pl.Series, distinct: pl.Series) -> Ints:
    numbered = distinct.to_frame().with_row_index("number")
    joined = names.to_frame().join(numbered, on=distinct.name, how="left", maintain_order="left")
    return np.asarray(joined["number"].cast(pl.Int64).to_numpy())


def starts_of(query: Ints, queries: int) -> Ints:
    """CSR starts of rows that are grouped by query."""
    return np.concatenate(([0], np.cumsum(np.bincount(query, minlength=queries))))


def descending(starts: Ints, values: Floats) -> Ints:
    """The rows of each segment in descending order of value, equal ones as they stand.

    As ``ordering.order_rows``, but by a stable sort: here nearly every value may have its equal, and all rows are asked
    for, which tells ties apart six times faster than one group after the other.
    """

    def of_block(first: int, last: int) -> Ints:
        low, high = int(starts[first]), int(starts[last])
        by_value = np.argsort(-values[low:high], kind="stable")
        segment = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
        packed = (segment[by_value] << 32) | np.arange(high - low)
        packed.sort()
        return np.asarray(low + by_value[packed & 0xFFFFFFFF])

    return np.concatenate([np.empty(0, dtype=np.int64), *in_threads(of_block, cut_into_blocks(starts))])
