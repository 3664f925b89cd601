"""Qdrant: over HTTP with a small server that stands before the client's local mode, and that mode itself."""

from collections.abc import Iterator

import numpy as np
import pytest

from rankjury.errors import DataError, UsageError
from rankjury.retrieval.engines import qdrant
from rankjury.retrieval.engines.base import Engine, Filter
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

pytest.importorskip("qdrant_client", reason="the wheel qdrant-client is not installed")

from tests.retrieval.engines.qdrant_server import QdrantServer, qdrant_server

ITEMS, QUERIES = vectors_of(300), vectors_of(70, seed=1)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[QdrantServer]:
    monkeypatch.setattr(qdrant, "_PAUSE", 0.001)
    with qdrant_server() as running:
        yield running


def at(server: QdrantServer, metric: str = "cosine", **settings: str | int) -> Engine:
    return engine_of("qdrant", metric, {"url": server.url, **settings})


@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
def test_over_http_it_finds_what_numpy_finds(server: QdrantServer, metric: str) -> None:
    queries = QUERIES[:10]
    truth = scores_by_numpy(queries, ITEMS, metric)
    with at(server, metric) as engine:
        engine.build(ITEMS, ids_of(300), attributes=KINDS)
        found = engine.search(queries, 10)
        assert recall_by_numpy(found, truth, 10) == 1.0
        assert np.allclose(found.scores, np.take_along_axis(truth, found.items, axis=1), atol=1e-4)
        passes = (KINDS["size"] == 3).to_numpy()
        few = engine.search(queries, 10, filter=Filter("size", "3"))
        assert recall_by_numpy(few, np.where(passes, truth, -np.inf), 10) == 1.0
        assert engine.search(QUERIES[:1], 400).found.tolist() == [300]
        assert engine.search(QUERIES[:0], 10).items.shape[0] == 0


def test_it_says_what_it_wants_and_what_it_found(server: QdrantServer) -> None:
    with at(server, timeout=9) as engine:
        engine.build(ITEMS, ids_of(300), {"m": 24, "ef_construct": 77}, attributes=KINDS)
        (made,) = server.asked("PUT", r"^/collections/[^/]+$")
        assert made["vectors"]["distance"] == "Cosine" and made["vectors"]["size"] == 16
        assert made["hnsw_config"] == {"m": 24, "ef_construct": 77, "full_scan_threshold": 10}
        assert made["optimizers_config"] == {"indexing_threshold": 1}, "a small corpus too gets its graph"
        assert [body["field_name"] for body in server.asked("PUT", "/index")] == ["attribute0", "attribute1"]
        engine.search(QUERIES, 5, {"hnsw_ef": 33})
        engine.search(QUERIES[:1], 5, filter=SHOES, exact=True)
        *batches, exact = server.asked("POST", "/points/query/batch")
        assert [len(batch["searches"]) for batch in batches] == [64, 6]
        assert all(one["params"] == {"hnsw_ef": 33, "exact": False} for one in batches[0]["searches"])
        assert exact["searches"][0]["params"]["exact"] is True
        assert exact["searches"][0]["filter"]["must"][0] == {"key": "attribute0", "match": {"value": "shoe"}}
        facts = engine.metadata()
    assert facts.items() >= {"mode": "server", "server_version": "1.99.0", "m": 24, "ef_construct": 77}.items()
    assert facts["approximate"] is True and facts["indexed_vectors"] == 300


def test_only_its_own_collection_is_made_and_deleted(server: QdrantServer) -> None:
    server.held.create_collection("rankjury", vectors_config=server.models.VectorParams(size=2, distance="Dot"))
    with at(server) as one, at(server, prefix="lab") as other:
        one.build(ITEMS, ids_of(300))
        other.build(ITEMS, ids_of(300))
        names = {each.name for each in server.held.get_collections().collections}
        assert len(names) == 3 and {name.partition("-")[0] for name in names} == {"rankjury", "lab"}
        one.build(ITEMS[:5], ids_of(5))
        assert len(server.held.get_collections().collections) == 3, "the one before is gone"
    one.close()
    assert [each.name for each in server.held.get_collections().collections] == ["rankjury"]
    assert {request.method for request in server.requests} == {"GET", "PUT", "DELETE"}


