"""Parameters of engines and models as data, checked in one place."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from numbers import Integral

from rankjury.errors import UnknownName, UsageError, shorten

_LARGEST = 2**31 - 1
"""Engines and models take whole numbers in 32 bits, unless a parameter has a limit of its own."""
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
    """Recall does not fall and time does not shorten as it grows: sweeps leave settings out by this."""
    auto: bool = False
    """Whether 0, the default, stands for a value that the model chooses from its training data."""


def is_whole(value: object) -> bool:
    """Whether it is a whole number, Python's or NumPy's."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def settled(known: Mapping[str, Param], given: Params | None, what: str) -> dict[str, Setting]:
    """Return all parameters with their values: those given, checked, and the defaults."""
    for name, value in (given or {}).items():
        if name not in known:
            if not known:
                raise UsageError(f"{what} {name!r} is not known", expected=f"no {what}s: there are none to set")
            raise UnknownName(what, name, known)
        _check(name, value, known[name])
    return {name: (given or {}).get(name, param.default) for name, param in known.items()}


def _check(name: str, value: Setting, param: Param) -> None:
    number = isinstance(param.default, int | float) and not isinstance(param.default, bool)
    fits = isinstance(value, type(param.default)) and (isinstance(param.default, bool) or not isinstance(value, bool))
    if number and isinstance(param.default, float):
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    if not fits:
        kind = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[type(param.default)]
        raise UsageError(f"{name} is {shorten(value, quoted=True)}", expected=kind)
    if param.choices and value not in param.choices:
        raise UnknownName(f"value of {name}:", str(value), param.choices)
    if number and isinstance(value, int | float):
        if isinstance(value, int) and param.max is None and abs(value) > _LARGEST:
            raise UsageError(f"{name} is {shorten(value)}", expected=f"at most {_LARGEST:,}")
        if isinstance(value, float) and not isfinite(value):
            raise UsageError(f"{name} is {value}", expected="a finite number")
        if param.min is not None and value < param.min:
            raise UsageError(f"{name} is {shorten(value)}", expected=f"{param.min:g} or more")
        if param.max is not None and value > param.max:
            raise UsageError(f"{name} is {shorten(value)}", expected=f"{param.max:g} or less")
