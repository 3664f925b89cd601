"""Options that the commands which score runs share, declared once."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from rankjury.cli.shared.console import (
    DuplicatesChoice,
    DuplicatesOption,
    FormatOption,
    QuietOption,
    check_standard_input,
    say,
    show_progress,
)
from rankjury.errors import UnknownName, UsageError
from rankjury.scale.evaluate_files import evaluate_files, name_systems

if TYPE_CHECKING:
    from rankjury.evaluation.report import Report
    from rankjury.stats.resampling import Resampling


class Backend(StrEnum):
    here = "here"
    spark = "spark"


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
OutputOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Write the report: .html, .json, .csv, .md or .png; repeat it."
    ),
]
DsnOption = Annotated[
    str | None,
    typer.Option(
        "--dsn",
        metavar="DSN",
        help="The database of the plan's pgvector indexes, instead of an embedded one; it gets a schema of its own.",
    ),
]
OnOption = Annotated[
    Backend, typer.Option("--on", help="Where the work is done: here, in this process, or by the workers of Spark.")
]
MasterOption = Annotated[
    str | None,
    typer.Option(
        "--master", metavar="URL", help="Spark's master: local[2], spark://HOST:PORT, yarn; local[*] if none."
    ),
]
MetricOption = Annotated[
    str, typer.Option("--metric", help="cosine, cosine-zero (the same, and 0 with a zero vector), ip or l2.")
]
ExcludeSelfOption = Annotated[
    bool | None,
    typer.Option(
        "--exclude-self/--keep-self",
        help="Leave the item with the query's own id out of its results, or keep it.",
        show_default="left out where the queries are the items",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the report as JSON instead of tables.")]
BaselineOption = Annotated[
    str | None, typer.Option("--baseline", "-b", metavar="NAME", help="The system to compare with: its name or file.")
]

# Options of commands that read a log of interactions, or a table of annotated items.
UserColumn = Annotated[str | None, typer.Option("--user", metavar="COLUMN", help="The column of users.")]
ItemColumn = Annotated[str | None, typer.Option("--item", metavar="COLUMN", help="The column of items.")]
ValueColumn = Annotated[
    str | None, typer.Option("--value", metavar="COLUMN", help="The column of ratings; none: there are none.")
]
TimeColumn = Annotated[str | None, typer.Option("--time", metavar="COLUMN", help="The column of times; or none.")]
LogFormatOption = Annotated[
    str | None, typer.Option("--format", metavar="FORMAT", help="csv, tsv, jsonl, parquet, ratings.dat or u.data.")
]
ScaleOption = Annotated[
    str | None, typer.Option("--scale", metavar="LOW,HIGH", help="Ratings outside are an error, such as 0.5,5.")
]
SEPARATOR = "|"
GroupOption = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        metavar="NAME=COLUMN[,COLUMN]",
        help="The columns of a semantic group; repeat it. Without it every column is a group.",
    ),
]
SelectOption = Annotated[
    list[str] | None,
    typer.Option("--select", metavar="GROUP", help="A group that counts; repeat it. Without it all do."),
]
IdOption = Annotated[
    str | None, typer.Option("--id", metavar="COLUMN", help="The column of ids, where its name does not tell.")
]
SeparatorOption = Annotated[
    str, typer.Option("--separator", metavar="TEXT", help="What stands between the keywords of a cell.")
]

_SLICES = "Break down by attributes of queries: queries.csv:type,length(quantiles=3),type*lang."
_ITEM_SLICES = "The same within groups of items: items.csv:category,popularity."
_NAMES = "What items are called, for pages and tables: items.csv:title."
_TEXTS = "What queries say, for pages: queries.jsonl:text."
_MEMORY = "Take no more than this, such as 2GB: Parquet, also folders of it, is scored in blocks."
_TEMP = "Where blocks that do not fit into memory are kept while it runs."
_RECORD = "Keep another figure in the report, such as latency_p95_ms=12.5; a gate may look at it."


@dataclass(frozen=True)
class ScoringOptions:
    """How to read, score and resample: the options that all such commands take."""

    dialect: Annotated[
        str | None,
        typer.Option(
            "--dialect", "-d", metavar="TOOL", help="Reproduce a tool (rankjury metrics --dialects lists them)."
        ),
    ] = None
    slices: Annotated[list[str] | None, typer.Option("--slices", "-s", metavar="FILE[:ATTRIBUTES]", help=_SLICES)] = (
        None
    )
    item_slices: Annotated[
        list[str] | None, typer.Option("--item-slices", metavar="FILE[:ATTRIBUTES]", help=_ITEM_SLICES)
    ] = None
    names: Annotated[str | None, typer.Option("--names", metavar="FILE:COLUMN", help=_NAMES)] = None
    texts: Annotated[str | None, typer.Option("--texts", metavar="FILE:COLUMN", help=_TEXTS)] = None
    level: Annotated[float, typer.Option("--level", help="Level of the intervals.")] = 0.95
    resamples: Annotated[int, typer.Option("--resamples", help="Resamples for intervals and tests.")] = 10_000
    seed: Annotated[int, typer.Option("--seed", help="Seed of the resampling.")] = 0
    interval: Annotated[str, typer.Option("--interval", metavar="KIND", help="auto, bca or percentile.")] = "auto"
    record: Annotated[list[str] | None, typer.Option("--record", metavar="[SYSTEM:]NAME=NUMBER", help=_RECORD)] = None
    ties: Annotated[str | None, typer.Option("--ties", help="Equal scores: id, id-desc or order.")] = None
    missing: Annotated[
        str | None, typer.Option("--missing", help="Gold queries that the run lacks: zero, skip or error.")
    ] = None
    empty: Annotated[
        str | None, typer.Option("--empty", help="Queries with nothing relevant: skip, zero or error.")
    ] = None
    rel: Annotated[float | None, typer.Option("--rel", help="Grade from which an item is relevant.")] = None
    duplicates: DuplicatesOption = DuplicatesChoice.error
    form: FormatOption = None
    gold_form: Annotated[
        str | None, typer.Option("--gold-format", metavar="FORMAT", help="The same for the gold only.")
    ] = None
    on: OnOption = Backend.here
    master: MasterOption = None
    memory: Annotated[str | None, typer.Option("--memory", metavar="SIZE", help=_MEMORY)] = None
    temp: Annotated[Path | None, typer.Option("--temp", metavar="DIR", help=_TEMP)] = None
    quiet: QuietOption = False

    def resampling(self) -> "Resampling":
        """How intervals and tests are made; checked."""
        from rankjury.stats.resampling import Resampling

        return Resampling(self.resamples, self.level, self.seed, self.interval)  # type: ignore[arg-type]

    def figures(self) -> list[tuple[str | None, str, float]]:
        """``latency_p95_ms=12.5``, ``dense:latency_p95_ms=12.5``: system, name and value of what was recorded."""
        from rankjury.measures.dialects import resolve

        found = []
        for text in self.record or ():
            left, equals, number = text.rpartition("=")
            system, colon, name = left.rpartition(":")
            try:
                value = float(number)
            except ValueError:
                value = float("nan")
            if not equals or not name.strip() or not abs(value) < float("inf"):
                raise UsageError(f"cannot read --record {text!r}", expected="a name and a number: latency_p95_ms=12.5")
            try:
                resolve(name.strip())
            except UsageError:
                found.append((system if colon else None, name.strip(), value))
            else:
                raise UsageError(f"--record {text}: {name.strip()} is a measure", expected="a name of your own")
        return found

    def conventions(self) -> dict[str, Any]:
        """Conventions for all measures; checked."""
        from rankjury.measures.judged import REL
        from rankjury.measures.measure import COMMON_OPTIONS

        known = {option.name: option for option in (*COMMON_OPTIONS, REL)}
        given = {name: getattr(self, name) for name in ("ties", "missing", "empty", "rel")}
        return {
            name: known[name].read(str(value), where=f"--{name}") for name, value in given.items() if value is not None
        }


def takes_scoring_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of ``ScoringOptions`` behind its own; it receives them as ``scoring``."""
    hints = get_type_hints(command, include_extras=True)
    own = [one for one in inspect.signature(command).parameters.values() if one.name != "scoring"]
    shared_hints = get_type_hints(ScoringOptions, include_extras=True)
    shared = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default)
        for one in fields(ScoringOptions)
    ]

    def with_options(**given: Any) -> None:
        scoring = ScoringOptions(**{one.name: given.pop(one.name) for one in shared})
        command(**given, scoring=scoring)

    annotations = {one.name: hints[one.name] for one in own} | {one.name: shared_hints[one.name] for one in shared}
    parameters = [
        one.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=annotations[one.name]) for one in (*own, *shared)
    ]
    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = annotations
    with_options.__doc__ = command.__doc__
    return with_options


