"""A service over HTTP, asked for JSON on a connection that is kept open. Nothing is redirected, no proxy is used."""

import json
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from time import sleep
from typing import Any, Self
from urllib.parse import urlsplit

from karat.engines.asking import Counts, shortened
from karat.engines.asking.templates import Template
from karat.errors import DataError, UsageError

__all__ = ["Address", "Web", "read_address"]

_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
_OK, _PASSING = 200, (429, 502, 503, 504)
_MOST_BYTES = 1 << 26


@dataclass(frozen=True)
class Address:
    """Where a service is."""

    scheme: str
    host: str
    port: int | None
    target: str
    """The path and the query, as given."""
    shown: str
    """For messages: without the query, where secrets may be."""

    def connection(self, timeout: float) -> HTTPConnection:
        if self.scheme == "http":
            return HTTPConnection(self.host, self.port, timeout=timeout)
        return HTTPSConnection(self.host, self.port, timeout=timeout, context=ssl.create_default_context())


def read_address(url: str) -> Address:
    """A URL's parts; one with a user name or a password in it is refused."""
    expected = "something like http://localhost:8000/search"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError("the url cannot be read", expected=expected) from error
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "the url holds a user name or a password",
            expected="them in a header, from the environment",
            hint='Write headers = "Authorization=Basic env:MY_TOKEN".',
        )
    if parts.scheme not in ("http", "https") or not host or "{" in parts.netloc:
        raise UsageError("the url is not one of http or https", expected=expected)
    path = parts.path or "/"
    target = f"{path}?{parts.query}" if parts.query else path
    return Address(parts.scheme, host, port, target, f"{parts.scheme}://{parts.netloc}{path}")


class Web:
    """Asks a service; one connection, for one thread."""

    def __init__(
        self,
        address: Address,
        target: Template,
        body: Template | None,
        headers: Mapping[str, str],
        secrets: Sequence[str],
        *,
        timeout: float,
        retries: int,
        counts: Counts,
    ) -> None:
        self.address, self.target, self.body = address, target, body
        self.shown = address.shown
        self.timeout, self.retries = timeout, retries
        names = target.names | (body.names if body else set())
        self.takes_texts, self.sends_filter = "text" in names, "filter" in names
        self._headers, self._secrets, self._counts = dict(headers), tuple(secrets), counts
        self._connection: HTTPConnection | None = None

    def ask(self, query: Any, k: int, only: Mapping[str, str] | None) -> Any:
        values = {"text": query, "vector": query, "k": k, "filter": only}
        target = self.target.filled(values)
        body = None if self.body is None else self.body.filled(values).encode()
        content = self._persistently(lambda: self._answer(target, body))
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._failed(f"the answer is no JSON: {self._shown(content)}") from error

    def again(self) -> Self:
        return type(self)(
            self.address, self.target, self.body, self._headers, self._secrets,
            timeout=self.timeout, retries=self.retries, counts=self._counts,
        )  # fmt: skip

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _persistently(self, ask: Callable[[], tuple[HTTPResponse, bytes]]) -> bytes:
        """Ask until it is answered, at most as often again as was allowed, with a pause between."""
        for attempt in range(self.retries + 1):
            if attempt:
                self._counts.add("retried")
                sleep(min(_LONGEST_PAUSE, _PAUSE * 2 ** (attempt - 1)))
            last = attempt == self.retries
            try:
                response, content = ask()
            except (OSError, HTTPException) as error:
                if last:
                    raise self._unanswered(error) from error
                continue
            if response.status == _OK:
                return content
            if last or response.status not in _PASSING:
                raise self._refused(response, content)
        raise AssertionError("the last attempt has returned or raised")

    def _answer(self, target: str, body: bytes | None) -> tuple[HTTPResponse, bytes]:
        """Once more on a new connection where the service has closed the one that was kept."""
        kept = self._connection is not None and self._connection.sock is not None
        try:
            return self._exchange(target, body)
        except ConnectionError:
            if not kept:
                raise
            self._counts.add("reconnected")
            return self._exchange(target, body)

    def _exchange(self, target: str, body: bytes | None) -> tuple[HTTPResponse, bytes]:
        if self._connection is None:
            self._connection = self.address.connection(self.timeout)
        try:
            self._connection.request("GET" if body is None else "POST", target, body, self._headers)
            response = self._connection.getresponse()
            content = response.read(_MOST_BYTES + 1)
        except BaseException:
            self.close()
            raise
        if len(content) > _MOST_BYTES:
            self.close()
            raise self._failed(f"the answer is longer than {_MOST_BYTES >> 20} MB")
        return response, content

    def _unanswered(self, error: Exception) -> DataError:
        if isinstance(error, TimeoutError):
            return self._failed(f"no answer within {self.timeout:g} s")
        if isinstance(error, OSError) and not isinstance(error, HTTPException):
            reason = error.strerror or str(error) or type(error).__name__
            return self._failed(f"cannot be asked: {self._shown(reason)}", hint="Is the service running?")
        return self._failed(f"the answer is broken: {type(error).__name__} {self._shown(str(error))}".rstrip())

    def _refused(self, response: HTTPResponse, content: bytes) -> DataError:
        told = f"status {response.status} {response.reason}".rstrip()
        leads = response.getheader("Location")
        if leads is not None:
            return self._failed(
                f"{told}, which leads to {self._shown(leads.partition('?')[0])}",
                hint="karat follows no redirection: give the url where it ends.",
            )
        return self._failed(f"{told}: {self._shown(content)}" if content.strip() else told)

    def _failed(self, found: str, hint: str | None = None) -> DataError:
        return DataError(found, where=self.shown, expected="status 200 and JSON", hint=hint)

    def _shown(self, content: bytes | str) -> str:
        """What a service says may hold what it was sent."""
        text = content if isinstance(content, str) else content[: 1 << 16].decode("utf-8", "replace")
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return shortened(text)
