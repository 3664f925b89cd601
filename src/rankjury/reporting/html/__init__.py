"""HTML pages: templates filled in, with style and script, as one file that loads nothing from the network."""

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from rankjury.core.text import visible
from rankjury.core.version import __version__
from rankjury.reporting.charts.svg import CHART_CSS
from rankjury.reporting.tables import TableCell

_HERE = files(__name__)
SCRIPT = "assets/page.js"
_BROKEN = re.compile("[\ud800-\udfff]")


def visible_text(text: object) -> str:
    """Make every character visible; surrogates become U+FFFD, as in the texts that a browser reads from JSON."""
    return visible(_BROKEN.sub("\ufffd", str(text)))


def breakable_text(text: str) -> Markup:
    """Return a text that may be broken into lines after its commas."""
    return Markup(",<wbr>").join(visible_text(text).split(","))


def embed_json(form: Any) -> Markup:
    """JSON within a script element, which nothing in it can end."""
    text = json.dumps(form, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def cell_html(cell: TableCell, kind: str = "number", *, strong: bool = False) -> Markup:
    """Return a cell: verdicts as badges, marks in colour, intervals and further lines small, ``strong`` values bold."""
    # All text is escaped here, once: Markup.format would do so too, but a page has thousands of cells and it is slow.
    style, first, *more = (str(escape(text)) for text in (cell.style, *map(visible_text, cell.text.split("\n"))))
    if style in ("pass", "fail", "unsure"):
        return Markup(f'<span class="badge {style}">{first}</span>')
    value, interval = _split_interval(first) if kind == "number" else (first, "")
    if style in ("better", "worse", "noise") and not more:
        tag = "span" if style == "noise" else "b"
        return Markup(f'<{tag} class="{style}">{value}</{tag}>{interval}')
    if kind == "text":
        value = f'<bdi class="name">{value}</bdi>'
    elif strong:
        value = f'<span class="mean">{value}</span>'
    lines = [value + interval]
    for number, line in enumerate(more):
        classes = f"difference {style}" if style and kind == "number" and number == 0 else "small"
        value, interval = _split_interval(line)
        lines.append(f'<span class="{classes}">{value}{interval}</span>')
    return Markup("<br>".join(lines))


def heading_html(name: str) -> Markup:
    """Return the name of a column; further lines of it are small."""
    first, *more = (str(escape(visible_text(line))) for line in name.split("\n"))
    return Markup("<br>".join([f"<bdi>{first}</bdi>", *(f'<span class="small">{line}</span>' for line in more)]))


def _split_interval(text: str) -> tuple[str, str]:
    """Return what is before an interval in brackets, and the interval in small letters."""
    value, bracket, rest = text.partition(" [")
    return value, f' <span class="small">[{rest}</span>' if bracket else ""


@cache
def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


@cache
def page_style() -> str:
    """Of every page."""
    lines = re.sub(r"\s*\n\s*", "\n", _read("assets/page.css"))
    return re.sub(r"(?<=[{;:,]) | (?=[{}])", "", lines) + CHART_CSS


@cache
def page_script() -> str:
    """Of every page, without its comments and indents."""
    lines = (line.strip() for line in _read(SCRIPT).splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("//", "/*")))


@cache
def _environment() -> Environment:
    environment = Environment(
        autoescape=True,
        loader=FunctionLoader(lambda name: _read(f"templates/{name}")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": visible_text,
        "breakable": breakable_text,
        "cell": cell_html,
        "heading": heading_html,
        "urlencode": lambda text: quote(visible_text(text) if _BROKEN.search(text) else text),
    }
    return environment


def render_template(template: str, context: Mapping[str, Any], *, inline: bool, more: Sequence[str] = ()) -> str:
    """A page by its template; ``inline``: with style and script in it, and a policy that lets nothing else run."""
    page = _environment().get_template(template)
    if not inline:
        return page.render(version=__version__, inline=False, **context)
    css, js = page_style(), "\n".join((page_script(), *more))
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(js)}'; style-src 'sha256-{_digest(css)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return page.render(version=__version__, inline=True, css=Markup(css), js=Markup(js), policy=policy, **context)


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()
