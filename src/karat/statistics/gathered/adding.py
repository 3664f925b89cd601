"""Things that are added up one by one."""

from typing import Protocol, Self, TypeVar

__all__ = ["added"]


class Addable(Protocol):
    def __add__(self, other: Self, /) -> Self: ...


Summand = TypeVar("Summand", bound=Addable)


def added(ours: tuple[Summand, ...], theirs: tuple[Summand, ...]) -> tuple[Summand, ...]:
    """Each of ours with that of theirs in the same place."""
    return tuple(one + other for one, other in zip(ours, theirs, strict=True))
