"""Nothing that comes later is learnt from: whatever is planted after a cut-off, what is known before it stays."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rankjury.core.progress import NO_PROGRESS
from rankjury.plan.parse import CheckedPlan, read_plan
from rankjury.plan.run import execute_plan
from rankjury.plan.trials import prepare_subjects
from rankjury.recsys.data.attributes import SideFeatures, read_items, read_users, side_features
from rankjury.recsys.data.log import log_from_frame
from rankjury.recsys.models import RECOMMENDERS
from rankjury.recsys.recommend import recommend
from rankjury.recsys.split import Window
from rankjury.recsys.splitting import split_log
from rankjury.recsys.task import Catalogue, Sampled, Task, catalogue_mask
from rankjury.recsys.tiers import Tiers, describe, item_tiers, user_tiers
from rankjury.recsys.tuning.models import tune_model
from tests.recsys.models.made import QUICK, fitted
from tests.specs import slow_movielens as slow

WORLD = slow.made(5, users=16, items=24, rows=420)
T1, T2 = slow.cut_offs(WORLD.rows)
FUTURE_ITEMS = ("0", "00", "12a", "5", "zz")
"""Ids that stand before, between and behind all others; 5 is one that training lacks, too."""
FUTURE_USERS = ("00", "1x", "~")
LOST = "5"
"""An item that is taken out of everything before the test."""
MODELS = [
    "popularity", "random", "item-knn", "user-knn", "svd", "als", "bpr", "ease", "slim", "fm", "content", "hybrid",
]  # fmt: skip
SETTINGS = {**QUICK, "popularity": {"share": 0.5}}
TIERS = Tiers(cold_users=6, cold_items=6)
Rows = list[slow.Row]


def past(until: int) -> Rows:
    return [row for row in WORLD.rows if row[3] < until and row[1] != LOST]


def future(since: int, seed: int) -> Rows:
    """The log's own future at 0; else quite another one: new items that everybody takes, new users, other rows."""
    if not seed:
        return [row for row in WORLD.rows if row[3] >= since and row[1] != LOST]
    chance = random.Random(seed)
    users, items = sorted({row[0] for row in WORLD.rows}), sorted({row[1] for row in WORLD.rows} - {LOST})
    found = [
        (user, item, 5.0, since + chance.randrange(90)) for user in (*users, *FUTURE_USERS) for item in FUTURE_ITEMS
    ]
    found += [(user, item, 0.5, since + 7) for user in FUTURE_USERS for item in chance.sample(items, 9)]
    found += [(chance.choice(users), chance.choice(items), 1.0, since + 100_000) for _ in range(60)]
    chance.shuffle(found)
    return found


def log_of(rows: Rows, folder: Path) -> Path:
    """Rows that stand in any order."""
    mixed = random.Random(len(rows)).sample(rows, len(rows))
    lines = [f"{user},{item},{rating!r},{time}" for user, item, rating, time in mixed]
    path = folder / "ratings.csv"
    path.write_text("\n".join(["userId,movieId,rating,timestamp", *lines]) + "\n")
    return path


@cache
def genres(later: str = "Drama") -> str:
    """``later``: what an item of the future is."""
    lines = [f"{item},Film {item},{'|'.join(of) or '(no genres listed)'}" for item, of in WORLD.genres.items()]
    new = ["0,Film 0,Drama", f"00,Film 00,{later}", "12a,Film 12a,", f"zz,Film zz,Horror|{later}"]
    return "\n".join(["movieId,title,genres", *lines, *new]) + "\n"


@cache
def people(later: bool = False) -> str:
    """Ages are too many to be groups of their own; those of ``later`` are of another country, and older."""
    users = sorted({row[0] for row in WORLD.rows})
    lines = [f"{user},{'AB'[place % 2]},{20 + place}" for place, user in enumerate(users)]
    lines += [f"x{place},A,{30 + place / 7}" for place in range(30)]
    lines += [f"{user},Z,{90 + place}" for place, user in enumerate(FUTURE_USERS)] if later else []
    return "\n".join(["userId,country,age", *lines]) + "\n"


def task_of(
    rows: Rows,
    window: Window,
    catalogue: Catalogue = "seen",
    sampled: Sampled | None = None,
    facts: Path | None = None,
    users: Path | None = None,
) -> Task:
    columns = list(zip(*rows, strict=True))
    frame = pl.DataFrame(dict(zip(("user", "item", "value", "time"), columns, strict=True)))
    split = split_log(log_from_frame(frame), "dates", validation=str(T1), test=str(T2))
    mask, _ = catalogue_mask(catalogue, split, window, ("train",))
    known = SideFeatures()
    if facts is not None and users is not None:
        known = side_features(split.log, read_items(facts), read_users(users), trained=split.users_of("train"))
    return Task(split, window, ("train",), mask, sampled, known)


