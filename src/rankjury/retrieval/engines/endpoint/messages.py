"""Requests and responses of an endpoint: the client interface, templates with placeholders, and parsed results."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from numbers import Integral, Real
from sys import float_info
from threading import Lock
from typing import Any, Self
from urllib.parse import quote, urlencode

from rankjury.core.secrets import PLACES, quote_places
from rankjury.errors import DataError, UnknownName, UsageError

_MAX_SHOWN = 200
_NAMES = "|".join(PLACES)
_IN_JSON = re.compile(rf'(?<!\\)"\{{(?P<whole>{_NAMES})\}}"|\{{(?P<within>{_NAMES})\}}')
_IN_URL = re.compile(rf"\{{(?P<within>{_NAMES})\}}")


class Counters:
    """Thread-safe counts of events."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: dict[str, int] = {}

    def add(self, event: str, n: int = 1) -> None:
        if n:
            with self._lock:
                self._counts[event] = self._counts.get(event, 0) + n

    def __getitem__(self, event: str) -> int:
        return self._counts.get(event, 0)


def shorten_line(text: str) -> str:
    """Return a text as one line of limited length; characters that are not valid text (surrogates) are escaped."""
    line = " ".join(text[: 8 * _MAX_SHOWN].encode("utf-8", "backslashreplace").decode().split())
    return f"{line[:_MAX_SHOWN]}…" if len(line) > _MAX_SHOWN else line


@dataclass(frozen=True)
class Template:
    """A text with placeholders: the fixed parts, and between them a name with the function that writes its value."""

    fixed: tuple[str, ...]
    places: tuple[tuple[str, Callable[[Any], str]], ...]

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.places}

    def fill(self, values: Mapping[str, Any]) -> str:
        """Return the text with these values."""
        parts = [self.fixed[0]]
        for (name, write), following in zip(self.places, self.fixed[1:], strict=True):
            parts += (write(values[name]), following)
        return "".join(parts)

    @classmethod
    def parse(cls, text: str, pattern: re.Pattern[str], writers: Mapping[str, Callable[[Any], str]]) -> Self:
        fixed, places, end = [], [], 0
        for match in pattern.finditer(text):
            fixed.append(text[end : match.start()])
            places.append((match[match.lastgroup or 0], writers[match.lastgroup or ""]))
            end = match.end()
        return cls((*fixed, text[end:]), tuple(places))


def json_template(text: str, params: Mapping[str, Any]) -> Template:
    """Parse a JSON body with placeholders: bare, in quotes, or within a longer text. ``params`` are merged into it."""

    def check_place(name: str) -> None:
        if name not in PLACES:
            raise UnknownName("placeholder", name, PLACES, where="body")

    body = parse_setting(quote_places(text, check_place), "the body is", '{"vector": {vector}, "k": {k}}')
    if params:
        if not isinstance(body, dict):
            raise UsageError("params cannot be merged into a body that is not an object", expected="a body like {…}")
        body = _merge(body, params)
    writers = {"whole": _as_json, "within": lambda value: _as_json(_as_text(value))[1:-1]}
    return Template.parse(json.dumps(body, ensure_ascii=False), _IN_JSON, writers)


def parse_setting(text: str, which: str, example: str) -> Any:
    """Parse the JSON of a setting: ``which`` ("the body is") and ``example`` are for the error."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{which} not valid JSON: {error}", expected=f"something like {example}") from error


def url_template(target: str, params: Mapping[str, Any]) -> Template:
    """Parse the path and query of a URL with placeholders; ``params`` are added to the query."""
    if params:
        pairs = urlencode({name: _as_text(value) for name, value in params.items()})
        target += f"{'&' if '?' in target else '?'}{pairs}"
    writers = {"within": lambda value: quote(_as_text(value), safe="", errors="replace")}
    parsed = Template.parse(target, _IN_URL, writers)
    return Template(tuple(quote(part, safe="%/:=&?~+!$,;'@()*[]") for part in parsed.fixed), parsed.places)


def _merge(body: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(body)
    for name, value in params.items():
        both = isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = _merge(merged[name], value) if both else value
    return merged


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else _as_json(value)


@dataclass(frozen=True)
class ResponseReader:
    """Reads ids and scores by paths of keys and positions, separated by dots (``hits.hits``, ``ids.0``)."""

    results: str
    """Path to the list; empty: the response itself is the list."""
    id: str
    score: str
    """Path to the score; empty: the order is used. With a leading minus lower is better, as for distances."""
    where: str
    clean: Callable[[str], str] = shorten_line
    """Shortens what is repeated of a response, and removes secrets."""

    def read(self, response: Any) -> tuple[list[str], list[float] | None]:
        """Return ids, best first, and their scores; a result is an object, a pair of id and score, or an id."""
        is_listed = _is_list(response) and not self.results[:1].isdecimal()
        results = response if is_listed else self._value_at(response, self.results)
        if not _is_list(results):
            found = f"found {_describe(results)} at results = {self.results!r}"
            raise DataError(found, where=self.where, expected="a list")
        pairs = [self._read_result(result) for result in results]
        ids = [name for name, _ in pairs]
        scores = [score for _, score in pairs if score is not None]
        if scores and len(scores) < len(ids):
            raise DataError("some results have a score and others have none", where=self.where)
        for number, (better, worse) in enumerate(pairwise(scores), 2):
            if worse > better:
                found = f"the score of result {number} is better than that of the one before it"
                hint = 'For distances, use a minus: score = "-distance". score = "" uses only the order.'
                raise DataError(found, where=self.where, expected="best first", hint=hint)
        return ids, scores or None

    def _read_result(self, result: Any) -> tuple[str, float | None]:
        if isinstance(result, Mapping):
            score = self._read_score(self._value_at(result, self.score.removeprefix("-"))) if self.score else None
            return self._read_id(self._value_at(result, self.id)), score
        if _is_list(result):
            pair = list(result)
            if len(pair) != 2:
                raise DataError(f"found a result of {len(pair)} parts", where=self.where, expected="an id and a score")
            return self._read_id(pair[0]), self._read_score(pair[1])
        return self._read_id(result), None

    def _value_at(self, value: Any, path: str) -> Any:
        for part in path.split(".") if path else ():
            if isinstance(value, Mapping) and part in value:
                value = value[part]
            elif isinstance(value, list | tuple) and part.isdecimal() and int(part) < len(value):
                value = value[int(part)]
            else:
                is_object = isinstance(value, Mapping)
                names = ", ".join(sorted(map(str, value))[:10]) if is_object else _describe(value)
                expected = f"one of: {self.clean(names) or 'nothing'}"
                raise DataError(f"found no {part!r} of the path {path!r}", where=self.where, expected=expected)
        return value

    def _read_id(self, value: Any) -> str:
        if isinstance(value, str):
            return str(value)
        if not isinstance(value, bool) and isinstance(value, Integral):
            return str(int(value))
        raise DataError(f"found {_describe(value)} as an id", where=self.where, expected="a text or a whole number")

    def _read_score(self, value: Any) -> float:
        if not isinstance(value, bool) and isinstance(value, Real):
            number: Any = value
            # JSON has integers that no float can hold.
            if abs(number) <= float_info.max if isinstance(number, int) else isfinite(number):
                return -float(number) if self.score.startswith("-") else float(number)
        raise DataError(f"found {_describe(value)} as a score", where=self.where, expected="a finite number")


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _describe(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return f"{value:g}"
    return {dict: "an object", list: "a list", str: "a text", int: "a number"}.get(type(value), type(value).__name__)
