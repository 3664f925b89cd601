"""HTTP server of the pages: on this machine only, for its own pages only; no request can block it for long."""

import json
import re
import socket
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader, RawIOBase
from socketserver import TCPServer
from threading import BoundedSemaphore
from time import monotonic
from typing import Any
from urllib.parse import parse_qsl, unquote

from rankjury.core.validation import to_json
from rankjury.core.version import __version__
from rankjury.errors import DamagedRun, RankjuryError, UnknownName
from rankjury.reporting.html import render_template

_LINE = re.compile(rb"^([A-Z]{1,20}) (/[\x21-\x7e]*) HTTP/1\.[01]\r?\n$")
_NEEDLESS = re.compile("%(?:2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])", re.IGNORECASE)
"""A letter, digit, ``-``, ``.``, ``_`` or ``~`` that is percent-encoded: no browser and no page of ours does so."""


class RequestRefused(Exception):  # noqa: N818 - reads as what it says
    """A request that is not answered: the status, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True)
class PageRequest:
    """Request for a page: the path in its parts, decoded one by one, and parameters."""

    parts: tuple[str, ...]
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def key(self) -> Hashable:
        """Key of a cache: equal for requests of the same page."""
        return self.parts, tuple(sorted(self.parameters.items()))

    @property
    def is_of_script(self) -> bool:
        """Whether only the script of a page makes such a request."""
        return self.parts[0] == "api"

    def text(self, name: str, otherwise: str = "") -> str:
        """Return a parameter that may not repeat."""
        values = self.parameters.get(name, (otherwise,))
        if len(values) > 1:
            raise RequestRefused(400, f"{name} was given {len(values)} times")
        return values[0]

    def all(self, name: str) -> tuple[str, ...]:
        """Return the values of a parameter that may repeat, without empty ones."""
        return tuple(value for value in self.parameters.get(name, ()) if value)

    def number(self, name: str, otherwise: int, limit: int) -> int:
        """Return a whole number from 0 to ``limit``."""
        text = self.text(name)
        if not text:
            return otherwise
        if not re.fullmatch("[0-9]{1,9}", text) or int(text) > limit:
            raise RequestRefused(400, f"{name} must be a whole number from 0 to {limit:,}")
        return int(text)

    def switch(self, name: str) -> bool:
        text = self.text(name, "false")
        if text not in ("true", "false"):
            raise RequestRefused(400, f"{name} must be true or false")
        return text == "true"


def parse_target(target: str) -> PageRequest:
    """Split an address, such as ``/run/a%20b?x=1``. An encoded slash stays within its part."""
    path, _, query = target.partition("?")
    if _NEEDLESS.search(path):  # two spellings of an address: one of them would pass a check by the other
        raise RequestRefused(404, "there is nothing at this address")
    try:
        parts = tuple(unquote(part, errors="strict") for part in path[1:].split("/"))
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=32)
    except ValueError as error:
        raise RequestRefused(400, "the address cannot be read") from error
    parameters: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        if max(len(name), len(value)) > 20_000:
            raise RequestRefused(400, "a parameter is too long")
        parameters[name] = (*parameters.get(name, ()), value)
    return PageRequest(parts, parameters)


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
"""Headers of all responses: only our script and style run, no other site can frame or read a page, no caching."""


@dataclass(frozen=True)
class PageResponse:
    status: int
    kind: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def page_response(template: str, context: dict[str, Any], status: int = 200) -> PageResponse:
    """Render a template."""
    text = render_template(template, context, inline=False)
    return PageResponse(status, "text/html; charset=utf-8", text.encode("utf-8", "replace"))


def json_response(form: Any, status: int = 200) -> PageResponse:
    text = json.dumps(to_json(form), separators=(",", ":"), allow_nan=False)
    return PageResponse(status, "application/json", text.encode("ascii"))


def error_response(status: int, message: str, *, to_script: bool = False) -> PageResponse:
    """Return the reason why a request is refused, without details of the machine."""
    titles = {400: "This cannot be read", 403: "Not for you", 404: "There is no such page", 500: "Something went wrong"}
    if to_script:
        response = json_response({"error": message}, status)
    else:
        title = titles.get(status, "This is not answered")
        response = page_response("view_trouble.html", {"title": title, "message": message}, status)
    return replace(response, headers={"Allow": "GET, HEAD"}) if status == 405 else response


ADDRESS = "127.0.0.1"
_DRAIN_SECONDS = 1.0

Answer = Callable[[PageRequest], PageResponse]


class ViewServer(ThreadingHTTPServer):
    """HTTP server that answers requests by ``answer``.

    ``port`` 0 takes one that is free. ``patience`` limits the seconds of a whole request, and of an idle connection;
    ``most`` the connections at a time.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answer: Answer, port: int = 0, *, patience: float = 15.0, most: int = 64) -> None:
        self.answer = answer
        self.patience = patience
        self._places = BoundedSemaphore(most)
        super().__init__((ADDRESS, port), _Handler)
        # Names of this machine. By another name a page from elsewhere would pass for ours (DNS rebinding).
        names = (ADDRESS, "localhost", "[::1]")
        self.hosts = {f"{name}:{self.server_port}" for name in names} | set(names if self.server_port == 80 else ())

    def server_bind(self) -> None:
        """Bind without asking a name server for the name of this machine."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = ADDRESS, self.server_address[1]

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread; beyond the limit of connections, refuse at once."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
            return
        with suppress(OSError):
            request.settimeout(_DRAIN_SECONDS)
            request.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore broken connections; other errors are answered by the handler."""


