"""What a run was made with: packages, machine and commit; nothing that tells whose machine it was."""

import os
import platform
import re
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from karat._version import __version__

__all__ = ["commit_of", "machine", "packages"]

_ALWAYS = ("numpy", "polars", "faiss-cpu")
_BESIDE = ("torch", "transformers", "scipy", "pyarrow", "scikit-learn")
"""Not asked for by karat itself, but by libraries that it uses."""
_IMPORTED_AS = {"faiss-cpu": "faiss", "scikit-learn": "sklearn"}
_SECONDS_FOR_GIT = 2.0


def packages() -> dict[str, str]:
    """Versions of karat, of what it always needs, and of the optional libraries that were loaded."""
    found = {"karat": __version__}
    wanted = [name for name in dict.fromkeys((*_optional(), *_BESIDE)) if _is_loaded(name)]
    for name in dict.fromkeys((*_ALWAYS, *wanted)):
        with suppress(PackageNotFoundError):
            found[name] = _version(name)
    return found


_version = cache(version)
"""Looked up once: it takes milliseconds, and what is loaded stays what it is."""


@cache
def _optional() -> tuple[str, ...]:
    """``psycopg[binary]>=3.2; extra == 'pgvector'`` → psycopg"""
    with suppress(PackageNotFoundError):
        return tuple(re.split(r"[^\w.-]", line.strip(), maxsplit=1)[0] for line in requires("karat") or ())
    return ()


def _is_loaded(package: str) -> bool:
    return _IMPORTED_AS.get(package, package.replace("-", "_")) in sys.modules


def machine() -> dict[str, Any]:
    """The kind of machine: no name of it or of its user, and no path."""
    return {
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": _memory(),
        "python": platform.python_version(),
    }


def _processor() -> str | None:
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            name, colon, value = line.partition(":")
            if colon and name.strip() in ("model name", "Model", "Hardware"):
                return value.strip()
    return None


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def commit_of(folder: Path) -> dict[str, Any] | None:
    """The commit of the work tree that a folder is in, and whether tracked files differ from it."""
    head = _git(folder, "rev-parse", "HEAD")
    if head is None or not re.fullmatch(r"[0-9a-f]{40,64}", head.strip()):
        return None
    status = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": head.strip(), "dirty": None if status is None else bool(status.strip())}


def _git(folder: Path, *arguments: str) -> str | None:
    """What git says; None where it is not there, fails or takes too long."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS_FOR_GIT,
            check=True,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace")
