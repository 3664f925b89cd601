"""The movies of the sample: titles that nobody used, genres, when they came, and why people take them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from movielens.chance import Chance, Floats

__all__ = ["GENRES", "TABLES", "Movies", "make_movies"]

TABLES: dict[str, Any] = tomllib.loads((Path(__file__).parent / "genres.toml").read_text("utf-8"))
GENRES = list(TABLES["genre"])
FORMS = (
    "The {adjective} {noun} of {place}",
    "{adjective} {noun} at {place}",
    "{name} and the {adjective} {noun}",
    "The {place} {noun}",
    "{noun}, {other} and {name}",
    "Goodbye to {place}, {adjective} {noun}",
)
HEAD = 40
"""Added to a movie's place by appeal before the power is taken: the higher, the more movies share the head."""
HIDDEN = 3
"""Traits that part people and movies, and that no file tells: what only a model of the log can learn."""


@dataclass(frozen=True)
class Movies:
    """Arrays with a row a movie."""

    titles: list[str]
    genres: list[list[str]]
    arrived: Floats
    """In years since the log began; negative for those that were there before."""
    appeal: Floats
    """Logarithm of how often it is taken, all else equal."""
    quality: Floats
    """Stars above or below the others."""
    hidden: Floats

    @property
    def marks(self) -> Floats:
        """Movies × genres: 1, or a part of it where a movie has several genres; rows have length 1."""
        table = np.array([[genre in own for genre in GENRES] for own in self.genres], dtype=np.float64)
        return np.asarray(table / np.sqrt(table.sum(axis=1, keepdims=True)))


def make_movies(chance: Chance, *, count: int, old: int, first_year: int, years: float, skew: float) -> Movies:
    """So many movies, of which the old ones are there when the log begins; the others come while it is kept."""
    genres = [draw_genres(chance, rising=number >= old) for number in range(count)]
    before = -0.3 - 40 * chance.uniform(old) ** 1.7
    arrived = np.concatenate((before, years * 0.99 * np.sort(chance.uniform(count - old))))
    place = chance.order(count) + 1
    appeal = -skew * np.log(place + HEAD)
    quality = 0.35 * (appeal - appeal.mean()) / appeal.std() + 0.4 * chance.normal(count)
    hidden = chance.normal(count * HIDDEN).reshape(count, HIDDEN)
    titles = draw_titles(chance, genres, [first_year + int(np.floor(one)) for one in arrived])
    return Movies(titles, genres, arrived, appeal, quality, hidden)


def draw_genres(chance: Chance, *, rising: bool) -> list[str]:
    """One to three, the first by its share and the others from what goes with it; in alphabetical order.

    Of movies that come while the log is kept, more are of genres that are on the rise.
    """
    tables = TABLES["genre"]
    shares = [one["share"] * (one["trend"] if rising else 1.0) for one in tables.values()]
    first = chance.one(GENRES, shares)
    partners = tables[first]["with"]
    more = chance.one((0, 1, 2), (0.3, 0.5, 0.2))
    return sorted({first, *(chance.one(partners) for _ in range(more))})


def draw_titles(chance: Chance, genres: list[list[str]], years: list[int]) -> list[str]:
    """A title and year each, none of them twice; words are those of the movie's genres."""
    found: dict[str, str] = {}
    for own, year in zip(genres, years, strict=True):
        title = draw_title(chance, own)
        while title in found:
            title = draw_title(chance, own)
        found[title] = f"{title} ({year})"
    return list(found.values())


def draw_title(chance: Chance, genres: list[str]) -> str:
    """Every form names a place or a person that we made up."""
    words = TABLES["genre"][chance.one(genres)]
    noun = chance.one(words["nouns"])
    return chance.one(FORMS).format(
        adjective=chance.one(words["adjectives"]),
        noun=noun,
        other=chance.one([one for one in words["nouns"] if one != noun]),
        place=chance.one(TABLES["places"]),
        name=chance.one(TABLES["names"]),
    )
