"""HTTP client for JSON services, with a persistent connection; it follows no redirects and uses no proxy."""

import json
import socket
import ssl
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPResponse
from math import inf
from threading import Thread
from time import monotonic, sleep
from typing import Any, Self
from urllib.parse import urlsplit

from rankjury.core.secrets import mask_url, redact
from rankjury.errors import DataError, UsageError
from rankjury.retrieval.engines.endpoint.messages import Counters, Template, shorten_line

_MAX_BYTES = 64_000_000
"""Limit for a response with its headers."""


class _Timed:
    """Socket whose every step is limited to the remaining time, so that a slow service cannot block it forever."""

    until = inf
    bytes_left = 0

    def hurry(self) -> None:
        """Limit the next step to the remaining time."""
        left = self.until - monotonic()
        if left <= 0:
            raise TimeoutError
        self.settimeout(left)  # type: ignore[attr-defined]

    def recv_into(self, *args: Any, **options: Any) -> int:
        self.hurry()
        received = int(super().recv_into(*args, **options))  # type: ignore[misc]
        self.bytes_left -= received
        if self.bytes_left < 0:
            raise _TooLong
        return received

    def sendall(self, data: Any, flags: int = 0) -> None:
        rest = memoryview(data).cast("B")
        while rest:
            self.hurry()
            rest = rest[self.send(rest, flags) :]  # type: ignore[attr-defined]


class _Socket(_Timed, socket.socket):
    pass


class _TlsSocket(_Timed, ssl.SSLSocket):
    pass


class _TooLong(Exception):  # noqa: N818
    """A response, with its headers, exceeds the limit."""


class _Connection(HTTPConnection):
    """Connection that is made, used and read within one time limit."""

    until = inf
    sock: Any

    def __init__(self, address: "Address") -> None:
        super().__init__(address.host, address.port or (443 if address.scheme == "https" else 80))
        if address.scheme == "https" and self.port == 443:
            self.default_port = 443
        self._tls = ssl.create_default_context() if address.scheme == "https" else None
        if self._tls is not None:
            self._tls.sslsocket_class = _TlsSocket

    def begin(self, until: float) -> None:
        """Set the time limit of the next request."""
        self.until = until
        if self.sock is not None:
            self.sock.until, self.sock.bytes_left = until, _MAX_BYTES

    def connect(self) -> None:
        opened: Any = self._open_socket()
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                opened.hurry()  # the library takes it for the time of the whole handshake
                opened = self._tls.wrap_socket(opened, server_hostname=self.host)
            opened.until, opened.bytes_left = self.until, _MAX_BYTES
        except BaseException:
            opened.close()
            raise
        self.sock = opened

    def _open_socket(self) -> Any:
        """Try the addresses of the host, one after the other."""
        failed: OSError = OSError("the name of the host has no address")
        for family, kind, protocol, _, place in _look_up(self.host, self.port, self.until):
            opened = _Socket(family, kind, protocol)
            opened.until = self.until
            try:
                opened.hurry()
                opened.connect(place)
                return opened
            except OSError as error:
                opened.close()
                failed = error
        raise failed


def _look_up(host: str, port: int, until: float) -> list[Any]:
    """Return the addresses of a host. The system's lookup has no time limit, so it runs in a thread."""
    results: list[Any] = []

    def look_up() -> None:
        try:
            results.append(socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM))
        except UnicodeError:
            results.append(OSError("the host has no valid name"))
        except OSError as error:
            results.append(error)

    thread = Thread(target=look_up, daemon=True)
    thread.start()
    thread.join(max(0.0, until - monotonic()))
    if not results:
        raise TimeoutError
    if isinstance(results[0], OSError):
        raise results[0]
    return list(results[0])


@dataclass(frozen=True)
class Address:
    """Address of a service."""

    scheme: str
    host: str
    port: int | None
    target: str
    """The path and the query, as given."""
    shown: str
    """For messages: without the query, where secrets may be."""


def read_address(url: str) -> Address:
    """Return a URL's parts; one with a user name or a password in it is refused."""
    expected = "something like http://localhost:8000/search"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        (host or "").encode("idna")
    except ValueError:  # whose text repeats the url
        raise UsageError("the url cannot be read", expected=expected) from None
    if parts.username is not None or parts.password is not None:
        expected, hint = "them in a header, from the environment", 'Write headers = "Authorization=Basic env:MY_TOKEN".'
        raise UsageError("the url contains a user name or a password", expected=expected, hint=hint)
    if parts.scheme not in ("http", "https") or not host or "{" in parts.netloc:
        raise UsageError("the url is not one of http or https", expected=expected)
    path = parts.path or "/"
    target = f"{path}?{parts.query}" if parts.query else path
    return Address(parts.scheme, host, port, target, mask_url(f"{parts.scheme}://{parts.netloc}{path}"))


