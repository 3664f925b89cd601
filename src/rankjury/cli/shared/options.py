"""Options that several commands share, each declared once."""

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from rankjury.cli.shared.commands import CONVENTIONS, READING, RESAMPLING, SPARK
from rankjury.cli.shared.completion import complete_dialects, complete_measures, one_of
from rankjury.cli.shared.console import (
    check_standard_input,
    files_in_folder,
    say,
    set_full,
    set_quiet,
    show_progress,
    split_measures,
)
from rankjury.errors import UnknownName, UsageError, shorten
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
_LONGEST_NAME = 100
"""Characters of a system's name: tables and pages show it in every row."""
PlanArgument = Annotated[str, typer.Argument(metavar="PLAN", help="The plan file.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Hide warnings and hints.", callback=set_quiet)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON instead of tables.")]
FullOption = Annotated[
    bool,
    typer.Option(
        "--full", help="Print all tables and warnings, not only those that fit on the screen.", callback=set_full
    ),
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit with code 5 if a verdict is unsure.")]
LenientOption = Annotated[bool, typer.Option("--lenient", help="Fail a target only if its whole interval misses it.")]
SystemsOption = Annotated[
    list[str] | None, typer.Option("--system", metavar="NAME", help="Show only this system; repeatable.")
]
DuplicatesOption = Annotated[
    DuplicatesChoice,
    typer.Option(
        "--duplicates", help="Duplicate (query, item) pairs: stop with an error, or keep one.", rich_help_panel=READING
    ),
]
FORMAT_CHOICES = "trec|json|jsonl|csv|tsv|parquet"
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        **one_of(FORMAT_CHOICES),
        help="File format; default: detected from the content.",
        rich_help_panel=READING,
    ),
]
GoldArgument = Annotated[
    str, typer.Argument(metavar="GOLD", help="Relevance judgments: qrels or a table; - is standard input.")
]
RunsArgument = Annotated[
    list[str],
    typer.Argument(metavar="RUN...", help="Run files, one per system; NAME=FILE sets the name.", show_default=False),
]
MeasuresOption = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        "-m",
        metavar="MEASURE",
        help="Measure, such as ndcg@10; repeatable, or comma-separated.",
        autocompletion=complete_measures,
    ),
]
CutoffsOption = Annotated[
    list[str] | None,
    typer.Option("-k", metavar="K", help="Cut-offs for measures without one: -m ndcg,recall -k 5,10."),
]
OutputOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the report: .html, .json, .csv, .md, .png, or a folder; repeatable.",
        callback=files_in_folder("report.html", "report.json", "report.md"),
    ),
]
DsnOption = Annotated[
    str | None,
    typer.Option(
        "--dsn",
        metavar="DSN",
        help="PostgreSQL server for pgvector indexes; default: that of the plan, or an embedded one. Tables are "
        "created in a separate schema.",
    ),
]
OnOption = Annotated[
    Backend,
    typer.Option("--on", help="Compute in this process (here) or on Spark workers.", rich_help_panel=SPARK),
]
MasterOption = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="Spark master: local[2], spark://HOST:PORT, yarn; default: local[*].",
        rich_help_panel=SPARK,
    ),
]
DistanceOption = Annotated[
    str,
    typer.Option(
        "--distance",
        **one_of("cosine|cosine-zero|ip|l2"),
        help="Similarity of vectors; cosine-zero: cosine, but 0 for zero vectors.",
    ),
]
ExcludeSelfOption = Annotated[
    bool | None,
    typer.Option(
        "--exclude-self/--keep-self",
        help="Exclude or keep the item with the same id as the query.",
        show_default="excluded if the queries are the items",
    ),
]
BaselineOption = Annotated[
    str | None,
    typer.Option("--baseline", "-b", metavar="NAME|FILE", help="System to compare with: name or file."),
]

IdOption = Annotated[
    str | None,
    typer.Option(
        "--id", metavar="COLUMN", help="Column of ids, if it is not found by its name.", rich_help_panel=READING
    ),
]

_SLICES = "Also evaluate slices by query attributes: queries.csv:type,lang."
_ITEM_SLICES = "Also evaluate slices by item attributes: items.csv:category."
_NAMES = "Item names for pages and tables: items.csv:title."
_TEXTS = "Query texts for pages: queries.jsonl:text."
_MEMORY = "Memory limit, such as 2GB. Parquet input is then evaluated block by block."
_TEMP = "Folder for temporary files of block-wise evaluation."
_RECORD = "Add another value to the report, such as latency_p95_ms=12.5; targets can use it."
NamesOption = Annotated[str | None, typer.Option("--names", metavar="FILE:COLUMN", help=_NAMES)]
TextsOption = Annotated[str | None, typer.Option("--texts", metavar="FILE:COLUMN", help=_TEXTS)]


