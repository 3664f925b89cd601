"""Archives for the tests of the commands that look at them."""

import json
from datetime import timedelta
from pathlib import Path

from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.manifest import manifest_bytes
from rankjury.tracking.archive.run import ArchivedRun
from tests.tracking.archive.made import START, carried_out, kept, put_small, ranked

__all__ = ["stepped", "two_runs"]


def two_runs(folder: Path) -> tuple[ArchivedRun, ArchivedRun]:
    """In folder/.rankjury: the system new found everything a rank higher in the first."""
    plan, archive = put_small(folder), Archive(folder / ".rankjury")
    first = kept(archive, plan, 0)
    (folder / "new.trec").write_text(ranked(2))
    return first, kept(archive, plan, 1)


def stepped(folder: Path, runs: int = 12, at: int = 8) -> list[ArchivedRun]:
    """One run a day, of which the system new steps up by 0.1 at the given one, when its input changed."""
    archive = Archive(folder / ".rankjury")
    outcome, origin = carried_out(put_small(folder))
    found = []
    for day in range(runs):
        run = archive.store(outcome.report, origin, gate=outcome.gate, time=START + timedelta(days=day))
        manifest = json.loads(json.dumps(run.manifest))
        entry = manifest["summary"]["new"]["rr"]
        shift = 0.1 if day >= at else 0.0
        entry |= {"mean": 0.5 + shift, "ci": [0.4 + shift, 0.6 + shift], "se": 0.01}
        manifest["inputs"]["new.trec"] = ("f" if day >= at else "e") * 64
        (run.path / "manifest.json").write_bytes(manifest_bytes(manifest))
        found.append(ArchivedRun.open(run.path))
    return found
