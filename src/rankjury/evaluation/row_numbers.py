"""Row numbers as ids: checks of vectors without ids, whose rows are matched with other ids by their numbers, from 0."""

from collections.abc import Iterable

import polars as pl

from rankjury.core.text import join_names
from rankjury.core.types import Gold, Ranking, RowNumbers
from rankjury.errors import DataError
from rankjury.evaluation.sections import ReportWarning
from rankjury.evaluation.shared_ids import FEWEST_IDS

ROW_NUMBERS = "row-numbers"
"""Code of the warning."""
_DENSE = 0.9
"""Share of the numbers from 1 on that are ids of queries, from which the ids count from 1."""
_IN_PYTHON = "in Python, rankjury.Vectors(ids, matrix)"


def check_row_numbers(numbered: RowNumbers, queries: pl.Series, items: pl.Series, source: str) -> None:
    """Refuse row numbers, which begin with 0, as ids of a gold or another file whose ids count from 1.

    Ids count from 1 if all are whole numbers from 1 to the number of rows, with the last number among them. Of queries
    it is enough that nearly all numbers from 1 on are there: a sample of queries that are numbered from 0 has gaps.

    Args:
        numbered: The vectors without ids.
        queries: The ids of queries that the row numbers are matched with.
        items: The ids of items that the row numbers are matched with.
        source: The file with these ids.

    Raises:
        DataError: The ids count from 1.
    """
    for what, ids, role in (("query", queries, "queries"), ("item", items, "items")):
        if role not in numbered.roles:
            continue
        known = _whole_numbers(ids)
        if known is None or known[0] < 1 or known[1] > numbered.rows:
            continue
        is_dense = known[0] == 1 and ids.n_unique() >= _DENSE * known[1]
        if known[1] == numbered.rows or (numbered.roles == ("queries",) and is_dense):
            raise DataError(
                f"the {what} ids of {source} count from 1 ({join_names(known[2], 3)}), but the rows of "
                f"{numbered.source} have no ids and are numbered from 0",
                expected="the same ids on both sides",
                hint=f"Give a file with the id of each row: {_settings([numbered])}.",
            )


def check_matching(gold: Gold, ranking: Ranking) -> None:
    """Refuse a ranking by row numbers, from 0, if the gold's ids count from 1."""
    if by_row_number(gold, ranking):
        return
    for numbered in ranking.row_numbers:
        check_row_numbers(numbered, gold.queries, gold.items, gold.source)
    if ranking.row_numbers or len(ranking) < FEWEST_IDS:
        return
    known = _whole_numbers(ranking.queries)
    if known is None or known[:2] != (0, len(ranking) - 1):
        return
    judged = _whole_numbers(gold.queries)
    if judged is not None and judged[0] >= 1 and judged[1] == len(ranking):
        raise DataError(
            f"the gold's queries count from 1 to {judged[1]:,}, and those of the ranking from 0 to {known[1]:,}",
            where=f"{gold.source} × {ranking.source}",
            expected="the same query ids on both sides",
            hint="Are the ranking's queries row numbers? Give ids: rankjury neighbours --queries-ids FILE.",
        )


def by_row_number(gold: Gold, ranking: Ranking) -> bool:
    """Return whether gold and ranking both come from vectors without ids, which are matched row by row."""
    return gold.items.dtype == ranking.items.dtype != pl.String and bool(ranking.row_numbers)


def row_number_warnings(numbered: Iterable[RowNumbers], gold: str) -> list[ReportWarning]:
    """Return one warning about all vectors without ids; none if there are none. ``gold``: the file with other ids."""
    distinct = list(dict.fromkeys(numbered))
    if not distinct:
        return []
    files = _listed(vectors.source for vectors in distinct)
    others = _listed(vectors.matched_with or gold for vectors in distinct)
    text = f"rows of {files} have no ids and are numbered from 0; the numbers are matched with ids of {others}: set "
    rows = sum(vectors.rows for vectors in distinct)
    return [ReportWarning(text + _settings(distinct), code=ROW_NUMBERS, count=rows)]


def _listed(names: Iterable[str]) -> str:
    """Return all names, each once."""
    *others, last = dict.fromkeys(names)
    return f"{', '.join(others)} and {last}" if others else last


def _settings(numbered: Iterable[RowNumbers]) -> str:
    """Return the keys of a plan and the options that name the ids of these rows."""
    own = {vectors.roles == ("queries",) for vectors in numbered}
    keys = [key for key, is_own in (("ids", False), ("queries_ids", True)) if is_own in own]
    options = [f"--{key.replace('_', '-')}" for key in keys]
    return f"{' and '.join(keys)} in a plan, {' and '.join(options)} of a command; {_IN_PYTHON}"


def _whole_numbers(ids: pl.Series) -> tuple[int, int, list[str]] | None:
    """Return the lowest and the highest of these ids, and the first few, if all are whole numbers; else None."""
    numbers = ids.cast(pl.String).cast(pl.UInt32, strict=False)
    low, high = numbers.min(), numbers.max()
    if numbers.null_count() or not isinstance(low, int) or not isinstance(high, int):
        return None
    return low, high, numbers.unique().sort().head(4).cast(pl.String).to_list()
