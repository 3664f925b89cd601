"""Errors that users meet, on their way from a worker to the driver.

A task that raises is tried again three times, and what arrives is the text of a traceback. So a function that finds a
fault in the data tells of it beside its results, in an accumulator, and ends; whoever watches the job raises it.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from karat import errors
from karat._version import __version__
from karat.errors import DataError, KaratError

__all__ = ["Batches", "Told", "carried", "check_release", "dumped", "loaded"]

Batches = Callable[[Iterator[Any]], Iterator[Any]]
"""What is done with the record batches of a part of a table, one after the other."""


class Told:
    """How failures add up in an accumulator: in a list."""

    def zero(self, value: list[bytes]) -> list[bytes]:
        return []

    def addInPlace(self, first: list[bytes], second: list[bytes]) -> list[bytes]:  # noqa: N802 - Spark's name
        return first + second


def carried(function: Batches, told: Any) -> Batches:
    """The function with its errors told to an accumulator instead of raised, and karat's release looked at first."""
    release = __version__

    def function_that_tells(batches: Iterator[Any]) -> Iterator[Any]:
        try:
            check_release(release)
            yield from function(batches)
        except KaratError as error:
            told.add([dumped(error)])

    return function_that_tells


def check_release(of_driver: str) -> None:
    """Digits may differ from release to release."""
    if of_driver != __version__:
        raise DataError(
            f"the executors have karat {__version__}, and the driver has {of_driver}",
            expected="the same release everywhere",
        )


def dumped(error: KaratError) -> bytes:
    kind = next(kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    return json.dumps({"kind": kind.__name__, "says": vars(error)}).encode()


def loaded(text: bytes) -> KaratError:
    """The error of the same kind that says the same."""
    form = json.loads(text)
    said = form["says"]
    kind = getattr(errors, form["kind"])
    error: KaratError = kind.__new__(kind)
    KaratError.__init__(error, **{name: said.pop(name) for name in ("found", "where", "expected", "hint", "details")})
    vars(error).update(said)
    return error
