"""What the steps of an evaluation in blocks take, one after the other, in one process: seconds, and bytes of a row.

Rows come in no order, so that all steps are taken. Prints, as JSON, how many rows there were, and for each step of
what it is a million, the best seconds a million of several rounds, and bytes a row where any are read or written.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

MEMORY = 3 * 10**9
MEASURES = ("ndcg@10", "ap", "rr", "recall@100", "precision@10")
STEPS = {
    "read Parquet": "rows",
    "part on disk": "rows",
    "read back": "rows",
    "make arrays": "rows",
    "judge": "rows",
    "measure": "rows",
    "resample": "queries",
}

Result = TypeVar("Result")


class Clock:
    """Seconds of each step, added up over blocks."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def timed(self, step: str, call: Callable[[], Result]) -> Result:
        start = time.perf_counter()
        result = call()
        self.seconds[step] += time.perf_counter() - start
        return result

    def each(self, step: str, given: Iterator[Result]) -> Iterator[Result]:
        """The same, with the time to get each of them."""
        while (one := self.timed(step, lambda: next(given, None))) is not None:
            yield one


def carry_out(data: Path, clock: Clock) -> dict[str, Any]:
    """All steps; returns how many rows and queries there were, and bytes of a row."""
    from rankjury.evaluation.evaluate import resolve_measures
    from rankjury.scale.blocks import Partition
    from rankjury.scale.memory import Budget
    from rankjury.scale.parquet import open_table
    from rankjury.scale.request import EvaluationRequest
    from rankjury.stats.resampling import Resampling

    tables = [open_table(data / "gold", "gold"), open_table(data / "ranking", "run")]
    rows = sum(table.rows for table in tables)
    held = sum(table.bytes_per_row * table.rows for table in tables) / rows
    budget = Budget(MEMORY)
    request = EvaluationRequest("gold", {"run": "run"}, tuple(resolve_measures(MEASURES)), Resampling())
    scores = []
    with Partition([table.schema for table in tables], rows, budget.block_rows(held), temp=data.parent) as partition:
        for number, table in enumerate(tables):
            for frame in clock.each("read Parquet", table.batches(budget.batch_rows(held))):
                clock.timed("part on disk", lambda frame=frame, number=number: partition.add(number, frame))
        for block in clock.each("read back", partition.blocks()):
            scores.append(score(request, block, clock))
    clock.timed("resample", lambda: resample(request, scores))
    stored = sum(file.stat().st_size for table in tables for file in table.files)
    queries = sum(len(scored.frame) for scored, _ in scores)
    return {"rows": rows, "queries": queries, "bytes": {"read Parquet": stored / rows, "part on disk": held}}


def score(request: Any, block: tuple[pl.DataFrame, ...], clock: Clock) -> Any:
    """Arrays, judging and measures, each by itself; then all at once, as the next step takes it."""
    from rankjury.core.convert import gold_from_frame, ranking_from_frame
    from rankjury.evaluation.evaluate import Evaluation
    from rankjury.scale.block_scores import score_block

    measures = [one.measure for one in request.asked]
    gold, ranking = clock.timed("make arrays", lambda: (gold_from_frame(block[0]), ranking_from_frame(block[1])))
    evaluation = clock.timed("judge", lambda: Evaluation(gold, ranking))
    clock.timed("judge", lambda: [evaluation.judged(measure) for measure in measures])
    clock.timed("measure", lambda: [evaluation.values(measure) for measure in measures])
    return score_block(request, block)


def resample(request: Any, scores: list[Any]) -> None:
    from rankjury.scale.rounds import make_panels, survey, tally

    panels = make_panels(request, reduce(add, (found for _, found in scores)))
    surveyed = reduce(add, (survey(request, panels, scored) for scored, _ in scores))
    nonempty, outlined = surveyed.nonempty(panels, request)
    reduce(add, (tally(request, nonempty, outlined, scored, 0) for scored, _ in scores))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    clocks = [Clock() for _ in range(arguments.rounds)]
    counted = [carry_out(arguments.data, clock) for clock in clocks][-1]
    steps = {
        step: {
            "of": of,
            "seconds_per_million": min(clock.seconds[step] for clock in clocks) / counted[of] * 1e6,
            "bytes_per_row": counted["bytes"].get(step),
        }
        for step, of in STEPS.items()
    }
    print(json.dumps({"rows": counted["rows"], "queries": counted["queries"], "steps": steps}))


if __name__ == "__main__":
    main()
