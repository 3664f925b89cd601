"""rankjury log: a report to MLflow or Weights & Biases."""

from enum import StrEnum
from os.path import exists, isdir
from typing import Annotated, Any

import typer

from rankjury.cli.shared.archive import ArchiveOption, open_archive
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
    "Figures are called system/measure in the tool's letters: bm25/ndcg_10, with bm25/ndcg_10_ci_low and so on beside "
    "it. pip install 'rankjury[mlflow]' or 'rankjury[wandb]' brings the library."
)

Tool = StrEnum("Tool", ["mlflow", "wandb"])


_CALLED = {Tool.mlflow: "MLflow", Tool.wandb: "Weights & Biases"}


def log_command(
    report: Annotated[
        str, typer.Argument(metavar="REPORT | RUN", help="A saved report, or an archived run by its name.")
    ] = "latest",
    *,
    to: Annotated[Tool, typer.Option(help="Where to: MLflow, or Weights & Biases.", show_default=False)],
    experiment: Annotated[
        str | None, typer.Option(metavar="NAME", help="The experiment; in Weights & Biases the project.")
    ] = None,
    tracking: Annotated[
        str | None, typer.Option(metavar="URI", help="MLflow's server or database; unset: as it is set up.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What to call the new run there.")] = None,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Prefix for all metric names.")] = "",
    measures: MeasuresOption = None,
    files: Annotated[
        bool, typer.Option("--files/--no-files", help="Also the report itself: JSON, Markdown, HTML.")
    ] = True,
    archive: ArchiveOption = None,
    quiet: QuietOption = False,
) -> None:
    """Send a report to MLflow or Weights & Biases.

    Values are logged with intervals, conventions, verdicts and files.
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
