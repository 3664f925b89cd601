"""How values show themselves in a notebook: only the door, for what is shown is made on the rim, above all values."""

from collections.abc import Callable
from typing import Any

from karat.registry import Registry

__all__ = ["SNIPPETS", "snippet_of"]

SNIPPETS: Registry[Callable[[Any], str]] = Registry(
    "kind of snippet", home="karat.reports.notebook", group="karat.notebook"
)


def snippet_of(kind: str, value: object) -> str:
    """A value as HTML to be put into somebody else's page: no script, no style beyond its own, everything escaped."""
    return SNIPPETS.get(kind)(value)
