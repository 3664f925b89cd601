"""TOML of plans: the line of each key, faults by key and line, and tables written as text.

``tomllib`` reads the values and tells no lines: ``key_lines`` only looks for keys, in a text that ``tomllib`` has read.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from json import dumps
from typing import Any

KeyPath = tuple[str | int, ...]

_KEY_PART = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*""")
_TOKEN = re.compile(
    r'''"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|'''  # texts
    r"""#[^\n]*|[\[\]{},=\n]|[^\s\[\]{},=#"']+|[ \t\r]+""",  # comments, signs, words and blanks
    re.DOTALL,
)


def find_line(path: KeyPath, lines: dict[KeyPath, int]) -> int | None:
    """Return the line of a key, or of the table that it would be in."""
    for end in range(len(path), 0, -1):
        if path[:end] in lines:
            return lines[path[:end]]
    return None


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line, from 1, of each key."""
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
        listed = self.tokens[self.at + 1 : self.at + 2] == [("[", line)]
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


def format_path(path: KeyPath) -> str:
    """``systems.dense.path``, ``measures[1]``."""
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def toml_string(value: str) -> str:
    """Return a text as TOML, which escapes as JSON does."""
    return dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    """Return a key of TOML: quoted unless it is of plain letters."""
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
        inside = ", ".join(f"{toml_key(key)} = {_toml_value(entry)}" for key, entry in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return value.isoformat() if hasattr(value, "isoformat") else repr(value)
