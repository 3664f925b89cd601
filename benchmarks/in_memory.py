"""Times evaluating in memory, with the data already read, in ranx or in rankjury.

Prints the seconds of each call as JSON. ranx gets one call that is not timed, so its functions are compiled;
rankjury gets none, so its first time shows whether later calls profit from earlier ones.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

CALLS = 5
RANKJURY_MEASURES = ["ndcg@10", "ap", "rr", "recall@100", "precision@10"]
RANX_MEASURES = ["ndcg@10", "map", "mrr", "recall@100", "precision@10"]


def time_calls(call: Callable[[], object]) -> list[float]:
    seconds = []
    for _ in range(CALLS):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return seconds


def time_ranx(gold_file: str, run_file: str) -> list[float]:
    import ranx

    gold = ranx.Qrels.from_file(gold_file, kind="trec")
    run = ranx.Run.from_file(run_file, kind="trec")
    ranx.evaluate(gold, run, RANX_MEASURES)
    return time_calls(lambda: ranx.evaluate(gold, run, RANX_MEASURES))


def time_rankjury(gold_file: str, run_file: str) -> list[float]:
    import rankjury

    gold = rankjury.read_gold(gold_file)
    run = rankjury.read_run(run_file)
    return time_calls(lambda: rankjury.evaluate(gold, run, RANKJURY_MEASURES).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", choices=("ranx", "rankjury"))
    parser.add_argument("gold", help="TREC judgements")
    parser.add_argument("run", help="TREC run")
    arguments = parser.parse_args()
    timed = time_ranx if arguments.tool == "ranx" else time_rankjury
    print(json.dumps({"seconds": timed(arguments.gold, arguments.run)}), flush=True)


if __name__ == "__main__":
    main()
