"""Scan of vector files without loading their numbers: headers, metadata, listings, detection by content."""

import os
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from os.path import exists, isfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.errors import DataError, RankjuryError, UsageError, guard_reading
from rankjury.io.json import parse_json
from rankjury.io.parquet import read_schema, scan
from rankjury.io.source import Source, most_unpacked, plain_suffix, refuse_size

LISTED_SUFFIXES = (".npy", ".npz", ".parquet", ".pq", ".safetensors")
"""Binary formats only: text formats would have to be read to detect vectors."""
_TENSOR_TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I8": "int8", "U8": "uint8"}
ArrayHeader = tuple[tuple[int, ...], np.dtype[Any]]
"""Shape and type of an array."""


@dataclass(frozen=True)
class Header:
    """Header of one matrix of a file; unknown values are None."""

    key: str | None
    count: int
    dimensions: int | None
    dtype: str


def read_headers(path: str | Path) -> list[Header]:
    """Return the matrices in an .npy, .npz, .parquet or .safetensors file; ids and other contents are omitted."""
    suffix = plain_suffix(str(path))
    if suffix not in LISTED_SUFFIXES:
        found = f"unknown vector format of {Path(path).name!r}"
        raise UsageError(found, expected=f"one of {', '.join(LISTED_SUFFIXES)}")
    with guard_reading(str(path), suffix):
        if suffix == ".npz":
            return _npz_headers(Path(path))
        if suffix in (".parquet", ".pq"):
            return _parquet_headers(Path(path))
        with Path(path).open("rb") as file:
            return _matrix(None, *array_header(file)) if suffix == ".npy" else _tensor_headers(file, str(path))


def _npz_headers(path: Path) -> list[Header]:
    with zipfile.ZipFile(path) as archive:
        arrays = member_headers(archive)
    if are_single_vectors(arrays):
        (dimensions,), dtype = next(iter(arrays.values()))
        return [Header(None, len(arrays), dimensions, str(dtype))]
    return [matrix for key, header in arrays.items() for matrix in _matrix(key, *header)]


def member_headers(archive: zipfile.ZipFile) -> dict[str, ArrayHeader]:
    """Return the shape and type of each array of an .npz file, by name."""
    headers = {}
    for name in archive.namelist():
        if name.endswith(".npy"):
            with archive.open(name) as file:
                headers[name.removesuffix(".npy")] = array_header(file)
    return headers


def are_single_vectors(arrays: Mapping[str, ArrayHeader]) -> bool:
    """Return whether there are several arrays, all single vectors, as from ``np.savez(path, **{id: vector})``."""
    return len(arrays) > 1 and all(len(shape) == 1 and dtype.kind in "fiu" for shape, dtype in arrays.values())


def _matrix(key: str | None, shape: tuple[int, ...], dtype: np.dtype[Any]) -> list[Header]:
    return [Header(key, shape[0], shape[1], str(dtype))] if len(shape) == 2 and dtype.kind in "fiu" else []


def array_header(file: Any) -> ArrayHeader:
    """Return the shape and type of an array in NumPy's format, without reading the numbers."""
    readers = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
    major, _ = np.lib.format.read_magic(file)
    if major not in readers:
        raise ValueError(f"version {major} of NumPy's format")
    shape, _, dtype = readers[major](file)
    if any(length < 0 for length in shape):
        raise ValueError(f"found an array of shape {shape}")
    return shape, dtype


def read_array(file: Any, size: int) -> NDArray[Any]:
    """Read an array in NumPy's format from ``size`` bytes; refuse an array that declares more."""
    begins = file.tell()
    shape, dtype = array_header(file)
    if not dtype.hasobject and prod(shape) * dtype.itemsize > size:
        raise ValueError(f"an array of shape {shape} and type {dtype} does not fit into {size:,} bytes")
    file.seek(begins)
    return np.lib.format.read_array(file, allow_pickle=False)


def check_member(archive: zipfile.ZipFile, name: str, where: str) -> zipfile.ZipInfo:
    """Return the entry of a file in an .npz archive; refuse one that is too large when decompressed."""
    entry = archive.getinfo(name)
    most = most_unpacked(entry.compress_size)
    if entry.compress_type != zipfile.ZIP_STORED and entry.file_size > most:
        refuse_size(f"{where}:{name}", "zip", most)
    return entry


def list_columns(schema: Mapping[str, pl.DataType]) -> dict[str, pl.List | pl.Array]:
    """Return the columns of a table whose cells are lists of numbers."""
    return {
        name: dtype
        for name, dtype in schema.items()
        if isinstance(dtype, pl.List | pl.Array) and dtype.inner.is_numeric()
    }


def _parquet_headers(path: Path) -> list[Header]:
    rows = scan(path, str(path))
    columns = list_columns(rows.collect_schema())
    count = int(rows.select(pl.len()).collect().item()) if columns else 0
    return [
        Header(name, count, dtype.size if isinstance(dtype, pl.Array) else None, str(dtype.inner).lower())
        for name, dtype in columns.items()
    ]


