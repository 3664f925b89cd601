"""What vectors there are in a folder: every file that may hold some, with what it says of itself."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os.path import exists, isfile
from pathlib import Path
from typing import Any

from rankjury.errors import DataError, RankjuryError
from rankjury.io.vectors.headers import Header, read_headers
from rankjury.io.vectors.metadata import VALUES_NAME, read_metadata

LISTED_SUFFIXES = (".npy", ".npz", ".parquet", ".pq", ".safetensors")
"""Of binary files only: to tell vectors in texts, they would have to be read."""


@dataclass(frozen=True)
class Listed:
    """One matrix of a file: what its metadata says, or its header; what is wrong with the file where it is damaged."""

    file: str
    header: Header | None = None
    metadata: dict[str, Any] | None = None
    fault: str | None = None


def list_vectors(folders: Iterable[str]) -> list[Listed]:
    """All below the folders (files are taken as they are), by path; hidden files and folders are left aside."""
    paths = {path for folder in folders for path in _below(Path(folder))}
    return [one for path in sorted(paths) for one in _held_by(path)]


def _below(start: Path) -> Iterator[Path]:
    if not exists(start):
        raise DataError("no such folder", where=str(start))
    if isfile(start):
        yield start
    for folder, inner, names in os.walk(start):
        inner[:] = [name for name in inner if not name.startswith(".")]
        shown = (Path(folder, name) for name in names if not name.startswith("."))
        yield from (path for path in shown if path.suffix.lower() in LISTED_SUFFIXES)


def _held_by(path: Path) -> list[Listed]:
    try:
        metadata = read_metadata(path)
        headers = read_headers(path)
    except RankjuryError as error:
        return [Listed(str(path), fault=str(error))]
    if metadata is not None:
        return [Listed(str(path), next((one for one in headers if one.key == VALUES_NAME), None), metadata)]
    several = len(headers) > 1
    return [Listed(f"{path}:{one.key}" if several else str(path), one) for one in headers]
