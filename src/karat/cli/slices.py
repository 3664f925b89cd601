"""Slices on the command line: queries.csv:type,length."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from karat.cli.common import exists
from karat.errors import UsageError

if TYPE_CHECKING:
    from karat.slices import Attribute, Cuts

__all__ = ["parted", "read_cuts"]


def read_cuts(given: Iterable[str] | None, of: str) -> "list[Cuts]":
    """``queries.csv:type,length``: the file, and what to group by."""
    if not given:
        return []
    from karat.formats.attributes import read_attributes
    from karat.slices import Cuts

    found = []
    for path, asked in map(parted, given):
        table, id_column = read_attributes(path, "query" if of == "queries" else "item")
        found.append(Cuts(table, id_column, of, asked, path))
    return found


def parted(text: str) -> "tuple[str, list[tuple[Attribute, ...]] | None]":
    """The path, and what to group by; None: whatever groups well."""
    from karat.slices import parse_attributes

    path, attributes = (text, "") if text and exists(text) else _split_off_attributes(text)
    return path, parse_attributes(attributes) if attributes else None


def _split_off_attributes(text: str) -> tuple[str, str]:
    path, colon, attributes = text.rpartition(":")
    if not (path if colon else text):
        raise UsageError(f"no file in {text!r}", expected="something like queries.csv:type,length")
    return (path, attributes) if colon else (text, "")
