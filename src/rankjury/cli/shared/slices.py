"""Options by which the columns of an annotated table are put into semantic groups."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from rankjury.errors import UsageError

SEPARATOR = "|"

GroupOption = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        metavar="NAME=COLUMN[,COLUMN]",
        help="The columns of a semantic group; repeat it. Without it every column is a group.",
    ),
]
SelectOption = Annotated[
    list[str] | None,
    typer.Option("--select", metavar="GROUP", help="A group that counts; repeat it. Without it all do."),
]

IdOption = Annotated[
    str | None, typer.Option("--id", metavar="COLUMN", help="The column of ids, where its name does not tell.")
]
SeparatorOption = Annotated[
    str, typer.Option("--separator", metavar="TEXT", help="What stands between the keywords of a cell.")
]


@dataclass(frozen=True)
class AnnotatedTable:
    """A table of annotations, and how it is to be read."""

    path: Path
    groups: dict[str, list[str]] | None
    select: tuple[str, ...]
    id_column: str | None
    separator: str


def parse_groups(given: list[str] | None) -> dict[str, list[str]] | None:
    """``object=pv_object_type,pv_size``: the columns of each group; None where none was named."""
    if not given:
        return None
    found: dict[str, list[str]] = {}
    for text in given:
        name, equals, columns = text.partition("=")
        listed = [column.strip() for column in columns.split(",") if column.strip()]
        if not equals or not name.strip() or not listed:
            raise UsageError(f"cannot read --group {text!r}", expected="a name and columns: object=pv_object_type")
        found.setdefault(name.strip(), []).extend(listed)
    return found
