"""rankjury list vectors: what there is, with how it was made; damaged files are told and stop nothing."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rankjury.core.types import Vectors
from rankjury.io.vectors.arrays import write_vectors
from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure, check_width, put

RECORD = {"model": "wordllama", "text": ["title", "abstract"], "made": "2026-01-02T03:04:05Z"}


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    """A file of rankjury's, and one of somebody else's in a folder below."""
    held = Vectors(pl.Series("id", ["a", "b"]), np.eye(2, 3, dtype=np.float32), "given")
    write_vectors(Path("made.npz"), held, RECORD, dtype="float16")
    Path("data").mkdir()
    np.save("data/plain.npy", np.ones((1200, 4)))


def rows_of(text: str) -> dict[str, list[str]]:
    """The cells of each row by the file's name."""
    lines = [line.split("  ") for line in text.splitlines() if ".np" in line]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:] if cell.strip()] for cells in lines}


def test_it_fits_a_narrow_terminal(rankjury: Rankjury) -> None:
    check_width(rankjury("list", "vectors").out)


def test_all_below_the_current_folder(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    outcome = rankjury("list", "vectors")
    assert outcome.code == 0 and outcome.err == ""
    rows = rows_of(outcome.out)
    assert rows["data/plain.npy"] == ["1,200 × 4", "float64"]
    told = json.loads(rankjury("list", "vectors", "made.npz", "--json").out)["vectors"][0]
    size, dtype, model, text, unit, made, short = rows["made.npz"]
    assert (size, dtype, model, unit, made) == ("2 × 3", "float16", "wordllama", "yes", "2026-01-02")
    assert text == "title, abstract" and told["vectors_sha256"].startswith(short) and len(short) == 8


def test_as_json(rankjury: Rankjury) -> None:
    form = json.loads(rankjury("list", "vectors", ".", "data", "--json").out)
    assert form["schema"] == "rankjury.vectors-list/1"
    plain, made = form["vectors"]
    assert plain == {"file": "data/plain.npy", "schema": None, "count": 1200, "dimensions": 4, "dtype": "float64"}
    assert (
        made["file"] == "made.npz" and made["schema"] == "rankjury.vectors/1" and made["text"] == ["title", "abstract"]
    )


def test_only_the_folders_asked_for(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert list(rows_of(rankjury("list", "vectors", "data").out)) == ["data/plain.npy"]


def test_damaged_files_are_told(rankjury: Rankjury) -> None:
    put("bad.npz", "nothing")
    outcome = rankjury("list", "vectors")
    assert outcome.code == 0 and "made.npz" in outcome.out and "bad.npz" not in outcome.out
    assert len(outcome.warnings) == 1 and "bad.npz: cannot be read as .npz" in outcome.warnings[0]
    assert rankjury("list", "vectors", "-q").err == ""
    faults = [one for one in json.loads(rankjury("list", "vectors", "--json").out)["vectors"] if "fault" in one]
    assert [one["file"] for one in faults] == ["bad.npz"]


def test_where_there_are_none(rankjury: Rankjury) -> None:
    Path("empty").mkdir()
    put("empty/texts.csv", "id,vector\na,1\n")
    outcome = rankjury("list", "vectors", "empty")
    assert (outcome.code, outcome.out) == (0, "") and outcome.err.startswith("No vectors in empty")
    assert json.loads(rankjury("list", "vectors", "empty", "--json").out)["vectors"] == []
    check_failure(rankjury("list", "vectors", "nowhere"), 3, "nowhere: no such folder")
