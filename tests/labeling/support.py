"""A small corpus, and a model that counts what it is asked."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankjury.retrieval.embedding.corpus import Corpus
from rankjury.retrieval.embedding.models import Float32Matrix
from rankjury.retrieval.embedding.vector_files import EmbeddedFile, VectorOptions, embed_to_file


def vector_of(text: str) -> list[float]:
    return [float(len(text)), float(text.count("x")) - 1.5, 0.25]


@dataclass
class Plain:
    """A model that counts, and fails when it is told to."""

    name: str = "plain"
    version: str | None = None
    dimensions: int | None = None
    calls: list[list[str]] = field(default_factory=list)
    change: Callable[[int, Any], Any] = lambda call, found: found
    stop_at: int | None = None

    def embed(self, texts: list[str]) -> Float32Matrix:
        self.calls.append(texts)
        if len(self.calls) == self.stop_at:
            raise KeyboardInterrupt
        found = self.change(len(self.calls), np.array([vector_of(text) for text in texts], np.float32))
        return np.asarray(found, np.float32)


def corpus(count: int = 10, **changes: Any) -> Corpus:
    texts = ["x" * number + "y" for number in range(count)]
    return Corpus(pl.Series("id", [f"d{n}" for n in range(count)]), pl.Series("text", texts), ("t",), **changes)


EXPECTED = [vector_of(text) for text in corpus().texts]


def into(folder: Path, model: Plain, given: Corpus | None = None, batch_size: int = 2, **choices: Any) -> EmbeddedFile:
    return embed_to_file(folder / "v.npz", given or corpus(), model, VectorOptions(**choices), batch_size=batch_size)
