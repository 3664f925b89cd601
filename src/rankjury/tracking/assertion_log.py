"""Baseline requests and outcomes of ranking assertions, shared by rankjury.assert_ranking and the pytest plugin.

pytest imports this module when it starts: it imports nothing of rankjury.
"""

from dataclasses import dataclass
from pathlib import Path

log: list[str] | None = None
"""Lines of the assertions of the running test; None outside of the plugin, where none are kept."""
written: dict[Path, str] = {}
"""Content of the baseline files that this session wrote, by path."""


@dataclass(frozen=True)
class BaselineRequest:
    """A baseline file that a test compares with, or writes: what the fixture ``ranking_baseline`` returns."""

    path: Path
    update: bool
    """Write the file instead of comparing with it."""
    command: str
    """The command that writes it."""


def record(line: str) -> None:
    """Keep a line for the summary, if the plugin asked for it."""
    if log is not None:
        log.append(line)
