"""Measures beyond accuracy written out from their formulas, in plain loops, and small worlds to try them on."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import log, log2, nan, sqrt
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

import rankjury
from rankjury.core.types import Background
from rankjury.evaluation.evaluate import Evaluation, resolve_measures

ITEMS = [f"i{n}" for n in range(7)]
USERS = [f"u{n}" for n in range(5)]


@dataclass(frozen=True)
class World:
    """Who took what before, what they are recommended now, and what they took then."""

    lists: dict[str, list[str]]
    history: dict[str, list[str]] = field(default_factory=dict)
    gold: dict[str, dict[str, float]] = field(default_factory=dict)
    genres: dict[str, list[float]] = field(default_factory=dict)
    items: tuple[str, ...] = tuple(ITEMS)

    @property
    def users(self) -> list[str]:
        """All that something is held out of; by default all that are recommended something."""
        return sorted(self.gold or self.lists)

    @property
    def trained(self) -> int:
        return sum(bool(taken) for taken in self.history.values())

    def popularity(self, item: str) -> int:
        return sum(item in taken for taken in self.history.values())

    def background(self) -> Background:
        users, items = sorted(self.history), sorted(self.items)
        taken = [sorted(items.index(item) for item in set(self.history[user])) for user in users]
        width = max((len(row) for row in self.genres.values()), default=0)
        genre = np.array([self.genres.get(item, [0.0] * width) for item in items])
        return Background(
            pl.Series(items, dtype=pl.String),
            np.array([self.popularity(item) for item in items], dtype=np.int64),
            self.trained,
            pl.Series(users, dtype=pl.String),
            np.cumsum([0, *map(len, taken)]),
            np.array([code for row in taken for code in row], dtype=np.int64),
            {"genre": genre} if width else {},
        )

    def evaluation(self) -> Evaluation:
        gold = self.gold or {user: {"nothing that is shown": 1.0} for user in self.users}
        shown = {user: shown for user, shown in self.lists.items() if shown} or {USERS[0]: []}
        scored = {user: {item: -float(n) for n, item in enumerate(one)} for user, one in shown.items()}
        return Evaluation.match(
            rankjury.as_gold(gold),
            rankjury.as_ranking(scored),
            background=self.background(),
            allow_disjoint_queries=True,
        )

    def scores(self, *measures: str) -> rankjury.Scores:
        return self.evaluation().scores(resolve_measures(measures))

    def tables(self, *measures: str) -> dict[str, dict[str, float]]:
        """Of each measure the values by user."""
        scores = self.scores(*measures)
        return {label: dict(zip(scores.queries, scores[label].tolist(), strict=True)) for label in scores.labels}

    def values(self, measure: str) -> dict[str, float]:
        """By user."""
        return self.tables(measure)[measure]

    def figure(self, measure: str) -> float:
        return self.scores(measure).mean()[measure]

    def top(self, user: str, k: int) -> list[str]:
        """The first k without what the catalogue lacks."""
        return [item for item in self.lists.get(user, [])[:k] if item in self.items]

    def renamed(self, users: Callable[[str], str], items: Callable[[str], str]) -> "World":
        def them(taken: list[str]) -> list[str]:
            return [items(item) for item in taken]

        return World(
            {users(user): them(shown) for user, shown in self.lists.items()},
            {users(user): them(taken) for user, taken in self.history.items()},
            {users(user): {items(item): grade for item, grade in held.items()} for user, held in self.gold.items()},
            {items(item): row for item, row in self.genres.items()},
            tuple(map(items, self.items)),
        )

    def reversed(self) -> "World":
        """With every list in the opposite order."""
        return replace(self, lists={user: shown[::-1] for user, shown in self.lists.items()})


@st.composite
def worlds(draw: Any) -> World:
    """A few users and items: empty lists, users without a history, items of no genre, items outside the catalogue."""
    some = st.lists(st.sampled_from(ITEMS), unique=True)
    shown = st.lists(st.sampled_from([*ITEMS, "stranger"]), unique=True)
    genres = st.lists(st.sampled_from([0.0, 0.0, 1.0]), min_size=3, max_size=3)
    held = st.dictionaries(st.sampled_from([*ITEMS, "stranger"]), st.sampled_from([1.0, 3.0, 5.0]), min_size=1)
    return World(
        {user: draw(shown) for user in USERS},
        {user: draw(some) for user in USERS[1:]},
        {user: draw(held) for user in USERS},
        {item: draw(genres) for item in ITEMS[:-1]},
    )


def check_users(world: World, expected: dict[str, Callable[[str], float]]) -> None:
    """Measures have the same value for every user, undefined where it is undefined."""
    scores = world.scores(*expected)
    for measure, of_user in expected.items():
        wanted = [of_user(user) for user in scores.queries]
        np.testing.assert_allclose(scores[measure], wanted, rtol=1e-12, atol=1e-12, err_msg=measure)


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else nan


def mean_popularity(world: World, user: str, k: int, scale: str = "share") -> float:
    by = max(1, world.trained) if scale == "share" else 1
    return mean([world.popularity(item) / by for item in world.top(user, k)])


def novelty(world: World, user: str, k: int, unseen: str = "rarest") -> float:
    users, bits = max(1, world.trained), []
    for item in world.top(user, k):
        taken = world.popularity(item)
        if unseen == "smooth":
            bits.append(-log2((taken + 1) / (users + 1)))
        elif taken:
            bits.append(-log2(taken / users))
        elif unseen != "skip":
            bits.append(-log2(1 / (users + 1) if unseen == "rarest" else 1 / users))
    return mean(bits)


def serendipity(
    world: World, user: str, k: int, against: str = "popularity", over: str = "k", rel: float = 1.0
) -> float:
    held, shown = world.gold[user], world.lists.get(user, [])[:k]
    wanted = {item for item, grade in held.items() if grade >= rel}
    total = 0.0
    for rank, item in enumerate(shown, 1):
        if item not in wanted:
            continue
        if against == "popularity":
            total += item not in popular(world, user, k)
        else:
            total += max(0.0, (place(world, item) - rank) / len(world.items))
    by = len(shown) if over == "retrieved" else k
    return total / by if by else 0.0


def popular(world: World, user: str, k: int) -> list[str]:
    """The k most popular that the user did not take before."""
    taken = world.history.get(user, [])
    candidates = [item for item in world.items if item not in taken]
    return sorted(candidates, key=lambda item: (-world.popularity(item), item))[:k]


def place(world: World, item: str) -> int:
    """By popularity, from 1; those that as many took share one, those that nobody took stand behind all."""
    taken = world.popularity(item) if item in world.items else 0
    more = {world.popularity(other) for other in world.items if world.popularity(other) > taken}
    return 1 + len(more) if taken else len(world.items) + 1


def diversity(world: World, user: str, k: int) -> float:
    rows = [world.genres[item] for item in world.top(user, k) if any(world.genres.get(item, []))]
    return mean([1 - cosine(one, other) for one, other in combinations(rows, 2)])


def cosine(one: list[float], other: list[float]) -> float:
    product = sum(x * y for x, y in zip(one, other, strict=True))
    return product / sqrt(sum(x * x for x in one)) / sqrt(sum(y * y for y in other))


def mixture(world: World, items: list[str]) -> list[float]:
    """The genres' shares, every item spreading a weight of 1; empty where no genre is known."""
    rows = [world.genres[item] for item in items if any(world.genres.get(item, []))]
    spread = [[cell / sum(row) for cell in row] for row in rows]
    return [sum(cells) / len(rows) for cells in zip(*spread, strict=True)]


