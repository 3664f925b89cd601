"""Tiers: users by activity, items by popularity, cold and warm, by training interactions only."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, isfinite
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.params import is_whole
from rankjury.core.text import plural
from rankjury.core.types import Ints
from rankjury.errors import UsageError
from rankjury.evaluation.slices import SliceTable
from rankjury.evaluation.slices.groups import Attribute
from rankjury.recsys.split import exact_fraction
from rankjury.recsys.task import Task

CROSSINGS = (("activity", "item.popularity"), ("user", "item"))
"""Tiers of users and of items that are crossed if crossings are requested."""
_ACTIVITY = {2: ("low", "high"), 3: ("low", "medium", "high"), 4: ("low", "medium", "high", "power")}
_MAX_TIERS = 20
_UNIT = "training interaction", "training interactions"


@dataclass(frozen=True)
class Tiers:
    """Definition of the tiers of users and items."""

    activity: int | tuple[float, ...] = 4
    """Number of tiers of nearly equal size; or the counts at which the second, third … begins."""
    popularity: tuple[float, ...] = (0.5, 0.8)
    """Head has the first share of training interactions, torso the rest up to the second share."""
    cold_users: int = 10
    """Users with fewer training interactions are cold."""
    cold_items: int = 10
    crossings: bool = False
    """Whether tiers of users are also crossed with tiers of items: activity=low*item.popularity=tail."""

    def __post_init__(self) -> None:
        if isinstance(self.activity, int):
            if isinstance(self.activity, bool) or not 2 <= self.activity <= _MAX_TIERS:
                raise UsageError(f"activity is {self.activity}", expected=f"2 to {_MAX_TIERS} tiers, or edges")
        else:
            edges = self.activity if isinstance(self.activity, Sequence) else ()
            begins = [0, *(ceil(edge) for edge in edges if isfinite(edge))]
            is_rising = all(low < high for low, high in pairwise(begins))
            if not is_rising or not 1 < len(begins) == len(edges) + 1 <= _MAX_TIERS:
                raise UsageError(f"activity is {self.activity}", expected="numbers that rise, such as 20, 50, 200")
        if len(self.popularity) != 2 or not 0 < self.popularity[0] <= self.popularity[1] <= 1:
            raise UsageError(f"popularity is {self.popularity}", expected="two shares that rise, such as 0.5, 0.8")
        for name in ("cold_users", "cold_items"):
            least = getattr(self, name)
            if not is_whole(least) or least < 1:
                raise UsageError(f"{name} is {least!r}", expected="a whole number from 1 on")


@dataclass(frozen=True, eq=False)
class Tier:
    """One attribute: its tiers in order, a note on each, and the tier of each user or item."""

    name: str
    labels: tuple[str, ...]
    notes: tuple[str, ...]
    place: Ints
    """Tier of each user or item of the log."""


def user_tiers(task: Task, tiers: Tiers) -> tuple[Tier, Tier]:
    """Return ``activity`` and ``user`` (cold or warm) of every user; users without training are in the lowest tier."""
    taken = task.train.per_user
    begins = _activity_begins(taken[taken > 0], tiers)
    place = np.searchsorted(begins, taken, side="right").astype(np.int64)
    labels = _ACTIVITY.get(begins.size + 1, tuple(f"q{number + 1}" for number in range(begins.size + 1)))
    return Tier("activity", labels, _ranges(begins.tolist()), place), _warmth("user", taken, tiers.cold_users)


def item_tiers(task: Task, tiers: Tiers) -> tuple[Tier, Tier]:
    """Return ``popularity`` and ``item`` (cold or warm) of every item; items missing in training are tail."""
    taken = task.train.per_item
    least = _popularity_begins(taken, tiers)
    place = (taken < least[0]).astype(np.int64) + (taken < least[1])
    notes = _ranges([least[1], least[0]])[::-1]
    return Tier("popularity", ("head", "torso", "tail"), notes, place), _warmth("item", taken, tiers.cold_items)


def user_cuts(task: Task, tiers: Tiers) -> SliceTable:
    """Return slices of the evaluated users: activity=low …, user=cold …"""
    return _cuts(task, "queries", task.log.users, task.users, user_tiers(task, tiers))


def item_cuts(task: Task, tiers: Tiers) -> SliceTable:
    """Return slices of items: item.popularity=head …, item=cold …"""
    return _cuts(task, "items", task.log.items, np.arange(len(task.log.items)), item_tiers(task, tiers))


def _cuts(task: Task, of: str, ids: pl.Series, codes: Ints, tiers: Sequence[Tier]) -> SliceTable:
    columns, attributes = [ids.gather(codes).alias("id")], []
    for tier in tiers:
        labels = pl.Series(tier.name, tier.labels, dtype=pl.Enum(tier.labels))
        columns.append(labels.gather(tier.place[codes]))
        attributes.append((Attribute(tier.name, notes=tuple(zip(tier.labels, tier.notes, strict=True))),))
    return SliceTable(pl.DataFrame(columns), "id", of, attributes, f"{task.log.source} (tiers)")


def _activity_begins(taken: Ints, tiers: Tiers) -> Ints:
    """Return the count at which the second, third … tier begins; equal counts for empty tiers."""
    if not isinstance(tiers.activity, int):
        return np.array([ceil(edge) for edge in tiers.activity], dtype=np.int64)
    distinct, users = np.unique(taken, return_counts=True)
    if distinct.size < 2:
        return np.full(tiers.activity - 1, np.iinfo(np.int64).max)
    upto = np.cumsum(users)[:-1] * tiers.activity
    wanted = np.arange(1, tiers.activity) * taken.size
    nearest = np.abs(upto[None, :] - wanted[:, None]).argmin(axis=1)
    begins: Ints = distinct[nearest] + 1
    return begins


def _popularity_begins(taken: Ints, tiers: Tiers) -> tuple[int, int]:
    """Return the lowest counts of head and of torso, from the share of interactions of items with higher counts."""
    distinct, items = np.unique(taken[taken > 0], return_counts=True)
    interactions = distinct * items
    above = interactions.sum() - np.cumsum(interactions)
    least = []
    for share in tiers.popularity:
        limit = exact_fraction(share) * int(interactions.sum())
        within = distinct[[number < limit for number in above.tolist()]]
        least.append(int(within.min()) if within.size else 1)
    return least[0], least[1]


def _warmth(name: str, taken: Ints, threshold: int) -> Tier:
    notes = (f"fewer than {plural(threshold, *_UNIT)}", f"{plural(threshold, *_UNIT)} or more")
    return Tier(name, ("cold", "warm"), notes, (taken >= threshold).astype(np.int64))


def _ranges(begins: Sequence[int]) -> tuple[str, ...]:
    """Return notes on the counts below the first limit, between two, and from the last on."""
    if begins[0] == np.iinfo(np.int64).max:
        return "all of them", *[""] * len(begins)
    between = [f"{low:,} to {high - 1:,} {_UNIT[1]}" for low, high in pairwise(begins)]
    for place, (low, high) in enumerate(pairwise(begins)):
        if high <= low + 1:
            between[place] = plural(low, *_UNIT) if high > low else ""
    return f"at most {plural(begins[0] - 1, *_UNIT)}", *between, f"{plural(begins[-1], *_UNIT)} or more"


def describe(task: Task, tiers: Tiers) -> dict[str, Any]:
    """Return the sizes of tiers: training users and items with their share of interactions, and held-out ones.

    Sizes in training do not depend on the held-out items.
    """
    tested_users, tested_items = (np.zeros(len(ids), dtype=bool) for ids in (task.log.users, task.log.items))
    tested_users[task.users] = True
    tested_items[task.held_out.items] = True
    sides = (
        ("users", user_tiers(task, tiers), task.train.per_user, tested_users),
        ("items", item_tiers(task, tiers), task.train.per_item, tested_items),
    )
    sizes: dict[str, Any] = {}
    for side, tiers_of_side, taken, held_out in sides:
        total = int(taken.sum())
        for tier in tiers_of_side:
            of_tier = sizes.setdefault(side, {}).setdefault(tier.name, {})
            for place, (label, note) in enumerate(zip(tier.labels, tier.notes, strict=True)):
                inside = tier.place == place
                of_tier[label] = {
                    "range": note,
                    "train": int((inside & (taken > 0)).sum()),
                    "share": int(taken[inside].sum()) / total if total else 0.0,
                    "held_out": int((inside & held_out).sum()),
                }
    return sizes
