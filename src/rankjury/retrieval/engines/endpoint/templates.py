"""Texts with places to fill: ``{vector}``, ``{text}``, ``{k}`` and ``{filter}`` in a JSON body or in a URL."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from rankjury.core.secrets import PLACES, quote_places
from rankjury.errors import UnknownName, UsageError

_NAMES = "|".join(PLACES)
_IN_JSON = re.compile(rf'(?<!\\)"\{{(?P<whole>{_NAMES})\}}"|\{{(?P<within>{_NAMES})\}}')
_IN_URL = re.compile(rf"\{{(?P<within>{_NAMES})\}}")
_MAY_STAND_IN_URLS = "%/:=&?~+!$,;'@()*[]"

Write = Callable[[Any], str]


@dataclass(frozen=True)
class Template:
    """What stands, and between it the names of what is filled in, each with how it is written there."""

    standing: tuple[str, ...]
    places: tuple[tuple[str, Write], ...]

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.places}

    def filled(self, values: Mapping[str, Any]) -> str:
        parts = [self.standing[0]]
        for (name, write), following in zip(self.places, self.standing[1:], strict=True):
            parts += (write(values[name]), following)
        return "".join(parts)


def json_template(text: str, more: Mapping[str, Any]) -> Template:
    """A JSON body; a place may stand bare, in quotes, or within a longer text. ``more`` is merged into it."""
    try:
        body = json.loads(quote_places(text, _check_place))
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"the body is no JSON: {error}", expected='something like {"vector": {vector}, "k": {k}}'
        ) from error
    if more:
        if not isinstance(body, dict):
            raise UsageError("params cannot be merged into a body that is no object", expected="a body like {…}")
        body = _merged(body, more)
    return _cut(json.dumps(body, ensure_ascii=False), _IN_JSON, {"whole": _as_json, "within": _within_text})


def url_template(target: str, more: Mapping[str, Any]) -> Template:
    """The path and the query of a URL; ``more`` is added to the query."""
    if more:
        pairs = urlencode({name: value if isinstance(value, str) else _as_json(value) for name, value in more.items()})
        target += f"{'&' if '?' in target else '?'}{pairs}"
    found = _cut(target, _IN_URL, {"within": _within_url})
    return Template(tuple(quote(part, safe=_MAY_STAND_IN_URLS) for part in found.standing), found.places)


def _check_place(name: str) -> None:
    if name not in PLACES:
        raise UnknownName("place to fill", name, PLACES, where="body")


def _merged(body: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(body)
    for name, value in more.items():
        both = isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = _merged(merged[name], value) if both else value
    return merged


def _cut(text: str, pattern: re.Pattern[str], writing: Mapping[str, Write]) -> Template:
    standing, places, end = [], [], 0
    for match in pattern.finditer(text):
        standing.append(text[end : match.start()])
        places.append((match[match.lastgroup or 0], writing[match.lastgroup or ""]))
        end = match.end()
    return Template((*standing, text[end:]), tuple(places))


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else _as_json(value)


def _within_text(value: Any) -> str:
    return _as_json(_plain(value))[1:-1]


def _within_url(value: Any) -> str:
    return quote(_plain(value), safe="", errors="replace")
