"""What a server on one's own machine must not answer: foreign names, paths to elsewhere, and what is no request."""

import socket

import polars as pl
import pytest

from rankjury.tracking.view.overview import RunCatalog
from rankjury.tracking.view.server import HEADERS, PageRequest, PageResponse, ViewServer
from tests.tracking.view.asking import Answered, answered, get, head_of, served, spoken

SECRET = "root:"
"""What /etc/passwd begins with."""


def check_refused(found: Answered, *statuses: int) -> None:
    assert found.status in statuses, (found.status, found.text[:300])
    assert 400 <= found.status < 500
    assert SECRET not in found.text and "Traceback" not in found.text and 'File "' not in found.text
    for name, value in HEADERS.items():
        assert found.headers[name.lower()] == value
    assert found.headers["connection"] == "close"


@pytest.mark.parametrize(
    "target",
    [
        "/run/../../../../etc/passwd",
        "/run/..%2f..%2f..%2fetc%2fpasswd",
        "/run/%2e%2e/%2e%2e/etc/passwd",
        "/run/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/run/..%5c..%5cetc%5cpasswd",
        "/static/../../../../etc/passwd",
        "/static/%2e%2e/page.py",
        "/static/",
        "/static",
        "/run/",
        "/run",
        "/run/.",
        "/run/..",
        "/run/%00",
        "/run/%2fetc%2fpasswd",
        "//etc/passwd",
        "//",
        "/run//etc/passwd",
        "/etc/passwd",
        "/..",
        "/.rankjury",
        "/runs",
        "/api/run/../../../etc/passwd/rows",
        "/api/run/%2e%2e/query?id=a",
        "/api/run/latest/query?id=q00",
        "/api/",
        "/api/running/",
        "/lock",
        "/manifest.json",
    ],
)
def test_nothing_is_found_by_a_path(server: ViewServer, target: str) -> None:
    check_refused(get(server, target), 404)


def test_a_run_is_found_by_its_whole_name_alone(server: ViewServer, names: list[str]) -> None:
    assert get(server, f"/run/{names[0]}").status == 200
    for other in (
        names[0][:-1],
        f"{names[0]}/",
        f"./{names[0]}",
        f"{names[0]}%00",
        f"{names[0]}/manifest.json",
        "latest",
    ):
        check_refused(get(server, f"/run/{other}"), 404)


def test_what_is_beside_the_archive_is_not_in_it(server: ViewServer, names: list[str]) -> None:
    check_refused(get(server, f"/run/../runs/{names[0]}"), 404)
    check_refused(get(server, f"/run/..%2Fruns%2F{names[0]}"), 404)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1.evil.example:{port}",
        "localhost.evil.example:{port}",
        "localhost:{port}.evil.example",
        "user@127.0.0.1:{port}",
        "127.0.0.1:{port}, evil.example",
        "127.1:{port}",
        "0.0.0.0:{port}",
        "[::]:{port}",
        "2130706433:{port}",
        "",
    ],
)
def test_by_another_name_nothing_is_answered(server: ViewServer, host: str) -> None:
    found = get(server, "/", f"Host: {host.format(port=server.server_port)}")
    check_refused(found, 421)


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
def test_by_the_names_of_this_machine_it_is(server: ViewServer, host: str) -> None:
    assert get(server, "/", f"Host: {host.format(port=server.server_port)}").status == 200


def test_exactly_one_host_is_named(server: ViewServer) -> None:
    own = f"127.0.0.1:{server.server_port}"
    check_refused(answered(spoken(server, b"GET / HTTP/1.1\r\n\r\n")), 400)
    check_refused(answered(spoken(server, b"GET / HTTP/1.0\r\n\r\n")), 400)
    check_refused(get(server, "/", f"Host: {own}", "Host: evil.example"), 400)
    check_refused(get(server, "/", f"Host: {own}", f"Host: {own}"), 400)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"])
def test_one_can_only_look(server: ViewServer, method: str) -> None:
    found = get(server, "/", method=method)
    check_refused(found, 405)
    assert found.headers["allow"] == "GET, HEAD"


