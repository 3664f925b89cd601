"""Times whole evaluations: a fresh process each, from its start to its printed result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dataset import Dataset
from harness import (
    MEASURES,
    Command,
    Results,
    Summary,
    measure_process,
    measure_rounds,
    prepare_dataset,
    render_table,
    verdict,
    worker_command,
)
from options import TOOLS, Options

REFERENCE = "pytrec_eval"
TOLERANCES = {"rankjury": 1e-9, "ir_measures": 1e-6, "ranx": 1e-6, "ranx-first": 1e-6}
LABELS = {
    "pytrec_eval": "pytrec_eval-terrier",
    "ranx-first": "ranx, first use (JIT)",
    "parse": "merely parse (Polars)",
}
MISSING = "-"
HEADINGS = (
    "tool",
    "seconds",
    "time / rankjury",
    "time / pytrec_eval",
    "peak MB",
    "memory / pytrec_eval",
    "means agree",
)


@dataclass(frozen=True)
class Requirement:
    """What rankjury has to reach against another tool."""

    tool: str
    limit: float
    text: str
    at_least: bool = True
    memory: bool = False
    required: bool = True


@dataclass(frozen=True)
class Outcome:
    """Everything that this part found out."""

    rows: int
    summaries: Mapping[str, Summary]
    means: Mapping[str, Mapping[str, float]]
    disagreements: Mapping[str, list[str]] | None
    judged: list[tuple[bool | None, str]]
    described: Results

    @property
    def wrong(self) -> list[str]:
        """Every disagreement of any tool."""
        return [line for lines in (self.disagreements or {}).values() for line in lines]


REQUIREMENTS = (
    Requirement("pytrec_eval", 8, "at least 8 x faster than pytrec_eval-terrier"),
    Requirement("ir_measures", 20, "at least 20 x faster than ir_measures"),
    Requirement("ranx-first", 40, "at least 40 x faster than ranx with its JIT"),
    Requirement("pytrec_eval", 0.7, "at most 0.7 x the memory of pytrec_eval-terrier", False, memory=True),
    Requirement("parse", 2, "at most 2 x the time of merely parsing", False, required=False),
)


def rankjury_command(rankjury: Path, gold: Path, run: Path, *, dialect: str | None = None) -> Command:
    """Build the call that evaluates one run for all measures; like the other tools, without intervals."""
    measures = [part for measure in MEASURES for part in ("-m", measure)]
    dialects = ["--dialect", dialect] if dialect else []
    return [rankjury, "evaluate", gold, run, *measures, *dialects, "--no-ci", "--json"]


def tool_command(tool: str, options: Options, dataset: Dataset) -> Command:
    if tool == "rankjury":
        return rankjury_command(options.rankjury, dataset.trec_gold, dataset.trec_run, dialect="trec_eval")
    return worker_command(options.python, "peers.py", tool, dataset.trec_gold, dataset.trec_run)


def read_means(tool: str, output: str) -> dict[str, float]:
    """Take the means per measure out of what a tool printed."""
    printed = json.loads(output)
    if tool != "rankjury":
        return {measure: float(printed[measure]) for measure in MEASURES}
    (system,) = printed["systems"].values()
    return {measure: float(system["measures"][measure]["mean"]) for measure in MEASURES}


def find_disagreements(means: Mapping[str, Mapping[str, float]]) -> dict[str, list[str]]:
    """List, per tool, the measures whose mean is not that of the reference; not-a-number never agrees."""
    reference = means[REFERENCE]
    return {
        tool: [
            f"{measure}: {tool} gives {values[measure]!r}, {REFERENCE} gives {reference[measure]!r}"
            for measure in MEASURES
            if not abs(values[measure] - reference[measure]) <= TOLERANCES[tool]
        ]
        for tool, values in means.items()
        if tool != REFERENCE
    }


def ratio(summaries: Mapping[str, Summary], above: str, below: str, *, memory: bool = False) -> float | None:
    """Divide the time or the memory of one tool by that of another, if both were measured."""
    if above not in summaries or below not in summaries:
        return None
    if memory:
        return summaries[above].peak_megabytes / summaries[below].peak_megabytes
    return summaries[above].seconds / summaries[below].seconds


def show_ratio(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}"


def show_agreement(tool: str, disagreements: Mapping[str, list[str]] | None) -> str:
    if tool == "parse":
        return MISSING
    if tool == REFERENCE:
        return "reference"
    if disagreements is None:
        return "not checked"
    return "DISAGREES" if disagreements[tool] else f"within {TOLERANCES[tool]:.0e}"


def render_summaries(summaries: Mapping[str, Summary], disagreements: Mapping[str, list[str]] | None) -> str:
    rows = [
        (
            LABELS.get(tool, tool),
            f"{summary.seconds:.2f}",
            show_ratio(ratio(summaries, tool, "rankjury")),
            show_ratio(ratio(summaries, tool, REFERENCE)),
            f"{summary.peak_megabytes:,.0f}",
            show_ratio(ratio(summaries, tool, REFERENCE, memory=True)),
            show_agreement(tool, disagreements),
        )
        for tool, summary in summaries.items()
    ]
    return render_table(HEADINGS, rows)


def judge(requirement: Requirement, summaries: Mapping[str, Summary]) -> tuple[bool | None, str]:
    """Decide one requirement; undecided if one of the two tools was skipped."""
    above, below = (requirement.tool, "rankjury") if requirement.at_least else ("rankjury", requirement.tool)
    value = ratio(summaries, above, below, memory=requirement.memory)
    if value is None:
        return None, f"NOT MEASURED: {requirement.text}"
    passed = value >= requirement.limit if requirement.at_least else value <= requirement.limit
    return passed, verdict(passed, f"{requirement.text}: {value:.2f} x", required=requirement.required)


def describe_compilation(compiled: int, rounds: int) -> str:
    """Say whether ranx found its functions compiled already."""
    if compiled:
        return f"ranx: Numba's cache was warm from the first round on ({compiled} compiled functions)."
    if rounds > 1:
        return "ranx: Numba's cache was cold in the first round, which compiled, and warm in the others."
    return "ranx: Numba's cache was cold, so its time includes compiling; a second run will be faster."


def print_report(options: Options, outcome: Outcome) -> None:
    """Print the table, the requirements, and any disagreement."""
    print(f"\nFiles to printed means, {outcome.rows:,} lines of TREC text, best of {options.rounds}:\n")
    print(render_summaries(outcome.summaries, outcome.disagreements))
    if "ranx" in outcome.summaries:
        print("\n" + describe_compilation(outcome.described["ranx_compiled_functions"], options.rounds))
    print("\n" + "\n".join(line for _, line in outcome.judged))
    if options.quick:
        print("The requirements are meant for the full run; with --quick, starting up weighs more.")
    if outcome.wrong:
        print("\n".join(["", "!" * 40, "DISAGREEMENT ON MEANS", *outcome.wrong, "!" * 40]))


def measure_tools(options: Options) -> Outcome:
    """Measure the tools that are not skipped, and check their means."""
    dataset = prepare_dataset(options.data, options.queries, options.python)
    described = json.loads(measure_process(worker_command(options.python, "peers.py", "describe")).output)
    tools = [tool for tool in TOOLS if tool not in options.skipped]
    summaries = measure_rounds({tool: tool_command(tool, options, dataset) for tool in tools}, options.rounds)
    means = {tool: read_means(tool, summaries[tool].output) for tool in tools if tool != "parse"}
    return Outcome(
        rows=dataset.rows,
        summaries=summaries,
        means=means,
        disagreements=find_disagreements(means) if REFERENCE in means else None,
        judged=[judge(requirement, summaries) for requirement in REQUIREMENTS],
        described=described,
    )


def run_part(options: Options) -> tuple[Results, bool]:
    """Measure, print, and tell whether all tools that were checked agree."""
    outcome = measure_tools(options)
    print_report(options, outcome)
    results = {
        "rows": outcome.rows,
        "rounds": options.rounds,
        "tools": {tool: summary.as_result() for tool, summary in outcome.summaries.items()},
        "means": outcome.means,
        "disagreements": outcome.disagreements,
        "requirements": [{"passed": passed, "text": line} for passed, line in outcome.judged],
        **outcome.described,
    }
    return results, not outcome.wrong
