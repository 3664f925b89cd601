"""The bundled movielens sample is what its README says: made by the script, skewed, drifting, with cold starts."""

import csv
import importlib
import re
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from rankjury.core.types import Floats
from rankjury.recsys.data.attributes import SideFeatures, read_items, side_features
from rankjury.recsys.data.log import Log
from rankjury.recsys.data.read import read_log
from rankjury.recsys.split import Split
from rankjury.recsys.splitting import split_log
from rankjury.recsys.task import Task
from tests import paths

FOLDER = paths.SAMPLES / "movielens"
SCRIPTS = Path(__file__).parents[2] / "scripts"
REAL = paths.SHARED / "interactions" / "ml-latest-small" / "movies.csv"
README = (FOLDER / "README.md").read_text("utf-8")
FILES = ("ratings.csv", "movies.csv", "users.csv")
YEAR = 365 * 86_400


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


RATINGS, MOVIES, USERS = (read(FOLDER / name) for name in FILES)
PER_USER = Counter(row["userId"] for row in RATINGS)
PER_MOVIE = Counter(row["movieId"] for row in RATINGS)
GENRES = {row["movieId"]: row["genres"].split("|") for row in MOVIES}


def gini(counts: list[int]) -> float:
    """By its definition: half the mean difference of two, divided by the mean."""
    values = np.array(counts, dtype=np.float64)
    return float(np.abs(values[:, None] - values).mean() / (2 * values.mean()))


def bare(titles: list[dict[str, str]]) -> set[str]:
    """Titles without the year, in lower case."""
    return {re.sub(r"\s*\(\d{4}\)\s*$", "", row["title"]).lower() for row in titles}


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    """The generator; what it is made of lies in a folder beside it."""
    before = set(sys.modules)
    sys.path.insert(0, str(SCRIPTS))
    try:
        yield importlib.import_module("make_movielens")
    finally:
        sys.path.remove(str(SCRIPTS))
        for name in set(sys.modules) - before:
            if name.split(".")[0] in ("make_movielens", "movielens"):
                del sys.modules[name]


@pytest.fixture(scope="module")
def log() -> Log:
    return read_log(FOLDER / "ratings.csv", catalogue=read_items(FOLDER / "movies.csv"))


@pytest.fixture(scope="module")
def split(log: Log) -> Split:
    return split_log(log)


@pytest.fixture(scope="module")
def table(script: ModuleType, split: Split) -> dict[str, Floats]:
    """By model nDCG@10 of all, new, known and power users, and of cold movies."""
    for library in ("irspack", "implicit", "scipy"):
        pytest.importorskip(library)
    figures = importlib.import_module("movielens.figures")
    features: SideFeatures = side_features(split.log, read_items(FOLDER / "movies.csv"))
    task = Task(split, "test", features=features)
    groups, cold = figures.groups_of(task), figures.gold_of_cold(task)
    wanted = {"all", "new", "known", "power"}
    kept = [place for place, name in enumerate((*groups, "cold")) if name in wanted | {"cold"}]
    return {
        label: np.array(list(figures.scores_of(task, *figures.MODELS[label], groups, cold)))[kept]
        for label in ("random", "popularity", "item-knn", "als", "ease", "svd of stars", "content", "hybrid")
    }


class TestFiles:
    def test_the_script_makes_them(self, script: ModuleType) -> None:
        made = script.compose()
        assert sorted(made) == sorted(FILES)
        for name in FILES:
            assert made[name].encode() == (FOLDER / name).read_bytes(), name

    def test_another_seed_makes_others(self, script: ModuleType) -> None:
        made = script.compose(script.SEED + 1)
        assert all(made[name].encode() != (FOLDER / name).read_bytes() for name in FILES)

    def test_they_are_small(self) -> None:
        assert sum((FOLDER / name).stat().st_size for name in FILES) < 900_000

    def test_the_readme_counts_them(self) -> None:
        for rows, what in ((RATINGS, "ratings"), (MOVIES, "movies"), (USERS, "users")):
            assert f"| {len(rows):,} {what} (" in README

    def test_ids_are_known_and_each_pair_is_there_once(self) -> None:
        assert [row["userId"] for row in USERS] == [str(one + 1) for one in range(len(USERS))]
        assert [row["movieId"] for row in MOVIES] == [str(one + 1) for one in range(len(MOVIES))]
        assert set(PER_USER) == {row["userId"] for row in USERS}
        assert set(PER_MOVIE) <= set(GENRES)
        assert len({(row["userId"], row["movieId"]) for row in RATINGS}) == len(RATINGS)

    def test_stars_and_times_are_whole(self) -> None:
        assert {row["rating"] for row in RATINGS} == set("12345")
        times = [int(row["timestamp"]) for row in RATINGS]
        assert {datetime.fromtimestamp(one, UTC).year for one in times} == {2021, 2022, 2023}

    def test_nobody_rates_a_movie_before_the_year_of_its_title(self) -> None:
        years = {row["movieId"]: int(row["title"][-5:-1]) for row in MOVIES}
        rated = ((years[row["movieId"]], int(row["timestamp"])) for row in RATINGS)
        assert all(year <= datetime.fromtimestamp(time, UTC).year for year, time in rated)


