"""Page of JSON forms: which there are in the code, and the tables of their keys."""

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import rankjury
from rankjury.core.validation import Record, _written as written_fields
from rankjury.evaluation import report_json
from rankjury.evaluation.report_json import DERIVED, QueriesForm, ReportForm
from rankjury.evaluation.sections import SECTIONS, ReportWarning
from rankjury.plan.schema import plan_schema
from rankjury.stats.comparison import Comparison
from rankjury.stats.estimates import Estimate
from rankjury.stats.resampling import Resampling
from rankjury.tracking.archive import manifest
from reference.docstrings import class_fields
from reference.markdown import anchor, code, joined, sentence, table


@dataclass(frozen=True)
class Form:
    """A JSON form with a schema: what writes and reads it, and what each top-level key means."""

    about: str
    written: str
    read: str
    keys: Mapping[str, str] = field(default_factory=dict)
    internal: bool = False
    """Whether only rankjury itself reads it, from its own folders."""


_DATA = tomllib.loads((Path(__file__).parent / "json_forms.toml").read_text(encoding="utf-8"))
FORMS = {name: Form(**entries) for name, entries in _DATA["forms"].items()}
MEANINGS: Mapping[str, Mapping[str, str]] = _DATA["meanings"]
_SCHEMA = re.compile(r"rankjury\.[a-z-]+/\d+")
_SOURCE = Path(rankjury.__file__).parent
_RECORDS = {
    "Report": ReportForm,
    "Estimates": Estimate,
    "Comparisons": Comparison,
    "Changes": report_json.Change,
    "Slices": report_json._SliceForm,
    "Queries": QueriesForm,
    "Warnings": ReportWarning,
    "Resampling": Resampling,
}
"""By heading, the records that a report consists of."""
_OPTIONAL = "where it differs from its default"


@cache
def _modules() -> tuple[ast.Module, ...]:
    """Return the parsed modules that write a schema."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(_SOURCE.rglob("*.py")))
    return tuple(ast.parse(source) for source in texts if _SCHEMA.search(source) or '"schema":' in source)


@cache
def schemas_in_code() -> frozenset[str]:
    """Return the schemas that the code names."""
    found = {
        node.value
        for tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _SCHEMA.fullmatch(node.value)
    }
    return frozenset({*found, manifest.SCHEMA})


def check_forms() -> None:
    """Refuse a schema of the code that is not described, and a description of one that is not there."""
    unknown, gone = schemas_in_code() - FORMS.keys(), FORMS.keys() - schemas_in_code()
    if unknown or gone:
        parts = [f"not described: {', '.join(sorted(unknown))}"] if unknown else []
        parts += [f"not in the code: {', '.join(sorted(gone))}"] if gone else []
        raise ValueError(f"scripts/reference/json_forms.toml: {'; '.join(parts)}")
    missing = {name: keys - FORMS[name].keys.keys() for name, keys in literal_keys().items() if FORMS[name].keys}
    if wrong := {name: sorted(keys) for name, keys in missing.items() if keys}:
        raise ValueError(f"scripts/reference/json_forms.toml does not describe these keys: {wrong}")


@cache
def literal_keys() -> dict[str, set[str]]:
    """Return the keys that are written beside a schema in the same literal, apart from the schema and the version."""
    found: dict[str, set[str]] = {}
    for tree in _modules():
        named = {
            target.id: node.value.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name) and isinstance(node.value.value, str)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                pairs = {k.value: v for k, v in zip(node.keys, node.values, strict=True) if isinstance(k, ast.Constant)}
                value = pairs.pop("schema", None)
                name = value.value if isinstance(value, ast.Constant) else named.get(getattr(value, "id", ""))
                if name in FORMS:
                    found.setdefault(name, set()).update({str(key) for key in pairs} - {"rankjury"})
    return found


def overview() -> list[str]:
    """Return the table of all forms: what each is, what writes and what reads it."""
    check_forms()
    rows = [
        [
            f"[{code(name)}](#{anchor(name if form.keys else 'The report')})",
            sentence(form.about),
            form.written,
            form.read,
        ]
        for name, form in FORMS.items()
        if not form.internal
    ]
    return table(["schema", "what it is", "written by", "read by"], rows)


def forms() -> list[str]:
    """Return a section for each form that others may read, with the meaning of its keys."""
    return joined(_section(name, form) for name, form in FORMS.items() if form.keys and not form.internal)


def internal_forms() -> list[str]:
    """Return the table of forms that only rankjury reads, and their keys."""
    rows = [
        [code(name), sentence(form.about), form.written, form.read, ", ".join(map(code, form.keys))]
        for name, form in FORMS.items()
        if form.internal
    ]
    return table(["schema", "what it is", "written by", "read by", "keys"], rows)


def _section(name: str, form: Form) -> list[str]:
    rows = [[code(key), meaning] for key, meaning in form.keys.items()]
    return [f"### {name}", "", sentence(form.about), "", *table(["key", "meaning"], rows)]


def report_tables() -> list[str]:
    """Return the tables of the report's records, read from their dataclasses."""
    blocks = []
    for heading, record in _RECORDS.items():
        further = _DATA["further"].get(record.__name__, {})
        rows = [*_fields(record), *([code(key), "object", meaning] for key, meaning in further.items())]
        if record is ReportForm:
            rows += [
                [code(name), "", "Derived from other keys; ignored when the report is read."] for name in _derived()
            ]
            rows.append(["a section's name", "object", "See [sections](#sections)."])
        blocks.append(
            [*([] if heading == "Report" else [f"#### {heading}", ""]), *table(["key", "type", "meaning"], rows)]
        )
        if record is ReportForm:
            systems = [[code(key), meaning] for key, meaning in _DATA["system"].items()]
            systems.append(["a section's name", "See [sections](#sections)."])
            blocks.append(["#### Systems", "", *table(["key", "meaning"], systems)])
    blocks.append(["#### Sections", "", *_sections()])
    return joined(blocks)


