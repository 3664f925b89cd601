"""Normalisation of outputs: the same text on every machine, and small; everything else stays exact."""

import json
import re
import zlib
from base64 import b64decode
from collections.abc import Mapping
from hashlib import sha256
from html.parser import HTMLParser
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl

__all__ = ["digests", "json_text", "normalise_file", "normalise_text"]

_DIGITS = 8
"""Significant digits of floats: the last of the 17 differ between processors."""
_NOISE = 1e-12
"""Floats below it are zero but for rounding."""
_LONGEST_LIST = 4
"""Elements; lists of up to three times as many are shown whole if they take few characters."""
_FEW_CHARACTERS = 900
_SHOWN = 1
"""Elements of a longer list that are shown before the digest of all of them."""
_LARGEST_OBJECT = 32
_LONGEST_STRING = 400
_MOST_ROWS = 10
"""Rows of a table; of more, half of so many are shown before the digest of all of them."""
_FLOAT = re.compile(r"-?\d+\.\d{8,}(?:[eE][-+]?\d+)?")
_RULE = re.compile("─{12,}")
_SIZES = re.compile(r"files in \.rankjury/runs/[^:]*:(?:\s+[\w.-]+\s+[\d.,]+\s+[kM]?B,?)+")
_HASHES = {"results", "summary"}
"""Keys of a manifest with a hash over unrounded floats."""
_LINE_WIDTH = 200
_LONGEST_CHART = 100
"""Characters of the text in a chart of a page."""
_LONGEST_SECTION = 18
"""Lines below a heading of a page."""
_LONGEST_LINE = 240
"""Characters of a line of a page."""


def normalise_file(path: Path) -> dict[str, str]:
    """Return the normalised content of an output file, by the suffix to add to its name.

    Images are checked and described. An HTML page becomes its visible text and the data that it embeds. Of a table with
    many rows the first are shown, with a digest of all.
    """
    content, suffix = path.read_bytes(), path.suffix
    if suffix == ".png":
        whole = content.startswith(b"\x89PNG\r\n\x1a\n") and content.endswith(b"IEND\xaeB`\x82")
        return {".txt": "PNG image\n" if whole else "damaged PNG\n"}
    if suffix == ".svg":
        return {".txt": f"{ElementTree.fromstring(content).tag.rpartition('}')[2]} image\n"}
    if suffix == ".parquet":
        table = pl.read_parquet(BytesIO(content))
        rows = [f"{name}: {kind}" for name, kind in table.schema.items()]
        return {".txt": "\n".join([*rows, "", json_text(table.to_dicts())])}
    text = content.decode()
    if suffix == ".json":
        return {"": json_text(json.loads(text))}
    if suffix == ".html":
        page = _Page(text)
        return {".txt": normalise_text(page.text), ".json": json_text(page.data)} if page.data else {
            ".txt": normalise_text(page.text)
        }  # fmt: skip
    text = normalise_text(text)
    if suffix == ".csv":
        text = _cut_tables(text, ",")
    elif suffix == ".md":
        text = "".join(f"{_cut(line, _LONGEST_LINE)}\n" for line in text.splitlines())
    return {"": text}


def normalise_text(text: str) -> str:
    """Round floats; shorten tables of Markdown and pages and lines below headers; leave out sizes of archived files."""
    text = _RULE.sub(lambda match: f"── {len(match[0])} ──", text)
    text = _FLOAT.sub(lambda match: repr(_rounded(float(match[0]))), text)
    text = _SIZES.sub(lambda match: re.sub(r" [\d.,]+ [kM]?B", "", " ".join(match[0].split())), text)
    return _cut_tables(text, " | ")


def digests(report: Mapping[str, Any]) -> dict[str, str]:
    """Return a digest for each key of a report whose content is shown in another file."""
    return {key: _digest(_plain(value, key)) for key, value in report.items()}


