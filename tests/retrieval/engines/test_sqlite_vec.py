"""sqlite-vec: a Python that loads no extensions, many neighbours, connections and files."""

import sqlite3
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rankjury.errors import UnknownName, UsageError
from rankjury.retrieval.engines.base import ENGINES, Filter
from tests.retrieval.engines.support import (
    KINDS,
    SHOES,
    engine_of,
    ids_of,
    recall_by_numpy,
    scores_by_numpy,
    vectors_of,
)

QUERIES = vectors_of(5, 4, seed=1)


def test_a_python_that_loads_no_extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sqlite_vec", reason="the wheel sqlite-vec is not installed")
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        pytest.skip("this Python's sqlite3 loads extensions")
    monkeypatch.setitem(sys.modules, "pysqlite3", None)
    with pytest.raises(UsageError, match=r"sqlite3 loads no extensions.*Install it with: pip install pysqlite3"):
        ENGINES.get("sqlite-vec")()


def test_it_has_no_inner_product() -> None:
    with pytest.raises(UnknownName, match="unknown similarity of sqlite-vec 'ip'"):
        ENGINES.get("sqlite-vec")("ip")


@pytest.mark.parametrize("metric", ["cosine", "l2"])
def test_more_neighbours_than_a_table_of_vectors_gives(metric: str) -> None:
    items = vectors_of(5000, 4)
    with engine_of("sqlite-vec", metric) as engine:
        engine.build(items, ids_of(5000), attributes=pl.DataFrame({"odd": [number % 2 for number in range(5000)]}))
        found = engine.search(QUERIES, 4500)
        truth = scores_by_numpy(QUERIES, items, metric)
        assert recall_by_numpy(found, truth, 4500) > 0.9999
        assert np.allclose(found.scores, np.take_along_axis(truth, found.items, axis=1), atol=1e-5)
        odd = engine.search(QUERIES, 4500, filter=Filter("odd", "1"))
        assert (odd.found == 2500).all()
        assert same_start(odd.items, engine.search(QUERIES, 100, filter=Filter("odd", "1")).items)


def same_start(longer: np.ndarray, shorter: np.ndarray) -> bool:  # type: ignore[type-arg]
    return np.array_equal(longer[:, : shorter.shape[1]], shorter)


def test_other_connections_are_closed_with_it(tmp_path: Path) -> None:
    items = vectors_of(300, 4)
    with engine_of("sqlite-vec", "l2", {"folder": str(tmp_path)}) as engine:
        engine.build(items, ids_of(300), attributes=KINDS)
        others = [engine.for_thread(), engine.for_thread()]
        assert others[0] is not others[1]
        for other in others:
            assert np.array_equal(
                other.search(QUERIES, 5, filter=SHOES).items, engine.search(QUERIES, 5, filter=SHOES).items
            )
        others[0].close()
        (own,) = tmp_path.iterdir()
        assert engine.size() == sum(path.stat().st_size for path in own.iterdir()) > items.nbytes
        assert engine.search(QUERIES, 5).items.shape == (5, 5)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(AttributeError):
        others[1].search(QUERIES, 5)
