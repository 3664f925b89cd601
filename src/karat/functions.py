"""Somebody's own function, found by its name: ``module:function``."""

import sys
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

from karat.errors import UnknownName, UsageError

__all__ = ["function_at", "is_function_name"]


def is_function_name(spelling: str) -> bool:
    """Whether a text may be the name of a function."""
    module, colon, function = spelling.partition(":")
    return bool(colon) and all(part.replace(".", "_").isidentifier() for part in (module, function))


def function_at(spelling: str, takes: str) -> Callable[..., Any]:
    """The function, from a module that is installed or lies in the current folder; ``takes`` is said of what it is."""
    module, _, function = spelling.partition(":")
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
        names = [name for name in vars(holder) if not name.startswith("_")]
        raise UnknownName("function", function, names, where=module) from error
    if not callable(found):
        raise UsageError(f"{spelling} is no function", expected=f"one that takes {takes}")
    return found
