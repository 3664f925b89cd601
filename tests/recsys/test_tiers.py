"""Tiers of users and items: by training interactions alone, in their natural order, whatever was held out."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

from rankjury.errors import UsageError
from rankjury.evaluation.sections import ReportWarning
from rankjury.evaluation.slices import SliceTable
from rankjury.recsys.data.log import Log, log_from_frame
from rankjury.recsys.split import window_sizes
from rankjury.recsys.splitting import split_log
from rankjury.recsys.task import Task
from rankjury.recsys.tiers import Tiers, describe, item_cuts, item_tiers, user_cuts, user_tiers
from tests.stats.support import thorough

SPLIT_AT = 1000
Row = tuple[str, str, float, int]


def log_of(rows: list[Row]) -> Log:
    return log_from_frame(pl.DataFrame(rows, schema=["user", "item", "value", "time"], orient="row"))


def task_of(rows: list[Row]) -> Task:
    return Task(split_log(log_of(rows), "dates", test=SPLIT_AT))


def takes(per_user: Mapping[str, int]) -> list[Row]:
    """So many training rows of each user, and one held-out row of everybody."""
    rows = [(user, f"i{place}", 3.0, place) for user, n in per_user.items() for place in range(n)]
    return [*rows, *((user, "i0", 4.0, SPLIT_AT) for user in per_user)]


def taken(per_item: Mapping[str, int]) -> list[Row]:
    """So many training rows of each item, and one held-out row of each."""
    rows = [(f"u{place}", item, 3.0, place) for item, n in per_item.items() for place in range(n)]
    return [*rows, *(("u0", item, 4.0, SPLIT_AT) for item in per_item)]


def groups_of(cuts: SliceTable, ids: list[str]) -> dict[str, tuple[str, list[str]]]:
    warnings: list[ReportWarning] = []
    found = cuts.groups(pl.Series(ids), warnings)
    assert not warnings
    return {one.name: (one.note, [ids[place] for place in np.flatnonzero(one.members)]) for one in found}


def by_id(task: Task, tiers: Tiers) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tiers of every id that training has, and what they are called."""
    users, items = user_tiers(task, tiers), item_tiers(task, tiers)
    seen_users = task.log.users.filter(pl.Series(task.train.per_user > 0)).to_list()
    seen_items = task.log.items.filter(pl.Series(task.train.per_item > 0)).to_list()
    of_users = {
        tier.name: dict(zip(task.log.users, (tier.labels[place] for place in tier.place), strict=True))
        for tier in users
    }
    of_items = {
        tier.name: dict(zip(task.log.items, (tier.labels[place] for place in tier.place), strict=True))
        for tier in items
    }
    return (
        {name: {one: labels[one] for one in seen_users} for name, labels in of_users.items()},
        {name: {one: labels[one] for one in seen_items} for name, labels in of_items.items()},
    )


class TestUsers:
    COUNTS: Mapping[str, int] = dict(zip("abcdefgh", (1, 2, 5, 6, 12, 13, 40, 41), strict=True))

    def test_quartiles_in_their_order(self) -> None:
        task = task_of([*takes(self.COUNTS), ("new", "i0", 5.0, SPLIT_AT)])
        found = groups_of(user_cuts(task, Tiers()), [*self.COUNTS, "new"])
        assert list(found.items()) == [
            ("activity=low", ("at most 2 training interactions", ["a", "b", "new"])),
            ("activity=medium", ("3 to 6 training interactions", ["c", "d"])),
            ("activity=high", ("7 to 13 training interactions", ["e", "f"])),
            ("activity=power", ("14 training interactions or more", ["g", "h"])),
            ("user=cold", ("fewer than 10 training interactions", ["a", "b", "c", "d", "new"])),
            ("user=warm", ("10 training interactions or more", ["e", "f", "g", "h"])),
        ]

    def test_who_has_nothing_in_training_moves_no_edge(self) -> None:
        new = [(f"new{place}", "i0", 5.0, SPLIT_AT) for place in range(50)]
        assert by_id(task_of(takes(self.COUNTS)), Tiers()) == by_id(task_of([*takes(self.COUNTS), *new]), Tiers())

    def test_edges(self) -> None:
        task = task_of(takes(self.COUNTS))
        found = groups_of(user_cuts(task, Tiers(activity=(5, 13, 41))), list(self.COUNTS))
        assert {name: members for name, (_, members) in found.items() if name.startswith("activity")} == {
            "activity=low": ["a", "b"],
            "activity=medium": ["c", "d", "e"],
            "activity=high": ["f", "g"],
            "activity=power": ["h"],
        }
        assert found["activity=medium"][0] == "5 to 12 training interactions"

    @pytest.mark.parametrize(
        ("activity", "names"),
        [
            (2, ["low", "high"]),
            (3, ["low", "medium", "high"]),
            (5, ["q1", "q2", "q3", "q4", "q5"]),
            ((9,), ["low", "high"]),
        ],
    )
    def test_other_numbers_of_tiers(self, activity: Any, names: list[str]) -> None:
        task = task_of(takes(self.COUNTS))
        cuts = user_cuts(task, Tiers(activity=activity))
        assert [name for name in groups_of(cuts, list(self.COUNTS)) if "activity" in name] == [
            f"activity={name}" for name in names
        ]

    @given(counts=st.lists(st.integers(1, 12), min_size=2, max_size=40))
    @thorough(60)
    def test_equal_counts_are_never_parted(self, counts: list[int]) -> None:
        per_user = {f"u{place}": n for place, n in enumerate(counts)}
        (tiers, _) = by_id(task_of(takes(per_user)), Tiers())
        order = ["low", "medium", "high", "power"]
        place = {n: {order.index(tiers["activity"][user]) for user in per_user if per_user[user] == n} for n in counts}
        assert all(len(tier) == 1 for tier in place.values())
        rising = [min(place[n]) for n in sorted(place)]
        assert rising == sorted(rising) and rising[0] == 0

    def test_all_alike(self) -> None:
        found = groups_of(user_cuts(task_of(takes({"a": 3, "b": 3})), Tiers()), ["a", "b"])
        assert found["activity=low"] == ("all of them", ["a", "b"])


