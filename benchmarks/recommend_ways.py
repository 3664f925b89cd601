"""Times one of rankjury's ways, or a plain one in NumPy, of recommending and of evaluating recommendations.

A process reads its data, calls once what it measures, then times several calls, of which the best counts. It prints
the seconds as JSON, with the means of the measures where there are any. What does not depend on the model is made
before: the task with what users took, what was held out, tiers and genres.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

# As the command `rankjury` does: threads of OpenBLAS that wait for more work would hold the core that selection needs.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "14")

import numpy as np

# At the end: what the standard library has too, such as `statistics`, is to be taken from there.
sys.path.append(str(Path(__file__).resolve().parent))

K, CUTS, REL = 20, (5, 10, 20), 4.0
CALLS, LOOP_CALLS = 7, 1
BLOCK = 1024
NAMES = ("precision", "recall", "hit_rate", "rr", "ap")
ACCURACY = (*(f"ndcg@{k}" for k in CUTS), *(f"{name}(rel=4)@{k}" for name in NAMES for k in CUTS))
BEYOND = ("coverage", "exposure_gini", "exposure_entropy", "personalisation", "mean_popularity", "novelty",
          "serendipity", "diversity", "calibration")  # fmt: skip
SIX = ("precision@10", "recall@10", "hit_rate@10", "rr@10", "ap@10", "ndcg@10")

Found = dict[str, Any]
Work = Callable[[], Any]
Arrays = dict[str, Any]


def read(folder: Path) -> Arrays:
    return {file.stem: np.load(file) for file in folder.glob("*.npy")}


def make_task(data: Arrays) -> Any:
    """Everything that is the same for all models."""
    import polars as pl

    from rankjury.recsys.data.attributes import SideFeatures
    from rankjury.recsys.data.log import Log
    from rankjury.recsys.split import Split
    from rankjury.recsys.task import Task

    users, items = (pl.Series([f"{n:05}" for n in range(len(data[f"factors_of_{of}"]))]) for of in ("users", "items"))
    log = Log(users, items, data["user"], data["item"], data["rating"], source="benchmark")
    split = Split(log, np.where(data["held"], 2, 0).astype(np.int8), {"kind": "made"})
    task = Task(split, features=SideFeatures(items={"genre": data["genres"]}))
    _ = task.gold, task.excluded, task.extra_candidates, task.background
    return task


def model_of(data: Arrays) -> Any:
    from rankjury.recsys.models import Recommender

    class Factors(Recommender):
        description = "factors as they are"

        def fit(self, train: Any, features: Any, progress: Any = None) -> None: ...

        def score(self, users: Any, items: Any) -> Any:
            return data["factors_of_users"][users] @ data["factors_of_items"][items].T

        def factors(self) -> Any:
            return data["factors_of_users"], data["factors_of_items"]

    return Factors()


def assessing(data: Arrays, task: Any) -> Callable[[Any], Found]:
    """A ranking under all measures, for all users and by tiers of users and items."""
    from rankjury.evaluation.compare import assess
    from rankjury.evaluation.evaluate import resolve_measures
    from rankjury.recsys.tiers import Tiers, item_cuts, user_cuts

    asked = resolve_measures([*ACCURACY, *(f"{name}@{K}" for name in BEYOND)])
    of_users, of_items = user_cuts(task, Tiers()), item_cuts(task, Tiers())

    def work(ranking: Any) -> Found:
        report = assess(
            task.gold, {"m": ranking}, asked, slices=[of_users], item_slices=[of_items],
            background=task.background,
        )  # fmt: skip
        return {label: one.mean for label, one in report.estimates["m"].items()}

    return work


def by_rankjury(data: Arrays) -> Work:
    from rankjury.recsys.recommend import recommend

    task, model = make_task(data), model_of(data)
    assess = assessing(data, task)
    return lambda: assess(recommend(model, task, K, scored=False).ranking(task))


def by_rankjury_search(data: Arrays) -> Work:
    from rankjury.recsys.recommend import recommend

    task, model = make_task(data), model_of(data)
    return lambda: recommend(model, task, K, scored=False).items


def by_rankjury_assessing(data: Arrays) -> Work:
    from rankjury.recsys.recommend import recommend

    task = make_task(data)
    assess = assessing(data, task)
    ranking = recommend(model_of(data), task, K, scored=False).ranking(task)
    return lambda: assess(ranking)


def by_rankjury_task(data: Arrays) -> Work:
    return lambda: make_task(data) and None


def by_nearest(data: Arrays) -> Work:
    from rankjury.retrieval.knn.search import nearest

    return lambda: nearest(data["factors_of_users"], data["factors_of_items"], K, metric="ip").items


def by_bare(data: Arrays) -> Work:
    """Products and selection, block by block: nothing masked, nothing in order."""
    users, items = data["factors_of_users"], data["factors_of_items"]

    def work() -> Any:
        found = np.empty((len(users), K), dtype=np.int64)
        for first in range(0, len(users), BLOCK):
            products = users[first : first + BLOCK] @ items.T
            found[first : first + BLOCK] = np.argpartition(products, -K, axis=1)[:, -K:]
        return found

    return work


def by_loop(data: Arrays) -> Work:
    """The same, user by user."""
    from recommend_loop import work_by_user

    return work_by_user(data, K, CUTS, REL)


def by_arrays(data: Arrays) -> Work:
    from rankjury.evaluation.coded import evaluate_arrays

    return lambda: evaluate_arrays(data["shown"], data["held_out"], measures=SIX, dialect="rectools").mean()


def by_names(data: Arrays) -> Work:
    """The same by names, as from a file."""
    import rankjury

    users = [str(n) for n in range(len(data["shown"]))]
    gold = {user: dict.fromkeys(map(str, row), 1.0) for user, row in zip(users, data["held_out"].tolist(), strict=True)}
    ranking = {user: list(map(str, row)) for user, row in zip(users, data["shown"].tolist(), strict=True)}
    judged, ranked = rankjury.as_gold(gold), rankjury.as_ranking(ranking)
    return lambda: rankjury.evaluate(judged, ranked, SIX, dialect="rectools").mean()


def same_as(dialect: str) -> Callable[[Arrays], Work]:
    """What a peer's conventions give, of the recommendations that it got; to hold against its own means."""

    def prepare(data: Arrays) -> Work:
        from rankjury.evaluation.coded import evaluate_arrays

        relevant = data["held"] & (data["rating"] >= REL)
        starts = np.searchsorted(data["user"][relevant], np.arange(len(data["factors_of_users"]) + 1))
        held = (starts, data["item"][relevant])
        measures = [f"{name}@{k}" for name in (*NAMES, "ndcg") for k in CUTS]
        return lambda: evaluate_arrays(data["recommended"], held, measures=measures, dialect=dialect).mean()

    return prepare


