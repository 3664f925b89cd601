"""Kill the real rankjury run at random moments, and look whether the archive is whole: python scripts/kill_runs.py
[KILLS]

``tests/cli/crash_points.py`` ends forks of a process that has everything loaded at each of their writes in turn. Here
every run is a command of its own, from its first import on. Half of the kills come at any moment of it, half in the few
hundredths of a second in which the archive is written: when its hidden folder is there, and a moment later.
"""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.run import ArchivedRun

PLAN = """
name = "killed"
gold = "gold.qrels"
measures = ["ndcg@5", "rr"]
baseline = "old"

[systems]
old = "old.trec"
new = "new.trec"
"""
QUERIES = 40
WRITING = 0.03
"""Seconds: about as long as the archive is written."""


def put_plan(folder: Path) -> None:
    chance = random.Random(3)
    gold = [f"q{query} 0 d{item} {int(item < 3)}" for query in range(QUERIES) for item in range(10)]
    (folder / "gold.qrels").write_text("\n".join(gold) + "\n")
    for name in ("old", "new"):
        lines = []
        for query in range(QUERIES):
            items = chance.sample(range(10), 10)
            lines += [f"q{query} Q0 d{item} {rank} {10 - rank} t" for rank, item in enumerate(items, 1)]
        (folder / f"{name}.trec").write_text("\n".join(lines) + "\n")
    (folder / "plan.toml").write_text(PLAN)


def start(folder: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "rankjury", "run", "plan.toml", "--archive", ".rankjury"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def check(run: ArchivedRun) -> None:
    """Open all that is in it."""
    assert run.faults() == [], run.faults()
    assert len(run.scores().collect()) == 2 * QUERIES and run.report.queries
    assert run.tables.answers() is not None and run.answer("q1") is not None


def leftovers(archive: Archive) -> set[str]:
    return {path.name for path in (archive.path / "runs").glob(".*.part")}


def wait_for_writing(process: "subprocess.Popen[bytes]", archive: Archive, before: set[str]) -> None:
    while process.poll() is None and not leftovers(archive) - before:
        time.sleep(0.0005)


def main(kills: int) -> None:
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        put_plan(folder)
        archive = Archive(folder / ".rankjury")
        started = time.monotonic()
        assert start(folder).wait() == 0
        whole = time.monotonic() - started
        half = finished = killed = 0
        while killed < kills:
            before = leftovers(archive)
            process = start(folder)
            if killed % 2:
                wait_for_writing(process, archive, before)
                time.sleep(chance.uniform(0, WRITING))
            else:
                time.sleep(chance.uniform(0, whole))
            if process.poll() is None:
                killed += 1
            else:
                finished += 1
            process.kill()
            process.wait()
            half += bool(leftovers(archive) - before)
            runs = archive.runs()
            assert archive.troubles == [], archive.troubles
            check(runs[-1])
        for run in archive.runs():
            check(run)
        assert start(folder).wait() == 0
        assert archive.leftovers() == [] and archive.running() == []
        told = f"{killed} killed, {finished} were done before; {half} left something half written"
        print(f"{told}; {len(archive.runs())} runs are listed, all whole")
        assert half, "no kill came while the archive was written"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
