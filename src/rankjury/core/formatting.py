"""Text for people: numbers with no more digits than the interval deserves, plurals, escaping of untrusted names.

Also the registry of HTML snippets for notebooks, which are rendered above all values.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from math import ceil, floor, isclose, isnan, log10
from typing import TYPE_CHECKING, Any

from rankjury.core.registry import Registry
from rankjury.errors import shorten

if TYPE_CHECKING:
    from rankjury.stats.estimates import Estimate
    from rankjury.stats.resampling import Bounds

SNIPPETS: Registry[Callable[[Any], str]] = Registry(
    "kind of snippet", home="rankjury.reporting.writers.notebook", group="rankjury.notebook"
)

# Control characters, a carriage return that is not part of a line end, marks that break a line or turn the direction of
# text, and surrogates, which cannot be written. Tabs and line ends stay.
_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)")

_ZERO_WIDTH_SPACE = "&#8203;"
_LONGEST_HASH_PART = 6
"""GitHub links a commit by seven digits of its hash."""
_MARKDOWN = re.compile(
    r"""
      (?P<split>             # GitHub reads these in the rendered text too, so only a split keeps them text
          (?<![a-z0-9_])@(?=\w) | @(?=[\w-]+\.\w)       # mention, mail address
        | \#(?=\w) | \bgh(?=-\d)                       # issue
        | :(?=//) | \bwww(?=\.)                         # address
        | :(?=(?:[\w+-]*[a-z+-][\w+-]*|100|1234):)       # emoji code
      )
    | (?P<hash> (?<![a-z0-9_]) (?=[0-9]*[a-f]) [0-9a-f]{7,40} (?![a-z0-9_]) )
    | [&<\\|*`~$]
    | (?<![a-z0-9])_ | _(?![a-z0-9])                   # emphasis; a_b is none
    | \](?=[(\[:]) | (?<!\S)\#                          # link, its definition, heading
    | \A (?: > | [-+](?=\s|\Z) | -(?=-) | =(?==) | \[(?=[ x]\]) )  # quotation, list, rule, task
    | (?P<number> \A\d{1,9} [.)] (?=\s|\Z) )           # numbered list
    """,
    re.IGNORECASE | re.VERBOSE | re.ASCII,
)

FORMULA_START = r"\A([=+\-@\t\r\n＝＋－＠])"
"""How a cell begins that a spreadsheet may run; also in full width. A pattern for Polars, too."""


def visible(text: str, *, one_line: bool = False) -> str:
    """Replace characters that could steer a terminal or hide in a page by visible ones.

    Control characters become their symbols (``␛``); marks that turn the direction of text and surrogates become their
    escapes (``\\u202e``).

    Args:
        text: Names and messages of unknown origin.
        one_line: Show the ends of lines and tabs as symbols, too.
    """
    shown = _INVISIBLE.sub(_as_symbol, text)
    return re.sub("[\t\n\r]", _as_symbol, shown) if one_line else shown


def _as_symbol(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code <= 0x9F else f"\\u{code:04x}"


def markdown_text(text: str) -> str:
    """Escape a text for Markdown, so that it is shown as it is, in one line: in a paragraph, a heading or a table.

    Nothing in it becomes a link, image, mention, issue reference, commit, emoji, tag, emphasis, code, formula or
    column. Only character references are used, so that it may also be put between HTML tags.
    """
    line = " ".join(visible(text).splitlines()).strip(" \t")
    return _MARKDOWN.sub(_as_reference, line)


def _as_reference(match: re.Match[str]) -> str:
    found = match[0]
    if match["split"]:
        return f"{found}{_ZERO_WIDTH_SPACE}"
    if match["hash"]:
        parts = range(0, len(found), _LONGEST_HASH_PART)
        return _ZERO_WIDTH_SPACE.join(found[start : start + _LONGEST_HASH_PART] for start in parts)
    if match["number"]:
        return f"{found[:-1]}&#{ord(found[-1])};"
    return {"&": "&amp;", "<": "&lt;"}.get(found, f"&#{ord(found)};")


def spreadsheet_text(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula (OWASP, CSV injection)."""
    return re.sub(FORMULA_START, r"'\1", text)


def snippet_of(kind: str, value: object) -> str:
    """Return a value as HTML for another page: no script, no style beyond its own, everything escaped."""
    return SNIPPETS.get(kind)(value)


NOTHING = "–"
ITEM_SLICES = (
    "slices of items: measures that depend on positions (ndcg, ap, rr …) rank the items of the slice alone; "
    "the others (recall, precision …) look at the top k of the whole list"
)
"""What every report says beside slices of items."""
_NAMED = 100
_USUAL_DECIMALS = 4
_FEWEST_DECIMALS, _MOST_DECIMALS = 3, 6
_PERCENT_DECIMALS = 1
_OF_SHARES = 2.0
"""Figures below are shares and the like, of which people expect three decimals."""


def count(n: int, one: str, many: str) -> str:
    """``1 query``, ``2 queries``."""
    return f"{n:,} {one if n == 1 else many}"


def named(ids: Iterable[object], most: int = _NAMED) -> str:
    """The ids one by one; of many the first, and that there are more."""
    shown = list(islice(ids, most + 1))
    return ", ".join(shorten(str(name)) for name in shown[:most]) + (" …" if len(shown) > most else "")


def percent(share: float, decimals: int | None = None, *, signed: bool = False) -> str:
    """Format a share: ``95 %``, ``99.95 %``, ``85.9 %``.

    Args:
        share: 0.95 for 95 %.
        decimals: So many in any case; without it one, without zeros at its end. A value with up to three decimals, such
            as a level, is not rounded then, and one between 0 and 100 % never becomes 0 or 100.
        signed: With a plus, where it is positive.
    """
    value = 100 * share
    sign = "+" if signed else ""
    if decimals is not None:
        return f"{value:{sign}.{decimals}f} %".replace("-", "−")
    exact = next((places for places in range(4) if isclose(value, round(value, places), rel_tol=1e-12)), None)
    places = _PERCENT_DECIMALS if exact is None else exact
    while exact is None and places < _MOST_DECIMALS and round(value, places) in (0.0, 100.0):
        places += 1
    text = f"{value:{sign}.{places}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %".replace("-", "−")


def decimals_of(ci: "Bounds | None") -> int:
    """Two digits of the interval's half-width, within reason; four where there is no interval."""
    half = (ci[1] - ci[0]) / 2 if ci else 0.0
    if half <= 0:
        return _USUAL_DECIMALS
    fewest = _FEWEST_DECIMALS if ci and max(map(abs, ci)) < _OF_SHARES else 0
    return min(max(ceil(-log10(half)) + 1, fewest), _MOST_DECIMALS)


def estimate_shown(estimate: "Estimate") -> str:
    """``0.612 [0.566, 0.657]``; a sum is marked as one."""
    if estimate.n == 0:
        return NOTHING
    if estimate.total is not None:
        return f"Σ {estimate.total:,.0f}"
    text = figure_shown(estimate.mean, decimals_of(estimate.ci))
    return f"{text} {bounds_shown(estimate.ci)}" if estimate.ci else text


def figure_shown(value: float, decimals: int) -> str:
    return f"{value:.{decimals}f}".replace("-", "−")


def difference_shown(difference: float, ci: "Bounds | None", *, decimals: int | None = None) -> str:
    """``+0.043 [+0.019, +0.068]``; as many decimals as the interval deserves, or as are asked for."""
    if isnan(difference):
        return NOTHING
    text = _signed(difference, decimals_of(ci) if decimals is None else decimals)
    return f"{text} {bounds_shown(ci, signed=True)}" if ci else text


def bounds_shown(ci: "Bounds", *, signed: bool = False) -> str:
    decimals = decimals_of(ci)
    low, high = (_signed(end, decimals) if signed else figure_shown(end, decimals) for end in ci)
    return f"[{low}, {high}]"


def p_shown(p: float | None, *, at_floor: bool = False) -> str:
    """Format a p-value with three decimals, or as being below them.

    ``at_floor``: it is the smallest that the resamples can give, perhaps corrected: ``<0.0003``, as more could make it
    smaller.
    """
    if p is None:
        return NOTHING
    if at_floor and p < 1:
        digits = max(0, 1 - floor(log10(p)))
        return f"<{ceil(round(p * 10**digits, 6)) / 10**digits:.{digits}f}".rstrip("0").rstrip(".")
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Lines of a plain table: the first ``left`` columns to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _signed(value: float, decimals: int) -> str:
    rounded = round(value, decimals)
    return f"{rounded:+.{decimals}f}".replace("-", "−") if rounded else f"{0:.{decimals}f}"
