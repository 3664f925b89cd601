"""Exact neighbours on Spark are those found here, to the last byte: ties, copies, own items, tiles and all."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rankjury.errors import DataError
from rankjury.retrieval.knn.search import nearest
from rankjury.retrieval.knn.select import MISSING
from rankjury.scale.spark.neighbors import nearest_on_spark
from tests.cli.conftest import Rankjury, folder, rankjury
from tests.cli.support import check_failure, put

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["folder", "rankjury"]

DRAW = np.random.default_rng(11)
ITEMS = DRAW.normal(size=(300, 7)).astype(np.float32)
ITEMS[50:90] = ITEMS[10:50]
"""Copies, some of them on the other side of a tile's edge."""
ITEMS[200:220] = ITEMS[5]
PLACES = DRAW.permutation(len(ITEMS))
TILE = 64 * 7 * 4
"""Bytes of 64 items: five tiles, the last one shorter than the k of some tests."""


def check_same(spark: "SparkSession", queries: Any, items: Any, k: int, tile_bytes: int = TILE, **options: Any) -> None:
    here = nearest(queries, items, k, **options)
    there = nearest_on_spark(spark, queries, items, k, tile_bytes=tile_bytes, **options)
    assert there.items.tobytes() == here.items.tobytes()
    assert there.scores.tobytes() == here.scores.tobytes()
    assert there.items.shape == here.items.shape and there.items.dtype == here.items.dtype


@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
def test_a_set_with_itself(spark: "SparkSession", metric: str) -> None:
    own = np.arange(len(ITEMS))
    check_same(spark, ITEMS, ITEMS, 60, metric=metric, places=PLACES, own=own)


def test_the_whole_corpus_at_once(spark: "SparkSession") -> None:
    queries = DRAW.normal(size=(70, 7))
    check_same(spark, queries, ITEMS, 10, tile_bytes=1 << 20, places=PLACES)


def test_queries_of_which_some_are_items(spark: "SparkSession") -> None:
    own = np.full(20, MISSING)
    own[3], own[7] = 12, 299
    check_same(spark, ITEMS[:20].astype(np.float64), ITEMS, len(ITEMS), places=PLACES, own=own)


def test_nothing_to_find(spark: "SparkSession") -> None:
    check_same(spark, ITEMS[:0], ITEMS, 3)
    check_same(spark, ITEMS, ITEMS[:0], 3)


def test_a_fault_on_a_worker_is_told(spark: "SparkSession") -> None:
    zero = ITEMS.copy()
    zero[70] = 0
    with pytest.raises(DataError, match="is zero; expected vectors with a direction"):
        nearest_on_spark(spark, ITEMS, zero, 3, tile_bytes=TILE)


def test_the_command_writes_and_says_the_same(spark: "SparkSession", rankjury: Rankjury) -> None:
    np.save("items.npy", ITEMS)
    put("ids.txt", "".join(f"d{place:03}\n" for place in PLACES))
    command = ("neighbours", "items.npy", "--ids", "ids.txt", "-k", "5")
    here = rankjury(*command, "-o", "here.csv")
    there = rankjury(*command, "--on", "spark", "-o", "there.csv")
    assert there.code == 0, there.err
    assert Path("there.csv").read_bytes() == Path("here.csv").read_bytes()
    assert there.out == here.out
    assert there.err == here.err.replace("here.csv", "there.csv")
    assert spark.range(2).count() == 2


def test_what_the_command_cannot_give_to_spark_is_refused(rankjury: Rankjury) -> None:
    np.save("items.npy", ITEMS)
    put("pairs.csv", "query_id,item_id\n1,2\n")
    own = rankjury("neighbours", "items.npy", "--on", "spark", "--candidates", "pairs.csv")
    check_failure(own, 2, "--on spark with each query's own candidates")
    check_failure(rankjury("neighbours", "items.npy", "--master", "local[2]"), 2, "--master without --on spark")
    assert rankjury("neighbours", "items.npy", "--on", "flink").code == 2
