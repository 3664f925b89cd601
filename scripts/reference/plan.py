"""Tables of the page on plans: the keys of each table with type, default and description, from the models."""

from collections.abc import Iterator, Mapping
from json import dumps
from typing import Any

from pydantic import BaseModel

from rankjury.plan import GOLD_KINDS, SYSTEM_KINDS
from rankjury.plan.schema import (
    AgreementTable,
    Conventions,
    LabTable,
    OutputTable,
    RangeTable,
    Statistics,
    SweepTable,
    TargetTable,
    TuneTable,
    plan_schema,
)
from reference.markdown import anchor, code, codes, joined, number, sentence, table, text

TABLES: dict[str, type[BaseModel]] = {
    "[statistics]": Statistics,
    "[conventions]": Conventions,
    "[[target]]": TargetTable,
    "[[output]]": OutputTable,
    "[agreement]": AgreementTable,
    "[lab]": LabTable,
    "[sweep.SYSTEM]": SweepTable,
    "[tune.SYSTEM]": TuneTable,
    "A range in [tune.SYSTEM]": RangeTable,
}
"""Tables of a plan beside the gold and the systems, by heading."""
_HUGE = 2**53
"""Limits above it are those of 64 bits, and are not shown."""
_INNER = {
    "SplitTable": "[gold.split]",
    "TiersTable": "[gold.tiers]",
    "CandidatesTable": "[gold.candidates]",
    "MappingTable": "[gold.mapping]",
}
"""Tables within a gold, by the name of their model."""


def top_keys() -> list[str]:
    """Return the keys of the plan itself."""
    schema = plan_schema()
    return _table(schema, schema["$defs"])


def gold_kinds() -> list[str]:
    """Return a section for each kind of gold, and for the tables within golds."""
    blocks = [_kind(f"Kind of gold: {kind}", GOLD_KINDS.get(kind)) for kind in GOLD_KINDS.names()]
    inner: dict[str, Any] = {}
    for kind in GOLD_KINDS:
        inner |= kind.model_json_schema().get("$defs", {})
    for name, heading in _INNER.items():
        definition = inner[name]
        about = sentence(" ".join(definition["description"].split()))
        blocks.append([f"### {_code_heading(heading)}", "", about, "", *_table(definition, inner)])
    return joined(blocks)


def system_kinds() -> list[str]:
    """Return a section for each kind of system."""
    return joined(_kind(f"Kind of system: {kind}", SYSTEM_KINDS.get(kind)) for kind in SYSTEM_KINDS.names())


def other_tables() -> list[str]:
    """Return a section for each other table."""
    return joined(_kind(heading, model) for heading, model in TABLES.items())


def _kind(heading: str, model: type[BaseModel]) -> list[str]:
    doc = " ".join((model.__doc__ or "").split("\n\n")[0].split())
    return [f"### {_code_heading(heading)}", "", sentence(doc), "", *_keys(model)]


def _code_heading(heading: str) -> str:
    """Return a heading; the name of a table as code."""
    return code(heading) if heading.startswith("[") else heading


def _keys(model: type[BaseModel]) -> list[str]:
    schema = model.model_json_schema()
    return _table(schema, schema.get("$defs", {}))


def _table(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[str]:
    required = set(schema.get("required", ()))
    rows = []
    for key, value in schema["properties"].items():
        if key != "kind" or "const" not in value:
            default = "required" if key in required else _default(value)
            rows.append([code(key), _type(value), default, _about(value, definitions)])
    return table(["key", "value", "default", "what it is"], rows)


def _about(value: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Return the description of a key; it begins as written, as its first word may be a value."""
    given = value.get("description")
    if given is None and "$ref" in value:
        given = definitions[value["$ref"].rpartition("/")[2]]["description"]
    shown = text(" ".join((given or "").split()))
    return shown if shown.endswith((".", "…")) or not shown else f"{shown}."


def _default(schema: Mapping[str, Any]) -> str:
    default = schema.get("default")
    if default is None or default in ([], {}):
        return ""
    if isinstance(default, dict):
        return "its defaults"
    return codes(dumps(value, ensure_ascii=False) for value in (default if isinstance(default, list) else [default]))


def _type(value: Mapping[str, Any]) -> str:
    """Return a type of the JSON Schema in words."""
    if "$ref" in value:
        return _reference(value["$ref"].rpartition("/")[2])
    if "discriminator" in value:
        noun = "system" if any("System" in name for name in value["discriminator"]["mapping"].values()) else "gold"
        return f"table of a [kind of {noun}](#{'systems' if noun == 'system' else 'gold'})"
    if "anyOf" in value or "oneOf" in value:
        choices = [choice for choice in value.get("anyOf") or value["oneOf"] if choice.get("type") != "null"]
        if {choice.get("type") for choice in choices} == {"integer", "number", "string", "boolean"}:
            return "value"
        # Python orders equal sets of values in types that may be None as it met them first.
        found = [_type(choice | {"enum": sorted(choice["enum"])} if "enum" in choice else choice) for choice in choices]
        return " or ".join(dict.fromkeys(found))
    if "const" in value:
        return code(dumps(value["const"]))
    if "enum" in value:
        return codes(map(dumps, value["enum"]))
    match value.get("type"):
        case "array":
            return f"list of {_plural(_type(value['items']))}"
        case "object":
            inner = value.get("additionalProperties")
            if not isinstance(inner, dict):
                return "table"
            kind = _type(inner)
            return f"table; by name: {kind}" if " or " in kind else f"table of {_plural(kind)} by name"
        case "integer" | "number" as kind:
            return " ".join([{"integer": "whole number", "number": "number"}[kind], *_bounds(value)])
        case "string":
            return "text"
        case "boolean":
            return "true or false"
    return "value"


def _reference(name: str) -> str:
    """Return a link to the section of a table."""
    headings = _INNER | {model.__name__: heading for heading, model in TABLES.items()}
    return f"[table](#{anchor(headings[name])})" if name in headings else "table"


def _plural(kind: str) -> str:
    first, _, rest = kind.partition(" or ")
    plurals = {"whole number": "whole numbers", "text": "texts", "number": "numbers", "value": "values"}
    plurals |= {"list of": "lists of", "table of": "tables of", "[table]": "[tables]"}
    start = next((start for start in plurals if first.startswith(start)), "")
    shown = plurals[start] + first.removeprefix(start) if start else first
    return " or ".join(filter(None, (shown.removesuffix(" by name"), rest)))


def _bounds(value: Mapping[str, Any]) -> Iterator[str]:
    if "minimum" in value:
        yield f"from {number(value['minimum'])}"
    if "exclusiveMinimum" in value:
        yield f"above {number(value['exclusiveMinimum'])}"
    if "maximum" in value:
        yield f"to {number(value['maximum'])}"
    if value.get("exclusiveMaximum", _HUGE) < _HUGE:
        yield f"below {number(value['exclusiveMaximum'])}"
