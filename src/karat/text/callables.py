"""Any function that takes a list of texts and gives an array: ``module:function``."""

import sys
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from karat.errors import UnknownName, UsageError
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


def find_callable(module: str, function: str) -> Embedder:
    """The function, from a module that is installed or lies in the current folder."""
    here = str(Path.cwd())
    sys.path.insert(0, here)  # first while it is looked for, and last for what it imports when it is called
    try:
        holder = import_module(module)
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and (error.name or "") in (module, module.partition(".")[0])
        raise UsageError(
            f"there is no module {module!r}" if missing else f"the module {module!r} cannot be imported: {error!r}",
            expected="one that is installed, or a file of the current folder",
        ) from error
    finally:
        sys.path.remove(here)
        if here not in sys.path:
            sys.path.append(here)
    try:
        found = reduce(getattr, function.split("."), holder)
    except AttributeError as error:
        raise UnknownName("function", function, [name for name in vars(holder) if not name.startswith("_")],
                          where=module) from error  # fmt: skip
    if not callable(found):
        raise UsageError(f"{module}:{function} is no function", expected="one that takes a list of texts")
    return CallableModel(f"{module}:{function}", found)
