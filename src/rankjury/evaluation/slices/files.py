"""Slices by a table of a file: ``queries.csv``, or ``queries.csv:type,length`` with the attributes to group by."""

from collections.abc import Callable, Sequence
from os.path import exists

from rankjury.errors import UsageError
from rankjury.evaluation.slices import SliceTable
from rankjury.evaluation.slices.groups import Attribute, parse_attributes
from rankjury.io.attributes import read_attributes


def split_attributes(
    text: str, place: Callable[[str], str] = str, *, by: str | None = None
) -> tuple[str, Sequence[Sequence[Attribute]] | None]:
    """Return the path and the attributes to group by; None: all that are suitable.

    Args:
        text: The table, perhaps with attributes.
        place: Resolves a path; for the paths of a plan.
        by: The attributes, where they are given separately.
    """
    path, asked = text, by
    if not text or not exists(place(text)):
        head, colon, attributes = text.rpartition(":")
        path = head if colon else text
        if not path:
            raise UsageError(f"no file in {text!r}", expected="something like queries.csv:type,length")
        if attributes and colon and by:
            found = f"found attributes twice: {text!r} and by {by!r}"
            raise UsageError(found, expected="one of them")
        asked = attributes if colon and attributes else by
    return path, parse_attributes(asked) if asked else None


def read_cuts(text: str, of: str, place: Callable[[str], str] = str) -> SliceTable:
    """Read slices from their spelling: ``queries.csv``, or ``queries.csv:type,length``.

    Args:
        text: The table, and the attributes to group by.
        of: ``queries`` or ``items``.
        place: Resolves a path; for the paths of a plan.
    """
    path, attributes = split_attributes(text, place)
    table, id_column = read_attributes(place(path), "query" if of == "queries" else "item")
    return SliceTable(table, id_column, of, attributes, place(path))
