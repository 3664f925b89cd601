"""karat evaluate: score runs against a gold."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from karat.cli.common import (
    Duplicates,
    DuplicatesOption,
    FormatOption,
    QuietOption,
    check_standard_input,
    name_systems,
    progress,
    say,
    split_measures,
    warn,
)

if TYPE_CHECKING:
    import polars as pl

    from karat.measure import Value
    from karat.results import Report

__all__ = ["add_to", "evaluate_files"]

_EPILOG = (
    "Examples:\n\n"
    "  karat evaluate qrels.txt bm25.trec dense.trec\n\n"
    "  karat evaluate qrels.txt run.trec -m ndcg@10 -m 'recall(rel=2)@100' --per-query scores.csv\n\n"
    "  karat evaluate qrels.txt run.trec -m map -m ndcg_cut_10 --dialect trec_eval --json\n\n"
    "  zcat run.gz | karat evaluate qrels.txt - -o report.md -o report.json\n\n"
    "Reads TREC, JSON, JSONL, CSV, TSV and Parquet, also .gz and .zst; karat metrics lists the measures."
)


def add_to(app: typer.Typer) -> None:
    app.command("evaluate", epilog=_EPILOG)(evaluate_command)


def evaluate_command(
    gold: Annotated[
        str, typer.Argument(metavar="GOLD", help="What should have come back: qrels or a table; - is standard input.")
    ],
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="What did come back, one file a system.")],
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure", "-m", metavar="MEASURE", help="A measure like ndcg@10; repeat it, or split by commas."
        ),
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option("--dialect", "-d", metavar="TOOL", help="Reproduce a tool (karat metrics --dialects lists them)."),
    ] = None,
    per_query: Annotated[
        Path | None,
        typer.Option("--per-query", metavar="FILE", help="Write every query's scores: .csv, .tsv, .jsonl or .parquet."),
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the report: .json, .csv or .md; repeat it."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON instead of a table.")] = False,
    ties: Annotated[str | None, typer.Option(help="Equal scores: id, id-desc or order.")] = None,
    missing: Annotated[str | None, typer.Option(help="Gold queries that the run lacks: zero, skip or error.")] = None,
    empty: Annotated[str | None, typer.Option(help="Queries with nothing relevant: skip, zero or error.")] = None,
    rel: Annotated[float | None, typer.Option(help="Grade from which an item is relevant.")] = None,
    duplicates: DuplicatesOption = Duplicates.error,
    form: FormatOption = None,
    gold_form: Annotated[
        str | None, typer.Option("--gold-format", metavar="FORMAT", help="The same for the gold only.")
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Score runs against a gold.

    Prints a table of means with the number of queries averaged, and warns of what would mislead: missing queries,
    unjudged items, equal scores at the cut-off.
    """
    if output or per_query:
        _check_outputs(per_query, output or [])
    overrides = {"ties": ties, "missing": missing, "empty": empty, "rel": rel}
    report = evaluate_files(
        gold,
        runs,
        split_measures(measures) if measures else None,
        dialect=dialect,
        overrides={name: value for name, value in overrides.items() if value is not None},
        duplicates=duplicates,
        forms=(gold_form or form, form),
        quiet=quiet,
    )
    written = _write_files(report, per_query, output or [])
    if as_json:
        from karat.reports.json import to_json

        print(to_json(report), end="")
    else:
        from karat.reports.console import print_report

        print_report(report)
    warn(report.warnings, quiet=quiet)
    if written:
        say(f"Wrote {', '.join(map(str, written))}", quiet=quiet)
    if not as_json and not written:
        say(_next_step(gold, runs), quiet=quiet)


def evaluate_files(
    gold: str,
    runs: list[str],
    measures: list[str] | None,
    *,
    dialect: str | None = None,
    overrides: "dict[str, Value] | None" = None,
    duplicates: Duplicates = Duplicates.error,
    forms: tuple[str | None, str | None] = (None, None),
    quiet: bool = False,
) -> "Report":
    """Read, score, and collect into a Report."""
    check_standard_input([gold, *runs])
    names = name_systems(runs)
    with ThreadPoolExecutor(max_workers=1) as reader:
        # The first run is read while the rest of the program still loads: a fifth of the time of a large run.
        first = reader.submit(_read, runs[0], forms[1])
        from karat.evaluation import DEFAULT_MEASURES, evaluate, resolve_all
        from karat.gold.labels import read_gold
        from karat.intake import ranking_from_frame
        from karat.results import Report

        asked = resolve_all(measures or DEFAULT_MEASURES, dialect, _checked(overrides or {}))
        with progress(f"Reading {gold}", quiet=quiet):
            truth = read_gold(gold, forms[0])
        systems = {}
        for name, run in zip(names, runs, strict=True):
            with progress(f"Reading and scoring {name}", quiet=quiet):
                frame, source = first.result() if run is runs[0] else _read(run, forms[1])
                ranking = ranking_from_frame(frame, source=source)
                systems[name] = evaluate(truth, ranking, asked, duplicates=duplicates.value)
    warnings = tuple(f"{name}: {warning}" for name, scores in systems.items() for warning in scores.warnings)
    provenance = {"gold": gold, "runs": dict(zip(names, runs, strict=True)), "dialect": dialect}
    return Report(systems, warnings, provenance)


def _read(run: str, form: str | None) -> "tuple[pl.DataFrame, str]":
    from karat.formats import read
    from karat.formats.source import Source

    source = Source.open(run)
    return read(source, "run", form), source.name


def _checked(overrides: "dict[str, Value]") -> "dict[str, Value]":
    """--ties, --missing, --empty and --rel take the values of the options of that name."""
    from karat.measure import COMMON_OPTIONS
    from karat.metrics.common import REL

    known = {option.name: option for option in (*COMMON_OPTIONS, REL)}
    return {name: known[name].read(str(value), where=f"--{name}") for name, value in overrides.items()}


def _check_outputs(per_query: Path | None, outputs: list[Path]) -> None:
    """Refuse a name that tells no form before anything is computed or written."""
    from karat.formats import TABLE_FORMATS, form_to_write
    from karat.reports import form_of

    for path in outputs:
        form_of(path)
    if per_query is not None:
        form_to_write(per_query, None, TABLE_FORMATS)


def _write_files(report: "Report", per_query: Path | None, outputs: list[Path]) -> list[Path]:
    from karat.reports import write

    for path in outputs:
        write(report, path)
    if per_query is not None:
        _write_per_query(report, per_query)
    return [*outputs, *([per_query] if per_query else [])]


def _write_per_query(report: "Report", path: Path) -> None:
    import polars as pl

    from karat.formats import write_table

    frames = [
        scores.per_query.select(pl.lit(name).alias("system"), pl.all()) for name, scores in report.systems.items()
    ]
    write_table(pl.concat(frames), path)


def _next_step(gold: str, runs: list[str]) -> str:
    if "-" in (gold, *runs):
        return "Next: keep every query's scores with --per-query scores.csv"
    return f"Next: why other tools differ: karat explain {gold} {runs[0]} -m ndcg@10"
