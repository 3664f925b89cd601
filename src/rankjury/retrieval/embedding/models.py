"""What turns texts into vectors, behind one protocol; a model is found by its name and loaded when it is first used.

Names: one of the registry (``wordllama``), the folder of a sentence-transformers model, or ``module:function``. Nothing
is ever downloaded.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rankjury.core.importing import is_function_name
from rankjury.core.registry import Registry
from rankjury.errors import UsageError

Singles = NDArray[np.float32]


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

    def embed(self, texts: list[str]) -> Singles:
        """A vector for each text, in their order."""
        ...


MODELS: Registry[Callable[[], Embedder]] = Registry(
    "model", home="rankjury.retrieval.embedding.wordllama", group="rankjury.models"
)


def _is_folder(name: str) -> bool:
    try:
        return bool(name) and Path(name).is_dir()
    except (OSError, ValueError):  # no name that a folder could have
        return False


def find_model(name: str) -> Embedder:
    """The model of that name; a folder called like one of the registry is written ``./name``."""
    known = MODELS.find(name)
    if known is not None:
        return known()
    if _is_folder(name):
        from rankjury.retrieval.embedding.sentence_transformers import TransformerFolder

        return TransformerFolder(Path(name))
    if is_function_name(name):
        from rankjury.retrieval.embedding.function import find_callable

        return find_callable(name)
    raise UsageError(
        f"no model is called {name!r}, and no folder is there by that name",
        expected=f"{', '.join(MODELS.names())}, the folder of a sentence-transformers model, or module:function",
        hint="rankjury downloads nothing: fetch the model first, and name its folder.",
    )
