"""Fuzz surface of the page's HTTP server: raw requests on a socket.

Every request gets a well-formed answer that is not a 500, nothing under ``/api/`` goes to a page from elsewhere, and
the server answers the next request as if nothing had been.
"""

from __future__ import annotations

import json
import re
import socket
from functools import cache
from pathlib import Path
from random import Random
from threading import Thread
from urllib.parse import quote

from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.view.overview import RunCatalog
from rankjury.tracking.view.pages import Router
from rankjury.tracking.view.server import ViewServer
from tests.fuzz import inputs, mutators
from tests.fuzz.harness import Case, Surface, register

_SECONDS = 5.0
_HOST = "127.0.0.1:PORT"
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) [^\r\n]*\r\n")
_FOREIGN = "http://elsewhere.example"


class BadAnswerError(AssertionError):
    """An answer that no request may get."""


@cache
def _server() -> ViewServer:
    """Start a server over the archive of the current folder, which every case writes anew."""
    server = ViewServer(Router(RunCatalog(Archive(Path(inputs.ARCHIVE)))), patience=1.0)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    return server


@cache
def _targets() -> tuple[str, ...]:
    names = [quote(name.split("/")[2]) for name in sorted(inputs.archive_files()) if name.endswith("manifest.json")]
    first, last = names[0], names[-1]
    return (
        *("/", "/?plan=small", "/history?plan=small&measure=rr", "/static/page.css", "/static/view.js", "/api/running"),
        *(f"/run/{first}", f"/compare?a={first}&b={last}", f"/compare?run={first}&run={last}&systems=all"),
        f"/api/run/{first}/rows?label=rr&sort=score:0&down=true&offset=0&limit=5&find=q0&slice=1",
        f"/api/run/{last}/query?id=q03",
        f"/api/compare/{first}/{last}/all/rows?label=rr&sort=loss",
        f"/api/compare/{first}/{last}/changed/query?id=q03",
    )


def _seeds() -> list[Case]:
    _server()
    return [Case(options={"request": _request("GET", target)}) for target in _targets()]


def _request(method: str, target: str, *lines: str) -> str:
    head = (f"{method} {target} HTTP/1.1", f"Host: {_HOST}", *lines, "Connection: close", "", "")
    return "\r\n".join(head)


def _mutate(rng: Random, case: Case) -> Case:
    target = rng.choice(_targets())
    if rng.random() < 0.7:
        for _ in range(rng.choice((1, 1, 2, 3))):
            target = _changed_target(rng, target)
    lines = [_line(rng) for _ in range(rng.choice((0, 0, 1, 2)))]
    text = _request(rng.choice(("GET",) * 8 + ("HEAD", "POST", "OPTIONS", "get", "", "X" * 3000)), target, *lines)
    if rng.random() < 0.3:
        text = _changed_text(rng, text)
    return Case(options={"request": text})


def _changed_target(rng: Random, target: str) -> str:
    path, mark, query = target.partition("?")
    kind = rng.randrange(12)
    if kind == 0 and path:  # the same address, spelled otherwise
        at = rng.randrange(len(path))
        return path[:at] + f"%{ord(path[at]):02x}" + path[at + 1 :] + mark + query
    if kind == 1:
        return rng.choice(("/", "/./", "/../", "/..%2f", "/%2e%2e/", "//x", "\\")) + target[1:]
    if kind == 2:
        parts = path.split("/")
        parts[rng.randrange(len(parts))] = rng.choice((_odd(rng), "..", ".", "", "%00", "%ff", "%2f", "%", "a" * 5000))
        return "/".join(parts) + mark + query
    if kind == 3:
        return f"{path}?{'&'.join(f'a{number}=1' for number in range(rng.choice((40, 2000))))}"
    if kind <= 8 and query:
        pairs = [pair.partition("=") for pair in query.split("&")]
        at = rng.randrange(len(pairs))
        name, _, value = pairs[at]
        changed = rng.choice(
            (
                f"{name}={_odd(rng)}",
                f"{_odd(rng)}={value}",
                name,
                f"{name}={value}&{name}={value}",
                f"{name}={rng.choice(_VALUES)}",
                f"{name}={'x' * rng.choice((100, 25_000, 60_000))}",
                "",
            )
        )
        return f"{path}?{'&'.join(changed if place == at else ''.join(pair) for place, pair in enumerate(pairs))}"
    if kind == 9:
        return target + rng.choice(("/", "#x", "?", "&", ";", "%", "%zz", "/x/y", "&sort=gain", "&text=q", "&slice=0"))
    if kind == 10:
        return f"{target}{'&' if query else '?'}{rng.choice(_NAMES)}={rng.choice((_odd(rng), rng.choice(_VALUES)))}"
    return rng.choice(_targets()).partition("?")[0] + mark + query


