"""Somebody's own search, asked as its users ask it: an HTTP JSON API, or a Python function ``module:function``.

Nothing is indexed: the corpus only says which ids there are. A function is called as ``f(query, k, **params)``, with
the query's vector (an array of one dimension) or, with ``text = true``, its text; it returns a list, best first, of
ids, of (id, score) or of objects with an id. Where it has a parameter ``filter``, it gets ``{attribute: value}`` or
None.
"""

import copy
import inspect
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from rankjury.core.importing import import_function, is_function_name
from rankjury.core.params import Param, Params, settled
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.secrets import Masker, forms_of, mask_settings, read_variable, redact
from rankjury.core.types import Floats, Ints, Matrix
from rankjury.core.version import __version__
from rankjury.errors import DataError, RankjuryError, UsageError
from rankjury.retrieval.engines.base import ENGINES, Engine, Filter, filter_mask, pad_rows, search_then_filter
from rankjury.retrieval.engines.endpoint.client import Asker, Counts, shortened
from rankjury.retrieval.engines.endpoint.responses import Reading
from rankjury.retrieval.engines.endpoint.templates import json_template, url_template
from rankjury.retrieval.knn.search import Neighbours

_TAKES = "a query and k"
_EXPECTED = "module:function, of a module that is installed or lies in the current folder"


class Function:
    """Calls ``function(query, k, **params)``, and with ``filter=`` where it has a parameter of that name."""

    def __init__(
        self, name: str, function: Callable[..., Any], params: Mapping[str, Any], *, takes_texts: bool
    ) -> None:
        self.shown, self.function, self.params = name, function, dict(params)
        self.takes_texts = takes_texts
        self.sends_filter = _has_parameter(function, "filter")
        masker = Masker()
        masker.json(self.params)
        self._secrets = forms_of(masker.secrets)

    def ask(self, query: Any, k: int, filter: Mapping[str, str] | None) -> Any:
        more = {"filter": filter} if self.sends_filter else {}
        try:
            return self.function(query, k, **self.params, **more)
        except RankjuryError:
            raise
        except Exception as error:  # anybody's code
            raise DataError(
                f"the function failed: {type(error).__name__}: {self.clean(str(error))}",
                where=self.shown,
                expected="a list of ids, of (id, score), or of objects",
            ) from error

    def clean(self, text: str) -> str:
        return shortened(redact(text, self._secrets))

    def for_thread(self) -> Self:
        return self

    def close(self) -> None:
        """Nothing to give back."""


def find_function(spelling: str) -> Callable[..., Any]:
    """The function, from a module that is installed or lies in the current folder."""
    if not is_function_name(spelling):
        raise UsageError(f"call is {spelling!r}", expected=_EXPECTED)
    found = import_function(spelling, _TAKES)
    if inspect.iscoroutinefunction(found):
        raise UsageError(f"{spelling} is no plain function", expected=f"one that takes {_TAKES}")
    return found


def _has_parameter(function: Callable[..., Any], name: str) -> bool:
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):  # one that does not tell
        return False


_USUAL_BODY = '{"vector": {vector}, "k": {k}}'
_HEADER = re.compile(
    r"([A-Za-z0-9-]+)\s*=\s*(?:(Bearer|Basic|Token|ApiKey|Api-Key)\s+)?env:([A-Za-z_]\w*)", re.IGNORECASE
)
_OWN_HEADERS = {
    "Accept": "application/json",
    "Content-Type": "application/json",
    "User-Agent": f"rankjury/{__version__}",
}
_LISTED = 5