def assess_files(
    gold: str,
    runs: list[str],
    measures: list[str] | None,
    resampling: "Resampling | None",
    scoring: ScoringOptions,
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
            intervals=resampling is not None,
            resampling=resampling,
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
        say(
            "Single queries are not on the page: rankjury evaluate --per-query writes their scores.",
            quiet=scoring.quiet,
        )
    return report


def _recorded(scoring: ScoringOptions, systems: list[str]) -> dict[str, dict[str, float]]:
    """Return what was recorded, of every system or of the one named."""
    found: dict[str, dict[str, float]] = {}
    for system, name, value in scoring.figures():
        if system is not None and system not in systems:
            raise UnknownName("system", system, systems, where=f"--record {system}:{name}")
        for one in systems if system is None else [system]:
            found.setdefault(one, {})[name] = value
    return found


def read_scale(text: str | None) -> tuple[float, float] | None:
    """The lowest and the highest rating there can be."""
    if text is None:
        return None
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise UsageError(f"--scale is {text!r}", expected="the lowest and the highest rating, such as 0.5,5") from None
    return low, high


@dataclass(frozen=True)
class AnnotatedTable:
    """A table of annotations, and how it is to be read."""

    path: Path
    groups: dict[str, list[str]] | None
    select: tuple[str, ...]
    id_column: str | None
    separator: str


def parse_groups(given: list[str] | None) -> dict[str, list[str]] | None:
    """``object=pv_object_type,pv_size``: the columns of each group; None where none was named."""
    if not given:
        return None
    found: dict[str, list[str]] = {}
    for text in given:
        name, equals, columns = text.partition("=")
        listed = [column.strip() for column in columns.split(",") if column.strip()]
        if not equals or not name.strip() or not listed:
            raise UsageError(f"cannot read --group {text!r}", expected="a name and columns: object=pv_object_type")
        found.setdefault(name.strip(), []).extend(listed)
    return found