class _DeadlineReader(RawIOBase):
    """Reader of a socket with one deadline for the whole request, however slowly it comes."""

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
    page_request = PageRequest(("",))
    refused = False

    def setup(self) -> None:
        super().setup()
        with suppress(OSError):
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        self._reader = _DeadlineReader(self.connection)
        self.rfile = BufferedReader(self._reader)

    def handle_one_request(self) -> None:
        self._reader.until = monotonic() + self.server.patience
        try:
            super().handle_one_request()
        except TimeoutError:
            self.close_connection = True

    def parse_request(self) -> bool:
        """Accept only requests that a browser would send, by a name of this machine."""
        self.command, self.request_version, self.page_request = "", "HTTP/1.1", PageRequest(("",))
        try:
            line = _LINE.match(self.raw_requestline)  # anything else is refused before its headers are read
            if line is None:
                raise RequestRefused(400, "this is not a request that a browser makes")
            if line[1] not in (b"GET", b"HEAD"):
                raise RequestRefused(405, "pages are read-only: only GET and HEAD are allowed")
            if not super().parse_request():
                return False
            self.page_request = parse_target(line[2].decode("ascii"))
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
        if self.page_request.is_of_script:  # browsers name the page that asks in these headers
            origins = {f"http://{host}" for host in self.server.hosts}
            from_elsewhere = any(origin.lower() not in origins for origin in get("Origin", []))
            if from_elsewhere or any(site.lower() not in ("same-origin", "none") for site in get("Sec-Fetch-Site", [])):
                raise RequestRefused(403, "this is for pages of its own only")

    def do_GET(self) -> None:
        def refuse(status: int, message: str) -> PageResponse:
            return error_response(status, message, to_script=self.page_request.is_of_script)

        try:
            response = self.server.answer(self.page_request)
        except RequestRefused as refused:
            response = refuse(refused.status, str(refused))
        except DamagedRun as error:
            response = refuse(400, error.in_archive)
        except RankjuryError as error:
            response = refuse(404 if isinstance(error, UnknownName) else 400, str(error))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # Polars' PanicException is not an Exception
            response = refuse(500, "rankjury failed to answer; this is a bug")
        self._send(response)

    do_HEAD = do_GET  # noqa: N815 - the library's name

    def _send(self, response: PageResponse) -> None:
        self.connection.settimeout(30.0)
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
        """Refuse a request that the library cannot read."""
        self._refuse(code, "the request cannot be read")

    def _refuse(self, status: int, why: str) -> None:
        """Send an error and close the connection: nothing more is read as a request."""
        self.close_connection, self.refused = True, True
        self.request_version = "HTTP/1.1"
        with suppress(OSError):
            self._send(error_response(status, why, to_script=self.page_request.is_of_script))

    def finish(self) -> None:
        """Read for a while from a client that is still sending, so that it can read the answer."""
        with suppress(OSError, ValueError):
            super().finish()
        if not self.refused:
            return
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            until, received = monotonic() + _DRAIN_SECONDS, 0
            while received < 4_000_000 and (left := until - monotonic()) > 0:
                self.connection.settimeout(left)
                octets = self.connection.recv(65_536)
                if not octets:
                    break
                received += len(octets)

    def handle_expect_100(self) -> bool:
        """Do not ask the client to go on sending."""
        return True

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing; the library's method needs a request line, which a refused request may not have."""

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: standard output is for the address alone."""
