"""Sources: gzip and zstd, recognized by their first bytes; limits on decompression; damaged streams."""

import gzip
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import zstandard

import rankjury.io.source
from rankjury.errors import DataError
from rankjury.io.formats import read, write
from rankjury.io.source import Source, gunzip, most_unpacked
from rankjury.io.vectors import read_vectors
from tests.io.support import COMPRESS, exact, put, read_rows

_N = 2000
CONTENT = {
    ".trec": "".join(f"q{n // 300} Q0 d{n} 1 {n / 7!r} tag\n" for n in range(_N)),
    ".csv": "query_id,item_id,score\n" + "".join(f"q{n // 300},d{n},{n / 7!r}\n" for n in range(_N)),
    ".tsv": "query_id\titem_id\tscore\n" + "".join(f"q{n // 300}\td{n}\t{n / 7!r}\n" for n in range(_N)),
    ".jsonl": "".join(f'{{"query_id": "q{n // 300}", "item_id": "d{n}", "score": {n / 7!r}}}\n' for n in range(_N)),
    ".json": "{"
    + ",\n".join(
        f'"q{first // 300}": {{' + ",\n".join(f'"d{n}": {n / 7!r}' for n in range(first, min(first + 300, _N))) + "}"
        for first in range(0, _N, 300)
    )
    + "}",
}
ROWS = exact([(f"q{n // 300}", f"d{n}", n / 7) for n in range(_N)])


@pytest.mark.parametrize("suffix", CONTENT)
@pytest.mark.parametrize("packed", [".gz", ".zst"])
def test_every_text_format_is_read_packed(tmp_path: Path, suffix: str, packed: str) -> None:
    assert read_rows(put(tmp_path, f"run{suffix}{packed}", CONTENT[suffix]), "run") == ROWS


@pytest.mark.parametrize("suffix", CONTENT)
@pytest.mark.parametrize("packed", [".gz", ".zst"])
def test_streams_of_several_parts_are_read_to_the_end(tmp_path: Path, suffix: str, packed: str) -> None:
    """As ``cat a.gz b.gz`` and parallel packers make them."""
    data = CONTENT[suffix].encode()
    middle = data.index(b"\n", len(data) // 2) + 1
    path = tmp_path / f"run{suffix}{packed}"
    path.write_bytes(COMPRESS[packed](data[:middle]) + COMPRESS[packed](data[middle:]))
    assert read_rows(path, "run") == ROWS


@pytest.mark.parametrize("name", ["run.txt", "run", "run.trec", "run.zst"])
def test_first_bytes_tell_gzip_whatever_the_suffix(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(CONTENT[".trec"].encode()))
    assert read_rows(tmp_path / name, "run") == ROWS


def test_a_plain_file_called_gz_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "run.trec.gz").write_text(CONTENT[".trec"])
    assert read_rows(tmp_path / "run.trec.gz", "run") == ROWS


@pytest.mark.parametrize("suffix", CONTENT)
@pytest.mark.parametrize("packed", [".gz", ".zst"])
@pytest.mark.parametrize("lost", [1, 8, 20, 0.5, 0.98])
def test_a_stream_that_is_cut_short_is_an_error(tmp_path: Path, suffix: str, packed: str, lost: float) -> None:
    whole = COMPRESS[packed](CONTENT[suffix].encode())
    path = tmp_path / f"run{suffix}{packed}"
    path.write_bytes(whole[: -int(lost if lost >= 1 else lost * len(whole))])
    with pytest.raises(DataError, match="damaged or truncated") as caught:
        read(path, "run")
    assert caught.value.where == str(path)
    assert {".gz": "gzip", ".zst": "zstd"}[packed] in caught.value.found


@pytest.mark.parametrize("suffix", CONTENT)
def test_a_wrong_checksum_is_an_error(tmp_path: Path, suffix: str) -> None:
    whole = gzip.compress(CONTENT[suffix].encode())
    path = tmp_path / f"run{suffix}.gz"
    path.write_bytes(whole[:-8] + bytes(4) + whole[-4:])
    with pytest.raises(DataError, match="damaged or truncated"):
        read(path, "run")


@pytest.mark.parametrize("suffix", CONTENT)
@pytest.mark.parametrize("packed", [".gz", ".zst"])
def test_damage_within_a_stream_is_an_error(tmp_path: Path, suffix: str, packed: str) -> None:
    pack = COMPRESS[".gz"] if packed == ".gz" else zstandard.ZstdCompressor(write_checksum=True).compress
    whole = bytearray(pack(CONTENT[suffix].encode()))
    middle = len(whole) // 2
    whole[middle : middle + 16] = bytes(byte ^ 0x5A for byte in whole[middle : middle + 16])
    path = tmp_path / f"run{suffix}{packed}"
    path.write_bytes(bytes(whole))
    with pytest.raises(DataError):
        read(path, "run")


@pytest.mark.parametrize(
    "suffix",
    [
        ".trec",
        ".json",
        ".jsonl",
        ".csv",
        ".tsv",
    ],
)
@pytest.mark.parametrize("packed", [".gz", ".zst"])
def test_a_byte_order_mark_within_is_dropped(tmp_path: Path, suffix: str, packed: str) -> None:
    assert read_rows(put(tmp_path, f"run{suffix}{packed}", "\ufeff" + CONTENT[suffix]), "run") == ROWS


@pytest.mark.parametrize("suffix", CONTENT)
def test_other_encodings_within_are_recognised(tmp_path: Path, suffix: str) -> None:
    data = CONTENT[suffix].replace("d1999", "dé").encode("latin-1")
    with pytest.raises(DataError, match="not UTF-8"):
        read(put(tmp_path, f"run{suffix}.gz", data), "run")


@pytest.mark.parametrize(
    ("suffix", "bad", "line"),
    [
        (".trec", "q0 Q0 d5 1 tag\n", _N + 1),
        (".csv", "q0,d5\n", _N + 2),
        (".jsonl", '{"query_id": \n', _N + 1),
    ],
)
@pytest.mark.parametrize("packed", [".gz", ".zst"])
def test_lines_are_counted_in_packed_files_too(tmp_path: Path, suffix: str, bad: str, line: int, packed: str) -> None:
    path = put(tmp_path, f"run{suffix}{packed}", CONTENT[suffix] + bad)
    with pytest.raises(DataError) as caught:
        read(path, "run")
    assert caught.value.where == f"{path}:{line}"


MB = 1_000_000


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rankjury.io.source, "_MIN_LIMIT", MB)


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


@pytest.mark.parametrize("name", ["v.npy", "v.npz"])
def test_vectors_are_neither_gold_nor_run(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    np.save(path, np.eye(2)) if name.endswith("npy") else np.savez(path, v=np.eye(2))
    for kind in ("gold", "run"):
        with pytest.raises(DataError, match="rankjury neighbours"):
            read(path, kind)


def test_the_judgments_of_a_beir_folder_are_suggested(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    for split in ("dev", "test"):
        put(tmp_path / "qrels", f"{split}.tsv", "query-id\tcorpus-id\tscore\nq\td\t1\n")
    for folder in (tmp_path, tmp_path / "qrels"):
        with pytest.raises(DataError, match=r"Did you mean .*qrels/test\.tsv"):
            Source.open(folder)
