"""Rows that are finished, kept on disk until all are: what was interrupted goes on where it stopped."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rankjury.core.journal import lock_file
from rankjury.errors import DataError, UsageError
from rankjury.io.atomic import make_folder, write_text
from rankjury.retrieval.embedding.models import Singles

_MANIFEST, _ROWS = "manifest.json", "rows.f32"
_SCHEMA = "rankjury.parts/1"
_BYTES = 4


def folder_beside(output: Path) -> Path:
    """Where the rows of an output are kept: ``.NAME.npz.parts`` beside it."""
    return output.with_name(f".{output.name}.parts")


class KeptRows:
    """Vectors of 32 bits one after the other in a file, and a manifest that says of what they are."""

    def __init__(self, folder: Path, manifest: dict[str, Any], file: BinaryIO) -> None:
        self._folder = folder
        self._manifest = manifest
        self._file = file

    @property
    def dimensions(self) -> int | None:
        """How long the vectors are; None before the first."""
        found: int | None = self._manifest.get("dimensions")
        return found

    def cut(self, batch_size: int, of: int) -> int:
        """How many of the rows are there in whole batches; what is beyond them is dropped."""
        there = 0 if self.dimensions is None else self._file.seek(0, 2) // (self.dimensions * _BYTES)
        rows = min(there, of)
        rows -= rows % batch_size
        self._file.truncate(rows * (self.dimensions or 0) * _BYTES)
        self._file.seek(0, 2)
        return rows

    def add(self, vectors: Singles) -> None:
        """A batch; it is safe from the end of this process when this returns."""
        if self.dimensions is None:
            self._manifest["dimensions"] = int(vectors.shape[1])
            write_text(self._folder / _MANIFEST, json.dumps(self._manifest))
        try:
            self._file.write(np.ascontiguousarray(vectors, "<f4").data)
            self._file.flush()
        except OSError as error:
            raise _cannot(error, self._folder) from error

    def all(self) -> Singles:
        """All rows that were added."""
        self._file.seek(0)
        held = np.frombuffer(self._file.read(), "<f4").astype(np.float32, copy=False)
        return held.reshape(-1, self.dimensions or 1)


@contextmanager
def keeping(folder: Path, settings: Mapping[str, Any]) -> Iterator[KeptRows]:
    """The rows kept for these settings; those of others are thrown away. The folder goes when the block ends well."""
    manifest = {"schema": _SCHEMA, **settings}
    try:
        found = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        found = None
    size = found.get("dimensions", 1) if isinstance(found, dict) else None
    resumed = type(size) is int and size > 0 and {**found, "dimensions": 0} == {**manifest, "dimensions": 0}
    manifest = found if resumed else manifest
    make_folder(folder)
    try:
        opened = (folder / _ROWS).open("ab+")
    except OSError as error:
        raise _cannot(error, folder) from error
    with opened as file:
        if lock_file(file.fileno()) is False:
            raise UsageError("another run is making the same output", where=str(folder))
        try:
            if not resumed:
                file.truncate(0)
                write_text(folder / _MANIFEST, json.dumps(manifest))
            yield KeptRows(folder, manifest, file)
        except BaseException:
            if not file.seek(0, 2):
                shutil.rmtree(folder, ignore_errors=True)
            raise
    shutil.rmtree(folder, ignore_errors=True)


def _cannot(error: OSError, folder: Path) -> DataError:
    return DataError(f"cannot keep what is finished: {error.strerror or error}", where=str(folder))
