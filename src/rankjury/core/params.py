"""What can be set of an engine or a model: parameters as data, checked once."""

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
    """One setting of an engine or a model: what it is unless it is said, and what it does."""

    usual: Setting
    about: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    more_finds_more: bool = False
    """Recall does not fall and time does not shorten as it grows: sweeps leave settings out by this."""
    auto: bool = False
    """Whether 0, the default, stands for a value that the model chooses from its training data."""


def is_whole(value: object) -> bool:
    """Whether it is a whole number, Python's or NumPy's."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def settled(known: Mapping[str, Param], given: Params | None, what: str) -> dict[str, Setting]:
    """All parameters with their values: those given, checked, and the usual ones."""
    for name, value in (given or {}).items():
        if name not in known:
            if not known:
                raise UsageError(f"{what} {name!r} is not known", expected=f"no {what}s: there are none to set")
            raise UnknownName(what, name, known)
        _check(name, value, known[name])
    return {name: (given or {}).get(name, param.usual) for name, param in known.items()}


def _check(name: str, value: Setting, param: Param) -> None:
    number = isinstance(param.usual, int | float) and not isinstance(param.usual, bool)
    fits = isinstance(value, type(param.usual)) and (isinstance(param.usual, bool) or not isinstance(value, bool))
    if number and isinstance(param.usual, float):
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    if not fits:
        kind = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[type(param.usual)]
        raise UsageError(f"{name} is {shorten(value, quoted=True)}", expected=kind)
    if param.choices and value not in param.choices:
        raise UnknownName(f"value of {name}:", str(value), param.choices)
    if number and isinstance(value, int | float):
        if isinstance(value, int) and param.most is None and abs(value) > _LARGEST:
            raise UsageError(f"{name} is {shorten(value)}", expected=f"at most {_LARGEST:,}")
        if isinstance(value, float) and not isfinite(value):
            raise UsageError(f"{name} is {value}", expected="a finite number")
        if param.least is not None and value < param.least:
            raise UsageError(f"{name} is {shorten(value)}", expected=f"{param.least:g} or more")
        if param.most is not None and value > param.most:
            raise UsageError(f"{name} is {shorten(value)}", expected=f"{param.most:g} or less")
