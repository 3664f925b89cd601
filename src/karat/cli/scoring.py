"""What the commands that score runs share: options, and files → Report."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from karat.cli.common import Duplicates, check_standard_input, name_systems, progress
from karat.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from karat.measure import Value
    from karat.report import Report
    from karat.slices import Cuts
    from karat.statistics.intervals import Resampling
    from karat.types import Ranking

__all__ = [
    "BaselineOption",
    "DialectOption",
    "EmptyOption",
    "GoldArgument",
    "IntervalOption",
    "ItemSlicesOption",
    "JsonOption",
    "LevelOption",
    "MeasuresOption",
    "MissingOption",
    "OutputOption",
    "RecordOption",
    "RelOption",
    "Request",
    "ResamplesOption",
    "RunsArgument",
    "SeedOption",
    "SlicesOption",
    "TiesOption",
    "add_figures",
    "assess_files",
    "resampling",
]

GoldArgument = Annotated[
    str, typer.Argument(metavar="GOLD", help="What should have come back: qrels or a table; - is standard input.")
]
RunsArgument = Annotated[
    list[str], typer.Argument(metavar="RUN...", help="What did come back, one file a system.", show_default=False)
]
MeasuresOption = Annotated[
    list[str] | None,
    typer.Option("--measure", "-m", metavar="MEASURE", help="A measure like ndcg@10; repeat it, or split by commas."),
]
DialectOption = Annotated[
    str | None,
    typer.Option("--dialect", "-d", metavar="TOOL", help="Reproduce a tool (karat metrics --dialects lists them)."),
]
OutputOption = Annotated[
    list[Path] | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write the report: .json, .csv or .md; repeat it."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the report as JSON instead of tables.")]
BaselineOption = Annotated[
    str | None, typer.Option("--baseline", "-b", metavar="NAME", help="The system to compare with: its name or file.")
]
SlicesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--slices",
        "-s",
        metavar="FILE[:ATTRIBUTES]",
        help="Break down by attributes of queries: queries.csv:type,length(quantiles=3),type*lang.",
    ),
]
ItemSlicesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--item-slices",
        metavar="FILE[:ATTRIBUTES]",
        help="The same with the gold restricted to groups of items: items.csv:category,popularity.",
    ),
]
TiesOption = Annotated[str | None, typer.Option("--ties", help="Equal scores: id, id-desc or order.")]
MissingOption = Annotated[
    str | None, typer.Option("--missing", help="Gold queries that the run lacks: zero, skip or error.")
]
EmptyOption = Annotated[str | None, typer.Option("--empty", help="Queries with nothing relevant: skip, zero or error.")]
RelOption = Annotated[float | None, typer.Option("--rel", help="Grade from which an item is relevant.")]
LevelOption = Annotated[float, typer.Option("--level", help="Level of the intervals.")]
ResamplesOption = Annotated[int, typer.Option("--resamples", help="Resamples for intervals and tests.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of the resampling.")]
IntervalOption = Annotated[str, typer.Option("--interval", metavar="KIND", help="percentile or bca.")]
RecordOption = Annotated[
    list[str] | None,
    typer.Option(
        "--record",
        metavar="[SYSTEM:]NAME=NUMBER",
        help="Keep another figure in the report, such as latency_p95_ms=12.5; a gate may look at it.",
    ),
]


@dataclass(frozen=True)
class Request:
    """Which files to score, and how."""

    gold: str
    runs: list[str]
    measures: list[str] | None = None
    dialect: str | None = None
    overrides: "dict[str, Value] | None" = None
    """Conventions for all measures; None where the measure is to decide."""
    duplicates: Duplicates = Duplicates.error
    forms: tuple[str | None, str | None] = (None, None)
    """Formats of the gold and of the runs, where they are not to be told from the files."""
    slices: tuple[str, ...] = ()
    item_slices: tuple[str, ...] = ()
    quiet: bool = False


def resampling(level: float, resamples: int, seed: int, interval: str) -> "Resampling":
    """The options as a value; checked."""
    from karat.statistics.intervals import Resampling

    return Resampling(resamples, level, seed, interval)  # type: ignore[arg-type]


def assess_files(
    request: Request, how: "Resampling | None", choose_baseline: Callable[[list[str]], str | None] = lambda _: None
) -> "Report":
    """Read, score, compare, and collect into a Report. ``choose_baseline`` picks one of the systems' names."""
    check_standard_input([request.gold, *request.runs])
    names = name_systems(request.runs)
    baseline = choose_baseline(names)
    with ThreadPoolExecutor(max_workers=1) as reader:
        # The first run is read while the rest of the program still loads: a fifth of the time of a large run.
        first = reader.submit(_read, request.runs[0], request.forms[1])
        from dataclasses import replace
        from functools import partial

        from karat.assessment import assess
        from karat.evaluation import DEFAULT_MEASURES, resolve_all
        from karat.gold.labels import read_gold
        from karat.intake import ranking_from_frame

        asked = resolve_all(request.measures or DEFAULT_MEASURES, request.dialect, _checked(request.overrides or {}))
        cuts = [_read_cuts(request.slices, "queries"), _read_cuts(request.item_slices, "items")]
        with progress(f"Reading {request.gold}", quiet=request.quiet):
            truth = read_gold(request.gold, request.forms[0])

        def load(run: str) -> "Ranking":
            frame, source = first.result() if run is request.runs[0] else _read(run, request.forms[1])
            return ranking_from_frame(frame, source=source)

        rankings = {name: partial(load, run) for name, run in zip(names, request.runs, strict=True)}
        with progress(f"Scoring {', '.join(names)}", quiet=request.quiet):
            report = assess(
                truth,
                rankings,
                asked,
                how=how,
                baseline=baseline,
                slices=cuts[0],
                item_slices=cuts[1],
                duplicates=request.duplicates.value,
            )
    runs = dict(zip(names, request.runs, strict=True))
    return replace(report, provenance={"gold": request.gold, "runs": runs, "dialect": request.dialect})


