"""Write tests/peers/data/NAME.json: what a library for recommenders says of the cases in this file.

    python tests/peers/make_recommender_oracles.py rectools|lenskit|recbole|replay

is run where that library is installed and rankjury need not be; the tests then need only the tables. Each library gets
what it would be given in practice: the items of a grade above 0 as test data, and lists by score descending.
"""

import json
import math
import platform
import random
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

CUTS = (1, 3, 5, 10)
ITEMS = [f"i{n:02}" for n in range(1, 41)]
Gold = dict[str, dict[str, int]]
Run = dict[str, list[tuple[str, float]]]
Values = dict[str, dict[str, float]]
"""Of each measure the values by user."""


def make_case(seed: int, grades: tuple[int, ...], *, tied: bool = False, gaps: bool = False) -> dict[str, Any]:
    """Users with 1 to 14 judged items and lists of 1 to 15; with gaps some have no list, an empty one, or no gold."""
    chance = random.Random(seed)
    gold: Gold = {}
    run: Run = {}
    for user in [f"u{n:02}" for n in range(1, 13)]:
        judged = chance.sample(ITEMS, chance.randint(1, 14))
        gold[user] = {item: chance.choice(grades) for item in judged}
        shown = chance.sample(ITEMS, chance.randint(1, 15))
        scores = [chance.choice((0.5, 1.0, 2.0)) if tied else round(chance.random(), 6) for _ in shown]
        run[user] = sorted(zip(shown, scores, strict=True), key=lambda pair: -pair[1])
    if gaps:
        gold["u02"] = dict.fromkeys(gold["u02"], 0)
        run["u04"] = []
        del run["u03"], run["u07"]
    return {"gold": gold, "run": run}


CASES = {
    "binary": make_case(1, (1,)),
    "graded": make_case(2, (1, 2, 3, 4, 5)),
    "not all relevant": make_case(3, (0, 0, 1, 4)),
    "gaps": make_case(4, (0, 1, 2), gaps=True),
    "tied": make_case(5, (1,), tied=True),
}


def relevant_items(gold: Gold) -> dict[str, list[str]]:
    return {user: [item for item, grade in judged.items() if grade > 0] for user, judged in gold.items()}


def rows_of(lists: dict[str, list[str]]) -> list[tuple[str, str, int]]:
    return [(user, item, rank) for user, items in lists.items() for rank, item in enumerate(items, 1)]


def by_rectools(gold: Gold, run: Run) -> tuple[Values, dict[str, float]]:
    import pandas as pd
    from rectools import metrics as theirs

    columns = ["user_id", "item_id", "rank"]
    shown = pd.DataFrame(rows_of({user: [item for item, _ in ranked] for user, ranked in run.items()}), columns=columns)
    held = pd.DataFrame(rows_of(relevant_items(gold)), columns=columns)[columns[:2]]
    names = ("NDCG", "MAP", "MRR", "Precision", "Recall", "F1Beta", "HitRate")
    metrics = {f"{name}@{k}": getattr(theirs, name)(k=k) for name in names for k in CUTS}
    metrics |= {f"ndcg(ideal=k)@{k}": theirs.NDCG(k=k, divide_by_achievable=True) for k in CUTS}
    metrics |= {f"recall(over=min)@{k}": theirs.Precision(k=k, r_precision=True) for k in CUTS}
    values = {label: dict(metric.calc_per_user(shown, held)) for label, metric in metrics.items()}
    return values, theirs.calc_metrics(metrics, reco=shown, interactions=held)


def by_lenskit(gold: Gold, run: Run) -> tuple[Values, dict[str, float]]:
    from lenskit.data import ItemList, ItemListCollection
    from lenskit.metrics import ranking as theirs
    from lenskit.metrics.bulk import RunAnalysis

    relevant = relevant_items(gold)
    test, shown = ItemListCollection(["user_id"]), ItemListCollection(["user_id"])
    for user, items in relevant.items():
        if items:
            test.add(ItemList(items, rating=[float(gold[user][item]) for item in items]), user_id=user)
    for user, ranked in run.items():
        shown.add(ItemList([item for item, _ in ranked], ordered=True), user_id=user)
    names = ["NDCG", "DCG", "RecipRank", "Precision", "Recall", "Hit", "RBP"]
    if all(relevant.values()):  # else it divides by zero
        names.append("AveragePrecision")
    analysis = RunAnalysis()
    for n in (*CUTS, None):
        for name in names:
            analysis.add_metric(getattr(theirs, name)(n))
        if all(relevant.values()):  # else it looks for ratings of nothing
            for name in ("ndcg", "dcg"):
                label = f"{name}(gain=linear)" + (f"@{n}" if n else "")
                analysis.add_metric(getattr(theirs, name.upper())(n, gain="rating"), label)
    result = analysis.measure(shown, test)
    values = {label: dict(column) for label, column in result.list_metrics().items()}
    return values, dict(result.list_summary()["mean"])


