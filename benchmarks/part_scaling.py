"""Shows how rankjury's time and memory grow with the number of lines, from TREC text and from Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dataset import FULL_QUERIES, QUICK_QUERIES, Dataset
from harness import Command, Results, Summary, measure_rounds, prepare_dataset, render_table
from options import Options
from part_files import rankjury_command

SIZES = (QUICK_QUERIES, FULL_QUERIES, 3 * FULL_QUERIES)
FORMATS = ("TREC", "Parquet")


def case_name(file_format: str, dataset: Dataset) -> str:
    return f"{file_format} {dataset.rows / 1e6:.1f} M"


def case_command(rankjury: Path, file_format: str, dataset: Dataset) -> Command:
    if file_format == "TREC":
        return rankjury_command(rankjury, dataset.trec_gold, dataset.trec_run)
    return rankjury_command(rankjury, dataset.parquet_gold, dataset.parquet_run)


def describe_case(summary: Summary, rows: int, base: Summary, base_rows: int) -> Results:
    """Put one measurement beside the one of the usual size."""
    per_row = summary.seconds / rows
    return {
        **summary.as_result(),
        "rows": rows,
        "rows_per_second": 1 / per_row,
        "time_per_row_relative": per_row / (base.seconds / base_rows),
    }


def describe_cases(summaries: Mapping[str, Summary], datasets: list[Dataset]) -> dict[str, Results]:
    base = next(dataset for dataset in datasets if dataset.queries == FULL_QUERIES)
    return {
        case_name(file_format, dataset): describe_case(
            summaries[case_name(file_format, dataset)],
            dataset.rows,
            summaries[case_name(file_format, base)],
            base.rows,
        )
        for file_format in FORMATS
        for dataset in datasets
    }


def run_part(options: Options) -> tuple[Results, bool]:
    """Measure and print; only rankjury takes part."""
    sizes = SIZES[:2] if options.quick else SIZES
    datasets = [prepare_dataset(options.data, queries, options.python) for queries in sizes]
    commands = {
        case_name(file_format, dataset): case_command(options.rankjury, file_format, dataset)
        for dataset in datasets
        for file_format in FORMATS
    }
    cases = describe_cases(measure_rounds(commands, options.rounds), datasets)
    rows = [
        (
            name,
            f"{case['rows']:,}",
            f"{case['seconds']:.2f}",
            f"{case['rows_per_second']:,.0f}",
            f"{case['time_per_row_relative']:.2f}",
            f"{case['peak_megabytes']:,.0f}",
        )
        for name, case in cases.items()
    ]
    base = f"time per row / that of {FULL_QUERIES * 1000 / 1e6:.1f} M"
    print(f"\nGrowth with the number of rows, best of {options.rounds}:\n")
    print(render_table(("input", "rows", "seconds", "rows / s", base, "peak MB"), rows))
    return {"cases": cases}, True
