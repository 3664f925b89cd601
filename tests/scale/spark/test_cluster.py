"""A real cluster, a master and two workers: of one that is killed in the middle of a job no byte depends."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.scale.made import Study
from tests.scale.spark.cluster import Cluster
from tests.scale.spark.processes import of_session, wait_for
from tests.scale.spark.thorough import when_all_are_wanted

pytestmark = pytest.mark.slow
_ENDS_WITHIN = 180


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("vectors") / "items.npy"
    items = draw.normal(size=(3000, 48)).astype(np.float32)
    items[100:200] = items[2000:2100]
    np.save(path, items)
    return path


def rankjury(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "rankjury", *arguments]


def with_a_kill(cluster: Cluster, command: list[str], begun: Callable[[], object]) -> bytes:
    """What it prints although a worker is killed after it has begun."""
    with subprocess.Popen(
        [*command, "--on", "spark", "--master", cluster.url],
        env=cluster.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            wait_for(lambda: begun() or process.poll() is not None, _ENDS_WITHIN, "its beginning")
            assert cluster.kill_a_worker() >= 4  # the worker, its executor, and the Python of its tasks
            assert process.poll() is None
            printed, said = process.communicate(timeout=_ENDS_WITHIN)
        finally:
            process.kill()
    assert (process.returncode, said) == (0, b"")
    assert len(cluster.workers) == 1
    assert of_session(process.pid) == []
    return printed


@when_all_are_wanted
def test_neighbours(cluster: Cluster, vectors: Path) -> None:
    def command(output: str) -> list[str]:
        return rankjury("neighbours", str(vectors), "-k", "20", "--quiet", "-o", str(vectors.parent / output))

    subprocess.run(command("here.csv"), check=True, stdout=subprocess.DEVNULL)
    with_a_kill(cluster, command("there.csv"), lambda: True)
    assert (vectors.parent / "there.csv").read_bytes() == (vectors.parent / "here.csv").read_bytes()


def test_evaluate(cluster: Cluster, tmp_path: Path) -> None:
    """The scores that the worker held are lost after they were written, and made again."""
    Study.of(tmp_path / "files", "files", queries=300)
    pl.DataFrame({"query_id": range(300), "type": ["x", "y", "z"] * 100}).write_csv(tmp_path / "queries.csv")
    paths = [str(tmp_path / "files" / name) for name in ("gold", "a", "b")]
    options = ("-m", "ndcg@10,ap", "--slices", f"{tmp_path}/queries.csv:type", "--resamples", "10000")
    command = rankjury("evaluate", *paths, *options, "--json", "--quiet")
    here = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    scores = tmp_path / "scores"
    there = with_a_kill(
        cluster, [*command, "--per-query", str(scores)], lambda: list(tmp_path.glob(".scores.*.part/part-*"))
    )
    figures, _, _ = there.partition(b'"provenance"')
    assert len(figures) > 10_000 and here.startswith(figures)
    assert pl.scan_parquet(scores / "*.parquet").select(pl.len()).collect().item() == 600
