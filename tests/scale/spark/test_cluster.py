"""A real cluster: a master and two workers, of which one is killed in the middle of the job."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from .cluster import Cluster
from .processes import of_session

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


def command(vectors: Path, output: str, *options: str) -> list[str]:
    arguments = ("neighbours", str(vectors), "-k", "20", "--quiet", "-o", str(vectors.parent / output), *options)
    return [sys.executable, "-m", "karat", *arguments]


def test_a_worker_killed_in_the_middle_changes_no_byte(cluster: Cluster, vectors: Path) -> None:
    subprocess.run(command(vectors, "here.csv"), check=True, stdout=subprocess.DEVNULL)
    with subprocess.Popen(
        command(vectors, "there.csv", "--on", "spark", "--master", cluster.url),
        env=cluster.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert cluster.kill_a_worker() >= 4  # the worker, its executor, and the Python of its tasks
            _, said = process.communicate(timeout=_ENDS_WITHIN)
        finally:
            process.kill()
    assert (process.returncode, said) == (0, "")
    assert len(cluster.workers) == 1
    assert (vectors.parent / "there.csv").read_bytes() == (vectors.parent / "here.csv").read_bytes()
    assert of_session(process.pid) == []
