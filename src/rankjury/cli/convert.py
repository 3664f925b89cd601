"""rankjury convert: one format into another."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rankjury.cli.shared.completion import one_of
from rankjury.cli.shared.console import say, show_progress, warn
from rankjury.cli.shared.options import FORMAT_CHOICES, FormatOption, QuietOption
from rankjury.errors import UsageError

GROUP = "Look up"
ORDER = 3
EPILOG = (
    "Examples:\n\n"
    "  rankjury convert run.trec.gz run.parquet\n\n"
    "  rankjury convert labels.csv qrels.txt --kind gold --to trec"
)

ConvertedKind = StrEnum("ConvertedKind", ["gold", "run"])


def convert_command(
    source: Annotated[str, typer.Argument(metavar="A", help="File to read; - is standard input.")],
    target: Annotated[Path, typer.Argument(metavar="B", help="File to write; its suffix sets the format.")],
    kind: Annotated[ConvertedKind | None, typer.Option(help="Content of A; default: detected.")] = None,
    form: FormatOption = None,
    to: Annotated[
        str | None, typer.Option(**one_of(FORMAT_CHOICES), help="Output format; default: by the suffix of B.")
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Convert a gold or run file to another format.

    Formats: TREC, JSON, JSONL, CSV, TSV and Parquet, also compressed (.gz, .zst).
    """
    import polars as pl

    from rankjury.core.columns import QUERY
    from rankjury.core.convert import gold_from_frame, ranking_from_frame
    from rankjury.core.text import join_names, plural
    from rankjury.io.formats import FORMATS, form_to_write, kind_of, read, write
    from rankjury.io.source import Source

    if str(target) == "-":
        raise UsageError("cannot convert to standard output", expected="the name of a file")
    with show_progress(f"Converting {source}"):
        opened = Source.open(source)
        chosen = kind.value if kind else kind_of(opened, form)
        frame = read(opened, chosen, form)
        checked = gold_from_frame if chosen == "gold" else ranking_from_frame
        found = checked(frame, source=opened.name)
        frame = found.frame()
        empty = found.queries.filter(~found.queries.is_in(frame[QUERY].cast(pl.String).implode())).to_frame(QUERY)
        kept = form_to_write(target, to, FORMATS)[0] == "json"
        rows = pl.concat([frame, empty.cast(frame.schema[QUERY])], how="diagonal") if len(empty) and kept else frame
        written = write(rows, target, chosen, to)
    if len(empty) and not kept:
        many = plural(len(empty), "query that found nothing is", "queries that found nothing are")
        lost = f"{many} not in {target}, as {written} cannot express them: {join_names(empty[QUERY], 5)}"
        warn([f"{lost}. An evaluation will call them missing; convert to .json to keep them"])
    told = "" if kind else f" (read as a {chosen}; --kind says otherwise)"
    say(f"Wrote {target}: {frame.height:,} rows as {written}{told}")
