#!/usr/bin/env python3
"""Compares the speed of two source trees of rankjury: what startup, runs, report and view measure, in processor time.

The trees take turns, so that a slow spell of the machine hits both alike, and the best round counts. Processor time is
user and system time of all threads: it hardly depends on what else the machine does. Each tree writes its own archives.

    git worktree add --detach /tmp/before COMMIT
    python3 benchmarks/against.py /tmp/before

Exit status: 0 if all went well, whatever the speed; 1 if a tool failed; 2 for wrong options.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness import REPOSITORY, Command, ToolFailedError, measure_process, prepare_dataset, render_table, save_results
from options import add_shared_options, find_rankjury_python
from part_files import rankjury_command
from report import SAMPLE
from startup import startup_commands
from view import FEW_RESAMPLES

SLOWER = 1.05
"""A ratio above is marked; below, it is mostly noise."""
SIZES = {"runs": 6_980, "report": 10_000, "view": 20_000, "archive": 1_000}
QUICK = {"runs": 698, "report": 500, "view": 2_000, "archive": 50}
Figures = dict[str, float]


class Tree:
    """A source tree, with the data that its own rankjury has written."""

    def __init__(self, source: Path, arguments: argparse.Namespace) -> None:
        self.source, self.rankjury, self.python = source, arguments.rankjury, find_rankjury_python(arguments)
        self.sizes = QUICK if arguments.quick else SIZES
        self.shared: Path = arguments.data
        self.data: Path = arguments.data / "against" / str(source.resolve()).strip("/").replace("/", "-")

    def environment(self, archive: Path) -> dict[str, str]:
        return {
            "PYTHONPATH": str(self.source / "src"),
            "PYTHONPYCACHEPREFIX": str(self.data / "bytecode"),
            "RANKJURY_ARCHIVE": str(archive),
        }

    def run(self, *command: str | Path, archive: Path | None = None) -> tuple[float, str]:
        """Processor seconds of a command and what it printed."""
        os.environ |= self.environment(archive or self.data / "archive")
        measured = measure_process(command)
        return measured.processor_seconds, measured.output

    def script(self, name: str, *arguments: str | Path) -> Command:
        return [self.python, "-P", self.source / "benchmarks" / name, *arguments]

    def timed(self, name: str, *arguments: str | Path) -> Command:
        """A script of the tree whose clock is that of the processor."""
        return [self.python, "-P", self.source / "benchmarks" / "against_worker.py", self.source, name, *arguments]

    def start_server(self) -> float:
        """Processor seconds of `rankjury view` until it prints its address."""
        os.environ |= self.environment(self.data / "view")
        command = [str(self.rankjury), "view", "--no-browser"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdout is not None
        with process.stdout as stream:
            stream.readline()
        process.terminate()
        usage = os.wait4(process.pid, 0)[2]
        return usage.ru_utime + usage.ru_stime

    def prepare(self) -> None:
        """Write what is measured: two runs of a drawn plan, and many copies of a sample's run."""
        self.data.mkdir(parents=True, exist_ok=True)
        self.run(*self.script("report_data.py", self.data / "report", str(self.sizes["report"])))
        if not (self.data / "view" / "runs").exists():
            plan = Path(
                self.run(*self.script("report_data.py", self.data / "drawn", str(self.sizes["view"])))[1].strip()
            )
            text = plan.read_text(encoding="utf-8").replace("targets =", "# targets =") + FEW_RESAMPLES
            for dense in ("dense", "hybrid"):
                plan.write_text(text.replace('"dense.parquet"', f'"{dense}.parquet"'), encoding="utf-8")
                self.run(self.rankjury, "run", plan, "--quiet", archive=self.data / "view")
        if not (self.data / "archive" / "runs").exists():
            self.run(self.rankjury, "run", SAMPLE, "-o", self.data / "movies")
            self.run(*self.script("report_archive.py", self.data / "archive", str(self.sizes["archive"])))

    def measure(self) -> Iterator[tuple[str, float]]:
        """Every figure once, in seconds."""
        for name, command in startup_commands(self.rankjury, self.python).items():
            yield f"startup: {name}", self.run(*command)[0]
        for size in (10, self.sizes["runs"]):
            data = prepare_dataset(self.shared, size, self.python)
            for gold, run in ((data.trec_gold, data.trec_run), (data.parquet_gold, data.parquet_run)):
                yield (
                    f"runs: {size:,} queries, {run.suffix[1:]}",
                    self.run(*rankjury_command(self.rankjury, gold, run))[0],
                )
        found = json.loads(self.run(*self.timed("in_memory.py", "rankjury", data.trec_gold, data.trec_run))[1])
        yield "runs: in memory", min(found["seconds"])
        page = self.timed("report_page.py", self.data / "report" / "rankjury.toml", self.data / "report.html")
        found = json.loads(self.run(*page)[1])
        yield "report: plan", found["plan_seconds"]
        yield "report: page", min(found["seconds"])
        yield f"report: rankjury history, {self.sizes['archive']:,} runs", self.run(self.rankjury, "history")[0]
        for command in (("show", "latest"), ("diff", "latest")):
            yield (
                f"report: rankjury {' '.join(command)}",
                self.run(self.rankjury, *command, archive=self.data / "view")[0],
            )
        yield "view: start of the server", self.start_server()
        for part in ("run", "compare", "runs"):
            folder = self.data / ("archive" if part == "runs" else "view")
            asked = json.loads(self.run(*self.timed("view_asking.py", folder, "--part", part))[1])["asked"]
            for what, times in asked.items():
                yield f"view: {part}, {what}, first", times["first"] / 1_000
                yield f"view: {part}, {what}, later", times["median"] / 1_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="a work tree of the commit to compare with")
    parser.add_argument("--quick", action="store_true", help="smaller data")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "rankjury-bench", metavar="FOLDER")
    add_shared_options(parser, rounds=5)
    arguments = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # users have byte code
    trees = [Tree(source, arguments) for source in (arguments.before, REPOSITORY)]
    best: list[Figures] = [{}, {}]
    try:
        for tree in trees:
            tree.prepare()
        for _ in range(arguments.rounds):
            for turns in zip(*(tree.measure() for tree in trees), strict=True):
                for own, (name, seconds) in zip(best, turns, strict=True):
                    own[name] = min(seconds, own.get(name, seconds))
    except ToolFailedError as error:
        print(error, file=sys.stderr)
        return 1
    rows = [
        (name, f"{1e3 * old:,.1f}", f"{1e3 * new:,.1f}", f"{new / old:.2f}" + (" !" if new > SLOWER * old else "  "))
        for name, old, new in ((name, best[0][name], best[1][name]) for name in best[0])
    ]
    print(render_table(("milliseconds of processor time", "before", "now", "ratio  "), rows))
    if arguments.json:
        save_results(arguments.json, {"before": best[0], "now": best[1]})
    return 0


if __name__ == "__main__":
    sys.exit(main())
