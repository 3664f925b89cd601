"""Memory: how much of it is left, and how much a compressed file may become when it is decompressed."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

__all__ = ["available_memory", "in_units", "most_unpacked"]

_ALWAYS_UNPACKED = 256_000_000
"""Bytes that any file may become."""
_HIGHEST_RATIO = 100
"""Runs and tables compress 3 to 50 times; a file made to exhaust memory, 1,000 times."""


def most_unpacked(packed: int) -> int:
    """Return how many bytes a compressed file of this size may become.

    256 MB are always allowed; beyond that, 100 times the size of the file, and no more than half of the free memory.
    """
    allowed = _HIGHEST_RATIO * packed
    if allowed <= _ALWAYS_UNPACKED:
        return _ALWAYS_UNPACKED
    return max(_ALWAYS_UNPACKED, min(allowed, available_memory() // 2))


def in_units(size: float) -> str:
    """``512 MB``, ``2.5 GB``."""
    for unit, of in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= of:
            return f"{size / of:.3g} {unit}"
    return f"{size:.0f} B"


def available_memory() -> int:
    """Bytes that this process may still take: of the machine, and of the container where it is in one."""
    return min([_of_machine(), *_of_container()])


def _of_machine() -> int:
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _of_container() -> Iterable[int]:
    """What the limit of a control group leaves; files it holds in memory are given up when needed."""
    root = Path("/sys/fs/cgroup")
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        with suppress(OSError, ValueError):
            yield max(int((root / limit).read_text()) - int((root / used).read_text()), 0)
