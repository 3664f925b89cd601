"""Parameters of engines and models: default, description and bounds as data, validated in one place."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from numbers import Integral

from rankjury.errors import UnknownName, UsageError, shorten

_LARGEST = 2**31 - 1
"""Whole numbers are 32 bits in engines and models, unless a parameter has its own limit."""
Setting = int | float | str | bool
Params = Mapping[str, Setting]


@dataclass(frozen=True)
class Param:
    """A parameter of an engine or a model: default, description, bounds."""

    default: Setting
    help: str
    min: float | None = None
    max: float | None = None
    choices: tuple[str, ...] = ()
    monotonic_recall: bool = False
    """Recall does not fall and time does not decrease as it grows: sweeps use this to skip settings."""
    auto: bool = False
    """Whether 0, the default, means a value that the model chooses from its training data."""


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number, Python's or NumPy's."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def resolve_params(known: Mapping[str, Param], params: Params | None, what: str) -> dict[str, Setting]:
    """Return all parameters with their values: validated ones of ``params``, and defaults; ``what`` for errors."""
    values = dict(params or {})
    for name, value in values.items():
        if name not in known:
            if not known:
                raise UsageError(f"unknown {what} {name!r}", expected="no parameters")
            raise UnknownName(what, name, known)
        _check(name, value, known[name])
    return {name: values.get(name, param.default) for name, param in known.items()}


def _check(name: str, value: Setting, param: Param) -> None:
    kind = type(param.default)
    fits = isinstance(value, int | float if kind is float else kind) and isinstance(value, bool) == (kind is bool)
    if not fits:
        expected = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[kind]
        raise UsageError(f"{name} is {shorten(value, quoted=True)}", expected=expected)
    if param.choices and value not in param.choices:
        raise UnknownName(f"value of {name}:", str(value), param.choices)
    if isinstance(value, bool | str):
        return
    if isinstance(value, int) and param.max is None and abs(value) > _LARGEST:
        raise UsageError(f"{name} is {shorten(value)}", expected=f"at most {_LARGEST:,}")
    if isinstance(value, float) and not isfinite(value):
        raise UsageError(f"{name} is {value}", expected="a finite number")
    if param.min is not None and value < param.min:
        raise UsageError(f"{name} is {shorten(value)}", expected=f"{param.min:g} or more")
    if param.max is not None and value > param.max:
        raise UsageError(f"{name} is {shorten(value)}", expected=f"{param.max:g} or less")
