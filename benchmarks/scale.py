#!/usr/bin/env python3
"""Measures rankjury on more than fits in memory: up to 100 million ranked rows and 10 million of gold, from Parquet.

  blocks     one process under 3 GB at 1, 10 and 100 million rows, sorted and shuffled: seconds, memory, and whether
             time grows as rows do
  spark      the same on Spark with two cores, beside one process
  peers      nDCG@10 alone, beside plain Spark SQL, RePlay and Polars; checks that they agree
  constants  seconds and bytes of each step, for the cost model of docs/explanation/scale.md

Five measures with intervals, except beside peers. All times are of fresh processes; what starting takes is measured by
a tiny input, and taken off where it says so. RePlay has an environment of its own, and is left out where this is not
there. Data is kept for the next time. Exit status: 0 if all went well, whatever the speed; 1 if figures disagree or a
tool failed; 2 for wrong options.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from harness import (
    MEASURES,
    REPOSITORY,
    Command,
    Results,
    measure_process,
    measure_rounds,
    render_table,
    run_parts,
    verdict,
    worker_command,
)
from options import add_shared_options, find_rankjury_python, positive
from scale_events import logged, steps_of
from scale_ways import case_name, describe, figures, prepare, print_table, rankjury_command, run_against, spark_options

TINY, MOST, QUICK = 10_000, 100_000_000, 10_000_000
"""Ranked rows: what starting is measured with, and the largest of three sizes, each ten times the one before."""
ORDERS = ("sorted", "shuffled")
MOST_MEGABYTES, MOST_GROWTH, MOST_SPARK = 3000, 1.2, 2.5
APART = 1e-12
NAMES = {
    "rankjury": "rankjury, one process",
    "rankjury-spark": "rankjury on Spark",
    "spark-sql": "Spark SQL, plain",
    "replay": "RePlay on Spark",
    "replay-polars": "RePlay on Polars",
    "polars": "Polars, plain",
}
PEERS = {name: "ndcg(gain=binary)@10" if "replay" in name else "ndcg@10" for name in list(NAMES)[2:]}
"""What each computes, in rankjury's spelling."""


