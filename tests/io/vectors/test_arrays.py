"""Vectors that rankjury writes: read by every command, the same bytes for the same input; contents of headers."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import save_file

from rankjury.core.hashing import hash_vectors
from rankjury.core.types import Vectors
from rankjury.errors import DataError, RankjuryError, UsageError
from rankjury.io.vectors import read_vectors
from rankjury.io.vectors.arrays import write_vectors
from rankjury.io.vectors.quantize import DTYPES, vary
from rankjury.io.vectors.scan import Header, list_vectors, read_headers, read_metadata

IDS = ["a", "é", "c d"]
VALUES = np.random.default_rng(1).normal(size=(3, 10)).astype(np.float32)
VECTORS = Vectors(pl.Series("id", IDS), VALUES, "given")
RECORD = {"model": "m", "text": ["title"], "made": "2026-01-02T03:04:05Z"}


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_written_is_read_as_the_variant(tmp_path: Path, dtype: str) -> None:
    path = tmp_path / "v.npz"
    variant = vary(VECTORS, dtype=dtype)
    told = write_vectors(path, variant, RECORD, dtype=dtype)
    found = read_vectors(path)
    assert found.ids.to_list() == IDS
    assert found.values.dtype == variant.values.dtype and found.values.tobytes() == variant.values.tobytes()
    assert read_metadata(path) == told
    assert hash_vectors(found) == told["vectors_sha256"]
    assert read_vectors(f"{path}:vectors").values.tobytes() == found.values.tobytes()


@pytest.mark.parametrize(("dtype", "stored", "width"), [("int8", "int8", 10), ("binary", "uint8", 2)])
def test_codes_are_what_numpy_finds(tmp_path: Path, dtype: str, stored: str, width: int) -> None:
    path = tmp_path / "v.npz"
    write_vectors(path, VECTORS, RECORD, dtype=dtype)
    with np.load(path) as held:
        assert held["vectors"].dtype == stored and held["vectors"].shape == (3, width)
        assert held["ids"].tolist() == IDS


def test_the_metadata_says_what_the_vectors_are(tmp_path: Path) -> None:
    told = write_vectors(tmp_path / "v.npz", VECTORS, RECORD, dtype="int8")
    assert told["schema"] == "rankjury.vectors/1" and told["model"] == "m" and told["text"] == ["title"]
    assert (told["count"], told["dimensions"], told["dtype"], told["normalised"]) == (3, 10, "int8", False)
    assert told["scale"] == pytest.approx(np.abs(VALUES).max() / 127, rel=1e-4)
    unit = Vectors(VECTORS.ids, np.eye(3, dtype=np.float32), "unit")
    told = write_vectors(tmp_path / "u.npz", unit, RECORD, dtype="float32")
    assert told["normalised"] is True and "scale" not in told


def test_the_same_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        write_vectors(tmp_path / name, VECTORS, RECORD, dtype="float16")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "b.npz"]


def test_vectors_without_ids_stay_so(tmp_path: Path) -> None:
    numbered = Vectors(pl.Series("id", ["0", "1", "2"]), VALUES, "a.npy", numbered=True)
    write_vectors(tmp_path / "v.npz", numbered, RECORD, dtype="float32")
    assert read_vectors(tmp_path / "v.npz").numbered
    (tmp_path / "ids.txt").write_text("x\ny\nz\n")
    assert read_vectors(tmp_path / "v.npz").ids.to_list() == ["x", "y", "z"]


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"ends in \.npz"):
        write_vectors(tmp_path / "v.npy", VECTORS, RECORD, dtype="float32")
    with pytest.raises(DataError, match="zero byte"):
        write_vectors(
            tmp_path / "v.npz", Vectors(pl.Series(["a", "b", "c\0"]), VALUES, "given"), RECORD, dtype="float32"
        )
    assert not list(tmp_path.iterdir())


def test_members_that_are_no_arrays_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    np.savez(path, ids=np.array(IDS), space=VALUES)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("README.md", "notes")
    assert read_vectors(path).values.tolist() == VALUES.tolist()
    assert read_metadata(path) is None


def with_record(path: Path, **changes: Any) -> Path:
    """A file whose record was changed behind rankjury's back."""
    write_vectors(path, VECTORS, RECORD, dtype="int8")
    with zipfile.ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    held["rankjury.json"] = json.dumps({**json.loads(held["rankjury.json"]), **changes}).encode()
    if "content" in changes:
        held["rankjury.json"] = changes["content"].encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in held.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"schema": "rankjury.vectors/9"}, "rankjury.vectors/9"),
        ({"content": "{"}, "not JSON"),
        ({"content": "[1]"}, "schema None"),
        ({"count": 4}, "4 vectors of 10 numbers as int8"),
        ({"dimensions": 11}, "11 numbers"),
        ({"dimensions": "x"}, "positive numbers"),
        ({"dtype": "float32"}, "as float32"),
        ({"dtype": "binary"}, "as binary"),
        ({"dtype": None}, "as None"),
        ({"scale": "1"}, "positive numbers"),
    ],
)
def test_a_record_that_does_not_fit_is_refused(tmp_path: Path, changes: dict[str, Any], found: str) -> None:
    with pytest.raises(DataError, match=found.replace("(", r"\(")):
        read_vectors(with_record(tmp_path / "v.npz", **changes))


