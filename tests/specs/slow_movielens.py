"""The movielens protocol written out from its formulas: plain loops over dicts, and nothing of rankjury's.

With it, worlds to try it on: rows of a log, a catalogue with genres, scores of somebody's own, and the plan that says
the same to rankjury.
"""

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

Row = tuple[str, str, float, int]
"""User, item, rating, timestamp."""
Lists = Mapping[str, Sequence[str]]
"""By user, what is recommended, best first."""
Held = Mapping[str, Mapping[str, float]]
"""By user and item, the rating."""
Values = dict[str, float | None]
"""By user; None where it is undefined."""
CUTS = (5, 10, 20)
DEPTH = max(CUTS) + 1
"""How many items a system lists: one more than measures look at, so that ties at the last cut-off are seen."""
LIKED = 4


def latest(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Each user's items once: the latest rating, of those as late the highest."""
    found: dict[str, dict[str, float]] = {}
    for user, item, rating, _ in sorted(rows, key=lambda row: (row[3], row[2])):
        found.setdefault(user, {})[item] = rating
    return found


def cut_offs(rows: Sequence[Row]) -> tuple[int, int]:
    """Section 3.2: the times before which the share of rows is nearest to 80 and 90 %; of two as near the earlier."""
    times = sorted(row[3] for row in rows)
    first = {time: place for place, time in reversed(list(enumerate(times)))}
    t1, t2 = (min(first, key=lambda time: (abs(10 * first[time] - of_ten * len(times)), time)) for of_ten in (8, 9))
    return t1, t2


def window(rows: Sequence[Row], t1: int, t2: int, name: str) -> list[Row]:
    """Section 3.2: train before t1, validation from there on and before t2, test from t2 on."""
    if name == "train":
        return [row for row in rows if row[3] < t1]
    if name == "validation":
        return [row for row in rows if t1 <= row[3] < t2]
    return [row for row in rows if row[3] >= t2]


@dataclass(frozen=True)
class World:
    """A log, and what is recommended by whom."""

    rows: list[Row]
    genres: dict[str, list[str]] = field(default_factory=dict)
    """The catalogue; by item its genres, none of them where these are unknown."""
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    """By user and item, of a system of one's own."""
    t1: int = 0
    t2: int = 0
    held: str = "test"
    fit_on: tuple[str, ...] = ("train",)
    cold: int = 10
    catalogue: str = "items"

    @cached_property
    def train(self) -> list[Row]:
        return [row for name in self.fit_on for row in window(self.rows, self.t1, self.t2, name)]

    @cached_property
    def history(self) -> dict[str, dict[str, float]]:
        return latest(self.train)

    @cached_property
    def truth(self) -> dict[str, dict[str, float]]:
        return latest(window(self.rows, self.t1, self.t2, self.held))

    @cached_property
    def users(self) -> list[str]:
        return sorted(self.truth)

    @cached_property
    def items(self) -> list[str]:
        """The catalogue: those of the file, all that were seen, or those of training."""
        if self.catalogue == "items":
            return sorted(self.genres)
        names = ("train", "validation", "test") if self.held == "test" else ("train", "validation")
        rows = self.train if self.catalogue == "train" else [
            row for name in names for row in window(self.rows, self.t1, self.t2, name)
        ]  # fmt: skip
        return sorted({row[1] for row in rows})

    @cached_property
    def taken(self) -> Counter[str]:
        """How many users took each item in training."""
        return Counter(item for items in self.history.values() for item in items)

    def candidates(self, user: str) -> list[str]:
        """Section 3.4: what the user did not take in training, and what was held out of them."""
        mine, held = self.history.get(user, {}), self.truth[user]
        return [item for item in self.items if item not in mine or item in held] + [
            item for item in held if item not in self.offered
        ]

    @cached_property
    def offered(self) -> set[str]:
        return set(self.items)

    @cached_property
    def popular(self) -> list[str]:
        """All items of the catalogue, most popular first, equal ones by id."""
        return sorted(self.items, key=lambda item: (-self.taken[item], item))

    def ranked(self, user: str, scores: Mapping[str, float], k: int = DEPTH) -> list[str]:
        """By score descending, then by id; an item without a score cannot be recommended."""
        known = [item for item in self.candidates(user) if item in scores]
        return sorted(known, key=lambda item: (-scores[item], item))[:k]

    def by_popularity(self, user: str, k: int = DEPTH) -> list[str]:
        return self.ranked(user, {item: float(self.taken[item]) for item in self.candidates(user)}, k)

    def lists(self, system: str) -> dict[str, list[str]]:
        """Popularity; or the scores that were given, and popularity for users who have none."""
        if system == "popularity":
            return {user: self.by_popularity(user) for user in self.users}
        return {
            user: self.ranked(user, self.scores[user]) if user in self.scores else self.by_popularity(user)
            for user in self.users
        }

    def user_slices(self) -> dict[str, list[str]]:
        """Section 5: by activity in quarters of the training users, and cold or warm, by training interactions."""
        rows = Counter(row[0] for row in self.train)
        edges = quarters(sorted(rows.values()))
        found: dict[str, list[str]] = {}
        for user in self.users:
            tier = ("low", "medium", "high", "power")[sum(rows[user] > edge for edge in edges)]
            found.setdefault(f"activity={tier}", []).append(user)
            found.setdefault(f"user={'cold' if rows[user] < self.cold else 'warm'}", []).append(user)
        return found

    @cached_property
    def item_rows(self) -> Counter[str]:
        return Counter(row[1] for row in self.train)

    def tiers(self, item: str) -> tuple[str, str]:
        """Section 5: the slices of items that an item is in, by its training interactions."""
        return (
            f"item.popularity={tier_of(item, self.item_rows)}",
            f"item={'cold' if self.item_rows[item] < self.cold else 'warm'}",
        )

    def item_slices(self) -> dict[str, Held]:
        """Section 5: what was held out, restricted to the items of each tier."""
        found: dict[str, dict[str, dict[str, float]]] = {}
        for user, held in self.truth.items():
            for item, rating in held.items():
                for name in self.tiers(item):
                    found.setdefault(name, {}).setdefault(user, {})[item] = rating
        return dict(found)

    def write(self, folder: Path, more: str = "") -> Path:
        """The log, the catalogue, the scores and a plan."""
        lines = [f"{user},{item},{rating!r},{time}" for user, item, rating, time in self.rows]
        (folder / "ratings.csv").write_text("\n".join(["userId,movieId,rating,timestamp", *lines]) + "\n")
        named = [f"{item},,{'|'.join(of) or '(no genres listed)'}" for item, of in self.genres.items()]
        (folder / "movies.csv").write_text("\n".join(["movieId,title,genres", *named]) + "\n")
        own = [f"{user},{item},{score!r}" for user, of in self.scores.items() for item, score in of.items()]
        (folder / "own.csv").write_text("\n".join(["user,item,score", *own]) + "\n")
        (folder / "plan.toml").write_text(self.plan() + more)
        return folder / "plan.toml"

    def plan(self) -> str:
        spelled = ", ".join(f'"{one}"' for one in (*PER_USER, *OVER_ALL))
        return "\n".join(
            [
                f"measures = [{spelled}]",
                f"cutoffs = {list(CUTS)}",
                "statistics.resamples = 100",
                'systems.popularity = { kind = "recommender", model = "popularity" }',
                'systems.own = { kind = "recommender", model = "scores", params = { path = "own.csv" } }',
                "[gold]",
                'kind = "interactions"',
                'path = "ratings.csv"',
                'items = "movies.csv"',
                f'catalogue = "{self.catalogue}"',
                f'window = "{self.held}"',
                f'fit_on = "{"+".join(self.fit_on)}"',
                f"tiers = {{ cold_users = {self.cold}, cold_items = {self.cold} }}",
                "",
            ]
        )


def quarters(counts: Sequence[int]) -> list[int]:
    """The highest counts of low, medium and high, as near to quarters of all as equal counts allow."""
    levels = sorted(set(counts))[:-1]
    if not levels:
        return [max(counts)] * 3
    found = []
    for quarter in (1, 2, 3):
        off = {level: abs(4 * sum(count <= level for count in counts) - quarter * len(counts)) for level in levels}
        found.append(min(levels, key=lambda level: (off[level], level)))
    return found


def tier_of(item: str, rows: Mapping[str, int]) -> str:
    """Head while more popular items hold less than half of all training interactions, torso up to four fifths."""
    total, above = sum(rows.values()), sum(n for n in rows.values() if n > rows.get(item, 0))
    if not rows.get(item, 0):
        return "tail"
    return "head" if 2 * above < total else "torso" if 5 * above < 4 * total else "tail"


def dcg(ratings: Sequence[float]) -> float:
    """Section 4.1."""
    return math.fsum(rating / math.log2(place + 1) for place, rating in enumerate(ratings, 1))


def ndcg(shown: Sequence[str], held: Mapping[str, float], k: int) -> float | None:
    best = dcg(sorted(held.values(), reverse=True)[:k])
    return dcg([held.get(item, 0.0) for item in shown[:k]]) / best if best else None


def liked(held: Mapping[str, float]) -> set[str]:
    """Section 3.3."""
    return {item for item, rating in held.items() if rating >= LIKED}


def precision(shown: Sequence[str], held: Mapping[str, float], k: int) -> float:
    """Section 4.2: also of a user who liked nothing."""
    return len(liked(held) & set(shown[:k])) / k


def recall(shown: Sequence[str], held: Mapping[str, float], k: int) -> float | None:
    """Section 4.3: undefined for a user who liked nothing."""
    return len(liked(held) & set(shown[:k])) / len(liked(held)) if liked(held) else None


def hit_rate(shown: Sequence[str], held: Mapping[str, float], k: int) -> float:
    """Also of a user who liked nothing, as precision."""
    return float(bool(liked(held) & set(shown[:k])))


def reciprocal_rank(shown: Sequence[str], held: Mapping[str, float], k: int) -> float:
    """Also of a user who liked nothing, as precision."""
    wanted = liked(held)
    places = [place for place, item in enumerate(shown[:k], 1) if item in wanted]
    return 1 / places[0] if places else 0.0


def average_precision(shown: Sequence[str], held: Mapping[str, float], k: int) -> float | None:
    wanted, found, total = liked(held), 0, 0.0
    for place, item in enumerate(shown[:k], 1):
        if item in wanted:
            found += 1
            total += found / place
    return total / len(wanted) if wanted else None


ACCURACY = {
    "ndcg": ndcg,
    "precision(rel=4)": precision,
    "recall(rel=4)": recall,
    "hit_rate(rel=4)": hit_rate,
    "rr(rel=4)": reciprocal_rank,
    "ap(rel=4)": average_precision,
}


BY_POSITION = ("ndcg", "rr(rel=4)", "ap(rel=4)")
"""In a slice of items these rank its items alone: the best list of a tier scores 1 there. Of the others, which only ask
what is in the top k, it is the top k of the whole list."""


def mean(values: Sequence[float | None]) -> float | None:
    """Over those that are defined."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def shown_of(world: World, shown: Sequence[str], k: int) -> list[str]:
    """The first k, without what the catalogue lacks."""
    return [item for item in shown[:k] if item in world.offered]


def mean_popularity(world: World, user: str, shown: Sequence[str], k: int) -> float | None:
    return mean([world.taken[item] / len(world.history) for item in shown_of(world, shown, k)])


def novelty(world: World, user: str, shown: Sequence[str], k: int) -> float | None:
    users = len(world.history)
    return mean(
        [-math.log2(world.taken[item] / users) if world.taken[item] else math.log2(users + 1)
         for item in shown_of(world, shown, k)]
    )  # fmt: skip


def diversity(world: World, user: str, shown: Sequence[str], k: int) -> float | None:
    """Of sets of genres the cosine is what they share over the root of the product of their sizes."""
    sets = [set(world.genres[item]) for item in shown_of(world, shown, k) if world.genres.get(item)]
    return mean([1 - len(a & b) / math.sqrt(len(a) * len(b)) for a, b in combinations(sets, 2)])


def serendipity(world: World, user: str, shown: Sequence[str], k: int) -> float:
    """Hits that are not among the k most popular candidates."""
    wanted = liked(world.truth[user])
    mine, held = world.history.get(user, {}), world.truth[user]
    usual: list[str] = []
    for item in world.popular:
        if len(usual) < k and (item not in mine or item in held):
            usual.append(item)
    return len(wanted & set(shown[:k]) - set(usual)) / k


def mixture(world: World, items: Sequence[str]) -> dict[str, float]:
    """The genres' shares, each item spreading a weight of 1."""
    known = [item for item in items if world.genres.get(item)]
    found: dict[str, float] = {}
    for item in known:
        for genre in world.genres[item]:
            found[genre] = found.get(genre, 0.0) + 1 / len(world.genres[item]) / len(known)
    return found


def calibration(world: World, user: str, shown: Sequence[str], k: int) -> float | None:
    p = mixture(world, [item for item in world.history.get(user, {}) if item in world.offered])
    q = mixture(world, shown_of(world, shown, k))
    if not p or not q:
        return None
    return math.fsum(x * math.log2(x / (0.99 * q.get(genre, 0.0) + 0.01 * x)) for genre, x in p.items())


BEYOND = {
    "mean_popularity": mean_popularity,
    "novelty": novelty,
    "diversity": diversity,
    "serendipity(rel=4)": serendipity,
    "calibration": calibration,
}


def exposure(world: World, lists: Lists, k: int) -> Counter[str]:
    return Counter(item for shown in lists.values() for item in shown_of(world, shown, k))


def coverage(world: World, lists: Lists, k: int) -> float:
    return len(exposure(world, lists, k)) / len(world.items)


def gini(world: World, lists: Lists, k: int) -> float | None:
    """By the mean difference of all pairs of items, those that are recommended as often counted together."""
    often = exposure(world, lists, k)
    sizes = Counter(often[item] for item in world.items)
    apart = sum(abs(a - b) * n * m for a, n in sizes.items() for b, m in sizes.items())
    total = sum(often.values())
    return apart / (2 * len(world.items) * total) if total else None


def entropy(world: World, lists: Lists, k: int) -> float | None:
    often = exposure(world, lists, k)
    total = sum(often.values())
    return -math.fsum(n / total * math.log2(n / total) for n in often.values()) if total else None


def personalisation(world: World, lists: Lists, k: int) -> float | None:
    sets = [set(shown_of(world, shown, k)) for shown in lists.values()]
    return mean([1 - len(a & b) / k for a, b in combinations([one for one in sets if one], 2)])


WHOLE = {"coverage": coverage, "exposure_gini": gini, "exposure_entropy": entropy, "personalisation": personalisation}
PER_USER = (*ACCURACY, *BEYOND)
OVER_ALL = tuple(WHOLE)


def labels(names: Sequence[str]) -> list[tuple[str, int]]:
    return [(name, k) for name in names for k in CUTS]


def per_user(world: World, lists: Lists) -> dict[str, Values]:
    """By measure and user."""
    found: dict[str, Values] = {}
    for name, k in labels(list(ACCURACY)):
        found[f"{name}@{k}"] = {user: ACCURACY[name](lists[user], world.truth[user], k) for user in world.users}
    for name, k in labels(list(BEYOND)):
        found[f"{name}@{k}"] = {user: BEYOND[name](world, user, lists[user], k) for user in world.users}
    return found


def over_all(world: World, lists: Lists) -> dict[str, float | None]:
    """By measure."""
    return {f"{name}@{k}": WHOLE[name](world, lists, k) for name, k in labels(OVER_ALL)}


def sliced(world: World, lists: Lists) -> dict[str, tuple[int, dict[str, float | None]]]:
    """By slice: of how many users, and the mean of each measure over those for whom it is defined."""
    everybody = per_user(world, lists)
    found = {
        name: (len(members), {label: mean([of[user] for user in members]) for label, of in everybody.items()})
        for name, members in world.user_slices().items()
    }
    for name, held in world.item_slices().items():
        inside = {user: [item for item in lists[user] if name in world.tiers(item)] for user in held}
        values = {}
        for measure, k in labels(list(ACCURACY)):
            shown = inside if measure in BY_POSITION else lists
            values[f"{measure}@{k}"] = mean([ACCURACY[measure](shown[user], of, k) for user, of in held.items()])
        found[name] = (len(held), values)
    return found


GENRES = ("Drama", "Horror", "Western", "Comedy")


def made(seed: int, *, users: int = 14, items: int = 30, rows: int = 260, ties: int = 1, **changed: Any) -> World:
    """A log by chance: skewed, timestamps that tie, ids whose spelling is not their order, scores that tie."""
    chance = random.Random(seed)
    films = [str(number) for number in range(1, items + 1)]
    catalogue = {film: chance.sample(GENRES, chance.randrange(4)) for film in [*films, "never", "unrated"]}
    taken: list[Row] = []
    pairs: set[tuple[str, str]] = set()
    for _ in range(rows):
        user, film = str(chance.randrange(users)), films[min(int(chance.expovariate(0.12)), items - 1)]
        if (user, film) not in pairs:
            pairs.add((user, film))
            taken.append((user, film, chance.randrange(1, 11) / 2, 1_000_000_000 + chance.randrange(rows) // ties * 60))
    scored = [user for user in sorted({row[0] for row in taken}) if user == taken[0][0] or chance.random() < 0.8]
    scores = {
        user: {film: chance.randrange(12) / 4 for film in catalogue if film == films[0] or chance.random() < 0.9}
        for user in scored
    }
    chance.shuffle(taken)
    return World(taken, catalogue, scores, **changed)


@st.composite
def worlds(draw: Any) -> World:
    """Of few or many users and items, with timestamps that tie often or never, held against either window."""
    users, items = draw(st.integers(3, 12)), draw(st.integers(4, 25))
    held, fit_on = draw(
        st.sampled_from([("test", ("train",)), ("test", ("train", "validation")), ("validation", ("train",))])
    )
    return made(
        draw(st.integers(0, 10_000)), users=users, items=items, rows=draw(st.integers(60, 200)),
        ties=draw(st.sampled_from([1, 1, 5, 20])), held=held, fit_on=fit_on, cold=draw(st.integers(1, 12)),
        catalogue=draw(st.sampled_from(["items", "seen", "train"])),
    )  # fmt: skip
