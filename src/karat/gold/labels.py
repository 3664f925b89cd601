"""Graded labels from a file: qrels, tables, nested JSON."""

from pathlib import Path

from karat.arguments import check_arguments
from karat.formats import read
from karat.formats.source import Source
from karat.guard import guard_reading
from karat.intake import gold_from_frame
from karat.types import Gold

__all__ = ["read_gold"]


@check_arguments
def read_gold(given: str | Path, form: str | None = None, *, relevant_from: float | None = None) -> Gold:
    """Read a gold from a path, or from standard input where it is ``-``."""
    source = Source.open(given)
    with guard_reading(source.name):
        return gold_from_frame(read(source, "gold", form), source=source.name, relevant_from=relevant_from)
