"""rankjury list: metrics, dialects, engines, recommenders, formats, the plan's schema, and vectors."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from rankjury.cli.shared.commands import OTHER_WORDS
from rankjury.cli.shared.completion import names_of
from rankjury.cli.shared.console import check_folder, files_in_folder, print_json, say, warn
from rankjury.cli.shared.options import JsonOption, QuietOption
from rankjury.errors import UnknownName, UsageError, install_command

if TYPE_CHECKING:
    from rankjury.core.params import Param
    from rankjury.core.registry import Registry
    from rankjury.io.vectors.scan import VectorFile
    from rankjury.measures.measure import Measure
    from rankjury.recsys.models import Recommender
    from rankjury.retrieval.engines.base import Engine

    Entry = TypeVar("Entry", Engine, Recommender)

GROUP = "Look up"
ORDER = 1
EPILOG = (
    "Examples:\n\n"
    "  rankjury list metrics\n\n"
    "  rankjury list metrics ndcg_cut_10\n\n"
    "  rankjury list engines pgvector\n\n"
    "  rankjury list recommenders als --json\n\n"
    "  rankjury list vectors data/ models/\n\n"
    "  rankjury list schema -o rankjury.schema.json\n\n"
    "A plan names an engine in a system of the kind index:\n\n"
    '  engine = "faiss-hnsw"\n\n'
    "  search = { ef_search = 64 }\n\n"
    "A plan names a model in a system of the kind recommender:\n\n"
    '  model = "als"\n\n'
    "  params = { factors = 64 }\n\n"
    "Editors with support for TOML schemas (Even Better TOML, taplo) complete and check a plan whose first line "
    "is:\n\n"
    "  #:schema rankjury.schema.json\n\n"
    "The topic vectors lists .npz, .npy, .parquet and .safetensors files."
)
_TOPICS = {
    "metrics": "measures: formulas, options, aliases",
    "dialects": "tools whose conventions --dialect reproduces",
    "engines": "vector indexes for plans, and their parameters",
    "recommenders": "recommender models for plans, and their parameters",
    "formats": "file formats that are read and written",
    "schema": "JSON Schema of plan files, for editors",
    "vectors": "vector files in folders, and how they were made",
}
_REGISTRIES = {
    "metrics": "rankjury.measures.measure:METRICS",
    "dialects": "rankjury.measures.dialects:DIALECTS",
    "engines": "rankjury.retrieval.engines.base:ENGINES",
    "recommenders": "rankjury.recsys.models:RECOMMENDERS",
}
"""The registry of the entries of a topic, for completion."""


def _complete_entries(ctx: typer.Context) -> list[str]:
    registry = _REGISTRIES.get(ctx.params.get("topic") or "")
    return names_of(registry)() if registry else []


def list_command(
    topic: Annotated[
        str | None,
        typer.Argument(
            metavar=f"[{'|'.join(_TOPICS)}]",
            help="What to list; default: these topics.",
            autocompletion=lambda: list(_TOPICS),
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Entry to show in detail; for vectors: folders to search.",
            autocompletion=_complete_entries,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the schema to a file or a folder.",
            callback=files_in_folder("rankjury.schema.json"),
        ),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """List metrics, dialects, engines, models, formats, vectors."""
    chosen = _topic_of(topic)
    if output is not None and chosen != "schema":
        raise UsageError("-o is for rankjury list schema", hint="Omit it.")
    if chosen == "vectors":
        _list_vectors(names or ["."], as_json=as_json)
        return
    if len(names or ()) > 1:
        raise UsageError(f"found {len(names or ())} names: {', '.join(names or ())}", expected="one at most")
    name = names[0] if names else None
    match chosen:
        case "metrics":
            _list_metrics(name, as_json=as_json)
        case "dialects":
            _list_dialects(name, as_json=as_json)
        case "engines":
            _list_engines(name, as_json=as_json)
        case "recommenders":
            _list_recommenders(name, as_json=as_json)
        case "formats":
            _list_formats(name, as_json=as_json)
        case "schema":
            _print_schema(name, output)
        case _ if as_json:
            print_json(_TOPICS)
        case _:
            print("rankjury list TOPIC [NAME]:\n")
            for topic_name, text in _TOPICS.items():
                print(f"{topic_name:12}  {text}")


def _topic_of(topic: str | None) -> str | None:
    """Return the topic that a word means: ``measures`` are metrics."""
    if topic is None or topic in _TOPICS:
        return topic
    word = OTHER_WORDS.get(topic.lower(), "").removeprefix("list ")
    if word in _TOPICS:
        return word
    from rankjury.measures.dialects import resolve

    try:
        resolve(topic)
    except UsageError:
        raise UnknownName("topic", topic, _TOPICS) from None
    hint = f"Did you mean rankjury list metrics {topic}?"
    raise UsageError(f"{topic} is a measure, not a topic", expected=", ".join(_TOPICS), hint=hint)


# --- measures -----------------------------------------------------------------------------------------------------


def _list_metrics(name: str | None, *, as_json: bool) -> None:
    from rankjury.measures.dialects import HITS_NOTE, metric_facts, metrics_table, resolve
    from rankjury.measures.measure import METRICS

    if as_json:
        print_json([metric_facts(metric) for metric in ([resolve(name).measure.metric] if name else METRICS)])
        return
    if name is not None:
        _print_metric(resolve(name).measure, name)
        return
    from rankjury.reporting.console import print_rows

    print_rows(["metric", "also called", "what it is"], metrics_table(), text=(0, 1, 2))
    print(f"\n{HITS_NOTE}")
    print("Next: rankjury list metrics ndcg shows one in full; rankjury list dialects")


def _print_metric(measure: "Measure", asked: str) -> None:
    from rankjury.measures.dialects import metric_facts
    from rankjury.reporting.console import console

    metric = measure.metric
    facts: dict[str, Any] = metric_facts(metric)
    out = console()
    out.print(f"{metric.name}: {metric.title}")
    out.print(f"\nFormula: {metric.formula}\n\nSource: {metric.source}\n")
    out.print("Options:")
    for option in facts["options"]:
        values = " | ".join(option["choices"]) if option["choices"] else "a number"
        default = "" if option["default"] is None else f" (default {option['default']})"
        out.print(f"  {option['name']}={values}{default}\n      {option['about']}")
    over = "One value over all queries" if metric.whole else f"Over queries: {metric.aggregate}"
    out.print(f"\nCut-off: {metric.cut}. {over}.")
    for tool, names in facts["elsewhere"].items():
        out.print(f"In {tool}: {', '.join(names)}")
    for spelling, common in facts["common_names"].items():
        out.print(f"{spelling} is what is usually called {common}")
    if asked != metric.name:
        out.print(f"\n{asked} is read as {measure}")


def _list_dialects(name: str | None, *, as_json: bool) -> None:
    from rankjury.measures.dialects import DIALECTS, dialect_facts, dialects_table, find_dialect

    chosen = list(DIALECTS) if name is None else [find_dialect(name)]
    if as_json:
        print_json([dialect_facts(dialect) for dialect in chosen])
        return
    from rankjury.reporting.console import console, print_rows

    if name is None:
        print_rows(["dialect", "reproduces"], dialects_table(), text=(0, 1))
        print("\nNext: rankjury list dialects NAME shows the conventions of one")
        return
    dialect = chosen[0]
    console().print(f"{dialect.name}: {dialect.about}\n", markup=False, highlight=False)
    rows = [["all measures", _spell(dialect.common)]]
    rows += [[metric, _spell(options)] for metric, options in dialect.by_metric.items()]
    print_rows(["measure", "conventions"], rows, text=(0, 1))


def _spell(options: Mapping[str, Any]) -> str:
    texts = {key: f"{value:g}" if isinstance(value, float) else str(value) for key, value in options.items()}
    return ", ".join(f"{key}={text}" for key, text in texts.items())


# --- engines and recommenders -------------------------------------------------------------------------------------


def _list_engines(name: str | None, *, as_json: bool) -> None:
    from rankjury.retrieval.engines.base import ENGINES

    def facts(kind: "type[Engine]") -> dict[str, Any]:
        return {
            "about": kind.description,
            "extra": kind.extra,
            "metrics": list(kind.metrics),
            "approximate": kind.approximate,
            "exact_mode": kind.exact_mode,
            "native_filter": kind.native_filter,
            **{part: _params_as_json(known, "monotonic_recall") for part, known in params(kind).items()},
        }

    def params(kind: "type[Engine]") -> "dict[str, Mapping[str, Param]]":
        return {"open": kind.open_params, "build": kind.build_params, "search": kind.search_params}

    def note(kind: "type[Engine]") -> str:
        return f"similarities: {', '.join(kind.metrics)}"

    _list_or_show("engine", ENGINES, name, facts, note, params, as_json=as_json)


def _list_recommenders(name: str | None, *, as_json: bool) -> None:
    from rankjury.recsys.models import RECOMMENDERS

    def facts(kind: "type[Recommender]") -> dict[str, Any]:
        return {
            "about": kind.description,
            "extra": kind.extra,
            "installed": kind.is_installed(),
            "libraries": kind.versions() if kind.is_installed() else dict.fromkeys(kind.libraries),
            "personal": kind.personal,
            "params": _params_as_json(kind.params),
        }

    def note(kind: "type[Recommender]") -> str:
        if kind.extra is None:
            return "libraries: none beside rankjury's own"
        if not kind.is_installed():
            return f"not installed: {install_command(kind.extra)}"
        return "libraries: " + ", ".join(f"{library} {version}" for library, version in kind.versions().items())

    _list_or_show("recommender", RECOMMENDERS, name, facts, note, lambda kind: {"params": kind.params}, as_json=as_json)


def _list_or_show(
    noun: str,
    registry: "Registry[type[Entry]]",
    name: str | None,
    facts: "Callable[[type[Entry]], dict[str, Any]]",
    note: "Callable[[type[Entry]], str]",
    params: "Callable[[type[Entry]], Mapping[str, Mapping[str, Param]]]",
    *,
    as_json: bool,
) -> None:
    """Print a line for each class of a registry, or the parameters of the one that is named; as JSON, its ``facts``.

    ``note`` returns a line on an entry, ``params`` its parameters by the phase in which they are used.
    """
    kinds = {key: registry.get(key) for key in ([name] if name is not None else registry.names())}
    if as_json:
        print_json({key: facts(kind) for key, kind in kinds.items()})
        return
    from rankjury.reporting.console import console, print_rows

    if name is None:
        extras = [f"rankjury[{kind.extra}]" if kind.extra else "core" for kind in kinds.values()]
        rows = [[key, kind.description, extra] for (key, kind), extra in zip(kinds.items(), extras, strict=True)]
        print_rows([noun, "what it is", "installed by"], rows, text=(0, 1, 2), wraps=(1,))
        print(f"\nNext: rankjury list {noun}s NAME shows the parameters of one")
        return
    kind = kinds[name]
    console().print(f"{name}: {kind.description}\n{note(kind)}\n", markup=False, highlight=False)
    parts = params(kind)
    rows = []
    for part, known in parts.items():
        for key, param in known.items():
            choices = f" ({', '.join(param.choices)})" if param.choices else ""
            rows.append([part, key, str(param.default) or '""', f"{param.help}{choices}"])
    if not rows:
        print("There are no parameters to set.")
        return
    first = 0 if len(parts) > 1 else 1
    columns = ["in", "parameter", "default", "what it does"][first:]
    print_rows(columns, [row[first:] for row in rows], text=range(len(columns)))


def _params_as_json(known: "Mapping[str, Param]", *more: str) -> dict[str, dict[str, Any]]:
    """Return the parameters with their default, help and bounds, and ``more`` of their fields."""
    names = ("default", "help", "min", "max", "choices", *more)
    return {key: {name: getattr(param, name) for name in names} for key, param in known.items()}


# --- files --------------------------------------------------------------------------------------------------------


def _list_formats(name: str | None, *, as_json: bool) -> None:
    from rankjury.io.formats import FORMATS, suffixes_of
    from rankjury.io.vectors import VECTOR_SUFFIXES
    from rankjury.reporting.writers import WRITERS

    rows = [["gold, runs", form, " ".join(suffixes_of(form)), "read, written"] for form in FORMATS]
    rows += [["vectors", "", " ".join(VECTOR_SUFFIXES), "read"]]
    writers = {writer.name: writer for writer in WRITERS}
    rows += [["report", key, " ".join(writers[key].suffixes), "written"] for key in writers]
    if name is not None:
        known = {text for _, form, suffixes, _ in rows for text in (form, *suffixes.split())}
        if name not in known:
            raise UnknownName("format", name, known)
        rows = [row for row in rows if name in (row[1], *row[2].split())]
    if as_json:
        keys = ("of", "format", "suffixes", "use")
        print_json([dict(zip(keys, (*row[:2], row[2].split(), row[3]), strict=True)) for row in rows])
        return
    from rankjury.reporting.console import print_rows

    print_rows(["of", "format", "suffixes", "use"], rows, text=(0, 1, 2, 3), wraps=(2,))
    print("\nGold and runs may also be .gz or .zst. They are recognized by their content.")


def _print_schema(name: str | None, output: Path | None) -> None:
    from rankjury.plan.schema import schema_text

    if name is not None:
        raise UsageError(f"found {name!r} behind schema", expected="no name", hint="-o FILE writes the schema.")
    if output is None:
        print_json(schema_text())
        return
    from rankjury.io.atomic import write_text

    check_folder(output)
    write_text(output, schema_text())
    say(f"Wrote {output}")


def _list_vectors(folders: Collection[str], *, as_json: bool) -> None:
    from rankjury.io.vectors.scan import list_vectors

    files = list_vectors(list(folders))
    if as_json:
        print_json({"schema": "rankjury.vectors-list/1", "vectors": [_vector_facts(file) for file in files]})
    else:
        rows = [_vector_row(file) for file in files if file.fault is None]
        if rows:
            from rankjury.reporting.console import print_rows

            header = ["file", "size", "dtype", "model", "text", "unit", "made", "hash"]
            print_rows(header, rows, text=(0, 2, 3, 4, 5, 6, 7), wraps=(0, 3, 4))
        else:
            where = "this folder" if list(folders) == ["."] else ", ".join(folders)
            say(f"No vectors in {where}. rankjury embed makes some")
    warn([file.fault for file in files if file.fault is not None])


def _vector_facts(file: "VectorFile") -> dict[str, Any]:
    """Return the whole metadata, or what the header says."""
    if file.fault is not None:
        return {"file": file.file, "fault": file.fault}
    if file.metadata is not None:
        return {"file": file.file, **file.metadata}
    header = file.header
    sizes = {"count": header.count, "dimensions": header.dimensions, "dtype": header.dtype} if header else {}
    return {"file": file.file, "schema": None, **sizes}


def _vector_row(file: "VectorFile") -> list[str]:
    facts = _vector_facts(file)
    dimensions = facts.get("dimensions")
    unit = facts.get("normalised")
    return [
        file.file,
        f"{facts.get('count', 0):,} × {'?' if dimensions is None else format(dimensions, ',')}",
        str(facts.get("dtype", "")),
        str(facts.get("model") or ""),
        ", ".join(facts.get("text") or []),
        "" if unit is None else "yes" if unit else "no",
        str(facts.get("made") or "")[:10],
        str(facts.get("vectors_sha256") or "")[:8],
    ]
