"""Masking of secrets: DSNs, URLs, headers, parameters and bodies are parsed, and rebuilt without possible secrets.

A value is kept only if its name is on a list of harmless ones, since the names of secrets cannot be listed. In texts of
an unknown format, words such as ``password:`` are searched instead, and everything after them is masked.
"""

import json
import os
import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from html import escape
from pathlib import PurePath
from typing import Any
from urllib.parse import quote, quote_plus, unquote_plus

from rankjury.errors import UsageError

MASK = "***"
PLACES = ("vector", "text", "k", "filter")
"""Placeholders in a URL or a body, such as ``{text}``."""


def _names(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


_HARMLESS = _names(
    # Headers
    "accept accept_charset accept_encoding accept_language content_type content_encoding user_agent",
    # How many, and from where
    "k n top topk top_k limit size count num rows per_page page page_size offset from start max_results num_results",
    # What is searched, and with what
    "q query queries text texts vector vectors embedding input filter filters field fields index indexes collection",
    "namespace dataset model model_name dimensions metric lang language locale country region currency sort order by",
    "select include exclude columns source _source format version v api_version",
    # How search engines search
    "ef ef_search hnsw_ef nprobe n_probe probes num_candidates candidates rescore oversampling quantization exact",
    "knn ann hybrid alpha mode type method kind rerank params threshold min_score score_threshold track_total_hits",
    "with_payload with_vector with_vectors include_values include_metadata bool must should must_not match multi_match",
    "match_all term terms range gt gte lt lte boost operator fuzziness minimum_should_match script_score nested path",
    "and or not eq title body description category genre year price brand",
)
"""Names whose values are kept, in lower case and with _ for -."""
_HARMLESS_IN_DSN = _names(
    "host hostaddr port dbname user sslmode connect_timeout application_name target_session_attrs client_encoding",
    "service gssencmode channel_binding keepalives keepalives_idle keepalives_interval keepalives_count",
    "tcp_user_timeout load_balance_hosts",
)
_IN_DSN = _HARMLESS_IN_DSN | _names(
    "password passfile sslpassword sslkey sslcert sslrootcert sslcrl sslcrldir options require_auth requirepeer",
    "krbsrvname gsslib replication fallback_application_name sslcompression sslsni sslcertmode gssdelegation",
    "ssl_min_protocol_version ssl_max_protocol_version",
)
"""All names known to libpq."""
_HARMLESS_SETTINGS = _names(
    "method results id score text unknown timeout retries folder buffers table id_column vector_column prefix metric",
    "index collection database schema where",
)
"""Engine parameters whose values are kept; DSNs, URLs, headers and JSON are rebuilt."""
_PASSWORD = r"pass(?:word|wd|phrase|code)|pwd|secret|(?:api|access|account|private|secret)[_. -]?key"
_WORD = rf"{_PASSWORD}|token|credentials?|authorization"
_SECRET_NAME = re.compile(rf"{_WORD}|(?:^|[_-])(?:key|auth|sig|signature|cookie|session)(?:$|[_-])", re.IGNORECASE)
_SECRET_FOLLOWS = re.compile(
    rf"(?:{_WORD})[\"']*\s*[=:]\s*|\b(?:bearer\s+(?=\S{{6}})|basic\s+(?=\S*[\d=+/]))", re.IGNORECASE
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
_VARIABLE = re.compile(r"env:([A-Za-z_]\w*)")
_HEADER_OF_VARIABLE = re.compile(r"([A-Za-z0-9-]+)\s*=\s*(?:[A-Za-z-]+\s+)?env:[A-Za-z_]\w*")
_PLACE = re.compile(rf"\{{(?:{'|'.join(PLACES)})\}}")
_STRING_OR_PLACE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|\{\s*([A-Za-z_]\w*)\s*\}')


def is_harmless(name: str) -> bool:
    """Return whether the value of a header, a parameter or a key of a body may be shown."""
    return name.strip().lower().replace("-", "_") in _HARMLESS


def is_secret(name: str) -> bool:
    """Return whether a name indicates a secret value."""
    return bool(_SECRET_NAME.search(name))


def read_variable(text: str, purpose: str) -> str:
    """Return a text, or for ``env:NAME`` the value of the environment variable NAME.

    Raises:
        UsageError: The variable is not set.
    """
    match = _VARIABLE.fullmatch(text)
    if match is None:
        return text
    value = os.environ.get(match[1], "").strip()
    if not value:
        raise UsageError(f"the environment variable {match[1]} is not set", expected=purpose)
    return value


def quote_places(text: str, check: Callable[[str], None] | None = None) -> str:
    """Return a JSON text in which bare placeholders, ``{k}``, are strings; ``check`` may refuse their names."""

    def quoted(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        if check is not None:
            check(match[1])
        return f'"{{{match[1]}}}"'

    return _STRING_OR_PLACE.sub(quoted, text)


class Masker:
    """Rebuilds texts without secrets, and remembers the values that it removed.

    Args:
        lenient: Remove only values whose names indicate a secret. For hashes, not for output.
    """

    def __init__(self, *, lenient: bool = False) -> None:
        self.secrets: list[str] = []
        self._lenient = lenient

    def _keeps(self, name: str) -> bool:
        return not is_secret(name) if self._lenient else is_harmless(name)

    def _keeps_in_dsn(self, name: str) -> bool:
        return name.strip().lower() in _HARMLESS_IN_DSN or (self._lenient and not is_secret(name))

    def url(self, text: str) -> str:
        """Rebuild a URL with only the harmless values of its query; no password or fragment, over HTTP no user name."""
        scheme, colon, rest = text.partition("://")
        if not colon:
            return self._hide(text)
        before, _, after = rest.partition("#")
        rest = rest if "@" in after and "@" not in before else before  # a password may contain a #
        of_web = scheme.lower() in ("http", "https")
        user, rest = self._split_off_user(rest, of_web)
        place, mark, query = rest.partition("?")
        place = re.sub(r";([^/]*)", lambda match: f";{self._hide(match[1])}", place)
        keep = self._keeps if of_web else self._keeps_in_dsn
        pairs = "&".join(self._pair(pair, keep) for pair in re.split("[&;]", query))
        return f"{scheme}://{user}{place}{mark}{pairs}"

    def _split_off_user(self, rest: str, of_web: bool) -> tuple[str, str]:
        authority = re.split("[/?]", rest, maxsplit=1)[0]
        end = authority.rfind("@")
        if end < 0 and "@" in rest and re.search(r":(?!\d*$)[^\]]*$", authority):
            end = rest.rindex("@")  # no port: a password with a slash or a question mark in it
        if end < 0:
            return "", rest
        user, colon, password = rest[:end].partition(":")
        if password:
            self._hide(password)
        if of_web and user:
            self._hide(user)
        return (MASK if of_web else user + (f":{MASK}" if colon else "")) + "@", rest[end + 1 :]

    def _pair(self, pair: str, keep: Callable[[str], bool]) -> str:
        name, mark, value = pair.partition("=")
        if not value:
            return pair if not name or keep(unquote_plus(name)) else self._hide(name) + mark
        if keep(unquote_plus(name)) or _is_place(value) or _VARIABLE.fullmatch(value):
            return pair
        return f"{name}={self._hide(value)}"

    def dsn(self, text: str) -> str:
        """Rebuild the address of a database: a URL, or ``name=value`` pairs as libpq reads them."""
        if not text.strip() or _VARIABLE.fullmatch(text.strip()):
            return text
        if _URL.match(text.strip()):
            return self.url(text.strip())
        pairs = _read_pairs(text)
        if pairs is None:
            return self._hide(text)
        return " ".join(f"{name}={self._dsn_value(name, value)}" for name, value in pairs)

    def _dsn_value(self, name: str, value: str) -> str:
        if not self._keeps_in_dsn(name) or "://" in value or "=" in value:  # the database name may be a complete DSN
            return self._hide(value)
        value = PurePath(value).name if value.startswith("/") else value  # without the socket's folder on this machine
        return value if re.fullmatch(r"[^\s'\\]+", value) else "'" + re.sub(r"(['\\])", r"\\\1", value) + "'"

    def headers(self, text: str) -> str:
        """Rebuild ``NAME=env:VARIABLE, NAME=Bearer env:VARIABLE``; values not from a variable are masked."""
        parts = [part.strip() for part in text.split(",")]
        return ", ".join(parts) if all(map(_HEADER_OF_VARIABLE.fullmatch, parts)) else self._hide(text)

    def body(self, text: str) -> str:
        """Rebuild a JSON text, which may contain placeholders."""
        try:
            value = json.loads(quote_places(text))
        except (ValueError, RecursionError):
            return self._hide(text)
        return json.dumps(self.json(value), ensure_ascii=False)

    def json(self, value: Any) -> Any:
        """Rebuild a JSON value with only the values whose names, at every level, are harmless."""
        return self._json(value, isinstance(value, Mapping))

    def _json(self, value: Any, kept: bool) -> Any:
        if isinstance(value, Mapping):
            return {name: self._json(inner, kept and self._keeps(name)) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._json(element, kept) for element in value]
        if isinstance(value, str) and (not value or _is_place(value) or _VARIABLE.fullmatch(value)):
            return value
        if kept:
            return self.text(value) if isinstance(value, str) else value
        return value if value is None or isinstance(value, bool) else self._hide(value)

    def text(self, text: str) -> str:
        """Rebuild a text of unknown format: a DSN, or its URLs; text after a word like ``password:`` is masked."""
        if not re.search(r"[=:]|\s", text):
            return text
        if _URL.match(text):
            return self.url(text)
        pairs = _read_pairs(text)
        if pairs and all(name.lower() in _IN_DSN for name, _ in pairs):
            return self.dsn(text)
        text = _URL.sub(lambda match: self.url(match[0]), text)
        follows = _SECRET_FOLLOWS.search(text)
        if follows is None or not text[follows.end() :].strip():
            return text
        return text[: follows.end()] + self._hide(text[follows.end() :])

    def setting(self, name: str, value: Any) -> Any:
        """Rebuild one parameter of an engine."""
        if not isinstance(value, str):
            return self._hide(value) if is_secret(name) and not isinstance(value, bool) else value
        if not value:
            return value
        parsers = {"dsn": self.dsn, "url": self.url, "headers": self.headers, "params": self.body, "body": self.body}
        if name in parsers:
            return value if value == ":memory:" else parsers[name](value)
        if name == "call" or _VARIABLE.fullmatch(value):
            return value
        if name in _HARMLESS_SETTINGS:
            return self.text(value)
        if "://" in value and not is_secret(name):
            return self.url(value)
        return value if self._keeps(name) else self._hide(value)

    def settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self.setting(name, value) for name, value in settings.items()}

    def plan(self, content: Any, path: tuple[str, ...] = ()) -> Any:
        """Rebuild the content of a plan."""
        if path[:1] == ("systems",) and path[2:3] == ("open",):
            is_table = isinstance(content, Mapping) and len(path) == 3
            return self.settings(content) if is_table else self._hide(content)
        if isinstance(content, Mapping):
            return {name: self._plan_value(str(name), value, path) for name, value in content.items()}
        if isinstance(content, list | tuple):
            return [self.plan(value, path) for value in content]
        return self.text(content) if isinstance(content, str) else content

    def _plan_value(self, name: str, value: Any, path: tuple[str, ...]) -> Any:
        """Names under ``systems`` are chosen by the user, and may be any word."""
        named_by_user = path in (("systems",), ("sweep",), ("tune",), ("figures",))
        words = _WORD if isinstance(value, str) else _PASSWORD  # max_tokens = 512 is a number, not a secret
        is_value = isinstance(value, str | int | float) and not isinstance(value, bool)
        if is_value and not named_by_user and re.search(words, name, re.IGNORECASE):
            return self._hide(value)
        return self.plan(value, (*path, name))

    def _hide(self, value: Any) -> str:
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        self.secrets += filter(None, dict.fromkeys((text, *_PLACE.split(text))))
        return MASK


def mask_entry(name: str, value: Any) -> Any:
    """Return a value of the plan's ``meta`` table, or ``***`` if it may be secret."""
    return Masker().plan({name: value}, ("meta",))[name]


def mask_url(url: str) -> str:
    """Return a URL without possible secrets."""
    return Masker().url(url)


def mask_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of an engine without possible secrets."""
    return Masker().settings(settings)


def forms_of(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the secrets in every encoding in which a service may repeat them, longest first.

    Encodings of under four characters are omitted: they protect nothing, and occur in any text.
    """
    forms: set[str] = set()
    for secret in secrets:
        texts = {secret, unquote_plus(secret)}
        with suppress(ValueError):  # base64, as in HTTP basic authentication: the pair, and the password
            pair = b64decode(secret, validate=True).decode()
            texts |= {pair, pair.partition(":")[2]} if pair.isprintable() else set()
        for text in texts:
            octets = text.encode("utf-8", "surrogatepass")
            forms |= {text, text.strip(), quote(octets, safe=""), quote(octets), quote_plus(octets), escape(text)}
            forms |= {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1]}
            for encoded in (b64encode(octets).decode(), urlsafe_b64encode(octets).decode()):
                forms |= {encoded, encoded.rstrip("=")}
    return tuple(sorted((form for form in forms if len(form) >= 4), key=len, reverse=True))


def redact(text: str, forms: Iterable[str]) -> str:
    """Return a third-party text, such as a service's response, without the secrets that it repeats."""
    for form in forms:
        text = text.replace(form, MASK)
    return text


def _is_place(text: str) -> bool:
    return "{" in text and not _PLACE.sub("", text)


def _read_pairs(text: str) -> list[tuple[str, str]] | None:
    """Read ``name=value`` pairs as libpq does, with quotes and backslashes; None if the text is not in this format."""
    pair = re.compile(r"\s*([^\s='\\]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s\\']|\\.)(?:[^\s\\]|\\.)*)?)", re.DOTALL)
    pairs, end = [], 0
    while text[end:].strip():
        match = pair.match(text, end)
        if match is None:
            return None
        value = match[2] if match[2] is not None else match[3] or ""
        pairs.append((match[1], re.sub(r"\\(.)", r"\1", value, flags=re.DOTALL)))
        end = match.end()
    return pairs
