"""rankjury.try_index: an index tried from a script."""

import numpy as np
import pytest

import rankjury
from rankjury.retrieval.bench.measure import Clock

RANDOM = np.random.default_rng(5)
ITEMS = RANDOM.normal(size=(300, 12)).astype(np.float32)


def exact_rows(queries: np.ndarray, k: int, *, own: bool) -> list[set[int]]:
    units = ITEMS / np.linalg.norm(ITEMS, axis=1, keepdims=True)
    scores = queries @ units.T
    if own:
        np.fill_diagonal(scores, -np.inf)
    return [set(row) for row in np.argsort(-scores, axis=1)[:, :k].tolist()]


def test_recall_of_a_few_cells_is_numpys() -> None:
    queries = ITEMS[:40] + 0.3 * RANDOM.normal(size=(40, 12)).astype(np.float32)
    engine = rankjury.ENGINES.get("faiss-ivf")("cosine")
    found = rankjury.try_index(
        ITEMS, queries, engine="faiss-ivf", build={"nlist": 16}, search={"nprobe": 2}, k=5, clock=None
    )
    engine.build(ITEMS, rankjury.Vectors(_names(300), ITEMS).ids, {"nlist": 16})
    rows = engine.search(queries, 5, {"nprobe": 2}).items
    expected = [
        len(set(row.tolist()) & best) / 5 for row, best in zip(rows, exact_rows(queries, 5, own=False), strict=True)
    ]
    assert sorted(found.recall.values.tolist()) == pytest.approx(sorted(expected))
    assert found.latency is None and 0.2 < found.recall.mean < 1


def _names(n: int):  # type: ignore[no-untyped-def]
    import polars as pl

    return pl.Series("id", [str(row) for row in range(n)])


def test_items_that_ask_for_themselves_do_not_find_themselves() -> None:
    found = rankjury.try_index(ITEMS, engine="faiss-flat", k=3, clock=Clock(rounds=1, warm_up=0, concurrency=(1,)))
    assert found.recall.mean == 1.0 and found.recall.n == 300
    assert found.latency is not None and found.latency.end_to_end.n == 300


def test_numbered_queries_are_not_the_items_of_their_numbers() -> None:
    """A matrix comes without ids: its first row is not the first item."""
    found = rankjury.try_index(ITEMS, ITEMS[:20], engine="exact", k=1, clock=None)
    assert found.recall.mean == 1.0
    nearest = rankjury.ENGINES.get("exact")("cosine")
    nearest.build(ITEMS, _names(300))
    assert nearest.search(ITEMS[:20], 1).items[:, 0].tolist() == list(range(20))


def test_what_makes_no_sense() -> None:
    with pytest.raises(rankjury.UsageError, match="k is 0"):
        rankjury.try_index(ITEMS, engine="exact", k=0)
    with pytest.raises(rankjury.UnknownName, match="faiss-hnws"):
        rankjury.try_index(ITEMS, engine="faiss-hnws")
    with pytest.raises(rankjury.DataError, match="12"):
        rankjury.try_index(ITEMS, ITEMS[:, :4], engine="exact")
