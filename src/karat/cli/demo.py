"""karat demo: something real before anything is configured."""

from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from karat.cli.common import QuietOption, say, warn
from karat.errors import DataError

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("demo")(demo_command)


def demo_command(
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="FOLDER", help="Copy the demo's files here, to try commands on."),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Compare two bundled runs of a small help desk: keyword search (bm25) and embeddings (dense)."""
    from karat.cli.compare import show_comparison
    from karat.cli.options import Scoring
    from karat.cli.scoring import assess_files

    with as_file(files("karat") / "samples" / "helpdesk") as folder:
        if keep is not None:
            _copy(folder, keep)
        scoring = Scoring(slices=[f"{folder / 'queries.jsonl'}:type"], quiet=quiet)
        runs = [str(folder / "bm25.trec"), str(folder / "dense.trec")]
        gold = str(folder / "qrels.trec")
        report = assess_files(gold, runs, None, scoring.resampling(), scoring, lambda names: names[0])
    print("40 questions to a help desk of 90 articles, graded 0 to 3:\n")
    show_comparison(report)
    warn(report.warnings, quiet=quiet)
    place = keep or Path("karat-demo")
    again = "" if keep else "karat demo --keep karat-demo, then "
    say(f"Next: {again}karat compare {place}/qrels.trec {place}/bm25.trec {place}/dense.trec", quiet=quiet)


def _copy(folder: Path, target: Path) -> None:
    from karat.formats.atomic import write_text

    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot make this folder: {error.strerror}", where=str(target)) from error
    for name in ("qrels.trec", "bm25.trec", "dense.trec", "queries.jsonl", "documents.jsonl"):
        write_text(target / name, (folder / name).read_text(encoding="utf-8"))
