"""karat evaluate: score runs against a gold."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from karat.cli.common import Duplicates, DuplicatesOption, FormatOption, QuietOption, say, split_measures, warn
from karat.cli.scoring import (
    DialectOption,
    EmptyOption,
    GoldArgument,
    IntervalOption,
    ItemSlicesOption,
    JsonOption,
    LevelOption,
    MeasuresOption,
    MissingOption,
    OutputOption,
    RecordOption,
    RelOption,
    Request,
    ResamplesOption,
    RunsArgument,
    SeedOption,
    SlicesOption,
    TiesOption,
    add_figures,
    assess_files,
    resampling,
)
from karat.errors import UsageError

if TYPE_CHECKING:
    from karat.report import Report

__all__ = ["add_to", "check_outputs", "write_outputs"]

_EPILOG = (
    "Examples:\n\n"
    "  karat evaluate qrels.txt bm25.trec dense.trec\n\n"
    "  karat evaluate qrels.txt run.trec -m ndcg@10 -m 'recall(rel=2)@100' --per-query scores.csv\n\n"
    "  karat evaluate qrels.txt run.trec -m map -m ndcg_cut_10 --dialect trec_eval --json\n\n"
    "  karat evaluate qrels.txt run.trec --slices queries.csv:type,length\n\n"
    "  zcat run.gz | karat evaluate qrels.txt - -o report.md -o report.json\n\n"
    "Reads TREC, JSON, JSONL, CSV, TSV and Parquet, also .gz and .zst; karat metrics lists the measures."
)


def add_to(app: typer.Typer) -> None:
    app.command("evaluate", epilog=_EPILOG)(evaluate_command)


def evaluate_command(
    gold: GoldArgument,
    runs: RunsArgument,
    measures: MeasuresOption = None,
    dialect: DialectOption = None,
    per_query: Annotated[
        Path | None,
        typer.Option("--per-query", metavar="FILE", help="Write every query's scores: .csv, .tsv, .jsonl or .parquet."),
    ] = None,
    output: OutputOption = None,
    as_json: JsonOption = False,
    no_ci: Annotated[bool, typer.Option("--no-ci", help="Means only, without intervals.")] = False,
    slices: SlicesOption = None,
    item_slices: ItemSlicesOption = None,
    level: LevelOption = 0.95,
    resamples: ResamplesOption = 10_000,
    seed: SeedOption = 0,
    interval: IntervalOption = "percentile",
    record: RecordOption = None,
    ties: TiesOption = None,
    missing: MissingOption = None,
    empty: EmptyOption = None,
    rel: RelOption = None,
    duplicates: DuplicatesOption = Duplicates.error,
    form: FormatOption = None,
    gold_form: Annotated[
        str | None, typer.Option("--gold-format", metavar="FORMAT", help="The same for the gold only.")
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Score runs against a gold.

    Prints a table of means with bootstrap intervals over queries and the number of queries averaged, and warns of what
    would mislead: missing queries, unjudged items, equal scores at the cut-off.
    """
    check_outputs(per_query, output or [])
    if no_ci and (slices or item_slices):
        raise UsageError("--no-ci leaves nothing to tell slices apart by", hint="Leave --no-ci or --slices away.")
    how = None if no_ci else resampling(level, resamples, seed, interval)
    request = Request(
        gold,
        runs,
        split_measures(measures) if measures else None,
        dialect,
        {"ties": ties, "missing": missing, "empty": empty, "rel": rel},
        duplicates,
        (gold_form or form, form),
        tuple(slices or ()),
        tuple(item_slices or ()),
        quiet,
    )
    report = add_figures(assess_files(request, how), record)
    written = write_outputs(report, per_query, output or [])
    if as_json:
        from karat.reports.json import summary_to_json

        print(summary_to_json(report), end="")
    else:
        from karat.reports.console import print_report, print_slices

        print_report(report)
        if report.slices:
            print_slices(report)
    warn(report.warnings, quiet=quiet)
    if written:
        say(f"Wrote {', '.join(map(str, written))}", quiet=quiet)
    if not as_json and not written:
        say(_next_step(gold, runs), quiet=quiet)


def check_outputs(per_query: Path | None, outputs: list[Path]) -> None:
    """Refuse a name that tells no form before anything is computed or written."""
    if outputs:
        from karat.reports import form_of

        for path in outputs:
            form_of(path)
    if per_query is not None:
        from karat.formats import TABLE_FORMATS, form_to_write

        form_to_write(per_query, None, TABLE_FORMATS)


def write_outputs(report: "Report", per_query: Path | None, outputs: list[Path]) -> list[Path]:
    """Write what was asked for, and say which files that were."""
    if outputs:
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
    if len(runs) > 1:
        return f"Next: is it better? karat compare {gold} {' '.join(runs[:2])}"
    return f"Next: why other tools differ: karat explain {gold} {runs[0]} -m ndcg@10"