class TestAttributes:
    def test_titles_differ_and_have_a_year(self) -> None:
        assert len(bare(MOVIES)) == len(MOVIES)
        assert all(re.fullmatch(r".+ \((19|20)\d\d\)", row["title"]) for row in MOVIES)

    def test_every_title_has_a_name_that_was_made_up(self, script: ModuleType) -> None:
        tables = sys.modules["movielens.movies"].TABLES
        ours = (*tables["places"], *tables["names"])
        assert all(any(name in row["title"] for name in ours) for row in MOVIES)

    @pytest.mark.skipif(not REAL.exists(), reason="the real log is not here")
    def test_no_title_is_one_of_the_real_log(self) -> None:
        assert not bare(MOVIES) & bare(read(REAL))

    def test_sixteen_genres_none_of_them_rare(self) -> None:
        found = Counter(genre for own in GENRES.values() for genre in own)
        assert len(found) == 16 and min(found.values()) >= 10
        assert all(own == sorted(set(own)) and 1 <= len(own) <= 3 for own in GENRES.values())

    def test_users_have_an_age_group_and_a_country(self) -> None:
        assert Counter(row["ageGroup"] for row in USERS).keys() == {"18-24", "25-34", "35-44", "45-54", "55+"}
        assert Counter(row["country"] for row in USERS).keys() == {"DE", "FR", "PL", "PT", "SE"}


class TestLog:
    def test_movies_are_skewed(self) -> None:
        counts = [PER_MOVIE[movie] for movie in GENRES]
        assert gini(counts) == pytest.approx(0.61, abs=0.005)
        top = sum(sorted(counts)[-len(counts) // 5 :]) / len(RATINGS)
        assert f"A fifth of the movies has {top:.0%}".replace("%", " %") in README

    def test_users_have_a_heavy_tail(self) -> None:
        counts = np.array(list(PER_USER.values()))
        assert (counts.min(), np.median(counts), counts.max()) == (5, 34, 340)
        assert (counts >= 300).sum() == 5

    def test_high_ratings_prevail(self) -> None:
        stars = np.array([int(row["rating"]) for row in RATINGS])
        assert f"The mean rating is {stars.mean():.2f}." in README
        assert (stars >= 4).mean() > 0.5 > 10 * (stars == 1).mean()

    def test_ratings_come_in_bursts(self) -> None:
        moments = Counter((row["userId"], row["timestamp"]) for row in RATINGS)
        tied = sum(size for size in moments.values() if size > 1) / len(RATINGS)
        assert f"{tied:.0%} of the ratings share".replace("%", " %") in README
        visits = sorted((row["userId"], int(row["timestamp"])) for row in RATINGS)
        near = [after - before < 600 for (one, before), (other, after) in pairwise(visits) if one == other]
        assert np.mean(near) > 0.7

    def test_genres_drift(self) -> None:
        times = [int(row["timestamp"]) for row in RATINGS]
        for genre, first, last in (("Documentary", 0.04, 0.11), ("Romance", 0.11, 0.06)):
            marks = np.array([genre in GENRES[row["movieId"]] for row in RATINGS])
            assert marks[np.array(times) < min(times) + YEAR].mean() == pytest.approx(first, abs=0.005)
            assert marks[np.array(times) > max(times) - YEAR].mean() == pytest.approx(last, abs=0.005)

    def test_movies_are_taken_less_as_they_age(self) -> None:
        """Of those that came in the first half of the log, in the first and in the second half year after it."""
        times: dict[str, list[int]] = {}
        for row in RATINGS:
            times.setdefault(row["movieId"], []).append(int(row["timestamp"]))
        start, end = min(map(min, times.values())), max(map(max, times.values()))
        new = [np.array(own) - min(own) for own in times.values() if start + YEAR / 4 < min(own) < end - 3 * YEAR / 2]
        early, late = (sum(((low <= age) & (age < low + YEAR / 2)).sum() for age in new) for low in (0, YEAR / 2))
        assert len(new) > 30 and early > late


class TestWindows:
    def test_cold_users_and_movies(self, split: Split) -> None:
        train, test = split.window("train"), split.window("test")
        users, movies = np.unique(test.user), np.unique(test.item)
        new_users, new_movies = users[train.per_user[users] == 0], movies[train.per_item[movies] == 0]
        assert f"{users.size} users have ratings in the test window. {new_users.size} of them (25 %)" in README
        assert f"{new_movies.size} of the {movies.size} movies there (10 %)" in README.replace("\n  ", " ")
        assert 0.15 < new_users.size / users.size < 0.3 and users.size - new_users.size >= 120
        assert 0.05 < new_movies.size / movies.size < 0.12

    def test_shares_are_as_asked(self, split: Split) -> None:
        sizes = [split.size("train"), split.size("validation"), split.size("test")]
        assert np.array(sizes) / len(split.log) == pytest.approx([0.8, 0.1, 0.1], abs=0.001)


class TestModels:
    """The phenomena of the README's table, and its figures."""

    def test_the_readme_has_its_figures(self, table: dict[str, Floats]) -> None:
        for label, values in table.items():
            line = next(line for line in README.splitlines() if line.startswith(f"| {label} |"))
            told = [float(cell) for cell in line.split("|")[2:-1]]
            assert told == pytest.approx(values.tolist(), abs=0.011), label

    def test_popularity_is_hard_to_beat(self, table: dict[str, Floats]) -> None:
        chance, popularity, ease = (table[label][0] for label in ("random", "popularity", "ease"))
        assert popularity > 4 * chance
        assert popularity < ease < 1.3 * popularity

    def test_models_of_users_pay_for_those_who_rate_much(self, table: dict[str, Floats]) -> None:
        assert table["ease"][3] > 1.3 * table["popularity"][3]

    def test_predicting_stars_is_not_ranking(self, table: dict[str, Floats]) -> None:
        assert table["svd of stars"][2] < table["popularity"][2]

    def test_content_finds_cold_movies(self, table: dict[str, Floats]) -> None:
        assert table["ease"][4] < table["random"][4] < table["content"][4] and table["ease"][4] < table["hybrid"][4]