def _read(run: str, form: str | None) -> "tuple[pl.DataFrame, str]":
    from karat.formats import read
    from karat.formats.source import Source

    source = Source.open(run)
    return read(source, "run", form), source.name


def _checked(overrides: "dict[str, Value]") -> "dict[str, Value]":
    """--ties, --missing, --empty and --rel take the values of the options of that name."""
    from karat.measure import COMMON_OPTIONS
    from karat.metrics.common import REL

    known = {option.name: option for option in (*COMMON_OPTIONS, REL)}
    given = {name: value for name, value in overrides.items() if value is not None}
    return {name: known[name].read(str(value), where=f"--{name}") for name, value in given.items()}


def _read_cuts(given: Iterable[str], of: str) -> "list[Cuts]":
    """``queries.csv:type,length``: the file, and what to group by."""
    from karat.formats.attributes import read_attributes
    from karat.slices import Cuts, parse_attributes

    found = []
    for text in given:
        path, attributes = (text, "") if Path(text).exists() else _split_off_attributes(text)
        asked = parse_attributes(attributes) if attributes else None
        table, id_column = read_attributes(path, "query" if of == "queries" else "item")
        found.append(Cuts(table, id_column, of, asked, path))
    return found


def _split_off_attributes(text: str) -> tuple[str, str]:
    path, colon, attributes = text.rpartition(":")
    return (path, attributes) if colon else (text, "")


def add_figures(report: "Report", given: Iterable[str] | None) -> "Report":
    """``latency_p95_ms=12.5``, ``dense:latency_p95_ms=12.5``: kept with every system, or with the one named."""
    from dataclasses import replace

    figures: dict[str, dict[str, float]] = {}
    for text in given or ():
        left, equals, number = text.rpartition("=")
        system, colon, name = left.rpartition(":")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if not equals or not name.strip() or value != value or abs(value) == float("inf"):
            raise UsageError(f"cannot read --record {text!r}", expected="a name and a number: latency_p95_ms=12.5")
        if colon and system not in report.systems:
            from karat.errors import UnknownName

            raise UnknownName("system", system, report.systems, where=f"--record {text}")
        for one in [system] if colon else report.systems:
            figures.setdefault(one, {})[name.strip()] = value
    return replace(report, figures=figures)