class TestItems:
    COUNTS: Mapping[str, int] = {"a": 40, "b": 12, "c": 12, "d": 12, "e": 10, "f": 9, "g": 5}

    def test_shares_of_more_popular_ones(self) -> None:
        """a holds 40 %, b, c and d 36 % more, and so they reach beyond the half together; then 76 %, 86 %, 95 %."""
        task = task_of([*taken(self.COUNTS), ("u0", "new", 5.0, SPLIT_AT)])
        found = groups_of(item_cuts(task, Tiers()), [*self.COUNTS, "new"])
        assert list(found.items()) == [
            ("popularity=head", ("12 training interactions or more", ["a", "b", "c", "d"])),
            ("popularity=torso", ("10 to 11 training interactions", ["e"])),
            ("popularity=tail", ("at most 9 training interactions", ["f", "g", "new"])),
            ("item=cold", ("fewer than 10 training interactions", ["f", "g", "new"])),
            ("item=warm", ("10 training interactions or more", ["a", "b", "c", "d", "e"])),
        ]

    def test_the_share_is_of_what_is_strictly_more_popular(self) -> None:
        """Exactly half above: no head any more; exactly 80 %: no torso."""
        found = groups_of(item_cuts(task_of(taken({"a": 5, "b": 3, "c": 2})), Tiers()), ["a", "b", "c"])
        assert [name for name in found if "popularity" in name] == [
            f"popularity={one}" for one in ("head", "torso", "tail")
        ]

    @given(counts=st.lists(st.integers(1, 12), min_size=1, max_size=30))
    @thorough(60)
    def test_plainly(self, counts: list[int]) -> None:
        per_item = {f"i{place}": n for place, n in enumerate(counts)}
        (_, tiers) = by_id(task_of(taken(per_item)), Tiers(popularity=(0.3, 0.6)))
        for item, n in per_item.items():
            above = 10 * sum(other for other in counts if other > n)
            expected = "head" if above < 3 * sum(counts) else "torso" if above < 6 * sum(counts) else "tail"
            assert tiers["popularity"][item] == expected

    def test_threshold(self) -> None:
        found = groups_of(item_cuts(task_of(taken(self.COUNTS)), Tiers(cold_items=1)), list(self.COUNTS))
        assert found["item=warm"] == ("1 training interaction or more", list(self.COUNTS))


@pytest.mark.parametrize(
    "options",
    [
        {"activity": 1},
        {"activity": True},
        {"activity": 21},
        {"activity": ()},
        {"activity": (5, 5)},
        {"activity": (0, 5)},
        {"activity": (5, float("nan"))},
        {"popularity": (0.5,)},
        {"popularity": (0.8, 0.5)},
        {"popularity": (0, 0.5)},
        {"popularity": (0.5, 1.5)},
        {"cold_users": 0},
        {"cold_items": 0},
    ],
)
def test_odd_tiers(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=rf"{next(iter(options))} is .*; expected"):
        Tiers(**options)


