"""Which archive, and which of its runs."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from karat.archive.run import MANIFEST, Run
from karat.errors import DataError, UnknownName, UsageError

__all__ = ["ENVIRONMENT", "FOLDER", "find_archive", "find_run", "of_plan"]

FOLDER = ".karat"
ENVIRONMENT = "KARAT_ARCHIVE"
_SHORTEST_HASH = 4
_LISTED = 5


def find_archive(start: Path | None = None, given: Path | None = None) -> Path:
    """The one that is given, or that the environment names; else the nearest, else a new one where one stands."""
    named = given if given is not None else Path(os.environ[ENVIRONMENT]) if os.environ.get(ENVIRONMENT) else None
    if named is not None:
        _check_name(named)
        inner = named / FOLDER
        return inner if _is_folder(inner) and not _is_folder(named / "runs") else named
    here = (start or Path.cwd()).absolute()
    for folder in (here, *here.parents):
        if _is_folder(folder / FOLDER):
            return folder / FOLDER if start or folder != here else Path(FOLDER)
        if _is_there(folder / ".git") or folder == _home():
            break
    return start / FOLDER if start else Path(FOLDER)


def _check_name(path: Path) -> None:
    """Refuse a name that no folder can have, such as one that is too long; one that is not there yet is fine."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"cannot be an archive: {reason}", where=str(path), expected="the name of a folder") from error


def _is_folder(path: Path) -> bool:
    """Where one may not look there is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # nobody's
        return None


def find_run(text: str, runs: Sequence[Run], baseline_of: Callable[[str], Run | None]) -> Run:
    """By its name, a beginning that only it has, its hash, a path, ``latest`` or ``baseline``, perhaps ``:PLAN``."""
    word, colon, plan = text.partition(":")
    if word in ("latest", "baseline") and (plan or not colon):
        return _latest(runs, plan) if word == "latest" else _baseline(runs, plan, baseline_of)
    for run in runs:
        if run.name == text:
            return run
    path = Path(text)
    try:
        if (path / MANIFEST).is_file():
            return Run.open(path.resolve())
    except (OSError, ValueError):  # a text that can be no path
        pass
    begun = [run for run in runs if text and run.name.startswith(text)]
    if len(begun) > 1:
        raise _ambiguous(text, begun)
    if begun:
        return begun[0]
    hashed = [run for run in runs if len(text) >= _SHORTEST_HASH and run.digest.startswith(text)]
    if len({run.digest for run in hashed}) > 1:
        raise _ambiguous(text, hashed)
    if hashed:
        return hashed[-1]  # of the same plan and the same inputs, the last
    if not runs:
        raise DataError(f"no run {text!r}: the archive is empty", hint="karat run stores one.")
    raise UnknownName("run", text, [*(run.name for run in runs[-_LISTED:]), "latest", "baseline"])


def of_plan(runs: Sequence[Run], plan: str) -> list[Run]:
    """Those of a plan, by its name."""
    found = [run for run in runs if run.plan == plan]
    if not found and runs:
        raise UnknownName("plan in the archive:", plan, {run.plan for run in runs})
    return found


def _latest(runs: Sequence[Run], plan: str) -> Run:
    held = of_plan(runs, plan) if plan else runs
    if not held:
        raise DataError("the archive has no run", hint="karat run stores one.")
    return held[-1]


def _baseline(runs: Sequence[Run], plan: str, baseline_of: Callable[[str], Run | None]) -> Run:
    plans = [plan] if plan else list(dict.fromkeys(run.plan for run in runs))
    found = {name: run for name in plans if (run := baseline_of(name)) is not None}
    if len(found) > 1:
        named = " or ".join(f"baseline:{name}" for name in found)
        raise UsageError("several plans have a baseline", expected=named)
    if not found:
        raise DataError(
            f"no baseline is set{f' for {plan}' if plan else ''}", hint="karat baseline set RUN sets one."
        )  # fmt: skip
    return next(iter(found.values()))


def _ambiguous(text: str, found: Sequence[Run]) -> UsageError:
    names = ", ".join(run.name for run in found[-_LISTED:])
    more = f"{len(found)} runs" if len(found) > _LISTED else "several runs"
    return UsageError(f"{text!r} names {more}", expected=f"one of {names}" + (" …" if len(found) > _LISTED else ""))
