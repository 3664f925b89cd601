"""Logger for Weights & Biases: values in history and summary, conventions in the config, tables, and files.

    with wandb.init(project="search"):
        log_report(report, gate=gate)

The report is logged into the active run; without one, a new run is started and finished. ``WANDB_MODE=offline`` keeps
everything on this machine until ``wandb sync``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rankjury.core.importing import import_optional
from rankjury.errors import DataError
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import Report
from rankjury.tracking.integrations.loggable import (
    clean_name,
    flatten,
    loggable_report,
    report_artifacts,
    report_tables,
)

wandb = import_optional("wandb", "logging to Weights & Biases")


def log_report(
    report: Any,
    *,
    gate: Gate | Mapping[str, Any] | None = None,
    prefix: str = "",
    measures: Sequence[str] | None = None,
    artifacts: bool = True,
    step: int | None = None,
    run: Any = None,
    run_name: str | None = None,
    project: str | None = None,
) -> str:
    """Log a report into a run of Weights & Biases.

    Values are called as in MLflow, ``system/measure``: ``bm25/ndcg_10``, ``bm25/ndcg_10_ci_low`` and so on. Tables are
    ``rankjury/headline``, ``rankjury/slices`` and ``rankjury/worst_queries``.

    Args:
        report: A report, its JSON or an archived run.
        gate: The verdicts on its targets.
        prefix: Text before all names, so that one run takes several reports.
        measures: The measures to log; None: all of them. The files have the whole report.
        artifacts: Whether to log the report as JSON, as Markdown and as a page.
        step: The step of the history.
        run: The run; by default the active one, or a new one where there is none or a project is named.
        run_name: Name of a new run.
        project: Project of a new run.

    Returns:
        The id of the run.
    """
    loggable = loggable_report(report, gate)
    flat = flatten(loggable, prefix=prefix, measures=measures)
    files = report_artifacts(report, loggable) if artifacts else {}
    # A dot in a name of the summary would start a nested value.
    tags = {name.replace("rankjury.", "rankjury/"): tag for name, tag in flat.tags.items()}
    values = report_tables(loggable, measures)
    try:
        with _run_for(run, run_name, project) as into:
            into.config.update(flat.params, allow_val_change=True)
            tables = {
                f"{prefix}rankjury/{name}": wandb.Table(columns=columns, data=rows, allow_mixed_types=True)
                for name, (columns, rows) in values.items()
            }
            into.log(flat.metrics | tables, step=step)
            into.summary.update(flat.metrics | tags)
            if files:
                into.log_artifact(_artifact(loggable, prefix, files))
            return str(into.id)
    except wandb.Error as error:
        needs_key = re.search("api.key", str(error), re.IGNORECASE) is not None
        hint = "WANDB_MODE=offline keeps it on this machine." if needs_key else None
        raise DataError(f"Weights & Biases refuses: {str(error).rstrip('.')}", hint=hint) from error


def _artifact(report: Report, prefix: str, files: Mapping[str, str]) -> Any:
    """Return the artifact of a plan: its reports are versions of each other."""
    name = clean_name(f"{prefix}{report.provenance.get('name') or 'rankjury'}-report")
    metadata = {"rankjury": report.version, "made": report.provenance.get("made")}
    artifact = wandb.Artifact(name, type="rankjury-report", metadata=metadata)
    for file, text in files.items():
        with artifact.new_file(file, encoding="utf-8") as opened:
            opened.write(text)
    return artifact


@contextmanager
def _run_for(run: Any, name: str | None, project: str | None) -> Iterator[Any]:
    """Yield the run to log into; one that is started here is finished here."""
    active = run if run is not None else wandb.run if project is None else None
    if active is not None:
        yield active
        return
    with wandb.init(project=project, name=name, job_type="rankjury", reinit="create_new") as started:
        yield started