def test_the_key_is_taken_from_the_environment(server: QdrantServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEY_OF_A_TEST", raising=False)
    with pytest.raises(UsageError, match="api_key names no environment variable that is set"):
        at(server, api_key="KEY_OF_A_TEST")
    monkeypatch.setenv("KEY_OF_A_TEST", "s3cret")
    with at(server, api_key="KEY_OF_A_TEST") as engine:
        engine.build(ITEMS, ids_of(300))
        assert "s3cret" not in str(engine.metadata()) + str(engine.settings)
        server.refuses = "/points"
        with pytest.raises(DataError) as caught:
            engine.search(QUERIES, 5)
    assert "s3cret" not in str(caught.value)
    assert all(
        {key.lower(): value for key, value in one.headers.items()}["api-key"] == "s3cret" for one in server.requests
    )


def test_a_server_that_refuses_or_is_not_there(server: QdrantServer) -> None:
    engine = at(server)
    engine.build(ITEMS, ids_of(300))
    server.refuses = "/points"
    with pytest.raises(DataError, match=rf"{server.url}: qdrant refuses with status 500: .*out of memory"):
        engine.search(QUERIES, 5)
    server.server.shutdown()
    server.server.server_close()
    with pytest.raises(DataError, match=rf"{server.url}: qdrant does not answer: .*; expected a running server"):
        engine.search(QUERIES, 5)
    with at(server) as another, pytest.raises(DataError, match="does not answer"):
        another.build(ITEMS, ids_of(300))
    engine.close()


def test_it_waits_for_the_index(server: QdrantServer) -> None:
    server.indexed = [("green", 0), ("yellow", 0), *(("yellow", 100),) * 40, ("green", 300)]
    with at(server) as engine:
        engine.build(ITEMS, ids_of(300))
        assert len(server.asked("GET", "^/collections/.+")) == 43
        server.indexed = [("green", 250)]
        engine.build(ITEMS, ids_of(300))
        assert engine.metadata()["indexed_vectors"] == 250, "what it left without an index after a while is said"
        server.indexed = [("green", 0)]
        engine.build(ITEMS[:3], ids_of(3))
        assert engine.metadata()["approximate"] is False
        server.indexed = [("red", 0)]
        with pytest.raises(DataError, match="qdrant could not index the collection"):
            engine.build(ITEMS, ids_of(300))
    assert server.held.get_collections().collections == []


def test_the_local_mode_says_that_it_misses_nobody() -> None:
    with built("qdrant", ITEMS, "l2", {"m": 8}) as engine:
        facts = engine.metadata()
        assert facts["mode"] == "local" and facts["approximate"] is False and "m" not in facts
        assert (
            recall_by_numpy(engine.search(QUERIES, 10, {"hnsw_ef": 1}), scores_by_numpy(QUERIES, ITEMS, "l2"), 10) == 1
        )


def test_an_address_that_is_none() -> None:
    with pytest.raises(UsageError, match=r"ftp://here: qdrant's client cannot use this: Unknown scheme: ftp"):
        engine_of("qdrant", "cosine", {"url": "ftp://here"})


@pytest.mark.parametrize(
    "answer",
    [
        [{"points": [{"id": 300, "version": 0, "score": 1.0}]}],
        [{"points": [{"id": "5c56c793-69f3-4fbf-87e6-c4bf54c28c26", "version": 0, "score": 1.0}]}],
        [{"points": [{"id": 1, "version": 0, "score": float("nan")}]}],
        [],
        [{"points": []}, {"points": []}],
        [{"points": [{"id": 1}]}],
        {"points": 3},
    ],
)
def test_answers_are_not_trusted(server: QdrantServer, monkeypatch: pytest.MonkeyPatch, answer: object) -> None:
    with at(server) as engine:
        engine.build(ITEMS, ids_of(300))
        monkeypatch.setattr(server, "_post_points_query_batch", lambda name, body: answer)
        with pytest.raises((DataError, UsageError)) as caught:
            engine.search(QUERIES[:1], 5)
    assert caught.value.where == server.url and len(str(caught.value)) < 600
