"""Fills an archive: one real run, and copies of it that are told apart by time, digest and figures.

The figures drift by chance and step twice, so that a history has something to find.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rankjury.tracking.archive.manifest import manifest_bytes

SEED = 20_261_117
HOURS = 6
STEPS = {0.4: -0.03, 0.7: 0.05}
"""At which share of the runs all means move, and how far."""
NOISE = 0.002
Manifest = dict[str, Any]


def fill(archive: Path, runs: int) -> int:
    """Copy the only run of the archive until there are so many; gives how many there are."""
    [first] = [path for path in (archive / "runs").iterdir() if not path.name.startswith(".")]
    manifest = json.loads((first / "manifest.json").read_text(encoding="utf-8"))
    drawn = random.Random(SEED)
    latest = datetime.now(UTC)
    for number in range(runs - 1):
        copy(first, moved(manifest, number / runs, latest - timedelta(hours=HOURS * (runs - number)), drawn))
    return sum(1 for path in (archive / "runs").iterdir() if not path.name.startswith("."))


def moved(manifest: Manifest, share: float, moment: datetime, drawn: random.Random) -> Manifest:
    by = sum(step for since, step in STEPS.items() if share >= since)
    found: Manifest = json.loads(json.dumps(manifest))
    found["time"] = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    found["digest"] = f"{drawn.getrandbits(256):064x}"
    for measures in found["summary"].values():
        for entry in measures.values():
            if entry["mean"] is not None:
                apart = by + drawn.gauss(0, NOISE)
                entry["mean"] += apart
                entry["ci"] = entry["ci"] and [bound + apart for bound in entry["ci"]]
    return found


def copy(first: Path, manifest: Manifest) -> None:
    """A folder beside the first; whatever does not differ is the same file."""
    name = first.name.split("-", 1)[1].rpartition("-")[0]
    moment = datetime.fromisoformat(manifest["time"])
    folder = first.parent / f"{moment:%Y%m%dT%H%M%SZ}-{name}-{manifest['digest'][:8]}"
    folder.mkdir()
    for file in first.iterdir():
        if file.name != "manifest.json":
            os.link(file, folder / file.name)
    (folder / "manifest.json").write_bytes(manifest_bytes(manifest))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("runs", type=int)
    print(fill(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
