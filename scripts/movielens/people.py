"""The people of the sample: when they came, how much they rate, and what they like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from movielens.chance import Chance, Floats, Ints
from movielens.movies import GENRES, HIDDEN, TABLES

__all__ = ["AGES", "COUNTRIES", "People", "make_people"]

AGES = {"18-24": 0.22, "25-34": 0.32, "35-44": 0.2, "45-54": 0.14, "55+": 0.12}
"""Age groups and their shares."""
COUNTRIES = {"DE": 0.3, "FR": 0.24, "PL": 0.18, "PT": 0.16, "SE": 0.12}
"""Countries and their shares; they have nothing to do with anything else."""


@dataclass(frozen=True)
class People:
    """Arrays with a row a user."""

    ages: list[str]
    countries: list[str]
    arrived: Floats
    """In years since the log began."""
    stay: Floats
    """Years until the last visit."""
    wanted: Ints
    """How many movies they would rate if the log went on for ever."""
    bold: Floats
    """How far they follow their own taste; who rates little takes what everybody takes."""
    tastes: Floats
    """Users × genres: how much more or less they take and like it."""
    hidden: Floats
    generous: Floats
    """Stars that they give more or less than others."""


def make_people(
    chance: Chance, *, count: int, years: float, least: int, middle: float, most: int, tail: float
) -> People:
    """So many users; half of them would rate so many movies, and few very many."""
    ages = [chance.one(list(AGES), list(AGES.values())) for _ in range(count)]
    countries = [chance.one(list(COUNTRIES), list(COUNTRIES.values())) for _ in range(count)]
    arrived = years * 0.985 * chance.uniform(count) ** 2
    stay = 0.5 - 2.0 * np.log(chance.uniform(count))
    wanted = np.minimum(most, least + (middle - least) * np.exp(tail * chance.normal(count)))
    bold = np.clip(0.8 + 0.4 * np.log(wanted / middle), 0.4, 1.8)
    tastes = draw_tastes(chance, ages)
    hidden = chance.normal(count * HIDDEN).reshape(count, HIDDEN)
    generous = 0.3 * chance.normal(count)
    return People(ages, countries, arrived, stay, wanted.astype(np.int64), bold, tastes, hidden, generous)


def draw_tastes(chance: Chance, ages: list[str]) -> Floats:
    """Chance for the most part, and a little by age."""
    lean = np.linspace(0.5, -0.5, len(AGES))[[list(AGES).index(age) for age in ages]]
    young = np.array([TABLES["genre"][genre]["young"] for genre in GENRES])
    own = chance.normal(len(ages) * len(GENRES)).reshape(len(ages), len(GENRES))
    return np.asarray(own + lean[:, None] * young)