@dataclass
class HttpClient:
    """Client of a service: one connection, for one thread."""

    address: Address
    target: Template
    body: Template | None
    headers: Mapping[str, str]
    secrets: Sequence[str]
    """In every encoding in which the service may repeat them."""
    timeout: float
    retries: int
    counters: Counters
    _connection: _Connection | None = None

    def __post_init__(self) -> None:
        self.shown = self.address.shown
        names = self.target.names | (self.body.names if self.body else set())
        self.takes_texts, self.sends_filter = "text" in names, "filter" in names

    def ask(self, query: Any, k: int, filter: Mapping[str, str] | None) -> Any:
        """Return the response as it came; ``filter``: the attribute that items must have, and its value."""
        values = {"text": query, "vector": query, "k": k, "filter": filter}
        target = self.target.fill(values)
        body = None if self.body is None else self.body.fill(values).encode("utf-8", "backslashreplace")
        content = self._request(target, body)
        try:
            return json.loads(content)
        except RecursionError:
            raise self._failed("the response is nested too deeply") from None
        except ValueError:  # whose text may contain the request
            found = "compressed" if content.startswith(b"\x1f\x8b") else f"not valid JSON: {self.clean(content)}"
            raise self._failed(f"the response is {found}") from None

    def for_thread(self) -> Self:
        return replace(self, _connection=None)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _request(self, target: str, body: bytes | None) -> bytes:
        """Return the content of a successful response, after as many retries as allowed, with growing pauses."""
        for attempt in range(self.retries + 1):
            if attempt:
                self.counters.add("retried")
                sleep(min(2.0, 0.1 * 2 ** (attempt - 1)))
            last = attempt == self.retries
            try:
                response, content = self._answer(target, body)
            except (OSError, HTTPException) as error:
                if last:
                    raise self._describe_failure(error) from None
                continue
            if response.status == 200:
                return content
            if last or response.status not in (429, 502, 503, 504):
                raise self._describe_refusal(response, content)
        raise AssertionError("the last attempt has returned or raised")

    def _answer(self, target: str, body: bytes | None) -> tuple[HTTPResponse, bytes]:
        """Send a request; repeat it, within the same time, if the service closed the old connection."""
        reused = self._connection is not None and self._connection.sock is not None
        until = monotonic() + self.timeout
        try:
            return self._exchange(target, body, until)
        except ConnectionError:
            if not reused:
                raise
            self.counters.add("reconnected")
            return self._exchange(target, body, until)

    def _exchange(self, target: str, body: bytes | None, until: float) -> tuple[HTTPResponse, bytes]:
        if self._connection is None:
            self._connection = _Connection(self.address)
        self._connection.begin(until)
        try:
            self._connection.request("GET" if body is None else "POST", target, body, self.headers)
            response = self._connection.getresponse()
            with closing(response):
                return response, response.read(_MAX_BYTES)  # all of it: the socket refuses longer responses
        except _TooLong:
            self.close()
            raise self._failed(f"the response is longer than {_MAX_BYTES // 1_000_000} MB") from None
        except BaseException:
            self.close()
            raise

    def _describe_failure(self, error: Exception) -> DataError:
        if isinstance(error, TimeoutError):
            return self._failed(f"no response within {self.timeout:g} s")
        if isinstance(error, OSError) and not isinstance(error, HTTPException):
            reason = error.strerror or str(error) or type(error).__name__
            return self._failed(f"cannot be reached: {self.clean(reason)}", hint="Is the service running?")
        return self._failed(f"the response is invalid: {type(error).__name__} {self.clean(str(error))}".rstrip())

    def _describe_refusal(self, response: HTTPResponse, content: bytes) -> DataError:
        status = f"status {response.status} {self.clean(response.reason)}".rstrip()
        location = response.getheader("Location")
        if location is not None:
            location = location.partition("?")[0]
            location = self.clean(mask_url(location) if "://" in location else location)
            hint = "rankjury follows no redirects: give the final url."
            return self._failed(f"{status}, which redirects to {location}", hint=hint)
        return self._failed(f"{status}: {self.clean(content)}" if content.strip() else status)

    def _failed(self, found: str, hint: str | None = None) -> DataError:
        return DataError(found, where=self.shown, expected="status 200 and JSON", hint=hint)

    def clean(self, content: bytes | str) -> str:
        """Return what may be shown of a response: shortened, and without secrets."""
        text = content if isinstance(content, str) else content[: 1 << 16].decode("utf-8", "replace")
        return shorten_line(redact(text, self.secrets))
