"""Hashes: the same for any order of rows, another for any change."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from rankjury.core.hashing import hash_ids, hash_json, hash_strings, hash_vectors
from rankjury.core.types import Vectors
from tests.retrieval.bench.support import vectors

ONE = vectors(20, "i", 1)
names = st.lists(st.text(max_size=3), min_size=1, max_size=6, unique=True)


def changed(**changes: Any) -> str:
    given_ = {"ids": ONE.ids, "values": ONE.values} | changes
    return hash_vectors(Vectors(given_["ids"], given_["values"]))


class TestVectors:
    @pytest.mark.parametrize("n", [1, 20, 4095, 4096, 4097, 9000])
    def test_any_order_of_rows_gives_the_same(self, n: int) -> None:
        """Also beyond what is hashed at once."""
        whole = vectors(n, "i", 2, 2)
        order = np.random.default_rng(0).permutation(n)
        assert hash_vectors(whole.take(order)) == hash_vectors(whole)
        assert len(hash_vectors(whole)) == 64 and set(hash_vectors(whole)) <= set("0123456789abcdef")

    @pytest.mark.parametrize("row", [0, 4095, 4096, 4999])
    def test_the_last_digit_of_any_number_counts(self, row: int) -> None:
        whole = vectors(5000, "i", 2, 2)
        values = whole.values.copy()
        values[row, 1] = np.nextafter(values[row, 1], np.float32(9))
        assert hash_vectors(Vectors(whole.ids, values)) != hash_vectors(whole)

    def test_ids_count(self) -> None:
        assert changed(ids=ONE.ids.replace("i3", "i33")) != hash_vectors(ONE)

    def test_which_vector_is_whose_counts(self) -> None:
        values = ONE.values.copy()
        values[[0, 1]] = values[[1, 0]]
        assert changed(values=values) != hash_vectors(ONE)

    def test_the_width_of_the_numbers_counts(self) -> None:
        values = np.round(ONE.values)
        assert len({changed(values=values.astype(width)) for width in ("float16", "float32", "float64")}) == 3
        alike = changed(values=np.zeros((20, 2), np.float32)), changed(values=np.zeros((20, 1), np.float64))
        assert alike[0] != alike[1], "though they are the same bytes"

    def test_the_number_of_dimensions_counts(self) -> None:
        zeros = np.zeros((20, 4), np.float32)
        assert changed(values=zeros) != changed(values=zeros[:, :3])

    def test_how_they_lie_in_memory_does_not(self) -> None:
        assert changed(values=np.asfortranarray(ONE.values)) == hash_vectors(ONE)
        assert changed(values=np.repeat(ONE.values, 2, axis=0)[::2]) == hash_vectors(ONE)

    def test_where_they_are_from_does_not(self) -> None:
        assert hash_vectors(Vectors(ONE.ids, ONE.values, source="elsewhere", numbered=True)) == hash_vectors(ONE)


class TestIds:
    @given(names, st.randoms(use_true_random=False))
    @settings(max_examples=50, deadline=None, derandomize=True, database=None)
    def test_any_order_gives_the_same(self, ids: list[str], chance: Any) -> None:
        shuffled = list(ids)
        chance.shuffle(shuffled)
        assert hash_ids(pl.Series(shuffled)) == hash_ids(pl.Series(ids))

    @given(names, names)
    @settings(max_examples=100, deadline=None, derandomize=True, database=None)
    def test_only_the_same_ids_give_the_same(self, one: list[str], other: list[str]) -> None:
        same = hash_ids(pl.Series(one)) == hash_ids(pl.Series(other))
        assert same is (sorted(one) == sorted(other))

    @pytest.mark.parametrize(("one", "other"), [(["ab", "c"], ["a", "bc"]), (["a", "b"], ["ab"]), (["a"], ["a", ""])])
    def test_ids_do_not_run_into_each_other(self, one: list[str], other: list[str]) -> None:
        assert hash_ids(pl.Series(one)) != hash_ids(pl.Series(other))

    def test_whole_numbers_stand_for_their_decimal_form(self) -> None:
        assert hash_ids(pl.Series([10, 9])) == hash_ids(pl.Series(["9", "10"]))

    def test_none_at_all(self) -> None:
        assert hash_ids(pl.Series([], dtype=pl.String)) == hash_ids(pl.Series([], dtype=pl.String))


def test_texts_cannot_run_into_each_other() -> None:
    pairs = [(["ab"], ["c"]), (["a"], ["bc"]), (["abc"], [""]), (["a", "b"], ["c", ""])]
    hashes = [hash_strings(pl.Series(left), pl.Series(right)) for left, right in pairs]
    assert len(set(hashes)) == len(hashes)


def test_equal_json_has_equal_hashes() -> None:
    assert hash_json({"a": 1, "b": [1.5, None]}) == hash_json({"b": [1.5, None], "a": 1})
    assert hash_json({"a": 1}) != hash_json({"a": "1"})
