"""Runs fresh processes one at a time and measures their time and peak memory.

The measuring process uses the standard library only and holds no data. That matters: on Linux the peak memory
of a child counts the memory of the process that started it, up to the moment the child's program replaces it,
so a parent that had made the data itself would put a floor under every measured peak.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dataset import Dataset

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
MEASURES = ("ndcg@10", "ap", "rr", "recall@100", "precision@10")

Command = Sequence[str | Path]
Results = dict[str, Any]


class ToolFailedError(RuntimeError):
    """A measured process could not be started or ended with an error."""


@dataclass(frozen=True)
class Measurement:
    """What one process took."""

    printed_seconds: float
    """From the start of the process to the last byte it printed."""
    ended_seconds: float
    """From the start of the process to its end, so with the freeing of its memory."""
    processor_seconds: float
    """User and system time, summed over threads."""
    peak_megabytes: float
    output: str


@dataclass(frozen=True)
class Summary:
    """The best of several measurements of one tool."""

    seconds: float
    ended_seconds: float
    processor_seconds: float
    peak_megabytes: float
    outputs: tuple[str, ...]
    all_seconds: tuple[float, ...]

    @property
    def output(self) -> str:
        """What the last of the processes printed."""
        return self.outputs[-1]

    def as_result(self) -> Results:
        """Give the numbers for the saved results, without the outputs."""
        return {key: value for key, value in self.__dict__.items() if key != "outputs"}


def summarize(measurements: Sequence[Measurement]) -> Summary:
    """Take the lowest times, but the highest peak memory."""
    return Summary(
        seconds=min(measurement.printed_seconds for measurement in measurements),
        ended_seconds=min(measurement.ended_seconds for measurement in measurements),
        processor_seconds=min(measurement.processor_seconds for measurement in measurements),
        peak_megabytes=max(measurement.peak_megabytes for measurement in measurements),
        outputs=tuple(measurement.output for measurement in measurements),
        all_seconds=tuple(measurement.printed_seconds for measurement in measurements),
    )


def worker_command(python: Path, script: str, *arguments: str | Path) -> Command:
    """Start a script of this folder without this folder on its path.

    Otherwise `import statistics`, in any library that the script uses, would find the benchmark of that name.
    """
    return [python, "-P", HERE / script, *arguments]


def measure_process(command: Command) -> Measurement:
    """Run one command to its end and measure that process alone."""
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        try:
            process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=errors)
        except OSError as error:
            raise ToolFailedError(f"cannot start {command[0]}: {error.strerror}") from error
        output, printed = read_all(process, start)
        _, status, usage = os.wait4(process.pid, 0)
        ended = time.perf_counter()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise ToolFailedError(failure_message(command, process.returncode, errors))
    return Measurement(
        printed_seconds=printed - start,
        ended_seconds=ended - start,
        processor_seconds=usage.ru_utime + usage.ru_stime,
        peak_megabytes=peak_megabytes(usage.ru_maxrss),
        output=output,
    )


def read_all(process: subprocess.Popen[bytes], start: float) -> tuple[str, float]:
    """Read what the process prints; also give the moment at which the last of it arrived."""
    assert process.stdout is not None
    printed = start
    parts = []
    with process.stdout as stream:
        while part := os.read(stream.fileno(), 1 << 16):
            printed = time.perf_counter()
            parts.append(part)
    return b"".join(parts).decode(), printed


def peak_megabytes(maximum_resident_size: int) -> float:
    """Convert the system's figure, which is in KiB except on macOS, to millions of bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return maximum_resident_size * unit / 1e6


def failure_message(command: Command, exit_status: int, errors: IO[bytes]) -> str:
    errors.seek(0)
    last_lines = errors.read().decode(errors="replace").splitlines()[-15:]
    shown = " ".join(str(part) for part in command)
    return "\n".join([f"exit status {exit_status} from: {shown}", *last_lines])


def measure_rounds(commands: Mapping[str, Command], rounds: int) -> dict[str, Summary]:
    """Measure every command once per round, so that a slow spell of the machine hits all of them alike."""
    measured: dict[str, list[Measurement]] = {name: [] for name in commands}
    for number in range(1, rounds + 1):
        for name, command in commands.items():
            report_progress(f"round {number} of {rounds}: {name}")
            measured[name].append(measure_process(command))
    report_progress("")
    return {name: summarize(measurements) for name, measurements in measured.items()}


def report_progress(message: str) -> None:
    """Show on a terminal what is being measured, leaving no trace in redirected output."""
    if sys.stderr.isatty():
        print(f"\r\033[K{message}", end="", file=sys.stderr, flush=True)


def prepare_dataset(folder: Path, queries: int, python: Path) -> Dataset:
    """Make the collection unless it is cached, and have the system cache its files."""
    dataset = Dataset(folder, queries)
    if not dataset.exists():
        report_progress(f"making data for {queries:,} queries")
        measure_process(worker_command(python, "make_data.py", folder, "--queries", str(queries)))
        report_progress("")
    for file in dataset.files:
        read_through(file)
    return dataset


def read_through(file: Path) -> None:
    """Read a file without keeping it, so that no tool pays for the first read from disk."""
    buffer = bytearray(1 << 20)
    with file.open("rb", buffering=0) as stream:
        while stream.readinto(buffer):
            pass


def render_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a Markdown table: first column to the left, the others to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(headings, *rows, strict=True)]
    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(render_row(row, widths) for row in (headings, rule, *rows))


def render_row(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    others = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
    return "| " + " | ".join((first, *others)) + " |"


def verdict(passed: bool, text: str, *, required: bool = True) -> str:
    """Write one requirement with its outcome."""
    outcome = "PASS" if passed else "FAIL" if required else "MISSED (an aim, not a requirement)"
    return f"{outcome}: {text}"


def describe_machine() -> Results:
    """Describe what the numbers depend on, without naming the machine."""
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processors": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "python": platform.python_version(),
    }


def save_results(file: Path, results: Results) -> None:
    file.write_text(json.dumps(results, indent=2) + "\n")


def describe_tool(summary: Summary) -> Results:
    reports = [json.loads(output) for output in summary.outputs]
    return {
        **reports[-1],
        "seconds": min(report["seconds"] for report in reports),
        "all_seconds": [report["seconds"] for report in reports],
        "peak_megabytes": summary.peak_megabytes,
    }


Part = Callable[[argparse.Namespace], tuple[Any, list[str], bool]]
"""Measures something: the results, the verdicts on them, and whether the tools agreed."""


def run_parts(name: str, parts: Mapping[str, Part], arguments: argparse.Namespace) -> int:
    """Run the parts that are asked for, print their verdicts, and keep the results; returns the exit status."""
    results: Results = {"schema": "rankjury.benchmark/1", "machine": describe_machine(), name: {}, "verdicts": []}
    agreed = True
    for part in parts if arguments.part == "all" else (arguments.part,):
        try:
            results[name][part], verdicts, part_agreed = parts[part](arguments)
        except ToolFailedError as error:
            print(f"\n{part}: {error}", file=sys.stderr)
            return 1
        agreed = agreed and part_agreed
        results["verdicts"] += verdicts
        print("\n" + "\n".join(verdicts), flush=True)
        if arguments.json:
            save_results(arguments.json, results)
    return 0 if agreed else 1
