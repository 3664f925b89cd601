"""A disk that is full, or a limit on the size of files: an error that names the file, and nothing left of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

WRITERS = """
import json, resource, sys
from pathlib import Path
import numpy as np, polars as pl
from rankjury.errors import DataError
from rankjury.io.formats import write, write
from rankjury.io.atomic import together, write_text
from rankjury.io.vectors.arrays import write_vectors
from rankjury.recsys.data.log import log_from_frame
from rankjury.recsys.data.split_folder import write_folds, write_split
from rankjury.recsys.splitting import split_folds, split_log
from rankjury.scale.local import open_per_query
from rankjury.retrieval.embedding.vector_files import open_row_cache
from rankjury.core.types import Vectors

folder = Path(sys.argv[1])
draw = np.random.default_rng(1)
table = pl.DataFrame({"a": draw.random(3000)})
run = table.select(query_id=pl.lit("q"), item_id=pl.int_range(pl.len()).cast(pl.String), score="a")
log = log_from_frame(pl.DataFrame({"user": draw.integers(9, size=3000), "item": draw.integers(900, size=3000),
                                   "value": draw.random(3000), "time": draw.integers(10**9, size=3000)}))
vectors = Vectors(pl.Series(map(str, range(500))), draw.random((500, 8)), "v")

def blocks(path):
    with open_per_query(path) as written:
        written.add(table)

def rows():
    with open_row_cache(folder / ".v.npz.parts", {"model": "m" * 9000}):
        pass

def several():
    with together():
        write_text(folder / "small.txt", "it would fit")
        write(table, folder / "large.parquet", "table")

writers = {
    **{name: lambda name=name: write(table, folder / name, "table")
       for name in ("t.parquet", "t.csv", "t.tsv", "t.jsonl", "t.csv.gz", "t.jsonl.zst")},
    **{name: lambda name=name: write(run, folder / name, "run") for name in ("r.trec", "r.json", "r.trec.gz")},
    "text.html": lambda: write_text(folder / "text.html", "x" * 9000),
    "v.npz": lambda: write_vectors(folder / "v.npz", vectors, {}, dtype="float32"),
    "train.parquet": lambda: write_split(split_log(log, "temporal"), folder / "split"),
    "fold-1": lambda: write_folds(split_folds(log, "users"), folder / "folds"),
    "scores": lambda: blocks(folder / "scores"),
    "scores.csv": lambda: blocks(folder / "scores.csv"),
    "manifest.json": rows,
    "large.parquet": several,
}
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
found = {}
for name, write_it in writers.items():
    try:
        write_it()
        found[name] = "written"
    except DataError as error:
        found[name] = str(error)
    except BaseException as error:
        found[name] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
"""


def test_a_file_that_becomes_too_large_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", WRITERS, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) == 17
    for name, said in found.items():
        assert name in said and "cannot write: File too large" in said, (name, said)
        assert said.startswith(str(tmp_path)) and "os error" not in said
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", [["list", "metrics"], ["evaluate", "gold.qrels", "run.trec", "-o", "full.json"]])
def test_a_full_device_is_exit_3(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "gold.qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "run.trec").write_text("q1 Q0 d1 1 2 t\n")
    (tmp_path / "full.json").symlink_to("/dev/full")
    with Path("/dev/full" if arguments[0] == "list" else os.devnull).open("w") as out:
        command = [sys.executable, "-m", "rankjury", *arguments, *(["-q"] if arguments[0] == "evaluate" else [])]
        done = subprocess.run(command, cwd=tmp_path, stdout=out, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr and "full.json" * (arguments[0] == "evaluate") in done.stderr
