"""The page put together: templates, style and script; one file that asks nothing of the network."""

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
from markupsafe import Markup

from karat._version import __version__
from karat.reports.charts import CHART_CSS
from karat.reports.tables import Cell
from karat.wording import visible

__all__ = ["SCRIPT", "embedded", "rendered", "script", "shown", "style"]

_HERE = files(__package__ or __name__)
SCRIPT = "assets/page.js"
_BROKEN = re.compile("[\ud800-\udfff]")


def shown(text: object) -> str:
    """Make every character visible; surrogates become U+FFFD, as in the texts that a browser reads from JSON."""
    return visible(_BROKEN.sub("\ufffd", str(text)))


def embedded(form: Any) -> Markup:
    """JSON within a script element, which nothing in it can end."""
    text = json.dumps(form, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def cell_html(cell: Cell, kind: str = "number", *, strong: bool = False) -> Markup:
    """Return a cell: verdicts as badges, marks in colour, intervals and further lines small, ``strong`` values bold."""
    first, *more = map(shown, cell.text.split("\n"))
    if cell.style in ("pass", "fail", "unsure"):
        return Markup('<span class="badge {}">{}</span>').format(cell.style, first)
    value, bracket, rest = first.partition(" [")
    interval = Markup(' <span class="small">[{}</span>').format(rest) if bracket and kind == "number" else ""
    text = value if interval or not bracket else first
    if cell.style in ("better", "worse") and not more:
        return Markup('<b class="{}">{}</b>{}').format(cell.style, text, interval)
    form = '<bdi class="name">{}</bdi>' if kind == "text" else '<span class="mean">{}</span>' if strong else "{}"
    lines = [Markup(form).format(text) + interval]
    for number, line in enumerate(more):
        style = f"difference {cell.style}" if cell.style and kind == "number" and number == 0 else "small"
        value, bracket, rest = line.partition(" [")
        small = Markup(' <span class="small">[{}</span>').format(rest) if bracket else ""
        lines.append(Markup('<span class="{}">{}{}</span>').format(style, value, small))
    return Markup("<br>").join(lines)


@cache
def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


@cache
def style() -> str:
    """Of every page."""
    return re.sub(r"\s*\n\s*", "\n", _read("assets/page.css")) + CHART_CSS


@cache
def script() -> str:
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
        "shown": shown,
        "cell": cell_html,
        "urlencode": lambda text: quote(shown(text) if _BROKEN.search(text) else text),
    }
    return environment


def rendered(template: str, context: Mapping[str, Any], *, inline: bool, more: Sequence[str] = ()) -> str:
    """A page by its template; ``inline``: with style and script in it, and a policy that lets nothing else run."""
    page = _environment().get_template(template)
    if not inline:
        return page.render(version=__version__, inline=False, **context)
    css, js = style(), "\n".join((script(), *more))
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(js)}'; style-src 'sha256-{_digest(css)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return page.render(version=__version__, inline=True, css=Markup(css), js=Markup(js), policy=policy, **context)


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()
