"""The highest of each row, kept while tiles come in, against a plain sort."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from rankjury.core.types import cut_rows
from rankjury.retrieval.knn.select import MISSING, Best, Tile, buffer_of, taken
from tests.stats.support import thorough

# Sides around what the folds and the parts for threads divide, and numbers with many equal among them.
sides = st.one_of(st.integers(1, 40), st.sampled_from([63, 64, 65, 127, 128, 200, 333]))
seeds = st.integers(0, 2**32 - 1)
parts = st.integers(1, 5)
spreads = st.sampled_from([1, 2, 5, 1000])


def draw_table(seed: int, shape: tuple[int, int], spread: int) -> Any:
    """Whole numbers, so that a product with the unit matrix gives them back."""
    return np.random.default_rng(seed).integers(-spread, spread + 1, shape).astype(np.float32)


def tile_of(table: Any, buffer: Any, first: int, last: int, low: int, high: int) -> Tile:
    part = table[first:last, low:high]
    return Tile.product(part, np.eye(high - low, dtype=np.float32), buffer, first, low)


def chosen(table: Any, keep: int, parts: tuple[int, int], out: Any = ()) -> Best:
    """All of a table through so many tiles down and across; cells of ``out`` are left out of it."""
    best = Best(len(table), keep)
    sizes = [-(-side // number) for side, number in zip(table.shape, parts, strict=True)]
    down, across = (cut_rows(side, size) for side, size in zip(table.shape, sizes, strict=True))
    buffer = buffer_of(*sizes)
    with ThreadPoolExecutor(2) as pool:
        for (low, high), (first, last) in product(across, down):
            tile = tile_of(table, buffer, first, last, low, high)
            for row, column in out:
                if first <= row < last and low <= column < high:
                    tile.values[row - first, column - low] = -np.inf
            best.add(tile, pool, across=False)
    return best


def check(best: Best, table: Any, keep: int) -> None:
    """The values are those of a sort; each is where it is said to be, and nobody stands twice."""
    for row, (line, items, standing) in enumerate(zip(table, best.items, best.standing, strict=True)):
        there = items != MISSING
        expected = sorted((value for value in line.tolist() if value > -np.inf), reverse=True)[:keep]
        assert sorted(standing[there].tolist(), reverse=True) == expected
        assert np.isneginf(standing[~there]).all()
        np.testing.assert_array_equal(line[items[there]], standing[there])
        assert len(set(items[there].tolist())) == len(expected)
        assert best.floor[row] == standing.min()


@given(seed=seeds, rows=sides, columns=sides, keep=st.integers(1, 30), down=parts, across=parts, spread=spreads)
@thorough(120)
def test_like_a_plain_sort(seed: int, rows: int, columns: int, keep: int, down: int, across: int, spread: int) -> None:
    """Whatever the tiles; also where there are fewer columns than are kept, and where all are equal."""
    table = draw_table(seed, (rows, columns), spread)
    check(chosen(table, keep, (down, across)), table, keep)


@given(seed=seeds, rows=sides, columns=sides, keep=st.integers(1, 12), share=st.sampled_from([0.05, 0.5, 0.99]))
@thorough(30)
def test_what_is_left_out_never_comes_in(seed: int, rows: int, columns: int, keep: int, share: float) -> None:
    table = draw_table(seed, (rows, columns), 3)
    out = np.argwhere(np.random.default_rng(seed).random(table.shape) < share)
    best = chosen(table, keep, (2, 4), out.tolist())
    table[tuple(out.T)] = -np.inf
    check(best, table, keep)


@given(seed=seeds, size=sides, keep=st.integers(1, 30), number=parts, spread=spreads)
@thorough(80)
def test_a_triangle_of_tiles_does_for_a_symmetric_table(
    seed: int, size: int, keep: int, number: int, spread: int
) -> None:
    """Each tile is read along its rows and across."""
    table = draw_table(seed, (size, size), spread)
    table = np.triu(table) + np.triu(table, 1).T
    best = Best(size, keep)
    blocks = cut_rows(size, -(-size // number))
    buffer = buffer_of(blocks[0][1], blocks[0][1])
    with ThreadPoolExecutor(2) as pool:
        for nth, (low, high) in enumerate(blocks):
            for first, last in blocks[: nth + 1]:
                tile = tile_of(table, buffer, first, last, low, high)
                best.add(tile, pool, across=False)
                if first != low:
                    best.add(tile, pool, across=True)
    check(best, table, keep)


def test_rows_that_rise_and_rows_that_fall() -> None:
    """Every tile brings all of the highest anew, or the first brings them all."""
    rising = np.tile(np.arange(640, dtype=np.float32), (20, 1))
    for table in (rising, rising[:, ::-1], np.zeros_like(rising)):
        check(chosen(np.ascontiguousarray(table), 7, (1, 10)), table, 7)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (16, 17), (64, 64), (1000, 33)])
def test_buffers_fit_and_fold(rows: int, columns: int) -> None:
    buffer = buffer_of(rows, columns)
    assert buffer.dtype == np.float32
    for side, padded in zip((rows, columns), buffer.shape, strict=True):
        assert side <= padded < side + 16
        assert padded % 16 == 0


def test_a_tile_is_padded_afresh() -> None:
    """What an earlier, larger product left in the buffer is gone."""
    buffer = buffer_of(20, 20)
    tile_of(np.ones((20, 20), dtype=np.float32), buffer, 0, 20, 0, 20)
    tile = tile_of(np.ones((5, 3), dtype=np.float32), buffer, 0, 5, 0, 3)
    assert (tile.rows, tile.columns) == (5, 3)
    assert (tile.values[:5, :3] == 1).all()
    assert np.count_nonzero(np.isneginf(tile.values)) == buffer.size - 15


@given(seed=seeds, rows=st.integers(0, 9), columns=st.integers(1, 9), wanted=st.integers(0, 9))
@thorough(40)
def test_taken_is_take_along_axis(seed: int, rows: int, columns: int, wanted: int) -> None:
    rng = np.random.default_rng(seed)
    table, places = rng.normal(size=(rows, columns)), rng.integers(0, columns, (rows, wanted))
    np.testing.assert_array_equal(taken(table, places), np.take_along_axis(table, places, axis=1))
