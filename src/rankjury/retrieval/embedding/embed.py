"""Embedding of a corpus by a model, batch by batch, each batch checked; and the lookup of models by name.

A name is registered (``wordllama``), the folder of a sentence-transformers model, or ``module:function``.
Nothing is ever downloaded.
"""

from os.path import isdir
from pathlib import Path

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
    rows: "BatchStore | None" = None,
    progress: Progress = NO_PROGRESS,
) -> Vectors:
    """Return a 32-bit vector for each text.

    ``rows`` stores finished batches, and may contain those of an earlier call:
    ``rankjury.retrieval.embedding.vector_files.open_row_cache``.
    """
    if batch_size < 1:
        raise UsageError(f"a batch of {batch_size} texts", expected="1 or more")
    store = BatchStore() if rows is None else rows
    first = store.cut(batch_size, len(corpus))
    progress.update("Embedding", first, len(corpus))
    for start in range(first, len(corpus), batch_size):
        part = slice(start, start + batch_size)
        ids = corpus.ids[part]
        try:
            found = model.embed(corpus.texts[part].to_list())
        except RankjuryError:
            raise
        except Exception as error:  # code of the user or of a library
            problem = f"the model failed at the texts of {listed(ids)}: {type(error).__name__}: {error}"
            raise DataError(problem, where=model.name, expected="one vector per text") from error
        _check_batch(found, ids, model, store.dimensions)
        store.add(found)
        progress.update("Embedding", min(start + batch_size, len(corpus)), len(corpus))
    return Vectors(corpus.ids, store.all(), f"{corpus.source} ({model.name})")


class BatchStore:
    """Store of finished batches, in memory."""

    def __init__(self) -> None:
        self._batches: list[Float32Matrix] = []

    @property
    def dimensions(self) -> int | None:
        """Length of the vectors; None before the first."""
        return int(self._batches[0].shape[1]) if self._batches else None

    def cut(self, batch_size: int, of: int) -> int:
        """Return the number of stored rows in whole batches; drop the rest."""
        return 0

    def add(self, vectors: Float32Matrix) -> None:
        """Add a batch."""
        self._batches.append(vectors)

    def all(self) -> Float32Matrix:
        """Return all rows."""
        return np.concatenate(self._batches)


def _check_batch(found: Float32Matrix, ids: pl.Series, model: Embedder, width: int | None) -> None:
    """Check that a batch has one finite vector per text, as long as those before."""
    if found.ndim != 2 or len(found) != len(ids) or not found.shape[1] or found.shape[1] != (width or found.shape[1]):
        expected = f"{len(ids):,} vectors" + (f" of {width:,} numbers" if width else "")
        shape = "×".join(map(str, found.shape)) or "a single number"
        raise DataError(f"found {shape} for the texts of {listed(ids)}", where=model.name, expected=expected)
    bad = ~np.isfinite(found).all(axis=1)
    if bad.any():
        problem = f"NaN or infinite numbers in the vectors of {listed(ids.filter(pl.Series(bad)))}"
        raise DataError(problem, where=model.name, expected="finite numbers")


def find_model(name: str) -> Embedder:
    """Return the model of that name; a folder with the name of a registered model is written ``./name``."""
    known = MODELS.find(name)
    if known is not None:
        return known()
    if name and isdir(name):
        return SentenceTransformerModel(Path(name))
    if is_function_name(name):
        return load_function_model(name)
    raise UsageError(
        f"no model or folder is called {name!r}",
        expected=f"{', '.join(MODELS.names())}, the folder of a sentence-transformers model, or module:function",
        hint="rankjury downloads nothing: download the model first, and give its folder.",
    )
