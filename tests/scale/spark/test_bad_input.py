"""What is wrong with tables on Spark is reported as elsewhere: in one line, with the file, and without Java's stack."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from rankjury.errors import DataError, UsageError
from rankjury.scale.spark import evaluate
from rankjury.scale.spark.sources import BUCKET, DataFrameSource, PackRows, spark_table
from tests.cli.conftest import Rankjury, folder, rankjury
from tests.cli.support import check_failure
from tests.scale.made import gold_of, run_of
from tests.scale.spark.studies import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["folder", "rankjury"]

QUERIES = 12
GOLD, RUN = gold_of(QUERIES), run_of(QUERIES, 1)
REST = RUN.filter(pl.col("query_id") >= 6)
ON_SPARK = ("--on", "spark", "-m", "ndcg@10", "--resamples", "100")


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    """gold, run/1.parquet and run/2.parquet."""
    GOLD.write_parquet("gold.parquet")
    Path("run").mkdir()
    RUN.filter(pl.col("query_id") < 6).write_parquet("run/1.parquet")
    second(REST)


def by_spark(folder: Path, name: str) -> str:
    """A path that Spark reads itself, as it does on a cluster."""
    return f"file://{folder}/{name}"


def second(rows: pl.DataFrame) -> None:
    rows.write_parquet("run/2.parquet")


def test_a_row_without_a_score_names_its_file(spark: "SparkSession", rankjury: Rankjury, folder: Path) -> None:
    second(REST.with_columns(score=pl.when(pl.col("query_id") == 8).then(float("nan")).otherwise("score")))
    outcome = rankjury("evaluate", "gold.parquet", by_spark(folder, "run"), *ON_SPARK)
    check_failure(outcome, 3, f"error: {folder}/run/2.parquet: the score of item ", " for query 8 is NaN; expected a")
    read_here = rankjury("evaluate", "gold.parquet", "run", *ON_SPARK)
    check_failure(read_here, 3, f"error: {folder}/run/2.parquet: the score of item ", " for query 8 is NaN (")


def test_pairs_that_stand_in_two_files(spark: "SparkSession", rankjury: Rankjury, folder: Path) -> None:
    twice = RUN.filter(pl.col("query_id") == 3).with_columns(score=2.0)
    second(pl.concat([REST, twice]))
    outcome = rankjury("evaluate", "gold.parquet", "run", *ON_SPARK)
    assert outcome.code == 3 and outcome.out == ""
    first, *files = outcome.err.splitlines()
    assert first.startswith("error: run: duplicate item '") and " for query '3'; expected" in first
    assert first.endswith('--duplicates max; in Python duplicates="max".')
    assert files == ["  in run/1.parquet", "  in run/2.parquet"]
    by_its_reader = rankjury("evaluate", "gold.parquet", by_spark(folder, "run"), *ON_SPARK)
    assert by_its_reader.err.splitlines()[1:] == [f"  in {folder}/run/1.parquet", f"  in {folder}/run/2.parquet"]
    highest = rankjury("evaluate", "gold.parquet", "run", *ON_SPARK, "--duplicates", "max", "--json")
    here = rankjury(
        "evaluate", "gold.parquet", "run", "--memory", "1GB", *ON_SPARK[2:], "--duplicates", "max", "--json"
    )
    assert (highest.code, highest.out) == (0, here.out)


def test_a_damaged_file_in_the_middle(spark: "SparkSession", rankjury: Rankjury, folder: Path) -> None:
    whole = Path("run/2.parquet").read_bytes()
    Path("run/2.parquet").write_bytes(whole[:-60])
    REST.write_parquet("run/3.parquet")
    outcome = rankjury("evaluate", "gold.parquet", by_spark(folder, "run"), *ON_SPARK)
    check_failure(outcome, 3, f"error: {folder}/run/2.parquet: not a Parquet file, or its end is missing")
    read_here = rankjury("evaluate", "gold.parquet", "run", *ON_SPARK)
    check_failure(read_here, 3, "error: run/2.parquet: cannot be read as Parquet")


def test_files_that_differ(spark: "SparkSession", rankjury: Rankjury, folder: Path) -> None:
    second(REST.cast({"score": pl.String}))
    outcome = rankjury("evaluate", "gold.parquet", by_spark(folder, "run"), *ON_SPARK)
    check_failure(outcome, 3, f"{folder}/run/2.parquet: column 'score' is BINARY in this file", "expected double")
    read_here = rankjury("evaluate", "gold.parquet", "run", *ON_SPARK)
    check_failure(read_here, 3, "run/2.parquet: column 'score' is of type String", "expected Float64")


def test_what_is_told_before_anything_is_read(spark: "SparkSession", rankjury: Rankjury, folder: Path) -> None:
    def told(code: int, *fragments: str, run: str = "run", more: tuple[str, ...] = ()) -> None:
        check_failure(rankjury("evaluate", "gold.parquet", run, *ON_SPARK, *more), code, *fragments)

    told(3, f"{folder}/nothing: no such file or folder", run="nothing")
    Path("empty").mkdir()
    told(3, "empty: there is no Parquet file in the folder", run=by_spark(folder, "empty"))
    RUN.drop("score").write_parquet("short.parquet")
    told(3, "short.parquet: found the columns query_id, item_id; no column for score or rank", run="short.parquet")
    RUN.with_columns(Score=1.0).write_parquet("twice.parquet")
    told(3, "twice.parquet: several columns are called 'score'", run=by_spark(folder, "twice.parquet"))
    told(
        2,
        "--duplicates first is impossible on Spark: rows have no order; expected error or max",
        more=("--duplicates", "first"),
    )
    told(2, "which is undefined on Spark", more=("--ties", "order"))
    told(2, "coverage@10 needs all lists at once", more=("-m", "coverage@10"))
    told(3, "run: the folder already exists", more=("--per-query", "run"))


def test_tables_that_do_not_belong_together(spark: "SparkSession", rankjury: Rankjury) -> None:
    RUN.with_columns(query_id=pl.format("q{}", "query_id")).write_parquet("other.parquet")
    outcome = rankjury("evaluate", "gold.parquet", "other.parquet", *ON_SPARK)
    check_failure(outcome, 3, "gold.parquet × other.parquet: no query in common: the gold has '", "the ranking has 'q")
    RUN.clear().write_parquet("none.parquet")
    check_failure(rankjury("evaluate", "gold.parquet", "none.parquet", *ON_SPARK), 3, "none.parquet: found no rows")


def check_rows(kind: str, **columns: list[Any]) -> None:
    rows = pl.DataFrame({**columns, BUCKET: 0}, schema_overrides={"grade": pl.Float64})
    names = tuple((name, f"my_{name}") for name in columns)
    list(PackRows(0, kind, "table", names, (0,), 100)(iter(rows.to_arrow().to_batches())))


def test_rows_that_lack_something() -> None:
    with pytest.raises(DataError, match=r"^table: a row has no my_query_id \(my_item_id 'd', my_score 1.0\); exp"):
        check_rows("run", query_id=[None], item_id=["d"], score=[1.0])
    with pytest.raises(DataError, match=r"a row has no my_item_id \(my_query_id 2, my_score 0.5\)"):
        check_rows("run", query_id=[1, 2], item_id=["d", None], score=[1.0, 0.5])
    with pytest.raises(DataError, match="the my_grade of item 2 for query 1 is missing; expected a finite grade"):
        check_rows("gold", query_id=[1], item_id=[2], grade=[None])
    with pytest.raises(DataError, match="the my_rank of item 2 for query 1 is -inf; expected a finite rank"):
        check_rows("run", query_id=[1], item_id=[2], rank=[float("-inf")])
    with pytest.raises(DataError, match="a row has no my_query_id"):
        check_rows("attributes", query_id=[1, None], type=[None, None])


def test_fractions_called_score_are_no_grades() -> None:
    rows = pl.DataFrame({"query_id": [1], "item_id": [2], "grade": [0.5], BUCKET: [0]})
    names = (("query_id", "query_id"), ("item_id", "item_id"), ("grade", "score"))
    packing = PackRows(0, "gold", "gold", names, (0,), 100)
    with pytest.raises(DataError, match="gold: the column score holds fractions"):
        list(packing(iter(rows.to_arrow().to_batches())))


@pytest.fixture(scope="module")
def frame(spark: "SparkSession") -> "DataFrame":
    return frame_of(spark, RUN)


def test_frames_that_will_not_do(spark: "SparkSession", frame: "DataFrame", tmp_path: Path) -> None:
    from pyspark.sql import functions as f

    def refused(odd: Any, kind: type[Exception], says: str) -> None:
        with pytest.raises(kind, match=says):
            evaluate(spark, frame.withColumnRenamed("score", "grade"), odd)

    refused(RUN, UsageError, "the run is a DataFrame; expected a Spark DataFrame")
    stream = spark.readStream.schema(frame.schema).parquet(str(tmp_path))
    refused(stream, UsageError, "the run is a stream, which has no end")
    refused(frame.withColumn("query_id", f.lit(1.5)), DataError, "run: the ids in column 'query_id' are of type double")
    refused(frame.withColumn("score", f.lit("high")), DataError, "run: column 'score' is of type string")
    refused(frame.select("*", f.lit(1).alias("score")), DataError, "run: several columns are called 'score'")


def test_large_whole_numbers_without_a_sign_are_ids(frame: "DataFrame") -> None:
    wide = spark_table(frame.selectExpr("cast(query_id as decimal(20,0)) query_id", "item_id", "score"), "run", "run")
    assert DataFrameSource([wide]).texts == ["query_id"]
    assert [kind for _, kind in wide.bucketed(["query_id"], 4).dtypes] == ["string", "bigint", "double", "int"]
