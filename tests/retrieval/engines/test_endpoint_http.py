"""Time and size limits of a request, and answers that cannot be trusted: services on bare sockets."""

import gzip
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import polars as pl
import pytest

from rankjury.errors import DataError, UsageError
from rankjury.retrieval.engines.endpoint import Endpoint, http as web
from tests.retrieval.engines.service import Reply, serving

TIMEOUT = 0.3
SLOWEST = 1.5
"""Seconds within which a limit of 0.3 s must have ended a request on a busy machine; without one it takes for ever."""
IDS = pl.Series("id", ["a", "b", "c"])
VECTORS = np.eye(3, dtype=np.float32)
OK = b"HTTP/1.1 200 OK\r\n"
SECRET = "s3cr3t-t0ken"

Talk = Callable[[socket.socket, threading.Event], None]


@contextmanager
def talking(talk: Talk) -> Iterator[int]:
    """A server that treats each connection so, and its port."""
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.05)

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            talk(connection, over)

    def accept() -> None:
        while not over.is_set():
            with suppress(TimeoutError):
                connection, _ = listener.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        over.set()
        thread.join()
        listener.close()


def failure(url: str, queries: Any = VECTORS[:1], **settings: Any) -> str:
    """What is told of one search, which must not take longer than the time limit."""
    engine = Endpoint(settings={"url": url, "timeout": TIMEOUT, **settings})
    engine.build(VECTORS, IDS)
    began = monotonic()
    with engine, pytest.raises(DataError) as caught:
        engine.search(queries, 2)
    assert monotonic() - began < SLOWEST * (1 + settings.get("retries", 0))
    return str(caught.value)


def says_first(first: bytes, then: bytes = b"", every: float = 0.05) -> Talk:
    """Say something once the request has come, then something else for ever."""

    def talk(connection: socket.socket, over: threading.Event) -> None:
        connection.recv(1 << 16)
        connection.sendall(first)
        while not over.wait(every):
            connection.sendall(then)

    return talk


