"""Environment of a run: packages, machine and commit; nothing that identifies the machine or its user."""

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

_INDIRECT = ("torch", "transformers", "scipy", "pyarrow", "scikit-learn")
"""Required by libraries that rankjury uses, not by rankjury itself."""
_FOR_OUTPUT = frozenset(("rich", "typer", "jinja2", "matplotlib"))
"""They change no value, and whether they are loaded depends on what is shown."""
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
    """Return the versions of rankjury, of what it always needs, and of the optional libraries that were loaded."""
    modules = {"faiss-cpu": "faiss", "scikit-learn": "sklearn"}
    versions = {"rankjury": __version__}
    loaded = [
        name
        for name in (*_requirements(), *_INDIRECT)
        if modules.get(name, name.replace("-", "_")) in sys.modules and name not in _FOR_OUTPUT
    ]
    for name in dict.fromkeys(("numpy", "polars", *loaded)):
        with suppress(PackageNotFoundError):
            versions[name] = _version(name)
    return versions


_version = cache(version)
"""Looked up once: it takes milliseconds, and the version of a loaded library stays the same."""


@cache
def _requirements() -> tuple[str, ...]:
    """Return the names of required and optional libraries: ``psycopg[binary]>=3.2; extra == 'pgvector'`` → psycopg."""
    with suppress(PackageNotFoundError):
        return tuple(re.split(r"[^\w.-]", line.strip(), maxsplit=1)[0] for line in requires("rankjury") or ())
    return ()


def describe_machine() -> dict[str, Any]:
    """Return the kind of machine: no name of it or of its user, and no path."""
    processor = memory = None
    with suppress(OSError):
        info = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        line = re.search(r"^(?:model name|Model|Hardware)\s*:(.*)$", info, re.MULTILINE)
        processor = None if line is None else line[1].strip()
    with suppress(ValueError, OSError, AttributeError):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": processor,
        "cores": os.cpu_count(),
        "memory_bytes": memory,
        "python": platform.python_version(),
    }


def git_commit(folder: Path) -> dict[str, Any] | None:
    """Return the commit of the work tree that a folder is in, and whether tracked files differ from it.

    No program that the repository names is run. A repository can have any origin, and its config and attributes name
    programs: a monitor of the file system, filters, hooks. So git compares with a temporary repository folder, which
    has the objects and the index of the real one, and of its config only the settings about the file system.

    Returns:
        ``commit``, and ``dirty``: None where it is not known, as the repository has filters of its own. None outside of
        a work tree.
    """
    printed = _git(folder, {}, "rev-parse", "HEAD", "--absolute-git-dir", "--show-toplevel", "--git-common-dir")
    lines = (printed or "").splitlines()
    if len(lines) != 4 or not re.fullmatch(r"[0-9a-f]{40,64}", lines[0]):
        return None
    commit, index, tree, common = lines[0], Path(lines[1]) / "index", Path(lines[2]), folder / lines[3]
    return {"commit": commit, "dirty": _is_dirty(commit, index, tree, common)}


def _is_dirty(commit: str, index: Path, tree: Path, common: Path) -> bool | None:
    """Compare a work tree; ``common`` is the folder of the objects, which linked work trees share."""
    listed = _git(tree, {}, "config", "--file", str((common / "config").absolute()), "--no-includes", "-z", "--list")
    if listed is None:
        return None
    settings = [entry.partition("\n")[::2] for entry in listed.split("\0") if entry]
    with TemporaryFolder("git") as temporary:
        for name in ("refs", "objects"):
            Path(temporary, name).mkdir()
        Path(temporary, "HEAD").write_text(f"{commit}\n", encoding="utf-8")
        safe = [(*name.split("."), value) for name, value in settings if name in _ABOUT_FILES and value.isalnum()]
        config = "".join(f"[{section}]\n{key} = {value}\n" for section, key, value in safe)
        Path(temporary, "config").write_text(config, encoding="utf-8")
        variables = {
            "GIT_DIR": temporary,
            "GIT_WORK_TREE": str(tree),
            "GIT_INDEX_FILE": str(index),
            "GIT_OBJECT_DIRECTORY": str((common / "objects").absolute()),
        }
        status = _git(tree, variables, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty")
    if status is None:
        return None
    has_filters = any(name.startswith(("filter.", "include.", "includeif.")) for name, _ in settings)
    return None if status.strip() and has_filters else bool(status.strip())


def _git(folder: Path, variables: Mapping[str, str], *arguments: str) -> str | None:
    """Return what git prints; None where it is not installed, fails or takes too long."""
    inherited = {name: value for name, value in os.environ.items() if name not in _OF_A_REPOSITORY}
    try:
        process = subprocess.run(
            ["git", "-C", str(folder), *_NO_PROGRAMS, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS_FOR_GIT,
            check=True,
            env={**inherited, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", **variables},
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return process.stdout.decode("utf-8", "surrogateescape")
