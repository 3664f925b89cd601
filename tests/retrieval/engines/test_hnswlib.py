"""USearch and hnswlib: graphs whose width of search is kept in the index."""

import sys
from typing import Any

import numpy as np
import pytest

from rankjury.errors import MissingExtra
from rankjury.retrieval.engines.base import ENGINES, Filter
from rankjury.retrieval.knn.select import MISSING
from tests.retrieval.engines.support import (
    KINDS,
    WHEELS,
    built,
    engine_of,
    ids_of,
    recall_by_numpy,
    scores_by_numpy,
    vectors_of,
)

ITEMS, QUERIES = vectors_of(800, 32), vectors_of(40, 32, seed=1)
TRUTH = scores_by_numpy(QUERIES, ITEMS, "l2")
SPARSE: dict[str, dict[str, Any]] = {
    "usearch": {"connectivity": 3, "expansion_add": 4},
    "hnswlib": {"m": 3, "ef_construction": 4},
}
WIDTH = {"usearch": "expansion_search", "hnswlib": "ef_search"}


@pytest.mark.parametrize("name", SPARSE)
def test_a_wider_view_finds_more(name: str) -> None:
    with built(name, ITEMS, "l2", SPARSE[name]) as engine:
        recall = [recall_by_numpy(engine.search(QUERIES, 10, {WIDTH[name]: n}), TRUTH, 10) for n in (1, 30, 800)]
        assert recall == sorted(recall) and recall[0] < 0.8 < recall[-1]
        sparse, facts = engine.size(), engine.metadata()
    assert facts["library"] == name and SPARSE[name].items() <= facts.items()
    with built(name, ITEMS, "l2", {}) as engine:
        dense = engine.size()
    assert sparse is not None and dense is not None and ITEMS.nbytes < sparse < dense


@pytest.mark.parametrize("name", WHEELS)
def test_a_library_that_is_missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, WHEELS[name].replace("-", "_"), None)
    with pytest.raises(
        MissingExtra, match=rf"the engine {name} needs the library '{WHEELS[name]}'.*rankjury\[engines\]"
    ):
        ENGINES.get(name)()
    assert ENGINES.get(name).extra == "engines"


def test_numbers_of_16_bits_take_less_room() -> None:
    sizes = []
    for kind in ("f32", "f16", "bf16"):
        with built("usearch", ITEMS, "l2", {"dtype": kind}) as engine:
            sizes.append(engine.size() or 0)
            assert recall_by_numpy(engine.search(QUERIES, 10, exact=True), TRUTH, 10) > 0.9
            assert engine.metadata()["dtype"] == kind
    assert sizes[1] == sizes[2] < sizes[0] - ITEMS.nbytes // 3


def test_hnswlib_gives_what_it_can_reach() -> None:
    """Two far clusters in a graph of few edges: some queries reach fewer items than they ask for."""
    pytest.importorskip("hnswlib", reason="the wheel hnswlib is not installed")
    rng = np.random.default_rng(0)
    items = np.concatenate([rng.normal(size=(150, 8)), rng.normal(size=(150, 8)) + 1000]).astype(np.float32)
    with engine_of("hnswlib", "l2") as engine:
        engine.build(items, ids_of(300), {"m": 2, "ef_construction": 2}, attributes=KINDS)
        for only in (None, Filter("size", "3")):
            found = engine.search(items[::10], 300, {"ef_search": 1}, filter=only)
            assert (found.found > 0).all() and (found.found < (300 if only is None else 100)).any()
            for rows in found.items.tolist():
                real = [row for row in rows if row != MISSING]
                assert len(set(real)) == len(real) and (only is None or all(row % 3 == 2 for row in real))