def sizes(arguments: argparse.Namespace) -> tuple[int, ...]:
    return tuple(arguments.rows // part for part in (100, 10, 1))


def run_blocks(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    cases = {(order, rows): prepare(rows, order, arguments) for order in arguments.orders for rows in sizes(arguments)}
    commands = {"start": rankjury_command(prepare(TINY, "sorted", arguments), arguments, measures=MEASURES)}
    commands |= {case_name(*case): rankjury_command(data, arguments, measures=MEASURES) for case, data in cases.items()}
    measured = measure_rounds(commands, arguments.rounds)
    start = measured.pop("start")
    found = {name: describe(one, rows, start) for (_, rows), (name, one) in zip(cases, measured.items(), strict=True)}
    print_table(f"one process, --memory {arguments.memory}; starting takes {start.seconds:.2f} s", found, arguments)
    agreed = all(
        len({json.dumps(figures(measured[case_name(order, rows)].output)) for order in arguments.orders}) == 1
        for rows in sizes(arguments)
    )
    verdicts = [*(line for order in arguments.orders for line in judge_growth(order, found, arguments))]
    verdicts.append(verdict(agreed, "all digits are the same, in whichever order rows come"))
    return {"start": start.as_result(), "cases": found}, verdicts, agreed


def judge_growth(order: str, found: Mapping[str, Results], arguments: argparse.Namespace) -> list[str]:
    first, *_, last = (found[case_name(order, rows)] for rows in sizes(arguments))
    growth = first["rows_per_second"] / last["rows_per_second"]
    peak = max(found[case_name(order, rows)]["peak_megabytes"] for rows in sizes(arguments))
    span = f"from {first['rows']:,} to {last['rows']:,} rows"
    return [
        verdict(peak < MOST_MEGABYTES, f"{order}: below {MOST_MEGABYTES:,} MB: {peak:,.0f} MB"),
        verdict(
            0 < growth <= MOST_GROWTH,
            f"{order}: seconds a row grow {span} at most {MOST_GROWTH:g} times: {growth:.2f} times",
            required=not arguments.quick,
        ),
    ]


def run_spark(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    results: Results = {}
    verdicts, agreed = [], True
    tiny = prepare(TINY, "sorted", arguments)
    for order in arguments.orders:
        data = prepare(arguments.rows, order, arguments)
        options = {"rankjury": (), "rankjury-spark": spark_options(arguments)}
        ways, starts = (
            {
                NAMES[way]: rankjury_command(folder, arguments, *given, measures=MEASURES)
                for way, given in options.items()
            }
            for folder in (data, tiny)
        )
        found = run_against(ways, starts, arguments)
        print_table(f"{case_name(order, arguments.rows)}, {arguments.master}", found, arguments)
        alone, spread = (found[NAMES[way]] for way in options)
        same = figures(alone.pop("output")) == figures(spread.pop("output"))
        ratio = spread["working_seconds"] / alone["working_seconds"]
        verdicts += [
            verdict(same, f"{order}: all digits are the same on Spark and in one process"),
            verdict(
                0 < ratio <= MOST_SPARK, f"{order}: at most {MOST_SPARK:g} times one process' time: {ratio:.2f} times"
            ),
        ]
        agreed, results[order] = agreed and same, found
    return results, verdicts, agreed


def run_peers(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    results: Results = {}
    verdicts: list[str] = []
    agreed = True
    for order in arguments.orders:
        data, tiny = (prepare(rows, order, arguments) for rows in (arguments.rows, TINY))
        ways, starts = (peer_commands(folder, arguments) for folder in (data, tiny))
        found = run_against(ways, starts, arguments)
        print_table(f"nDCG@10 alone, {case_name(order, arguments.rows)}, two cores", found, arguments)
        for one in found.values():
            one["mean"] = mean_of(one.pop("output"))
        compared = compare_peers(found, data, arguments)
        verdicts += [f"{order}: {line}" for line in (*(verdict(*one) for one in compared), *speeds(found))]
        agreed = agreed and all(same for same, _ in compared)
        results[order] = found
    return results, verdicts, agreed


def peer_commands(data: Path, arguments: argparse.Namespace) -> dict[str, Command]:
    """rankjury's own, and every peer whose interpreter is there."""
    ours = {"rankjury": (), "rankjury-spark": spark_options(arguments)}
    commands: dict[str, Command] = {
        NAMES[way]: rankjury_command(data, arguments, "--no-ci", *options, measures=("ndcg@10",))
        for way, options in ours.items()
    }
    for peer in PEERS:
        python = arguments.replay if "replay" in peer else find_rankjury_python(arguments)
        if peer in arguments.skip:
            continue
        if python.exists():
            commands[NAMES[peer]] = worker_command(python, "scale_peers.py", peer, data)
        else:
            print(f"{NAMES[peer]} is omitted: there is no {python}; make it by `make bench`, or give --replay")
    return commands


def mean_of(printed: str) -> float:
    """Of rankjury's report, or of a peer's line."""
    found = json.loads(printed)
    if "systems" not in found:
        return float(found["ndcg@10"])
    (system,) = found["systems"].values()
    (measure,) = system["measures"].values()
    return float(measure["mean"])


def compare_peers(found: Mapping[str, Results], data: Path, arguments: argparse.Namespace) -> list[tuple[bool, str]]:
    """Whether each has rankjury's mean under its own definition."""
    binary = rankjury_command(data, arguments, "--no-ci", "--ties", "id-desc", measures=("ndcg(gain=binary)@10",))
    expected = {"ndcg@10": found[NAMES["rankjury"]]["mean"]}
    if any("replay" in peer and NAMES[peer] in found for peer in PEERS):
        expected["ndcg(gain=binary)@10"] = mean_of(measure_process(binary).output)
    compared = []
    for peer, measure in {"rankjury-spark": "ndcg@10", **PEERS}.items():
        if NAMES[peer] in found:
            apart = abs(found[NAMES[peer]]["mean"] - expected[measure])
            compared.append((apart <= APART, f"{NAMES[peer]} has rankjury's {measure}: {apart:.1e} apart"))
    return compared


def speeds(found: Mapping[str, Results]) -> list[str]:
    """All have two cores, so that seconds tell of throughput per core."""
    return [
        f"{NAMES[ours]}: {found[NAMES[ours]]['rows_per_second'] / found[NAMES[peer]]['rows_per_second']:.2f} times the "
        f"rows a second and core of {NAMES[peer]}"
        for ours in ("rankjury", "rankjury-spark")
        for peer in PEERS
        if NAMES[peer] in found and found[NAMES[ours]]["working_seconds"] > 0 < found[NAMES[peer]]["working_seconds"]
    ]


def run_constants(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    data = prepare(arguments.rows // 10, "shuffled", arguments)
    task = worker_command(find_rankjury_python(arguments), "scale_costs.py", data, "--rounds", str(arguments.rounds))
    found: Results = json.loads(measure_process(task).output)
    found["steps"] |= spark_constants(data, found["rows"], arguments)
    rows = [
        (
            step,
            one["of"],
            f"{one['seconds_per_million']:.3f}",
            f"{one['bytes_per_row']:.1f}" if one["bytes_per_row"] else "-",
        )
        for step, one in found["steps"].items()
    ]
    table = render_table(("step", "of", "seconds a million", "bytes a row"), rows)
    print(f"\nconstants at {arguments.rows // 10:,} ranked rows, shuffled:\n\n{table}", flush=True)
    return found, [], True


def spark_constants(data: Path, rows: int, arguments: argparse.Namespace) -> Results:
    """Seconds of tasks, and what they shuffled."""
    with logged() as events:
        measure_process(rankjury_command(data, arguments, *spark_options(arguments), measures=MEASURES))
        found = steps_of(events)
    return {
        step: {
            "of": "rows",
            "seconds_per_million": one["seconds"] / rows * 1e6,
            "bytes_per_row": one["shuffled"] / rows,
            "returned_bytes": one["returned"],
        }
        for step, one in found.items()
    }


PARTS = {"blocks": run_blocks, "spark": run_spark, "peers": run_peers, "constants": run_constants}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all", help="what to measure (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help=f"at most {QUICK:,} rows")
    parser.add_argument("--rows", type=positive, default=MOST, help="ranked rows, at most (default: %(default)s)")
    for order in ORDERS:
        parser.add_argument(f"--{order}", dest="orders", action="append_const", const=order, help=f"{order} rows alone")
    parser.add_argument("--memory", default="3GB", help="what rankjury is told to keep to (default: %(default)s)")
    parser.add_argument("--master", default="local[2]", help="which Spark (default: %(default)s)")
    parser.add_argument("--skip", choices=PEERS, action="append", default=[], help="leave out a peer; repeatable")
    parser.add_argument(
        "--replay", type=Path, default=REPOSITORY / ".venv-replay" / "bin" / "python", metavar="PYTHON",
        help="interpreter that has RePlay (default: .venv-replay/bin/python)",
    )  # fmt: skip
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", default=Path(tempfile.gettempdir()) / "rankjury-scale",
        help="where the generated data is kept (default: rankjury-scale in the folder for temporary files)",
    )  # fmt: skip
    add_shared_options(parser, rounds=1)
    arguments = parser.parse_args()
    arguments.rows = min(arguments.rows, QUICK) if arguments.quick else arguments.rows
    arguments.orders = arguments.orders or list(ORDERS)
    return run_parts("scale", PARTS, arguments)


if __name__ == "__main__":
    sys.exit(main())
