"""Defaults of the recommenders, checked on any log with several splits: nDCG@10 on the test or validation window.

Every model is fitted with its defaults, with those of rankjury 0.1.0, and beside popularity; nothing is tuned. The log
is a file or a MovieLens folder; nothing is downloaded::

    python benchmarks/defaults.py ml-1m
    python benchmarks/defaults.py ml-latest-small --models ease,als --splits temporal,user-fraction

It prints a table in Markdown: one row per model and setting, one column per split. Needs rankjury[recsys].
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Mapping
from typing import Any

import rankjury
from rankjury.recsys.data.attributes import Attributes, read_items
from rankjury.recsys.task import Task

SPLITS: Mapping[str, Mapping[str, Any]] = {
    "temporal": {"kind": "temporal", "fractions": (0.8, 0.1, 0.1)},
    "temporal 60": {"kind": "temporal", "fractions": (0.6, 0.2, 0.2)},
    "leave-last": {"kind": "leave-last", "n": 5},
    "user-fraction": {"kind": "user-fraction", "fractions": (0.8, 0.1, 0.1)},
    "random": {"kind": "random", "fractions": (0.8, 0.1, 0.1)},
}
BEFORE: Mapping[str, Mapping[str, Any]] = {
    "item-knn": {"neighbours": 100, "shrinkage": 0.0},
    "svd": {"factors": 64},
    "als": {"factors": 64, "alpha": 5.0},
    "bpr": {"factors": 64, "regularization": 0.01},
    "ease": {"regularization": 250.0},
    "fm": {"negatives": 2},
}
"""The defaults of rankjury 0.1.0, where they were others."""
MODELS = ("item-knn", "user-knn", "svd", "als", "bpr", "ease", "fm", "hybrid")
MEASURE = "ndcg@10"


def mean_of(task: Task, model: str, params: Mapping[str, Any]) -> float:
    ranking = rankjury.recommend(task, model, 10, params=dict(params))
    return float(rankjury.evaluate(task.gold, ranking, [MEASURE]).mean()[MEASURE])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", help="a log, or a MovieLens folder")
    parser.add_argument("--items", help="the catalogue; that of the folder if unset")
    parser.add_argument("--models", default=",".join(MODELS), help="names, with commas between")
    parser.add_argument("--splits", default=",".join(SPLITS), help="names, with commas between")
    parser.add_argument("--window", default="test", choices=("validation", "test"))
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    items: Attributes | None = read_items(arguments.items) if arguments.items else None
    names = arguments.splits.split(",")
    tasks = {
        name: rankjury.held_out(arguments.log, items=items, window=arguments.window, **SPLITS[name]) for name in names
    }
    print("| model | " + " | ".join(names) + " | seconds |\n|:--|" + "--:|" * (len(names) + 1), flush=True)
    rows = ("rows of training", lambda task: len(task.train)), ("users", lambda task: task.users.size)
    known = ("of them in training", lambda task: int((task.train.per_user[task.users] > 0).sum()))
    for label, value in (*rows, known):
        print(f"| *{label}* | " + " | ".join(f"{value(task):,}" for task in tasks.values()) + " | |", flush=True)
    for model in ("popularity", *arguments.models.split(",")):
        settings = {"before": BEFORE[model]} if model in BEFORE else {}
        for label, params in {"": {}, **settings}.items():
            began = time.perf_counter()
            means = [mean_of(task, model, params) for task in tasks.values()]
            shown = f"{model}, {label}" if label else model
            cells = " | ".join(f"{mean:.4f}" for mean in means)
            print(f"| {shown} | {cells} | {time.perf_counter() - began:.0f} |", flush=True)


if __name__ == "__main__":
    main()
