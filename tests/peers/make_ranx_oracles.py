"""Write tests/peers/data/ranx.json: cases with the values and fused lists that ranx computes for them.

    python tests/peers/make_ranx_oracles.py

is run where ranx is installed (benchmarks/requirements.txt). ranx compiles itself for a minute when it is first used,
so the suite compares with the recorded values instead.

ranx sorts with numba's quicksort, which is not stable; up to 15 items it is an insertion sort, which is. So equal
scores keep their order up to 15 items, and longer lists have no ties here. ranx compiles itself anew for every length
of the longest id, so all ids have one length.
"""

import json
import platform
import random
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

STABLE_UP_TO = 15
CUTS = (1, 3, 10, 20, 100)
WITH_CUT = ("hits", "hit_rate", "precision", "recall", "f1", "mrr", "map", "dcg", "dcg_burges", "ndcg", "ndcg_burges")
PLAIN = (*WITH_CUT, "r-precision", "rbp.95", "rbp.5")
NAMES = (*PLAIN, *(f"{name}-l2" for name in PLAIN), *(f"{name}@{k}" for name in WITH_CUT for k in CUTS), "ndcg@10-l2")
BPREF = ("bpref", "bpref-l2")
ITEMS = tuple(f"item{n:02}" for n in range(40))
QUERIES = ("q1", "q2", "Q2", "q3", "77")
TIED_SCORES = (0.0, 1.0, 2.0, 0.5, -1.0)
FUSION_METHODS = {
    "rrf": "rrf",
    "isr": "isr",
    "combsum": "sum",
    "combmnz": "mnz",
    "combmax": "max",
    "borda": "bordafuse",
}
FUSION_NORMS = {"none": None, "min-max": "min-max", "z-score": "zmuv", "sum": "sum", "rank": "rank"}
Lists = dict[str, dict[str, float]]


def make_case(seed: int, *, depths: tuple[int, int], tied: bool, both_judged: bool = False) -> dict[str, Lists]:
    """Make judgments and a run: some queries are in only one of them, grades may be negative.

    With ``both_judged`` every query has a relevant and a non-relevant judgment and no negative one. Without a
    non-relevant one ranx divides 0 by 0, and its bpref is NaN where rankjury's is 1; without a relevant one its
    division raises inside the parallel loop, which leaves that query and all after it at 0.
    """
    draw = random.Random(seed)
    shared = draw.choice(QUERIES)
    judged = {shared, *draw.sample(QUERIES, draw.randint(0, 3))}
    retrieved = {shared, *draw.sample(QUERIES, draw.randint(0, 3))}
    grades = (0, 1, 2, 3) if both_judged else (-2, -1, 0, 1, 2, 3)
    gold, run = {}, {}
    for query in QUERIES:
        if query in judged:
            items = draw.sample(ITEMS, draw.randint(1, 15))
            gold[query] = {item: draw.choice(grades) for item in items} | (
                {ITEMS[0]: 0, ITEMS[1]: 2} if both_judged else {items[0]: draw.choice((0, 1, 2, 3))}
            )
        if query in retrieved:
            items = draw.sample(ITEMS, draw.randint(*depths))
            run[query] = {item: draw.choice(TIED_SCORES) if tied else draw.uniform(0, 1) for item in items}
    return {"gold": gold, "run": run}


def make_runs(seed: int) -> list[Lists]:
    """Make three runs with the same queries; no two items of a list have the same score."""
    draw = random.Random(seed)
    runs = []
    for _ in range(3):
        run = {}
        for query in QUERIES[:3]:
            items = draw.sample(ITEMS[:30], draw.randint(1, 20))
            places = draw.sample(range(-3, len(items) - 3), len(items))
            run[query] = {item: place * 1.3 for item, place in zip(items, places, strict=True)}
        runs.append(run)
    return runs


def cut(runs: list[Lists], depth: int) -> list[Lists]:
    return [
        {query: dict(sorted(items.items(), key=lambda pair: -pair[1])[:depth]) for query, items in run.items()}
        for run in runs
    ]


