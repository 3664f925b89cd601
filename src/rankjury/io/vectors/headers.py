"""What the headers of files tell of the matrices in them; the numbers themselves are not loaded."""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.errors import UsageError, guard_reading
from rankjury.io.jsonl import parse_json
from rankjury.io.parquet import scan
from rankjury.io.source import most_unpacked, plain_suffix, refuse_size

_TENSOR_TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I8": "int8", "U8": "uint8"}
ArrayHeader = tuple[tuple[int, ...], np.dtype[Any]]
"""Shape and type of an array."""


@dataclass(frozen=True)
class Header:
    """One matrix of a file; None where its header does not tell."""

    key: str | None
    count: int
    dimensions: int | None
    dtype: str


def read_headers(path: str | Path) -> list[Header]:
    """The matrices in an .npy, .npz, .parquet or .safetensors file, without ids and whatever else is there."""
    readers = {
        ".npy": _npy_headers,
        ".npz": _npz_headers,
        ".parquet": _parquet_headers,
        ".pq": _parquet_headers,
        ".safetensors": _tensor_headers,
    }
    reader = readers.get(plain_suffix(str(path)))
    if reader is None:
        raise UsageError(
            f"cannot tell from the name {Path(path).name!r} what it holds", expected=f"one of {', '.join(readers)}"
        )
    with guard_reading(str(path), plain_suffix(str(path))):
        return reader(Path(path))


def _npy_headers(path: Path) -> list[Header]:
    with path.open("rb") as file:
        return _matrix(None, *array_header(file))


def _npz_headers(path: Path) -> list[Header]:
    with zipfile.ZipFile(path) as archive:
        arrays = member_headers(archive)
    if are_single_vectors(arrays):
        (dimensions,), dtype = next(iter(arrays.values()))
        return [Header(None, len(arrays), dimensions, str(dtype))]
    return [one for key, header in arrays.items() for one in _matrix(key, *header)]


def member_headers(archive: zipfile.ZipFile) -> dict[str, ArrayHeader]:
    """Return the shape and type of each array of an .npz file by its name."""
    found = {}
    for name in archive.namelist():
        if name.endswith(".npy"):
            with archive.open(name) as file:
                found[name.removesuffix(".npy")] = array_header(file)
    return found


def are_single_vectors(arrays: Mapping[str, ArrayHeader]) -> bool:
    """Whether there are several arrays, each one row of numbers, as ``np.savez(path, **{id: vector})`` writes."""
    return len(arrays) > 1 and all(len(shape) == 1 and dtype.kind in "fiu" for shape, dtype in arrays.values())


def _matrix(key: str | None, shape: tuple[int, ...], dtype: np.dtype[Any]) -> list[Header]:
    return [Header(key, shape[0], shape[1], str(dtype))] if len(shape) == 2 and dtype.kind in "fiu" else []


def array_header(file: Any) -> ArrayHeader:
    """Return the shape and type of an array in NumPy's format; the numbers are not read."""
    readers = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
    major, _ = np.lib.format.read_magic(file)
    if major not in readers:
        raise ValueError(f"version {major} of NumPy's format")
    shape, _, dtype = readers[major](file)
    if any(length < 0 for length in shape):
        raise ValueError(f"found an array of shape {shape}")
    return shape, dtype


def read_array(file: Any, size: int) -> NDArray[Any]:
    """Return an array in NumPy's format of which there are ``size`` bytes; refuse one that is said to have more."""
    begins = file.tell()
    shape, dtype = array_header(file)
    if not dtype.hasobject and prod(shape) * dtype.itemsize > size:
        raise ValueError(f"an array of shape {shape} and type {dtype} is said to be in {size:,} bytes")
    file.seek(begins)
    return np.lib.format.read_array(file, allow_pickle=False)


def check_member(archive: zipfile.ZipFile, name: str, where: str) -> zipfile.ZipInfo:
    """Return the entry of a file in an .npz archive; refuse one that becomes too large when it is decompressed."""
    entry = archive.getinfo(name)
    most = most_unpacked(entry.compress_size)
    if entry.compress_type != zipfile.ZIP_STORED and entry.file_size > most:
        refuse_size(f"{where}:{name}", "zip", most)
    return entry


def _parquet_headers(path: Path) -> list[Header]:
    rows = scan(path, str(path))
    columns = {
        name: dtype
        for name, dtype in rows.collect_schema().items()
        if isinstance(dtype, pl.List | pl.Array) and dtype.inner.is_numeric()
    }
    if not columns:
        return []
    count = int(rows.select(pl.len()).collect().item())
    return [
        Header(name, count, dtype.size if isinstance(dtype, pl.Array) else None, str(dtype.inner).lower())
        for name, dtype in columns.items()
    ]


def _tensor_headers(path: Path) -> list[Header]:
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if not 2 <= size <= path.stat().st_size:
            raise ValueError(f"its length is said to be {size:,}")
        told = parse_json(file.read(size), str(path))
    return [
        Header(key, one["shape"][0], one["shape"][1], _TENSOR_TYPES.get(one["dtype"], one["dtype"]))
        for key, one in told.items()
        if key != "__metadata__" and len(one["shape"]) == 2
    ]
