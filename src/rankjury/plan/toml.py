"""TOML of plans: line numbers of keys, faults by key and line, and a writer of tables.

``tomllib`` reads the values without line numbers: ``key_lines`` only finds keys, in a text that ``tomllib`` has read.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from json import dumps
from typing import Any

KeyPath = tuple[str | int, ...]

_KEY_PART = re.compile(r""""(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+""")
_TOKEN = re.compile(
    r'''"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|'''  # texts
    r"""#[^\n]*|[\[\]{},=\n]|[^\s\[\]{},=#"']+|[ \t\r]+""",  # comments, signs, words and blanks
    re.DOTALL,
)


def find_line(path: KeyPath, lines: dict[KeyPath, int]) -> int | None:
    """Return the line of a key, or of the table that would contain it."""
    prefixes = (path[:end] for end in range(len(path), 0, -1))
    return next((lines[prefix] for prefix in prefixes if prefix in lines), None)


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line, from 1, of each key."""
    return _LineReader(text).lines


class _LineReader:
    """Reader that records the line of each key; brackets are closed, as ``tomllib`` has read the text."""

    def __init__(self, text: str) -> None:
        self.tokens = [*_tokens(text), ("\n", 0)]
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self.last_tables: dict[KeyPath, int] = {}
        """By list of tables, the index of the last opened table."""
        table: KeyPath = ()
        while self.at < len(self.tokens):
            token = self.tokens[self.at][0]
            if token == "\n":
                self.at += 1
            elif token == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> KeyPath:
        """Read ``[a.b]`` or ``[[a.b]]``; within a list of tables it means the last table of the list."""
        line = self.tokens[self.at][1]
        brackets = 2 if self.tokens[self.at + 1][0] == "[" else 1
        self.at += brackets
        path: KeyPath = ()
        for name in self._key():
            if path in self.last_tables:
                path = (*path, self.last_tables[path])
            path = (*path, name)
            self.lines.setdefault(path, line)
        self.at += brackets
        if brackets == 2:
            self.last_tables[path] = self.last_tables.get(path, -1) + 1
            path = (*path, self.last_tables[path])
            self.lines.setdefault(path, line)
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
        """Read the parts of a dotted key; stop before the next token."""
        text = ""
        while self.tokens[self.at][0] not in ("=", "]"):
            text += self.tokens[self.at][0]
            self.at += 1
        return [
            str(tomllib.loads(f"key = {part}")["key"]) if part[0] in "\"'" else part for part in _KEY_PART.findall(text)
        ]

    def _value(self, path: KeyPath) -> None:
        opening = self.tokens[self.at][0]
        if opening not in ("[", "{"):
            while self.tokens[self.at][0] not in (",", "]", "}", "\n"):
                self.at += 1
            return
        self.at += 1
        number = 0
        while self.tokens[self.at][0] not in ("]", "}"):
            token, line = self.tokens[self.at]
            if token in (",", "\n"):
                self.at += 1
            elif opening == "{":
                self._pair(path)
            else:
                self.lines.setdefault((*path, number), line)
                self._value((*path, number))
                number += 1
        self.at += 1


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    """Yield tokens with their line; comments and blanks are omitted."""
    line = 1
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == "\n" or not (token.startswith("#") or token.isspace()):
            yield token, line
        line += token.count("\n")


def format_path(path: KeyPath) -> str:
    """Return a path as text: ``systems.dense.path``, ``measures[1]``."""
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def toml_string(value: str) -> str:
    """Return a text as TOML, with the escapes of JSON."""
    return dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    """Return a key of TOML: quoted unless it consists of plain letters."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_string(name)


def to_toml(table: Mapping[str, Any], path: tuple[str, ...] = ()) -> str:
    """Return a table as TOML: its values, then its subtables."""
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
