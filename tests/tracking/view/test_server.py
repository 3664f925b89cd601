"""The server itself: who it listens to, how it answers, and that it writes nothing."""

import re
import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest

from rankjury.errors import DataError
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.view.overview import RunCatalog
from rankjury.tracking.view.server import (
    HEADERS,
    PageRequest,
    PageResponse,
    RequestRefused,
    ViewServer,
    json_response,
    parse_target,
)
from tests.tracking.view.asking import get, head_of, served, spoken
from tests.tracking.view.conftest import tree_of


def test_it_listens_to_this_machine_alone(server: ViewServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for address in others:
        if not str(address).startswith("127."):
            with pytest.raises(OSError), socket.create_connection((address, server.server_port), timeout=2):
                pass


def test_every_answer_has_the_strict_headers(server: ViewServer, names: list[str]) -> None:
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "*" not in policy
    for target in ("/", "/history", f"/run/{names[0]}", "/static/page.js", "/static/view.css", "/api/running", "/none"):
        found = get(server, target)
        for name, value in HEADERS.items():
            assert found.headers[name.lower()] == value, target
        assert found.headers["content-length"] == str(len(found.body))
        assert "python" not in found.headers["server"].lower()


def test_pages_hold_nothing_that_the_policy_would_stop(server: ViewServer, names: list[str]) -> None:
    a, b = names[3:]
    for target in ("/", "/history?plan=movies", f"/run/{a}", f"/compare?a={a}&b={b}", "/none"):
        text = get(server, target).text
        assert " style=" not in text and "<style" not in text and "javascript:" not in text
        assert not re.search(r"<[^>]*\son\w+=", text)
        assert text.count("<script") == text.count('<script src="/static/') + text.count(
            '<script type="application/json"'
        )


def test_head_tells_the_same_without_a_body(server: ViewServer) -> None:
    found = spoken(server, head_of(server, "/static/page.js", method="HEAD"))
    head, _, body = found.partition(b"\r\n\r\n")
    assert body == b"" and int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0]) > 1_000


def test_twenty_at_once_get_the_same_as_one(server: ViewServer, names: list[str]) -> None:
    a, b = names[3:]
    targets = [
        "/",
        "/history?plan=movies",
        f"/run/{a}",
        f"/compare?a={a}&b={b}",
        *(
            f"/api/run/{name}/rows?label={quote('hits@5')}&sort=score:{system}"
            for name in (a, b)
            for system in range(4)
        ),
        *(f"/api/run/{name}/query?id=tt0133093" for name in (a, b)),
        f"/api/compare/{a}/{b}/all/rows?label={quote('hits@5')}&sort=loss",
    ]
    alone = {target: get(server, target).body for target in targets}
    with ThreadPoolExecutor(20) as threads:
        found = list(threads.map(lambda target: (target, get(server, target)), targets * 6))
    assert {answer.status for _, answer in found} == {200}
    assert all(alone[target] == answer.body for target, answer in found)


def test_nothing_is_written(
    server: ViewServer, archive: Archive, names: list[str], tree: list[tuple[str, int, int]]
) -> None:
    a, b = names[3:]
    for target in ("/", "/?text=a", "/history", f"/run/{a}", f"/compare?a={a}&b={b}", "/api/running", "/none"):
        get(server, target)
    get(server, f"/api/run/{a}/query?id=tt0133093")
    get(server, f"/api/compare/{a}/{b}/changed/query?id=tt0133093")
    assert tree_of(archive.path) == tree


def test_a_known_fault_is_told_and_an_unknown_one_is_not(capfd: pytest.CaptureFixture[str]) -> None:
    def answer(request: PageRequest) -> PageResponse:
        if request.parts == ("known",):
            raise DataError("the scores are gone", hint="Run it again.")
        if request.parts == ("refused",):
            raise RequestRefused(404, "no such thing")
        raise RuntimeError("secret of the machine")

    with served(answer) as server:
        assert (known := get(server, "/known")).status == 400 and "the scores are gone. Run it again." in known.text
        assert get(server, "/api/x").json == {"error": "rankjury failed to answer; this is a bug"}
        assert (unknown := get(server, "/x")).status == 500
        assert get(server, "/refused").status == 404
    assert "secret" not in unknown.text and "Traceback" not in unknown.text
    assert capfd.readouterr() == ("", "")


def test_it_says_nothing_while_it_works(shelf: RunCatalog, capfd: pytest.CaptureFixture[str]) -> None:
    with served(shelf) as server:
        get(server, "/")
        spoken(server, b"\x00garbage\r\n")
        with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
            connection.sendall(head_of(server, "/static/page.js"))  # and gone before the answer
        get(server, "/none")
    assert capfd.readouterr() == ("", "")


def test_an_address_in_its_parts() -> None:
    found = parse_target("/run/a%2Fb%20c?x=1&x=2&y=%C3%A9+e&z=")
    assert found.parts == ("run", "a/b c")
    assert found.all("x") == ("1", "2") and found.text("y") == "é e" and found.text("z", "q") == ""
    assert found.text("none", "q") == "q" and found.all("z") == ()
    with pytest.raises(RequestRefused):
        found.text("x")
    assert parse_target("/").parts == ("",) and parse_target("//").parts == ("", "")


def test_json_has_no_number_that_javascript_lacks() -> None:
    assert (
        json_response({"a": [float("inf"), float("nan"), 1.5, (float("-inf"),)]}).body
        == b'{"a":[null,null,1.5,[null]]}'
    )
