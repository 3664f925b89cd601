"""Times evaluation alone, with everything read and, for ranx, compiled already."""

from __future__ import annotations

import json

from harness import Results, measure_rounds, prepare_dataset, render_table, verdict, worker_command
from options import Options

TOOLS = ("rankjury", "ranx")
REQUIRED_RATIO = 5


def measure_calls(options: Options, tools: list[str]) -> dict[str, list[list[float]]]:
    """Alternate between the tools; collect the seconds of each call in each process."""
    dataset = prepare_dataset(options.data, options.queries, options.python)
    interpreters = {"rankjury": options.rankjury_python, "ranx": options.python}
    commands = {
        tool: worker_command(interpreters[tool], "in_memory.py", tool, dataset.trec_gold, dataset.trec_run)
        for tool in tools
    }
    summaries = measure_rounds(commands, options.rounds)
    return {tool: [json.loads(output)["seconds"] for output in summary.outputs] for tool, summary in summaries.items()}


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
        results["ratio"] = best["ranx"] / best["rankjury"]
        passed = results["ratio"] >= REQUIRED_RATIO
        text = f"at least {REQUIRED_RATIO} x faster than warm ranx: {results['ratio']:.2f} x"
        print("\n" + verdict(passed, text))
    return results, True
