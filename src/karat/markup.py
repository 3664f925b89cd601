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


_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters, and those that break a line or turn the direction of the text that follows them."""


def visible(text: str, *, one_line: bool = False) -> str:
    """Return a text with signs in place of control characters: a name must not steer a terminal, nor hide on a page.

    Args:
        text: Names and messages of unknown origin.
        one_line: Show the ends of lines and tabs as signs, too.
    """
    shown = _CONTROL.sub(_sign, text)
    return re.sub("[\t\n\r]", _sign, shown) if one_line else shown


def _sign(found: re.Match[str]) -> str:
    character = found[0]
    if character < " ":
        return chr(0x2400 + ord(character))
    return "\u2421" if character < "\xa0" else f"\\u{ord(character):04x}"


def snippet_of(kind: str, value: object) -> str:
    """A value as HTML to be put into somebody else's page: no script, no style beyond its own, everything escaped."""
    return SNIPPETS.get(kind)(value)
