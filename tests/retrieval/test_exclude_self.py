"""Two models of the same items: matched by id, and refused where they cannot be."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from rankjury.core.types import Vectors
from rankjury.errors import DataError
from rankjury.retrieval.rank import check_same_items


def model(ids: Any, source: str, *, numbered: bool = False) -> Vectors:
    names = pl.Series("id", [str(one) for one in ids], dtype=pl.String)
    return Vectors(names, np.ones((len(names), 2)), source, numbered)


def refused(reference: Vectors, candidate: Vectors) -> DataError:
    with pytest.raises(DataError) as caught:
        check_same_items(reference, candidate)
    assert caught.value.exit_code == 3
    assert caught.value.where == f"{reference.source}, {candidate.source}"
    return caught.value


@pytest.mark.parametrize("ids", ["abc", ["é", "日本", "a b"], range(12), ["x"]])
def test_the_order_of_rows_is_of_no_account(ids: Any) -> None:
    check_same_items(model(ids, "ada.npz"), model(reversed(list(ids)), "base.npz"))


def test_without_ids_both_have_the_same_rows() -> None:
    check_same_items(model(range(5), "ada.npy", numbered=True), model(range(5), "base.npy", numbered=True))


def test_without_ids_and_of_other_lengths() -> None:
    error = refused(model(range(5_000), "ada.npy", numbered=True), model(range(4_999), "base.npy", numbered=True))
    assert "5,000 rows and 4,999 rows" in error.found and error.hint


@pytest.mark.parametrize("reference_is_numbered", [True, False])
def test_one_with_ids_and_one_without(reference_is_numbered: bool) -> None:
    """Even where the ids are those that numbering would give: that is luck."""
    reference = model(range(4), "ada.npy", numbered=reference_is_numbered)
    candidate = model(range(4), "base.npz", numbered=not reference_is_numbered)
    error = refused(reference, candidate)
    without = reference if reference_is_numbered else candidate
    assert error.found.startswith(f"{without.source} comes without ids")


def test_ids_of_one_only() -> None:
    error = refused(model("abcd", "ada.npz"), model("bcd", "base.npz"))
    assert "only in ada.npz (a)" in error.found and "base.npz (" not in error.found
    error = refused(model("bcd", "ada.npz"), model("abcd", "base.npz"))
    assert "only in base.npz (a)" in error.found and "ada.npz (" not in error.found


def test_ids_of_either_only() -> None:
    error = refused(model("abc", "ada.npz"), model("bcd", "base.npz"))
    assert "only in ada.npz (a) and " in error.found and "only in base.npz (d)" in error.found


def test_many_ids_are_not_all_listed() -> None:
    error = refused(model(range(1_500), "ada.npz"), model(["x"], "base.npz"))
    assert (
        "1,500 ids are only in ada.npz (0, 1, 2, 3, " in error.found and "99 …)" in error.found and "(x)" in error.found
    )


def test_ids_are_compared_as_they_stand() -> None:
    error = refused(model(["1", "02"], "ada.npz"), model(["1", "2"], "base.npz"))
    assert "(02)" in error.found and "(2)" in error.found