_NAMES = (
    "label",
    "sort",
    "down",
    "text",
    "slice",
    "offset",
    "limit",
    "find",
    "plan",
    "measure",
    "system",
    "a",
    "b",
    "id",
)
_VALUES = (
    *("", "-1", "0", "999999999", "1e9", "nan", "loss", "gain", "difference:0", "difference:9", "score:-1", "score:1"),
    *(
        "score:x",
        "score:",
        "score:99999999999999999999",
        "row",
        "true",
        "false",
        "all",
        "changed",
        "system%20new",
        "small",
    ),
    *("%F0%9F%98%80", "%00", "%ed%a0%80", "rr", "ndcg@3", "none", "q00", "%28", "*", "[", "(?:", "\\"),
)


def _odd(rng: Random) -> str:
    return quote(mutators.odd_text(rng).encode("utf-8", "surrogatepass"), safe=rng.choice(("", "/:?&=+[]{}")))


def _line(rng: Random) -> str:
    odd = mutators.odd_text(rng).encode("utf-8", "surrogatepass").decode("latin-1")
    return rng.choice(
        (
            f"Origin: {_FOREIGN}",
            "Sec-Fetch-Site: cross-site",
            "Origin: null",
            f"Origin: http://{_HOST}",
            "Host: elsewhere.example",
            f"Host: {_HOST}",
            "Content-Length: 5",
            "Content-Length: -1",
            f"Content-Length: {odd}",
            "Transfer-Encoding: chunked",
            "Expect: 100-continue",
            "Range: bytes=0-5",
            "Connection: keep-alive",
            "Upgrade: websocket",
            f"{odd}: {odd}",
            f"Accept: {odd}",
            f"Cookie: {'x' * 70_000}",
            " folded",
            ":",
            "",
        )
    )


def _changed_text(rng: Random, text: str) -> str:
    octets = text.encode("latin-1", "replace")
    kind = rng.randrange(6)
    if kind == 0:
        octets = octets.replace(b"\r\n", rng.choice((b"\n", b"\r", b"\r\n\r\n", b"\x00\r\n")))
    elif kind == 1:
        octets = octets.replace(
            b"HTTP/1.1", rng.choice((b"HTTP/0.9", b"HTTP/1.0", b"HTTP/2", b"", b"HTTP/1.1 x", b"ICY"))
        )
    elif kind == 2:
        octets += rng.choice((b"body", b"\x00" * 100, octets, b"5\r\nhello\r\n0\r\n\r\n"))
    elif kind == 3:
        octets = octets.replace(b"Host:", rng.choice((b"Hose:", b"host :", b"HOST:", b"Host", b"Host: a\r\nHost:")))
    elif kind == 4:
        octets = octets.replace(b"\r\n\r\n", b"\r\n" + b"X: y\r\n" * rng.choice((50, 150, 5000)) + b"\r\n")
    else:
        octets = mutators.mutate_bytes(rng, octets)
    return octets.decode("latin-1")


def _call(case: Case) -> object:
    inputs.write_all(inputs.archive_files())
    request = case.options["request"].encode("latin-1", "replace")
    server = _server()
    port = str(server.server_port).encode()
    with inputs.settled():
        answer = _spoken(request.replace(b"PORT", port))
        sane = _spoken(_request("GET", "/api/running").encode().replace(b"PORT", port))
    _check(request, answer)
    if not sane.startswith(b"HTTP/1.1 200 "):
        raise BadAnswerError(f"the next request is answered with {sane[:100]!r}")
    return None


def _spoken(octets: bytes) -> bytes:
    """Return all that is answered until the server hangs up."""
    found = b""
    with socket.create_connection(("127.0.0.1", _server().server_port), timeout=_SECONDS) as connection:
        try:
            connection.sendall(octets)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it has heard enough; what it said is still there to be read
        try:
            while part := connection.recv(65_536):
                found += part
        except ConnectionResetError:
            pass
    return found


def _check(request: bytes, answer: bytes) -> None:
    if not answer and (not request.strip() or b"\n" not in request or request[:1] in b"\r\n"):
        return  # no request line came
    matched = _STATUS.match(answer)
    if matched is None:
        raise BadAnswerError(f"the answer is {answer[:100]!r}")
    status = int(matched[1])
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end or status >= 500:
        raise BadAnswerError(f"status {status}: {answer[:100]!r}")
    lines = dict(line.lower().partition(b": ")[::2] for line in head.split(b"\r\n")[1:])
    length = int(lines.get(b"content-length", b"-1"))
    if length < 0 or (len(body) < length and not request.startswith(b"HEAD ")):
        raise BadAnswerError(f"status {status} with {len(body)} bytes of {length}")
    if b"Traceback" in body or b"/src/rankjury/" in body:
        raise BadAnswerError(f"status {status} tells of the code: {body[:100]!r}")
    is_json = lines.get(b"content-type", b"").startswith(b"application/json")
    if is_json and not request.startswith(b"HEAD "):
        json.loads(body[:length])
    asked = request.partition(b"\r\n\r\n")[0].split(b"\r\n")
    if is_json and status == 200 and f"Origin: {_FOREIGN}".encode() in asked:
        raise BadAnswerError("a page from elsewhere is answered")


register(Surface("http", _seeds, _mutate, _call, writes=True, quick=80))
