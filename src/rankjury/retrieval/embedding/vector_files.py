"""Files of vectors that are made once and never changed: of a corpus by a model, or as a variant of another file."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os.path import exists
from pathlib import Path
from typing import Any

import numpy as np

from rankjury.core.clock import timestamp
from rankjury.core.hashing import hash_vectors
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Vectors
from rankjury.errors import UsageError
from rankjury.io.vectors.quantize import normalised, vary
from rankjury.io.vectors.scan import read_metadata
from rankjury.io.vectors.write import check_output, write_vectors
from rankjury.retrieval.embedding.corpus import Corpus
from rankjury.retrieval.embedding.embed import BATCH_SIZE, embed
from rankjury.retrieval.embedding.function import CallableModel
from rankjury.retrieval.embedding.models import Embedder
from rankjury.retrieval.embedding.resume import folder_beside, keeping

_CARRIED = ("model", "model_version", "text", "join", "corpus_sha256")
_SETTINGS = {
    "model": "model",
    "model_version": "version of the model",
    "text": "text",
    "join": "joint",
    "corpus_sha256": "corpus",
    "of": "source",
    "normalise": "normalisation",
    "truncate": "truncation",
    "dtype": "dtype",
}
_LONGEST_SHOWN = 40


@dataclass(frozen=True)
class Choices:
    """What becomes of the vectors before they are written, in this order."""

    normalise: bool = False
    truncate: int | None = None
    dtype: str | None = None

    def applied(self, vectors: Vectors) -> Vectors:
        if self.normalise:
            vectors = replace(vectors, values=normalised(vectors.values))
        return vary(vectors, truncate=self.truncate, dtype=self.dtype)


@dataclass(frozen=True)
class Made:
    """A file of vectors, and whether it was made now or was there."""

    path: Path
    metadata: dict[str, Any]
    anew: bool
    zeros: tuple[str, ...] = ()
    """Ids of vectors that are all zeros."""


def embed_into(
    output: Path,
    corpus: Corpus,
    model: Embedder,
    choices: Choices,
    *,
    batch_size: int = BATCH_SIZE,
    progress: Progress = NO_PROGRESS,
) -> Made:
    """The corpus' vectors as a file; one that is there already is left as it is, or refused where it is another.

    Finished batches are kept beside the output until it is written, so that an interrupted call can be resumed. Those
    of another model or corpus, or of a function whose module was edited since, are dropped.
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
    found = _there(output, {**record, "dtype": dtype})
    if found is not None:
        return Made(output, found, anew=False)
    settings = {name: record[name] for name in ("model", "model_version", "corpus_sha256")}
    if isinstance(model, CallableModel):
        settings["code"] = model.code  # also where its declared version stayed the same
    with keeping(folder_beside(output), settings) as rows:
        vectors = embed(corpus, model, batch_size=batch_size, rows=rows, progress=progress)
        return _written(output, choices.applied(vectors), record, dtype)


def vary_into(output: Path, vectors: Vectors, choices: Choices, *, source: Mapping[str, Any] | None = None) -> Made:
    """A variant of vectors as a file of its own; ``source`` is the metadata of theirs."""
    if choices == Choices():
        raise UsageError("nothing is to be changed", expected="--truncate, --dtype or --normalise")
    told = source or {}
    record = {
        **{name: told.get(name) for name in _CARRIED},
        "normalise": choices.normalise,
        "truncate": choices.truncate,
        "of": {"name": Path(vectors.source).name, "sha256": hash_vectors(vectors)},
    }
    dtype = choices.dtype or str(vectors.values.dtype)
    found = _there(output, {**record, "dtype": dtype})
    return Made(output, found, anew=False) if found else _written(output, choices.applied(vectors), record, dtype)


def _there(output: Path, wanted: dict[str, Any]) -> dict[str, Any] | None:
    """The metadata of a file that is there and just what is wanted; None where there is no file."""
    check_output(output)
    if not exists(output):
        return None
    found = read_metadata(output)
    hint = "Vectors are never written over: choose another name with -o."
    if found is None:
        raise UsageError("the file is there, and does not say how it was made", where=str(output), hint=hint)
    told = [
        f"{shown} {_short(found.get(name))}, now {_short(wanted.get(name))}"
        for name, shown in _SETTINGS.items()
        if _compared(found.get(name)) != _compared(wanted.get(name))
    ]
    if told:
        raise UsageError(f"the file is there, made otherwise: {'; '.join(told)}", where=str(output), hint=hint)
    return found


def _compared(value: Any) -> Any:
    """A source counts by its content, not by its name."""
    return value.get("sha256") if isinstance(value, dict) else value


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return f"{value.get('name')} ({_short(value.get('sha256'))})"
    if isinstance(value, list):
        return ",".join(map(str, value))
    if value is None or isinstance(value, bool):
        return {None: "none", True: "on", False: "off"}[value]
    shown = str(value) if str(value).strip() else repr(value)
    return f"{shown[:8]}…" if len(shown) > _LONGEST_SHOWN else shown


def _written(output: Path, vectors: Vectors, record: Mapping[str, Any], dtype: str) -> Made:
    told = write_vectors(output, vectors, {**record, "made": timestamp()}, dtype=dtype)
    bare = np.flatnonzero(~vectors.values.any(axis=1))
    return Made(output, told, anew=True, zeros=tuple(vectors.ids.gather(bare)))
