"""Logger for MLflow: values as metrics, conventions and settings as parameters, the verdict as a tag, and files.

    with mlflow.start_run():
        log_report(report, gate=gate)

The report is logged into the active run; without one, a new run is started and ended. Works with ``mlflow`` and with
``mlflow-skinny``.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import time
from typing import Any

from rankjury.core.importing import import_optional
from rankjury.errors import DataError
from rankjury.evaluation.gate import Gate
from rankjury.tracking.integrations.loggable import LoggedValues, flatten, loggable_report, report_artifacts

mlflow = import_optional("mlflow", "logging to MLflow")


def log_report(
    report: Any,
    *,
    gate: Gate | Mapping[str, Any] | None = None,
    prefix: str = "",
    measures: Sequence[str] | None = None,
    artifacts: bool = True,
    step: int = 0,
    run: Any = None,
    run_name: str | None = None,
    experiment: str | None = None,
    tracking_uri: str | None = None,
) -> str:
    """Log a report into a run of MLflow.

    Metrics are called ``system/measure``, in letters, digits, ``_``, ``-`` and ``.``: ``bm25/ndcg_10``, with
    ``bm25/ndcg_10_ci_low``, ``_ci_high``, ``_n``, ``_difference``, ``_difference_ci_low``, ``_difference_ci_high`` and
    ``_p`` (corrected after Holm).

    Args:
        report: A report, its JSON or an archived run.
        gate: The verdicts on its targets.
        prefix: Text before all names, so that one run takes several reports.
        measures: The measures to log; None: all of them. The files have the whole report.
        artifacts: Whether to log the report as JSON, as Markdown and as a page.
        step: The step of the metrics.
        run: The run or its id; by default the active one, or a new one where there is none, or where an experiment or a
            tracking URI is named.
        run_name: Name of a new run.
        experiment: Experiment of a new run.
        tracking_uri: Server to log to.

    Returns:
        The id of the run.
    """
    loggable = loggable_report(report, gate)
    flat = flatten(loggable, prefix=prefix, measures=measures)
    files = report_artifacts(report, loggable) if artifacts else {}
    try:
        client = mlflow.MlflowClient(tracking_uri=tracking_uri)
        with _run_for(client, run, run_name, experiment, new=bool(experiment or tracking_uri)) as run_id:
            _log(client, run_id, flat, step)
            for name, text in files.items():
                client.log_text(run_id, text, f"{prefix}{name}")
    except mlflow.exceptions.MlflowException as error:
        where = tracking_uri or mlflow.get_tracking_uri()
        hint = "A run takes a parameter once: give the second report a prefix."
        found = f"MLflow refuses: {error.message.splitlines()[0]}"
        raise DataError(found, where=where, hint=hint if "param" in str(error).lower() else None) from error
    return run_id


def _log(client: Any, run_id: str, flat: LoggedValues, step: int) -> None:
    """Log parameters first: a run that has others already gets nothing of this report.

    A server takes batches of at most 100 parameters and 1,000 metrics.
    """
    params = [mlflow.entities.Param(name, value) for name, value in flat.params.items()]
    for start in range(0, len(params), 100):
        client.log_batch(run_id, params=params[start : start + 100])
    now = int(time() * 1_000)
    metrics = [mlflow.entities.Metric(name, value, now, step) for name, value in flat.metrics.items()]
    for start in range(0, len(metrics), 1_000):
        client.log_batch(run_id, metrics=metrics[start : start + 1_000])
    client.log_batch(run_id, tags=[mlflow.entities.RunTag(name, value) for name, value in flat.tags.items()])


@contextmanager
def _run_for(client: Any, run: Any, name: str | None, experiment: str | None, *, new: bool) -> Iterator[str]:
    """Yield the id of the run to log into; one that is started here ends here."""
    active = mlflow.active_run()
    if run is not None:
        yield str(run if isinstance(run, str) else run.info.run_id)
    elif active is not None and not new:
        yield str(active.info.run_id)
    elif not new:
        with mlflow.start_run(run_name=name) as started:
            yield str(started.info.run_id)
    else:
        experiment_id = "0"  # the default one
        if experiment is not None:
            existing = client.get_experiment_by_name(experiment)
            experiment_id = str(client.create_experiment(experiment) if existing is None else existing.experiment_id)
        run_id = str(client.create_run(experiment_id, run_name=name).info.run_id)
        try:
            yield run_id
        except BaseException:
            client.set_terminated(run_id, "FAILED")
            raise
        client.set_terminated(run_id)
