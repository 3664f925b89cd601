"""The base class of engines, and what all engines have in common."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import polars as pl
import pytest

from rankjury.core.progress import Progress
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.retrieval.engines.base import (
    ENGINES,
    Engine,
    Filter,
    SettingLock,
    pad_neighbours,
    to_float32,
)
from rankjury.retrieval.knn.search import Neighbours
from rankjury.retrieval.knn.select import MISSING
from tests.retrieval.engines.support import (
    ELSEWHERE,
    KINDS,
    NAMES,
    SHOES,
    THOROUGH,
    built,
    engine_of,
    ids_of,
    recall_by_numpy,
    same,
    scores_by_numpy,
    vectors_of,
)


def test_vectors_of_32_bits_in_one_piece() -> None:
    given = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert to_float32(given, "ip") is given
    for other in (given.astype(np.float64), given.astype(np.float16), np.asfortranarray(given)):
        found = to_float32(other, "l2")
        assert found.dtype == np.float32 and found.flags.c_contiguous and np.array_equal(found, given)


def test_the_cosine_is_of_vectors_of_length_one() -> None:
    rng = np.random.default_rng(0)
    given = rng.normal(size=(20_000, 3)) * 10.0 ** rng.integers(-100, 100, size=(20_000, 1))
    found = to_float32(given, "cosine")
    expected = given / np.sqrt((given**2).sum(axis=1))[:, None]
    assert found.dtype == np.float32 and np.allclose(found, expected, atol=1e-7)
    given[17_000] = 0
    with pytest.raises(DataError, match="vector 17000 is zero"):
        to_float32(given, "cosine")


def test_numbers_and_dimensions_that_do_not_fit() -> None:
    with pytest.raises(DataError, match="vector 1 has a number beyond 32 bits"):
        to_float32(np.array([[1.0, 2.0], [1.0, -1e39]]), "ip")
    engine = ENGINES.get("exact")()
    engine.build(np.ones((1, 3)), pl.Series(["a"]))
    with pytest.raises(DataError, match="queries have 2 dimensions; expected 3, as the index"):
        engine.search(np.ones((1, 2)), 1)


def test_a_table_is_filled_to_k_columns() -> None:
    found = pad_neighbours(np.array([[4, 2], [7, -1]], np.int32), np.array([[0.5, 0.25], [1.0, 9.0]], np.float32), 3)
    assert found.items.tolist() == [[4, 2, MISSING], [7, MISSING, MISSING]]
    assert found.scores.tolist() == [[0.5, 0.25, -np.inf], [1.0, -np.inf, -np.inf]]
    full = pad_neighbours(np.array([[4, 2]], np.uint64), np.array([[0.5, 0.25]], np.float32), 2)
    assert full.items.dtype == np.int64 and full.scores.dtype == np.float64 and full.items.tolist() == [[4, 2]]
    assert pad_neighbours(np.empty((2, 0), np.int64), np.empty((2, 0)), 2).items.tolist() == [[MISSING] * 2] * 2


def test_columns_need_no_quotes() -> None:
    frame = pl.DataFrame({"a b": ["1"], 'x"; DROP': ["2"]})
    engine = ENGINES.get("exact")()
    engine.build(np.ones((1, 3)), pl.Series(["a"]), attributes=frame)
    assert engine._attribute_texts().columns == ["attribute0", "attribute1"]
    assert engine._attribute_column(Filter('x"; DROP', "2")) == "attribute1"
    engine.build(np.ones((1, 3)), pl.Series(["a"]))
    assert engine._attribute_texts().columns == []
    with pytest.raises(UnknownName, match="unknown attribute of items 'c'"):
        engine._attribute_column(Filter("c", "2"))


def test_turns_keep_different_values_apart() -> None:
    """The value is what it should be for as long as somebody is inside."""
    turns, held = SettingLock(), {"value": 0}

    def use(number: int) -> bool:
        value = number % 3
        with turns.at(value, lambda value: held.update(value=value)):
            before = held["value"]
            threading.Event().wait(0.0005)
            return before == held["value"] == value

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(200)))


def test_a_value_is_stored_before_any_search_with_it() -> None:
    """A second search with a new value must not begin while the first one still stores it."""
    turns, stored = SettingLock(), list[int]()

    def store(value: int) -> None:
        threading.Event().wait(0.05)
        stored.append(value)

    def use(_: int) -> list[int]:
        with turns.at(5, store):
            return list(stored)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(use, range(4))) == [[5]] * 4


def test_turns_let_the_same_value_in_together() -> None:
    turns, both = SettingLock(), threading.Barrier(2, timeout=10)

    def use(_: int) -> int:
        with turns.at(5, lambda value: None):
            return both.wait()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(use, range(2))) == [0, 1]


def test_a_failure_inside_gives_the_turn_back() -> None:
    turns, stored = SettingLock(), list[int]()
    with pytest.raises(ZeroDivisionError), turns.at(1, stored.append):
        raise ZeroDivisionError
    with turns.at(2, stored.append):
        assert stored == [1, 2]


K = 10
ITEMS, QUERIES = vectors_of(300), vectors_of(15, seed=1)
ROUNDED = {"faiss-ivfpq"}
PAIRS = [(name, metric) for name in NAMES for metric in ENGINES.get(name).metrics]


@pytest.fixture(scope="module")
def engines() -> Iterator[dict[tuple[str, str], Engine]]:
    """Built once for the tests that only ask."""
    held: dict[tuple[str, str], Engine] = {}
    yield held
    for engine in held.values():
        engine.close()


@pytest.fixture
def engine(engines: dict[tuple[str, str], Engine], name: str, metric: str) -> Engine:
    if (name, metric) not in engines:
        engines[name, metric] = built(name, ITEMS, metric, attributes=KINDS)
    return engines[name, metric]


def thorough(engine: Engine, name: str, queries: Any = QUERIES, k: int = K, **more: Any) -> Neighbours:
    return engine.search(queries, k, THOROUGH[name][1], **more)


def check_form(found: Neighbours, queries: int, k: int, items: int, passing: int | None = None) -> None:
    assert found.items.dtype == np.int64 and found.scores.dtype == np.float64
    assert found.items.shape == found.scores.shape
    assert found.items.shape[0] == queries and min(k, items, passing or items) <= found.items.shape[1] <= k
    for rows, scores in zip(found.items.tolist(), found.scores, strict=True):
        real = [row for row in rows if row != MISSING]
        assert rows == real + [MISSING] * (len(rows) - len(real)), "nobody stands behind everybody"
        assert len(set(real)) == len(real) and all(0 <= row < items for row in real)
        assert (np.diff(scores[: len(real)]) <= 0).all(), "best first"
        assert np.isfinite(scores[: len(real)]).all() and np.isneginf(scores[len(real) :]).all()


def test_every_engine_is_tested() -> None:
    own = {name for name in ENGINES.names() if ENGINES.get(name).__module__.startswith("rankjury.")}
    assert own - ELSEWHERE == set(NAMES)


@pytest.mark.parametrize(("name", "metric"), PAIRS)
def test_finds_what_numpy_finds(engine: Engine, name: str, metric: str) -> None:
    found, scores = thorough(engine, name), scores_by_numpy(QUERIES, ITEMS, metric)
    check_form(found, len(QUERIES), K, len(ITEMS))
    recall = recall_by_numpy(found, scores, K)
    assert recall >= 0.85 if name in ROUNDED else recall >= 0.99
    if name not in ROUNDED:
        assert np.allclose(found.scores, np.take_along_axis(scores, found.items, axis=1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "metric"), PAIRS)
def test_usual_parameters_find_most(engine: Engine, name: str, metric: str) -> None:
    found = engine.search(QUERIES, K)
    check_form(found, len(QUERIES), K, len(ITEMS))
    assert recall_by_numpy(found, scores_by_numpy(QUERIES, ITEMS, metric), K) > 0.8


@pytest.mark.parametrize(("name", "metric"), PAIRS)
def test_its_own_exact_mode_misses_nobody(engine: Engine, name: str, metric: str) -> None:
    if not engine.exact_mode:
        return
    scores = scores_by_numpy(QUERIES, ITEMS, metric)
    assert recall_by_numpy(engine.search(QUERIES, K, exact=True), scores, K) == 1.0
    left_out = np.flatnonzero((KINDS[SHOES.attribute] != SHOES.value).fill_null(True).to_numpy())
    scores[:, left_out] = -np.inf
    assert recall_by_numpy(engine.search(QUERIES, K, filter=SHOES, exact=True), scores, K) == 1.0


@pytest.mark.parametrize(("name", "metric"), PAIRS)
def test_only_what_passes_a_filter(engine: Engine, name: str, metric: str) -> None:
    for only in (SHOES, Filter(SHOES.attribute, "it's"), Filter("size", "3")):
        found = thorough(engine, name, filter=only)
        check_form(found, len(QUERIES), K, len(ITEMS))
        passes = (KINDS[only.attribute].cast(pl.String) == only.value).fill_null(False).to_numpy()
        assert passes[found.items].all() and (found.items != MISSING).all()
        scores = np.where(passes, scores_by_numpy(QUERIES, ITEMS, metric), -np.inf)
        assert recall_by_numpy(found, scores, K) >= (0.85 if name in ROUNDED else 0.98)


@pytest.mark.parametrize("metric", ["cosine"])
@pytest.mark.parametrize("name", NAMES)
def test_filters_that_few_pass_or_none(engine: Engine, name: str, metric: str) -> None:
    few = thorough(engine, name, k=150, filter=Filter(SHOES.attribute, "bag"))
    check_form(few, len(QUERIES), 150, len(ITEMS), passing=60)
    assert (few.found == 60).all()
    nobody = thorough(engine, name, filter=Filter(SHOES.attribute, "bags"))
    assert nobody.items.shape[0] == len(QUERIES) and (nobody.items == MISSING).all()
    with pytest.raises(UnknownName, match="Did you mean size"):
        thorough(engine, name, filter=Filter("sizes", "3"))


@pytest.mark.parametrize("name", NAMES)
def test_a_filter_without_attributes(name: str) -> None:
    with built(name, ITEMS) as engine, pytest.raises(UnknownName, match="attribute of items 'size'"):
        engine.search(QUERIES, K, filter=Filter("size", "3"))


@pytest.mark.parametrize("metric", ["cosine"])
@pytest.mark.parametrize("name", NAMES)
def test_more_neighbours_than_items(engine: Engine, name: str, metric: str) -> None:
    found = thorough(engine, name, k=350)
    check_form(found, len(QUERIES), 350, len(ITEMS))
    assert (found.found == len(ITEMS)).all()


@pytest.mark.parametrize(("name", "metric"), PAIRS)
def test_one_item_or_a_few(name: str, metric: str) -> None:
    for count in (1, 3):
        with built(name, ITEMS[:count], metric, {}, attributes=KINDS[:count]) as engine:
            found = engine.search(QUERIES, K)
            check_form(found, len(QUERIES), K, count)
            assert (found.found == count).all()
            assert engine.search(QUERIES, K, filter=SHOES).found.tolist() == [1] * len(QUERIES)


@pytest.mark.parametrize("metric", ["cosine"])
@pytest.mark.parametrize("name", NAMES)
def test_no_query_and_one(engine: Engine, name: str, metric: str) -> None:
    for only in (None, SHOES):
        nothing = thorough(engine, name, QUERIES[:0], filter=only)
        assert nothing.items.shape[0] == nothing.scores.shape[0] == 0
        together = thorough(engine, name, filter=only)
        for row in (0, 7):
            alone = thorough(engine, name, QUERIES[row : row + 1], filter=only)
            assert same(alone, Neighbours(together.items[[row]], together.scores[[row]]))


@pytest.mark.parametrize("name", NAMES)
def test_other_widths_of_numbers_and_strides(name: str) -> None:
    metric = "l2"
    with built(name, ITEMS, metric) as engine:
        found = thorough(engine, name)
    wide, narrow = ITEMS.astype(np.float64), ITEMS.astype(np.float16)
    strided = np.repeat(ITEMS, 2, axis=1)[:, ::2]
    for items in (wide, narrow, strided):
        with built(name, items, metric) as engine:
            for queries in (QUERIES.astype(np.float16), QUERIES.astype(np.float64), np.asfortranarray(QUERIES)):
                assert same(found, thorough(engine, name, queries))


@pytest.mark.parametrize("name", NAMES)
def test_rows_do_not_hang_on_ids(name: str) -> None:
    tables = []
    for ids in (ids_of(300), ids_of(300).reverse(), pl.Series(range(1000, 1300))):
        with engine_of(name, "l2") as engine:
            engine.build(ITEMS, ids, THOROUGH[name][0])
            tables.append(thorough(engine, name))
    assert same(tables[0], tables[1]) and same(tables[0], tables[2])


@pytest.mark.parametrize("name", NAMES)
def test_vectors_stay_as_they_are(name: str) -> None:
    items, queries = ITEMS.copy(), QUERIES.copy()
    items.flags.writeable = queries.flags.writeable = False
    with built(name, items) as engine:
        thorough(engine, name, queries)
    assert np.array_equal(items, ITEMS) and np.array_equal(queries, QUERIES)


@pytest.mark.parametrize("metric", ["cosine", "l2"])
@pytest.mark.parametrize("name", NAMES)
def test_threads_find_what_one_finds(engine: Engine, name: str, metric: str) -> None:
    """Also when they ask with different parameters, with filters and exactly."""
    narrow = {key: param.min for key, param in engine.search_params.items() if param.monotonic_recall}
    ways: list[dict[str, Any]] = [
        {"params": THOROUGH[name][1]},
        {"params": {key: int(least or 0) for key, least in narrow.items()}},
        {"params": THOROUGH[name][1], "filter": SHOES},
        {"exact": engine.exact_mode},
    ]
    rows = [QUERIES[row : row + 1] for row in range(8)]
    alone = [[engine.search(row, K, **way) for row in rows] for way in ways]
    own = [engine, *(engine.for_thread() for _ in range(3))]
    assert all(other is engine for other in own) == (name != "sqlite-vec")

    def ask(thread: int) -> bool:
        order = [ways[(turn + thread) % len(ways)] for turn in range(len(ways))]
        return all(
            same(own[thread].search(row, K, **way), alone[ways.index(way)][place])
            for way in order
            for place, row in enumerate(rows)
        )

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(ask, range(4)))


@pytest.mark.parametrize("name", NAMES)
def test_closing_twice_and_building_again(name: str) -> None:
    engine = built(name, ITEMS, "l2")
    engine.build(ITEMS[:50], ids_of(50), attributes=KINDS[:50])
    found = thorough(engine, name)
    check_form(found, len(QUERIES), K, 50)
    scores = scores_by_numpy(QUERIES, ITEMS[:50], "l2")
    assert recall_by_numpy(found, scores, K) > 0.5
    engine.close()
    engine.close()
    engine_of(name).close()


@pytest.mark.parametrize("metric", ["cosine"])
@pytest.mark.parametrize("name", NAMES)
def test_size_and_facts(engine: Engine, name: str, metric: str) -> None:
    size, facts = engine.size(), engine.metadata()
    assert size is None or size > 1000
    assert json.loads(json.dumps(facts)) == facts
    assert not engine.package or facts["version"]


@pytest.mark.parametrize("metric", ["cosine"])
@pytest.mark.parametrize("name", NAMES)
def test_misspelt_parameters(engine: Engine, name: str, metric: str) -> None:
    with pytest.raises(UnknownName, match="similarity"):
        ENGINES.get(name)("cosin")
    for known, ask in (
        (engine.search_params, lambda given: engine.search(QUERIES, K, given)),
        (engine.build_params, lambda given: engine_of(name).build(ITEMS, ids_of(300), given)),
        (engine.open_params, lambda given: ENGINES.get(name)("cosine", given)),
    ):
        with pytest.raises(UsageError, match=r"is not known|unknown"):
            ask({f"{min(known, default='any')}x": 1})


@pytest.mark.parametrize("name", NAMES)
def test_vectors_that_cannot_be_used(name: str) -> None:
    zero = ITEMS.copy()
    zero[7] = 0
    with engine_of(name) as engine, pytest.raises(DataError, match="vector 7 is zero"):
        engine.build(zero, ids_of(300))
        engine.search(QUERIES, K)
    with built(name, ITEMS, "l2") as engine, pytest.raises(DataError, match="8 dimensions; expected 16"):
        engine.search(QUERIES[:, :8], K)
    if name != "exact":
        with engine_of(name, "l2") as engine, pytest.raises(DataError, match="vector 2 has a number beyond 32 bits"):
            engine.build(np.array([[1.0, 2.0], [0.0, 1.0], [1e300, 0.0]]), ids_of(3))


@pytest.mark.parametrize("name", NAMES)
def test_progress_is_told(name: str) -> None:
    told: list[tuple[int, int]] = []
    with engine_of(name) as engine:
        engine.build(
            ITEMS, ids_of(300), THOROUGH[name][0], progress=Progress(lambda what, done, of: told.append((done, of)))
        )
    if name != "exact":  # which has nothing to build
        assert told[0] == (0, 300) and told[-1] == (300, 300) and told == sorted(told)
