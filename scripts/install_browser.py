"""Install what browser tests need: Debian's Chromium, axe-core from npm, Playwright without browsers of its own.

What is there already is left alone, so that a second call takes no time. What cannot be installed is told, not fatal:
the browser tests then skip, and say why.
"""

import importlib.util
import json
import shutil
import sys
from pathlib import Path

from debian import install_packages, trouble_of

ROOT = Path(__file__).resolve().parents[1]
AXE = ROOT / ".venv" / "axe"
AXE_VERSION = "4.14.0"
"""One version: the rules of a later one would find faults in pages that nobody changed."""
FONTS = "fonts-dejavu-core"
"""Chromium asks for no fonts, and without any a page has no text to look at."""


def main() -> None:
    for there, install, what in (
        (has_chromium, install_chromium, "chromium"),
        (has_axe, install_axe, "axe-core"),
        (has_playwright, install_playwright, "playwright"),
    ):
        trouble = None if there() else install()
        if trouble is not None:
            print(f"could not install {what}: {trouble}; browser tests will skip", file=sys.stderr)


def has_chromium() -> bool:
    return any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))


def install_chromium() -> str | None:
    """Give what went wrong, or None."""
    return install_packages("chromium", FONTS)


def has_axe() -> bool:
    package = AXE / "node_modules" / "axe-core" / "package.json"
    return package.exists() and json.loads(package.read_text(encoding="utf-8"))["version"] == AXE_VERSION


def install_axe() -> str | None:
    if shutil.which("npm") is None:
        return "there is no npm here"
    options = ("--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    return trouble_of("npm", "install", "--prefix", str(AXE), *options, f"axe-core@{AXE_VERSION}")


def has_playwright() -> bool:
    return importlib.util.find_spec("playwright") is not None


def install_playwright() -> str | None:
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--group")
    return trouble_of(*pip, f"{ROOT / 'pyproject.toml'}:browser")


if __name__ == "__main__":
    main()
