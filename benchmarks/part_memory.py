"""Times evaluation alone, with everything read and, for ranx, compiled already."""

from __future__ import annotations

import json

from harness import (
    HERE,
    Command,
    Results,
    measure_process,
    prepare_dataset,
    render_table,
    report_progress,
    verdict,
)
from options import Options

TOOLS = ("karat", "ranx")
REQUIRED_RATIO = 5


def measure_calls(options: Options, tools: list[str]) -> dict[str, list[list[float]]]:
    """Alternate between the tools; collect the seconds of each call in each process."""
    dataset = prepare_dataset(options.data, options.queries, options.python)
    interpreters = {"karat": options.karat_python, "ranx": options.python}
    measured: dict[str, list[list[float]]] = {tool: [] for tool in tools}
    for number in range(1, options.rounds + 1):
        for tool in tools:
            report_progress(f"round {number} of {options.rounds}: {tool} in memory")
            command: Command = [
                interpreters[tool],
                HERE / "in_memory.py",
                tool,
                dataset.trec_gold,
                dataset.trec_run,
            ]
            measured[tool].append(json.loads(measure_process(command).output)["seconds"])
    report_progress("")
    return measured


def run_part(options: Options) -> tuple[Results, bool]:
    """Measure and print; there is nothing here that tools could disagree on."""
    tools = [tool for tool in TOOLS if tool not in options.skipped]
    measured = measure_calls(options, tools)
    best = {tool: min(min(calls) for calls in processes) for tool, processes in measured.items()}
    first = {tool: min(calls[0] for calls in processes) for tool, processes in measured.items()}
    rows = [(tool, f"{best[tool]:.3f}", f"{first[tool]:.3f}") for tool in tools]
    print(f"\nIn memory, {options.queries:,} queries, best of {options.rounds} processes:\n")
    print(render_table(("tool", "best call, seconds", "first timed call, seconds"), rows))
    results: Results = {"queries": options.queries, "seconds": measured}
    if len(best) == len(TOOLS):
        results["ratio"] = best["ranx"] / best["karat"]
        passed = results["ratio"] >= REQUIRED_RATIO
        text = f"at least {REQUIRED_RATIO} x faster than warm ranx: {results['ratio']:.2f} x"
        print("\n" + verdict(passed, text))
    return results, True