def test_a_body_is_refused(server: ViewServer) -> None:
    check_refused(get(server, "/", "Content-Length: 5"), 413)
    check_refused(get(server, "/", "Transfer-Encoding: chunked"), 413)
    check_refused(get(server, "/", "Content-Length: -1"), 413)
    check_refused(get(server, "/", "Content-Length: 0", "Content-Length: 7"), 413)
    assert get(server, "/", "Content-Length: 0").status == 200
    found = spoken(server, head_of(server, "/", "Content-Length: 5", "Expect: 100-continue"))
    assert b"100 Continue" not in found
    check_refused(answered(found), 413)


@pytest.mark.parametrize(
    "octets",
    [
        b"GET http://127.0.0.1/ HTTP/1.1\r\nHost: {host}\r\n\r\n",
        b"GET https://evil.example/ HTTP/1.1\r\nHost: {host}\r\n\r\n",
        b"GET * HTTP/1.1\r\nHost: {host}\r\n\r\n",
        b"GET  / HTTP/1.1\r\nHost: {host}\r\n\r\n",
        b"GET / HTTP/1.1 x\r\nHost: {host}\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: {host}\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: {host}\r\n\r\n",
        b"GET / HTTP/2.0\r\nHost: {host}\r\n\r\n",
        b"GET / HTTP/0.9\r\nHost: {host}\r\n\r\n",
        b"GET / HTTP/1.1.1\r\nHost: {host}\r\n\r\n",
        b"GET / http/1.1\r\nHost: {host}\r\n\r\n",
        b"get / HTTP/1.1\r\nHost: {host}\r\n\r\n",
        b"GET /\r\n",
        b"GET /\r\n\r\n",
        b"GET\r\n\r\n",
        b"/\r\n\r\n",
        b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n",
        b"\x00" * 100 + b"\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: {host}\r\nno colon here\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon here\r\nHost: {host}\r\n\r\n",
        b"GET / HTTP/1.1\r\n Host: {host}\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : {host}\r\n\r\n",
        b"GET / HTTP/1.1\r\n: {host}\r\n\r\n",
        b"GET /?%zz%ff HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n",
        b"GET /run/%ff%fe HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n",
    ],
)
def test_what_no_browser_sends_is_refused(server: ViewServer, octets: bytes) -> None:
    host = f"127.0.0.1:{server.server_port}".encode()
    check_refused(answered(spoken(server, octets.replace(b"{host}", host))), 400)


def test_oversized_requests_are_refused(server: ViewServer) -> None:
    check_refused(get(server, f"/{'a' * 1_000_000}"), 414)
    check_refused(get(server, f"/?text={'a' * 1_000_000}"), 414)
    check_refused(get(server, "/", *(f"X-{number}: a" for number in range(10_000))), 431)
    check_refused(get(server, "/", f"X: {'a' * 1_000_000}"), 431)
    check_refused(get(server, "/", f"Cookie: {'a' * 60_000}", *(f"X-{number}: a" for number in range(120))), 431)
    check_refused(get(server, f"/?{'&'.join(f'a{number}=1' for number in range(1_000))}"), 400)
    check_refused(get(server, f"/?text={'a' * 30_000}"), 400)


def test_garbage_behind_a_request_is_refused_and_ends_it(server: ViewServer) -> None:
    own = f"GET /api/running HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode()
    found = spoken(server, own + b"\x00\x01garbage\r\n\r\n" + own)
    assert found.count(b"HTTP/1.1 ") == 2
    first, second = found.split(b"HTTP/1.1 ")[1:]
    assert first.startswith(b"200 ") and second.startswith(b"400 ")


def test_requests_may_follow_each_other(server: ViewServer) -> None:
    own = f"GET /api/running HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode()
    assert spoken(server, own * 3 + head_of(server, "/api/running")).count(b"HTTP/1.1 200 OK") == 4


