"""LanceDB: kinds of index, its folder, scores on one scale."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankjury.errors import UsageError
from tests.retrieval.engines.support import built, engine_of, ids_of, recall_by_numpy, scores_by_numpy, vectors_of

ITEMS, QUERIES = vectors_of(600, 32), vectors_of(30, 32, seed=1)


@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
@pytest.mark.parametrize("index", ["ivf_hnsw_sq", "ivf_flat", "ivf_pq", "none"])
def test_scores_are_on_one_scale_whatever_the_index(index: str, metric: str) -> None:
    truth = scores_by_numpy(QUERIES, ITEMS, metric)
    params: dict[str, Any] = {"index": index, "sub_vectors": 16} if index == "ivf_pq" else {"index": index}
    with built("lancedb", ITEMS, metric, params) as engine:
        found = engine.search(QUERIES, 10, {"refine_factor": 2})
        assert np.allclose(found.scores, np.take_along_axis(truth, found.items, axis=1), rtol=1e-4, atol=1e-4)
        exact = engine.search(QUERIES, 10, exact=True)
        assert recall_by_numpy(exact, truth, 10) == 1.0
        rough = engine.search(QUERIES, 10)
        spread = float(np.ptp(truth))
        assert (np.abs(rough.scores - np.take_along_axis(truth, rough.items, axis=1)) < spread / 4).all()
        facts = engine.metadata()
    assert facts["index"] == index and facts["approximate"] == (index != "none")
    assert facts["indexed_rows"] == (0 if index == "none" else 600)


def test_more_lists_and_more_refining_find_more() -> None:
    truth = scores_by_numpy(QUERIES, ITEMS, "l2")

    def recall(params: dict[str, Any]) -> float:
        return recall_by_numpy(engine.search(QUERIES, 10, params), truth, 10)

    with built("lancedb", ITEMS, "l2", {"index": "ivf_flat", "partitions": 30}) as engine:
        found = [recall({"nprobes": n}) for n in (1, 5, 30)]
        assert found == sorted(found) and found[0] < 0.7 and found[-1] == 1.0
    with built("lancedb", ITEMS, "l2", {"index": "ivf_pq", "partitions": 1, "sub_vectors": 4}) as engine:
        found = [recall({"refine_factor": n}) for n in (0, 4, 60)]
        assert found == sorted(found) and found[0] < 0.7 and found[-1] == 1.0


def test_a_corpus_too_small_to_learn_codes_from_is_not_said_to_be_indexed() -> None:
    with built("lancedb", ITEMS[:100], "l2", {"index": "ivf_pq"}) as engine:
        assert engine.metadata()["indexed_rows"] == 0 and engine.metadata()["approximate"] is False


def test_its_folder_is_there_while_it_is_open(tmp_path: Path) -> None:
    with engine_of("lancedb", "l2", {"folder": str(tmp_path)}) as engine:
        assert list(tmp_path.iterdir()) == []
        engine.build(ITEMS, ids_of(600))
        (own,) = tmp_path.iterdir()
        files = sum(path.stat().st_size for path in own.rglob("*") if path.is_file())
        assert own.name.startswith("rankjury-lancedb-") and engine.size() == files > ITEMS.nbytes
        engine.build(ITEMS[:10], ids_of(10))
        assert len(list(tmp_path.iterdir())) == 1 and not own.exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"index": "ivf_pq", "sub_vectors": 5}, "sub_vectors is 5, which does not divide 32 dimensions"),
        ({"partitions": 601}, "partitions is 601 but the corpus has 600 vectors; expected at most 600 lists"),
        ({"index": "hnsw"}, "unknown value of index: 'hnsw'"),
    ],
)
def test_what_cannot_be_built(params: dict[str, Any], message: str) -> None:
    with engine_of("lancedb", "l2") as engine, pytest.raises(UsageError, match=message):
        engine.build(ITEMS, ids_of(600), params)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    engine = engine_of("lancedb", "l2", {"folder": str(tmp_path / "none")})
    with pytest.raises(UsageError, match=r"found no folder .*none'; expected a folder for the files of lancedb"):
        engine.build(ITEMS, ids_of(600))
