"""Options of commands that read a log of interactions: its columns, its format, its scale of ratings."""

from typing import Annotated

import typer

from rankjury.errors import UsageError

UserColumn = Annotated[str | None, typer.Option("--user", metavar="COLUMN", help="The column of users.")]
ItemColumn = Annotated[str | None, typer.Option("--item", metavar="COLUMN", help="The column of items.")]
ValueColumn = Annotated[
    str | None, typer.Option("--value", metavar="COLUMN", help="The column of ratings; none: there are none.")
]
TimeColumn = Annotated[str | None, typer.Option("--time", metavar="COLUMN", help="The column of times; or none.")]
FormatOption = Annotated[
    str | None, typer.Option("--format", metavar="FORMAT", help="csv, tsv, jsonl, parquet, ratings.dat or u.data.")
]
ScaleOption = Annotated[
    str | None, typer.Option("--scale", metavar="LOW,HIGH", help="Ratings outside are an error, such as 0.5,5.")
]


def read_scale(text: str | None) -> tuple[float, float] | None:
    """The lowest and the highest rating there can be."""
    if text is None:
        return None
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise UsageError(f"--scale is {text!r}", expected="the lowest and the highest rating, such as 0.5,5") from None
    return low, high
