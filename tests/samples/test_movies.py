"""The bundled movies are what their README says: ids, texts, gold and vectors that belong together."""

import csv
import json
import re
from collections import Counter
from itertools import chain
from typing import Any

import numpy as np
import pytest

from rankjury.io.ordered_lists import read_ordered
from rankjury.io.vectors import read_vectors
from tests import paths

FOLDER = paths.SAMPLES / "movies"
MOVIELENS = paths.SHARED / "interactions" / "ml-latest-small"
MOVIES: list[dict[str, Any]] = [json.loads(line) for line in (FOLDER / "movies.jsonl").read_text("utf-8").splitlines()]
GOLD: list[dict[str, Any]] = json.loads((FOLDER / "gold.json").read_text("utf-8"))
IDS = [movie["movie_id"] for movie in MOVIES]
SPACES = ("anchor", "content", "vibe")
FIELDS = [f"5_most_similar_movies_{aspect}_ordered" for aspect in ("overall", "content", "vibes")]


class TestMovies:
    def test_fifty_with_ids_of_their_own(self) -> None:
        assert len(MOVIES) == len(set(IDS)) == 50
        assert [name for name in IDS if not re.fullmatch(r"tt\d{7,8}", name)] == []

    def test_clusters_are_large_enough_to_be_slices(self) -> None:
        sizes = Counter(movie["cluster"] for movie in MOVIES)
        assert min(sizes.values()) >= 5 and len(sizes) == 8

    def test_titles_and_texts(self) -> None:
        assert len({movie["title"] for movie in MOVIES}) == 50
        for movie in MOVIES:
            assert list(movie) == ["movie_id", "title", "year", "cluster", *SPACES]
            assert all(len(movie[text].split()) >= 5 for text in SPACES), movie["title"]
            assert 1900 < movie["year"] < 2030
        for text in SPACES:
            assert len({movie[text] for movie in MOVIES}) == 50

    def test_texts_do_not_give_the_title_away(self) -> None:
        """Vectors are made of the texts alone, so that no space can match by name."""
        assert [movie["title"] for movie in MOVIES if any(movie["title"] in movie[text] for text in SPACES)] == []


class TestGold:
    def test_it_is_of_these_movies_in_their_order(self) -> None:
        assert [entry["movie_id"] for entry in GOLD] == IDS
        assert all(list(entry) == ["movie_id", *FIELDS] for entry in GOLD)

    def test_it_passes(self) -> None:
        golds = read_ordered(FOLDER / "gold.json")
        assert list(golds) == ["overall", "content", "vibes"]
        assert all(len(gold) == 50 and len(gold.items) == 250 for gold in golds.values())

    @pytest.mark.parametrize("field", FIELDS)
    def test_the_specification_holds(self, field: str) -> None:
        """Section 1.3, read off the file itself."""
        for entry in GOLD:
            listed = entry[field]
            assert len(listed) == len(set(listed)) == 5
            assert set(listed) <= set(IDS) - {entry["movie_id"]}

    @pytest.mark.parametrize("field", FIELDS)
    def test_no_movie_is_everywhere_and_none_nowhere(self, field: str) -> None:
        """The README says ten at the most and one at the least; twelve would still do."""
        times = Counter(chain.from_iterable(entry[field] for entry in GOLD))
        assert max(times.values()) <= 10
        assert set(times) == set(IDS)

    def test_aspects_differ(self) -> None:
        for one, other in ((0, 1), (0, 2), (1, 2)):
            assert sum(entry[FIELDS[one]] != entry[FIELDS[other]] for entry in GOLD) > 40


class TestVectors:
    def test_arrays(self) -> None:
        with np.load(FOLDER / "vectors.npz", allow_pickle=False) as held:
            assert sorted(held.files) == ["anchor", "content", "ids", "vibe"]
            assert held["ids"].tolist() == IDS
            for space in SPACES:
                assert held[space].dtype == np.float16 and held[space].shape == (50, 384)

    @pytest.mark.parametrize("space", SPACES)
    def test_they_are_read_with_their_ids_and_have_unit_length(self, space: str) -> None:
        vectors = read_vectors(f"{FOLDER / 'vectors.npz'}:{space}")
        assert vectors.ids.to_list() == IDS
        np.testing.assert_allclose(np.linalg.norm(vectors.values.astype(np.float64), axis=1), 1.0, atol=1e-3)
        assert len(np.unique(vectors.values, axis=0)) == 50


def plain(title: str) -> str:
    """``Matrix, The`` → ``the matrix``."""
    moved = re.sub(r"^(.*), (The|A|An)$", r"\2 \1", title)
    return moved.lower()


@pytest.mark.skipif(not MOVIELENS.is_dir(), reason=f"MovieLens is not at {MOVIELENS}")
def test_ids_are_those_of_the_titles() -> None:
    """MovieLens may add a subtitle after a colon, or another title in brackets."""
    with (MOVIELENS / "links.csv").open(encoding="utf-8") as file:
        numbers = {f"tt{row['imdbId']}": row["movieId"] for row in csv.DictReader(file)}
    with (MOVIELENS / "movies.csv").open(encoding="utf-8") as file:
        titles = {row["movieId"]: row["title"].strip() for row in csv.DictReader(file)}
    wrong = []
    for movie in MOVIES:
        listed = titles.get(numbers.get(movie["movie_id"], ""), "")
        match = re.fullmatch(r"(?P<title>.*?)(?: \([^)]*[^\d)][^)]*\))* \((?P<year>\d{4})\)", listed)
        same = match is not None and match["year"] == str(movie["year"])
        if (
            not same
            or match is None
            or not re.match(rf"{re.escape(movie['title'].lower())}(:|$)", plain(match["title"]))
        ):
            wrong.append((movie["movie_id"], movie["title"], movie["year"], listed))
    assert wrong == []