@dataclass(frozen=True)
class ScoringOptions:
    """Options of the commands that score runs: how to read, score and resample."""

    slices: Annotated[list[str] | None, typer.Option("--slices", "-s", metavar="FILE[:ATTRIBUTES]", help=_SLICES)] = (
        None
    )
    item_slices: Annotated[list[str] | None, typer.Option(metavar="FILE[:ATTRIBUTES]", help=_ITEM_SLICES)] = None
    names: NamesOption = None
    texts: TextsOption = None
    record: Annotated[list[str] | None, typer.Option(metavar="[SYSTEM:]NAME=NUMBER", help=_RECORD)] = None
    quiet: QuietOption = False
    dialect: Annotated[
        str | None,
        typer.Option(
            "--dialect",
            "-d",
            metavar="TOOL",
            help="Use the conventions of a tool as defaults: trec_eval, ranx … (see rankjury list dialects).",
            autocompletion=complete_dialects,
            rich_help_panel=CONVENTIONS,
        ),
    ] = None
    ties: Annotated[
        str | None,
        typer.Option(
            **one_of("id|id-desc|order"), help="Order of equal scores; default: id.", rich_help_panel=CONVENTIONS
        ),
    ] = None
    missing: Annotated[
        str | None,
        typer.Option(
            **one_of("zero|skip|error"),
            help="Judged queries that are missing in the run; default: zero.",
            rich_help_panel=CONVENTIONS,
        ),
    ] = None
    empty: Annotated[
        str | None,
        typer.Option(
            **one_of("skip|zero|error"),
            help="Queries without relevant items; default: zero if the measure is defined for them, else skip.",
            rich_help_panel=CONVENTIONS,
        ),
    ] = None
    rel: Annotated[
        float | None,
        typer.Option(
            metavar="GRADE", help="Lowest relevant grade; default: any grade above 0.", rich_help_panel=CONVENTIONS
        ),
    ] = None
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.", rich_help_panel=RESAMPLING)] = 0.95
    resamples: Annotated[
        int, typer.Option(help="Number of resamples for intervals and tests.", rich_help_panel=RESAMPLING)
    ] = 10_000
    seed: Annotated[int, typer.Option(help="Random seed for resampling.", rich_help_panel=RESAMPLING)] = 0
    interval: Annotated[
        str,
        typer.Option(**one_of("auto|bca|percentile"), help="Bootstrap interval method.", rich_help_panel=RESAMPLING),
    ] = "auto"
    form: FormatOption = None
    gold_form: Annotated[
        str | None,
        typer.Option(
            "--gold-format",
            **one_of(FORMAT_CHOICES),
            help="Format of the gold, if it differs.",
            rich_help_panel=READING,
        ),
    ] = None
    duplicates: DuplicatesOption = DuplicatesChoice.error
    on: OnOption = Backend.here
    master: MasterOption = None
    memory: Annotated[str | None, typer.Option(metavar="SIZE", help=_MEMORY, rich_help_panel=SPARK)] = None
    temp: Annotated[Path | None, typer.Option(metavar="DIR", help=_TEMP, rich_help_panel=SPARK)] = None

    def resampling(self) -> "Resampling":
        """Return the settings of intervals and tests; checked."""
        from rankjury.stats.resampling import Resampling

        return Resampling(self.resamples, self.level, self.seed, self.interval)  # type: ignore[arg-type]

    def arguments(self) -> list[str]:
        """Return the options that decide what is scored and how, as words of a command line."""
        options = {"--dialect": self.dialect, "--ties": self.ties, "--missing": self.missing, "--empty": self.empty}
        options |= {"--rel": None if self.rel is None else f"{self.rel:g}", "--format": self.form}
        options |= {"--gold-format": self.gold_form}
        options["--duplicates"] = None if self.duplicates is DuplicatesChoice.error else self.duplicates.value
        given = [(name, value) for name, value in options.items() if value is not None]
        given += [("--record", text) for text in self.record or ()]
        return [word for pair in given for word in pair]

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

    user: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="User column; default: found by its name.", rich_help_panel=READING),
    ] = None
    item: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Item column; default: found by its name.", rich_help_panel=READING),
    ] = None
    value: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Rating column, or none; default: found by its name.", rich_help_panel=READING
        ),
    ] = None
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Time column, or none; default: found by its name.", rich_help_panel=READING
        ),
    ] = None
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="File format: csv, tsv, jsonl, parquet, ratings.dat or u.data; default: detected.",
            rich_help_panel=READING,
        ),
    ] = None
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,HIGH", help="Range of ratings, such as 0.5,5; others are an error.", rich_help_panel=READING
        ),
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
            help="Columns of a keyword group; repeatable. Default: each column is a group.",
            rich_help_panel=READING,
        ),
    ] = None
    select: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GROUP", help="Use only this group; repeatable. Default: all groups.", rich_help_panel=READING
        ),
    ] = None
    id_column: IdOption = None
    separator: Annotated[
        str,
        typer.Option(metavar="TEXT", help="Separator of the keywords in a cell.", rich_help_panel=READING),
    ] = "|"

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


