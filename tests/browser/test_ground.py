"""The ground itself: each fault that it is there for is caught, and a good page has none."""

import http.server
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.ground import (
    PHONE,
    Watch,
    evaluated,
    overflow,
    pdf_pages,
    pdf_text_drawn,
    pictured,
    serious_violations,
    serious_violations_light_and_dark,
    watched,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

GOOD = (
    "<!doctype html><html lang=en><head><meta charset=utf-8><title>A page</title><link rel=icon href='data:,'>{head}"
    "</head><body><main>{body}</main></body></html>"
)
STRICT = "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; img-src data:\">"
Writer = Callable[..., str]


@pytest.fixture
def written(tmp_path: Path) -> Writer:
    """Writes a page around some markup, and gives its address."""

    def write(body: str, head: str = "") -> str:
        file = tmp_path / "page.html"
        file.write_text(GOOD.format(head=head, body=body), encoding="utf-8")
        return file.as_uri()

    return write


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "index.html").write_text(GOOD.format(head="", body="<img src=dot.svg alt=dot>"), encoding="utf-8")
    (tmp_path / "dot.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>", encoding="utf-8")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path))) as one:
        thread = threading.Thread(target=one.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{one.server_address[1]}/"
        one.shutdown()
        thread.join()


def faults_of(browser: "Browser", address: str) -> list[str]:
    with watched(browser) as watch:
        watch.page.goto(address)
        return watch.faults


def test_a_good_page_has_no_fault(watch: Watch, written: Writer, axe: None) -> None:
    watch.page.goto(written("<h1>All is well</h1><img src='data:image/gif;base64,R0lGODlhAQABAAAAACw=' alt=dot>"))
    assert watch.faults == []
    assert serious_violations(watch.page) == []


@pytest.mark.parametrize(
    "markup",
    [
        "<img src=http://example.org/x.png alt=x>",
        "<link rel=stylesheet href=https://example.org/x.css>",
        "<script>fetch('https://example.org/').catch(() => 0)</script>",
        "<script>navigator.sendBeacon('https://example.org/')</script>",
        "<script>new WebSocket('ws://example.org/')</script>",
        "<script src=other.js></script>",
        "<iframe src=https://example.org/ title=x></iframe>",
    ],
)
def test_what_is_foreign_is_seen(browser: "Browser", written: Writer, markup: str) -> None:
    faults = faults_of(browser, written(markup))
    assert [fault for fault in faults if fault.startswith("asked for") and ("example.org" in fault or "other" in fault)]


def test_a_server_is_home_and_another_port_is_not(browser: "Browser", server: str, tmp_path: Path) -> None:
    assert faults_of(browser, server) == []
    other = GOOD.format(head="", body="<img src=http://127.0.0.1:9/x alt=x>")
    (tmp_path / "index.html").write_text(other, encoding="utf-8")
    assert "asked for http://127.0.0.1:9/x" in faults_of(browser, server)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("console.error('broken')", "console error: broken"),
        ("console.warn('bent')", "console warning: bent"),
        ("nothing.there", "uncaught: nothing is not defined"),
        ("Promise.reject(new Error('late'))", "uncaught: late"),
        ("setTimeout(() => alert('hey'), 1)", "alert: hey"),
    ],
)
def test_complaints_are_heard(browser: "Browser", written: Writer, script: str, said: str) -> None:
    assert said in faults_of(browser, written(f"<script>{script}</script>"))


def test_a_policy_that_is_broken_is_heard(browser: "Browser", written: Writer) -> None:
    faults = faults_of(browser, written("<script>document.title = 'ran'</script>", STRICT))
    assert len(faults) == 1
    assert "Content Security Policy" in faults[0]


def test_text_without_contrast_is_a_serious_violation(page: "Page", written: Writer, axe: None) -> None:
    page.goto(written("<h1>Fine</h1><p style='color:#aaa;background:#fff'>hardly to be read</p>"))
    found = serious_violations(page)
    assert len(found) == 1
    assert found[0].startswith("color-contrast (serious)")


def test_both_color_schemes_are_examined(page: "Page", written: Writer, axe: None) -> None:
    dark = "<style>@media (prefers-color-scheme: dark) { p { color: #777; background: #666 } }</style>"
    page.goto(written("<h1>Fine</h1><p>hardly to be read at night</p><input>", dark))
    found = serious_violations_light_and_dark(page, "ground")
    rules = {scheme: [one.partition(" ")[0] for one in violations] for scheme, violations in found.items()}
    assert rules == {"light": ["label"], "dark": ["color-contrast"]}


def test_axe_runs_under_a_strict_policy(page: "Page", written: Writer, axe: None) -> None:
    page.goto(written("<h1>Fine</h1><input>", STRICT))
    assert [one.partition(" ")[0] for one in serious_violations(page)] == ["label"]


def test_expressions_are_evaluated_and_their_errors_raised(page: "Page", written: Writer) -> None:
    page.goto(written("<p>any</p>", STRICT))
    assert evaluated(page, "Promise.resolve([1, document.title])") == [1, "A page"]
    with pytest.raises(AssertionError, match="nothing is not defined"):
        evaluated(page, "nothing.there")


def test_what_is_too_wide_for_a_phone_is_seen(page: "Page", written: Writer) -> None:
    page.set_viewport_size(PHONE)
    page.goto(written("<p>narrow</p>"))
    assert overflow(page) == 0
    page.goto(written("<div style='width:500px'>wide</div>"))
    assert overflow(page) > 100


def test_dark_and_still_are_asked_for(page: "Page", written: Writer) -> None:
    page.goto(written("<p>any</p>"))
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    for wish in ("prefers-color-scheme: dark", "prefers-reduced-motion: reduce"):
        assert evaluated(page, f"matchMedia('({wish})').matches") is True


def test_paper_is_counted(page: "Page", written: Writer) -> None:
    page.goto(written("<p>one</p><p style='break-before:page'>two</p>"))
    pdf = page.pdf()
    assert (pdf_pages(pdf), pdf_text_drawn(pdf) > 0) == (2, True)
    page.goto(written("<p hidden>nothing to see</p>"))
    assert pdf_text_drawn(page.pdf()) == 0


def test_pictures_are_whole(page: "Page", written: Writer) -> None:
    page.goto(written("<p style='height:3000px'>tall</p>"))
    picture = pictured(page, "ground").read_bytes()
    assert picture[:4] == b"\x89PNG"
    assert int.from_bytes(picture[20:24]) > 3000  # the header's height
