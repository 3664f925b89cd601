"""compare and gate on Spark, and what a report from there is good for."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import Rankjury, folder, rankjury
from tests.cli.support import put
from tests.scale.made import Study

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["folder", "rankjury"]

OPTIONS = ("-m", "ndcg@10,recall@5", "--resamples", "100")
ON_SPARK, IN_BLOCKS = ("--on", "spark"), ("--memory", "1GB")


@pytest.fixture(autouse=True)
def study(folder: Path) -> Study:
    return Study.of(folder, "files", queries=40)


def test_compare(spark: "SparkSession", rankjury: Rankjury) -> None:
    command = ("compare", "gold", "a", "b", *OPTIONS, "--json")
    here, there = rankjury(*command, *IN_BLOCKS), rankjury(*command, *ON_SPARK)
    assert there.code == 0, there.err
    assert (there.out, there.err) == (here.out, here.err)
    assert json.loads(there.out)["comparisons"]


def test_gate_on_runs_and_on_their_report(spark: "SparkSession", rankjury: Rankjury) -> None:
    put("targets.toml", 'targets = ["ndcg@10 >= 0.05", "recall@5 >= 0.9"]\n')
    made = rankjury("evaluate", "gold", "a", *OPTIONS, *ON_SPARK, "-o", "report.json", "--per-query", "scores")
    assert made.code == 0, made.err
    assert "\x1b" not in made.err and "Scoring" not in made.err
    on_report = rankjury("gate", "targets.toml", "report.json", "--json")
    on_runs = rankjury("gate", "targets.toml", "gold", "a", *OPTIONS[2:], *ON_SPARK, "--json")
    assert on_report.code == on_runs.code == 4
    assert json.loads(on_report.out)["targets"] == json.loads(on_runs.out)["targets"]
    assert list(Path("scores").glob("*.parquet"))