def relative_entropy(p: list[float], q: list[float]) -> float:
    return sum(x * log2(x / y) for x, y in zip(p, q, strict=True) if x > 0)


def calibration(world: World, user: str, k: int, divergence: str = "kl") -> float:
    p, q = mixture(world, world.history.get(user, [])), mixture(world, world.top(user, k))
    if not p or not q:
        return nan
    if divergence == "kl":
        return relative_entropy(p, [0.99 * y + 0.01 * x for x, y in zip(p, q, strict=True)])
    middle = [(x + y) / 2 for x, y in zip(p, q, strict=True)]
    return (relative_entropy(p, middle) + relative_entropy(q, middle)) / 2


def often(world: World, k: int) -> Counter[str]:
    return Counter(item for user in world.users for item in world.top(user, k))


def coverage(world: World, k: int) -> float:
    return len(often(world, k)) / len(world.items)


def exposure_gini(world: World, k: int, over: str = "catalogue") -> float:
    """By its first definition: the mean difference of all pairs over twice the mean."""
    counts = often(world, k)
    x = [counts[item] for item in (world.items if over == "catalogue" else counts)]
    if not sum(x):
        return nan
    return sum(abs(one - other) for one in x for other in x) / (2 * len(x) * sum(x))


def exposure_entropy(world: World, k: int, scale: str = "bits") -> float:
    counts = often(world, k)
    total = sum(counts.values())
    if not total:
        return nan
    bits = -sum(n / total * log2(n / total) for n in counts.values())
    return bits if scale == "bits" else bits * log(2) / log(len(world.items))


def personalisation(world: World, k: int) -> float:
    shown = [set(world.top(user, k)) for user in world.users]
    return mean([1 - len(one & other) / k for one, other in combinations([one for one in shown if one], 2)])


def without(world: World, user: str) -> World:
    return replace(
        world,
        lists={name: shown for name, shown in world.lists.items() if name != user},
        gold={name: held for name, held in world.gold.items() if name != user},
    )


def contributions(world: World, figure: Callable[[World], float]) -> list[float]:
    """Jackknife pseudo-values, each figure worked out anew, moved so that their mean is the figure.

    Where there is none without somebody, one user has the figure, and the others nothing.
    """
    n, whole = len(world.users), figure(world)
    if whole != whole:
        return [nan] * n
    left = [figure(without(world, user)) for user in world.users] if n > 1 else [whole]
    needed = [place for place, one in enumerate(left) if one != one]
    if needed:
        return [whole if place == needed[0] else nan for place in range(n)]
    pseudo = [n * whole - (n - 1) * one for one in left]
    return [one - mean(pseudo) + whole for one in pseudo]
