"""What the commands that score runs share: their options as arguments of ``karat.files.evaluate_files``."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from karat.cli.common import check_standard_input, say, show_progress
from karat.cli.options import Place, Scoring
from karat.errors import UnknownName, UsageError
from karat.files import evaluate_files, name_systems

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from karat.report import Report
    from karat.statistics.resampling import Resampling

__all__ = ["assess_files", "check_place", "spark_session"]


def check_place(on: Place, master: str | None) -> None:
    if master is not None and on is not Place.spark:
        raise UsageError("--master without --on spark", expected="both, or neither")


@contextmanager
def spark_session(master: str | None, *, quiet: bool, temp: Path | None = None) -> Iterator["SparkSession"]:
    from karat.scale.spark.session import open_session

    with ExitStack() as stack:
        with show_progress("Starting Spark", quiet=quiet):
            spark = stack.enter_context(open_session(master, temp=temp))
        yield spark


def assess_files(
    gold: str,
    runs: list[str],
    measures: list[str] | None,
    how: "Resampling | None",
    scoring: Scoring,
    baseline: str | None = None,
    outputs: Sequence[Path] | None = None,
    per_query: str | None = None,
    quantiles: Sequence[float] = (),
) -> "Report":
    """Evaluate the files as the options say; for a page among ``outputs``, keep what it shows of single queries."""
    check_standard_input([gold, *runs, *(scoring.slices or ()), *(scoring.item_slices or ())])
    paged = any(path.suffix.lower() == ".html" for path in outputs or ())
    with show_progress(quiet=scoring.quiet) as progress:
        report = evaluate_files(
            gold,
            runs,
            measures,
            resampling=how,
            baseline=baseline,
            slices=scoring.slices or (),
            item_slices=scoring.item_slices or (),
            names=scoring.names,
            texts=scoring.texts,
            recorded=_recorded(scoring, name_systems(runs)),
            quantiles=quantiles,
            dialect=scoring.dialect,
            conventions=scoring.conventions(),
            duplicates=scoring.duplicates.value,
            format=scoring.form,
            gold_format=scoring.gold_form,
            keep_top=0 if paged else None,
            memory=scoring.memory,
            on=scoring.on.value,
            master=scoring.master,
            temp=scoring.temp,
            per_query=per_query,
            progress=progress,
        )
    if report.queries is None and per_query is None and paged:
        say("Single queries are not on the page: karat evaluate --per-query writes their scores.", quiet=scoring.quiet)
    return report


def _recorded(scoring: Scoring, systems: list[str]) -> dict[str, dict[str, float]]:
    """Return what was recorded, of every system or of the one named."""
    found: dict[str, dict[str, float]] = {}
    for system, name, value in scoring.figures():
        if system is not None and system not in systems:
            raise UnknownName("system", system, systems, where=f"--record {system}:{name}")
        for one in systems if system is None else [system]:
            found.setdefault(one, {})[name] = value
    return found
