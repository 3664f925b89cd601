"""What the commands that score runs share: files → Report."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from os.path import isdir, isfile
from pathlib import Path
from typing import TYPE_CHECKING

from karat.cli.common import check_form, check_standard_input, exists, looks_like_path, name_systems, say, show_progress
from karat.cli.options import Place, Scoring
from karat.errors import DataError, UnknownName, UsageError

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import SparkSession

    from karat.dialects import Asked
    from karat.report import Report
    from karat.scale.inputs import SlicesAsked
    from karat.scale.memory import Budget
    from karat.scale.request import Request
    from karat.sections import Quantiles
    from karat.slices import Attribute, Cuts
    from karat.statistics.resampling import Resampling
    from karat.types import Ranking

__all__ = [
    "Wanted",
    "assess_files",
    "assess_in_blocks",
    "baseline_among",
    "check_place",
    "is_for_blocks",
    "parted",
    "read_cuts",
    "spark_session",
]


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


def read_cuts(given: Iterable[str] | None, of: str) -> "list[Cuts]":
    """``queries.csv:type,length``: the file, and what to group by."""
    if not given:
        return []
    from karat.formats.attributes import read_attributes
    from karat.slices import Cuts

    found = []
    for path, asked in map(parted, given):
        table, id_column = read_attributes(path, "query" if of == "queries" else "item")
        found.append(Cuts(table, id_column, of, asked, path))
    return found


def parted(text: str) -> "tuple[str, list[tuple[Attribute, ...]] | None]":
    """The path, and what to group by; None: whatever groups well."""
    from karat.slices import parse_attributes

    path, attributes = (text, "") if text and exists(text) else _split_off_attributes(text)
    return path, parse_attributes(attributes) if attributes else None


def _split_off_attributes(text: str) -> tuple[str, str]:
    path, colon, attributes = text.rpartition(":")
    if not (path if colon else text):
        raise UsageError(f"no file in {text!r}", expected="something like queries.csv:type,length")
    return (path, attributes) if colon else (text, "")


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


_USUALLY_SHOWN, _MOST_SHOWN = 10, 20


def assess_files(
    gold: str,
    runs: list[str],
    measures: list[str] | None,
    how: "Resampling | None",
    scoring: Scoring,
    choose_baseline: Callable[[list[str]], str | None] = lambda _: None,
    outputs: Sequence[Path] | None = None,
    per_query: str | None = None,
    quantiles: Sequence[float] = (),
) -> "Report":
    """Read, score, compare, and collect into a Report. ``choose_baseline`` picks one of the systems' names.

    Where a page is among ``outputs``, what it shows of single queries is kept. In blocks, the scores of single queries
    are written to ``per_query`` on the way, as the report does not have them.
    """
    check_standard_input([gold, *runs, *(scoring.slices or ()), *(scoring.item_slices or ())])
    names = name_systems(runs)
    systems, baseline = dict(zip(names, runs, strict=True)), choose_baseline(names)
    wanted = Wanted(gold, systems, measures, how, baseline, outputs or (), per_query, quantiles)
    if is_for_blocks(gold, runs, scoring):
        report = assess_in_blocks(wanted, scoring)
    else:
        if scoring.temp is not None:
            raise UsageError(
                "--temp without --memory or --on spark", expected="one of them, or tables that are folders of Parquet"
            )
        if per_query is not None:
            check_form(Path(per_query))
        report = _assess_at_once(wanted, scoring)
    if quantiles and not any("quantiles" in one.sections for one in report.systems.values()):
        for name, found in _quantiles(report, quantiles).items():
            report = report.with_sections(found, system=name)
    provenance = {"gold": gold, "runs": systems, "dialect": scoring.dialect}
    if per_query is not None and report.queries is None:
        provenance["per_query"] = str(per_query)
    item_names, texts = _column(scoring.names, "item", "--names"), _column(scoring.texts, "query", "--texts")
    data = None if report.queries is None else replace(report.queries, names=item_names, query_texts=texts)
    return replace(report.with_recorded(_figures_of(scoring, names)), provenance=provenance, queries=data)


def _assess_at_once(wanted: Wanted, scoring: Scoring) -> "Report":
    """Everything in memory."""
    gold, runs = wanted.gold, wanted.runs
    with ThreadPoolExecutor(max_workers=1) as reader:
        # The first run is read while the rest of the program still loads: a fifth of the time of a large run.
        first_name = next(iter(runs))
        first = reader.submit(_read, runs[first_name], scoring.form)
        from karat.assessment import assess
        from karat.formats import read_gold
        from karat.intake import ranking_from_frame

        asked = wanted.asked(scoring)
        slices, item_slices = read_cuts(scoring.slices, "queries"), read_cuts(scoring.item_slices, "items")
        with show_progress(f"Reading {gold}", quiet=scoring.quiet):
            truth = read_gold(gold, scoring.gold_form or scoring.form)

        def load(name: str) -> "Ranking":
            frame, source = first.result() if name == first_name else _read(runs[name], scoring.form)
            return ranking_from_frame(frame, source=source)

        with show_progress(f"Scoring {', '.join(runs)}", quiet=scoring.quiet):
            return assess(
                truth,
                ((name, load(name)) for name in runs),
                asked,
                golds=dict.fromkeys(runs, truth),
                how=wanted.how,
                baseline=wanted.baseline,
                slices=slices,
                item_slices=item_slices,
                duplicates=scoring.duplicates.value,
                keep_top=_shown_on(wanted.outputs, asked),
            )


def _quantiles(report: "Report", shares: Sequence[float]) -> "dict[str, Quantiles]":
    from karat.sections import Quantiles
    from karat.statistics.estimates import Quantiles as Quantiled

    return {
        name: Quantiles({label: Quantiled.of(one[label], len(one.queries)).values(shares) for label in one.labels})
        for name, one in report.scores.items()
    }


def _shown_on(outputs: Iterable[Path], asked: "Sequence[Asked]") -> int:
    """How many items of a query a page shows: as many as the measures look at, within reason; 0 where none is asked."""
    if not any(path.suffix.lower() == ".html" for path in outputs):
        return 0
    cuts = [one.measure.k for one in asked if one.measure.k is not None and one.measure.k <= _MOST_SHOWN]
    return max(cuts, default=_USUALLY_SHOWN)


def _column(given: str | None, kind: str, what: str) -> dict[str, str]:
    if given is None:
        return {}
    from karat.formats.attributes import read_column

    return read_column(given, kind, what)


def _read(run: str, form: str | None) -> "tuple[pl.DataFrame, str]":
    from karat.formats import read
    from karat.formats.source import Source

    source = Source.open(run)
    return read(source, "run", form), source.name


def _figures_of(scoring: Scoring, systems: list[str]) -> Mapping[str, Mapping[str, float]]:
    """What was recorded, of every system or of the one named."""
    figures: dict[str, dict[str, float]] = {}
    for system, name, value in scoring.figures():
        if system is not None and system not in systems:
            raise UnknownName("system", system, systems, where=f"--record {system}:{name}")
        for one in systems if system is None else [system]:
            figures.setdefault(one, {})[name] = value
    return figures


def baseline_among(given: str | None, runs: list[str]) -> Callable[[list[str]], str]:
    """The system that --baseline names, by its name or its file; the first where it is not given."""

    def choose(names: list[str]) -> str:
        if given is None:
            return names[0]
        if given in runs:
            return names[runs.index(given)]
        if given not in names and looks_like_path(given) and not exists(given):
            raise DataError("no such file", where=given, expected=f"a run, or one of {', '.join(names)}")
        if given not in names:
            raise UnknownName("system", given, names, where="--baseline")
        return given

    return choose