def both(window: Window, tmp_path: Path, **how: Any) -> tuple[Task, Task]:
    """The log as it is, and with another future: after training to hold against test, else after validation."""
    since = T1 if window == "test" else T2
    found = []
    for seed in (0, 1):
        items, users = tmp_path / f"movies{seed}.csv", tmp_path / f"users{seed}.csv"
        items.write_text(genres("Futurism" if seed else "Drama"))
        users.write_text(people(bool(seed)))
        found.append(task_of(past(since) + _after(since, seed), window, facts=items, users=users, **how))
    return found[0], found[1]


def _after(since: int, seed: int) -> Rows:
    """What validation and test hold, or test alone."""
    if since == T2 or not seed:
        return future(since, seed)
    return future(T1, 2) + future(T2, 1)


def codes(task: Task, ids: list[str], of: str) -> np.ndarray:
    known = task.log.users if of == "users" else task.log.items
    place = {one: code for code, one in enumerate(known.to_list())}
    return np.array([place[one] for one in ids])


def shared(ours: Task, theirs: Task) -> tuple[list[str], list[str]]:
    users = sorted(set(ours.log.users) & set(theirs.log.users))
    items = sorted(set(ours.log.items) & set(theirs.log.items))
    assert len(users) > 10 and len(items) > 15
    assert len(ours.log.items) < len(theirs.log.items) and len(ours.log.users) < len(theirs.log.users)
    return users, items


class TestTraining:
    """What was learnt by t1 is the same whatever validation and test hold."""

    @pytest.fixture
    def tasks(self, tmp_path: Path) -> tuple[Task, Task]:
        return both("test", tmp_path)

    def test_the_plant_is_one(self, tasks: tuple[Task, Task]) -> None:
        """Future items are the most popular of all, by far, and no row of training has them."""
        _, theirs = tasks
        often = dict(zip(theirs.log.items, theirs.log.per_item.tolist(), strict=True))
        assert min(often[item] for item in FUTURE_ITEMS) > max(
            n for item, n in often.items() if item not in FUTURE_ITEMS
        )
        assert not set(theirs.train.frame()["item"]) & set(FUTURE_ITEMS)
        assert not set(theirs.train.frame()["user"]) & set(FUTURE_USERS)

    def test_tiers(self, tasks: tuple[Task, Task]) -> None:
        users, items = shared(*tasks)
        found = []
        for task in tasks:
            about = describe(task, TIERS)
            edges = [
                (side, name, label, one["range"], one["train"], one["share"])
                for side, tiers in about.items()
                for name, tier in tiers.items()
                for label, one in tier.items()
            ]
            of_users = [tier.place[codes(task, users, "users")].tolist() for tier in user_tiers(task, TIERS)]
            of_items = [tier.place[codes(task, items, "items")].tolist() for tier in item_tiers(task, TIERS)]
            found.append((edges, of_users, of_items))
        assert found[0] == found[1]
        place = item_tiers(tasks[1], TIERS)[0].place[codes(tasks[1], list(FUTURE_ITEMS), "items")]
        assert place.tolist() == [2] * len(FUTURE_ITEMS)

    def test_what_measures_look_at(self, tasks: tuple[Task, Task]) -> None:
        users, items = shared(*tasks)
        found = []
        for task in tasks:
            known = task.background
            taken = dict(zip(known.items, known.popularity.tolist(), strict=True))
            starts, history = known.histories(pl.Series(users))
            ids = known.items.gather(history).to_list()
            found.append((known.n_users, [taken[item] for item in items], starts.tolist(), ids))
            assert all(taken.get(item, 0) == 0 for item in FUTURE_ITEMS)
        assert found[0] == found[1]

    @pytest.mark.parametrize("name", MODELS)
    def test_scores(self, tasks: tuple[Task, Task], name: str) -> None:
        if not RECOMMENDERS.get(name).is_installed():
            pytest.skip(f"{name} needs a library that is not installed")
        users, items = shared(*tasks)
        scores = []
        for task in tasks:
            model = fitted(name, task.train, task.features, **SETTINGS.get(name, {}))
            scores.append(np.asarray(model.score(codes(task, users, "users"), codes(task, items, "items"))))
            assert model.knows(codes(task, users, "users")).all() or name not in ("popularity", "random")
        known = np.isin(items, [row[1] for row in past(T1)])
        assert np.isfinite(scores[0][:, known]).any()
        np.testing.assert_array_equal(scores[0], scores[1])

    @pytest.mark.parametrize("name", ["popularity", "item-knn"])
    def test_order_of_the_others(self, tasks: tuple[Task, Task], name: str) -> None:
        """Equal scores stand by id: where newcomers are taken out of the lists, all else stands as it stood."""
        users, items = shared(*tasks)
        lists = []
        for task in tasks:
            task = replace(task, catalogue=np.ones(len(task.log.items), dtype=bool))
            model = fitted(name, task.train, task.features, **SETTINGS.get(name, {}))
            found = recommend(model, task, len(task.log.items)).ranking(task).frame()
            rows = found.filter(pl.col("item_id").is_in(items)).group_by("query_id", maintain_order=True).agg("item_id")
            lists.append({user: listed for user, listed in rows.iter_rows() if user in users})
        both_have = sorted(set(lists[0]) & set(lists[1]))
        assert len(both_have) > 5
        for user in both_have:
            first, second = (
                [item for item in one[user] if item in set(lists[0][user]) & set(lists[1][user])] for one in lists
            )
            assert first == second and len(first) > 5


