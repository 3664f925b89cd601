"""Whether a process is still there."""

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["is_alive", "started_at"]


def is_alive(process: int, started: str | None = None) -> bool:
    """Whether a process has this id; with ``started``, whether it is the one that began then."""
    if process <= 0:
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    found = started_at(process)
    return started is None or found is None or found == started


def started_at(process: int) -> str | None:
    """When a process began, in ticks since the machine did; None where the system does not tell."""
    with suppress(OSError, IndexError):
        # The name of the program, in brackets, may hold anything.
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        return stat.rpartition(")")[2].split()[19]
    return None
