"""The base class of engines: conversion, padding, filters, and the lock for a setting of the index."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest

from rankjury.errors import DataError, UnknownName
from rankjury.retrieval.engines.base import (
    ENGINES,
    Filter,
    SettingLock,
    attribute_column,
    attribute_columns,
    pad_neighbours,
    to_float32,
)
from rankjury.retrieval.knn.select import MISSING


def test_vectors_of_32_bits_in_one_piece() -> None:
    given = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert to_float32(given, "ip") is given
    for other in (given.astype(np.float64), given.astype(np.float16), np.asfortranarray(given)):
        found = to_float32(other, "l2")
        assert found.dtype == np.float32 and found.flags.c_contiguous and np.array_equal(found, given)


def test_the_cosine_is_of_vectors_of_length_one() -> None:
    rng = np.random.default_rng(0)
    given = rng.normal(size=(20_000, 3)) * 10.0 ** rng.integers(-100, 100, size=(20_000, 1))
    found = to_float32(given, "cosine")
    expected = given / np.sqrt((given**2).sum(axis=1))[:, None]
    assert found.dtype == np.float32 and np.allclose(found, expected, atol=1e-7)
    given[17_000] = 0
    with pytest.raises(DataError, match="vector 17000 is zero"):
        to_float32(given, "cosine")


def test_numbers_and_dimensions_that_do_not_fit() -> None:
    with pytest.raises(DataError, match="vector 1 has a number beyond 32 bits"):
        to_float32(np.array([[1.0, 2.0], [1.0, -1e39]]), "ip")
    engine = ENGINES.get("exact")()
    engine.build(np.ones((1, 3)), pl.Series(["a"]))
    with pytest.raises(DataError, match="queries have 2 dimensions; expected 3, as the index"):
        engine.search(np.ones((1, 2)), 1)


def test_a_table_is_filled_to_k_columns() -> None:
    found = pad_neighbours(np.array([[4, 2], [7, -1]], np.int32), np.array([[0.5, 0.25], [1.0, 9.0]], np.float32), 3)
    assert found.items.tolist() == [[4, 2, MISSING], [7, MISSING, MISSING]]
    assert found.scores.tolist() == [[0.5, 0.25, -np.inf], [1.0, -np.inf, -np.inf]]
    full = pad_neighbours(np.array([[4, 2]], np.uint64), np.array([[0.5, 0.25]], np.float32), 2)
    assert full.items.dtype == np.int64 and full.scores.dtype == np.float64 and full.items.tolist() == [[4, 2]]
    assert pad_neighbours(np.empty((2, 0), np.int64), np.empty((2, 0)), 2).items.tolist() == [[MISSING] * 2] * 2


def test_columns_need_no_quotes() -> None:
    frame = pl.DataFrame({"a b": ["1"], 'x"; DROP': ["2"]})
    assert attribute_columns(frame) == ["attribute0", "attribute1"] and attribute_columns(None) == []
    assert attribute_column(frame, Filter('x"; DROP', "2")) == "attribute1"
    with pytest.raises(UnknownName, match="unknown attribute of items 'c'"):
        attribute_column(None, Filter("c", "2"))


def test_turns_keep_different_values_apart() -> None:
    """The value is what it should be for as long as somebody is inside."""
    turns, held = SettingLock(), {"value": 0}

    def use(number: int) -> bool:
        value = number % 3
        with turns.at(value) as new:
            if new:
                held["value"] = value
            before = held["value"]
            threading.Event().wait(0.0005)
            return before == held["value"] == value

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(200)))


def test_turns_let_the_same_value_in_together() -> None:
    turns, both = SettingLock(), threading.Barrier(2, timeout=10)

    def use(_: int) -> int:
        with turns.at(5):
            return both.wait()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(use, range(2))) == [0, 1]


def test_a_failure_inside_gives_the_turn_back() -> None:
    turns = SettingLock()
    with pytest.raises(ZeroDivisionError), turns.at(1):
        raise ZeroDivisionError
    with turns.at(2) as new:
        assert new
