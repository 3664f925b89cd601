"""Page of the Python functions, classes and errors, from their signatures and docstrings."""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import rankjury
from rankjury import errors
from rankjury.errors import RankjuryError
from rankjury.evaluation.report import Report
from reference.docstrings import (
    ClassField,
    call_lines,
    class_fields,
    declared_constructor,
    default_text,
    document,
    paragraphs,
    parse,
    result_type,
    sections,
)
from reference.markdown import anchor, code, codes, fence, joined, page, sentence, table, text
from reference.schemas import MEANINGS

GROUPS = {
    "Evaluate and compare": ("evaluate", "compare", "explain", "evaluate_files", "evaluate_arrays"),
    "Gate and drift": ("gate", "assert_ranking", "write_baseline", "drift_between"),
    "Data": ("as_gold", "as_ranking", "ordered_gold", "read_gold", "read_run"),
    "Vectors and fusion": ("read_vectors", "rank_vectors", "fuse", "agree", "try_index"),
    "Keywords and labels": ("read_annotations", "keyword_gold", "map_texts", "read_catalogue", "label"),
    "Recommenders": ("read_log", "audit", "split_log", "held_out", "recommend"),
    "Plans": ("run_plan",),
    "Large data": ("scale",),
    "Types": ("Report", "Scores", "Measure", "Resampling", "Fusion", "Gold", "Ranking", "Vectors"),
}
"""Public names by task. Names that are in no group are listed under the last heading."""
_LAST = "Other"
_SPECIAL = ("__version__",)
_SHARED = ("Record", "Section", "MappingSection", "ReadOnlyArrays", "prepare")
"""Base classes and methods that are for authors of extensions."""
MADE_BY_USERS = ("Fusion", "Measure", "Resampling", "Vectors")
"""Classes whose constructor users call; the others are made by functions."""


def python_page() -> str:
    """Return the page."""
    groups = _groups()
    rows = [
        [heading, ", ".join(f"[{code(title)}](#{anchor(title)})" for title, _ in members)]
        for heading, members in groups.items()
    ]
    rows.append(["Returned values", "[attributes of what functions return](#returned-values)"])
    rows.append(["Errors", "[exceptions and exit codes](#errors)"])
    blocks = [
        joined([[f"## {heading}"], *(_entry(title, value) for title, value in members)])
        for heading, members in groups.items()
    ]
    return page(
        "Python",
        "All public functions, classes and errors, by task.",
        [
            "`import rankjury` loads nothing else; each name is loaded when it is first used. "
            "`rankjury.__version__` is the version. Arguments are checked: a wrong one raises a "
            "[`UsageError`](#errors) that says what was expected. The examples use the files of a folder with "
            "`qrels.trec`, `run.trec`, `ratings.csv` and so on; the tests run them.",
        ],
        table(["task", "names"], rows),
        *blocks,
        _returned(groups),
        _errors(),
    )


def _groups() -> dict[str, list[tuple[str, Any]]]:
    """Return the public names with what they are, by heading."""
    known = {name for names in GROUPS.values() for name in names}
    exceptions = {name for name in rankjury.__all__ if _is_error(getattr(rankjury, name))}
    others = [name for name in rankjury.__all__ if name not in {*known, *exceptions, *_SPECIAL}]
    groups = {heading: list(_members(names)) for heading, names in {**GROUPS, _LAST: others}.items()}
    return {heading: members for heading, members in groups.items() if members}


def _members(names: Any) -> Iterator[tuple[str, Any]]:
    for name in names:
        if name == "scale":
            yield from ((f"rankjury.scale.{inner}", getattr(rankjury.scale, inner)) for inner in rankjury.scale.__all__)
            yield "rankjury.scale.spark.evaluate", import_module("rankjury.scale.spark").evaluate
        elif name in rankjury.__all__:
            yield f"rankjury.{name}", getattr(rankjury, name)


def _is_error(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, Exception)


def _entry(title: str, value: Any) -> list[str]:
    heading = [f"### {title}"]
    return joined([heading, _class(title, value) if inspect.isclass(value) else document(value, title)])


def _class(title: str, cls: type[Any]) -> list[str]:
    """Return the documentation of a class: how it is made, its fields, properties and methods."""
    name = title.rpartition(".")[2]
    doc = parse(inspect.getdoc(cls))
    made = [fence("py", _constructor(title, cls))] if name in MADE_BY_USERS else []
    declared = () if name in MADE_BY_USERS else class_fields(cls)
    rows = [[code(field.name), code(field.kind), _about(field.about) or _in_json(cls, field)] for field in declared]
    rows += [[code(key), code(kind), _about(about)] for key, kind, about in _properties(cls)]
    table_of_fields = table(["attribute", "type", "meaning"], rows) if rows else []
    methods = [
        joined([[f"#### {name}.{key}"], document(method, f"{name}.{key}", drop_first=takes_self)])
        for key, method, takes_self in _methods(cls)
    ]
    return joined([*made, paragraphs(doc.text), *sections(doc), table_of_fields, *methods])


def _in_json(cls: type[Any], field: ClassField) -> str:
    """Return what a field of a report is, as the page of JSON forms has it."""
    return MEANINGS["ReportForm"].get(field.name, "").replace("(#", "(schemas.md#") if cls is Report else ""


def _about(doc: str) -> str:
    return sentence(" ".join(doc.split())) if doc else ""