def evaluate(case: dict[str, Lists], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the case with ranx's values by query and its means, both in the order of the names."""
    from ranx import Qrels, Run, evaluate as ranx_evaluate

    run = Run(case["run"])
    ranx_evaluate(Qrels(case["gold"]), run, list(names), make_comparable=True)
    values = {query: [float(run.scores[name][query]) for name in names] for query in run.scores[names[0]]}
    return {**case, "values": values, "means": [float(run.mean_scores[name]) for name in names]}


def fuse(seed: int) -> dict[str, Any]:
    """Return runs and what ranx fuses them to, each with the arguments of rankjury's ``Fusion``.

    ranx has no depth: it gets lists that were cut before.
    """
    from ranx import Run, fuse as ranx_fuse

    def fused(lists: list[Lists], method: str, norm: str | None = None, **params: Any) -> Lists:
        result = ranx_fuse([Run(run) for run in lists], norm=norm, method=method, params=params).to_dict()
        return {query: {item: float(score) for item, score in items.items()} for query, items in result.items()}

    draw = random.Random(seed)
    runs, depth, c = make_runs(seed), draw.randint(1, 20), draw.choice((60, 1, 10))
    weights = [draw.choice((0.1, 0.5, 1.0, 3.0)) for _ in runs]
    results: list[tuple[dict[str, Any], Lists]] = [
        ({"method": "rrf", "c": c}, fused(runs, "rrf", k=c)),
        ({"method": "rrf", "c": c, "depth": depth}, fused(cut(runs, depth), "rrf", k=c)),
        ({"method": "combsum", "weights": weights}, fused(runs, "wsum", "min-max", weights=weights)),
        ({"method": "borda", "weights": weights}, fused(runs, "w_bordafuse", weights=weights)),
    ]
    for method in ("isr", "borda"):
        results.append(({"method": method}, fused(runs, FUSION_METHODS[method])))
        results.append(({"method": method, "depth": depth}, fused(cut(runs, depth), FUSION_METHODS[method])))
    for method in ("combsum", "combmnz", "combmax"):
        for ours, theirs in FUSION_NORMS.items():
            results.append(({"method": method, "normalise": ours}, fused(runs, FUSION_METHODS[method], theirs)))
        cut_result = fused(cut(runs, depth), FUSION_METHODS[method], "min-max")
        results.append(({"method": method, "depth": depth}, cut_result))
    return {"runs": runs, "fused": results}


def condorcet(seed: int) -> dict[str, Any]:
    """Return three orders of the same items, drawn until the majorities make one order, and ranx's places."""
    from ranx import Run, fuse as ranx_fuse

    draw = random.Random(seed)
    items = ITEMS[: draw.randint(2, 8)]
    while True:
        orders = [draw.sample(items, len(items)) for _ in range(3)]
        wins = sorted(
            sum(sum(order.index(a) < order.index(b) for order in orders) > 1 for b in items if b != a) for a in items
        )
        if all(high == low + 1 for low, high in pairwise(wins)):
            break
    runs = [{"q1": {item: -float(place) for place, item in enumerate(order)}} for order in orders]
    return {"runs": runs, "fused": ranx_fuse([Run(run) for run in runs], method="condorcet").to_dict()["q1"]}


def main() -> None:
    constant = {"gold": {"q": {ITEMS[1]: 1}}}
    content = {
        "made_with": {name: version(name) for name in ("ranx", "numba", "numpy")}
        | {"python": platform.python_version()},
        "names": NAMES,
        "short lists with ties": [
            evaluate(make_case(seed, depths=(1, STABLE_UP_TO), tied=True), NAMES) for seed in range(36)
        ],
        "long lists": [evaluate(make_case(seed, depths=(10, 30), tied=False), NAMES) for seed in range(100, 116)],
        "one score": [
            evaluate(constant | {"run": {"q": dict.fromkeys(order, 1.0)}}, NAMES)
            for order in (ITEMS[:STABLE_UP_TO], ITEMS[STABLE_UP_TO - 1 :: -1])
        ],
        "bpref": [
            *(
                evaluate(make_case(seed, depths=(1, STABLE_UP_TO), tied=True, both_judged=True), BPREF)
                for seed in range(200, 230)
            ),
            # To trec_eval an item with a negative grade is unjudged; ranx counts it among the non-relevant.
            evaluate(
                {
                    "gold": {"q": {ITEMS[0]: 1, ITEMS[1]: -1, ITEMS[2]: 0}},
                    "run": {"q": {ITEMS[1]: 2.0, ITEMS[0]: 1.0}},
                },
                BPREF,
            ),
        ],
        "fusion": [fuse(seed) for seed in range(300, 304)],
        "condorcet": [condorcet(seed) for seed in range(400, 412)],
    }
    target = Path(__file__).parent / "data" / "ranx.json"
    target.write_text(json.dumps(content, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