def _tensor_headers(file: BinaryIO, where: str) -> list[Header]:
    size = int.from_bytes(file.read(8), "little")
    if not 2 <= size <= os.fstat(file.fileno()).st_size:
        raise ValueError(f"its header declares a length of {size:,}")
    tensors = parse_json(file.read(size), where)
    return [
        Header(key, tensor["shape"][0], tensor["shape"][1], _TENSOR_TYPES.get(tensor["dtype"], tensor["dtype"]))
        for key, tensor in tensors.items()
        if key != "__metadata__" and len(tensor["shape"]) == 2
    ]


SCHEMA = "rankjury.vectors/1"
METADATA_NAME = "rankjury.json"
VALUES_NAME = "vectors"


def read_metadata(path: str | Path) -> dict[str, Any] | None:
    """Return rankjury's record of how the vectors were made; None if the file has none."""
    if plain_suffix(str(path)) != ".npz":
        return None
    with guard_reading(str(path), ".npz"), zipfile.ZipFile(path) as archive:
        if METADATA_NAME not in archive.namelist():
            return None
        return read_record(archive, str(path))


def read_record(archive: zipfile.ZipFile, where: str) -> dict[str, Any]:
    """Return rankjury's record in an .npz file; it must be of a known version."""
    content = archive.read(check_member(archive, METADATA_NAME, where))
    place = f"{where}:{METADATA_NAME}"
    record = parse_json(content, place, expected=SCHEMA)
    schema = record.get("schema") if isinstance(record, dict) else None
    if schema != SCHEMA:
        raise DataError(
            f"found the schema {schema!r}",
            where=place,
            expected=SCHEMA,
            hint="Is rankjury too old?",
        )
    sizes = [record.get(name) for name in ("count", "dimensions")]
    scale_type = type(record.get("scale"))
    if any(type(size) is not int or size < 1 for size in sizes) or scale_type not in (int, float, type(None)):
        raise DataError("invalid count, dimensions or scale", where=place, expected="positive numbers")
    return dict(record)


@dataclass(frozen=True)
class VectorFile:
    """One matrix of a file: its header and metadata, or the fault of a damaged file."""

    file: str
    header: Header | None = None
    metadata: dict[str, Any] | None = None
    fault: str | None = None


def list_vectors(folders: Iterable[str]) -> list[VectorFile]:
    """Return all matrices below the folders, sorted by path; files may be given too. Hidden files are omitted."""
    paths: set[Path] = set()
    for start in map(Path, folders):
        if not exists(start):
            raise DataError("no such folder", where=str(start))
        if isfile(start):
            paths.add(start)
        for folder, inner, names in os.walk(start):
            inner[:] = [name for name in inner if not name.startswith(".")]
            shown = (Path(folder, name) for name in names if not name.startswith("."))
            paths.update(path for path in shown if path.suffix.lower() in LISTED_SUFFIXES)
    return [file for path in sorted(paths) for file in _matrices_of(path)]


def _matrices_of(path: Path) -> list[VectorFile]:
    try:
        metadata = read_metadata(path)
        headers = read_headers(path)
    except RankjuryError as error:
        return [VectorFile(str(path), fault=str(error))]
    if metadata is not None:
        header = next((header for header in headers if header.key == VALUES_NAME), None)
        return [VectorFile(str(path), header, metadata)]
    several = len(headers) > 1
    return [VectorFile(f"{path}:{header.key}" if several else str(path), header) for header in headers]


_ALWAYS = (".npy", ".npz", ".safetensors", ".pt", ".pth", ".pkl", ".pickle", ".joblib")
"""Includes pickles: they are refused as vectors, which they usually are."""


def holds_vectors(path: str | Path) -> bool:
    """Return whether this existing file contains vectors."""
    suffix = plain_suffix(str(path))
    if suffix in _ALWAYS:
        return True
    if suffix in (".parquet", ".pq"):
        try:
            return bool(list_columns(read_schema(Path(path), str(path))))
        except DataError:
            return False
    if suffix not in (".json", ".jsonl", ".ndjson"):
        return False
    source = Source.open(path)
    if suffix == ".json":
        text = source.text()
    else:  # the first line with a long vector may be longer than the head
        head = source.head_lines
        text = next(iter(head if len(head) > 1 else (line for line in source.lines() if line.strip())), "")
    try:
        tree: Any = parse_json(text, "")
    except DataError:
        return False
    if suffix == ".json" and isinstance(tree, dict):
        first = next(iter(tree.values()), None)
        return _is_vector(next(iter(first.values()), None) if isinstance(first, dict) else first)  # spaces by name
    if suffix == ".json" and isinstance(tree, list):
        tree = next(iter(tree), None)
    return isinstance(tree, dict) and any(map(_is_vector, tree.values()))


def _is_vector(value: Any) -> bool:
    """Return whether this is a list of numbers, not all whole: a list of whole numbers is a list of ids."""
    types = list(map(type, value)) if isinstance(value, list) else []
    return len(types) >= 2 and float in types and all(kind in (int, float) for kind in types)
