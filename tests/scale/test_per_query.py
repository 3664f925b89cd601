"""Every query's scores are written whole or not at all, whatever happens on the way."""

import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from rankjury.errors import DataError
from rankjury.scale.local import open_per_query
from tests.paths import ROOT
from tests.scale.made import Study


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return Study.of(tmp_path_factory.mktemp("per_query"), "shuffled", queries=30)


def test_a_folder_is_written_in_parts(study: Study, tmp_path: Path) -> None:
    study.in_blocks(400, per_query=tmp_path / "scores")
    assert len(list((tmp_path / "scores").iterdir())) > 2 and [path.name for path in tmp_path.iterdir()] == ["scores"]
    found = pl.read_parquet(tmp_path / "scores").sort("system", "query_id")
    expected = [
        scores.per_query.cast({"query_id": pl.String}).select(pl.lit(name).alias("system"), pl.all())
        for name, scores in study.at_once().scores.items()
    ]
    assert found.equals(pl.concat(expected).sort("system", "query_id"))


def test_an_empty_folder_takes_them(study: Study, tmp_path: Path) -> None:
    (tmp_path / "scores").mkdir()
    study.in_blocks(10_000, per_query=tmp_path / "scores")
    assert [path.name for path in (tmp_path / "scores").iterdir()] == ["part-00000.parquet"]


@pytest.mark.parametrize("name", ["scores", "scores.csv"])
def test_an_error_in_the_middle_leaves_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(KeyError), open_per_query(tmp_path / name) as written:
        written.add(pl.DataFrame({"system": ["a"], "query_id": ["1"], "ap": [0.5]}))
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_an_old_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    old = tmp_path / "scores.csv"
    old.write_text("old")
    with pytest.raises(KeyError), open_per_query(old) as written:
        written.add(pl.DataFrame({"ap": [0.5]}))
        raise KeyError
    assert old.read_text() == "old"
    with open_per_query(old) as written:
        written.add(pl.DataFrame({"ap": [0.5]}))
    assert old.read_text() == "ap\n0.5\n"


def test_a_folder_that_fills_up_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    mine = tmp_path / "scores" / "mine"
    with (
        pytest.raises(DataError, match="scores: cannot write: Directory not empty"),
        open_per_query(mine.parent) as written,
    ):
        written.add(pl.DataFrame({"ap": [0.5]}))
        mine.parent.mkdir()
        mine.write_text("")
    assert [path.name for path in tmp_path.iterdir()] == ["scores"] and mine.exists()


INTERRUPTED = """
import signal, sys
from pathlib import Path
from rankjury.core.progress import Progress
from rankjury.scale import evaluate

signal.signal(signal.SIGINT, signal.default_int_handler)
folder = Path(sys.argv[1])

def tell(what, done, of):
    if what == sys.argv[2]:
        print(what, flush=True)
        sys.stdin.read()

evaluate(folder / "gold", folder / "a", slices=folder / "types.parquet", per_query=folder / "out" / "scores",
         temp=folder / "temp", progress=Progress(tell))
"""


@pytest.mark.parametrize("when", ["Partitioning", "Resampling"])
def test_ctrl_c_leaves_nothing(study: Study, when: str) -> None:
    folder = study.gold[1].parent
    pl.DataFrame({"query_id": range(30), "type": ["x", "y", "z"] * 10}).write_parquet(folder / "types.parquet")
    for name in ("out", "temp"):
        (folder / name).mkdir(exist_ok=True)
    command = [sys.executable, "-c", INTERRUPTED, str(folder), when]
    with subprocess.Popen(command, cwd=ROOT, stdin=-1, stdout=-1, stderr=-1, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == f"{when}\n"
        assert list((folder / "out").iterdir()) != []
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == -signal.SIGINT
    assert list((folder / "out").iterdir()) == [] and list((folder / "temp").iterdir()) == []
