"""What init looks at: our own vectors, and files that are damaged."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rankjury.core.types import Vectors
from rankjury.io.vectors.arrays import write_vectors
from rankjury.plan.folder_scan import scan_folder

CONTENTS = {
    "empty": b"",
    "magic": b"PAR1",
    "text": b"what\xff",
    "deep": b"[" * 3000,
    "surrogate": b'[{"id": "\\ud800", "title": "\\ud800", "x": ["\\ud800"]}]',
    "digits": b'[{"id": ' + b"9" * 5000 + b"}]",
    "types": b'[{"id": 1, "a": [1]}, {"id": "x", "a": {"b": 2}}, 3]',
    "zip": b"PK\x03\x04" + bytes(40),
    "numpy": b"\x93NUMPY\x01\0\x76\0{'descr': '<f8', 'shape': (" + b"(" * 99,
    "tensors": (1 << 40).to_bytes(8, "little") + b"{}",
    "no shapes": (15).to_bytes(8, "little") + b'{"a": {"b": 1}}',
    "quotes": b'query_id,item_id,score\nq,d,1\n""\n',
}
SUFFIXES = ("npy", "npz", "safetensors", "parquet", "json", "jsonl", "csv", "tsv", "txt", "trec")


@pytest.mark.parametrize("content", CONTENTS)
def test_damaged_files_are_left_aside(tmp_path: Path, content: str) -> None:
    for suffix in SUFFIXES:
        (tmp_path / f"queries.{suffix}").write_bytes(CONTENTS[content])
    (tmp_path / "ml-1m").mkdir()
    (tmp_path / "ml-1m" / "ratings.csv").write_bytes(CONTENTS[content])
    scan_folder(tmp_path)


def test_a_damaged_file_does_not_hide_another(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + bytes(20) + b"PAR1")
    (tmp_path / "qrels.txt").write_text("q 0 d 1\n")
    assert scan_folder(tmp_path).golds == ["qrels.txt"]


def test_our_own_vectors_are_named_by_their_file(tmp_path: Path) -> None:
    vectors = Vectors(["a", "b"], np.eye(2, dtype=np.float32))
    write_vectors(tmp_path / "v.npz", vectors, {}, dtype="float32")
    assert scan_folder(tmp_path).vectors == ["v.npz"]


def test_a_folder_of_parquet_with_nested_lists(tmp_path: Path) -> None:
    pl.DataFrame({"query_id": ["q1", "q2"], "tags": [[["a"]], [["b"]]]}).write_parquet(tmp_path / "t.parquet")
    scan_folder(tmp_path)
