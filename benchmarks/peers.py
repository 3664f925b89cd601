"""Evaluates one run with one of the other tools, the way the documentation of that tool does it.

Prints the means as JSON under rankjury's spelling of the measures. `parse` only reads the run, with Polars, and
prints how many lines it has. `describe` prints the versions of the tools. Nothing is imported before it is
needed, so each process pays for its own tool only.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from importlib import metadata, util
from pathlib import Path
from typing import Any

PACKAGES = ("pytrec_eval-terrier", "ir-measures", "ranx", "numba", "polars", "numpy")


def evaluate_with_pytrec_eval(gold: str, run: str) -> dict[str, float]:
    import pytrec_eval

    names = {
        "ndcg@10": "ndcg_cut_10",
        "ap": "map",
        "rr": "recip_rank",
        "recall@100": "recall_100",
        "precision@10": "P_10",
    }
    with Path(gold).open() as lines:
        judgements = pytrec_eval.parse_qrel(lines)
    with Path(run).open() as lines:
        rankings = pytrec_eval.parse_run(lines)
    queries = pytrec_eval.RelevanceEvaluator(judgements, set(names.values())).evaluate(rankings).values()
    return {
        spelling: pytrec_eval.compute_aggregated_measure(name, [query[name] for query in queries])
        for spelling, name in names.items()
    }


def evaluate_with_ir_measures(gold: str, run: str) -> dict[str, float]:
    import ir_measures
    from ir_measures import AP, RR, P, R, nDCG

    measures = {"ndcg@10": nDCG @ 10, "ap": AP, "rr": RR, "recall@100": R @ 100, "precision@10": P @ 10}
    judgements = ir_measures.read_trec_qrels(gold)
    rankings = ir_measures.read_trec_run(run)
    means = ir_measures.calc_aggregate(list(measures.values()), judgements, rankings)
    return {spelling: float(means[measure]) for spelling, measure in measures.items()}


def evaluate_with_ranx(gold: str, run: str) -> dict[str, float]:
    import ranx

    names = {
        "ndcg@10": "ndcg@10",
        "ap": "map",
        "rr": "mrr",
        "recall@100": "recall@100",
        "precision@10": "precision@10",
    }
    judgements = ranx.Qrels.from_file(gold, kind="trec")
    rankings = ranx.Run.from_file(run, kind="trec")
    means = ranx.evaluate(judgements, rankings, list(names.values()))
    return {spelling: float(means[name]) for spelling, name in names.items()}


def evaluate_with_ranx_for_the_first_time(gold: str, run: str) -> dict[str, float]:
    """As on a machine where ranx was just installed: nothing is compiled yet."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        return evaluate_with_ranx(gold, run)


def parse_with_polars(gold: str, run: str) -> dict[str, int]:
    import polars

    frame = polars.scan_csv(run, separator=" ", has_header=False).collect()
    return {"lines": frame.height}


def count_compiled_functions() -> int:
    """Count the compiled functions that Numba has stored for ranx; none means that its cache is cold."""
    specification = util.find_spec("ranx")
    installed = (specification and specification.submodule_search_locations) or []
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    return sum(1 for folder in ([chosen] if chosen else installed) for _ in Path(folder).rglob("*.nbc"))


def describe(gold: str, run: str) -> dict[str, Any]:
    versions = {package: metadata.version(package) for package in PACKAGES}
    return {"versions": versions, "ranx_compiled_functions": count_compiled_functions()}


TOOLS = {
    "pytrec_eval": evaluate_with_pytrec_eval,
    "ir_measures": evaluate_with_ir_measures,
    "ranx": evaluate_with_ranx,
    "ranx-first": evaluate_with_ranx_for_the_first_time,
    "parse": parse_with_polars,
    "describe": describe,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", choices=TOOLS)
    parser.add_argument("gold", nargs="?", default="", help="TREC judgements")
    parser.add_argument("run", nargs="?", default="", help="TREC run")
    arguments = parser.parse_args()
    print(json.dumps(TOOLS[arguments.tool](arguments.gold, arguments.run)), flush=True)


if __name__ == "__main__":
    main()
