"""Command of the fuzz suite: run surfaces for some minutes or cases, or repeat a single case.

python -m tests.fuzz [--minutes 10 | --cases 1000] [--seed 0] [--surface a,b] [--workers 2] [--save FOLDER]
python -m tests.fuzz SURFACE SEED CASE [--keep ABOUT]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.fuzz.harness import MODULES, Case, Finding, Outcome, Surface, Worker, attempt, load, read_found, write_found

CHUNK = 3.0
"""Seconds of one surface before a worker takes the next."""


def main() -> int:
    """Run what the arguments ask for; return 1 where anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("case", nargs="*", metavar="SURFACE SEED CASE", help="repeat one case; or a file of found/")
    parser.add_argument("--keep", metavar="ABOUT", help="write the case to found/ with this description")
    parser.add_argument("--minutes", type=float, default=None, help="all surfaces share this time (default 1)")
    parser.add_argument("--cases", type=int, default=None, help="cases of each surface, instead of a time")
    parser.add_argument("--seed", type=int, default=None, help="default: the time, so that each run has new cases")
    parser.add_argument("--surface", default="", help="names, separated by commas; default: all")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="write the case of each fault here, to be repeated")
    given = parser.parse_args()
    if given.case:
        return repeat(given.case, given.keep)
    seed = int(time.time()) if given.seed is None else given.seed
    return Session(given.surface, seed, given.minutes, given.cases, given.save).run(given.workers)


def repeat(words: list[str], keep: str | None) -> int:
    """Run one case here and show its traceback."""
    surfaces = load()
    if len(words) == 1:
        name, case = read_found(Path(words[0]))
        surface = surfaces[name]
    else:
        surface = surfaces[words[0]]
        case = surface.case(int(words[1]), int(words[2]))
    if keep:
        print(write_found(case, surface.name, keep))
    show(case)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        result = attempt(_loud(surface), case, Path(folder))
        os.chdir("/")
    print("accepted" if result is True else "refused" if result is False else f"found: {result}")
    return 0 if isinstance(result, bool) else 1


def _loud(surface: Surface) -> Surface:
    from dataclasses import replace
    from traceback import print_exc

    def call(case: Case) -> object:
        try:
            return surface.call(case)
        except BaseException:
            print_exc()
            raise

    return replace(surface, call=call)


def show(case: Case) -> None:
    """Print a case, cut where it is long."""
    for name, content in case.files.items():
        print(f"{name} ({len(content):,} bytes): {content[:2000]!r}{'…' if len(content) > 2000 else ''}")
    for name, value in case.options.items():
        print(f"{name}: {value!r}"[:2000])


class Session:
    """A run over surfaces, which share the time: each next turn goes to the one that has had the least."""

    def __init__(
        self, names: str, seed: int, minutes: float | None, cases: int | None, save: Path | None = None
    ) -> None:
        self.chosen = [name for name in names.split(",") if name]
        self.seed = seed
        self.cases = cases
        self.start = time.monotonic()
        self.end = float("inf") if cases is not None else self.start + 60 * (1.0 if minutes is None else minutes)
        self.folder = save
        self.lock = threading.Lock()
        self.outcomes: dict[str, Outcome] = {}
        self.next: dict[str, int] = {}
        self.faults: dict[tuple[str, str], Finding] = {}
        self.shown = 0.0
        self.error: BaseException | None = None

    def run(self, workers: int) -> int:
        """Run to the end, show the summary and return the exit code."""
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(workers)]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            print("\ninterrupted")
        if self.error is not None:
            raise self.error
        return self._summary()

    def _work(self) -> None:
        try:
            with Worker(MODULES) as worker:
                names = self._names(worker)
                while (turn := self._turn(names)) is not None:
                    name, first, count, seconds = turn
                    self._add(name, worker.run(name, self.seed, first, count, seconds))
        except BaseException as error:
            self.error = error

    def _names(self, worker: Worker) -> list[str]:
        unknown = [name for name in self.chosen if name not in worker.limits]
        if unknown:
            raise SystemExit(f"unknown surface {', '.join(unknown)}; known: {', '.join(sorted(worker.limits))}")
        return self.chosen or sorted(worker.limits)

    def _turn(self, names: list[str]) -> tuple[str, int, int, float] | None:
        with self.lock:
            for name in names:
                self.outcomes.setdefault(name, Outcome())
                self.next.setdefault(name, 0)
            if time.monotonic() > self.end or self.error is not None:
                return None
            open_ = [name for name in names if self.cases is None or self.next[name] < self.cases]
            if not open_:
                return None
            name = min(open_, key=lambda name: self.outcomes[name].seconds)
            known = self.outcomes[name]
            count = int(CHUNK * known.cases / known.seconds) + 1 if known.cases else 50
            if self.cases is not None:
                count = min(count, self.cases - self.next[name])
            first = self.next[name]
            self.next[name] += count
            known.seconds += 0.01  # so that two workers do not take the same surface first
            return name, first, count, 1e9 if self.cases is not None else 4 * CHUNK

    def _add(self, name: str, outcome: Outcome) -> None:
        with self.lock:
            self.outcomes[name].add(outcome)
            for finding in outcome.findings:
                if finding.key not in self.faults:
                    self.faults[finding.key] = finding
                    self._report(finding)
            if time.monotonic() - self.shown > 5:
                self.shown = time.monotonic()
                print(self._figures(), flush=True)

    def _report(self, finding: Finding) -> None:
        print(f"FOUND {finding}", flush=True)
        if self.folder is not None and finding.case is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            about = f"{finding.kind} at {finding.place}"
            print(f"    {write_found(finding.case, finding.surface, about, self.folder)}")

    def _figures(self) -> str:
        cases = sum(outcome.cases for outcome in self.outcomes.values())
        took = time.monotonic() - self.start
        return f"{took:,.0f} s: {cases:,} cases, {cases / took:,.0f} per second, {len(self.faults)} faults found"

    def _summary(self) -> int:
        print(f"\n{'surface':<24}{'cases':>10}{'per s':>8}{'accepted':>10}{'found':>7}")
        for name, one in sorted(self.outcomes.items()):
            rate = one.cases / one.seconds if one.seconds else 0.0
            share = one.accepted / one.cases if one.cases else 0.0
            print(f"{name:<24}{one.cases:>10,}{rate:>8,.0f}{share:>10.0%}{len(one.findings):>7}")
        print(f"seed {self.seed}; {self._figures()}")
        for finding in self.faults.values():
            print(f"  {finding.surface}: {finding}")
        return 1 if self.faults else 0


if __name__ == "__main__":
    sys.exit(main())
