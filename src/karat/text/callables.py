"""Any function that takes a list of texts and gives an array: ``module:function``."""

from collections.abc import Callable
from typing import Any

import numpy as np

from karat.functions import function_at
from karat.text.models import Embedder, Singles

__all__ = ["CallableModel", "find_callable"]


class CallableModel:
    """A function as a model. Two of one name are told apart by an attribute ``version``, where the function has one."""

    def __init__(self, name: str, function: Callable[[list[str]], Any]) -> None:
        self.name = name
        self.function = function
        given = getattr(function, "version", None)
        self.version: str | None = None if given is None else str(given)
        self.dimensions: int | None = None

    def embed(self, texts: list[str]) -> Singles:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is named as such
            return np.asarray(self.function(texts)).astype(np.float32)


def find_callable(spelling: str) -> Embedder:
    """The function, from a module that is installed or lies in the current folder."""
    return CallableModel(spelling, function_at(spelling, "a list of texts"))
