"""On Spark comes what comes of everything at once, byte for byte, however the rows are spread over its tasks."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import rankjury.scale.spark
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import Quantiles as QuantileSection
from rankjury.stats.estimates import QuantileSketch
from tests.scale.made import QUICK, Study, form_of, gold_of, run_of
from tests.scale.spark.studies import frame_of, on_spark
from tests.scale.spark.thorough import when_all_are_wanted
from tests.scale.test_local import figures

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = 60
MEASURES = ("ndcg@10", "gm_ap", "recall(rel=2)@100")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With attributes of queries and of items; some have none, and of others nothing is known."""
    place = tmp_path_factory.mktemp("on [spark] {a}")
    known = range(3, QUERIES)
    pl.DataFrame(
        {
            "query_id": known,
            "type.of": [("x", "y", None)[query % 3] for query in known],
            "bucket": [None if query % 9 == 0 else (query * 37 % 100) / 100 for query in known],
            "tags": [["a", "b"][: query % 3] for query in known],
            "seen": [datetime(2024, 1, 1 + query % 2, tzinfo=UTC) for query in known],
            "paid": [Decimal(query % 2) / 4 for query in known],
        }
    ).write_parquet(place / "queries.parquet")
    pl.DataFrame({"item_id": range(55), "shelf": ["low", "high", None, "top", "low"] * 11}).write_csv(place / "i.csv")
    return place


@pytest.fixture(scope="module")
def study(folder: Path) -> Study:
    """Half of a query's rows are in another file; ids are whole numbers, in one run the same as text."""
    made = Study.of(folder / "of_three", "split", queries=QUERIES, systems=3).asking(measures=MEASURES)
    rows, _ = made.runs["c"]
    text = rows.with_columns(pl.col("query_id", "item_id").cast(pl.String))
    text.write_parquet(folder / "text.parquet")
    return made.asking(runs={**made.runs, "c": (text, folder / "text.parquet")})


@pytest.fixture(scope="module")
def at_once(study: Study) -> Report:
    return study.at_once()


def check_same(found: Report, expected: Report) -> None:
    assert figures(form_of(found)) == figures(form_of(expected))
    assert json.dumps(form_of(found)) == json.dumps(form_of(expected))
    assert found.warnings == expected.warnings


@pytest.mark.parametrize("baseline", [pytest.param(None, marks=when_all_are_wanted), "b"])
def test_in_memory_in_blocks_and_on_spark(
    spark: "SparkSession", study: Study, folder: Path, baseline: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    by = "type.of,bucket(quantiles=4),tags,type.of*bucket(bins=0.3/0.6),seen,paid"
    slices, item_slices = [(folder / "queries.parquet", by)], [(folder / "i.csv", "")]
    asked = study.asking(baseline=baseline, slices=slices, item_slices=item_slices)
    monkeypatch.setenv("RANKJURY_THREADS", "2")  # a task on Spark has one
    expected, found = asked.at_once(), on_spark(spark, asked)
    check_same(found, expected)
    check_same(asked.in_blocks(), expected)
    assert len(figures(form_of(found))) > 300
    assert {part.of for part in found.slices} == {"queries", "items"} and len(found.slices) > 12
    assert len(found.comparisons) == (6 if baseline else 0)


@pytest.fixture
def many_partitions(spark: "SparkSession") -> Iterator[None]:
    """So many that some are joined by tasks first."""
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "66")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", str(before))


@when_all_are_wanted
def test_many_small_tasks(spark: "SparkSession", study: Study, at_once: Report, many_partitions: None) -> None:
    """Of rows that are no file Spark knows no size, and takes it to be large."""
    gold, run = study.gold[0], study.runs["a"][0]
    frames = [spark.createDataFrame(rows.rows(), rows.columns) for rows in (gold, run)]
    found = rankjury.scale.spark.evaluate(spark, frames[0], frames[1], MEASURES, resampling=QUICK)
    assert figures(form_of(found)["systems"]["run"]) == figures(form_of(at_once)["systems"]["a"])


