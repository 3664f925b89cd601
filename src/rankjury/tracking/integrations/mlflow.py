"""A report in MLflow: figures as metrics, conventions and settings as parameters, the verdict as a tag, and the files.

    with mlflow.start_run():
        log_report(report, gate=gate)

It is logged into the run that is active; without one, a run of its own is started, and ended. Works with ``mlflow`` and
with ``mlflow-skinny``.
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

_MOST_METRICS, _MOST_OTHERS = 1_000, 100
"""At once: what a server takes."""


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
    """Log a report, its JSON or an archived run; returns the id of the run that it was logged into.

    ``run`` is a run of MLflow, or its id. Without it, it is the active one; or a new one, as always where an
    ``experiment`` or a ``tracking_uri`` is named. ``prefix`` stands before the name of whatever is logged: so that one
    run takes several reports. ``measures`` are those to log, None: all. ``artifacts``: the report as JSON, as Markdown
    and as a page.

    Metrics are called ``system/measure``, in letters, digits, ``_``, ``-`` and ``.``: ``bm25/ndcg_10``, with
    ``bm25/ndcg_10_ci_low``, ``_ci_high``, ``_n``, ``_difference``, ``_difference_ci_low``, ``_difference_ci_high`` and
    ``_p`` (corrected after Holm) behind it.
    """
    found = loggable_report(report, gate)
    flat = flatten(found, prefix=prefix, measures=measures)
    files = report_artifacts(report, found) if artifacts else {}
    try:
        client = mlflow.MlflowClient(tracking_uri=tracking_uri)
        with _run_for(client, run, run_name, experiment, new=bool(experiment or tracking_uri)) as run_id:
            _log(client, run_id, flat, step)
            for name, text in files.items():
                client.log_text(run_id, text, f"{prefix}{name}")
    except mlflow.exceptions.MlflowException as error:
        where = tracking_uri or mlflow.get_tracking_uri()
        hint = (
            "A run takes a parameter once: give the second report a prefix." if "param" in str(error).lower() else None
        )
        raise DataError(f"MLflow refuses: {error.message.splitlines()[0]}", where=where, hint=hint) from error
    return run_id


def _log(client: Any, run_id: str, flat: LoggedValues, step: int) -> None:
    """Parameters first: a run that has others already gets nothing of this report."""
    params = [mlflow.entities.Param(name, value) for name, value in flat.params.items()]
    for some in _parts(params, _MOST_OTHERS):
        client.log_batch(run_id, params=some)
    now = int(time() * 1_000)
    metrics = [mlflow.entities.Metric(name, value, now, step) for name, value in flat.metrics.items()]
    for some in _parts(metrics, _MOST_METRICS):
        client.log_batch(run_id, metrics=some)
    client.log_batch(run_id, tags=[mlflow.entities.RunTag(name, value) for name, value in flat.tags.items()])


def _parts(values: list[Any], size: int) -> Iterator[list[Any]]:
    return (values[start : start + size] for start in range(0, len(values), size))


@contextmanager
def _run_for(client: Any, run: Any, name: str | None, experiment: str | None, *, new: bool) -> Iterator[str]:
    """The id of the run to log into; one that is started here ends here."""
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
            found = client.get_experiment_by_name(experiment)
            experiment_id = str(client.create_experiment(experiment) if found is None else found.experiment_id)
        made = str(client.create_run(experiment_id, run_name=name).info.run_id)
        try:
            yield made
        except BaseException:
            client.set_terminated(made, "FAILED")
            raise
        client.set_terminated(made)