@pytest.mark.parametrize(
    "talk",
    [
        says_first(b""),
        says_first(b"", b"H"),
        says_first(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        says_first(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.0005),
        says_first(OK, b"X: 1\r\n"),
        says_first(OK + b"X: ", b"y"),
        says_first(OK + b"Content-Length: 1000\r\n\r\n", b" "),
        says_first(OK + b"\r\n", b" "),
        says_first(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        says_first(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
        says_first(OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n", b"X: trailer\r\n"),
        lambda connection, over: over.wait(10),
    ],
    ids=["silence", "status", "continue", "many continues", "headers", "header", "body", "body without length",
         "chunks", "chunk size", "trailers", "nothing read"],
)  # fmt: skip
def test_a_service_that_drips_ends_with_the_time_limit(talk: Talk) -> None:
    with talking(talk) as port:
        assert f"no response within {TIMEOUT:g} s" in failure(f"http://127.0.0.1:{port}/")


def test_a_request_that_is_not_taken_ends_too() -> None:
    """What is sent fills all buffers."""

    def small(connection: socket.socket, over: threading.Event) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        over.wait(10)

    with talking(small) as port:
        url = f"http://127.0.0.1:{port}/"
        assert "no response within" in failure(url, ["x" * 12_000_000], body='{"q": "{text}"}')


def test_a_handshake_that_drips_ends_too() -> None:
    """A TLS record of 16 KB, byte by byte."""
    with talking(says_first(b"\x16\x03\x03\x40\x00", b"\x02")) as port:
        assert "no response within" in failure(f"https://127.0.0.1:{port}/")


def test_all_addresses_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them would take the connection and say nothing: only a full backlog lets connecting itself hang."""
    full = socket.socket()
    full.bind(("127.0.0.1", 0))
    full.listen(0)
    waiting = []
    for _ in range(3):
        one = socket.socket()
        one.setblocking(False)
        with suppress(BlockingIOError):
            one.connect(full.getsockname())
        waiting.append(one)
    place = (socket.AF_INET, socket.SOCK_STREAM, 6, "", full.getsockname())
    monkeypatch.setattr(web.socket, "getaddrinfo", lambda *_: [place] * 20)
    assert "no response within" in failure("http://many.example/")
    for one in (*waiting, full):
        one.close()


def test_a_lookup_that_hangs_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web.socket, "getaddrinfo", lambda *_: sleep(2.0))
    assert "no response within" in failure("http://slow.example/")


def test_each_retry_has_the_time_anew() -> None:
    asked = []

    def silent(connection: socket.socket, over: threading.Event) -> None:
        asked.append(connection.recv(1 << 16))
        over.wait(10)

    with talking(silent) as port:
        began = monotonic()
        failure(f"http://127.0.0.1:{port}/", retries=1)
        assert monotonic() - began >= 2 * TIMEOUT and len(asked) == 2


def test_an_answer_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "_MAX_BYTES", 1 << 16)
    for head in (
        b"Content-Length: 99999999999999999\r\n\r\n",
        b"\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nfffffff\r\n",
    ):
        with talking(says_first(OK + head, b" " * 9000, 0.0001)) as port:
            assert "longer than" in failure(f"http://127.0.0.1:{port}/", timeout=5.0)


def test_a_redirection_to_itself_is_not_followed() -> None:
    asked: list[str] = []

    def answer(request: Any) -> Reply:
        asked.append(request.path)
        return Reply(b"", status=302, headers={"Location": request.path})

    with serving(answer) as service:
        assert "which redirects to" in failure(f"{service.url}/around")
    assert asked == ["/around"]


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"results": ' * 100_000,
        b'{"results": [{"id": "a", "score": NaN}]}',
        b'{"results": [{"id": "a", "score": 1e999}]}',
        b'{"results": [{"id": "a", "score": 1' + b"0" * 400 + b"}]}",
        b'{"results": [{"id": "a", "score": "1"}]}',
        b'{"results": [{"id": "a", "score": null}]}',
        b'{"results": [{"id": "\\ud800", "score": 1}]}',
        b'{"results": [{"id": {"a": "b"}, "score": 1}]}',
        b'{"results": [{"id": NaN, "score": 1}]}',
        b'{"results": [{"id": 1' + b"0" * 4000 + b', "score": 1}]}',
        b'{"results": [{"id": 1' + b"0" * 5000 + b', "score": 1}]}',
        b'{"results": {"id": "a"}}',
        b'{"results": "abc"}',
        b'{"\\ud800": []}',
        b"[null]", b"[[[]]]", b"[true]", b"null", b"true", b"1", b'"a"', b"",
        b"\xff\xfe\xfd", b"\x80", b"\x00\x00\x00", '{"results": ["ä"]}'.encode("latin-1"),
        gzip.compress(b'{"results": []}'),
    ],
    ids=range(28),
)  # fmt: skip
def test_odd_answers_are_errors_that_name_the_endpoint(content: bytes) -> None:
    with serving(lambda request: Reply(content)) as service:
        told = failure(f"{service.url}/search?key={SECRET}", score="score", timeout=5.0)
    assert told.startswith(f"{service.url}/search: ") and len(told) < 600 and SECRET not in told
    told.encode()


@pytest.mark.parametrize("host", ["a" * 70 + ".example", "a..b", "\ud800"])
def test_a_host_that_is_no_name(host: str) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        Endpoint(settings={"url": f"http://{host}/"})


def test_a_service_over_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole exchange, twice on one connection, checked against a certificate of our own."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    whose = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", *kind, *whose, "-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    monkeypatch.setenv("SSL_CERT_FILE", certificate)
    with serving(lambda request: Reply({"results": ["b", "a"]})) as service:
        service.server.socket = context.wrap_socket(service.server.socket, server_side=True)
        url = service.url.replace("http:", "https:")
        with Endpoint(settings={"url": url, "timeout": 5.0}) as engine:
            engine.build(VECTORS, IDS)
            assert engine.search(VECTORS[:2], 2).items.tolist() == [[1, 0], [1, 0]]
        assert service.connections == 1


def test_a_text_with_half_a_surrogate_is_sent_as_json_has_it() -> None:
    with serving(lambda request: Reply({"results": ["a"]})) as service:
        for settings in ({"body": '{"q": "{text}"}'}, {"method": "GET", "url": f"{service.url}/?q={{text}}"}):
            with Endpoint(settings={"url": service.url, "timeout": 5.0, **settings}) as engine:
                engine.build(VECTORS, IDS)
                engine.search(["x\ud800y"], 1)
    assert service.requests[0].json == {"q": "x\ud800y"} and service.requests[1].path == "/?q=x%3Fy"
