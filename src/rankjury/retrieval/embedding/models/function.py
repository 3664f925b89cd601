"""Function model: any function from a list of texts to an array, named ``module:function``."""

from collections.abc import Callable
from typing import Any

import numpy as np

from rankjury.core.importing import hash_code, import_function
from rankjury.retrieval.embedding.models import Embedder, Float32Matrix

_SHORT = 16


class FunctionModel:
    """A function as a model. Its version is its attribute ``version``, or else a digest of its module's file."""

    def __init__(self, name: str, function: Callable[[list[str]], Any]) -> None:
        self.name = name
        self.function = function
        self.code = hash_code(name, function)
        """A digest of the file of its module: vectors of an edited function must not be mixed with earlier ones."""
        declared = getattr(function, "version", None)
        self.version: str | None = self.code and self.code[:_SHORT] if declared is None else str(declared)
        self.dimensions: int | None = None

    def embed(self, texts: list[str]) -> Float32Matrix:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is named as such
            return np.asarray(self.function(texts)).astype(np.float32)


def load_function_model(spelling: str) -> Embedder:
    """The function, from a module that is installed or lies in the current folder."""
    return FunctionModel(spelling, import_function(spelling, "a list of texts"))
