"""Embedding models: the protocol and the registry; one module per model, found by scanning this package."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rankjury.core.registry import Registry

Float32Matrix = NDArray[np.float32]


class Embedder(Protocol):
    """A model: texts in, a row of numbers for each out."""

    @property
    def name(self) -> str:
        """By which it is recorded with its vectors."""
        ...

    @property
    def version(self) -> str | None:
        """What tells it from another of the same name; known without loading it."""
        ...

    @property
    def dimensions(self) -> int | None:
        """How many numbers a vector has; None where only a vector tells."""
        ...

    def embed(self, texts: list[str]) -> Float32Matrix:
        """A vector for each text, in their order."""
        ...


MODELS: Registry[Callable[[], Embedder]] = Registry(
    "model", home="rankjury.retrieval.embedding.models", group="rankjury.models"
)
