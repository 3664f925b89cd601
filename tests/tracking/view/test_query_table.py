"""The table answers as the script of a report's file does."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cmp_to_key
from math import floor
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

from rankjury.errors import RankjuryError
from rankjury.tracking.view.open_run import QueryTable, RowRequest

SYSTEMS = ["old", "new", "newer"]
LABELS = {"more": False, "less": True}
SLICES = [[0, 2, 4], [], [1]]
VALUES = st.one_of(st.none(), st.sampled_from([0.0, 0.25, 0.5, 1.0, -0.0]), st.floats(-2, 2).map(lambda x: round(x, 3)))


def table_of(ids: list[str], texts: list[str | None], values: list[list[float | None]]) -> QueryTable:
    held = np.array([[np.nan if value is None else value for value in row] for row in values]).reshape(3, len(ids))
    members = lambda place: np.array([row for row in SLICES[place] if row < len(ids)], dtype=np.int64)  # noqa: E731
    return QueryTable(
        pl.Series(ids, dtype=pl.String),
        pl.Series(texts, dtype=pl.String),
        SYSTEMS,
        [-1, 0, 0],
        LABELS,
        lambda label: held,
        members,
    )


def as_the_script_does(
    ids: list[str], texts: list[str | None], values: list[list[float | None]], asked: RowRequest, idle: Sequence[int]
) -> dict[str, Any]:
    """page.js, ``fromFile``, put into Python line by line."""

    def difference(system: int, row: int) -> float | None:
        before, after = values[0][row], values[system][row]
        return None if before is None or after is None else floor((after - before) * 1e9 + 0.5) / 1e9

    def gain(system: int, row: int) -> float | None:
        change = difference(system, row)
        return change if change is None or not LABELS[asked.label] else -change

    def key(row: int) -> float | None:
        kind, _, system = asked.sort.partition(":")
        if kind in ("loss", "gain"):
            found = [one for one in (gain(system, row) for system in (1, 2) if system not in idle) if one is not None]
            return (min if kind == "loss" else max)(found) if found else None
        if kind == "difference":
            return difference(int(system), row)
        return values[int(system)][row] if kind == "score" else row

    def order(one: int, other: int) -> float:
        first, second = key(one), key(other)
        if first == second:
            return one - other
        if first is None:
            return 1
        if second is None:
            return -1
        return (second > first) - (second < first) if asked.down else (first > second) - (first < second)

    rows = sorted(range(len(ids)), key=cmp_to_key(lambda one, other: int(order(one, other))))
    wanted = asked.text.strip().lower()
    rows = [row for row in rows if wanted in f"{ids[row]}\n{texts[row] or ''}".lower()]
    rows = [row for row in rows if asked.slice is None or row in SLICES[asked.slice]]
    offset = asked.offset
    if asked.find and asked.find in ids and ids.index(asked.find) in rows and asked.limit:
        place = rows.index(ids.index(asked.find))
        offset = place - place % asked.limit
    shown = rows[offset : offset + asked.limit]
    listed = [{"row": row, "id": ids[row], "text": texts[row], "values": [one[row] for one in values]} for row in shown]
    return {"total": len(rows), "offset": offset, "rows": listed}


@given(st.data(), st.integers(1, 9))
def test_any_order_and_any_filter(data: st.DataObject, n: int) -> None:
    words = st.text(st.sampled_from("aAbBéÉİσΣ \n\x00\u202e"), max_size=6)
    ids = data.draw(st.lists(words, min_size=n, max_size=n, unique=True))
    texts = data.draw(st.lists(st.one_of(st.none(), words), min_size=n, max_size=n))
    values = data.draw(st.lists(st.lists(VALUES, min_size=n, max_size=n), min_size=3, max_size=3))
    sorts = ["loss", "gain", "difference:1", "difference:2", "score:0", "score:2", "row"]
    asked = RowRequest(
        data.draw(st.sampled_from(list(LABELS))),
        data.draw(st.sampled_from(sorts)),
        data.draw(st.booleans()),
        data.draw(words),
        data.draw(st.sampled_from([None, 0, 1, 2])),
        data.draw(st.integers(0, 4)),
        data.draw(st.integers(0, 9)),
        data.draw(st.sampled_from(["", "nobody asked this", *ids])),
    )
    idle = data.draw(st.sampled_from([(), (1,), (2,)]))
    found = replace(table_of(ids, texts, values), idle=idle).rows(asked)
    assert found == as_the_script_does(ids, texts, values, asked, idle)


def test_long_texts_are_cut_as_in_the_file() -> None:
    table = table_of(["a", "b"], ["x" * 301, "y" * 300], [[0.0, 0.0]] * 3)
    first, second = (row["text"] for row in table.rows(RowRequest("more"))["rows"])
    assert first == "x" * 300 + "…" and second == "y" * 300


def test_a_query_is_found_by_its_id() -> None:
    table = table_of(["a", "b"], [None, None], [[0.0, 0.0]] * 3)
    assert table.row_of("b") == 1 and table.row_of("c") is None


@pytest.mark.parametrize("sort", ["", "score", "score:3", "score:x", "difference:0", "difference:3", "loss:0", "rows"])
def test_what_cannot_be_sorted_by(sort: str) -> None:
    with pytest.raises(RankjuryError, match="cannot sort by"):
        table_of(["a"], [None], [[0.0]] * 3).rows(RowRequest("more", sort))


def test_without_a_baseline_nothing_is_lost() -> None:
    table = QueryTable(
        pl.Series(["a"]), pl.Series(["t"]), ["one"], [-1], LABELS, lambda _: np.ones((1, 1)), lambda _: np.empty(0)
    )
    with pytest.raises(RankjuryError, match="cannot sort by 'loss'"):
        table.rows(RowRequest("more", "loss"))
