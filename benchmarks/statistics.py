#!/usr/bin/env python3
"""Measures rankjury's intervals and randomisation tests against scipy's bootstrap and ranx's Fisher test.

  intervals  percentile intervals of 10 measures over 7,000 queries: rankjury, and scipy.stats.bootstrap
  tests      two systems under 10 measures over 7,000 queries: rankjury's sign flips, and warm ranx
  large      rankjury's intervals of 10 measures over 1,000,000 queries, for the memory they need

Scores are in memory when the clock starts. Exit status: 0 if all went well, whatever the speed; 1 if intervals or
p-values disagree or a tool failed; 2 for wrong options.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

from harness import (
    Command,
    Results,
    Summary,
    ToolFailedError,
    describe_machine,
    measure_rounds,
    render_table,
    save_results,
    verdict,
    worker_command,
)
from options import add_peers_option, add_shared_options, find_rankjury_python

RANKJURY_INTERVALS, RANKJURY_TESTS, LARGE = "intervals: rankjury", "tests: rankjury", "large: rankjury"
SCIPY, SCIPY_PLAIN = "intervals: scipy, best batch", "intervals: scipy, as it comes"
RANX = "tests: ranx, warm"
BASES = {SCIPY: RANKJURY_INTERVALS, SCIPY_PLAIN: RANKJURY_INTERVALS, RANX: RANKJURY_TESTS}
REQUIRED_RATIOS = {SCIPY: (20, "scipy.stats.bootstrap with its best batch"), RANX: (50, "ranx's warm Fisher test")}
REQUIRED_SECONDS = 1.0
REQUIRED_MEGABYTES = 2_000
TOLERATED_ERRORS = 5
"""Standard errors of resampling by which any of twenty bounds and ten p-values may differ between tools."""


@dataclass(frozen=True)
class Case:
    """What one process is asked for."""

    task: str
    queries: int
    resamples: int


def choose_cases(quick: bool) -> dict[str, Case]:
    """The peers get fewer resamples where that does not change their time for each."""
    queries, resamples, fewer = (700, 1_000, 1_000) if quick else (7_000, 10_000, 2_000)
    large = (100_000, 200) if quick else (1_000_000, 1_000)
    return {
        RANKJURY_INTERVALS: Case("rankjury-intervals", queries, resamples),
        SCIPY: Case("scipy", queries, fewer),
        SCIPY_PLAIN: Case("scipy-plain", queries, resamples),
        RANKJURY_TESTS: Case("rankjury-tests", queries, resamples),
        RANX: Case("ranx", queries, fewer),
        LARGE: Case("rankjury-intervals", *large),
    }


def case_command(case: Case, arguments: argparse.Namespace) -> Command:
    python = find_rankjury_python(arguments) if case.task.startswith("rankjury") else arguments.python
    return worker_command(python, "resamplers.py", case.task, str(case.queries), str(case.resamples))


def describe_case(case: Case, summary: Summary) -> Results:
    """Take the best call of all processes; what came out is the same in each, up to a peer's own seed."""
    reports = [json.loads(output) for output in summary.outputs]
    best = min(reports, key=lambda report: report["unit_seconds"])
    return {
        **best,
        **case.__dict__,
        "seconds": min(best["seconds"]),
        "all_seconds": [report["seconds"] for report in reports],
        "peak_megabytes": summary.peak_megabytes,
    }


def measure_cases(cases: Mapping[str, Case], arguments: argparse.Namespace) -> dict[str, Results]:
    """Let tools take turns; the large case stands for itself and takes long, so one process is enough."""
    commands = {name: case_command(case, arguments) for name, case in cases.items()}
    large = {LARGE: commands.pop(LARGE)}
    summaries = measure_rounds(commands, arguments.rounds) | measure_rounds(large, 1)
    return {name: describe_case(cases[name], summary) for name, summary in summaries.items()}


def ratio(measured: Mapping[str, Results], name: str) -> float:
    """How many times longer than rankjury a tool takes per resample and measure."""
    return float(measured[name]["unit_seconds"] / measured[BASES[name]]["unit_seconds"])


