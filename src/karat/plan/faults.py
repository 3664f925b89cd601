"""What is wrong with a plan: each fault with its key, and all of them as one error with their lines."""

from collections.abc import Iterator
from math import isfinite
from typing import Any, get_args

from pydantic import BaseModel

from karat.errors import UnknownName, UsageError, shorten
from karat.masking import Masker
from karat.plan import GOLD_KINDS, SYSTEM_KINDS, lines
from karat.plan.lab import LabTable
from karat.plan.model import AgreementTable, Conventions, OutputTable, Statistics, TargetTable
from karat.plan.sweeping import SweepTable
from karat.plan.tuning import RangeTable, TuneTable

__all__ = ["Fault", "each_once", "fault_error", "fault_of", "spelled", "unusable_values"]

Fault = tuple[lines.Path, str]
"""Where, by its path in the plan, and what."""

_DEEPEST = 50
"""Levels of tables and lists; no table of a plan has more than six."""


def unusable_values(content: Any, path: lines.Path = ()) -> Iterator[Fault]:
    """Find what no key of a plan can take: numbers that are not finite or exceed 64 bits, and NUL characters."""
    if len(path) > _DEEPEST:
        yield path[:1], "nested too deeply"
    elif isinstance(content, dict):
        for key, value in content.items():
            if "\0" in str(key):
                yield (*path, shorten(str(key))), "a key with a NUL character"
            yield from unusable_values(value, (*path, key))
    elif isinstance(content, list):
        for place, value in enumerate(content):
            yield from unusable_values(value, (*path, place))
    elif isinstance(content, float) and not isfinite(content):
        yield path, f"found {content}, expected a finite number"
    elif isinstance(content, int) and not -(2**63) <= content < 2**63:
        yield path, f"found {shorten(content)}, expected one of at most 64 bits"
    elif isinstance(content, str) and "\0" in content:
        yield path, f"found a NUL character in {shorten(content)!r}"


def fault_error(faults: list[Fault], where: str, places: dict[lines.Path, int]) -> UsageError:
    told = []
    for path, message in faults:
        line = lines.line_of(path, places)
        told.append(
            f"{where}{f':{line}' if line else ''}, {spelled(path)}: {message}" if path else f"{where}: {message}"
        )
    if len(told) == 1:
        return UsageError(told[0])
    return UsageError(f"{len(told)} faults in the plan", where=where, details=told)


def spelled(path: lines.Path) -> str:
    """``systems.dense.path``, ``measures[1]``."""
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def fault_of(error: Any, content: dict[str, Any], model: type[BaseModel]) -> Fault:
    path = _path_within(error["loc"], content)
    kind = error["type"]
    if kind == "extra_forbidden":
        return path, str(UnknownName("key", str(path[-1]), _known_keys(path[:-1], content, model)))
    if kind == "missing":
        return path, "missing"
    if kind == "union_tag_invalid":
        registry = GOLD_KINDS if path[:1] == ("gold",) else SYSTEM_KINDS
        return (*path, "kind"), str(UnknownName(registry.kind, error["ctx"]["tag"], registry.names()))
    message = error["msg"].removeprefix("Value error, ").replace("Input should be ", "expected ")
    found = Masker().plan(error.get("input"), tuple(map(str, path)))
    shown = f"found {shorten(found, quoted=True)}, " if isinstance(found, str | int | float) else ""
    return path, shown + message[:1].lower() + message[1:]


def _path_within(location: tuple[Any, ...], content: Any) -> lines.Path:
    """The location without the names of kinds and types, which are no keys of the plan."""
    path: list[str | int] = []
    kind_at = {"gold": 1, "systems": 2}.get(str(location[0]))
    location = tuple(part for place, part in enumerate(location) if place != kind_at)
    for place, part in enumerate(location):
        listed = isinstance(content, list) and isinstance(part, int) and part < len(content)
        if listed or (isinstance(content, dict) and part in content):
            content = content[part]
            path.append(part)
        elif isinstance(content, dict) and place == len(location) - 1 and isinstance(part, str):
            path.append(part)
    return tuple(path)


def _known_keys(path: lines.Path, content: dict[str, Any], model: type[BaseModel]) -> list[str]:
    """The keys that the table at this path may have."""
    table: Any = content
    for part in path:
        table = table[part]
    kind: Any
    if path[:1] == ("gold",):
        kind = GOLD_KINDS.get(content["gold"]["kind"])
        for part in path[1:]:
            annotation = kind.model_fields[part].annotation  # perhaps a table, or nothing
            kind = next((one for one in get_args(annotation) if hasattr(one, "model_fields")), annotation)
    elif path[:1] == ("systems",) and len(path) == 2:
        kind = SYSTEM_KINDS.get(table["kind"])
    elif path[:1] == ("tune",) and len(path) > 2:
        kind = RangeTable
    else:
        kind = _TABLES.get(str(path[0]), OutputTable) if path else model
    return list(kind.model_fields)


_TABLES: dict[str, type[BaseModel]] = {
    "statistics": Statistics,
    "conventions": Conventions,
    "agreement": AgreementTable,
    "target": TargetTable,
    "output": OutputTable,
    "lab": LabTable,
    "sweep": SweepTable,
    "tune": TuneTable,
}


def each_once(faults: list[Fault]) -> list[Fault]:
    """A value that is of none of several types is one fault, not one for each type."""
    by_start: dict[tuple[lines.Path, str], list[str]] = {}
    paths = {path for path, _ in faults}
    for path, message in faults:
        if any(other[: len(path)] == path and len(other) > len(path) for other in paths):
            continue  # told of what is in it
        start, expected, wanted = message.partition("expected ")
        by_start.setdefault((path, start + expected), []).append(wanted)
    return [(path, start + " or ".join(dict.fromkeys(all_of))) for (path, start), all_of in by_start.items()]
