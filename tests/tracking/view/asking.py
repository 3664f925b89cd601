"""A server to ask, and ways to ask it as no browser would."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import Any

from rankjury.tracking.view.overview import RunCatalog
from rankjury.tracking.view.pages import Router
from rankjury.tracking.view.server import PageRequest, PageResponse, ViewServer

__all__ = ["Answered", "answered", "get", "head_of", "served", "spoken"]

SECONDS = 20.0


@dataclass(frozen=True)
class Answered:
    status: int
    headers: dict[str, str]
    """By their names in lower case."""
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@contextmanager
def served(what: RunCatalog | Callable[[PageRequest], PageResponse], **options: Any) -> Iterator[ViewServer]:
    """A server at work in a thread: over a shelf, or with answers of one's own."""
    with ViewServer(Router(what) if isinstance(what, RunCatalog) else what, **options) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def spoken(server: ViewServer, octets: bytes, *, ends: bool = False) -> bytes:
    """All that is answered to these bytes until the server hangs up; ``ends``: nothing more is sent."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=SECONDS) as connection:
        connection.sendall(octets)
        if ends:
            connection.shutdown(socket.SHUT_WR)
        found = b""
        while part := connection.recv(65_536):
            found += part
    return found


def head_of(server: ViewServer, target: str, *lines: str, method: str = "GET", version: str = "HTTP/1.1") -> bytes:
    """A request that asks the server to hang up afterwards; a Host is added where no line has one."""
    host = () if any(line.lower().startswith("host") for line in lines) else (f"Host: 127.0.0.1:{server.server_port}",)
    head = "\r\n".join((f"{method} {target} {version}", *host, *lines, "Connection: close", "", ""))
    return head.encode("latin-1")


def get(server: ViewServer, target: str, *lines: str, method: str = "GET") -> Answered:
    return answered(spoken(server, head_of(server, target, *lines, method=method)))


def answered(octets: bytes) -> Answered:
    head, _, body = octets.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    version, status, _ = first.split(" ", 2)
    assert version == "HTTP/1.1", octets[:200]
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return Answered(int(status), headers, body)
