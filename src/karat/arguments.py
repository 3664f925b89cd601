"""Type check of arguments: a public function that fails on a value of another type raises a UsageError.

A wrong type otherwise shows up deep within, as whatever NumPy or Polars says about it. The check reads the annotations,
so there is nothing to keep in step, and only when a call has failed: a valid call costs nothing, what a function says
itself comes first, and objects that behave like the type that is named are welcome.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import wraps
from itertools import islice
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np

from karat.errors import KaratError, UsageError, shorten

__all__ = ["check_arguments", "check_fields"]

P = ParamSpec("P")
R = TypeVar("R")

_MOST_ELEMENTS = 1_000
"""Elements of a list that are looked at: settings are short, and a long list is data, which readers check."""
_LARGEST = 2**63
"""Integers beyond are not a count, a seed or an id of anything, and do not fit into an array."""


def check_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a public function: where it fails and an argument does not fit its annotation, raise a UsageError.

    Any other error passes unchanged.

    Example:
        >>> @check_arguments
        ... def half(number: int) -> float:
        ...     return number / 2
        >>> half("a")
        Traceback (most recent call last):
        karat.errors.UsageError: found number of type str: a; expected an integer
    """
    signature = inspect.signature(function)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        places: Any = map(_plain, args)
        keywords: Any = {name: _plain(value) for name, value in kwargs.items()}
        try:
            return function(*places, **keywords)
        except (KaratError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # Polars' PanicException is not an Exception
            misfit = _misfit(signature, args, kwargs)
            if misfit is None:
                raise
            raise misfit from error

    return checked


def _plain(value: Any) -> Any:
    """Return a whole number of NumPy as Python's: its small ones overflow."""
    return value if isinstance(value, int) or not isinstance(value, Integral) else int(value)


def _misfit(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> UsageError | None:
    """Return what is to be said of the first argument that does not fit; None where all do."""
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:  # arguments that the function does not take: Python says so itself
        return None
    for name, value in given.items():
        parameter = signature.parameters[name]
        pairs = [(name, value)]
        if parameter.kind is parameter.VAR_POSITIONAL:
            pairs = [(name, one) for one in value]
        elif parameter.kind is parameter.VAR_KEYWORD:
            pairs = list(value.items())
        for each, one in pairs:
            if not _fits(one, parameter.annotation):
                return _error(each, one, parameter.annotation)
    return None


def check_fields(given: Any, *names: str) -> None:
    """Check the fields of a dataclass against their annotations; to be called first in ``__post_init__``.

    Args:
        given: The instance.
        names: The fields to check; none: all.

    Raises:
        UsageError: A field is of another type.
    """
    for one in fields(given):
        if names and one.name not in names:
            continue
        value = getattr(given, one.name)
        if not _fits(value, one.type):
            raise _error(one.name, value, one.type)


def _error(name: str, value: Any, annotation: Any) -> UsageError:
    shown = f": {shorten(value)}" if isinstance(value, str | int | float) else ""
    too_large = isinstance(value, Integral) and _fits(0, annotation)
    expected = "an integer of at most 64 bits" if too_large else _describe(annotation)
    return UsageError(f"found {name} of type {type(value).__name__}{shown}", expected=expected)


def _is_checked(annotation: Any) -> bool:
    return annotation not in (Any, object, inspect.Parameter.empty) and not isinstance(annotation, str)


def _fits(value: Any, annotation: Any) -> bool:
    """Return whether a value is of a type, and so are its elements where it is a list or a dict."""
    if not _is_checked(annotation) or isinstance(annotation, TypeVar):
        return True
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _fits(value, inner[0])
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is Literal:  # which texts are known is told by the function, with the nearest of them
        return any(isinstance(value, type(one)) for one in inner)
    if origin is tuple:
        return isinstance(value, list | tuple) and _fit_tuple(value, inner)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and _fit_items(value, inner)
    if origin in (Sequence, Iterable, list):
        return _is_list(value, origin) and (isinstance(value, Iterator) or _fit_all(value, inner[0]))
    if origin is Callable:
        return callable(value)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and (len(inner) < 2 or _fit_dtype(value, get_args(inner[1])))
    return _is_a(value, origin or annotation)


def _fit_dtype(value: np.ndarray[Any, Any], inner: tuple[Any, ...]) -> bool:
    """Return whether an array holds numbers of the kind that is named, in whatever width."""
    wanted = next((one for one in (np.bool_, np.integer, np.floating) if inner and _is_below(inner[0], one)), None)
    return wanted is None or np.issubdtype(value.dtype, wanted)


def _is_below(kind: Any, other: type) -> bool:
    return isinstance(kind, type) and issubclass(kind, other)


def _fit_all(values: Iterable[Any], annotation: Any) -> bool:
    if isinstance(values, str | bytes):
        return False
    try:
        return all(_fits(one, annotation) for one in islice(values, _MOST_ELEMENTS))
    except TypeError:  # it has a method that says that it cannot be gone through
        return False


def _fit_tuple(value: Sequence[Any], inner: tuple[Any, ...]) -> bool:
    if len(inner) == 2 and inner[1] is Ellipsis:
        return _fit_all(value, inner[0])
    return len(value) == len(inner) and all(map(_fits, value, inner))


def _fit_items(value: Mapping[Any, Any], inner: tuple[Any, ...]) -> bool:
    pairs = islice(value.items(), _MOST_ELEMENTS)
    return not inner or all(_fits(key, inner[0]) and _fits(one, inner[1]) for key, one in pairs)


def _is_list(value: Any, origin: Any) -> bool:
    """Return whether a value can be gone through; arrays and columns count as lists, tables do not."""
    if not isinstance(value, Iterable) or hasattr(value, "columns"):
        return False
    return origin is Iterable or (hasattr(value, "__len__") and hasattr(value, "__getitem__"))


def _is_a(value: Any, kind: Any) -> bool:
    if kind is None or kind is NoneType:
        return value is None
    if kind is bool:
        return isinstance(value, bool | np.bool_)
    if kind is int:
        return not isinstance(value, bool) and isinstance(value, Integral) and -_LARGEST <= int(value) < _LARGEST
    if kind is float:
        return isinstance(value, Real) and not (isinstance(value, Integral) and not -_LARGEST <= int(value) < _LARGEST)
    if getattr(kind, "_is_protocol", False):  # which cannot be asked
        return all(hasattr(value, name) for name in vars(kind) if name == "__call__" or not name.startswith("_"))
    return not isinstance(kind, type) or isinstance(value, kind)


_NAMES: Mapping[Any, str] = {
    int: "an integer",
    float: "a number",
    bool: "True or False",
    str: "a text",
    NoneType: "None",
    None: "None",
}


def _describe(annotation: Any) -> str:
    """Return an annotation in words."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _describe(inner[0])
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_describe(one) for one in inner if one is not NoneType))
    if origin is Literal:
        return f"one of {', '.join(map(repr, inner))}"
    if origin is tuple and not (len(inner) == 2 and inner[1] is Ellipsis):
        return f"{len(inner)} values, each {_describe(inner[0])}"
    if origin in (Sequence, Iterable, list, tuple):
        return f"a list, each {_describe(inner[0])}" if inner and _is_checked(inner[0]) else "a list"
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return f"a dict, each value {_describe(inner[1])}" if inner and _is_checked(inner[1]) else "a dict"
    if origin is Callable:
        return "a function"
    return _NAMES.get(annotation, getattr(annotation, "__name__", str(annotation)))
