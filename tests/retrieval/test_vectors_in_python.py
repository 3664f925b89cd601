"""Vectors as a script has them: matrices, dicts, frames and paths, for rank_vectors and agree."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankjury
from rankjury.errors import DataError, RankjuryError

IDS = ["a", "b", "c", "d"]
MATRIX = np.array([[1.0, 0.0], [0.9, 0.2], [0.1, 1.0], [0.0, 1.0]])
NEAREST = {"a": "b", "b": "a", "c": "d", "d": "c"}


def forms(folder: Path) -> dict[str, Any]:
    np.savez(folder / "v.npz", ids=np.array(IDS), vectors=MATRIX)
    rows = MATRIX.tolist()
    return {
        "vectors": rankjury.Vectors(IDS, MATRIX),
        "dict": dict(zip(IDS, rows, strict=True)),
        "dict of arrays": dict(zip(IDS, MATRIX, strict=True)),
        "path": folder / "v.npz",
        "text": str(folder / "v.npz"),
        "polars": pl.DataFrame({"id": IDS, "vector": rows}),
        "polars, wide": pl.DataFrame({"id": IDS, "x": MATRIX[:, 0], "y": MATRIX[:, 1]}),
        "pandas": pd.DataFrame({"item_id": IDS, "embedding": rows}),
        "pandas of arrays": pd.DataFrame({"id": IDS, "embedding": list(MATRIX)}),
        "pandas, wide": pd.DataFrame({"id": IDS, "x": MATRIX[:, 0], "y": MATRIX[:, 1]}),
    }


def found(ranking: rankjury.Ranking) -> dict[str, str]:
    return dict(ranking.frame().select("query_id", "item_id").iter_rows())


def test_rank_vectors_takes_them_all(tmp_path: Path) -> None:
    for name, given in forms(tmp_path).items():
        assert found(rankjury.rank_vectors(given, k=1).ranking) == NEAREST, name
        assert found(rankjury.rank_vectors(given, given, k=1).ranking) == NEAREST, name


def test_agree_takes_them_all(tmp_path: Path) -> None:
    for name, given in forms(tmp_path).items():
        report = rankjury.agree(given, {"same": given, "other": MATRIX_BY_ID}, [1], pairs=0, resampling=None)
        assert report.mean()["same"]["recall(over=k,gold=k)@1"] == 1.0, name


MATRIX_BY_ID = dict(zip(IDS, MATRIX.tolist(), strict=True))


@pytest.mark.parametrize("given", [MATRIX, MATRIX.tolist(), pd.DataFrame(MATRIX), pl.DataFrame(MATRIX)])
def test_a_matrix_has_row_numbers(given: Any) -> None:
    assert found(rankjury.rank_vectors(given, k=1).ranking) == {"0": "1", "1": "0", "2": "3", "3": "2"}


def test_queries_of_their_own_and_evaluate() -> None:
    ranked = rankjury.rank_vectors(MATRIX_BY_ID, {"q": [0.0, 1.0]}, k=2, candidates=["a", "c", "d"])
    assert rankjury.evaluate({"q": ["d"]}, ranked, "rr").mean() == {"rr": 1.0}
    assert rankjury.evaluate({"q": ["d"]}, {"x": ranked, "y": ranked}, "rr", resampling=None).mean()["x"] == {"rr": 1.0}


@pytest.mark.parametrize(
    ("call", "facts"),
    [
        (lambda: rankjury.Vectors(IDS[:3], MATRIX), ("4 vectors", "3 ids")),
        (lambda: rankjury.agree(MATRIX, {"x": MATRIX}, ids=IDS[:3]), ("4 vectors", "3 ids", "one id per row")),
        (lambda: rankjury.Vectors(["a", "a", "b", "c"], MATRIX), ("duplicate ids", "a")),
        (lambda: rankjury.rank_vectors(np.array([[1.0, np.nan]])), ("NaN", "vectors of 0")),
        (lambda: rankjury.rank_vectors({"a": [1.0, float("nan")]}), ("NaN", "vectors of a")),
        (lambda: rankjury.rank_vectors({}), ("corpus", "no vectors")),
        (lambda: rankjury.rank_vectors(None), ("corpus", "matrix")),
        (lambda: rankjury.rank_vectors([[1.0, 2.0], [1.0]]), ("corpus", "matrix")),
        (lambda: rankjury.rank_vectors("nosuch.npy"), ("nosuch.npy",)),
        (lambda: rankjury.rank_vectors(pl.DataFrame({"id": ["a"], "text": ["b"]})), ("corpus",)),
        (lambda: rankjury.rank_vectors(MATRIX, wanted=["9"]), ("9", "no vector")),
        (lambda: rankjury.agree(MATRIX_BY_ID, {"x": {"a": [1.0, 0.0]}}, [1]), ("only in", "b, c, d")),
        (lambda: rankjury.agree(MATRIX, "x.npy"), ("candidates by name", "dict")),
    ],
)
def test_what_cannot_be_read_is_named(call: Any, facts: tuple[str, ...]) -> None:
    with pytest.raises(RankjuryError) as caught:
        call()
    assert all(fact in str(caught.value) for fact in facts), str(caught.value)


def test_too_few_ids_is_a_fault_of_the_data() -> None:
    with pytest.raises(DataError):
        rankjury.Vectors(IDS[:3], MATRIX)