def by_recbole(gold: Gold, run: Run) -> tuple[Values, dict[str, float]]:
    """Scores of all items; what is not in a list is masked, and items that nobody has fill it up."""
    import torch
    from recbole.evaluator import Collector, Evaluator

    users = [user for user, items in relevant_items(gold).items() if items]
    items = [*ITEMS, *(f"filler{n}" for n in range(max(CUTS)))]
    scores = torch.full((len(users), len(items)), -math.inf, dtype=torch.float64)
    scores[:, len(ITEMS) :] = -1000.0 - torch.arange(max(CUTS))
    held = [(row, items.index(item)) for row, user in enumerate(users) for item in relevant_items(gold)[user]]
    for row, user in enumerate(users):
        for item, score in run.get(user, []):
            scores[row, items.index(item)] = score
    names = ["NDCG", "MAP", "MRR", "Precision", "Recall", "Hit"]
    config = {"metrics": names, "topk": list(CUTS), "metric_decimal_place": 17}
    config |= {"eval_args": {"mode": {"valid": "full", "test": "full"}}, "device": "cpu"}
    collector, evaluator = Collector(config), Evaluator(config)
    collector.eval_batch_collect(scores, None, *map(torch.tensor, zip(*held, strict=True)))
    struct = collector.get_data_struct()
    values: Values = {}
    for name, metric in evaluator.metric_class.items():
        found, numbers = metric.used_info(struct)
        needed = (found, numbers) if name in ("ndcg", "map", "recall") else (found,)
        for k in CUTS:
            column = metric.metric_info(*needed)[:, k - 1]
            values[f"{name}@{k}"] = dict(zip(users, column.tolist(), strict=True))
    return values, dict(evaluator.evaluate(struct))


def by_replay(gold: Gold, run: Run) -> tuple[Values, dict[str, float]]:
    """As data frames; as lists where users have nothing relevant, for frames cannot tell of them."""
    import pandas as pd
    from replay import metrics as theirs

    held: Any = relevant_items(gold)
    shown: Any = run
    if all(held.values()):
        rows = [(user, item, score) for user, ranked in run.items() for item, score in ranked]
        shown = pd.DataFrame(rows, columns=["query_id", "item_id", "rating"])
        held = pd.DataFrame(rows_of(held), columns=["query_id", "item_id", "rank"])[["query_id", "item_id"]]
    values: Values = {}
    means: dict[str, float] = {}
    for name in ("NDCG", "MAP", "MRR", "Precision", "Recall", "HitRate"):
        metric = getattr(theirs, name)
        each = metric(list(CUTS), mode=theirs.PerUser())(shown, held)
        values |= {label.replace("-PerUser", ""): by_user for label, by_user in each.items()}
        means |= metric(list(CUTS))(shown, held)
    return values, means


LIBRARIES: dict[str, tuple[str, Callable[[Gold, Run], tuple[Values, dict[str, float]]]]] = {
    "rectools": ("RecTools", by_rectools),
    "lenskit": ("lenskit", by_lenskit),
    "recbole": ("recbole", by_recbole),
    "replay": ("replay-rec", by_replay),
}
ARBITRARY_TIES = {"recbole"}


def main(name: str) -> None:
    package, values_of = LIBRARIES[name]
    said = {}
    for case, data in CASES.items():
        if case == "tied" and name in ARBITRARY_TIES:
            continue
        values, means = values_of(data["gold"], data["run"])
        said[case] = {
            label: {"mean": float(means[label]), "users": {user: float(x) for user, x in sorted(by_user.items())}}
            for label, by_user in values.items()
        }
    made_with = {package: version(package), "numpy": version("numpy"), "python": platform.python_version()}
    target = Path(__file__).parent / "data" / f"{name}.json"
    target.write_text(json.dumps({"made_with": made_with, "cases": said}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
