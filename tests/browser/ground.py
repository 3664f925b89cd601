"""The ground of browser tests: Chromium held on a short lead, and pages that are watched.

No name but this machine's resolves in the browser, so a page that asks for something foreign is seen and gets nothing.
"""

import importlib.util
import json
import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.paths import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

__all__ = [
    "AXE",
    "DESKTOP",
    "PHONE",
    "Watch",
    "chromium",
    "evaluated",
    "launched",
    "misfits",
    "missing",
    "overflow",
    "pdf_pages",
    "pdf_text_drawn",
    "pictured",
    "pictured_if_thorough",
    "serious_violations",
    "serious_violations_light_and_dark",
    "settled",
    "watched",
]

AXE = ROOT / ".venv" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
PHONE = {"width": 375, "height": 812}
DESKTOP = {"width": 1280, "height": 800}
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
PICTURES = Path(tempfile.gettempdir()) / f"rankjury-pictures-{os.getuid()}"
GUIDELINES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa")
RULES_OF_COLOR = ("color-contrast", "link-in-text-block")
"""The rules of axe-core among those of the guidelines whose result depends on colors."""
WITHOUT_NETWORK = ("data:", "blob:", "about:")


def chromium() -> str | None:
    """Where the browser is; None where there is none."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def missing() -> str | None:
    """What browser tests lack here, as the reason to skip them."""
    if importlib.util.find_spec("playwright") is None:
        return "no Playwright here: scripts/install_browser.py installs it"
    return None if chromium() else "no Chromium here: scripts/install_browser.py installs it"


@contextmanager
def launched() -> Iterator["Browser"]:
    """A browser, headless; it and Playwright's event loop are gone at the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watch:
    """What a page asked for and complained of since it was made."""

    page: "Page"
    home: str | None = None
    """Where the first address belongs: the file itself, or scheme, host and port."""
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    """Console errors and warnings, errors that nobody caught, dialogs."""

    def begin(self) -> None:
        self.page.on("request", self._asked)
        self.page.on("websocket", lambda socket: self.requests.append(socket.url))
        self.page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))
        self.page.on("crash", lambda _: self.complaints.append("the page crashed"))
        self.page.on("dialog", self._interrupted)
        self.page.on("console", self._said)
        self.page.on("popup", lambda other: self.complaints.append(f"opened a window: {other.url}"))

    @property
    def foreign(self) -> list[str]:
        """Requests for anything but the page's own file, or the server that it came from."""
        return [url for url in self.requests if not url.startswith(WITHOUT_NETWORK) and home_of(url) != self.home]

    @property
    def faults(self) -> list[str]:
        """Everything that a good page has nothing of."""
        settled(self.page)
        return [*(f"asked for {url}" for url in self.foreign), *self.complaints]

    def _asked(self, request: "Request") -> None:
        if self.home is None and request.is_navigation_request():
            self.home = home_of(request.url)
        self.requests.append(request.url)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning", "assert"):
            self.complaints.append(f"console {message.type}: {message.text}")

    def _interrupted(self, dialog: Any) -> None:
        self.complaints.append(f"{dialog.type}: {dialog.message}")
        dialog.dismiss()


def home_of(url: str) -> str:
    """What a page may ask for without leaving home: a file only itself, a server all that it has."""
    parts = urlsplit(url)
    return f"file:{parts.path}" if parts.scheme == "file" else f"{parts.scheme}://{parts.netloc}"


@contextmanager
def watched(browser: "Browser", **options: Any) -> Iterator[Watch]:
    """A fresh page in a context of its own, watched from the start; options as of Playwright's ``new_context``."""
    context = browser.new_context(**{"viewport": DESKTOP, **options})
    context.set_default_timeout(30_000)
    try:
        watch = Watch(context.new_page())
        watch.begin()
        yield watch
    finally:
        context.close()


