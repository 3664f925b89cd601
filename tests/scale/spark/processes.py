"""Processes that belong together: what was started in a session of its own, and all that it started."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def of_session(session: int) -> list[int]:
    """The processes of a session, whatever groups they made for themselves."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                if os.getsid(int(entry.name)) == session and not _ended(entry):
                    found.append(int(entry.name))
    return found


def _ended(entry: Path) -> bool:
    """Whether it only waits for its parent to take note of its end."""
    return (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"


def command_of(pid: int) -> str:
    with suppress(OSError):
        return (Path("/proc") / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def kill_session(session: int) -> None:
    for pid in of_session(session):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def end_with_parent() -> None:
    """To be called in a child: it is killed when its parent is, so that nothing outlives tests that were killed."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def wait_for(holds: Callable[[], object], within: float, what: str) -> None:
    end = time.monotonic() + within
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {within:.0f} seconds")
        time.sleep(0.05)
