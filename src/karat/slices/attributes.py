"""What to group by, and how it is spelled."""

import re
from dataclasses import dataclass

import numpy as np

from karat.errors import UsageError

__all__ = ["MOST_GROUPS", "Attribute", "parse_attributes"]

_SPELLING = re.compile(r"(?P<name>[^()*]+?)\s*(?:\(\s*(?P<option>quantiles|bins)\s*=\s*(?P<value>[^()]+)\))?")
MOST_GROUPS = 100


@dataclass(frozen=True)
class Attribute:
    """A column by which to group, and how a number is cut."""

    name: str
    quantiles: int | None = None
    bins: tuple[float, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    """What the names of values leave open, by value."""


def parse_attributes(text: str) -> list[tuple[Attribute, ...]]:
    """``type,length(quantiles=4),type*lang``: one or two attributes each."""
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        crossed = tuple(_parse_one(one.strip(), part) for one in part.split("*"))
        if len(crossed) > 2 or len({one.name for one in crossed}) < len(crossed):
            raise UsageError(f"{part!r} crosses {len(crossed)} attributes", expected="two different ones at most")
        found.append(crossed)
    if not found:
        raise UsageError("no attribute was named", expected="something like queries.csv:type,length")
    return found


def _parse_one(text: str, where: str) -> Attribute:
    match = _SPELLING.fullmatch(text)
    if match is None:
        expected = "a column, perhaps with (quantiles=4) or (bins=5/10)"
        raise UsageError(f"cannot read the attribute {text!r}", where=where, expected=expected)
    name, option, value = match["name"].strip(), match["option"], match["value"] or ""
    if option is None:
        return Attribute(name)
    try:
        numbers = sorted({float(number) for number in value.split("/")})
    except ValueError:
        numbers = []
    if option == "bins" and numbers and np.isfinite(numbers).all():
        return Attribute(name, bins=tuple(numbers))
    if option == "quantiles" and len(numbers) == 1 and numbers[0] in range(2, MOST_GROUPS + 1):
        return Attribute(name, quantiles=int(numbers[0]))
    expected = "edges split by slashes, like bins=5/10" if option == "bins" else f"2 to {MOST_GROUPS}"
    raise UsageError(f"{option}={value}", where=where, expected=expected)
