"""A report in Weights & Biases: figures in history and summary, conventions in the config, tables, and the files.

    with wandb.init(project="search"):
        log_report(report, gate=gate)

It is logged into the run that is active; without one, a run of its own is started, and finished. ``WANDB_MODE=offline``
keeps everything on this machine until ``wandb sync``.
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
    """Log a report, its JSON or an archived run; returns the id of the run that it was logged into.

    ``run`` is a run of Weights & Biases. Without it, it is the active one; or a new one, as always where a ``project``
    is named. ``prefix`` stands before the name of whatever is logged: so that one run takes several reports.
    ``measures`` are those to log, None: all. ``artifacts``: the report as JSON, as Markdown and as a page.

    Figures are called as in MLflow, ``system/measure``: ``bm25/ndcg_10``, ``bm25/ndcg_10_ci_low`` and so on. Tables are
    ``rankjury/headline``, ``rankjury/slices`` and ``rankjury/worst_queries``.
    """
    found = loggable_report(report, gate)
    flat = flatten(found, prefix=prefix, measures=measures)
    files = report_artifacts(report, found) if artifacts else {}
    # A dot in a name of the summary would be taken for a step inwards.
    tags = {name.replace("rankjury.", "rankjury/"): tag for name, tag in flat.tags.items()}
    values = report_tables(found)
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
                into.log_artifact(_artifact(found, prefix, files))
            return str(into.id)
    except wandb.Error as error:
        hint = (
            "WANDB_MODE=offline keeps it on this machine." if re.search("api.key", str(error), re.IGNORECASE) else None
        )
        raise DataError(f"Weights & Biases refuses: {str(error).rstrip('.')}", hint=hint) from error


def _artifact(report: Report, prefix: str, files: Mapping[str, str]) -> Any:
    """One a plan, so that its reports are versions of each other."""
    name = clean_name(f"{prefix}{report.provenance.get('name') or 'rankjury'}-report")
    metadata = {"rankjury": report.version, "made": report.provenance.get("made")}
    made = wandb.Artifact(name, type="rankjury-report", metadata=metadata)
    for file, text in files.items():
        with made.new_file(file, encoding="utf-8") as opened:
            opened.write(text)
    return made


@contextmanager
def _run_for(run: Any, name: str | None, project: str | None) -> Iterator[Any]:
    """The run to log into; one that is started here is finished here."""
    active = run if run is not None else wandb.run if project is None else None
    if active is not None:
        yield active
        return
    with wandb.init(project=project, name=name, job_type="rankjury", reinit="create_new") as started:
        yield started
