"""HTTP server of the pages: on this machine only, for its own pages only; no request can block it for long."""

import json
import re
import socket
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader, RawIOBase
from math import isfinite
from socketserver import TCPServer
from threading import BoundedSemaphore
from time import monotonic
from typing import Any
from urllib.parse import parse_qsl, unquote

from rankjury.core.version import __version__
from rankjury.errors import DamagedRun, RankjuryError, UnknownName
from rankjury.reporting.html import render_template

_LINE = re.compile(rb"^([A-Z]{1,20}) (/[\x21-\x7e]*) HTTP/1\.[01]\r?\n$")
_MOST_PARAMETERS = 32
_LONGEST_PARAMETER = 20_000
_OWN = ("same-origin", "none")
_NEEDLESS = re.compile("%(?:2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])", re.IGNORECASE)
"""A letter, digit, ``-``, ``.``, ``_`` or ``~`` that is percent-encoded: no browser and no page of ours does so."""


class RequestRefused(Exception):  # noqa: N818 - reads as what it says
    """A request that is not answered: the status, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True)
class PageRequest:
    """A path in its parts, decoded one by one, and parameters."""

    parts: tuple[str, ...]
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def key(self) -> Hashable:
        """Equal for requests of the same."""
        return self.parts, tuple(sorted(self.parameters.items()))

    @property
    def is_of_script(self) -> bool:
        """Whether only a script of our own pages asks for it."""
        return self.parts[0] == "api"

    def text(self, name: str, otherwise: str = "") -> str:
        """A parameter that stands once."""
        found = self.parameters.get(name, (otherwise,))
        if len(found) > 1:
            raise RequestRefused(400, f"{name} was given {len(found)} times")
        return found[0]

    def all(self, name: str) -> tuple[str, ...]:
        """A parameter that may repeat; empty ones do not count."""
        return tuple(one for one in self.parameters.get(name, ()) if one)

    def number(self, name: str, otherwise: int, most: int) -> int:
        """A whole number from 0 to ``most``."""
        text = self.text(name)
        if not text:
            return otherwise
        if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) <= most):
            raise RequestRefused(400, f"{name} must be a whole number from 0 to {most:,}")
        return int(text)

    def switch(self, name: str) -> bool:
        text = self.text(name, "false")
        if text not in ("true", "false"):
            raise RequestRefused(400, f"{name} must be true or false")
        return text == "true"


def check_request_line(line: bytes) -> str:
    """The address of a request in the usual form; anything else is refused before its headers are read."""
    found = _LINE.match(line)
    if found is None:
        raise RequestRefused(400, "this is no request that a browser makes")
    if found[1] not in (b"GET", b"HEAD"):
        raise RequestRefused(405, "here one can only look: GET and HEAD")
    return found[2].decode("ascii")


def parse_target(target: str) -> PageRequest:
    """``/run/a%20b?x=1`` → its parts and parameters. A slash that is encoded stays within its part."""
    path, _, query = target.partition("?")
    if _NEEDLESS.search(path):  # two spellings of an address: one of them would pass a check by the other
        raise RequestRefused(404, "there is nothing at this address")
    try:
        parts = tuple(unquote(part, errors="strict") for part in path[1:].split("/"))
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS)
    except ValueError as error:
        raise RequestRefused(400, "the address cannot be read") from error
    parameters: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        if len(name) > _LONGEST_PARAMETER or len(value) > _LONGEST_PARAMETER:
            raise RequestRefused(400, "a parameter is too long")
        parameters[name] = (*parameters.get(name, ()), value)
    return PageRequest(parts, parameters)


def allowed_hosts(port: int) -> frozenset[str]:
    """How this machine calls itself. By another name a page from elsewhere would pass for ours (DNS rebinding)."""
    names = ("127.0.0.1", "localhost", "[::1]")
    return frozenset((*(f"{name}:{port}" for name in names), *(names if port == 80 else ())))


def check_origin(hosts: frozenset[str], origins: Sequence[str], sites: Sequence[str]) -> None:
    """Refuse what a page from elsewhere asks for; browsers tell by ``Origin`` and ``Sec-Fetch-Site``."""
    if any(origin.lower() not in {f"http://{host}" for host in hosts} for origin in origins):
        raise RequestRefused(403, "this is for pages of its own only")
    if any(site.lower() not in _OWN for site in sites):
        raise RequestRefused(403, "this is for pages of its own only")


HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Nothing but our own script and style runs, nobody frames or reads it from elsewhere, and nothing is kept."""
_TITLES = {400: "This cannot be read", 403: "Not for you", 404: "There is no such page", 500: "Something went wrong"}


@dataclass(frozen=True)
class PageResponse:
    status: int
    kind: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def page_response(template: str, context: dict[str, Any], status: int = 200) -> PageResponse:
    """A page by its template."""
    text = render_template(template, context, inline=False)
    return PageResponse(status, "text/html; charset=utf-8", text.encode("utf-8", "replace"))


def json_response(form: Any, status: int = 200) -> PageResponse:
    text = json.dumps(_plain(form), separators=(",", ":"), allow_nan=False)
    return PageResponse(status, "application/json", text.encode("ascii"))


def error_response(status: int, message: str, *, to_script: bool = False) -> PageResponse:
    """Why there is nothing to see; no word of how rankjury came to it."""
    headers = {"Allow": "GET, HEAD"} if status == 405 else {}
    if to_script:
        return PageResponse(status, "application/json", json_response({"error": message}).body, headers)
    title = _TITLES.get(status, "This is not answered")
    page = page_response("view_trouble.html", {"title": title, "message": message}, status)
    return PageResponse(status, page.kind, page.body, headers)


