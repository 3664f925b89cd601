"""Embedding in batches: each is looked at, what is finished is kept, and what was killed goes on."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankjury.core.progress import Progress
from rankjury.errors import DataError, UsageError
from rankjury.io.vectors import read_vectors
from rankjury.retrieval.embedding.embed import embed
from rankjury.retrieval.embedding.vector_files import open_row_cache
from tests.labeling.support import EXPECTED, Plain, corpus, into


@pytest.mark.parametrize("batch_size", [1, 3, 5, 10, 64])
def test_batches_make_no_difference(batch_size: int) -> None:
    model, told = Plain(), list[tuple[int, int]]()
    found = embed(
        corpus(), model, batch_size=batch_size, progress=Progress(lambda what, done, of: told.append((done, of)))
    )
    assert found.values.tolist() == EXPECTED and found.ids.to_list() == corpus().ids.to_list()
    assert found.values.dtype == np.float32
    assert [len(texts) for texts in model.calls][:-1] == [batch_size] * (len(model.calls) - 1)
    assert told[0] == (0, 10) and told[-1] == (10, 10) and len(told) == len(model.calls) + 1


def fail(call: int, found: Any) -> Any:
    if call == 2:
        raise ValueError("too hot")
    return found


def spoil(call: int, found: Any) -> Any:
    if call == 2:
        found[1, 2] = np.nan
    return found


FAULTS: list[tuple[Callable[[int, Any], Any], str]] = [
    (lambda call, found: found[:-1] if call == 2 else found, "found 3×3 for the texts of d4, d5, d6, d7"),
    (lambda call, found: found[:, :2] if call == 2 else found, "found 4×2 for the texts of d4"),
    (lambda call, found: found[0], "found 3 for the texts of d0"),
    (lambda call, found: 1.0, "a single number"),
    (lambda call, found: found[:, :0], "found 4×0"),
    (spoil, "NaN or infinite numbers in the vectors of d5;"),
    (lambda call, found: [*found.tolist()[:1], [1.0]], "failed at the texts of d0"),
    (fail, "failed at the texts of d4, d5, d6, d7: ValueError: too hot"),
]


@pytest.mark.parametrize(("change", "found"), FAULTS)
def test_a_batch_at_fault_is_named(change: Callable[[int, Any], Any], found: str) -> None:
    with pytest.raises(DataError) as caught:
        embed(corpus(), Plain(change=change), batch_size=4)
    assert found in str(caught.value) and "plain: " in str(caught.value)


def test_a_batch_of_none_is_refused() -> None:
    with pytest.raises(UsageError, match="a batch of 0"):
        embed(corpus(), Plain(), batch_size=0)


# --- going on -------------------------------------------------------------------------------------------------------


def parts(folder: Path) -> Path:
    return folder / ".v.npz.parts"


def test_what_was_interrupted_goes_on(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        into(tmp_path, Plain(stop_at=4))
    assert parts(tmp_path).is_dir() and not (tmp_path / "v.npz").exists()
    again = Plain()
    made = into(tmp_path, again)
    assert [text for texts in again.calls for text in texts] == corpus().texts.to_list()[6:]
    assert read_vectors(tmp_path / "v.npz").values.tolist() == EXPECTED and made.anew
    assert [path.name for path in tmp_path.iterdir()] == ["v.npz"]


def test_going_on_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    for name in ("whole", "parted"):
        (tmp_path / name).mkdir()
    into(tmp_path / "whole", Plain())
    with pytest.raises(KeyboardInterrupt):
        into(tmp_path / "parted", Plain(stop_at=3))
    into(tmp_path / "parted", Plain())
    assert (tmp_path / "whole/v.npz").read_bytes() == (tmp_path / "parted/v.npz").read_bytes()


def test_a_model_that_failed_goes_on_too_and_with_other_batches(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="too hot"):
        into(tmp_path, Plain(change=lambda call, found: fail(call - 2, found)))  # six texts are finished
    again = Plain()
    into(tmp_path, again, batch_size=4, dtype="float64")
    assert [len(texts) for texts in again.calls] == [4, 2], "whole batches of four are kept"
    assert read_vectors(tmp_path / "v.npz").values.tolist() == EXPECTED


@pytest.mark.parametrize(
    "other",
    [{"model": Plain("other")}, {"model": Plain(version="2")}, {"given": corpus(9)}, {"damage": "manifest.json"}],
)
def test_other_settings_start_anew(tmp_path: Path, other: dict[str, Any]) -> None:
    with pytest.raises(KeyboardInterrupt):
        into(tmp_path, Plain(stop_at=4))
    damaged = other.get("damage")
    if damaged:
        (parts(tmp_path) / damaged).write_text("{")
    model, given = other.get("model", Plain()), other.get("given", corpus())
    into(tmp_path, model, given)
    assert sum(map(len, model.calls)) == len(given)
    assert read_vectors(tmp_path / "v.npz").values.tolist() == EXPECTED[: len(given)]


def test_a_row_that_was_cut_short_is_made_again(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        into(tmp_path, Plain(stop_at=4))
    rows = parts(tmp_path) / "rows.f32"
    rows.write_bytes(rows.read_bytes()[:-5])
    again = Plain()
    into(tmp_path, again)
    assert sum(map(len, again.calls)) == 6
    assert read_vectors(tmp_path / "v.npz").values.tolist() == EXPECTED


def test_nothing_is_left_where_nothing_was_finished(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        into(tmp_path, Plain(stop_at=1))
    assert not list(tmp_path.iterdir())


def test_what_is_finished_outlives_a_choice_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot keep the first 4"):
        into(tmp_path, Plain(), truncate=4)
    again = Plain()
    into(tmp_path, again, truncate=2)
    assert again.calls == []
    assert read_vectors(tmp_path / "v.npz").values.tolist() == [row[:2] for row in EXPECTED]


def test_a_second_process_for_the_same_output_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("fcntl", reason="this system has no locks")
    with open_row_cache(tmp_path / "parts", {"a": 1}) as rows:
        rows.add(np.ones((2, 3), np.float32))
        with (
            pytest.raises(UsageError, match=r"parts: another process .*-o"),
            open_row_cache(tmp_path / "parts", {"a": 2}),
        ):
            pass
        assert rows.cut(1, 10) == 2 and rows.all().tolist() == [[1, 1, 1]] * 2
    assert not (tmp_path / "parts").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
import polars as pl
from rankjury.retrieval.embedding.corpus import Corpus
from rankjury.retrieval.embedding.models.function import FunctionModel
from rankjury.retrieval.embedding.vector_files import VectorOptions, embed_to_file

def encode(texts):
    with open("calls.txt", "a") as log:
        print(*texts, file=log)
    if sys.argv[1] == "die" and "t6" in texts:
        os.kill(os.getpid(), signal.SIGKILL)
    return [[float(text[1:]), 1.0] for text in texts]

names = [f"t{number}" for number in range(10)]
corpus = Corpus(pl.Series(names), pl.Series(names), ("t",))
embed_to_file(Path("v.npz"), corpus, FunctionModel("m:encode", encode), VectorOptions(), batch_size=2)
"""


def test_a_process_that_was_killed_goes_on(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(KILLED)

    def run(how: str) -> int:
        return subprocess.run([sys.executable, "run.py", how], cwd=tmp_path, timeout=120, check=False).returncode

    assert run("die") == -9
    assert not (tmp_path / "v.npz").exists()
    (tmp_path / "calls.txt").unlink()
    assert run("live") == 0
    assert (tmp_path / "calls.txt").read_text().split() == ["t6", "t7", "t8", "t9"]
    assert read_vectors(tmp_path / "v.npz").values[:, 0].tolist() == list(range(10))
