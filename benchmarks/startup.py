#!/usr/bin/env python3
"""Measures the processor time that it takes to start rankjury, beside that of importing NumPy.

Processor time is user and system time of the process, so it hardly depends on what else the machine does.
Exit status: 0 if all went well, whatever the time; 1 if a command failed; 2 for wrong options.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from harness import (
    Command,
    Results,
    Summary,
    ToolFailedError,
    describe_machine,
    measure_process,
    measure_rounds,
    render_table,
    save_results,
    verdict,
)
from options import add_shared_options, find_rankjury_python

BASE = "import numpy"
BUDGETS = {"rankjury --help": 0.25, "import rankjury": 0.15}


def startup_commands(rankjury: Path, python: Path) -> dict[str, Command]:
    return {
        "python, doing nothing": [python, "-c", "pass"],
        BASE: [python, "-c", "import numpy"],
        "import rankjury": [python, "-c", "import rankjury"],
        "rankjury --help": [rankjury, "--help"],
    }


def render_summaries(summaries: Mapping[str, Summary]) -> str:
    base = summaries[BASE].processor_seconds
    rows = [
        (
            name,
            f"{summary.processor_seconds:.3f}",
            f"{summary.processor_seconds / base:.2f}",
            f"{summary.processor_seconds - base:+.3f}",
            f"{summary.ended_seconds:.3f}",
            f"{summary.peak_megabytes:,.0f}",
        )
        for name, summary in summaries.items()
    ]
    headings = ("command", "processor seconds", "/ import numpy", "- import numpy", "wall seconds", "peak MB")
    return render_table(headings, rows)


def judge(summaries: Mapping[str, Summary]) -> list[str]:
    """Hold the processor time of each command against its budget."""
    return [
        verdict(
            summaries[name].processor_seconds <= budget,
            f"{name} takes at most {budget} s of processor time: {summaries[name].processor_seconds:.3f} s",
        )
        for name, budget in BUDGETS.items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_shared_options(parser, rounds=7)
    arguments = parser.parse_args()
    commands = startup_commands(arguments.rankjury, find_rankjury_python(arguments))
    try:
        for command in commands.values():
            measure_process(command)  # not counted: writes the byte code and fills the system's file cache
        summaries = measure_rounds(commands, arguments.rounds)
    except ToolFailedError as error:
        print(error, file=sys.stderr)
        return 1
    verdicts = judge(summaries)
    print(f"Starting up, best of {arguments.rounds}:\n\n{render_summaries(summaries)}\n")
    print("\n".join(verdicts))
    if arguments.json:
        timed = {name: summary.as_result() for name, summary in summaries.items()}
        results: Results = {"machine": describe_machine(), "startup": timed, "verdicts": verdicts}
        save_results(arguments.json, {"schema": "rankjury.benchmark/1", **results})
    return 0


if __name__ == "__main__":
    sys.exit(main())