def _constructor(title: str, cls: type[Any]) -> list[str]:
    declared = declared_constructor(cls, title)
    if declared is not None:
        return declared
    kinds = {field.name: field.kind for field in class_fields(cls)}
    parts = []
    if is_dataclass(cls):
        defaults = inspect.signature(cls).parameters
        for field in fields(cls):
            if field.init:
                default = defaults[field.name].default
                given = "" if default is inspect.Parameter.empty else f" = {default_text(default)}"
                parts.append(f"{field.name}: {kinds[field.name]}{given}")
    return call_lines(title, parts)


def _properties(cls: type[Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the documented properties: name, type, meaning."""
    for key, value in _attributes(cls).items():
        function = value.func if isinstance(value, cached_property) else getattr(value, "fget", None)
        if not key.startswith("_") and function is not None and inspect.getdoc(value):
            yield key, result_type(function), parse(inspect.getdoc(value)).text.split("\n\n")[0]


def _attributes(cls: type[Any]) -> dict[str, Any]:
    """Return the attributes of a class and of its bases, without those that all records and sections have."""
    bases = [base for base in cls.__mro__ if base.__module__.startswith("rankjury.") and base.__name__ not in _SHARED]
    return {key: value for base in reversed(bases) for key, value in vars(base).items() if key not in _SHARED}


def _methods(cls: type[Any]) -> Iterator[tuple[str, Any, bool]]:
    """Yield the methods: name, function, whether it takes the instance or the class."""
    for key, value in _attributes(cls).items():
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if not key.startswith("_") and inspect.isfunction(function):
            yield key, function, not isinstance(value, staticmethod)


def _returned(groups: Mapping[str, Sequence[tuple[str, Any]]]) -> list[str]:
    """Return the attributes and methods of the classes that functions return and that are not public names."""
    public = {title.rpartition(".")[2] for members in groups.values() for title, _ in members}
    makers: dict[type[Any], list[str]] = {}
    for members in groups.values():
        for title, value in members:
            for cls in [] if inspect.isclass(value) else _result_classes(value):
                if cls.__name__ not in public:
                    makers.setdefault(cls, []).append(title)
    blocks = []
    for cls, titles in makers.items():
        about = f"{sentence(_first_paragraph(cls))} Returned by {codes(titles)}."
        rows = [[code(field.name), code(field.kind), _about(field.about)] for field in _fields(cls)]
        rows += [[code(key), code(kind), _about(doc)] for key, kind, doc in _properties(cls)]
        rows += [
            [code(f"{key}()"), code(result_type(method)), _about((inspect.getdoc(method) or "").partition("\n\n")[0])]
            for key, method, _ in _methods(cls)
        ]
        blocks.append(joined([[f"### {cls.__name__}"], [about], table(["attribute", "type", "meaning"], rows)]))
    return joined(
        [["## Returned values"], ["Classes that only functions make; import them for type annotations."], *blocks]
    )


def _fields(cls: type[Any]) -> list[ClassField]:
    """Return the fields of a dataclass and of its bases."""
    declared = {base: class_fields(base) for base in reversed(cls.__mro__) if is_dataclass(base)}
    return list({field.name: field for found in declared.values() for field in found}.values())


def _result_classes(function: Any) -> Iterator[type[Any]]:
    names = inspect.unwrap(function).__globals__
    for name in re.findall(r"[A-Za-z_]\w*", result_type(function)):
        cls = names.get(name)
        if inspect.isclass(cls) and cls.__module__.startswith("rankjury."):
            yield cls


def _errors() -> list[str]:
    """Return the tree of exceptions with their exit codes, and the methods of the base class."""
    rows = [
        [f"{'&nbsp;' * 4 * depth}{code(cls.__name__)}", str(cls.exit_code), sentence(_first_paragraph(cls))]
        for cls, depth in _tree(RankjuryError, 0)
    ]
    public = ", ".join(code(f"rankjury.{name}") for name in rankjury.__all__ if _is_error(getattr(rankjury, name)))
    lead = (
        f"{public} are public names; the others are in `rankjury.errors`. The message says what was found, where, what "
        "was expected and what to do; `found`, `where`, `expected` and `hint` are attributes. Commands print it in one "
        "line and exit with the [code](exit-codes.md) of the class."
    )
    methods = [
        joined([[f"### RankjuryError.{key}"], document(method, f"RankjuryError.{key}", drop_first=True)])
        for key, method, _ in _methods(RankjuryError)
    ]
    return joined([["## Errors"], [lead], table(["class", "exit code", "meaning"], rows), *methods])


def _tree(cls: type[RankjuryError], depth: int) -> Iterator[tuple[type[RankjuryError], int]]:
    """Yield a class and its subclasses that ``rankjury.errors`` defines."""
    yield cls, depth
    for inner in vars(errors).values():
        if inspect.isclass(inner) and cls in inner.__bases__ and inner.__module__ == errors.__name__:
            yield from _tree(inner, depth + 1)


def _first_paragraph(cls: type[Any]) -> str:
    return " ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split())


def error_rows() -> list[list[str]]:
    """Return the exceptions as rows: class, exit code, meaning."""
    return [[code(cls.__name__), str(cls.exit_code), text(_first_paragraph(cls))] for cls, _ in _tree(RankjuryError, 0)]
