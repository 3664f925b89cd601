"""A Python function that searches: ``module:function``."""

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from karat.engines.asking import shortened
from karat.errors import DataError, KaratError, UnknownName, UsageError

__all__ = ["Function", "find_function"]

_EXPECTED = "module:function, of a module that is installed or lies in the current folder"


class Function:
    """Calls ``function(query, k, **params)``, and with ``filter=`` where it has a parameter of that name."""

    def __init__(
        self, name: str, function: Callable[..., Any], params: Mapping[str, Any], *, takes_texts: bool
    ) -> None:
        self.shown, self.function, self.params = name, function, dict(params)
        self.takes_texts = takes_texts
        self.sends_filter = _has_parameter(function, "filter")

    def ask(self, query: Any, k: int, only: Mapping[str, str] | None) -> Any:
        more = {"filter": only} if self.sends_filter else {}
        try:
            return self.function(query, k, **self.params, **more)
        except KaratError:
            raise
        except Exception as error:  # anybody's code
            raise DataError(
                f"the function failed: {type(error).__name__}: {shortened(str(error))}",
                where=self.shown,
                expected="a list of ids, of (id, score), or of objects",
            ) from error

    def again(self) -> Self:
        return self

    def close(self) -> None:
        """Nothing to give back."""


def find_function(spelling: str) -> Callable[..., Any]:
    """The function, from a module that is installed or lies in the current folder."""
    module, colon, function = spelling.partition(":")
    if not colon or not all(part.replace(".", "_").isidentifier() for part in (module, function)):
        raise UsageError(f"call is {spelling!r}", expected=_EXPECTED)
    here = str(Path.cwd())
    sys.path.insert(0, here)  # first while it is looked for, and last for what it imports when it is called
    try:
        holder = import_module(module)
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and (error.name or "") in (module, module.partition(".")[0])
        raise UsageError(
            f"there is no module {module!r}" if missing else f"the module {module!r} cannot be imported: {error!r}",
            expected=_EXPECTED,
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
    if not callable(found) or inspect.iscoroutinefunction(found):
        raise UsageError(f"{spelling} is no plain function", expected="one that takes a query and k")
    return found


def _has_parameter(function: Callable[..., Any], name: str) -> bool:
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):  # one that does not tell
        return False
