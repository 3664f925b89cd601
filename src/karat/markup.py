"""How texts and values are shown: control characters made visible, and the door to what a notebook shows.

Only the door, for what is shown is made on the rim, above all values.
"""

import re
from collections.abc import Callable
from typing import Any

from karat.registry import Registry

__all__ = ["SNIPPETS", "snippet_of", "visible"]

SNIPPETS: Registry[Callable[[Any], str]] = Registry(
    "kind of snippet", home="karat.reports.notebook", group="karat.notebook"
)


_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    """With symbols instead of control characters: a name must not steer a terminal, nor be lost on a page."""
    return _CONTROL.sub(lambda found: chr(0x2400 + ord(found[0])) if found[0] < " " else "\u2421", text)


def snippet_of(kind: str, value: object) -> str:
    """A value as HTML to be put into somebody else's page: no script, no style beyond its own, everything escaped."""
    return SNIPPETS.get(kind)(value)
