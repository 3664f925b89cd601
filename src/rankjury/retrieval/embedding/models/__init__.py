"""Embedding models: the protocol and the registry; one module per model, found by scanning this package."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rankjury.core.registry import Registry

Float32Matrix = NDArray[np.float32]


class Embedder(Protocol):
    """An embedding model: texts to vectors."""

    @property
    def name(self) -> str:
        """Name that is recorded with its vectors."""

    @property
    def version(self) -> str | None:
        """Version or hash; known without loading the model."""

    @property
    def dimensions(self) -> int | None:
        """Length of a vector; None if not known before the first one."""

    def embed(self, texts: list[str]) -> Float32Matrix:
        """Return a vector for each text, in their order."""


MODELS: Registry[Callable[[], Embedder]] = Registry(
    "model", home="rankjury.retrieval.embedding.models", group="rankjury.models"
)