@ENGINES.register("endpoint")
class Endpoint(Engine):
    """One request a query. Several threads need a connection each: ``for_thread()``."""

    description = "your own search: an HTTP JSON API, or a Python function"
    open_params: ClassVar[Mapping[str, Param]] = {
        "url": Param("", "where it is: http://localhost:8000/search; may hold {text}, {vector}, {k} and {filter}"),
        "call": Param("", "instead of a url: module:function, called with a query and k"),
        "method": Param("POST", "POST, or GET without a body", choices=("POST", "GET")),
        "body": Param("", f"JSON with {{vector}} or {{text}}, {{k}} and {{filter}}; unset: {_USUAL_BODY}"),
        "headers": Param("", "from environment variables: Authorization=Bearer env:MY_TOKEN, X-Key=env:MY_KEY"),
        "results": Param("results", "the path to the list in the answer: hits.hits; empty: the answer is the list"),
        "id": Param("id", "the path to the id in a result: _id"),
        "score": Param("", "the path to the score in a result; -distance where less is better; empty: by order"),
        "text": Param(False, "whether the function wants texts; of a url the places to fill tell"),
        "params": Param(
            "",
            "a JSON object, merged into the body (GET: the query) or given to the function; env:NAME reads a variable",
        ),
        "unknown": Param("error", "ids that are not of the corpus: an error, or left out", choices=("error", "skip")),
        "timeout": Param(10.0, "seconds for a whole request, from connecting to the last byte", min=0.001),
        "retries": Param(0, "how often to ask again after no answer or a status of 429, 502, 503 or 504", min=0),
    }
    one_request_per_query = True

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        super().__init__(metric, settings)
        self._counts = Counts()
        self._asker = _asker(self.settings, self._counts)
        self._askers: list[Asker] = [self._asker]
        """Its own, and those of engines for other threads, which are closed with it."""
        self.takes_texts = self._asker.takes_texts
        self.settings = mask_settings(self.settings)
        results, name, score = (str(self.settings[key]) for key in ("results", "id", "score"))
        self._reading = Reading(results, name, score, self._asker.shown, self._asker.clean)
        self._rows: dict[str, int] = {}
        self._attributes: pl.DataFrame | None = None

    def build(
        self,
        vectors: Matrix,
        ids: pl.Series,
        params: Params | None = None,
        *,
        attributes: pl.DataFrame | None = None,
        progress: Progress = NO_PROGRESS,
    ) -> None:
        settled(self.build_params, params, "build parameter")
        self._rows = {name: row for row, name in enumerate(ids.cast(pl.String).to_list())}
        self._attributes = attributes

    def search(
        self,
        queries: Any,
        k: int,
        params: Params | None = None,
        *,
        filter: Filter | None = None,
        exact: bool = False,
    ) -> Neighbours:
        settled(self.search_params, params, "search parameter")
        if exact:
            raise UsageError("an endpoint has no exact mode")
        asked = self._asked(queries)
        if filter is None or self._asker.sends_filter:
            return self._found(asked, k, filter)
        return search_then_filter(lambda deep: self._found(asked, deep, None), filter_mask(self._attributes, filter), k)

    def metadata(self) -> dict[str, Any]:
        counted = ("requests", "retried", "reconnected", "unknown_ids", "repeated_ids")
        return {
            "asked": self._asker.shown,
            "with": "texts" if self.takes_texts else "vectors",
            "native_filter": self._asker.sends_filter,
            **{name: self._counts[name] for name in counted},
        }

    def for_thread(self) -> Self:
        other = copy.copy(self)
        other._asker = self._asker.for_thread()
        self._askers.append(other._asker)
        other._askers = [other._asker]
        return other

    def close(self) -> None:
        for asker in self._askers:
            asker.close()

    def _asked(self, queries: Any) -> Sequence[Any]:
        are_texts = not isinstance(queries, np.ndarray)
        if are_texts != self.takes_texts:
            found, wanted = ("texts", "vectors") if are_texts else ("vectors", "texts")
            raise UsageError(f"asked with {found}", where=self._asker.shown, expected=wanted)
        return list(queries) if are_texts or isinstance(self._asker, Function) else queries.tolist()

    def _found(self, queries: Sequence[Any], k: int, filter: Filter | None) -> Neighbours:
        filter_ = None if filter is None else {filter.attribute: filter.value}
        found = [self._known(query, k, filter_) for query in queries]
        return pad_rows([rows for rows, _ in found], [scores for _, scores in found], k)

    def _known(self, query: Any, k: int, filter: Mapping[str, str] | None) -> tuple[Ints, Floats]:
        """The rows of what was found, each once, and their scores."""
        self._counts.add("requests")
        hits = self._reading.hits(self._asker.ask(query, k, filter))
        unknown = [name for name in hits.ids if name not in self._rows]
        if unknown and self.settings["unknown"] == "error":
            named = [self._asker.clean(name) for name in unknown[:_LISTED]]
            shown = ", ".join(named) + (" …" if len(unknown) > _LISTED else "")
            raise DataError(
                f"found ids that are not of the corpus: {shown}",
                where=self._asker.shown,
                expected="ids of the corpus",
                hint='unknown = "skip" leaves them out.',
            )
        self._counts.add("unknown_ids", len(unknown))
        self.has_scores = self.has_scores and (hits.scores is not None or not hits.ids)
        scores = hits.scores if hits.scores is not None else [-float(place) for place in range(len(hits.ids))]
        best: dict[int, float] = {}
        for name, score in zip(hits.ids, scores, strict=True):
            if name in self._rows:
                best.setdefault(self._rows[name], score)
        self._counts.add("repeated_ids", len(hits.ids) - len(unknown) - len(best))
        return np.array(list(best), dtype=np.int64), np.array(list(best.values()), dtype=np.float64)