@pytest.mark.parametrize(
    "lines",
    [
        ["Origin: https://evil.example"],
        ["Origin: null"],
        ["Origin: http://127.0.0.1:1"],
        ["Origin: http://localhost"],
        ["Origin: https://127.0.0.1:{port}"],
        ["Sec-Fetch-Site: cross-site"],
        ["Sec-Fetch-Site: same-site"],
        ["Origin: http://127.0.0.1:{port}", "Origin: https://evil.example"],
        ["Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"],
    ],
)
def test_pages_from_elsewhere_get_nothing_of_the_api(server: ViewServer, lines: list[str], names: list[str]) -> None:
    sent = [line.format(port=server.server_port) for line in lines]
    for target in ("/api/running", f"/api/run/{names[0]}/rows?label=rr", f"/api/run/{names[0]}/query?id=q00"):
        found = get(server, target, *sent)
        check_refused(found, 403)
        assert "access-control-allow-origin" not in found.headers


def test_its_own_pages_do(server: ViewServer) -> None:
    for lines in ([], ["Sec-Fetch-Site: same-origin"], [f"Origin: http://localhost:{server.server_port}"]):
        found = get(server, "/api/running", *lines)
        assert found.status == 200
        assert not any(name.startswith("access-control") for name in found.headers)


@pytest.mark.parametrize(
    "query",
    [
        "label=nothing",
        "",
        "label=rr&sort=size",
        "label=rr&sort=score:9",
        "label=rr&sort=score:-1",
        "label=rr&sort=score:1e9",
        "label=rr&sort=difference:0",
        "label=rr&sort=loss:1",
        "label=rr&slice=99",
        "label=rr&slice=-1",
        "label=rr&offset=-1",
        "label=rr&offset=1.5",
        "label=rr&offset=99999999999999999999",
        "label=rr&limit=100000",
        "label=rr&limit=%D9%A3",
        "label=rr&down=maybe",
        "label=rr&label=ndcg@3",
        "label=rr&sort=%00",
    ],
)
def test_senseless_questions_are_told_so(server: ViewServer, names: list[str], query: str) -> None:
    found = get(server, f"/api/run/{names[0]}/rows?{query}")
    assert found.status in (400, 404)
    assert found.json["error"] and "Traceback" not in found.json["error"]


def test_who_does_not_finish_asking_is_let_go(shelf: RunCatalog) -> None:
    with served(shelf, patience=0.3) as server:
        assert spoken(server, b"") == b""
        assert spoken(server, b"GET / HT") == b""
        check_refused(answered(spoken(server, b"GET / HTTP/1.1\r\nHost: 127.0")), 408)
        assert spoken(server, b"", ends=True) == b""
        assert get(server, "/api/running").status == 200


def test_drop_by_drop_does_not_make_it_longer(shelf: RunCatalog) -> None:
    with served(shelf, patience=0.4) as server:
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as connection:
            connection.settimeout(0.05)
            connection.sendall(b"GET / HTTP/1.1\r\n")
            sent, found = 0, b""
            while b"408" not in found:
                try:
                    connection.sendall(b"X: a\r\n")
                    sent += 1
                    found += connection.recv(65_536)
                except TimeoutError:
                    assert sent < 400, "nobody hung up"
        assert found.startswith(b"HTTP/1.1 408 ")


def test_many_idle_ones_do_not_shut_others_out_for_long(shelf: RunCatalog) -> None:
    with served(shelf, patience=0.5, most=4) as server:
        idle = [socket.create_connection(("127.0.0.1", server.server_port), timeout=20) for _ in range(4)]
        try:
            while (found := get(server, "/api/running").status) != 503:
                assert found == 200, "one of the four may not be at its place yet"
            while (found := get(server, "/api/running").status) != 200:
                assert found == 503
        finally:
            for connection in idle:
                connection.close()


@pytest.mark.parametrize(
    "target",
    ["/%61pi/running", "/a%70i/running", "//api/running", "/./api/running", "/%2e/api/running", "/x/%2E%2e/api"],
)
def test_another_spelling_of_an_address_is_none(server: ViewServer, target: str) -> None:
    """The check of who asks is by the address: what is another spelling of it to somebody must not pass."""
    for lines in ([], ["Origin: https://evil.example"], ["Sec-Fetch-Site: cross-site"]):
        check_refused(get(server, target, *lines), 404)


def test_a_panic_within_is_answered() -> None:
    def panic(request: PageRequest) -> PageResponse:
        raise pl.exceptions.PanicException("Polars")

    with served(panic) as server:
        assert get(server, "/").status == get(server, "/api/running").status == 500
