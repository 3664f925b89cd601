"""A Python function that searches: ``module:function``."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Self

from karat.engines.asking import shortened
from karat.errors import DataError, KaratError, UsageError
from karat.functions import function_at, is_function_name
from karat.masking import Masker, forms_of, redact

__all__ = ["Function", "find_function"]

_TAKES = "a query and k"
_EXPECTED = "module:function, of a module that is installed or lies in the current folder"


class Function:
    """Calls ``function(query, k, **params)``, and with ``filter=`` where it has a parameter of that name."""

    def __init__(
        self, name: str, function: Callable[..., Any], params: Mapping[str, Any], *, takes_texts: bool
    ) -> None:
        self.shown, self.function, self.params = name, function, dict(params)
        self.takes_texts = takes_texts
        self.sends_filter = _has_parameter(function, "filter")
        masker = Masker()
        masker.json(self.params)
        self._secrets = forms_of(masker.secrets)

    def ask(self, query: Any, k: int, only: Mapping[str, str] | None) -> Any:
        more = {"filter": only} if self.sends_filter else {}
        try:
            return self.function(query, k, **self.params, **more)
        except KaratError:
            raise
        except Exception as error:  # anybody's code
            raise DataError(
                f"the function failed: {type(error).__name__}: {self.clean(str(error))}",
                where=self.shown,
                expected="a list of ids, of (id, score), or of objects",
            ) from error

    def clean(self, text: str) -> str:
        return shortened(redact(text, self._secrets))

    def again(self) -> Self:
        return self

    def close(self) -> None:
        """Nothing to give back."""


def find_function(spelling: str) -> Callable[..., Any]:
    """The function, from a module that is installed or lies in the current folder."""
    if not is_function_name(spelling):
        raise UsageError(f"call is {spelling!r}", expected=_EXPECTED)
    found = function_at(spelling, _TAKES)
    if inspect.iscoroutinefunction(found):
        raise UsageError(f"{spelling} is no plain function", expected=f"one that takes {_TAKES}")
    return found


def _has_parameter(function: Callable[..., Any], name: str) -> bool:
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):  # one that does not tell
        return False