def expand_options(command: Callable[..., None], omit: Collection[str] = ()) -> Callable[..., None]:
    """Replace each parameter of a command that is a dataclass of options by these options, behind the other ones.

    Those of ``omit`` keep their defaults: the command does not have them.
    """
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
            if option.name not in omit
        ]

    @wraps(command)
    def with_options(**values: Any) -> None:
        built = {
            name: group(**{option.name: values.pop(option.name) for option in fields(group) if option.name not in omit})
            for name, group in groups.items()
        }
        command(**values, **built)

    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_options


def split_name(text: str) -> tuple[str | None, str]:
    """Return name and file of ``NAME=FILE``, or None and the file; an existing file may have an = in its name."""
    name, equals, file = text.partition("=")
    if not equals or "/" in name or exists(text):
        return None, text
    name = name.strip()
    if not name or not file or len(name) > _LONGEST_NAME or not name.isprintable():
        expected = f"NAME=FILE with a name of 1 to {_LONGEST_NAME} printable characters"
        raise UsageError(f"cannot read {shorten(text, quoted=True)}", expected=expected)
    return name, file


def name_files(given: Sequence[str]) -> dict[str, str]:
    """Return files by name, of arguments ``FILE`` and ``NAME=FILE``; without a name it is the file's stem."""
    pairs = [split_name(text) for text in given]
    check_standard_input(file for _, file in pairs)
    for name, file in pairs:
        if name is None:
            _check_is_file(file)
    stems = iter(name_systems([file for name, file in pairs if name is None]))
    files: dict[str, str] = {}
    for name, file in ((name or next(stems), file) for name, file in pairs):
        if name in files:
            found = f"{files[name]} and {file} are both called {shorten(name)}"
            raise UsageError(found, expected="NAME=FILE with a name for each")
        files[name] = file
    return files


def name_runs(runs: Sequence[str], baseline: str | None) -> tuple[dict[str, str], str | None]:
    """Return the runs by name and the name of the baseline; a baseline that is another file is the first run."""
    systems = name_files(runs)
    if baseline is None or baseline in systems:
        return systems, baseline
    name, file = split_name(baseline)
    same = [system for system, path in systems.items() if path == file and name in (None, system)]
    if same:
        return systems, same[-1]
    if not exists(file):
        return systems, file  # evaluate_files raises the error for an unknown system or a missing file
    systems = name_files([baseline, *runs])
    return systems, next(iter(systems))


def _check_is_file(file: str) -> None:
    """Refuse a measure, or a number, where a file is expected."""
    if file == "-" or exists(file):
        return
    if file.isdecimal():
        raise UsageError(f"found the number {file} where a file is expected", hint=f"Cut-offs are -k 5,{file}.")
    from rankjury.measures.dialects import resolve

    found, meant = f"{shorten(file)} is a measure, not a file", shorten(file)
    try:
        resolve(file)
    except UsageError as error:
        near = error.suggestions if isinstance(error, UnknownName) else []
        if "@" not in file or not near:
            return
        found, meant = f"{shorten(file)} is neither a file nor a measure", near[0]
    raise UsageError(found, hint=f"Did you mean -m {meant}?")


def asked_measures(measures: Sequence[str] | None, k: Sequence[str] | None) -> list[str] | None:
    """Return the measures of ``-m``, those without a cut-off at each cut-off of ``-k``; None: the default measures."""
    given = split_measures(measures) if measures else None
    if not k:
        return given
    from rankjury.evaluation.evaluate import DEFAULT_MEASURES, at_cutoffs

    cutoffs = read_cutoffs(k)
    named = given or list(dict.fromkeys(measure.partition("@")[0] for measure in DEFAULT_MEASURES))
    asked = [spelling for measure in named for spelling in at_cutoffs(measure, cutoffs)]
    if asked == named:
        raise UsageError(
            f"-k {','.join(k)} has no effect on {', '.join(named)}", hint="Give measures without a cut-off: -m ndcg."
        )
    return asked


def read_cutoffs(texts: Sequence[str]) -> list[int]:
    """Return the cut-offs of ``-k 1,5,10``, each once, in ascending order."""
    numbers = [number for text in texts for number in text.replace(",", " ").split()]
    if not numbers or not all(number.isdecimal() and int(number) > 0 for number in numbers):
        raise UsageError(f"-k is {' '.join(texts)!r}", expected="whole numbers from 1, such as 1,5,10")
    return sorted({int(number) for number in numbers})


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
    _check_is_file(gold)
    systems, baseline = name_runs(runs, baseline)
    check_standard_input([gold, *systems.values(), *(scoring.slices or ()), *(scoring.item_slices or ())])
    paged = any(path.suffix.lower() == ".html" for path in outputs or ())
    recorded: dict[str, dict[str, float]] = {}
    for system, name, value in scoring.figures():
        if system is not None and system not in systems:
            raise UnknownName("system", system, systems, where=f"--record {system}:{name}")
        for system_name in systems if system is None else [system]:
            recorded.setdefault(system_name, {})[name] = value
    with show_progress() as progress:
        report = evaluate_files(
            gold,
            systems,
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
