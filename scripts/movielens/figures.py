"""What the README of the sample says about the log, computed by rankjury itself from the files as they lie there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from rankjury.core.params import Setting
from rankjury.core.types import Bools, Gold, gathered
from rankjury.evaluation.evaluate import evaluate, resolve_measures
from rankjury.recsys.audit import audit
from rankjury.recsys.data.attributes import SideFeatures, read_items, side_features
from rankjury.recsys.data.log import Log
from rankjury.recsys.data.read import read_log
from rankjury.recsys.models import make_recommender
from rankjury.recsys.recommend import recommend
from rankjury.recsys.split import Window, window_sizes
from rankjury.recsys.splitting import split_log
from rankjury.recsys.task import Task
from rankjury.recsys.tiers import Tiers, user_tiers

__all__ = ["MODELS", "print_figures"]

COLD = 10
"""A movie of fewer ratings in training is cold."""
MODELS: Mapping[str, tuple[str, Mapping[str, Setting]]] = {
    "random": ("random", {}),
    "popularity": ("popularity", {}),
    "popularity, 180 days": ("popularity", {"days": 180.0}),
    "item-knn": ("item-knn", {}),
    "svd": ("svd", {}),
    "svd of stars": ("svd", {"values": "ratings"}),
    "als": ("als", {}),
    "bpr": ("bpr", {}),
    "ease": ("ease", {}),
    "content": ("content", {}),
    "hybrid": ("hybrid", {"trust": 0.3}),
}


def print_figures(folder: Path) -> None:
    """The log, its windows, its drift, and nDCG@10 of some models."""
    items = read_items(folder / "movies.csv")
    log = read_log(folder / "ratings.csv", catalogue=items)
    features = side_features(log, items)
    for lines in (told_log(log), told_windows(log), told_drift(log, features), told_models(log, features)):
        print("\n".join(lines), end="\n\n")


def told_log(log: Log) -> Iterator[str]:
    found, rows = audit(log), log.per_user
    idle = (log.per_item == 0).sum()
    yield f"{len(log):,} ratings, {len(log.users)} users, {len(log.items)} movies, {idle} of them never rated"
    yield f"ratings a user: least {rows.min()}, median {np.median(rows):g}, mean {rows.mean():.1f}, most {rows.max()}"
    yield f"users of 200 ratings and more: {(rows >= 200).sum()}; of 300 and more: {(rows >= 300).sum()}"
    shares = np.bincount(log.value.astype(int), minlength=6)[1:] / len(log)
    yield f"mean {log.value.mean():.2f}; shares of 1 to 5 stars: {' '.join(f'{one:.3f}' for one in shares)}"
    yield f"Gini of items {found.items.gini:.3f}, of users {found.users.gini:.3f}"
    top = np.sort(log.per_item)[::-1][: len(log.items) // 5]
    yield f"share of the ratings that the 20 % most rated movies have: {top.sum() / len(log):.3f}"
    yield f"ratings in the same second as another of the user: {tied_share(log):.3f}"


def tied_share(log: Log) -> float:
    """How many rows have another of the same user and time."""
    assert log.time is not None
    _, place, size = np.unique(np.stack((log.user, log.time)), axis=1, return_inverse=True, return_counts=True)
    return float((size[place] > 1).mean())


def told_windows(log: Log) -> Iterator[str]:
    split = split_log(log)
    trained = split.window("train").per_item > 0
    for name, found in window_sizes(split).items():
        yield f"{name}: {found['rows']:,} ratings, {found['users']} users, {found['items']} movies, to {found['to']}"
        yield f"    not in training: {found['cold_users']} users, {found['cold_items']} movies"
    late = split.window("test").item
    yield f"share of the test ratings that are of movies not in training: {(~trained[late]).mean():.3f}"


def told_drift(log: Log, features: SideFeatures) -> Iterator[str]:
    """Shares of ratings that genres have in the first and last year of the log; a movie counts for all its genres."""
    assert log.time is not None
    year = 365 * 86_400
    flags = np.asarray(features.items["genre"])
    first = flags[log.item[log.time < log.time.min() + year]].mean(axis=0)
    last = flags[log.item[log.time > log.time.max() - year]].mean(axis=0)
    for place in np.argsort(last / first):
        yield f"{features.labels['genre'][place]:12} {first[place]:.3f} → {last[place]:.3f}"


def told_models(log: Log, features: SideFeatures) -> Iterator[str]:
    """Means over users; those of cold movies count only such movies, and only users of whom some were held out."""
    split = split_log(log)
    windows: tuple[Window, ...] = ("validation", "test")
    for window in windows:
        task = Task(split, window, features=features)
        groups, cold = groups_of(task), gold_of_cold(task)
        sizes = [*(held.sum() for held in groups.values()), len(cold.queries)]
        yield f"{window + ', nDCG@10':22}" + "".join(f"{name:>12}" for name in (*groups, "cold movies"))
        yield f"{'users':22}" + "".join(f"{size:>12}" for size in sizes)
        for label, (model, settings) in MODELS.items():
            means = scores_of(task, model, settings, groups, cold)
            yield f"{label:22}" + "".join(f"{mean:12.3f}" for mean in means)


def groups_of(task: Task) -> dict[str, Bools]:
    """Which of the task's users were in training, and in which quarter of those who were by their activity."""
    trained = task.train.per_user[task.users] > 0
    activity = user_tiers(task, Tiers())[0]
    place = activity.place[task.users]
    tiers = {label: trained & (place == number) for number, label in enumerate(activity.labels)}
    return {"all": np.ones_like(trained), "new": ~trained, "known": trained, **tiers}


def gold_of_cold(task: Task) -> Gold:
    """What was held out of movies that have fewer than ten ratings in training."""
    starts, at = gathered(task.held_out.starts, task.users)
    cold = task.train.per_item[task.held_out.items[at]] < COLD
    user = np.repeat(np.arange(task.users.size), np.diff(starts))[cold]
    kept, sizes = np.unique(user, return_counts=True)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    items = task.log.items.gather(task.held_out.items[at][cold])
    return Gold(task.gold.queries.gather(kept), starts, items, task.held_out.values[at][cold], source="cold movies")


def scores_of(
    task: Task, model: str, settings: Mapping[str, Setting], groups: Mapping[str, Bools], cold: Gold
) -> Iterator[float]:
    """The mean in each group of users, then that of cold movies."""
    made = make_recommender(model, dict(settings))
    made.fit(task.train, task.features)
    ranking = recommend(made, task, 10).ranking(task, model)
    asked = resolve_measures(["ndcg@10"])
    found = evaluate(task.gold, ranking, asked)
    values = dict(zip(found.queries, found["ndcg@10"], strict=True))
    by_user = np.array([values[user] for user in task.log.users.gather(task.users)])
    for held in groups.values():
        yield float(by_user[held].mean())
    yield float(evaluate(cold, ranking, asked)["ndcg@10"].mean())
