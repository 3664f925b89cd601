"""karat demo: something real before anything is configured."""

from enum import StrEnum
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from karat.cli.common import QuietOption, say, warn
from karat.errors import UsageError

__all__ = ["add_to"]

_EPILOG = (
    "Examples:\n\n"
    "  karat demo\n\n"
    "  karat demo movies\n\n"
    "  karat demo movies --keep karat-movies\n\n"
    "Without --keep and -o nothing is written."
)
_FILES = {
    "helpdesk": ("qrels.trec", "bm25.trec", "dense.trec", "queries.jsonl", "documents.jsonl"),
    "movies": ("karat.toml", "gold.json", "movies.jsonl", "vectors.npz"),
}


class Sample(StrEnum):
    helpdesk = "helpdesk"
    movies = "movies"


def add_to(app: typer.Typer) -> None:
    app.command("demo", epilog=_EPILOG)(demo_command)


def demo_command(
    sample: Annotated[Sample, typer.Argument(metavar="[SAMPLE]", help="helpdesk or movies.")] = Sample.helpdesk,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Write the results of movies here."),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", help="Copy the sample's files here, to try commands on."),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Show karat at work on bundled data: two runs of a small help desk, or 50 movies in three embedding spaces."""
    with as_file(files("karat") / "samples" / sample.value) as folder:
        if output is not None and sample is not Sample.movies:
            raise UsageError("-o is for karat demo movies", hint="--keep DIR copies the files of the help desk.")
        if keep is not None:
            _copy(folder, keep, sample)
        if sample is Sample.movies:
            _movies(folder, output, keep, quiet=quiet)
        else:
            _helpdesk(folder, keep, quiet=quiet)


def _helpdesk(folder: Path, keep: Path | None, *, quiet: bool) -> None:
    from karat.cli.compare import show_comparison
    from karat.cli.options import Scoring
    from karat.cli.scoring import assess_files

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


def _movies(folder: Path, output: Path | None, keep: Path | None, *, quiet: bool) -> None:
    """Run the sample's plan; the results go where they are asked for, or nowhere."""
    from tempfile import TemporaryDirectory

    from karat.cli.run_plan import carry_out

    plan = str((keep or folder) / "karat.toml")
    if output is None and keep is None:
        with TemporaryDirectory() as nowhere:
            next_step = "Next: karat demo movies --keep karat-movies, then change its karat.toml"
            carry_out(
                plan, Path(nowhere), strict=False, as_json=False, quiet=quiet, next_step=next_step, tell_files=False
            )
        return
    next_step = f"Next: karat tune {plan}" if keep else f"Next: karat gate targets.toml {output}/karat.json"
    carry_out(plan, output or keep, strict=False, as_json=False, quiet=quiet, next_step=next_step)


def _copy(folder: Path, target: Path, sample: Sample) -> None:
    from karat.formats.atomic import make_folder, replacing

    make_folder(target)
    for name in _FILES[sample.value]:
        if (target / name).is_file() and (target / name).read_bytes() != (folder / name).read_bytes():
            raise UsageError(f"another {target / name} is there already", hint="Name another folder with --keep.")
    for name in _FILES[sample.value]:
        with replacing(target / name) as part:
            part.write_bytes((folder / name).read_bytes())
    if sample is Sample.movies:
        from karat.cli.schema import schema_text
        from karat.formats.atomic import write_text
        from karat.plan.drafting import SCHEMA_FILE

        write_text(target / SCHEMA_FILE, schema_text())
