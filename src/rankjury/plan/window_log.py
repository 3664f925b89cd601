"""The record of looks at a test window: whoever looks often tunes on it, whether they mean to or not.

It stands beside the plan (``rankjury.toml`` → ``rankjury.opened.jsonl``), a line a look.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import rankjury
from rankjury.core.text import plural
from rankjury.errors import DataError
from rankjury.io.jsonl import parse_json
from rankjury.plan.input_digests import digest_contents
from rankjury.plan.parse import CheckedPlan

_SUFFIX = ".opened.jsonl"


@dataclass(frozen=True)
class WindowLooks:
    """How often a test window was looked at, this time included."""

    times: int
    settings: int
    """With how many different systems and settings."""
    first: str
    recorded: str | None
    """The file; None where it could not be written."""

    def to_json(self) -> dict[str, Any]:
        return {"times": self.times, "settings": self.settings, "first": self.first}

    def notes(self) -> Iterator[str]:
        if self.settings > 1:
            yield (
                f"the test window was opened {plural(self.times, 'time', 'times')} with {self.settings:,} different "
                f"settings since {self.first}: choosing among them tunes on it; rankjury tune chooses on validation"
            )
        if self.recorded is None:
            yield "that the test window was opened could not be recorded beside the plan"


def record_test_look(checked: CheckedPlan, now: str) -> WindowLooks | None:
    """Record a look at the test window; None where the plan is no file, or is a sample of rankjury's."""
    if not Path(checked.where).is_file():
        return None
    package = Path(rankjury.__file__).resolve().parent
    if package in Path(checked.where).resolve().parents:
        return None
    file = Path(checked.where).with_suffix(_SUFFIX)
    systems = {name: table.model_dump(mode="json") for name, table in checked.plan.systems.items()}
    held = digest_contents(systems, checked.folder)
    settings = {"gold": checked.plan.gold.model_dump(mode="json"), "systems": systems, "contents": held}
    digest = sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
    entry = {"opened": now, "rankjury": rankjury.__version__, "systems": list(systems), "settings": digest}
    earlier = _read(file)
    recorded: str | None = str(file)
    try:
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(entry) + "\n")
    except OSError:
        recorded = None
    every = [*earlier, entry]
    first = next(str(one["opened"]) for one in every if "opened" in one)
    return WindowLooks(len(every), len({str(one.get("settings")) for one in every}), first, recorded)


def _read(file: Path) -> list[dict[str, Any]]:
    """Earlier looks; a line that somebody spoiled counts as one."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    found = []
    for line in lines:
        try:
            entry = parse_json(line, str(file))
        except DataError:
            entry = {}
        found.append(entry if isinstance(entry, dict) else {})
    return found
