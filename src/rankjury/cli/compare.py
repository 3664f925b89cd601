"""rankjury compare: is it better, by how much, and where not?"""

from dataclasses import replace
from typing import Annotated

import typer

from rankjury.cli.shared import options
from rankjury.cli.shared.commands import RESAMPLING
from rankjury.cli.shared.console import check_outputs, print_result, write_outputs
from rankjury.errors import DataError, UsageError

GROUP = "Evaluate"
ORDER = 2
EPILOG = (
    "Examples:\n\n"
    "  rankjury compare qrels.txt bm25.trec dense.trec\n\n"
    "  rankjury compare qrels.txt a.trec b.trec c.trec --baseline b -o diff.md\n\n"
    "  rankjury compare qrels.txt old.trec new.trec -o diff.html\n\n"
    "  rankjury compare qrels.txt old.trec new.trec -s queries.csv:type,type*lang\n\n"
    "The first run is the baseline, unless --baseline names another. The same seed gives the same digits."
)


@options.expand_options
def compare_command(
    gold: options.GoldArgument,
    runs: options.RunsArgument,
    scoring: options.ScoringOptions,
    baseline: options.BaselineOption = None,
    measures: options.MeasuresOption = None,
    k: options.CutoffsOption = None,
    output: options.OutputOption = None,
    as_json: options.JsonOption = False,
    full: options.FullOption = False,
    detect: Annotated[
        float,
        typer.Option(
            help="Also print how many queries are needed to detect this difference.", rich_help_panel=RESAMPLING
        ),
    ] = 0.01,
) -> None:
    """Test whether one run is better than another.

    Compares each run with a baseline, query by query. Each difference has a confidence interval and a p-value
    (randomization test, corrected for all comparisons). Also lists the queries with the largest losses, and the
    smallest difference that this number of queries can detect.
    """
    check_outputs(output)
    if len(options.name_runs(runs, baseline)[0]) < 2:
        raise UsageError("found one run", expected="two or more: rankjury compare GOLD OLD NEW")
    if not 0 < detect < float("inf"):
        raise UsageError(f"--detect is {detect}", expected="a difference above 0, such as 0.01")
    asked = options.asked_measures(measures, k)
    report = options.assess_files(gold, runs, asked, scoring.resampling(), scoring, baseline or runs[0], output)
    if not any(comparison.n for comparison in report.comparisons):
        raise DataError(
            f"under no measure is any query defined for both {report.baseline} and another system",
            where=gold,
            expected="queries with something relevant",
            hint="--empty zero counts those with nothing relevant as 0.",
        )
    report = replace(report, detect=detect)
    write_outputs(report, output)
    print_result(
        report,
        omit=("headline",),
        outputs=output,
        as_json=as_json,
        next_step="Next: look into it with -o diff.html, or decide with rankjury gate targets.toml",
    )
