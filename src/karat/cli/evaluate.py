"""karat evaluate: score runs against a gold."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from karat.cli.common import split_measures
from karat.cli.options import (
    GoldArgument,
    JsonOption,
    MeasuresOption,
    OutputOption,
    RunsArgument,
    Scoring,
    takes_scoring_options,
)
from karat.cli.output import check_outputs, deliver
from karat.cli.scoring import assess_files
from karat.errors import UsageError

if TYPE_CHECKING:
    from karat.report import Report

__all__ = ["add_to"]

_EPILOG = (
    "Examples:\n\n"
    "  karat evaluate qrels.txt bm25.trec dense.trec\n\n"
    "  karat evaluate qrels.txt run.trec -m ndcg@10 -m 'recall(rel=2)@100'\n\n"
    "  karat evaluate qrels.txt run.trec --per-query scores.csv\n\n"
    "  karat evaluate qrels.txt run.trec -m map --dialect trec_eval --json\n\n"
    "  karat evaluate qrels.txt run.trec --slices queries.csv:type,length\n\n"
    "  karat evaluate qrels.txt run.trec -o report.html\n\n"
    "  zcat run.gz | karat evaluate qrels.txt - -o report.md -o report.json\n\n"
    "Reads TREC, JSON, JSONL, CSV, TSV and Parquet, also .gz and .zst; karat metrics lists the measures."
)


def add_to(app: typer.Typer) -> None:
    app.command("evaluate", epilog=_EPILOG)(takes_scoring_options(evaluate_command))


def evaluate_command(
    gold: GoldArgument,
    runs: RunsArgument,
    scoring: Scoring,
    measures: MeasuresOption = None,
    per_query: Annotated[
        Path | None,
        typer.Option("--per-query", metavar="FILE", help="Write every query's scores: .csv, .tsv, .jsonl or .parquet."),
    ] = None,
    output: OutputOption = None,
    as_json: JsonOption = False,
    no_ci: Annotated[bool, typer.Option("--no-ci", help="Means only, without intervals.")] = False,
) -> None:
    """Score runs against a gold.

    Prints a table of means with bootstrap intervals over queries and the number of queries averaged, and warns of what
    would mislead: missing queries, unjudged items, equal scores at the cut-off.
    """
    check_outputs(output, per_query)
    if no_ci and (scoring.slices or scoring.item_slices):
        raise UsageError("--no-ci leaves nothing to tell slices apart by", hint="Leave --no-ci or --slices away.")
    how = None if no_ci else scoring.resampling()
    report = assess_files(gold, runs, split_measures(measures) if measures else None, how, scoring, outputs=output)
    deliver(
        report,
        _show,
        outputs=output,
        per_query=per_query,
        as_json=as_json,
        next_step=_next_step(gold, runs),
        quiet=scoring.quiet,
    )


def _show(report: "Report") -> None:
    from karat.reports.console import print_report, print_slices

    print_report(report)
    if report.slices:
        print_slices(report)


def _next_step(gold: str, runs: list[str]) -> str:
    if "-" in (gold, *runs):
        return "Next: keep every query's scores with --per-query scores.csv"
    if len(runs) > 1:
        return f"Next: is it better? karat compare {gold} {' '.join(runs[:2])}"
    return f"Next: why other tools differ: karat explain {gold} {runs[0]} -m ndcg@10"
