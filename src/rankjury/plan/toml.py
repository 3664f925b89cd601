"""TOML of plans: the line of each key, faults by key and line, and tables written as text.

``tomllib`` reads the values and tells no lines: ``lines_of`` only looks for keys, in a text that ``tomllib`` has read.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from json import dumps
from math import isfinite
from typing import Any, get_args

from pydantic import BaseModel

from rankjury.core.secrets import Masker
from rankjury.errors import UnknownName, UsageError, shorten
from rankjury.plan import GOLD_KINDS, SYSTEM_KINDS
from rankjury.plan.bench import LabTable
from rankjury.plan.schema import AgreementTable, Conventions, OutputTable, Statistics, TargetTable
from rankjury.plan.sweep import SweepTable
from rankjury.plan.tune import RangeTable, TuneTable

KeyPath = tuple[str | int, ...]

_KEY_PART = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*""")
_TOKEN = re.compile(
    r'''"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|'''  # texts
    r"""#[^\n]*|[\[\]{},=\n]|[^\s\[\]{},=#"']+|[ \t\r]+""",  # comments, signs, words and blanks
    re.DOTALL,
)


def find_line(path: KeyPath, lines: dict[KeyPath, int]) -> int | None:
    """The line of a key, or of what it would stand in."""
    for end in range(len(path), 0, -1):
        if path[:end] in lines:
            return lines[path[:end]]
    return None


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line, from 1, of everything that has a path."""
    return _Reader(text).read()


class _Reader:
    """Walks over the tokens once."""

    def __init__(self, text: str) -> None:
        self.tokens = list(_tokens(text))
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self.counts: dict[KeyPath, int] = {}
        """How often a table of a list was opened."""

    def read(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self.at < len(self.tokens):
            token, line = self.tokens[self.at]
            if token == "[":
                table = self._header(line)
            elif token.isspace():  # also what stands behind a header, a list or an inline table
                self.at += 1
            else:
                self._pair(table)
        return self.lines

    def _header(self, line: int) -> KeyPath:
        """``[a.b]`` or ``[[a.b]]``."""
        listed = self._next_is("[", 1)
        self.at += 2 if listed else 1
        path = self._resolved(self._key(), line)
        self.at += 2 if listed else 1
        if listed:
            self.counts[path] = self.counts.get(path, -1) + 1
            self.lines.setdefault(path, line)
            path = (*path, self.counts[path])
        self.lines.setdefault(path, line)
        return path

    def _resolved(self, names: list[str], line: int) -> KeyPath:
        """A header below a list of tables means its last table; what it passes through is there from now on."""
        path: KeyPath = ()
        for place, name in enumerate(names):
            path = (*path, name)
            if place < len(names) - 1:
                self.lines.setdefault(path, line)
                if path in self.counts:
                    path = (*path, self.counts[path])
        return path

    def _pair(self, table: KeyPath) -> None:
        line = self.tokens[self.at][1]
        path = table
        for name in self._key():
            path = (*path, name)
            self.lines.setdefault(path, line)
        self.at += 1  # the equals sign
        self._value(path)

    def _key(self) -> list[str]:
        """The parts of a dotted key; stops before what follows it."""
        text = ""
        while self.at < len(self.tokens) and self.tokens[self.at][0] not in ("=", "]", "\n"):
            text += self.tokens[self.at][0]
            self.at += 1
        parts, place = [], 0
        while match := _KEY_PART.match(text, place):
            escaped, literal, bare = match.groups()
            parts.append(_unescaped(escaped) if escaped is not None else literal if literal is not None else bare)
            place = match.end() + 1  # the dot
        return parts

    def _value(self, path: KeyPath) -> None:
        while self.at < len(self.tokens) and self.tokens[self.at][0].isspace() and self.tokens[self.at][0] != "\n":
            self.at += 1
        if self.at >= len(self.tokens):
            return
        token = self.tokens[self.at][0]
        if token == "[":
            self._list(path)
        elif token == "{":
            self._inline_table(path)
        else:
            while self.at < len(self.tokens) and self.tokens[self.at][0] not in (",", "]", "}", "\n"):
                self.at += 1

    def _list(self, path: KeyPath) -> None:
        self.at += 1
        number = 0
        while self.at < len(self.tokens) and self.tokens[self.at][0] != "]":
            token, line = self.tokens[self.at]
            if token.isspace() or token == ",":
                self.at += 1
                continue
            self.lines.setdefault((*path, number), line)
            self._value((*path, number))
            number += 1
        self.at += 1

    def _inline_table(self, path: KeyPath) -> None:
        self.at += 1
        while self.at < len(self.tokens) and self.tokens[self.at][0] != "}":
            if self.tokens[self.at][0].isspace() or self.tokens[self.at][0] == ",":
                self.at += 1
            else:
                self._pair(path)
        self.at += 1

    def _next_is(self, token: str, ahead: int) -> bool:
        return self.at + ahead < len(self.tokens) and self.tokens[self.at + ahead][0] == token


def _unescaped(text: str) -> str:
    """A quoted key as ``tomllib`` reads it."""
    return str(tomllib.loads(f'key = "{text}"')["key"]) if "\\" in text else text


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    """Tokens with their line; comments and blanks at the start of a line are left out."""
    line, at_start = 1, True
    for match in _TOKEN.finditer(text):
        token = match.group()
        if not token.startswith("#") and not (at_start and token.isspace() and token != "\n"):
            yield token, line
            at_start = token == "\n"
        line += token.count("\n")


Fault = tuple[KeyPath, str]
"""Where, by its path in the plan, and what."""

_DEEPEST = 50
"""Levels of tables and lists; no table of a plan has more than six."""


def unusable_values(content: Any, path: KeyPath = ()) -> Iterator[Fault]:
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


def fault_error(faults: list[Fault], where: str, places: dict[KeyPath, int]) -> UsageError:
    told = []
    for path, message in faults:
        line = find_line(path, places)
        told.append(
            f"{where}{f':{line}' if line else ''}, {format_path(path)}: {message}" if path else f"{where}: {message}"
        )
    if len(told) == 1:
        return UsageError(told[0])
    return UsageError(f"{len(told)} faults in the plan", where=where, details=told)


def format_path(path: KeyPath) -> str:
    """``systems.dense.path``, ``measures[1]``."""
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def fault_from_error(error: Any, content: dict[str, Any], model: type[BaseModel]) -> Fault:
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


def _path_within(location: tuple[Any, ...], content: Any) -> KeyPath:
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


def _known_keys(path: KeyPath, content: dict[str, Any], model: type[BaseModel]) -> list[str]:
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


def merge_faults(faults: list[Fault]) -> list[Fault]:
    """A value that is of none of several types is one fault, not one for each type."""
    by_start: dict[tuple[KeyPath, str], list[str]] = {}
    paths = {path for path, _ in faults}
    for path, message in faults:
        if any(other[: len(path)] == path and len(other) > len(path) for other in paths):
            continue  # told of what is in it
        start, expected, wanted = message.partition("expected ")
        by_start.setdefault((path, start + expected), []).append(wanted)
    return [(path, start + " or ".join(dict.fromkeys(all_of))) for (path, start), all_of in by_start.items()]


def toml_string(value: str) -> str:
    """As TOML, which escapes as JSON does."""
    return dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    """A key of TOML: quoted unless it is of plain letters."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_string(name)


def to_toml(table: Mapping[str, Any], path: tuple[str, ...] = ()) -> str:
    """Write TOML: of each table its values, then the tables in it."""
    inner = {key: value for key, value in table.items() if isinstance(value, Mapping) and value}
    lines = [f"{toml_key(key)} = {_toml_value(value)}" for key, value in table.items() if key not in inner]
    if path and (lines or not inner):
        lines.insert(0, f"[{'.'.join(map(toml_key, path))}]")
    text = "".join(f"{line}\n" for line in lines)
    parts = [text, *(to_toml(value, (*path, key)) for key, value in inner.items())]
    return "\n".join(part for part in parts if part)


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return toml_string(value.encode("utf-8", "replace").decode())
    if isinstance(value, Mapping):
        inside = ", ".join(f"{toml_key(key)} = {_toml_value(one)}" for key, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return value.isoformat() if hasattr(value, "isoformat") else repr(value)
