"""What runs are called: ``20261117T050935Z-movies-1a2b3c4d``, and in which order they come."""

import re
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["HASH_SHOWN", "name_of_plan", "order_of", "plain", "run_name", "shown_time", "to_moment", "to_text"]

HASH_SHOWN = 8
"""How many hexadecimal digits of a digest stand in a name."""
_LONGEST_BYTES = 60
_NUMBERED = re.compile(rf"^(.*-[0-9a-f]{{{HASH_SHOWN}}})-(\d{{1,9}})$")


def run_name(moment: datetime, plan: str, digest: str, number: int = 1) -> str:
    """The folder of a run; a name that is taken gets a number."""
    name = f"{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}-{plain(plan)}-{digest[:HASH_SHOWN]}"
    return name if number == 1 else f"{name}-{number}"


def name_of_plan(given: str | None, file: Path) -> str:
    """What a plan calls itself, else its file; a file that is called as every plan is, by its folder."""
    if given:
        return given
    name = file.stem if file.stem != "karat" else file.absolute().parent.name or "karat"
    return name.encode("utf-8", "replace").decode()  # a file's name may hold bytes that are no text


def plain(plan: str) -> str:
    """A plan's name without what a path could stumble over, and no longer than a folder's name may be."""
    text = re.sub(r"[^\w.+]+", "-", plan).strip("-._")
    while len(text.encode()) > _LONGEST_BYTES:
        text = text[: -max(1, (len(text.encode()) - _LONGEST_BYTES) // 4)]
    return text.rstrip("-._") or "plan"


def order_of(time: str, name: str) -> tuple[str, str, int]:
    """By time; of the same moment by name, and those that only a number tells apart by that."""
    numbered = _NUMBERED.match(name)
    return (time, numbered[1], int(numbered[2])) if numbered else (time, name, 1)


def to_text(moment: datetime) -> str:
    """``2026-11-17T05:09:35.123Z``"""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def shown_time(text: str) -> str:
    """``2026-11-17 05:09``, as people read it."""
    return text[:16].replace("T", " ")