def test_describe() -> None:
    task = task_of([*takes({"a": 2, "b": 6, "c": 12}), ("new", "only", 5.0, SPLIT_AT)])
    found = describe(task, Tiers(activity=(5, 10)))
    assert found["users"]["activity"] == {
        "low": {"range": "at most 4 training interactions", "train": 1, "share": 0.1, "held_out": 2},
        "medium": {"range": "5 to 9 training interactions", "train": 1, "share": 0.3, "held_out": 1},
        "high": {"range": "10 training interactions or more", "train": 1, "share": 0.6, "held_out": 1},
    }
    assert found["users"]["user"]["warm"]["share"] == 0.6
    assert sum(one["share"] for one in found["items"]["popularity"].values()) == pytest.approx(1)
    assert sum(one["train"] for one in found["items"]["popularity"].values()) == 12
    assert found["items"]["item"]["cold"]["held_out"] == 2


def training_facts(task: Task) -> tuple[Any, ...]:
    """All that is made of training, by id: its rows, the edges and sizes of tiers, and who is in which."""
    frame = task.train.frame().sort("user", "item", "time", "value")
    tiers = Tiers()
    edges = [tier.notes for tier in (*user_tiers(task, tiers), *item_tiers(task, tiers))]
    sizes = {
        (side, name, label): (one["train"], one["share"])
        for side, attributes in describe(task, tiers).items()
        for name, labels in attributes.items()
        for label, one in labels.items()
    }
    return frame.rows(), edges, sizes, by_id(task, tiers), window_sizes(task.split)["train"]["rows"]


class TestNoLeak:
    """Whatever comes after the cut-off changes nothing that is made of training."""

    @pytest.fixture
    def past(self) -> list[Row]:
        chance = np.random.default_rng(5)
        return [
            (f"u{int(30 * chance.random() ** 2)}", f"i{int(40 * chance.random() ** 3)}", float(value), int(time))
            for value, time in zip(chance.integers(1, 6, 600), chance.integers(0, SPLIT_AT, 600), strict=True)
        ]

    def test_a_future_only_item_and_user(self, past: list[Row]) -> None:
        known = [("u1", "i1", 3.0, SPLIT_AT + 5)]
        planted = [*known, *((f"new{place}", "future", 5.0, SPLIT_AT + place) for place in range(500))]
        planted += [("u1", "future", 5.0, SPLIT_AT + place) for place in range(500)]
        with_it, without = task_of([*past, *planted]), task_of([*past, *known])
        assert "future" in with_it.gold.items and "future" not in without.log.items
        assert training_facts(with_it) == training_facts(without)
        (popularity, start), (activity, user) = item_tiers(with_it, Tiers()), user_tiers(with_it, Tiers())
        item, person = with_it.log.items.index_of("future"), with_it.log.users.index_of("new0")
        assert (popularity.labels[popularity.place[item]], start.labels[start.place[item]]) == ("tail", "cold")
        assert (activity.labels[activity.place[person]], user.labels[user.place[person]]) == ("low", "cold")

    @given(
        future=st.lists(
            st.tuples(
                st.sampled_from(["u0", "u1", "u2", "zz", "00"]),
                st.sampled_from(["i0", "i1", "i39", "future", "0"]),
                st.sampled_from([1.0, 5.0]),
                st.integers(SPLIT_AT, SPLIT_AT + 50),
            ),
            min_size=1,
            max_size=60,
        )
    )
    @thorough(40)
    def test_any_future(self, future: list[Row]) -> None:
        past = [(f"u{place % 9}", f"i{place * place % 23}", 3.0, place) for place in range(200)]
        assert training_facts(task_of([*past, *future])) == training_facts(
            task_of([*past, ("u0", "i0", 1.0, SPLIT_AT)])
        )

    def test_cutoffs_by_fractions_hang_on_times_alone(self, past: list[Row]) -> None:
        """Other users, items and ratings after the last cut-off: the same cut-offs and the same training."""
        split = split_log(log_of(past))
        changed = [
            row if row[3] < split.cutoffs["test"] else (f"new{place}", "future", 0.5, row[3])
            for place, row in enumerate(past)
        ]
        other = split_log(log_of(changed))
        assert other.cutoffs == split.cutoffs
        assert training_facts(Task(other)) == training_facts(Task(split))
        both = ("train", "validation")
        assert training_facts(Task(other, fit_on=both)) == training_facts(Task(split, fit_on=both))
