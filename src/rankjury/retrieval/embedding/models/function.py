"""Function model: any function from a list of texts to an array, named ``module:function``."""

from collections.abc import Callable
from typing import Any

import numpy as np

from rankjury.core.importing import hash_code, import_function
from rankjury.retrieval.embedding.models import Embedder, Float32Matrix


class FunctionModel:
    """A function as a model; its version is its attribute ``version``, or else a hash of its module's file."""

    def __init__(self, name: str, function: Callable[[list[str]], Any]) -> None:
        self.name = name
        self.function = function
        self.code = hash_code(name, function)
        """Hash of the module's file: vectors of an edited function must not be mixed with earlier ones."""
        declared = getattr(function, "version", None)
        self.version: str | None = self.code and self.code[:16] if declared is None else str(declared)
        self.dimensions: int | None = None

    def embed(self, texts: list[str]) -> Float32Matrix:
        with np.errstate(over="ignore"):  # overflow becomes infinite and is reported later
            return np.asarray(self.function(texts)).astype(np.float32)


def load_function_model(spelling: str) -> Embedder:
    """Load a function from an installed module or one in the current folder."""
    return FunctionModel(spelling, import_function(spelling, "a list of texts"))
