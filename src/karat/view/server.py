"""The server: on this machine only, for its own pages only, and nothing that is asked of it can hold it up for long."""

import socket
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader, RawIOBase
from socketserver import TCPServer
from threading import BoundedSemaphore
from time import monotonic
from typing import Any

from karat._version import __version__
from karat.errors import DamagedRun, KaratError, UnknownName
from karat.view.requests import Refused, Request, allowed_hosts, check_origin, check_request_line, request_of
from karat.view.responses import HEADERS, Response, trouble

__all__ = ["ADDRESS", "Server"]

ADDRESS = "127.0.0.1"
_SECONDS_TO_ASK = 15.0
"""A whole request must have come by then; a browser that asks no more is let go."""
_SECONDS_TO_READ = 30.0
_MOST_AT_ONCE = 64
_LONGEST_FAREWELL = 4_000_000
_SECONDS_OF_FAREWELL = 1.0
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

Answer = Callable[[Request], Response]


class Server(ThreadingHTTPServer):
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


class _Hasty(RawIOBase):
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
    server: Server
    raw_requestline: bytes
    protocol_version = "HTTP/1.1"
    server_version = f"karat/{__version__}"
    sys_version = ""
    asked = Request(("",))
    refused = False

    def setup(self) -> None:
        super().setup()
        with suppress(OSError):
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        self._hasty = _Hasty(self.connection)
        self.rfile = BufferedReader(self._hasty)

    def handle_one_request(self) -> None:
        self._hasty.until = monotonic() + self.server.patience
        try:
            super().handle_one_request()
        except TimeoutError:
            self.close_connection = True

    def parse_request(self) -> bool:
        """Only what a browser would send, by a name of this machine."""
        self.command, self.request_version, self.asked = "", "HTTP/1.1", Request(("",))
        try:
            target = check_request_line(self.raw_requestline)
            if not super().parse_request():
                return False
            self.asked = request_of(target)
            self._check_headers()
        except Refused as refused:
            self._refuse(refused.status, str(refused))
            return False
        except TimeoutError:
            self._refuse(408, "the request did not come to its end")
            return False
        return True

    def _check_headers(self) -> None:
        get = self.headers.get_all
        if self.headers.defects or self.headers.get_payload():
            raise Refused(400, "the headers cannot be read")
        hosts = get("Host", [])
        if len(hosts) != 1:
            raise Refused(400, "a request names one host")
        if hosts[0].strip().lower() not in self.server.hosts:
            raise Refused(421, "this server answers to the name of this machine only")
        if get("Transfer-Encoding") or any(length.strip() != "0" for length in get("Content-Length", [])):
            raise Refused(413, "nothing can be sent here")
        if self.asked.is_of_script:
            check_origin(self.server.hosts, get("Origin", []), get("Sec-Fetch-Site", []))

    def do_GET(self) -> None:
        self._send(self._answer())

    def do_HEAD(self) -> None:
        self._send(self._answer())

    def _answer(self) -> Response:
        """What goes wrong is told without a word of the machine that it went wrong on."""
        to_script = self.asked.is_of_script
        try:
            return self.server.answer(self.asked)
        except Refused as refused:
            return trouble(refused.status, str(refused), to_script=to_script)
        except DamagedRun as error:
            return trouble(400, error.in_archive, to_script=to_script)
        except KaratError as error:
            status = 404 if isinstance(error, UnknownName) else 400
            return trouble(status, str(error), to_script=to_script)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # Polars' PanicException is not an Exception
            return trouble(500, "karat failed to answer; this is a bug", to_script=to_script)

    def _send(self, response: Response) -> None:
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
            self._send(trouble(status, why, to_script=self.asked.is_of_script))

    def finish(self) -> None:
        """One who is still sending gets to read the answer before the connection ends."""
        with suppress(OSError, ValueError):
            super().finish()
        if self.refused:
            with suppress(OSError):
                self._hear_out()

    def _hear_out(self) -> None:
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
