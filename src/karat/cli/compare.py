"""karat compare: is it better, by how much, and where not?"""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

import typer

from karat.cli.common import Duplicates, DuplicatesOption, FormatOption, QuietOption, say, split_measures, warn
from karat.cli.evaluate import check_outputs, write_outputs
from karat.cli.scoring import (
    BaselineOption,
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
from karat.errors import UnknownName, UsageError

__all__ = ["add_to", "baseline_among"]

_EPILOG = (
    "Examples:\n\n"
    "  karat compare qrels.txt bm25.trec dense.trec\n\n"
    "  karat compare qrels.txt a.trec b.trec c.trec --baseline b -m ndcg@10,recall@100 -o diff.md\n\n"
    "  karat compare qrels.txt old.trec new.trec --slices queries.csv:type,type*lang\n\n"
    "The first run is the baseline, unless --baseline names another. Same seed, same digits."
)


def add_to(app: typer.Typer) -> None:
    app.command("compare", epilog=_EPILOG)(compare_command)


def compare_command(
    gold: GoldArgument,
    runs: RunsArgument,
    baseline: BaselineOption = None,
    measures: MeasuresOption = None,
    dialect: DialectOption = None,
    slices: SlicesOption = None,
    item_slices: ItemSlicesOption = None,
    output: OutputOption = None,
    as_json: JsonOption = False,
    detect: Annotated[
        float, typer.Option("--detect", help="Say how many queries it takes to show such a difference.")
    ] = 0.01,
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
    quiet: QuietOption = False,
) -> None:
    """Compare runs with a baseline, query by query.

    Differences come with an interval and the p-value of a sign-flip randomisation test, corrected for all comparisons;
    with the queries that lost most and where their relevant items went; and with the difference that so many queries
    could have shown.
    """
    check_outputs(None, output or [])
    if len(runs) < 2:
        raise UsageError("found one run", expected="two or more: karat compare GOLD RUN RUN…")
    request = Request(
        gold,
        runs,
        split_measures(measures) if measures else None,
        dialect,
        overrides={"ties": ties, "missing": missing, "empty": empty, "rel": rel},
        duplicates=duplicates,
        forms=(form, form),
        slices=tuple(slices or ()),
        item_slices=tuple(item_slices or ()),
        quiet=quiet,
    )
    how = resampling(level, resamples, seed, interval)
    report = replace(assess_files(request, how, baseline_among(baseline, runs)), detect=_above_zero(detect))
    report = add_figures(report, record)
    written = write_outputs(report, None, output or [])
    if as_json:
        from karat.reports.json import summary_to_json

        print(summary_to_json(report), end="")
    else:
        from karat.reports.console import print_comparison, print_slices

        print_comparison(report)
        if report.slices:
            print_slices(report)
    warn(report.warnings, quiet=quiet)
    if written:
        say(f"Wrote {', '.join(map(str, written))}", quiet=quiet)
    elif not as_json:
        say("Next: keep it with -o diff.md, or decide with karat gate targets.toml", quiet=quiet)


def _above_zero(detect: float) -> float:
    if not 0 < detect < float("inf"):
        raise UsageError(f"--detect is {detect}", expected="a difference above 0, such as 0.01")
    return detect


def baseline_among(given: str | None, runs: list[str]) -> Callable[[list[str]], str]:
    """The system that --baseline names, by its name or its file; the first where it is not given."""

    def choose(names: list[str]) -> str:
        if given is None:
            return names[0]
        if given in runs:
            return names[runs.index(given)]
        if given not in names:
            raise UnknownName("system", given, names, where="--baseline")
        return given

    return choose
