"""Markdown that GitHub and the documentation site show alike: tables, code, escaped text, blocks between markers."""

import re
from collections.abc import Iterable, Sequence
from html import escape

MARK = "<!-- Made by scripts/make_reference.py from the code: do not edit. -->"
_NAMES = {
    "rankjury",
    "pgvector",
    "hnswlib",
    "sqlite-vec",
    "trec_eval",
    "ir_measures",
    "ranx",
    "scikit-learn",
    "implicit",
}
"""Names that begin with a small letter, also at the beginning of a sentence."""
_FIRST_WORD = re.compile(r"[\w-]+")
_CODE = re.compile(r"(``.+?``|`[^`]+`)", re.DOTALL)
_ROLE = re.compile(r":\w+:(?=`)")
_SPECIAL = re.compile(r"[\\*|]|\](?=[(\[:])|(?<!\w)_|_(?!\w)")
_LABEL = re.compile(r"[a-z-]+(?:, [a-z-]+)*:")


def code(text: object) -> str:
    """Return a code span; a pipe in it does not end the cell of a table."""
    shown = str(text)
    if "|" in shown or "`" in shown:
        return f"<code>{escape(shown, quote=False).replace('|', '&#124;').replace('`', '&#96;')}</code>"
    return f"`{shown}`" if shown else ""


def codes(texts: Iterable[object], joint: str = ", ") -> str:
    """Return several code spans."""
    return joint.join(map(code, texts))


def text(source: str) -> str:
    """Return the text of a docstring or of a help: code spans stay, everything else is shown literally."""
    parts = _CODE.split(_ROLE.sub("", source))
    return "".join(code(part.strip("`")) if part.startswith("`") else _escaped(part) for part in parts)


def _escaped(part: str) -> str:
    plain = re.sub(r"&(?=#|\w+;)", "&amp;", part).replace("<", "&lt;")
    plain = re.sub(r"^\{", "&#123;", plain)  # behind a code span it would begin attributes of that
    return _SPECIAL.sub(r"\\\g<0>", plain)


def sentence(source: str) -> str:
    """Return a text that begins with a capital, unless it begins with a name, and ends in a full stop."""
    shown = text(source.strip())
    first = _FIRST_WORD.match(source.strip())
    is_name = (first is not None and first[0] in _NAMES) or _LABEL.match(source.strip())
    return (shown if is_name else shown[:1].upper() + shown[1:]) + ("" if shown.endswith((".", "…", ":")) else ".")


def number(value: float) -> str:
    """Return a number with all its digits, not as a power of ten."""
    return f"{int(value):,}" if value == int(value) else f"{value:.12f}".rstrip("0")


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> list[str]:
    """Return the lines of a table; columns in ``numbers`` are aligned to the right."""
    right = set(numbers)
    ruler = ["--:" if place in right else ":--" for place in range(len(header))]
    cells = ([" ".join(cell.split()) for cell in row] for row in (header, ruler, *rows))
    # A brace at the end of a cell would end attributes of it.
    shown = ([re.sub(r"\}$", "&#125;", cell) for cell in row] for row in cells)
    return [f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in row)}|" for row in shown]


def fence(language: str, lines: Iterable[str]) -> list[str]:
    """Return a block of code."""
    return [f"```{language}", *(line.rstrip() for line in lines), "```"]


def anchor(title: str) -> str:
    """Return the anchor that GitHub and the site give to a heading."""
    return re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip())


def page(title: str, lead: str, *blocks: Sequence[str]) -> str:
    """Return a page: its title, its first sentence, and blocks of lines with a blank line between them."""
    lines = [f"# {title}", "", MARK, "", lead]
    for block in blocks:
        if block:
            lines += ["", *block]
    return "\n".join(lines) + "\n"


def joined(blocks: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of blocks with a blank line between them."""
    lines: list[str] = []
    for block in blocks:
        if block:
            lines += [*([""] if lines else []), *block]
    return lines


def filled(page_text: str, name: str, lines: Sequence[str]) -> str:
    """Return a page with the lines between the markers ``name`` replaced.

    Raises:
        ValueError: The page does not have the markers.
    """
    begin, end = f"<!-- {name}: made by scripts/make_reference.py -->", f"<!-- end of {name} -->"
    before, found, rest = page_text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"no place for {name}: expected the lines {begin} and {end}")
    return f"{before}{begin}\n\n" + "\n".join(lines) + f"\n\n{end}{after}"
