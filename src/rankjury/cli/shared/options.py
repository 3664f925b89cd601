"""Options that several commands share, each declared once."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from rankjury.cli.shared.console import check_standard_input, say, set_quiet, show_progress
from rankjury.errors import UnknownName, UsageError
from rankjury.scale.evaluate_files import evaluate_files, name_systems

if TYPE_CHECKING:
    from rankjury.evaluation.report import Report
    from rankjury.labeling.keywords.annotations import Annotations
    from rankjury.recsys.data.log import Log
    from rankjury.stats.resampling import Resampling


class Backend(StrEnum):
    here = "here"
    spark = "spark"


class DuplicatesChoice(StrEnum):
    error = "error"
    first = "first"
    last = "last"
    max = "max"


PLAN_FILE = "rankjury.toml"
PlanArgument = Annotated[str, typer.Argument(metavar="PLAN", help="The plan file.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No warnings and no hints.", callback=set_quiet)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON instead of tables.")]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit with code 5 if a verdict is unsure.")]
SystemsOption = Annotated[
    list[str] | None, typer.Option("--system", metavar="NAME", help="Only this system; repeat it.")
]
DuplicatesOption = Annotated[
    DuplicatesChoice,
    typer.Option("--duplicates", help="How to handle duplicate (query, item) pairs: an error, or keep one of them."),
]
FormatOption = Annotated[
    str | None, typer.Option("--format", metavar="FORMAT", help="Read files as trec, json, jsonl, csv, tsv or parquet.")
]
GoldArgument = Annotated[
    str, typer.Argument(metavar="GOLD", help="The judgments: qrels or a table; - is standard input.")
]
RunsArgument = Annotated[
    list[str], typer.Argument(metavar="RUN...", help="Run files, one per system.", show_default=False)
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
MetricOption = Annotated[str, typer.Option("--metric", help="cosine, cosine-zero (0 with a zero vector), ip or l2.")]
ExcludeSelfOption = Annotated[
    bool | None,
    typer.Option(
        "--exclude-self/--keep-self",
        help="Leave the item with the query's own id out of its results, or keep it.",
        show_default="left out where the queries are the items",
    ),
]
BaselineOption = Annotated[
    str | None, typer.Option("--baseline", "-b", metavar="NAME", help="The system to compare with: its name or file.")
]

IdOption = Annotated[
    str | None, typer.Option("--id", metavar="COLUMN", help="The column of ids, where its name does not tell.")
]

_SLICES = "Break down by attributes of queries: queries.csv:type,length(quantiles=3),type*lang."
_ITEM_SLICES = "The same within groups of items: items.csv:category,popularity."
_NAMES = "Names of items, for pages and tables: items.csv:title."
_TEXTS = "Texts of queries, for pages: queries.jsonl:text."
_MEMORY = "Memory limit, such as 2GB: Parquet input, also a folder of it, is then evaluated block by block."
_TEMP = "The folder for temporary files of blocks that do not fit into memory."
_RECORD = "Add another value to the report, such as latency_p95_ms=12.5; a gate can check it."


@dataclass(frozen=True)
class ScoringOptions:
    """Options of the commands that score runs: how to read, score and resample."""

    dialect: Annotated[
        str | None,
        typer.Option(
            "--dialect", "-d", metavar="TOOL", help="Reproduce a tool (rankjury metrics --dialects lists them)."
        ),
    ] = None
    slices: Annotated[list[str] | None, typer.Option("--slices", "-s", metavar="FILE[:ATTRIBUTES]", help=_SLICES)] = (
        None
    )
    item_slices: Annotated[list[str] | None, typer.Option(metavar="FILE[:ATTRIBUTES]", help=_ITEM_SLICES)] = None
    names: Annotated[str | None, typer.Option(metavar="FILE:COLUMN", help=_NAMES)] = None
    texts: Annotated[str | None, typer.Option(metavar="FILE:COLUMN", help=_TEXTS)] = None
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95
    resamples: Annotated[int, typer.Option(help="Resamples for intervals and tests.")] = 10_000
    seed: Annotated[int, typer.Option(help="Seed of the resampling.")] = 0
    interval: Annotated[str, typer.Option(metavar="KIND", help="auto, bca or percentile.")] = "auto"
    record: Annotated[list[str] | None, typer.Option(metavar="[SYSTEM:]NAME=NUMBER", help=_RECORD)] = None
    ties: Annotated[str | None, typer.Option(help="Equal scores: id, id-desc or order.")] = None
    missing: Annotated[str | None, typer.Option(help="Gold queries that the run lacks: zero, skip or error.")] = None
    empty: Annotated[str | None, typer.Option(help="Queries with nothing relevant: skip, zero or error.")] = None
    rel: Annotated[float | None, typer.Option(help="Grade from which an item is relevant.")] = None
    duplicates: DuplicatesOption = DuplicatesChoice.error
    form: FormatOption = None
    gold_form: Annotated[
        str | None, typer.Option("--gold-format", metavar="FORMAT", help="The same for the gold only.")
    ] = None
    on: OnOption = Backend.here
    master: MasterOption = None
    memory: Annotated[str | None, typer.Option(metavar="SIZE", help=_MEMORY)] = None
    temp: Annotated[Path | None, typer.Option(metavar="DIR", help=_TEMP)] = None
    quiet: QuietOption = False

    def resampling(self) -> "Resampling":
        """Return the settings of intervals and tests; checked."""
        from rankjury.stats.resampling import Resampling

        return Resampling(self.resamples, self.level, self.seed, self.interval)  # type: ignore[arg-type]

    def figures(self) -> list[tuple[str | None, str, float]]:
        """Return system, name and value of each ``--record``, such as ``dense:latency_p95_ms=12.5``."""
        from rankjury.measures.dialects import resolve

        figures = []
        for text in self.record or ():
            left, equals, number = text.rpartition("=")
            system, colon, name = left.rpartition(":")
            name = name.strip()
            try:
                value = float(number)
            except ValueError:
                value = float("nan")
            if not equals or not name or not abs(value) < float("inf"):
                raise UsageError(f"cannot read --record {text!r}", expected="a name and a number: latency_p95_ms=12.5")
            try:
                resolve(name)
            except UsageError:
                figures.append((system if colon else None, name, value))
            else:
                raise UsageError(f"--record {text}: {name} is a measure", expected="a name of your own")
        return figures

    def conventions(self) -> dict[str, Any]:
        """Return the conventions for all measures; checked."""
        from rankjury.measures.judged import REL
        from rankjury.measures.measure import COMMON_OPTIONS

        known = {option.name: option for option in (*COMMON_OPTIONS, REL)}
        given = {name: getattr(self, name) for name in ("ties", "missing", "empty", "rel")}
        return {
            name: known[name].read(str(value), where=f"--{name}") for name, value in given.items() if value is not None
        }


@dataclass(frozen=True)
class LogOptions:
    """Options of the commands that read a log of interactions."""

    user: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of users.")] = None
    item: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of items.")] = None
    value: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of ratings; none: there are none.")
    ] = None
    time: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of times; or none.")] = None
    form: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="csv, tsv, jsonl, parquet, ratings.dat or u.data.")
    ] = None
    scale: Annotated[
        str | None, typer.Option(metavar="LOW,HIGH", help="Ratings outside are an error, such as 0.5,5.")
    ] = None

    def read(self, path: str) -> "Log":
        """Read the log."""
        from rankjury.recsys.data.read import read_log

        try:
            low, high = map(float, self.scale.split(",")) if self.scale is not None else (None, None)
        except ValueError:
            expected = "the lowest and the highest rating, such as 0.5,5"
            raise UsageError(f"--scale is {self.scale!r}", expected=expected) from None
        scale = None if low is None or high is None else (low, high)
        columns = {"user": self.user, "item": self.item, "value": self.value, "time": self.time}
        return read_log(path, **columns, format=self.form, scale=scale)


@dataclass(frozen=True)
class AnnotationOptions:
    """Options of the commands that read a table of annotations."""

    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=COLUMN[,COLUMN]",
            help="The columns of a semantic group; repeat it. Without it every column is a group.",
        ),
    ] = None
    select: Annotated[
        list[str] | None, typer.Option(metavar="GROUP", help="A group that counts; repeat it. Without it all do.")
    ] = None
    id_column: IdOption = None
    separator: Annotated[str, typer.Option(metavar="TEXT", help="The text between the keywords of a cell.")] = "|"

    def groups(self) -> dict[str, list[str]] | None:
        """Return the columns of each group, such as ``object=pv_object_type,pv_size``; None if there are none."""
        groups: dict[str, list[str]] = {}
        for text in self.group or ():
            name, equals, columns = text.partition("=")
            listed = [column.strip() for column in columns.split(",") if column.strip()]
            if not equals or not name.strip() or not listed:
                raise UsageError(f"cannot read --group {text!r}", expected="a name and columns: object=pv_object_type")
            groups.setdefault(name.strip(), []).extend(listed)
        return groups or None

    def read(self, path: str | Path) -> "Annotations":
        """Read the table."""
        from rankjury.labeling.keywords.annotations import read_annotations

        return read_annotations(path, self.groups(), id_column=self.id_column, separator=self.separator)


def expand_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that is a dataclass of options by these options, behind the other ones."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
        for parameter in inspect.signature(command).parameters.values()
        if parameter.name not in groups
    ]
    for group in groups.values():
        annotations = get_type_hints(group, include_extras=True)
        parameters += [
            inspect.Parameter(
                option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=annotations[option.name]
            )
            for option in fields(group)
        ]

    @wraps(command)
    def with_options(**values: Any) -> None:
        built = {
            name: group(**{option.name: values.pop(option.name) for option in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **built)

    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
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
    """Evaluate files as the options say; for a page among ``outputs``, keep the data of single queries."""
    check_standard_input([gold, *runs, *(scoring.slices or ()), *(scoring.item_slices or ())])
    paged = any(path.suffix.lower() == ".html" for path in outputs or ())
    systems = name_systems(runs)
    recorded: dict[str, dict[str, float]] = {}
    for system, name, value in scoring.figures():
        if system is not None and system not in systems:
            raise UnknownName("system", system, systems, where=f"--record {system}:{name}")
        for system_name in systems if system is None else [system]:
            recorded.setdefault(system_name, {})[name] = value
    with show_progress() as progress:
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
            recorded=recorded,
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
        hint = "Single queries are not on the page: rankjury evaluate --per-query writes their scores."
        say(hint)
    return report
