"""karat vectors: what there is, with how it was made; damaged files are told and stop nothing."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from karat.formats.vectors.writing import write_vectors
from karat.types import Vectors

from .conftest import Karat
from .support import check_failure, check_width, put

RECORD = {"model": "wordllama", "text": ["title", "abstract"], "made": "2026-01-02T03:04:05Z"}


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    """A file of karat's, and one of somebody else's in a folder below."""
    held = Vectors(pl.Series("id", ["a", "b"]), np.eye(2, 3, dtype=np.float32), "given")
    write_vectors(Path("made.npz"), held, RECORD, dtype="float16")
    Path("data").mkdir()
    np.save("data/plain.npy", np.ones((1200, 4)))


def rows_of(text: str) -> dict[str, list[str]]:
    """The cells of each row by the file's name."""
    lines = [line.split("  ") for line in text.splitlines() if ".np" in line]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:] if cell.strip()] for cells in lines}


def test_it_fits_a_narrow_terminal(karat: Karat) -> None:
    check_width(karat("vectors").out)


def test_all_below_the_current_folder(karat: Karat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    outcome = karat("vectors")
    assert outcome.code == 0 and outcome.err == ""
    rows = rows_of(outcome.out)
    assert rows["data/plain.npy"] == ["1,200 × 4", "float64"]
    told = json.loads(karat("vectors", "made.npz", "--json").out)["vectors"][0]
    size, dtype, model, text, unit, made, short = rows["made.npz"]
    assert (size, dtype, model, unit, made) == ("2 × 3", "float16", "wordllama", "yes", "2026-01-02")
    assert text == "title, abstract" and told["vectors_sha256"].startswith(short) and len(short) == 8


def test_as_json(karat: Karat) -> None:
    form = json.loads(karat("vectors", ".", "data", "--json").out)
    assert form["schema"] == "karat.vectors-list/1"
    plain, made = form["vectors"]
    assert plain == {"file": "data/plain.npy", "schema": None, "count": 1200, "dimensions": 4, "dtype": "float64"}
    assert made["file"] == "made.npz" and made["schema"] == "karat.vectors/1" and made["text"] == ["title", "abstract"]


def test_only_the_folders_asked_for(karat: Karat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert list(rows_of(karat("vectors", "data").out)) == ["data/plain.npy"]


def test_damaged_files_are_told(karat: Karat) -> None:
    put("bad.npz", "nothing")
    outcome = karat("vectors")
    assert outcome.code == 0 and "made.npz" in outcome.out and "bad.npz" not in outcome.out
    assert len(outcome.warnings) == 1 and "bad.npz: cannot be read as .npz" in outcome.warnings[0]
    assert karat("vectors", "-q").err == ""
    faults = [one for one in json.loads(karat("vectors", "--json").out)["vectors"] if "fault" in one]
    assert [one["file"] for one in faults] == ["bad.npz"]


def test_where_there_are_none(karat: Karat) -> None:
    Path("empty").mkdir()
    put("empty/texts.csv", "id,vector\na,1\n")
    outcome = karat("vectors", "empty")
    assert (outcome.code, outcome.out) == (0, "") and outcome.err.startswith("No vectors in empty")
    assert json.loads(karat("vectors", "empty", "--json").out)["vectors"] == []
    check_failure(karat("vectors", "nowhere"), 3, "nowhere: no such folder")
