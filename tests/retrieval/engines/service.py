"""A search service over HTTP, for tests: real, in a thread, and as wayward as it is told to be."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """What came in."""

    method: str
    path: str
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


@dataclass
class Reply:
    """What goes out: an object as JSON, or bytes as they are."""

    content: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hangs_up: bool = False
    """Close the connection afterwards without saying so."""
    says_nothing: bool = False
    """Close the connection without an answer."""

    @property
    def bytes(self) -> bytes:
        return self.content if isinstance(self.content, bytes) else json.dumps(self.content).encode()


class Service:
    """Where it listens, what it was asked, on how many connections."""

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self.connections = 0
        self.over = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def setup(self) -> None:
                super().setup()
                service.connections += 1

            def do_GET(self) -> None:
                content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                request = Request(self.command, self.path, dict(self.headers), content)
                service.requests.append(request)
                reply = service.answer(request)
                self.close_connection = reply.hangs_up or reply.says_nothing
                if not reply.says_nothing:
                    self.send_response(reply.status)
                    for name, value in {"Content-Length": str(len(reply.bytes)), **reply.headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(reply.bytes)

            do_POST = do_GET  # noqa: N815 - so the library wants it

            def log_message(self, *_: Any) -> None:
                """Silent."""

        return Handler


@contextmanager
def serving(answer: Callable[[Request], Reply]) -> Iterator[Service]:
    """A service that answers so until the block ends."""
    service = Service(answer)
    thread = threading.Thread(target=service.server.serve_forever, kwargs={"poll_interval": 0.005})
    thread.start()
    try:
        yield service
    finally:
        service.over.set()
        service.server.shutdown()
        thread.join()
        service.server.server_close()
