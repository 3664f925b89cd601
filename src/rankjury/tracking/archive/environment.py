"""What a run was made with: packages, machine and commit; nothing that tells whose machine it was."""

import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from rankjury.core.temp_files import TemporaryFolder
from rankjury.core.version import __version__

_ALWAYS = ("numpy", "polars")
_BESIDE = ("torch", "transformers", "scipy", "pyarrow", "scikit-learn")
"""Not asked for by rankjury itself, but by libraries that it uses."""
_FOR_OUTPUT = frozenset(("rich", "typer", "jinja2", "matplotlib"))
"""They change no value, and whether they are loaded depends on what is shown."""
_IMPORTED_AS = {"faiss-cpu": "faiss", "scikit-learn": "sklearn"}
_SECONDS_FOR_GIT = 2.0
_NO_PROGRAMS = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "protocol.allow=never")
_ABOUT_FILES = frozenset(
    (
        *("core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode", "core.trustctime"),
        *("core.checkstat", "core.autocrlf", "core.eol", "core.safecrlf", "core.repositoryformatversion"),
        "extensions.objectformat",
    )
)
"""Settings of a repository by which files are compared with it, and which name no program."""
_OF_A_REPOSITORY = frozenset(
    (
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"),
        *("GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"),
        *("GIT_EXTERNAL_DIFF", "GIT_ATTR_SOURCE"),
    )
)
"""Variables that point git to another repository, as they are set while its hooks run."""


def package_versions() -> dict[str, str]:
    """Versions of rankjury, of what it always needs, and of the optional libraries that were loaded."""
    found = {"rankjury": __version__}
    loaded = [
        name
        for name in (*_optional(), *_BESIDE)
        if _IMPORTED_AS.get(name, name.replace("-", "_")) in sys.modules and name not in _FOR_OUTPUT
    ]
    for name in dict.fromkeys((*_ALWAYS, *loaded)):
        with suppress(PackageNotFoundError):
            found[name] = _version(name)
    return found


_version = cache(version)
"""Looked up once: it takes milliseconds, and what is loaded stays what it is."""


@cache
def _optional() -> tuple[str, ...]:
    """``psycopg[binary]>=3.2; extra == 'pgvector'`` → psycopg"""
    with suppress(PackageNotFoundError):
        return tuple(re.split(r"[^\w.-]", line.strip(), maxsplit=1)[0] for line in requires("rankjury") or ())
    return ()


def describe_machine() -> dict[str, Any]:
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


def git_commit(folder: Path) -> dict[str, Any] | None:
    """Return the commit of the work tree that a folder is in, and whether tracked files differ from it.

    Nothing is run that the repository names. A repository can come from anybody, and its config and attributes name
    programs: a monitor of the file system, filters, hooks. So git compares with a repository folder of our own, which
    has the objects and the index of the real one, and of its config only what tells about the file system.

    Returns:
        ``commit``, and ``dirty``: None where it is not known, as the repository has filters of its own. None outside of
        a work tree.
    """
    found = _git(folder, {}, "rev-parse", "HEAD", "--absolute-git-dir", "--show-toplevel", "--git-common-dir")
    lines = (found or "").splitlines()
    if len(lines) != 4 or not re.fullmatch(r"[0-9a-f]{40,64}", lines[0]):
        return None
    commit, own, tree, common = lines[0], Path(lines[1]), Path(lines[2]), folder / lines[3]
    return {"commit": commit, "dirty": _is_dirty(commit, own, tree, common)}


def _is_dirty(commit: str, own: Path, tree: Path, common: Path) -> bool | None:
    """``own``: the folder of the work tree's index; ``common``: that of the objects, which linked work trees share."""
    listed = _git(tree, {}, "config", "--file", str((common / "config").absolute()), "--no-includes", "-z", "--list")
    if listed is None:
        return None
    settings = [entry.partition("\n")[::2] for entry in listed.split("\0") if entry]
    with TemporaryFolder("git") as temporary:
        made = Path(temporary)
        (made / "refs").mkdir()
        (made / "objects").mkdir()
        (made / "HEAD").write_text(f"{commit}\n", encoding="utf-8")
        held = [(*name.split("."), value) for name, value in settings if name in _ABOUT_FILES and value.isalnum()]
        config = "".join(f"[{section}]\n{key} = {value}\n" for section, key, value in held)
        (made / "config").write_text(config, encoding="utf-8")
        variables = {
            "GIT_DIR": temporary,
            "GIT_WORK_TREE": str(tree),
            "GIT_INDEX_FILE": str(own / "index"),
            "GIT_OBJECT_DIRECTORY": str((common / "objects").absolute()),
        }
        status = _git(tree, variables, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty")
    if status is None:
        return None
    has_filters = any(name.startswith(("filter.", "include.", "includeif.")) for name, _ in settings)
    return None if status.strip() and has_filters else bool(status.strip())


def _git(folder: Path, variables: Mapping[str, str], *arguments: str) -> str | None:
    """Return what git prints; None where it is not installed, fails or takes too long."""
    kept = {name: value for name, value in os.environ.items() if name not in _OF_A_REPOSITORY}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *_NO_PROGRAMS, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS_FOR_GIT,
            check=True,
            env={**kept, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", **variables},
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "surrogateescape")