def test_frames_in_few_parts_in_another_order(spark: "SparkSession", study: Study, folder: Path) -> None:
    """One of the runs has ranks in the place of scores."""
    ranks = study.runs["b"][0].with_columns(
        rank=pl.col("score").rank("ordinal", descending=True).over("query_id").cast(pl.Int64)
    )
    runs = {**study.runs, "b": (ranks.drop("score"), folder)}
    slices, item_slices = [(folder / "queries.parquet", "type.of")], [(folder / "i.csv", "shelf")]
    expected = study.asking(runs=runs, baseline="a", slices=slices, item_slices=item_slices).at_once()
    found = rankjury.scale.spark.evaluate(
        spark,
        frame_of(spark, study.gold[0], parts=3),
        {name: frame_of(spark, rows, parts) for parts, (name, (rows, _)) in enumerate(runs.items(), 1)},
        MEASURES,
        resampling=QUICK,
        baseline="a",
        slices=frame_of(spark, pl.read_parquet(folder / "queries.parquet", glob=False)),
        by="type.of",
        item_slices=frame_of(spark, pl.read_csv(folder / "i.csv", glob=False)),
        items_by="shelf",
        quantiles=(0.1, 0.5),
    )
    assert figures(form_of(found)) == figures(form_of(expected))
    scores = expected.scores["b"]["ndcg@10"]
    assert found.sections_of(QuantileSection)["b"].measures["ndcg@10"] == QuantileSketch.of(scores, QUERIES).values(
        (0.1, 0.5)
    )


def test_a_query_with_most_of_the_rows(spark: "SparkSession", tmp_path: Path) -> None:
    """More than a task holds: its bucket is parted on disk."""

    def put(name: str, rows: pl.DataFrame, value: str, many: int) -> tuple[pl.DataFrame, Path]:
        large = {"query_id": np.full(many, 7), "item_id": np.arange(many), value: np.arange(many) % 4}
        whole = pl.concat([rows.filter(pl.col("query_id") != 7), pl.DataFrame(large).cast(dict(rows.schema))])
        whole.write_parquet(tmp_path / name)
        return whole, tmp_path / name

    gold, run = put("gold", gold_of(30), "grade", 300), put("run", run_of(30, 1), "score", 1200)
    skewed = Study(gold, {"run": run})
    check_same(on_spark(spark, skewed, max_rows=60), skewed.at_once())


def test_every_querys_scores(spark: "SparkSession", study: Study, tmp_path: Path) -> None:
    check_same(on_spark(spark, study, per_query=tmp_path / "there"), study.in_blocks(per_query=tmp_path / "here"))
    here, there = (
        pl.read_parquet(tmp_path / place / "*.parquet").sort("system", "query_id") for place in ("here", "there")
    )
    assert there.columns == ["system", "query_id", *MEASURES]
    assert there.equals(here)
    assert not list(tmp_path.rglob("_temporary"))


def test_what_is_there_is_not_written_over(spark: "SparkSession", study: Study, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(DataError, match="the folder already exists; expected a new folder"):
        on_spark(spark, study, per_query=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(UsageError, match=r"scores\.csv: Spark writes Parquet, not \.csv"):
        on_spark(spark, study, per_query=tmp_path / "scores.csv")


def test_a_failure_leaves_no_scores(spark: "SparkSession", study: Study, folder: Path, tmp_path: Path) -> None:
    asked = study.asking(slices=[(folder / "queries.parquet", "colour")])
    with pytest.raises(UnknownName, match="unknown attribute 'colour'"):
        on_spark(spark, asked, per_query=tmp_path / "scores")
    assert list(tmp_path.iterdir()) == []


def test_scores_that_cannot_be_written(spark: "SparkSession", study: Study, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=f"^{tmp_path}/file/scores: cannot write here"):
        on_spark(spark, study, per_query=tmp_path / "file" / "scores")