def _plain(value: Any) -> Any:
    """JSON knows no infinity, and no NaN."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


ADDRESS = "127.0.0.1"
_SECONDS_TO_ASK = 15.0
"""A whole request must have come by then; a browser that asks no more is let go."""
_SECONDS_TO_READ = 30.0
_MOST_AT_ONCE = 64
_LONGEST_FAREWELL = 4_000_000
_SECONDS_OF_FAREWELL = 1.0
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

Answer = Callable[[PageRequest], PageResponse]


class ViewServer(ThreadingHTTPServer):
    """Answers requests by ``answer``. ``port`` 0 takes one that is free."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, answer: Answer, port: int = 0, *, patience: float = _SECONDS_TO_ASK, most: int = _MOST_AT_ONCE
    ) -> None:
        self.answer = answer
        self.patience = patience
        self._places = BoundedSemaphore(most)
        super().__init__((ADDRESS, port), _Handler)
        self.hosts = allowed_hosts(self.server_port)

    def server_bind(self) -> None:
        """Without asking a name server who we are."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = ADDRESS, self.server_address[1]

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread, of which there is a bound: beyond it one is told at once."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
            return
        with suppress(OSError):
            request.settimeout(_SECONDS_OF_FAREWELL)
            request.sendall(_BUSY)
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke is nobody's business; what goes wrong within is answered by the handler."""


class _DeadlineReader(RawIOBase):
    """What comes from a socket, until a moment in time; drop by drop does not make it longer."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.until = 0.0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.until - monotonic()
        if left <= 0:
            raise TimeoutError
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    server: ViewServer
    raw_requestline: bytes
    protocol_version = "HTTP/1.1"
    server_version = f"rankjury/{__version__}"
    sys_version = ""
    asked = PageRequest(("",))
    refused = False

    def setup(self) -> None:
        super().setup()
        with suppress(OSError):
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        self._hasty = _DeadlineReader(self.connection)
        self.rfile = BufferedReader(self._hasty)

    def handle_one_request(self) -> None:
        self._hasty.until = monotonic() + self.server.patience
        try:
            super().handle_one_request()
        except TimeoutError:
            self.close_connection = True

    def parse_request(self) -> bool:
        """Only what a browser would send, by a name of this machine."""
        self.command, self.request_version, self.asked = "", "HTTP/1.1", PageRequest(("",))
        try:
            target = check_request_line(self.raw_requestline)
            if not super().parse_request():
                return False
            self.asked = parse_target(target)
            self._check_headers()
        except RequestRefused as refused:
            self._refuse(refused.status, str(refused))
            return False
        except TimeoutError:
            self._refuse(408, "the request did not come to its end")
            return False
        return True

    def _check_headers(self) -> None:
        get = self.headers.get_all
        if self.headers.defects or self.headers.get_payload():
            raise RequestRefused(400, "the headers cannot be read")
        hosts = get("Host", [])
        if len(hosts) != 1:
            raise RequestRefused(400, "a request names one host")
        if hosts[0].strip().lower() not in self.server.hosts:
            raise RequestRefused(421, "this server answers to the name of this machine only")
        if get("Transfer-Encoding") or any(length.strip() != "0" for length in get("Content-Length", [])):
            raise RequestRefused(413, "nothing can be sent here")
        if self.asked.is_of_script:
            check_origin(self.server.hosts, get("Origin", []), get("Sec-Fetch-Site", []))

    def do_GET(self) -> None:
        self._send(self._answer())

    do_HEAD = do_GET  # noqa: N815 - the library's name

    def _answer(self) -> PageResponse:
        """What goes wrong is told without a word of the machine that it went wrong on."""
        to_script = self.asked.is_of_script
        try:
            return self.server.answer(self.asked)
        except RequestRefused as refused:
            return error_response(refused.status, str(refused), to_script=to_script)
        except DamagedRun as error:
            return error_response(400, error.in_archive, to_script=to_script)
        except RankjuryError as error:
            status = 404 if isinstance(error, UnknownName) else 400
            return error_response(status, str(error), to_script=to_script)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # Polars' PanicException is not an Exception
            return error_response(500, "rankjury failed to answer; this is a bug", to_script=to_script)

    def _send(self, response: PageResponse) -> None:
        self.connection.settimeout(_SECONDS_TO_READ)
        self.send_response(response.status)
        for name, value in (HEADERS | response.headers).items():
            self.send_header(name, value)
        self.send_header("Content-Type", response.kind)
        self.send_header("Content-Length", str(len(response.body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the library finds wrong with a request."""
        self._refuse(code, "the request cannot be read")

    def _refuse(self, status: int, why: str) -> None:
        """Nothing more is read as a request from one who sent what is none."""
        self.close_connection, self.refused = True, True
        self.request_version = "HTTP/1.1"
        with suppress(OSError):
            self._send(error_response(status, why, to_script=self.asked.is_of_script))

    def finish(self) -> None:
        """One who is still sending gets to read the answer before the connection ends."""
        with suppress(OSError, ValueError):
            super().finish()
        if not self.refused:
            return
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            until, heard = monotonic() + _SECONDS_OF_FAREWELL, 0
            while heard < _LONGEST_FAREWELL and (left := until - monotonic()) > 0:
                self.connection.settimeout(left)
                octets = self.connection.recv(65_536)
                if not octets:
                    break
                heard += len(octets)

    def handle_expect_100(self) -> bool:
        """Nobody is asked to go on sending."""
        return True

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Not kept: neither who asked nor for what."""

    def log_message(self, format: str, *args: Any) -> None:
        """Standard output is for the address alone, and nobody reads along."""
