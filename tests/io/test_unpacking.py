"""Decompression has a limit, which valid files do not reach."""

import gzip
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankjury.io.source
from rankjury.errors import DataError
from rankjury.io.formats import read, write
from rankjury.io.source import Source, gunzip, most_unpacked
from rankjury.io.vectors import read_vectors

MB = 1_000_000


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rankjury.io.source, "_ALWAYS_UNPACKED", MB)


def test_the_limit() -> None:
    assert most_unpacked(10) == most_unpacked(MB) == 256 * MB
    assert most_unpacked(10 * MB) == 1000 * MB or most_unpacked(10 * MB) >= 256 * MB
    assert most_unpacked(10**15) < 10**15


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize("line", [b"0" * 1000, b"q1 Q0 d1 1 1.0 t\n" * 50])
def test_a_gzip_bomb_is_refused(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "run.trec.gz"
    path.write_bytes(gzip.compress(line * 5000))
    with pytest.raises(DataError, match="decompress"):
        read(path, "run")
    with pytest.raises(DataError, match="decompress"):
        Source.open(path).text()
    with pytest.raises(DataError, match="decompress"):
        Source.open(path).lines()


@pytest.mark.usefixtures("small_limit")
def test_members_count_together() -> None:
    with pytest.raises(DataError, match="decompress"):
        gunzip(gzip.compress(b"0" * (MB // 2)) * 3, "a.gz")


@pytest.mark.usefixtures("small_limit")
def test_a_zstd_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.csv.zst"
    rows = pl.DataFrame({"query_id": ["q"] * 500_000, "item_id": ["d"] * 500_000, "score": [1.0] * 500_000})
    rows.write_csv(path, compression="zstd", check_extension=False)
    with pytest.raises(DataError, match="decompress"):
        read(path, "run")


@pytest.mark.usefixtures("small_limit")
def test_an_npz_bomb_is_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "v.npz", vectors=np.zeros((10_000, 200)))
    with pytest.raises(DataError, match="decompress"):
        read_vectors(tmp_path / "v.npz")


@pytest.mark.parametrize("suffix", ["trec.gz", "trec.zst", "csv.gz", "csv.zst", "jsonl.gz", "json.zst"])
def test_runs_that_compress_well_are_read(tmp_path: Path, suffix: str) -> None:
    rows = pl.DataFrame(
        {
            "query_id": [f"q{n // 1000}" for n in range(20_000)],
            "item_id": [f"d{n % 1000}" for n in range(20_000)],
            "score": [float(1000 - n % 1000) for n in range(20_000)],
        }
    )
    path = tmp_path / f"run.{suffix}"
    write(rows, path, "run")
    assert read(path, "run").select(rows.columns).equals(rows)


def test_several_members_and_padding_are_read() -> None:
    assert gunzip(gzip.compress(b"a") + gzip.compress(b"b") + bytes(8), "a.gz") == b"ab"


PACKED = gzip.compress(b"q 0 d 1\n" * 99, mtime=0)
DAMAGED = {
    "cut": PACKED[:-9],
    "more": PACKED + b"more",
    "zeros": b"\x1f\x8b" + bytes(30),
    "flipped": PACKED[:12] + b"\xff\0\xff" + PACKED[15:],
    "sum": PACKED[:-8] + bytes(8),
    "zstd magic": b"\x28\xb5\x2f\xfd",
    "zstd": b"\x28\xb5\x2f\xfd" + bytes(range(99)),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_damaged_streams_are_errors_of_the_data(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "gold").write_bytes(content)
    with pytest.raises(DataError, match="gold"):
        read(tmp_path / "gold", "gold")


def test_an_npz_member_that_declares_more_than_it_has(tmp_path: Path) -> None:
    header = (
        np.lib.format.magic(1, 0)
        + b"\x76\0"
        + b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 99), }"
    )
    with zipfile.ZipFile(tmp_path / "v.npz", "w") as archive:
        archive.writestr("vectors.npy", header.ljust(127) + b"\n" + bytes(80))
    with pytest.raises(DataError, match=r"v\.npz"):
        read_vectors(tmp_path / "v.npz")