def settled(page: "Page") -> None:
    """Wait until what was begun is drawn, and until the browser has told everything that came before."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 20)))")


def evaluated(page: "Page", expression: str) -> Any:
    """What an expression comes to in the page, whatever its Content-Security-Policy; promises are waited for."""
    session = page.context.new_cdp_session(page)
    try:
        asked = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        answer = session.send("Runtime.evaluate", asked)
    finally:
        session.detach()
    if "exceptionDetails" in answer:
        raise AssertionError(answer["exceptionDetails"].get("exception", {}).get("description", answer))
    return answer["result"].get("value")


def serious_violations(page: "Page", *, colors_only: bool = False) -> list[str]:
    """What axe-core finds serious or critical: the rule, where, and why.

    `colors_only` is for a page that was examined in full and has only changed its color scheme.
    """
    only = {"type": "rule", "values": RULES_OF_COLOR} if colors_only else {"type": "tag", "values": GUIDELINES}
    options = {"runOnly": only, "resultTypes": ["violations"]}
    if not evaluated(page, "'axe' in window"):
        evaluated(page, AXE.read_text(encoding="utf-8") + "; 0")
    found = evaluated(page, f"axe.run(document, {json.dumps(options)}).then(found => found.violations)")
    return [
        f"{rule['id']} ({rule['impact']}) at {node['target']}: {node['failureSummary']}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


def serious_violations_light_and_dark(page: "Page", picture: str) -> dict[str, list[str]]:
    """What axe-core finds in each color scheme: all rules in the light one, those of colors in the dark one.

    `picture` is the beginning of the names of the pictures that are written if RANKJURY_THOROUGH is set.
    """
    found = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        settled(page)
        found[scheme] = serious_violations(page, colors_only=scheme == "dark")
        pictured_if_thorough(page, f"{picture}-{scheme}")
    return {scheme: violations for scheme, violations in found.items() if violations}


MISFITS = r"""() => {
  const found = [];
  const seen = (one) => one.checkVisibility() && !one.closest(".unseen, .skip");
  const told = (one) => `${one.tagName.toLowerCase()}${one.id && "#" + one.id}.${one.getAttribute("class") ?? ""} ` +
    `"${one.textContent.trim().slice(0, 40)}"`;
  const all = (selector) => [...document.querySelectorAll(selector)].filter(seen);
  // Nothing is wider than its container, whether that scrolls or lets it stick out.
  for (const one of all("body *:not(svg, svg *, bdi, code, select, input, option, .whole)")) {
    const style = getComputedStyle(one);
    if (style.display === "inline" || style.display === "contents") continue;
    if (one.scrollWidth > one.clientWidth + 1 && one.clientWidth) {
      found.push(`${told(one)} is ${one.scrollWidth} wide in ${one.clientWidth}`);
    }
  }
  for (const one of all(":is(.chip, .badge, .mark, .verdict, td, th, button, figure, .controls > *)")) {
    const [inner, outer] = [one.getBoundingClientRect(), one.parentElement.getBoundingClientRect()];
    if (inner.right > outer.right + 1 || inner.left < outer.left - 1) found.push(`${told(one)} sticks out`);
  }
  for (const svg of all("svg.chart")) {
    const outer = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      const inner = text.getBoundingClientRect();
      if (inner.right > outer.right + 3 || inner.left < outer.left - 3 || inner.bottom > outer.bottom + 3) {
        found.push(`${told(text)} sticks out of its chart`);
      }
    }
  }
  // No word and no number is broken in two lines.
  const whole = ".chip, .badge, .mark, .verdict, nav a, button, h1, h2, h3, th, td, .name, .time, .legend, .answer";
  const broken = (one) => {
    const texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
      if (node.parentElement.closest("code, .id, .provenance, .unseen")) continue;
      for (const word of node.data.matchAll(/[\p{L}\p{N}.+−]{2,}/gu)) {
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].map((line) => Math.round(line.top)));
        if (lines.size > 1) found.push(`"${word[0]}" is broken in ${told(one)}`);
      }
    }
  };
  all(whole).forEach(broken);
  return [...new Set(found)].slice(0, 20);
}"""


def misfits(page: "Page") -> list[str]:
    """What is wider than its container or sticks out of it, and words that are broken, with all that is folded open."""
    page.evaluate("() => { for (const one of document.querySelectorAll('details')) one.open = true; }")
    settled(page)
    found: list[str] = page.evaluate(MISFITS)
    return found


def overflow(page: "Page") -> int:
    """By how many pixels the document is wider than the window: more than 0 means that people scroll sideways."""
    found = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return int(found)


def pictured(page: "Page", name: str) -> Path:
    """Write a picture of the whole page and return its path."""
    PICTURES.mkdir(exist_ok=True)
    path = PICTURES / f"{name}.png"
    page.screenshot(path=path, full_page=True, animations="disabled")
    return path


def pictured_if_thorough(page: "Page", name: str) -> None:
    """Write a picture for people to look at if RANKJURY_THOROUGH is set: no test reads it, and it takes long."""
    if os.environ.get("RANKJURY_THOROUGH"):
        pictured(page, name)


def pdf_pages(pdf: bytes) -> int:
    """How many pages a PDF of Chromium's has."""
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def pdf_text_drawn(pdf: bytes) -> int:
    """How many times text is drawn in it; nothing is where a page came out empty."""
    drawn = 0
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL):
        try:
            drawn += len(re.findall(rb"\bT[jJ]\b", zlib.decompress(stream)))
        except zlib.error:  # a picture, or a font as it is
            continue
    return drawn
