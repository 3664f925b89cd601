"""Install what browser tests need: Debian's Chromium, axe-core from npm, Playwright without browsers of its own.

What is there already is left alone, so that a second call takes no time. What cannot be installed is told, not fatal:
the browser tests then skip, and say why.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
AXE = ROOT / ".venv" / "axe"
AXE_VERSION = "4.14.0"
"""One version: the rules of a later one would find faults in pages that nobody changed."""
LONGEST_SECONDS = 900
FONTS = "fonts-dejavu-core"
"""Chromium asks for no fonts, and without any a page has no text to look at."""
APT = ("apt-get", "-qq", "-o", "Acquire::Retries=2", "-o", "DPkg::Lock::Timeout=120")


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
    if shutil.which("apt-get") is None:
        return "there is no apt-get here"
    if os.geteuid() != 0:
        return "apt-get needs root (sudo apt-get install chromium)"
    trouble_of(*APT, "update")  # may fail where the lists are there already: the next step tells
    return trouble_of(*APT, "install", "--yes", "--no-install-recommends", "chromium", FONTS)


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


def trouble_of(*command: str) -> str | None:
    """Run a command in silence; the first line of what it complained of, or None where all went well."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=LONGEST_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if ran.returncode == 0:
        return None
    said = (ran.stderr or ran.stdout).strip().splitlines()
    return said[0] if said else f"{command[0]} ended with {ran.returncode}"


if __name__ == "__main__":
    main()
