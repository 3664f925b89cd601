"""Runs scored in blocks, here or by the workers of Spark: tables that are too large to be read whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os.path import isdir, isfile
from pathlib import Path
from typing import TYPE_CHECKING

from karat.cli.common import exists, say, show_progress
from karat.cli.options import Place, Scoring
from karat.cli.slices import parted
from karat.cli.spark import check_place, spark_session
from karat.errors import UsageError

if TYPE_CHECKING:
    from karat.dialects import Asked
    from karat.report import Report
    from karat.scale.inputs import SlicesAsked
    from karat.scale.memory import Budget
    from karat.scale.request import Request
    from karat.statistics.intervals import Resampling

__all__ = ["Wanted", "assess_in_blocks", "is_for_blocks"]

_OF_A_TASK = 10**9
_LARGE = 1 << 30
_SHARE_OF_MEMORY = 8
"""Parquet files of one part in so many of the memory take about all of it when they are judged whole."""


@dataclass(frozen=True)
class Wanted:
    """What a command wants to know of which files, besides how they are read and scored."""

    gold: str
    runs: Mapping[str, str]
    """By the systems' names."""
    measures: Sequence[str] | None
    how: "Resampling | None"
    baseline: str | None = None
    outputs: Sequence[Path] = ()
    per_query: str | None = None
    quantiles: Sequence[float] = ()

    def asked(self, scoring: Scoring) -> "list[Asked]":
        from karat.evaluation import DEFAULT_MEASURES, resolve_all

        return resolve_all(self.measures or DEFAULT_MEASURES, scoring.dialect, scoring.conventions())


def is_for_blocks(gold: str, runs: Sequence[str], scoring: Scoring) -> bool:
    """Whether it was asked for, or cannot be done otherwise: folders of Parquet, files that would fill the memory."""
    from karat.scale.files import is_table

    if scoring.on is Place.here and scoring.master is None and scoring.memory is None:
        paths = [Path(path) for path in (gold, *runs) if path != "-" and exists(path)]
        sliced = [parted(text)[0] for text in (*(scoring.slices or ()), *(scoring.item_slices or ()))]
        attributes = [Path(path) for path in sliced if exists(path)]
        folders = [path for path in (*paths, *attributes) if isdir(path) and is_table(path)]
        size = sum(path.stat().st_size for path in paths if isfile(path))
        return bool(folders) or (size > _LARGE and _would_fill_memory(paths, size))
    return True


def _would_fill_memory(paths: Sequence[Path], size: int) -> bool:
    from karat.scale.files import is_table
    from karat.scale.memory import available_memory

    return size > available_memory() / _SHARE_OF_MEMORY and all(map(is_table, paths))


def assess_in_blocks(wanted: Wanted, scoring: Scoring) -> "Report":
    """The same as from everything at once, but for what is shown of single queries."""
    check_place(scoring.on, scoring.master)
    _check([wanted.gold, *wanted.runs.values()], scoring)
    from karat.scale.request import Request

    request = Request(
        wanted.gold,
        dict(wanted.runs),
        tuple(wanted.asked(scoring)),
        wanted.how,
        wanted.baseline,
        scoring.duplicates.value,
        quantiles=tuple(wanted.quantiles),
    )
    budget = _budget(scoring)
    work = _by_spark if scoring.on is Place.spark else _here
    report = work(request, budget, scoring, wanted.per_query)
    if wanted.per_query is None and any(path.suffix.lower() == ".html" for path in wanted.outputs):
        say("Single queries are not on the page: karat evaluate --per-query writes their scores.", quiet=scoring.quiet)
    return report


def _check(paths: Sequence[str], scoring: Scoring) -> None:
    if "-" in paths:
        raise UsageError(
            "standard input cannot be read in blocks or on Spark",
            expected="the path of a Parquet file, or of a folder of them",
        )
    for option, given in (("--format", scoring.form), ("--gold-format", scoring.gold_form)):
        if given not in (None, "parquet"):
            raise UsageError(f"{option} {given} in blocks", expected="Parquet", hint="karat convert makes it.")


def _budget(scoring: Scoring) -> "Budget":
    from karat.scale.memory import LEAST_MEMORY, Budget, available_memory, parse_memory

    if scoring.memory is not None:
        return Budget(parse_memory(scoring.memory))
    if scoring.on is Place.spark:
        return Budget(_OF_A_TASK)
    return Budget(max(available_memory() // 2, LEAST_MEMORY))


def _slices(given: list[str] | None) -> "list[SlicesAsked]":
    from karat.scale.inputs import SlicesAsked

    return [SlicesAsked(*parted(text)) for text in given or ()]


def _here(request: "Request", budget: "Budget", scoring: Scoring, per_query: str | None) -> "Report":
    from karat.scale.one_process import evaluate_files

    slices, item_slices = _slices(scoring.slices), _slices(scoring.item_slices)
    with show_progress(quiet=scoring.quiet) as progress:
        target = None if per_query is None else Path(per_query)
        return evaluate_files(
            request, slices, item_slices, budget, per_query=target, temp=scoring.temp, progress=progress
        )


def _by_spark(request: "Request", budget: "Budget", scoring: Scoring, per_query: str | None) -> "Report":
    from karat.scale.spark.files import evaluate_files

    slices, item_slices = _slices(scoring.slices), _slices(scoring.item_slices)
    with (
        spark_session(scoring.master, quiet=scoring.quiet, temp=scoring.temp) as spark,
        show_progress(quiet=scoring.quiet) as progress,
    ):
        return evaluate_files(
            spark, request, slices, item_slices, budget, per_query=per_query, temp=scoring.temp, progress=progress
        )