MEASURES = '["ndcg@5", "recall(rel=4)@10", "coverage@5", "novelty@5", "diversity@5", "serendipity@5", "calibration@5"]'


def plan_text(**gold: str) -> str:
    keys = {"kind": "interactions", "path": "ratings.csv", "window": "validation"} | gold
    lines = ["statistics.resamples = 100", f"measures = {MEASURES}", 'baseline = "popularity"', "[systems]"]
    for name in ("popularity", "random", "item-knn", "als", "ease", "hybrid"):
        if RECOMMENDERS.get(name).is_installed():
            params = ", ".join(f"{key} = {value}" for key, value in SETTINGS.get(name, {}).items())
            lines.append(f'{name} = {{ kind = "recommender", model = "{name}", params = {{ {params} }} }}')
    lines += ['chance = { kind = "random" }', "[gold]", *(f'{key} = "{value}"' for key, value in keys.items())]
    lines += [f'split = {{ kind = "dates", validation = "{T1}", test = "{T2}" }}', "tiers = { cold_users = 6 }"]
    return "\n".join(lines) + "\n"


def plans(folder: Path, **gold: str) -> Iterator[CheckedPlan]:
    """The same plan, held against logs of different futures."""
    for seed in (0, 1, 2):
        place = folder / str(seed)
        place.mkdir()
        log_of(past(T2) + future(T2, seed), place)
        (place / "movies.csv").write_text(genres())
        (place / "plan.toml").write_text(plan_text(items="movies.csv", **gold))
        yield read_plan(place / "plan.toml")


class TestValidation:
    """What is found on validation is the same whatever the test window holds."""

    @pytest.mark.parametrize("catalogue", ["items", "seen", "train"])
    def test_every_figure_of_a_report(self, catalogue: str, tmp_path: Path) -> None:
        forms = []
        for plan in plans(tmp_path, catalogue=catalogue):
            form = execute_plan(plan).report.to_json(queries=True)
            form["interactions"]["windows"].pop("test")
            for window in form["interactions"]["windows"].values():
                window.pop("share")
            form.pop("provenance")
            forms.append(json.dumps(form, sort_keys=True, default=str).replace(str(plan.folder), ""))
            assert not plan.folder.joinpath("plan.opened.jsonl").exists()
        assert forms[0] == forms[1] == forms[2]

    def test_sampled_candidates(self, tmp_path: Path) -> None:
        lists = []
        for task in both("validation", tmp_path, catalogue="seen", sampled=Sampled(6, seed=3)):
            model = fitted("random", task.train, task.features)
            lists.append(recommend(model, task, 12).ranking(task).frame().rows())
        assert lists[0] == lists[1] and lists[0]

    def test_the_choice_of_settings(self, tmp_path: Path) -> None:
        tables = "[tune.popularity]\nparams = { share = [0.1, 0.3, 0.6, 1.0] }\n"
        more = "[tune.ease]\nparams = { regularization = [1.0, 50.0] }\n"
        names = ["popularity", *(["ease"] if RECOMMENDERS.get("ease").is_installed() else [])]
        found = []
        for plan in plans(tmp_path):
            text = Path(plan.where).read_text() + tables + (more if len(names) > 1 else "")
            Path(plan.where).write_text(text.replace('window = "validation"', 'window = "test"'))
            checked = read_plan(plan.where)
            outcome = []
            for subject in prepare_subjects(checked, names, NO_PROGRESS):
                tuned = tune_model(subject)
                outcome.append([(trial.params, trial.error, _digits(trial.values)) for trial in tuned.trials])
                assert all(trial.error is None for trial in tuned.trials)
            found.append(outcome)
        assert found[0] == found[1] == found[2]
        assert len({digits for _, _, digits in found[0][0]}) > 1


def _digits(values: object) -> str:
    return repr(np.asarray(values, dtype=float).tolist())
