"""Embedding of a corpus by a model, batch by batch, each batch checked; and the lookup of models by name.

A name is one of the registry (``wordllama``), the folder of a sentence-transformers model, or ``module:function``.
Nothing is ever downloaded.
"""

from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl

from rankjury.core.importing import is_function_name
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Vectors, listed
from rankjury.errors import DataError, RankjuryError, UsageError
from rankjury.retrieval.embedding.corpus import Corpus
from rankjury.retrieval.embedding.models import MODELS, Embedder, Float32Matrix
from rankjury.retrieval.embedding.models.function import load_function_model
from rankjury.retrieval.embedding.models.sentence_transformers import SentenceTransformerModel

BATCH_SIZE = 64


def embed(
    corpus: Corpus,
    model: Embedder,
    *,
    batch_size: int = BATCH_SIZE,
    rows: "RowStore | None" = None,
    progress: Progress = NO_PROGRESS,
) -> Vectors:
    """Return a 32-bit vector for each text.

    ``rows`` stores finished batches, and may contain those of an earlier call:
    ``rankjury.retrieval.embedding.vector_files.open_row_cache``.
    """
    if batch_size < 1:
        raise UsageError(f"a batch of {batch_size} texts", expected="1 or more")
    kept = _InMemory() if rows is None else rows
    first = kept.cut(batch_size, len(corpus))
    progress.update("Embedding", first, len(corpus))
    for start in range(first, len(corpus), batch_size):
        part = slice(start, start + batch_size)
        ids = corpus.ids[part]
        try:
            found = model.embed(corpus.texts[part].to_list())
        except RankjuryError:
            raise
        except Exception as error:  # code of the user or of a library
            raise DataError(
                f"the model failed at the texts of {listed(ids)}: {type(error).__name__}: {error}",
                where=model.name,
                expected="a vector a text",
            ) from error
        kept.add(_checked(found, ids, model, kept.dimensions))
        progress.update("Embedding", min(start + batch_size, len(corpus)), len(corpus))
    return Vectors(corpus.ids, kept.all(), f"{corpus.source} ({model.name})")


class RowStore(Protocol):
    """Where batches go as they are finished."""

    @property
    def dimensions(self) -> int | None: ...

    def cut(self, batch_size: int, of: int) -> int: ...

    def add(self, vectors: Float32Matrix) -> None: ...

    def all(self) -> Float32Matrix: ...


class _InMemory:
    """Row store in memory."""

    dimensions: int | None = None

    def __init__(self) -> None:
        self._batches: list[Float32Matrix] = []

    def cut(self, batch_size: int, of: int) -> int:
        return 0

    def add(self, vectors: Float32Matrix) -> None:
        self.dimensions = int(vectors.shape[1])
        self._batches.append(vectors)

    def all(self) -> Float32Matrix:
        return np.concatenate(self._batches)


def _checked(found: Float32Matrix, ids: pl.Series, model: Embedder, usual: int | None) -> Float32Matrix:
    """Check that a batch has one finite vector per text, as long as those before."""
    expected = f"{len(ids):,} vectors of {usual:,} numbers" if usual else f"{len(ids):,} vectors"
    if found.ndim != 2 or len(found) != len(ids) or not found.shape[1] or found.shape[1] != (usual or found.shape[1]):
        shape = "×".join(map(str, found.shape)) or "a single number"
        raise DataError(f"found {shape} for the texts of {listed(ids)}", where=model.name, expected=expected)
    bad = ~np.isfinite(found).all(axis=1)
    if bad.any():
        raise DataError(
            f"NaN or infinite numbers in the vectors of {listed(ids.filter(pl.Series(bad)))}",
            where=model.name,
            expected="finite numbers",
        )
    return found


def _is_folder(name: str) -> bool:
    try:
        return bool(name) and Path(name).is_dir()
    except (OSError, ValueError):  # no name that a folder could have
        return False


def find_model(name: str) -> Embedder:
    """Return the model of that name; a folder with the name of a registered model is written ``./name``."""
    known = MODELS.find(name)
    if known is not None:
        return known()
    if _is_folder(name):
        return SentenceTransformerModel(Path(name))
    if is_function_name(name):
        return load_function_model(name)
    raise UsageError(
        f"no model is called {name!r}, and no folder is there by that name",
        expected=f"{', '.join(MODELS.names())}, the folder of a sentence-transformers model, or module:function",
        hint="rankjury downloads nothing: fetch the model first, and name its folder.",
    )