WAYS: dict[str, tuple[Callable[[Arrays], Work], str]] = {
    "rankjury": (by_rankjury, "rankjury"),
    "rankjury-search": (by_rankjury_search, "rankjury"),
    "rankjury-assessing": (by_rankjury_assessing, "rankjury"),
    "rankjury-task": (by_rankjury_task, "rankjury"),
    "nearest": (by_nearest, "rankjury"),
    "bare": (by_bare, "numpy"),
    "loop": (by_loop, "numpy"),
    "rankjury-arrays": (by_arrays, "rankjury"),
    "rankjury-names": (by_names, "rankjury"),
    "as-rectools": (same_as("rectools"), "rankjury"),
    "as-lenskit": (same_as("lenskit"), "rankjury"),
}


def hand_over(folder: Path) -> None:
    """Write for the peers what is recommended, and the tier of each user and item."""
    from rankjury.recsys.recommend import recommend
    from rankjury.recsys.tiers import Tiers, item_tiers, user_tiers

    data = read(folder)
    task = make_task(data)
    np.save(folder / "recommended.npy", recommend(model_of(data), task, K).items)
    of_users, of_items = user_tiers(task, Tiers()), item_tiers(task, Tiers())
    for name, tier in zip(("activity", "user", "popularity", "item"), (*of_users, *of_items), strict=True):
        np.save(folder / f"tier_{name}.npy", tier.place)


def time_way(way: str, folder: Path, calls: int) -> Found:
    prepare, package = WAYS[way]
    work = prepare(read(folder))
    if way != "loop":
        work()
    seconds = []
    for _ in range(LOOP_CALLS if way == "loop" else calls):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    means = result if isinstance(result, dict) else None
    return {"seconds": min(seconds), "calls": seconds, "means": means, "version": metadata.version(package)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=(*WAYS, "hand-over"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--calls", type=int, default=CALLS)
    arguments = parser.parse_args()
    if arguments.way == "hand-over":
        hand_over(arguments.folder)
        print("{}", flush=True)
    else:
        print(json.dumps(time_way(arguments.way, arguments.folder, arguments.calls)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
