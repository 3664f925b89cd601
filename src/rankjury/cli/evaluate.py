"""rankjury evaluate: score runs against a gold."""

from typing import Annotated

import typer

from rankjury.cli.shared import options
from rankjury.cli.shared.commands import RESAMPLING
from rankjury.cli.shared.console import check_outputs, print_result, write_outputs
from rankjury.errors import UsageError

GROUP = "Evaluate"
ORDER = 1
EPILOG = (
    "Examples:\n\n"
    "  rankjury evaluate qrels.txt bm25.trec dense.trec\n\n"
    "  rankjury evaluate qrels.txt run.trec -m ndcg@10 -m 'recall(rel=2)@100'\n\n"
    "  rankjury evaluate qrels.txt run.trec --per-query scores.csv\n\n"
    "  rankjury evaluate qrels.txt run.trec -m map --dialect trec_eval --json\n\n"
    "  rankjury evaluate qrels.txt run.trec --slices queries.csv:type,length\n\n"
    "  rankjury evaluate qrels.txt run.trec -o report.html\n\n"
    "  rankjury evaluate gold/ run/ --memory 2GB --per-query scores/\n\n"
    "  rankjury evaluate gold/ run/ --on spark --master spark://host:7077\n\n"
    "  zcat run.gz | rankjury evaluate qrels.txt - -o report.md -o report.json\n\n"
    "Reads TREC, JSON, JSONL, CSV, TSV and Parquet, also compressed (.gz, .zst). The measures are listed by "
    "rankjury list metrics."
)


@options.expand_options
def evaluate_command(
    gold: options.GoldArgument,
    runs: options.RunsArgument,
    scoring: options.ScoringOptions,
    measures: options.MeasuresOption = None,
    k: options.CutoffsOption = None,
    per_query: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the scores of each query: .csv, .tsv, .jsonl, .parquet."),
    ] = None,
    output: options.OutputOption = None,
    as_json: options.JsonOption = False,
    full: options.FullOption = False,
    no_ci: Annotated[
        bool,
        typer.Option("--no-ci", help="Print means only, without confidence intervals.", rich_help_panel=RESAMPLING),
    ] = False,
    quantiles: Annotated[
        str | None, typer.Option(metavar="PERCENTS", help="Also print quantiles of the query scores: 5,50,95.")
    ] = None,
) -> None:
    """Score one or more runs against relevance judgments.

    Prints means with bootstrap intervals, and warns about missing queries, unjudged items and equal scores at the
    cut-off.
    """
    check_outputs(output, per_query, here=scoring.on is options.Backend.here)
    if no_ci and (scoring.slices or scoring.item_slices):
        raise UsageError("--slices needs confidence intervals", hint="Drop --no-ci or --slices.")
    resampling = None if no_ci else scoring.resampling()
    shares = [] if quantiles is None else _read_shares(quantiles)
    asked = options.asked_measures(measures, k)
    from rankjury.io.atomic import together

    with together():
        report = options.assess_files(
            gold, runs, asked, resampling, scoring, outputs=output, per_query=per_query, quantiles=shares
        )
        write_outputs(report, output)
    if "-" in (gold, *runs):
        hint = "keep every query's scores with --per-query scores.csv"
    elif len(runs) > 1:
        hint = f"is it better? rankjury compare {gold} {' '.join(runs[:2])}"
    else:
        hint = f"why other tools differ: rankjury explain {gold} {runs[0]} -m ndcg@10"
    print_result(report, outputs=output, per_query=per_query, as_json=as_json, next_step=f"Next: {hint}")


def _read_shares(text: str) -> list[float]:
    """Return 0.05, 0.5 and 0.95 for ``5,50,95``."""
    try:
        shares = [float(number) / 100 for number in text.split(",")]
    except ValueError:
        shares = [-1.0]
    if not all(0 <= share <= 1 for share in shares):
        raise UsageError(f"--quantiles is {text!r}", expected="percentages such as 5,50,95")
    return shares