def _asker(settings: Params, counts: Counts) -> Asker:
    url, call = str(settings["url"]), str(settings["call"])
    if bool(url) == bool(call):
        found = "both url and call are given" if url else "neither url nor call is given"
        raise UsageError(found, expected='url = "http://…" or call = "module:function"')
    params = _object(str(settings["params"]))
    params = {
        name: read_variable(value, f"the parameter {name}") if isinstance(value, str) else value
        for name, value in params.items()
    }
    if not call:
        return _web(url, settings, params, counts)
    for name in ("body", "headers"):
        if settings[name]:
            raise UsageError(f"{name} with call", expected="a url", hint=f"Leave {name} away.")
    return Function(call, find_function(call), params, takes_texts=bool(settings["text"]))


def _web(url: str, settings: Params, params: Mapping[str, Any], counts: Counts) -> Asker:
    from rankjury.retrieval.engines.endpoint.http import Web, read_address  # http and ssl, which nobody else needs

    address = read_address(url)
    gets, given = settings["method"] == "GET", str(settings["body"])
    if gets and given:
        raise UsageError("a body with GET", expected="POST", hint="What GET sends stands in the url: …?q={text}&k={k}")
    target = url_template(address.target, params if gets else {})
    wanted = "" if target.names & {"text", "vector"} and not given else given or _USUAL_BODY
    body = None if gets else json_template(wanted or "{}", params)
    names = target.names | (body.names if body else set())
    if len(names & {"text", "vector"}) != 1:
        found = "both {text} and {vector}" if "text" in names else "neither {text} nor {vector}"
        raise UsageError(f"{found} in the url and the body", where=address.shown, expected="one of them")
    secret = dict(_headers(str(settings["headers"])))
    headers = _OWN_HEADERS | {name: f"{scheme} {value}".strip() for name, (scheme, value) in secret.items()}
    masker = Masker()
    masker.json(params)
    masker.settings({name: settings[name] for name in ("url", "params", "body")})
    return Web(
        address, target, body, headers, forms_of([*masker.secrets, *(value for _, value in secret.values())]),
        timeout=float(settings["timeout"]), retries=int(settings["retries"]), counts=counts,
    )  # fmt: skip


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise UsageError(f"params are no JSON: {error}", expected='something like {"lang": "en"}') from error
    if not isinstance(found, dict):
        raise UsageError("params are no JSON object", expected='something like {"lang": "en"}')
    return found


def _headers(text: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Of each header its scheme and what the environment holds for it; that is never shown."""
    parts = filter(None, (part.strip() for part in text.split(",")))
    for number, part in enumerate(parts, 1):
        match = _HEADER.fullmatch(part)
        if match is None:  # what stands before a = may be the end of a secret with a comma in it
            raise UsageError(
                f"header {number} is not from the environment",
                expected="NAME=env:VARIABLE, or NAME=Bearer env:VARIABLE",
            )
        name, scheme, variable = match.groups()
        value = os.environ.get(variable, "").strip()
        if not value:
            raise UsageError(f"the environment variable {variable} is not set", expected=f"what the header {name} says")
        if not (value.isascii() and value.isprintable()):
            raise UsageError(f"what {variable} holds is no text for a header", expected="a line of ASCII")
        yield name, (scheme or "", value)