# --- what headers tell ----------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / "a.npy", VALUES.astype(np.float16))
    np.save(tmp_path / "ids.npy", np.array(IDS))
    np.savez(tmp_path / "b.npz", ids=np.array(IDS), one=VALUES, two=VALUES[:, :4].astype(np.float64))
    pl.DataFrame({"id": IDS, "v": pl.Series(VALUES.tolist(), dtype=pl.Array(pl.Float32, 10))}).write_parquet(
        tmp_path / "c.parquet"
    )
    pl.DataFrame({"id": IDS, "v": VALUES.tolist(), "n": [1, 2, 3]}).write_parquet(tmp_path / "d.pq")
    pl.DataFrame({"id": IDS, "n": [1, 2, 3]}).write_parquet(tmp_path / "no.parquet")
    save_file({"w": VALUES, "bias": VALUES[0]}, tmp_path / "e.safetensors", {"ids": json.dumps(IDS)})
    return tmp_path


@pytest.mark.parametrize(
    ("name", "headers"),
    [
        ("a.npy", [Header(None, 3, 10, "float16")]),
        ("ids.npy", []),
        ("b.npz", [Header("one", 3, 10, "float32"), Header("two", 3, 4, "float64")]),
        ("c.parquet", [Header("v", 3, 10, "float32")]),
        ("d.pq", [Header("v", 3, None, "float64")]),
        ("no.parquet", []),
        ("e.safetensors", [Header("w", 3, 10, "float32")]),
    ],
)
def test_headers_of_any_file(folder: Path, name: str, headers: list[Header]) -> None:
    assert read_headers(folder / name) == headers
    assert read_metadata(folder / name) is None


@pytest.mark.parametrize("name", ["a.npy", "b.npz", "c.parquet", "e.safetensors"])
@pytest.mark.parametrize("kept", [0, 5, 30])
def test_damaged_files_are_errors_that_name_them(folder: Path, name: str, kept: int) -> None:
    path = folder / name
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match=name):
        read_headers(path)


def test_headers_of_what_is_not_there_or_no_vectors(tmp_path: Path) -> None:
    for name, found in (("a.npy", "no such file"), ("a.csv", "unknown vector format")):
        with pytest.raises(RankjuryError, match=found):
            read_headers(tmp_path / name)


def test_no_number_is_loaded_to_read_a_record(tmp_path: Path) -> None:
    """The arrays may be damaged: the record is still read."""
    path = tmp_path / "v.npz"
    told = write_vectors(path, VECTORS, RECORD, dtype="float32")
    path.write_bytes(path.read_bytes().replace(VALUES.tobytes(), bytes(VALUES.nbytes)))
    assert read_metadata(path) == told
    with pytest.raises(DataError):
        read_vectors(path)


def test_all_files_below_are_listed(folder: Path) -> None:
    for name in (".hidden", "deep/er"):
        (folder / name).mkdir(parents=True)
        write_vectors(folder / name / "made.npz", VECTORS, RECORD, dtype="binary")
    (folder / "bad.npy").write_bytes(b"nothing")
    (folder / "texts.jsonl").write_text("{}")
    found = {one.file.removeprefix(f"{folder}/"): one for one in list_vectors([str(folder), str(folder / "deep")])}
    names = "a.npy b.npz:one b.npz:two bad.npy c.parquet d.pq deep/er/made.npz e.safetensors"
    assert list(found) == names.split()
    assert found["bad.npy"].fault and found["a.npy"].fault is None
    made = found["deep/er/made.npz"].metadata
    assert made and made["dtype"] == "binary" and found["a.npy"].metadata is None
    assert [one.file for one in list_vectors([str(folder / "a.npy")])] == [str(folder / "a.npy")]
    with pytest.raises(DataError, match="no such folder"):
        list_vectors([str(folder / "nowhere")])


def test_an_array_without_a_name_in_an_archive_of_bytes(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.npy", b"nothing")
    (tmp_path / "v.npz").write_bytes(buffer.getvalue())
    with pytest.raises(DataError, match=r"v\.npz"):
        read_headers(tmp_path / "v.npz")
