"""Carries out a drawn plan and writes its report as a page, several times; prints seconds and bytes as JSON.

`bytes_of_form` is the page of the same report without anything of single queries, `bytes_empty` that of the smallest
report there is: two systems, one query, one measure.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

Results = dict[str, Any]


def smallest() -> Any:
    from rankjury import compare

    return compare({"q": {"a": 1}}, {"one": {"q": {"a": 1.0}}, "other": {"q": {"a": 1.0}}}, ["ndcg@10"])


def measure(plan: Path, page: Path, rounds: int) -> Results:
    from rankjury.plan.parse import read_plan
    from rankjury.plan.run import execute_plan
    from rankjury.reporting.writers.html import to_html

    start = time.perf_counter()
    outcome = execute_plan(read_plan(plan))
    ran = time.perf_counter() - start
    seconds, text = [], ""
    for _ in range(rounds):
        start = time.perf_counter()
        text = to_html(outcome.report, outcome.gate)
        page.write_text(text, encoding="utf-8")
        seconds.append(time.perf_counter() - start)
    return {
        "queries": outcome.report.n_queries,
        "systems": len(outcome.report.systems),
        "plan_seconds": ran,
        "seconds": seconds,
        "bytes": len(text.encode()),
        "bytes_of_form": len(to_html(replace(outcome.report, queries=None), outcome.gate).encode()),
        "bytes_empty": len(to_html(replace(smallest(), queries=None)).encode()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    print(json.dumps(measure(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
