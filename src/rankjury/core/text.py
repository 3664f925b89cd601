"""Plain text: plurals, lists, time stamps, aligned columns; escaping of untrusted text for terminals, Markdown and CSV.

Also the registries by which a value renders or saves itself without importing its renderer: snippets for notebooks and
for ``print``, and functions that save.
"""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import islice
from json import dumps
from pathlib import Path
from typing import Any

from rankjury.core.registry import Registry
from rankjury.errors import UsageError, shorten

SNIPPETS: Registry[Callable[[Any], str]] = Registry(
    "kind of snippet", home="rankjury.reporting.writers.notebook", group="rankjury.notebook"
)
SAVERS: Registry[Callable[[Any, Sequence[str]], list[Path]]] = Registry(
    "kind of value to save", home="rankjury.reporting.writers", group="rankjury.saving"
)

# Control characters, a carriage return that is not part of a line end, characters that break a line or change the
# direction of text, and surrogates, which cannot be written. Tabs and line ends stay.
_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)")

_AT = re.compile(r"\s*@\s*")
_SPELLING = re.compile(r"(?:\([^)]*\)?|[^, \t\n(])+")
_ZERO_WIDTH_SPACE = "&#8203;"
_MARKDOWN = re.compile(
    r"""
      (?P<split>             # GitHub also interprets these in rendered text, so they are split
          (?<![a-z0-9_])@(?=\w) | @(?=[\w-]+\.\w)       # mention, mail address
        | \#(?=\w) | \bgh(?=-\d)                       # issue
        | :(?=//) | \bwww(?=\.)                         # address
        | :(?=(?:[\w+-]*[a-z+-][\w+-]*|100|1234):)       # emoji code
      )
    | (?P<hash> (?<![a-z0-9_]) (?=[0-9]*[a-f]) [0-9a-f]{7,40} (?![a-z0-9_]) )
    | [&<\\|*`~$]
    | (?<![a-z0-9])_ | _(?![a-z0-9])                   # emphasis, but not a_b
    | \](?=[(\[:]) | (?<!\S)\#                          # link, its definition, heading
    | \A (?: > | [-+](?=\s|\Z) | -(?=-) | =(?==) | \[(?=[ x]\]) )  # quotation, list, rule, task
    | (?P<number> \A\d{1,9} [.)] (?=\s|\Z) )           # numbered list
    """,
    re.IGNORECASE | re.VERBOSE | re.ASCII,
)

FORMULA_START = r"\A([=+\-@\t\r\n＝＋－＠])"
"""Pattern, also for Polars, of the first character of a cell that a spreadsheet may execute as a formula."""


def visible(text: str, *, one_line: bool = False) -> str:
    """Replace characters that could control a terminal or hide text in a page by visible ones.

    Control characters become their symbols (``␛``); surrogates and characters that change the direction of text become
    escapes (``\\u202e``).

    Args:
        text: Names and messages of unknown origin.
        one_line: Show line ends and tabs as symbols as well.
    """
    shown = _INVISIBLE.sub(_as_symbol, text)
    return re.sub("[\t\n\r]", _as_symbol, shown) if one_line else shown


def _as_symbol(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code <= 0x9F else f"\\u{code:04x}"


def escape_markdown(text: str) -> str:
    """Escape a text for Markdown, so that it is shown literally, in one line: in a paragraph, a heading or a table.

    No part of it becomes a link, image, mention, issue reference, commit, emoji, tag, emphasis, code, formula or
    column. Only character references are used, so the result may also be used between HTML tags.
    """
    line = " ".join(visible(text).splitlines()).strip(" \t")
    return _MARKDOWN.sub(_as_reference, line)


def _as_reference(match: re.Match[str]) -> str:
    text = match[0]
    if match["split"]:
        return f"{text}{_ZERO_WIDTH_SPACE}"
    if match["hash"]:  # GitHub links a commit by seven digits of its hash
        return _ZERO_WIDTH_SPACE.join(re.findall(".{1,6}", text))
    if match["number"]:
        return f"{text[:-1]}&#{ord(text[-1])};"
    return {"&": "&amp;", "<": "&lt;"}.get(text, f"&#{ord(text)};")


def escape_spreadsheet(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would execute as a formula (OWASP, CSV injection)."""
    return re.sub(FORMULA_START, r"'\1", text)


def render_snippet(kind: str, value: object) -> str:
    """Return a value as an HTML fragment (no script, only its own styles, everything escaped) or as text."""
    return SNIPPETS.get(kind)(value)


def save_value(kind: str, value: object, files: Sequence[str | Path]) -> list[Path]:
    """Write a value to files, each in the format of its suffix, and return the files that were written."""
    if not files or not all(isinstance(file, str | Path) for file in files):
        found = f"found a file of type {type(files[0]).__name__}" if files else "no file was given"
        raise UsageError(found, expected='names of files, such as "report.html"')
    return SAVERS.get(kind)(value, [str(file) for file in files])


def plural(n: int, one: str, many: str) -> str:
    """Return a count with its noun: ``1 query``, ``2 queries``."""
    return f"{n:,} {one if n == 1 else many}"


def join_names(ids: Iterable[object], limit: int = 100) -> str:
    """Return the ids separated by commas; ``…`` follows the first ``limit`` if there are more."""
    names = list(islice(ids, limit + 1))
    return ", ".join(shorten(str(name)) for name in names[:limit]) + (" …" if len(names) > limit else "")


def split_spellings(text: str) -> list[str]:
    """Return the measures in a text, split by blanks or commas that are not in brackets."""
    return _SPELLING.findall(_AT.sub("@", text))


def timestamp() -> str:
    """Return the current time in UTC to the second, ``2026-01-01T00:00:00Z``, or that of SOURCE_DATE_EPOCH.

    Raises:
        UsageError: SOURCE_DATE_EPOCH is not a number of seconds.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    try:
        moment = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"SOURCE_DATE_EPOCH is {epoch!r}", expected="whole seconds since 1970", hint="Unset it to use the clock."
        ) from error
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def json_text(value: object) -> str:
    """Return a JSON document as text, indented and with a newline at its end; NaN and infinity are refused."""
    return dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def align_columns(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return the lines of a plain table, with the first ``left`` columns aligned left and the others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
