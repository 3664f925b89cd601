"""Embedding models: the protocol and the registry; one module per model in this package."""

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
        """Length of a vector; None if unknown before the first one."""

    def embed(self, texts: list[str]) -> Float32Matrix:
        """Return one vector per text, in the same order."""


MODELS: Registry[Callable[[], Embedder]] = Registry(
    "model", home="rankjury.retrieval.embedding.models", group="rankjury.models"
)