def render_measured(measured: Mapping[str, Results]) -> str:
    rows = [
        (
            name,
            f"{found['queries']:,}",
            f"{found['resamples']:,}",
            f"{found['seconds']:.3f}",
            f"{found['unit_seconds'] * 1e6:,.2f}",
            f"{ratio(measured, name):.1f}" if name in BASES else "-" if name == LARGE else "1.0",
            f"{found['peak_megabytes']:,.0f}",
        )
        for name, found in measured.items()
    ]
    headings = ("what", "queries", "resamples", "seconds", "µs per resample and measure", "/ rankjury", "peak MB")
    return render_table(headings, rows)


def judge_speed(measured: Mapping[str, Results]) -> list[str]:
    intervals, large = measured[RANKJURY_INTERVALS], measured[LARGE]
    verdicts = [
        verdict(
            intervals["seconds"] <= REQUIRED_SECONDS,
            f"{describe_size(intervals)} with intervals in at most {REQUIRED_SECONDS} s: {intervals['seconds']:.2f} s",
        )
    ]
    for name, (required, peer) in REQUIRED_RATIOS.items():
        found = ratio(measured, name)
        text = f"per resample and measure at least {required} x faster than {peer}: {found:.1f} x"
        verdicts.append(verdict(found >= required, text))
    peak = large["peak_megabytes"]
    text = f"{describe_size(large)} in less than {REQUIRED_MEGABYTES:,} MB: {peak:,.0f} MB, {large['seconds']:.1f} s"
    return [*verdicts, verdict(peak < REQUIRED_MEGABYTES, text)]


def describe_size(found: Results) -> str:
    return f"{found['queries']:,} queries x 10 measures x {found['resamples']:,} resamples"


def count_errors(share: float, one: Results, other: Results) -> float:
    """The standard error of the difference between two resampled shares."""
    return sqrt(share * (1 - share) * (1 / one["resamples"] + 1 / other["resamples"]))


def bounds_differ(one: Results, other: Results) -> float:
    """The largest difference between bounds, in standard errors of resampled bounds.

    Resampled means are nearly normal: an interval of 95 % is 3.92 standard deviations wide, and has a density of
    0.0584 at its bounds.
    """
    error = count_errors(0.025, one, other) / 0.0584 / 3.92
    pairs = zip(one["bounds"], other["bounds"], strict=True)
    return max(
        max(abs(low - other_low), abs(high - other_high)) / (high - low) / error
        for (low, high), (other_low, other_high) in pairs
    )


def p_values_differ(one: Results, other: Results) -> float:
    """The largest difference between p-values, in standard errors; none is thought smaller than one in a sample."""
    least = 1 / min(one["resamples"], other["resamples"])
    pairs = zip(one["p_values"], other["p_values"], strict=True)
    return max(abs(a - b) / count_errors(min(max((a + b) / 2, least), 1 - least), one, other) for a, b in pairs)


def judge_agreement(measured: Mapping[str, Results]) -> tuple[list[str], bool]:
    differences = {
        "intervals of rankjury and scipy": bounds_differ(measured[RANKJURY_INTERVALS], measured[SCIPY]),
        "p-values of rankjury and ranx": p_values_differ(measured[RANKJURY_TESTS], measured[RANX]),
    }
    verdicts = [
        verdict(found <= TOLERATED_ERRORS, f"{what} agree to {TOLERATED_ERRORS} standard errors: {found:.1f}")
        for what, found in differences.items()
    ]
    return verdicts, max(differences.values()) <= TOLERATED_ERRORS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the queries and resamples")
    add_peers_option(parser)
    add_shared_options(parser, rounds=3)
    arguments = parser.parse_args()
    try:
        measured = measure_cases(choose_cases(arguments.quick), arguments)
    except ToolFailedError as error:
        print(error, file=sys.stderr)
        return 1
    agreements, agreed = judge_agreement(measured)
    verdicts = [*judge_speed(measured), *agreements]
    print(f"Statistics of 10 measures, best of {arguments.rounds} processes:\n\n{render_measured(measured)}\n")
    print("\n".join(verdicts))
    if arguments.quick:
        print("The requirements are meant for the full run; with --quick, what a call costs once weighs more.")
    if arguments.json:
        results: Results = {"machine": describe_machine(), "statistics": measured, "verdicts": verdicts}
        save_results(arguments.json, {"schema": "rankjury.benchmark/1", **results})
    return 0 if agreed else 1


if __name__ == "__main__":
    sys.exit(main())