def _derived() -> list[str]:
    return sorted(DERIVED - {"schema"})


def _fields(record: type[Any]) -> Iterator[list[str]]:
    """Yield the key, the type and the meaning of each field that is written."""
    about = {declared.name: declared for declared in class_fields(record)}
    meanings = MEANINGS.get(record.__name__, {})
    if stale := meanings.keys() - {name for name, _ in _keys(record)}:
        raise ValueError(f"json_forms.toml: {record.__name__} does not write {', '.join(sorted(stale))}")
    for name, key in _keys(record):
        declared = about.get(name)
        own = declared.about if declared else inspect.getdoc(getattr(record, name)) or ""
        meaning = meanings.get(name) or (sentence(" ".join(own.split())) if own else "")
        if not meaning:
            raise ValueError(f"json_forms.toml does not describe {record.__name__}.{name}")
        if name in getattr(record, "omitted", ()):
            meaning += f" Written only {_OPTIONAL}."
        yield [code(key), _kind(declared.kind) if declared else "value", meaning]


def _keys(record: type[Any]) -> list[tuple[str, str]]:
    if issubclass(record, Record):
        return [(name, key) for name, key, _ in written_fields(record)]
    return [(declared.name, declared.name) for declared in class_fields(record)]


def _kind(annotation: str) -> str:
    """Return a type of Python as one of JSON."""
    optional = annotation.endswith(" | None")
    plain = annotation.removesuffix(" | None")
    kinds = {"str": "text", "int": "whole number", "float": "number", "bool": "true or false", "Bounds": "two numbers"}
    kind = kinds.get(plain)
    if kind is None:
        kind = "list" if plain.startswith("tuple[") else "text" if plain.startswith("Literal") else "object"
    null = " or null" if optional or plain == "float" else ""
    return kind + null


def _sections() -> list[str]:
    rows = []
    for name in sorted(SECTIONS.names()):
        cls = SECTIONS.get(name)
        if cls.__module__.startswith("rankjury."):
            doc = " ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split())
            rows.append([code(name), "a system" if cls.system_only else "the report or a system", sentence(doc)])
    lead = "A section is a key of the report or of a system, with what a speciality adds:"
    return [lead, "", *table(["key", "where", "what it is"], rows)]


def plan_schema_facts() -> list[str]:
    """Return the definitions of the JSON Schema of plans."""
    schema = plan_schema()
    rows = [[code(name), sentence(" ".join(table_["description"].split()))] for name, table_ in schema["$defs"].items()]
    return [
        f"Its dialect is `{schema['$schema']}`, and its definitions are:",
        "",
        *table(["definition", "what it is"], rows),
    ]
