"""nDCG@10 of folders of Parquet files, as a team without rankjury would compute it: plain Spark SQL, RePlay or Polars.

All are given the same: local[2], or two threads. RePlay knows no grades and no queries without anything relevant, so it
gets the gold from grade 1 on. Prints the mean and the version as JSON. The whole process is measured, from outside;
one with a tiny input tells what starting takes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

K = 10
QUERY = f"""
    with placed as (
        select user_id, item_id, row_number() over (partition by user_id order by score desc, item_id) as place
        from ranking
    ), found as (
        select user_id, sum(grade / log2(place + 1)) as dcg
        from gold join placed using (user_id, item_id) where place <= {K} group by user_id
    ), best as (
        select user_id, grade, row_number() over (partition by user_id order by grade desc) as place from gold
    ), ideal as (
        select user_id, sum(grade / log2(place + 1)) as dcg from best where place <= {K} group by user_id
    )
    select avg(coalesce(found.dcg, 0) / ideal.dcg) as ndcg
    from ideal left join found using (user_id) where ideal.dcg > 0
"""


def start_spark(memory: str) -> Any:
    from pyspark.sql import SparkSession

    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    settings = {
        "spark.driver.memory": memory,
        "spark.sql.shuffle.partitions": "32",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    return SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()


def stop(spark: Any) -> None:
    """Wait for Spark's own process to end, so that its time and memory count as this one's."""
    gateway = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


def by_spark_sql(folder: Path, memory: str) -> float:
    spark = start_spark(memory)
    for name in ("ranking", "gold"):
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    found: float = spark.sql(QUERY).first()["ndcg"]
    stop(spark)
    return found


def by_replay(folder: Path, memory: str) -> float:
    from replay import metrics

    spark = start_spark(memory)
    ranking = spark.read.parquet(str(folder / "ranking"))
    relevant = spark.read.parquet(str(folder / "gold")).where("grade >= 1")
    (found,) = metrics.NDCG(K, query_column="user_id", rating_column="score")(ranking, relevant).values()
    stop(spark)
    return float(found)


def by_replay_on_polars(folder: Path, memory: str) -> float:
    import polars as pl
    from replay import metrics

    ranking = pl.read_parquet(folder / "ranking" / "*.parquet")
    relevant = pl.read_parquet(folder / "gold" / "*.parquet").filter(pl.col("grade") >= 1)
    (found,) = metrics.NDCG(K, query_column="user_id", rating_column="score")(ranking, relevant).values()
    return float(found)


def by_polars(folder: Path, memory: str) -> float:
    """Lazily, by the streaming engine: a group a query, joined with the gold."""
    import polars as pl

    discount = (pl.col("place") + 1).log(2)
    ranking = pl.scan_parquet(folder / "ranking" / "*.parquet")
    gold = pl.scan_parquet(folder / "gold" / "*.parquet")
    tops = ranking.group_by("user_id").agg(
        pl.col("item_id").sort_by("score", "item_id", descending=[True, False]).head(K),
        place=pl.int_range(1, pl.len() + 1).head(K),
    )
    placed = tops.explode("item_id", "place")
    dcg = (pl.col("grade") / discount).sum()
    found = gold.join(placed, on=["user_id", "item_id"]).group_by("user_id").agg(dcg=dcg)
    best = gold.group_by("user_id").agg(
        pl.col("grade").sort(descending=True).head(K), place=pl.int_range(1, pl.len() + 1).head(K)
    )
    ideal = best.explode("grade", "place").group_by("user_id").agg(ideal=dcg).filter(pl.col("ideal") > 0)
    each = ideal.join(found, on="user_id", how="left").select(pl.col("dcg").fill_null(0) / pl.col("ideal"))
    return float(each.mean().collect(engine="streaming").item())


PEERS: dict[str, tuple[Callable[[Path, str], float], str]] = {
    "spark-sql": (by_spark_sql, "pyspark"),
    "replay": (by_replay, "replay-rec"),
    "replay-polars": (by_replay_on_polars, "replay-rec"),
    "polars": (by_polars, "polars"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--memory", default="8g", help="of Spark's process (default: %(default)s)")
    arguments = parser.parse_args()
    call, library = PEERS[arguments.peer]
    print(json.dumps({"ndcg@10": call(arguments.folder, arguments.memory), "version": metadata.version(library)}))


if __name__ == "__main__":
    main()
