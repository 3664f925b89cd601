"""The user's own search service: an HTTP JSON API, or a Python function ``module:function``.

Nothing is indexed: the corpus only gives the known ids. A function is called as ``f(query, k, **params)`` with the
query's vector (an array of one dimension) or, with ``text = true``, its text. It returns a list, best first, of ids, of
(id, score) or of objects with an id. If it has a parameter ``filter``, it gets ``{attribute: value}`` or None.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl

from rankjury.core.importing import import_function, is_function_name
from rankjury.core.params import Param, Params, Setting
from rankjury.core.progress import Progress
from rankjury.core.secrets import Masker, forms_of, mask_settings, read_variable, redact
from rankjury.core.types import Floats, Ints, Matrix
from rankjury.core.version import __version__
from rankjury.errors import DataError, RankjuryError, UsageError
from rankjury.retrieval.engines.base import ENGINES, Engine, Filter, stack_rows
from rankjury.retrieval.engines.endpoint.messages import (
    Counters,
    ResponseReader,
    json_template,
    parse_setting,
    shorten_line,
    url_template,
)

if TYPE_CHECKING:
    from rankjury.retrieval.engines.endpoint.http import HttpClient

_ARGUMENTS = "a query and k"
_DEFAULT_BODY = '{"vector": {vector}, "k": {k}}'
_HEADER = re.compile(
    r"([A-Za-z0-9-]+)\s*=\s*(?:(Bearer|Basic|Token|ApiKey|Api-Key)\s+)?env:([A-Za-z_]\w*)", re.IGNORECASE
)


class FunctionClient:
    """Client of a Python function, with the interface of ``HttpClient``.

    The function is called with ``filter=`` where it has a parameter of that name.
    """

    def __init__(self, name: str, params: Mapping[str, Any], *, takes_texts: bool) -> None:
        if not is_function_name(name):
            expected = "module:function, of a module that is installed or lies in the current folder"
            raise UsageError(f"call is {name!r}", expected=expected)
        self.function: Callable[..., Any] = import_function(name, _ARGUMENTS)
        if inspect.iscoroutinefunction(self.function):
            raise UsageError(f"{name} is a coroutine", expected=f"a plain function that takes {_ARGUMENTS}")
        self.shown, self.params, self.takes_texts = name, dict(params), takes_texts
        try:
            self.sends_filter = "filter" in inspect.signature(self.function).parameters
        except (TypeError, ValueError):  # a function without a signature
            self.sends_filter = False
        masker = Masker()
        masker.json(self.params)
        self._secrets = forms_of(masker.secrets)

    def ask(self, query: Any, k: int, filter: Mapping[str, str] | None) -> Any:
        options = {"filter": filter} if self.sends_filter else {}
        try:
            return self.function(query, k, **self.params, **options)
        except RankjuryError:
            raise
        except Exception as error:  # the user's code may raise anything
            found = f"the function failed: {type(error).__name__}: {self.clean(str(error))}"
            expected = "a list of ids, of (id, score), or of objects"
            raise DataError(found, where=self.shown, expected=expected) from error

    def clean(self, text: str) -> str:
        return shorten_line(redact(text, self._secrets))

    def for_thread(self) -> Self:
        return self

    def close(self) -> None:
        """Do nothing: there is no connection."""


@ENGINES.register("endpoint")
class Endpoint(Engine):
    """One request per query. Each thread needs its own connection: ``for_thread()``."""

    description = "your own search: an HTTP JSON API, or a Python function"
    open_params: ClassVar[Mapping[str, Param]] = {
        "url": Param("", "the URL: http://localhost:8000/search; may contain {text}, {vector}, {k} and {filter}"),
        "call": Param("", "instead of a url: module:function, called with a query and k"),
        "method": Param("POST", "POST, or GET without a body", choices=("POST", "GET")),
        "body": Param("", f"JSON with {{vector}} or {{text}}, {{k}} and {{filter}}; default: {_DEFAULT_BODY}"),
        "headers": Param(
            "", "request headers, from environment variables: Authorization=Bearer env:MY_TOKEN, X-Key=env:MY_KEY"
        ),
        "results": Param("results", "the path to the list in the response: hits.hits; empty: the response is the list"),
        "id": Param("id", "the path to the id in a result: _id"),
        "score": Param("", "the path to the score in a result; -distance if lower is better; empty: by order"),
        "text": Param(False, "whether the function takes texts; for a url, the placeholders decide"),
        "params": Param(
            "",
            "a JSON object, merged into the body (GET: the query) or given to the function; env:NAME reads a variable",
        ),
        "unknown": Param("error", "ids outside of the corpus: an error, or skipped", choices=("error", "skip")),
        "timeout": Param(10.0, "seconds for a complete request, from connecting to the last byte", min=0.001),
        "retries": Param(0, "retries after a timeout or a status of 429, 502, 503 or 504", min=0),
    }
    one_request_per_query = True
    float32 = False

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        super().__init__(metric, settings)
        self._counters = Counters()
        self._client = _create_client(self.settings, self._counters)
        self.takes_texts, self.native_filter = self._client.takes_texts, self._client.sends_filter
        self.settings = mask_settings(self.settings)
        results, name, score = (str(self.settings[key]) for key in ("results", "id", "score"))
        self._reader = ResponseReader(results, name, score, self._client.shown, self._client.clean)
        self._rows: dict[str, int] = {}

    def _build(self, vectors: Matrix, ids: pl.Series, progress: Progress) -> None:
        self._rows = {name: row for row, name in enumerate(ids.cast(pl.String).to_list())}

    def _convert(self, queries: Any) -> Sequence[Any]:
        are_texts = not isinstance(queries, np.ndarray)
        if are_texts != self.takes_texts:
            found, wanted = ("texts", "vectors") if are_texts else ("vectors", "texts")
            raise UsageError(f"queried with {found}", where=self._client.shown, expected=wanted)
        return list(queries) if are_texts or isinstance(self._client, FunctionClient) else queries.tolist()

    def _depth(self, k: int) -> int:
        return k  # the service may return ids that are not in the corpus

    def _search(
        self, queries: Any, k: int, params: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> tuple[Ints, Floats]:
        condition = None if filter is None else {filter.attribute: filter.value}
        return stack_rows([self._ask(query, k, condition) for query in queries], k)

    def _ask(self, query: Any, k: int, filter: Mapping[str, str] | None) -> tuple[Ints, Floats]:
        """Return the rows of the known results, each once, and their scores."""
        self._counters.add("requests")
        ids, scores = self._reader.read(self._client.ask(query, k, filter))
        unknown = [name for name in ids if name not in self._rows]
        if unknown and self.settings["unknown"] == "error":
            names = ", ".join(map(self._client.clean, unknown[:5])) + (" …" if len(unknown) > 5 else "")
            found, hint = f"found ids outside of the corpus: {names}", 'Use unknown = "skip" to ignore them.'
            raise DataError(found, where=self._client.shown, expected="ids of the corpus", hint=hint)
        self._counters.add("unknown_ids", len(unknown))
        self.has_scores = self.has_scores and (scores is not None or not ids)
        best: dict[int, float] = {}
        for name, score in zip(ids, scores or [-float(place) for place in range(len(ids))], strict=True):
            if name in self._rows:
                best.setdefault(self._rows[name], score)
        self._counters.add("repeated_ids", len(ids) - len(unknown) - len(best))
        return np.array(list(best), dtype=np.int64), np.array(list(best.values()), dtype=np.float64)

    def metadata(self) -> dict[str, Any]:
        counted = ("requests", "retried", "reconnected", "unknown_ids", "repeated_ids")
        return {
            "asked": self._client.shown,
            "with": "texts" if self.takes_texts else "vectors",
            "native_filter": self.native_filter,
            **{name: self._counters[name] for name in counted},
        }

    def for_thread(self) -> Self:
        other = self._copy()
        other._client = self._client.for_thread()
        return other

    def close(self) -> None:
        super().close()
        self._client.close()


def _create_client(settings: Params, counters: Counters) -> "FunctionClient | HttpClient":
    url, call = str(settings["url"]), str(settings["call"])
    if bool(url) == bool(call):
        found = "both url and call are given" if url else "neither url nor call is given"
        raise UsageError(found, expected='url = "http://…" or call = "module:function"')
    params = parse_setting(str(settings["params"]) or "{}", "params are", '{"lang": "en"}')
    if not isinstance(params, dict):
        raise UsageError("params are not a JSON object", expected='something like {"lang": "en"}')
    params = {
        name: read_variable(value, f"the parameter {name}") if isinstance(value, str) else value
        for name, value in params.items()
    }
    if not call:
        return _http_client(url, settings, params, counters)
    for name in ("body", "headers"):
        if settings[name]:
            raise UsageError(f"{name} with call", expected="a url", hint=f"Omit {name}.")
    return FunctionClient(call, params, takes_texts=bool(settings["text"]))


def _http_client(url: str, settings: Params, params: Mapping[str, Any], counters: Counters) -> "HttpClient":
    from rankjury.retrieval.engines.endpoint.http import HttpClient, read_address  # http and ssl: only needed here

    address = read_address(url)
    gets, given = settings["method"] == "GET", str(settings["body"])
    if gets and given:
        raise UsageError("a body with GET", expected="POST", hint="GET sends values in the url: …?q={text}&k={k}")
    target = url_template(address.target, params if gets else {})
    text = given or ("{}" if target.names & {"text", "vector"} else _DEFAULT_BODY)
    body = None if gets else json_template(text, params)
    names = target.names | (body.names if body else set())
    if len(names & {"text", "vector"}) != 1:
        found = "both {text} and {vector}" if "text" in names else "neither {text} nor {vector}"
        raise UsageError(f"{found} in the url and the body", where=address.shown, expected="one of them")
    secret = dict(_read_headers(str(settings["headers"])))
    json_type = "application/json"
    headers = {"Accept": json_type, "Content-Type": json_type, "User-Agent": f"rankjury/{__version__}"}
    headers |= {name: f"{scheme} {value}".strip() for name, (scheme, value) in secret.items()}
    masker = Masker()
    masker.json(params)
    masker.settings({name: settings[name] for name in ("url", "params", "body")})
    return HttpClient(
        address, target, body, headers, forms_of([*masker.secrets, *(value for _, value in secret.values())]),
        timeout=float(settings["timeout"]), retries=int(settings["retries"]), counters=counters,
    )  # fmt: skip


def _read_headers(text: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield each header with its scheme and its value from the environment, which is never shown."""
    parts = filter(None, (part.strip() for part in text.split(",")))
    for number, part in enumerate(parts, 1):
        match = _HEADER.fullmatch(part)
        if match is None:  # not shown: the text before a = may be the end of a secret that contains a comma
            expected = "NAME=env:VARIABLE, or NAME=Bearer env:VARIABLE"
            raise UsageError(f"header {number} is not from the environment", expected=expected)
        name, scheme, variable = match.groups()
        value = read_variable(f"env:{variable}", f"the value of header {name}")
        if not (value.isascii() and value.isprintable()):
            raise UsageError(f"the value of {variable} is not valid in a header", expected="a line of ASCII")
        yield name, (scheme or "", value)
