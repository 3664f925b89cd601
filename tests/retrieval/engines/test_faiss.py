"""FAISS: what its parameters are when nobody says, what they do, and which are refused."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rankjury.errors import UsageError
from rankjury.retrieval.engines.base import resolve_lists
from tests.retrieval.engines.support import (
    KINDS,
    SHOES,
    built,
    engine_of,
    ids_of,
    recall_by_numpy,
    scores_by_numpy,
    vectors_of,
)

ITEMS, QUERIES = vectors_of(800, 32), vectors_of(40, 32, seed=1)
TRUTH = scores_by_numpy(QUERIES, ITEMS, "l2")


@pytest.mark.parametrize(("count", "lists"), [(1, 1), (38, 1), (300, 7), (800, 20)])
def test_lists_by_the_size_of_the_corpus(count: int, lists: int, capfd: pytest.CaptureFixture[str]) -> None:
    with built("faiss-ivf", ITEMS[:count], "l2", {}) as engine:
        assert engine.metadata()["nlist"] == lists
        assert engine.metadata()["library"] == "faiss"
    assert capfd.readouterr() == ("", ""), "FAISS writes its warnings past Python"


def test_four_times_the_root_of_a_larger_corpus() -> None:
    assert resolve_lists(1_000_000, 0, "nlist") == 4_000
    assert resolve_lists(24_336, 0, "nlist") == 624 == 24_336 // 39, "from here on there are enough for each list"
    assert resolve_lists(10_000, 0, "nlist") == 256 and resolve_lists(10_000, 0, "nlist", default=3) == 3


def test_more_lists_looked_into_find_more(capfd: pytest.CaptureFixture[str]) -> None:
    with built("faiss-ivf", ITEMS, "l2", {"nlist": 100}) as engine:
        recall = [recall_by_numpy(engine.search(QUERIES, 10, {"nprobe": n}), TRUTH, 10) for n in (1, 5, 25, 100)]
        assert recall == sorted(recall) and recall[0] < 0.5 and recall[-1] == 1.0
        assert recall_by_numpy(engine.search(QUERIES, 10, {"nprobe": 1}, exact=True), TRUTH, 10) == 1.0
    assert capfd.readouterr() == ("", ""), "few vectors a list were asked for, and need no warning"


def test_a_wider_view_of_a_graph_finds_more() -> None:
    with built("faiss-hnsw", ITEMS, "l2", {"m": 4, "ef_construction": 8}) as engine:
        recall = [recall_by_numpy(engine.search(QUERIES, 10, {"ef_search": n}), TRUTH, 10) for n in (1, 40, 800)]
        assert recall == sorted(recall) and recall[0] < 0.8 < recall[-1]
        assert (engine.metadata()["m"], engine.metadata()["ef_construction"]) == (4, 8)
        sparse = engine.size()
    with built("faiss-hnsw", ITEMS, "l2", {"m": 32}) as engine:
        dense = engine.size()
    assert sparse is not None and dense is not None and ITEMS.nbytes < sparse < dense


def test_a_small_graph_is_the_same_every_time() -> None:
    found = []
    for _ in range(3):
        with built("faiss-hnsw", ITEMS, "l2", {"m": 4, "ef_construction": 8}) as engine:
            found.append(engine.search(QUERIES, 10, {"ef_search": 1}))
    assert all(np.array_equal(found[0].items, other.items) for other in found[1:])


def test_codes_by_the_size_of_the_corpus(capfd: pytest.CaptureFixture[str]) -> None:
    sizes = []
    for count, params, expected in (
        (800, {}, (8, 7)),
        (100, {}, (8, 4)),
        (3, {}, (8, 1)),
        (800, {"m": 32, "bits": 8}, (32, 8)),
    ):
        with built("faiss-ivfpq", ITEMS[:count], "l2", params) as engine:
            facts = engine.metadata()
            assert (facts["m"], facts["bits"]) == expected
            sizes.append(engine.size() or 0)
    assert sizes[0] < sizes[3] < ITEMS.nbytes
    with built("faiss-ivfpq", vectors_of(60, 17), "l2", {}) as engine:
        assert engine.metadata()["m"] == 1, "seventeen has no other divisor below"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("faiss-ivf", {"nlist": 801}, "nlist is 801 but the corpus has 800 vectors; expected at most 800 lists"),
        ("faiss-ivfpq", {"m": 5}, "m is 5, which does not divide 32 dimensions; expected a divisor, such as 2, 4, 8"),
        ("faiss-ivfpq", {"bits": 10}, "bits is 10: 1,024 codes per part, but the corpus has 800 vectors"),
        ("faiss-ivfpq", {"bits": 13}, "bits is 13; expected 12 or less"),
        ("faiss-hnsw", {"m": 1}, "m is 1; expected 2 or more"),
        ("faiss-hnsw", {"m": 8.5}, "m is 8.5; expected a whole number"),
    ],
)
def test_what_cannot_be_built(name: str, params: dict[str, float], message: str) -> None:
    with engine_of(name, "l2") as engine, pytest.raises(UsageError, match=message):
        engine.build(ITEMS, ids_of(800), params)


@pytest.mark.parametrize("name", ["faiss-ivf", "faiss-hnsw"])
def test_threads_with_other_parameters_do_not_disturb_a_search(name: str) -> None:
    key, params = ("nprobe", {"nlist": 100}) if name == "faiss-ivf" else ("ef_search", {"m": 4, "ef_construction": 8})
    with built(name, ITEMS, "l2", params) as engine:
        alone = {value: engine.search(QUERIES, 10, {key: value}).items for value in (1, 10, 100)}
        assert not np.array_equal(alone[1], alone[100])

        def ask(turn: int) -> bool:
            value = (1, 10, 100)[turn % 3]
            return np.array_equal(engine.search(QUERIES, 10, {key: value}).items, alone[value])

        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(ask, range(60)))


def test_a_filter_keeps_its_parameters() -> None:
    items = ITEMS[:300]
    with built("faiss-ivf", items, "l2", {"nlist": 60}, attributes=KINDS) as engine:
        few = engine.search(QUERIES, 10, {"nprobe": 1}, filter=SHOES)
        many = engine.search(QUERIES, 10, {"nprobe": 60}, filter=SHOES)
        assert few.found.mean() < many.found.mean() == 10