def _cut_tables(text: str, separator: str) -> str:
    """Cut long runs of lines that have a separator."""
    parts = []
    for is_table, group in groupby(text.splitlines(keepends=True), lambda line: separator in line):
        lines = list(group)
        if is_table and len(lines) > _MOST_ROWS:
            lines = [*lines[: _MOST_ROWS // 2], f"… {len(lines):,} rows {_digest(lines)}\n"]
        parts += lines
    return "".join(parts)


def json_text(value: Any) -> str:
    """Return JSON with rounded floats, a line for what fits into one, and digests in place of long lists."""
    return _laid_out(_shortened(_plain(value)), 0) + "\n"


def _rounded(value: float) -> float:
    return 0.0 if abs(value) < _NOISE else float(f"{value:.{_DIGITS}g}")


def _plain(value: Any, key: str = "") -> Any:
    """Round floats; replace versions of libraries, and hashes and sizes of files."""
    if isinstance(value, dict):
        if "library" in value and "version" in value:
            value = value | {"version": "<version>"}
        if value.keys() == {"sha256", "bytes"}:
            return "<hash and size>"
        return {name: _plain(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return _rounded(value)
    if isinstance(value, str):
        return "<hash>" if key in _HASHES and re.fullmatch("[0-9a-f]{64}", value) else normalise_text(value)
    return value


def _shortened(value: Any) -> Any:
    if isinstance(value, list):
        if len(value) <= _LONGEST_LIST or (
            len(value) <= 3 * _LONGEST_LIST and len(json.dumps(value)) <= _FEW_CHARACTERS
        ):
            return [_shortened(one) for one in value]
        return [*map(_shortened, value[:_SHOWN]), f"… {len(value):,} elements {_digest(value)}"]
    if isinstance(value, dict):
        if len(value) <= _LARGEST_OBJECT:
            return {name: _shortened(one) for name, one in value.items()}
        first = {name: _shortened(value[name]) for name in list(value)[:_SHOWN]}
        return first | {"…": f"{len(value):,} keys {_digest(value)}"}
    if isinstance(value, str) and len(value) > _LONGEST_STRING:
        return f"{value[:40]}… {len(value):,} characters {_digest(value)}"
    return value


def _digest(value: Any) -> str:
    return f"sha256:{sha256(json.dumps(value, ensure_ascii=True).encode()).hexdigest()[:16]}"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… {_digest(text)}"


def _laid_out(value: Any, depth: int) -> str:
    line = json.dumps(value, ensure_ascii=False, default=str)
    if len(line) + depth <= _LINE_WIDTH or not isinstance(value, dict | list) or not value:
        return line
    inner = " " * (depth + 1)
    if isinstance(value, dict):
        parts = [f"{inner}{json.dumps(key, ensure_ascii=False)}: {_laid_out(one, depth + 1)}"
                 for key, one in value.items()]  # fmt: skip
        return "{\n" + ",\n".join(parts) + f"\n{' ' * depth}}}"
    return "[\n" + ",\n".join(inner + _laid_out(one, depth + 1) for one in value) + f"\n{' ' * depth}]"


class _Page(HTMLParser):
    """Visible text of a page, one line per block, and the data in its scripts."""

    _SILENT = frozenset(("style", "title", "template"))
    _INLINE = frozenset(
        (
            *("a", "abbr", "b", "bdi", "code", "em", "i", "kbd", "mark", "small", "span", "strong", "sub", "sup"),
            *("button", "label", "option", "tspan", "var"),
        )
    )
    _CELLS = frozenset(("td", "th"))
    _ENDED_BY_NEXT = frozenset(("td", "th", "tr"))
    _EMPTY = frozenset(("area", "base", "br", "col", "hr", "img", "input", "link", "meta", "wbr"))

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.data: dict[str, Any] = {}
        self._open: list[str] = []
        self._script: str | None = None
        self._parts: list[str] = []
        self._chart_start = 0
        self.feed(page)
        self.close()

    @property
    def text(self) -> str:
        lines = (" ".join(line.split()).removesuffix(" |") for line in "".join(self._parts).split("\0"))
        sections: list[list[str]] = [[]]
        for line in lines:
            if line.startswith("#"):
                sections.append([])
            if line:
                sections[-1].append(_cut(line, _LONGEST_LINE))
        return "".join(f"{line}\n" for section in sections for line in self._shortened(section))

    def _shortened(self, section: list[str]) -> list[str]:
        """Return the first lines of a long section, and a digest of all."""
        section = _cut_tables("".join(f"{line}\n" for line in section), " | ").splitlines()
        if len(section) <= _LONGEST_SECTION:
            return section
        return [*section[:_LONGEST_SECTION], f"… {len(section):,} lines {_digest(section)}"]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        if tag in self._ENDED_BY_NEXT:  # cells and rows may have no end tag
            for open_tag in ("td", "th", "tr") if tag == "tr" else ("td", "th"):
                if open_tag in self._open[self._table_start() :]:
                    self.handle_endtag(open_tag)
        if tag == "script":
            kind = names.get("type") or ""
            self._script = (names.get("id") or names.get("class") or "") if kind in ("application/json", "text/plain") \
                else ""  # fmt: skip
        if tag == "svg":
            self._chart_start = len(self._parts)
        if tag not in self._INLINE | self._CELLS:
            self._parts.append(self._break)
        if tag in ("h1", "h2", "h3"):
            self._parts.append("# ")
        if tag not in self._EMPTY and tag != "script":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._script = None
        elif tag in self._open:
            while self._open.pop() != tag:
                pass
        if tag in self._CELLS:
            self._parts.append(" | ")
        elif tag not in self._INLINE:
            self._parts.append(self._break)
        if tag == "svg":
            texts = "".join(self._parts[self._chart_start :]).replace("\0", " · ").split(" · ")
            chart = " · ".join(" ".join(text.split()) for text in texts if text.strip())
            self._parts[self._chart_start :] = ["\0", f"chart: {_cut(chart, _LONGEST_CHART)}", "\0"]

    def _table_start(self) -> int:
        """Return the place of the innermost open table."""
        return max((place for place, tag in enumerate(self._open) if tag == "table"), default=0)

    @property
    def _break(self) -> str:
        """A cell of a table and a chart are on one line."""
        return " " if self._CELLS.intersection(self._open) else " · " if "svg" in self._open else "\0"

    def handle_data(self, data: str) -> None:
        if self._script:
            self._add_data(self._script, data)
        elif self._script is None and not self._SILENT.intersection(self._open):
            self._parts.append(data.replace("\n", " "))

    def _add_data(self, name: str, text: str) -> None:
        value = json.loads(text if text.lstrip().startswith(("{", "[")) else zlib.decompress(b64decode(text)))
        if name in self.data:
            name = f"{name} {sum(key.startswith(name) for key in self.data) + 1}"
        self.data[name] = digests(value) if name.startswith("block") else value
