"""Visits: when people come, which movies they take then, and how many stars they give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from movielens.chance import Chance, Floats, Ints
from movielens.movies import GENRES, TABLES, Movies
from movielens.people import People

__all__ = ["Rating", "Strengths", "rate_all"]

YEAR = 365 * 86_400


class Rating(NamedTuple):
    """A row of the log; user and movie are places, seconds are counted from the log's beginning."""

    user: int
    movie: int
    stars: int
    seconds: int


@dataclass(frozen=True)
class Strengths:
    """How much each thing has to do with what people take and with the stars that they give."""

    taste: float = 1.5
    """Of the genres."""
    hidden: float = 0.8
    """Of the traits that no file tells."""
    stars: float = 0.3
    """How much of a liking goes into the stars; all of it goes into what is taken."""
    fresh: float = 0.8
    """What a movie gains on the day that it comes; it fades."""
    fading: float = 0.6
    """Years until a third of that is left."""
    age: float = 0.012
    """What a movie loses in a year, for ever."""
    sign_up: int = 5
    """Movies that everybody rates at the first visit."""
    visit: float = 4.0
    """Movies rated at a later visit, on average."""
    tie: float = 0.2
    """How often a rating is sent together with the one before."""
    mean: float = 2.75
    """Stars of a movie like the others from somebody who does not care either way."""
    noise: float = 0.75


def rate_all(chance: Chance, people: People, movies: Movies, strengths: Strengths, years: float) -> list[Rating]:
    """The whole log, user by user."""
    liking = strengths.taste * people.tastes @ movies.marks.T + strengths.hidden * people.hidden @ movies.hidden.T
    liking *= people.bold[:, None]
    trend = np.log([TABLES["genre"][genre]["trend"] for genre in GENRES]) @ movies.marks.T
    rows: list[Rating] = []
    for user in range(people.arrived.size):
        left = np.ones(movies.appeal.size, dtype=bool)
        for start, size in visits_of(chance, people, user, strengths, years):
            pull = movies.appeal + liking[user] + trend * (start / years - 0.5)
            pull += freshness(start - movies.arrived, strengths)
            chosen = chance.several(np.where(left & (movies.arrived <= start), np.exp(pull), 0.0), size)
            left[chosen] = False
            stars = stars_of(chance, people.generous[user] + movies.quality[chosen], liking[user, chosen], strengths)
            times = round(start * YEAR) + pauses(chance, chosen.size, strengths)
            rows += map(Rating, [user] * chosen.size, chosen.tolist(), stars.tolist(), times.tolist())
    return rows


def visits_of(
    chance: Chance, people: People, user: int, strengths: Strengths, years: float
) -> Iterator[tuple[float, int]]:
    """When a user comes, and how many movies are rated then: those of sign-up first, then bursts until it is enough."""
    start, wanted = float(people.arrived[user]), int(people.wanted[user])
    sizes = [min(wanted, strengths.sign_up + chance.count(strengths.visit))]
    while sum(sizes) < wanted:
        sizes.append(min(wanted - sum(sizes), 1 + chance.count(strengths.visit - 1)))
    later = np.sort(start + people.stay[user] * chance.uniform(len(sizes) - 1) ** 1.3)
    return ((when, size) for when, size in zip((start, *later.tolist()), sizes, strict=True) if when < years)


def freshness(age: Floats, strengths: Strengths) -> Floats:
    """What a movie's age in years does to its pull: new ones are talked about, old ones are forgotten slowly."""
    past = np.maximum(age, 0.0)
    return np.asarray(strengths.fresh * np.exp(-past / strengths.fading) - strengths.age * past)


def stars_of(chance: Chance, level: Floats, liking: Floats, strengths: Strengths) -> Ints:
    """Whole stars from 1 to 5; who took a movie mostly likes it already, so that few are low."""
    exact = strengths.mean + level + strengths.stars * liking + strengths.noise * chance.normal(level.size)
    return np.clip(np.rint(exact), 1, 5).astype(np.int64)


def pauses(chance: Chance, size: int, strengths: Strengths) -> Ints:
    """Seconds since the visit began; some ratings are sent together."""
    gaps = [0 if chance.number() < strengths.tie else 2 + chance.count(20.0) for _ in range(size)]
    return np.cumsum(gaps)
