"""A log held out and recommended from a script: what plans do, in four calls; and what is refused."""

from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankjury
from rankjury.core.types import Bools, Ints, Matrix
from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError
from rankjury.recsys.data.log import Log, log_from_frame
from rankjury.recsys.data.split_folder import write_split
from rankjury.recsys.models import Recommender
from rankjury.recsys.task import Task

USERS, ITEMS = 20, 25
MEASURES = ["ndcg@5", "recall(rel=4)@5", "coverage@5", "novelty@5"]


def frame() -> pl.DataFrame:
    """Items of low numbers are taken most; the last users and the last item come late."""
    rows = {}
    for step in range(500):
        late = step >= 420
        user = 1 + step * 7 % (USERS if late else USERS - 2)
        item = ITEMS if step % 40 == 39 and late else 1 + (step * step + step // 5) % (3 + step % (ITEMS - 4))
        rows[user, item] = (f"u{user:02}", f"i{item:02}", 1.0 + step % 5, 1_000_000 + 60 * step)
    return pl.DataFrame(list(rows.values()), schema=["user", "item", "value", "time"], orient="row")


@pytest.fixture(scope="module")
def log() -> Log:
    return log_from_frame(frame())


@pytest.fixture(scope="module")
def task(log: Log) -> Task:
    return rankjury.held_out(log)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("log")
    frame().write_csv(found / "ratings.csv")
    items = pl.DataFrame({"item": [f"i{n:02}" for n in range(1, ITEMS + 5)]})
    items.with_columns(genres=pl.Series([("Drama", "Comedy")[n % 2] for n in range(len(items))])).write_csv(
        found / "items.csv"
    )
    return found


def lists_of(ranking: rankjury.Ranking) -> dict[str, list[str]]:
    return {
        query: ranking.items[start:stop].to_list()
        for query, start, stop in zip(ranking.queries, ranking.starts[:-1], ranking.starts[1:], strict=True)
    }


class TestHeldOut:
    def test_the_last_tenth_by_default(self, task: Task) -> None:
        rows = frame().sort("time")
        train, held = rows[: int(0.8 * len(rows))], rows[int(0.9 * len(rows)) :]
        assert task.window == "test" and len(task.train) == len(train)
        gold = {
            (query, item)
            for query, start, stop in zip(task.gold.queries, task.gold.starts[:-1], task.gold.starts[1:], strict=True)
            for item in task.gold.items[start:stop]
        }
        assert gold == {(user, item) for user, item, *_ in held.iter_rows()}

    def test_from_files_with_a_catalogue(self, folder: Path, task: Task) -> None:
        found = rankjury.held_out(folder / "ratings.csv", items=str(folder / "items.csv"))
        assert int(found.in_catalogue.sum()) == ITEMS + 4 and found.features.items["genre"].shape == (ITEMS + 4, 2)
        assert found.gold.items.to_list() == task.gold.items.to_list()

    def test_windows_and_what_is_learnt_from(self, log: Log, task: Task) -> None:
        validation = rankjury.held_out(log, window="validation")
        both = rankjury.held_out(log, fit_on=("train", "validation"))
        assert len(validation.train) == len(task.train) < len(both.train)
        assert len(both.train) == len(task.train) + len(validation.split.window("validation"))

    def test_a_split_that_is_there_already(self, log: Log) -> None:
        split = rankjury.split_log(log, "leave-last", n=2)
        task = rankjury.held_out(split)
        assert task.split.settings["kind"] == "leave-last"
        assert rankjury.held_out(log, kind="leave-last", n=2).gold.items.to_list() == task.gold.items.to_list()
        with pytest.raises(UsageError, match=r"split already.*fractions"):
            rankjury.held_out(split, fractions=(0.8, 0.1, 0.1))

    @pytest.mark.parametrize(
        ("options", "error", "match"),
        [
            ({"kind": "temporl"}, UnknownName, "temporal"),
            ({"fractions": (0.9, 0.9, 0.1)}, RankjuryError, "0.9"),
            ({"shares": 3}, RankjuryError, "shares"),
            ({"catalogue": "items"}, RankjuryError, "items"),
        ],
    )
    def test_refused(self, log: Log, options: dict[str, Any], error: type[Exception], match: str) -> None:
        with pytest.raises(error, match=match):
            rankjury.held_out(log, **options)

    def test_no_such_file(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="nowhere"):
            rankjury.held_out(tmp_path / "nowhere.csv")


class TestRecommend:
    def test_popularity_by_hand(self, task: Task) -> None:
        """Most users in training first, equals by id; what somebody took is left out, unless it was held out."""
        rows = frame().sort("time")
        cut = int(0.8 * len(rows))
        users: dict[str, set[str]] = {item: set() for item in rows["item"]}
        for user, item in rows[:cut].select("user", "item").iter_rows():
            users[item].add(user)
        order = sorted(users, key=lambda item: (-len(users[item]), item))
        held = rows[int(0.9 * len(rows)) :]
        found = lists_of(rankjury.recommend(task, "popularity", k=6))
        assert list(found) == sorted(set(held["user"]))
        for user, items in found.items():
            again = set(held.filter(pl.col("user") == user)["item"])
            assert items == [item for item in order if user not in users[item] or item in again][:6]

    def test_a_measure_that_looks_deeper_than_was_ranked_is_refused(self, task: Task) -> None:
        """Ten items were ranked by default, and scored at 20 as if the rest had not been retrieved."""
        ranking = rankjury.recommend(task, "popularity", k=5)
        assert rankjury.evaluate(task.gold, ranking, ["ndcg@5", "rr"]).mean()["ndcg@5"] > 0
        for score in (
            lambda: rankjury.evaluate(task.gold, ranking, "ndcg@6"),
            lambda: rankjury.evaluate(task.gold, ranking, "coverage@6", background=task.background),
            lambda: rankjury.compare(task.gold, {"a": ranking, "b": ranking}, "ndcg@6"),
        ):
            with pytest.raises(UsageError, match=r"looks at 6 items, and only the first 5 .*k=6"):
                score()

    def test_as_deep_as_the_measures_look(self, task: Task) -> None:
        whole = lists_of(rankjury.recommend(task, "popularity", k=ITEMS))
        for measures, k in (("ndcg@7", 7), (["ndcg@3", "rr@4", "ap"], 4)):
            found = lists_of(rankjury.recommend(task, "popularity", measures=measures))
            assert found == {user: items[:k] for user, items in whole.items()}
        everything = rankjury.recommend(task, "popularity")
        assert lists_of(everything) == whole
        scores = rankjury.evaluate(task.gold, everything)
        assert not [one for one in map(str, scores.warnings) if "cut off" in one]

    def test_parameters(self, task: Task) -> None:
        recent = rankjury.recommend(task, "popularity", params={"days": 0.05})
        assert lists_of(recent) != lists_of(rankjury.recommend(task, "popularity"))
        with pytest.raises(RankjuryError, match=r"dais.*days"):
            rankjury.recommend(task, "popularity", params={"dais": 3})

    def test_a_model_of_ones_own(self, task: Task) -> None:
        """Items by their number, the last first; of one user it knows nothing."""

        class Backwards(Recommender):
            description = "the last first"

            def fit(self, train: Log, features: Any = None, progress: Any = None) -> None:
                self.stranger = int(np.max(train.user))

            def score(self, users: Ints, items: Ints) -> Matrix:
                return np.tile(items.astype(np.float64), (users.size, 1))

            def knows(self, users: Ints) -> Bools:
                return users != self.stranger

        model = Backwards()
        found = lists_of(rankjury.recommend(task, model, k=3, cold_users="nothing"))
        stranger = task.log.users[model.stranger]
        assert all(items == sorted(items, reverse=True) for items in found.values())
        assert found.pop(stranger, []) == [] and all(len(items) == 3 for items in found.values())

    def test_names_that_are_none(self, task: Task) -> None:
        with pytest.raises(UnknownName, match="popularity"):
            rankjury.recommend(task, "popularty")
        with pytest.raises(UnknownName, match="nothing"):
            rankjury.recommend(task, "popularity", cold_users="something")


class TestScores:
    def test_ndcg_by_the_formula(self, task: Task) -> None:
        """Ratings over log2(rank + 1), divided by those of the ratings sorted."""
        ranking = rankjury.recommend(task, "popularity", k=5)
        scores = rankjury.evaluate(task.gold, ranking, "ndcg@5")
        gold: dict[str, dict[str, float]] = {}
        for user, item, rating, _ in frame().sort("time")[int(0.9 * len(frame())) :].iter_rows():
            gold.setdefault(user, {})[item] = rating
        expected = []
        for user, items in lists_of(ranking).items():
            dcg = sum(gold[user].get(item, 0.0) / log2(rank + 1) for rank, item in enumerate(items, 1))
            best = sorted(gold[user].values(), reverse=True)[:5]
            expected.append(dcg / sum(rating / log2(rank + 1) for rank, rating in enumerate(best, 1)))
        np.testing.assert_allclose(scores["ndcg@5"], expected, atol=1e-12)
        assert sum(expected) > 0

    def test_measures_beyond_accuracy_look_at_the_background(self, task: Task) -> None:
        ranking = rankjury.recommend(task, "popularity", k=5)
        scores = rankjury.evaluate(task.gold, ranking, MEASURES, background=task.background)
        different = {item for items in lists_of(ranking).values() for item in items}
        assert scores.mean()["coverage@5"] == pytest.approx(len(different) / int(task.in_catalogue.sum()), abs=1e-12)

    def test_without_a_background_they_are_refused(self, task: Task) -> None:
        ranking = rankjury.recommend(task, "popularity", k=5)
        with pytest.raises(RankjuryError, match=r"novelty.*background"):
            rankjury.evaluate(task.gold, ranking, MEASURES[-1:])
        with pytest.raises(RankjuryError, match="background"):
            rankjury.compare(task.gold, {"a": ranking, "b": ranking}, MEASURES)

    def test_comparisons(self, task: Task) -> None:
        rankings = {name: rankjury.recommend(task, name, k=5) for name in ("popularity", "random")}
        resampling = rankjury.Resampling(resamples=200)
        report = rankjury.compare(task.gold, rankings, MEASURES, background=task.background, resampling=resampling)
        assert report.baseline == "popularity" and report.labels == tuple(MEASURES)
        alone = rankjury.evaluate(task.gold, rankings["random"], MEASURES, background=task.background).mean()
        by_measure = {one.measure: one for one in report.comparisons}
        for label in MEASURES:
            assert by_measure[label].mean == pytest.approx(alone[label], abs=1e-12)
            assert by_measure[label].ci is not None
        assert by_measure["coverage@5"].difference > 0 and by_measure["novelty@5"].difference > 0

    def test_a_plan_says_the_same(self, folder: Path, log: Log) -> None:
        plan = folder / "rankjury.toml"
        plan.write_text(
            'measures = ["ndcg@5", "coverage@5"]\nstatistics.resamples = 100\n'
            'gold = { kind = "interactions", path = "ratings.csv" }\n'
            'systems.popularity = { kind = "recommender", model = "popularity" }\n'
        )
        task = rankjury.held_out(folder / "ratings.csv")
        ranking = rankjury.recommend(task, "popularity", k=5)
        ours = rankjury.evaluate(task.gold, ranking, ["ndcg@5", "coverage@5"], background=task.background).mean()
        estimates = rankjury.run_plan(plan, archive=False).report.estimates["popularity"]
        assert {label: one.mean for label, one in estimates.items()} == pytest.approx(ours, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fit_on": ("train", "test")}, "models would learn from train and test and be evaluated on test"),
        ({"window": "validation", "fit_on": ("train", "test")}, "expected earlier windows: train"),
        ({"fit_on": ()}, "learn from nothing"),
        ({"window": "train"}, "there are none before train"),
        ({"window": "tes"}, "unknown window 'tes'. Did you mean test"),
        ({"catalogue": "all"}, "unknown catalogue 'all'"),
    ],
)
def test_nothing_is_learnt_from_what_is_held_out(log: Log, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        rankjury.held_out(log, **options)


def test_no_list_is_shorter_than_one_item(task: Task) -> None:
    with pytest.raises(UsageError, match="k is 0; expected a whole number from 1 on"):
        rankjury.recommend(task, "popularity", k=0)


def test_a_folder_of_rankjury_split_is_a_split(log: Log, task: Task, tmp_path: Path) -> None:
    write_split(task.split, tmp_path / "split")
    found = rankjury.held_out(tmp_path / "split")
    assert found.gold.queries.equals(task.gold.queries) and len(found.train) == len(task.train)
    with pytest.raises(UsageError, match="split already, and kind would not count"):
        rankjury.held_out(tmp_path / "split", kind="random")


def test_scores_carry_the_warnings_of_the_task(log: Log) -> None:
    task = rankjury.held_out(log, sampled=3)
    ranking = rankjury.recommend(task, "popularity", k=5)
    told = list(map(str, rankjury.evaluate(task.gold, ranking, ["ndcg@5"]).warnings))
    assert any("candidates are 3 sampled items" in one for one in told)
    assert set(task.notes()) <= set(told)


def test_one_of_several_splits(log: Log) -> None:
    assert [rankjury.held_out(log, kind="rolling", fold=one).split.settings["window"] for one in (1, 2)] == [1, 2]
    assert rankjury.held_out(log, kind="users", fold=2).split.settings["fold"] == 2
    with pytest.raises(UsageError, match="a temporal split has no folds"):
        rankjury.held_out(log, fold=2)


def test_parameters_are_of_models_by_name(task: Task) -> None:
    with pytest.raises(UsageError, match="params, where the model is made already"):
        rankjury.recommend(task, lambda users, items: 0.0, params={"factors": 3})


def test_a_task_is_told_in_a_line(task: Task) -> None:
    assert repr(task).startswith("Task(log: test of ") and "\n" not in repr(task) and len(repr(task)) < 100
    assert repr(task.split).startswith("Split(log: train ")


def test_whole_numbers_may_be_numpy_s(task: Task, log: Log) -> None:
    assert len(rankjury.recommend(task, "popularity", k=np.int64(2)).items) == 2 * len(task.users)
    sampled = rankjury.held_out(log, sampled=np.int64(3)).sampled  # type: ignore[arg-type]
    assert sampled is not None and sampled.n == 3
    assert rankjury.evaluate_arrays([[1]], [[1]], measures="rr", n_items=np.int64(4)).mean() == {"rr": 1.0}  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="k is True"):
        rankjury.recommend(task, "popularity", k=True)


def test_what_systems_share_is_told_once(task: Task) -> None:
    rankings = {name: rankjury.recommend(task, name, k=5) for name in ("popularity", "random")}
    told = rankjury.compare(task.gold, rankings, ["ndcg@5"]).warning_lines
    for note in task.notes():
        assert [one for one in told if note in one] == [note]
