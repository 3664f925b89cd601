"""rankjury log: a report to MLflow or Weights & Biases."""

from enum import StrEnum
from os.path import exists, isdir
from typing import Annotated, Any

import typer

from rankjury.cli.shared.archive import ArchiveOption, open_archive
from rankjury.cli.shared.completion import complete_runs
from rankjury.cli.shared.console import print_line, say, split_measures
from rankjury.cli.shared.options import MeasuresOption, QuietOption
from rankjury.errors import UsageError

GROUP = "History"
ORDER = 8
EPILOG = (
    "Examples:\n\n"
    "  rankjury log --to mlflow --experiment search\n\n"
    "  rankjury log report.json --to mlflow --tracking sqlite:///mlflow.db -m ndcg@10\n\n"
    "  WANDB_MODE=offline rankjury log latest:movies --to wandb --experiment search\n\n"
    "Values are logged as system/measure, in characters that the tool allows: bm25/ndcg_10, with the interval in "
    "bm25/ndcg_10_ci_low and bm25/ndcg_10_ci_high.\n\n"
    "The library is installed with pip install 'rankjury[mlflow]' or 'rankjury[wandb]'."
)

Tool = StrEnum("Tool", ["mlflow", "wandb"])


_CALLED = {Tool.mlflow: "MLflow", Tool.wandb: "Weights & Biases"}


def log_command(
    report: Annotated[
        str,
        typer.Argument(
            metavar="REPORT | RUN",
            help="Saved report, or archived run (see rankjury show).",
            autocompletion=complete_runs,
        ),
    ] = "latest",
    *,
    to: Annotated[Tool, typer.Option(help="Tracker: MLflow, or Weights & Biases.", show_default=False)],
    experiment: Annotated[
        str | None, typer.Option(metavar="NAME", help="Experiment (MLflow) or project (Weights & Biases).")
    ] = None,
    tracking: Annotated[
        str | None, typer.Option(metavar="URI", help="MLflow server or database; default: MLflow's own setting.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Name of the new run in the tracker.")] = None,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Prefix for all metric names.")] = "",
    measures: MeasuresOption = None,
    files: Annotated[
        bool, typer.Option("--files/--no-files", help="Also log the report as JSON, Markdown and HTML.")
    ] = True,
    archive: ArchiveOption = None,
    quiet: QuietOption = False,
) -> None:
    """Send a report to MLflow or Weights & Biases.

    Logs values with intervals, conventions, verdicts and the report files.
    """
    if tracking is not None and to is not Tool.mlflow:
        raise UsageError("--tracking is MLflow's", hint="WANDB_BASE_URL names another server of Weights & Biases.")
    is_file = report == "-" or (exists(report) and not isdir(report))
    if is_file:
        from rankjury.evaluation.report import read_report

        found: Any = read_report(report)
    else:
        found = open_archive(archive).find(report)
    options: dict[str, Any] = {
        "prefix": prefix,
        "measures": split_measures(measures) if measures else None,
        "artifacts": files,
        "run_name": name or (None if is_file else found.name),
    }
    if to is Tool.mlflow:
        from rankjury.tracking.integrations import mlflow

        run_id = mlflow.log_report(found, experiment=experiment, tracking_uri=tracking, **options)
    else:
        from rankjury.tracking.integrations import wandb

        run_id = wandb.log_report(found, project=experiment, **options)
    print_line(run_id)
    say(f"Logged {report if is_file else found.name} to {_CALLED[to]}: the id of the run there is above")
