"""Vector files, written once and never changed: embeddings of a corpus, or variants of another file.

Finished batches are cached on disk next to the output until it is written, so that an interrupted call can resume.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os.path import exists
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from rankjury.core.hashing import hash_vectors
from rankjury.core.journal import lock_file
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.text import timestamp
from rankjury.core.types import Vectors
from rankjury.errors import DataError, UsageError
from rankjury.io.atomic import make_folder, write_text
from rankjury.io.vectors.arrays import check_output, write_vectors
from rankjury.io.vectors.quantize import normalised, vary
from rankjury.io.vectors.scan import read_metadata
from rankjury.retrieval.embedding.corpus import Corpus
from rankjury.retrieval.embedding.embed import BATCH_SIZE, BatchStore, embed
from rankjury.retrieval.embedding.models import Embedder, Float32Matrix
from rankjury.retrieval.embedding.models.function import FunctionModel

_MANIFEST, _ROWS = "manifest.json", "rows.f32"
_SCHEMA = "rankjury.parts/1"
_BYTES = 4


def cache_folder(output: Path) -> Path:
    """Return the folder of the row cache of an output: ``.NAME.npz.parts`` next to it."""
    return output.with_name(f".{output.name}.parts")


class RowCache(BatchStore):
    """Row cache on disk: 32-bit vectors in a file, and a manifest with their settings."""

    def __init__(self, folder: Path, manifest: dict[str, Any], file: BinaryIO) -> None:
        self._folder, self._manifest, self._file = folder, manifest, file

    @property
    def dimensions(self) -> int | None:
        return cast(int | None, self._manifest.get("dimensions"))

    def cut(self, batch_size: int, of: int) -> int:
        stored = 0 if self.dimensions is None else self._file.seek(0, 2) // (self.dimensions * _BYTES)
        rows = min(stored, of) // batch_size * batch_size
        self._file.truncate(rows * (self.dimensions or 0) * _BYTES)
        self._file.seek(0, 2)
        return rows

    def add(self, vectors: Float32Matrix) -> None:
        """Add a batch; it is on disk when this returns."""
        if self.dimensions is None:
            self._manifest["dimensions"] = int(vectors.shape[1])
            write_text(self._folder / _MANIFEST, json.dumps(self._manifest))
        try:
            self._file.write(np.ascontiguousarray(vectors, "<f4").data)
            self._file.flush()
        except OSError as error:
            raise _cannot(error, self._folder) from error

    def all(self) -> Float32Matrix:
        self._file.seek(0)
        numbers = np.frombuffer(self._file.read(), "<f4").astype(np.float32, copy=False)
        return numbers.reshape(-1, self.dimensions or 1)


@contextmanager
def open_row_cache(folder: Path, settings: Mapping[str, Any]) -> Iterator[RowCache]:
    """Open the row cache of these settings and drop rows of other settings; it is deleted when the block succeeds."""
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
            hint = "Wait for it to end, or choose another output with -o."
            raise UsageError("another process is writing the same output", where=str(folder), hint=hint)
        try:
            if not resumed:
                file.truncate(0)
                write_text(folder / _MANIFEST, json.dumps(manifest))
            yield RowCache(folder, manifest, file)
        except BaseException:
            if not file.seek(0, 2):
                shutil.rmtree(folder, ignore_errors=True)
            raise
    shutil.rmtree(folder, ignore_errors=True)


def _cannot(error: OSError, folder: Path) -> DataError:
    return DataError(f"cannot store finished batches: {error.strerror or error}", where=str(folder))


_OF_MODEL = {
    "model": "model",
    "model_version": "version of the model",
    "text": "text",
    "join": "joint",
    "corpus_sha256": "corpus",
}
_SETTINGS = {**_OF_MODEL, "of": "source", "normalise": "normalisation", "truncate": "truncation", "dtype": "dtype"}


@dataclass(frozen=True)
class VectorOptions:
    """Changes to the vectors before they are written, in this order."""

    normalise: bool = False
    truncate: int | None = None
    dtype: str | None = None

    def applied(self, vectors: Vectors) -> Vectors:
        if self.normalise:
            vectors = replace(vectors, values=normalised(vectors.values))
        return vary(vectors, truncate=self.truncate, dtype=self.dtype)


@dataclass(frozen=True)
class EmbeddedFile:
    """A vector file, and whether it was written now."""

    path: Path
    metadata: dict[str, Any]
    anew: bool
    zeros: tuple[str, ...] = ()
    """Ids of vectors that are all zeros."""


def embed_to_file(
    output: Path,
    corpus: Corpus,
    model: Embedder,
    choices: VectorOptions,
    *,
    batch_size: int = BATCH_SIZE,
    progress: Progress = NO_PROGRESS,
) -> EmbeddedFile:
    """Write the vectors of a corpus; an existing file of the same vectors is kept, another one is an error.

    Cached batches of another model or corpus, or of a function whose module was edited since, are dropped.
    """
    record = {
        "model": model.name,
        "model_version": model.version,
        "text": list(corpus.columns),
        "join": corpus.joint if len(corpus.columns) > 1 else None,
        "corpus_sha256": corpus.sha256,
        "normalise": choices.normalise,
        "truncate": choices.truncate,
    }
    dtype = choices.dtype or "float32"
    metadata = _existing_metadata(output, {**record, "dtype": dtype})
    if metadata is not None:
        return EmbeddedFile(output, metadata, anew=False)
    settings = {name: record[name] for name in ("model", "model_version", "corpus_sha256")}
    if isinstance(model, FunctionModel):
        settings["code"] = model.code  # even if its declared version is unchanged
    with open_row_cache(cache_folder(output), settings) as rows:
        vectors = embed(corpus, model, batch_size=batch_size, rows=rows, progress=progress)
        return _write(output, choices.applied(vectors), record, dtype)


def vary_to_file(
    output: Path, vectors: Vectors, choices: VectorOptions, *, source: Mapping[str, Any] | None = None
) -> EmbeddedFile:
    """Write a variant of vectors to a file; ``source`` is the metadata of the original."""
    if choices == VectorOptions():
        raise UsageError("no change requested", expected="--truncate, --dtype or --normalise")
    record = {
        **{name: (source or {}).get(name) for name in _OF_MODEL},
        "normalise": choices.normalise,
        "truncate": choices.truncate,
        "of": {"name": Path(vectors.source).name, "sha256": hash_vectors(vectors)},
    }
    dtype = choices.dtype or str(vectors.values.dtype)
    metadata = _existing_metadata(output, {**record, "dtype": dtype})
    if metadata:
        return EmbeddedFile(output, metadata, anew=False)
    return _write(output, choices.applied(vectors), record, dtype)


def _existing_metadata(output: Path, wanted: dict[str, Any]) -> dict[str, Any] | None:
    """Return the metadata of a file with these settings; None if there is no file, an error if it has others."""
    check_output(output)
    if not exists(output):
        return None
    found = read_metadata(output)
    hint = "Vector files are never overwritten: choose another name with -o."
    if found is None:
        raise UsageError("the file already exists, without a record of how it was made", where=str(output), hint=hint)
    changes = []
    for name, shown in _SETTINGS.items():
        values = found.get(name), wanted.get(name)
        # A source is compared by its content, not by its name.
        earlier, now = (value.get("sha256") if isinstance(value, dict) else value for value in values)
        if earlier != now:
            changes.append(f"{shown} {_short(values[0])}, now {_short(values[1])}")
    if changes:
        raise UsageError(
            f"the file already exists, made differently: {'; '.join(changes)}", where=str(output), hint=hint
        )
    return found


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return f"{value.get('name')} ({_short(value.get('sha256'))})"
    if isinstance(value, list):
        return ",".join(map(str, value))
    if value is None or isinstance(value, bool):
        return {None: "none", True: "on", False: "off"}[value]
    shown = str(value) if str(value).strip() else repr(value)
    return f"{shown[:8]}…" if len(shown) > 40 else shown


def _write(output: Path, vectors: Vectors, record: Mapping[str, Any], dtype: str) -> EmbeddedFile:
    metadata = write_vectors(output, vectors, {**record, "made": timestamp()}, dtype=dtype)
    zeros = np.flatnonzero(~vectors.values.any(axis=1))
    return EmbeddedFile(output, metadata, anew=True, zeros=tuple(vectors.ids.gather(zeros)))
