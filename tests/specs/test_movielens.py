"""The movielens protocol, held to every digit: rankjury's reports against plain loops from the formulas."""

import csv
import json
import random
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from math import isclose, isnan, log2
from pathlib import Path

import pytest
from hypothesis import given

from rankjury.errors import DataError
from rankjury.plan.parse import read_plan
from rankjury.plan.run import Outcome, execute_plan
from rankjury.recsys.data.read import read_log
from rankjury.recsys.data.split_folder import write_split
from rankjury.recsys.sections import Interactions
from rankjury.recsys.splitting import split_log
from tests import paths
from tests.specs import slow_movielens as slow
from tests.stats.support import thorough

SAMPLE = Path(str(files("rankjury.plan") / "samples" / "movielens"))
REAL = paths.SHARED / "interactions" / "ml-latest-small"
SYSTEMS = ("popularity", "own")


def cut_by_rankjury(folder: Path) -> tuple[int, int]:
    """The cut-offs of split.json, as ``rankjury split`` writes it for the log of a world."""
    write_split(split_log(read_log(folder / "ratings.csv")), folder / "split")
    cutoffs = json.loads((folder / "split" / "split.json").read_text())["cutoffs"]
    return cutoffs["validation"]["time"], cutoffs["test"]["time"]


def check_cut_offs(world: slow.World) -> None:
    """Section 3.2: the times whose shares are nearest to 80 and 90 %; rows of one time are never parted."""
    times = sorted(row[3] for row in world.rows)
    before = {time: place for place, time in reversed(list(enumerate(times)))}
    for cut, of_ten in ((world.t1, 8), (world.t2, 9)):
        off = {time: abs(10 * n - of_ten * len(times)) for time, n in before.items()}
        assert off[cut] == min(off.values())
    parts = {name: slow.window(world.rows, world.t1, world.t2, name) for name in ("train", "validation", "test")}
    assert sum(map(len, parts.values())) == len(times)
    latest = [max((row[3] for row in part), default=0) for part in parts.values()]
    earliest = [min((row[3] for row in part), default=2**62) for part in parts.values()]
    assert latest[0] < earliest[1] and max(latest[:2]) < earliest[2]


def check_value(found: float, wanted: float | None, what: str) -> None:
    assert isnan(found) == (wanted is None), what
    assert wanted is None or isclose(found, wanted, rel_tol=1e-12, abs_tol=1e-12), what


def check_report(outcome: Outcome, world: slow.World, lists: Mapping[str, slow.Lists]) -> None:
    """Every user under every measure, the means, and the same of every slice."""
    for system, listed in lists.items():
        scores, estimates = outcome.report.scores[system], outcome.report.estimates[system]
        assert scores.queries.to_list() == world.users
        for label, wanted in slow.per_user(world, listed).items():
            for user, value in zip(world.users, scores[label].tolist(), strict=True):
                check_value(value, wanted[user], f"{system}, {label}, {user}")
            check_value(estimates[label].mean, slow.mean(list(wanted.values())), f"{system}, {label}")
            assert estimates[label].n == sum(value is not None for value in wanted.values())
        for label, figure in slow.over_all(world, listed).items():
            check_value(estimates[label].mean, figure, f"{system}, {label}")
        check_slices(outcome, slow.sliced(world, listed), system)


def check_slices(outcome: Outcome, wanted: Mapping[str, tuple[int, Mapping[str, float | None]]], system: str) -> None:
    parts = {part.name: part for part in outcome.report.slices}
    assert set(parts) == set(wanted)
    for name, (n, means) in wanted.items():
        assert parts[name].n == n, name
        assert parts[name].of == ("items" if name.startswith("item") else "queries")
        found = parts[name].estimates[system]
        assert set(found) == set(means)
        for label, value in means.items():
            check_value(found[label].mean, value, f"{system}, {name}, {label}")


def check_lists(outcome: Outcome, lists: Mapping[str, slow.Lists]) -> None:
    for system, listed in lists.items():
        tops = [list(shown[: max(slow.CUTS)]) for shown in listed.values()]
        assert [list(top) for top in outcome.report.top_items[system]] == tops


def check_world(world: slow.World, folder: Path) -> Outcome | None:
    """None where the log is so short that a window is empty, which rankjury says."""
    plan = world.write(folder)
    t1, t2 = slow.cut_offs(world.rows)
    if not all(slow.window(world.rows, t1, t2, name) for name in ("train", "validation", "test")):
        with pytest.raises(DataError, match="no rows for"):
            execute_plan(read_plan(plan))
        return None
    assert cut_by_rankjury(folder) == (t1, t2)
    world = replace(world, t1=t1, t2=t2)
    check_cut_offs(world)
    outcome = execute_plan(read_plan(plan))
    assert outcome.report.needed_section(Interactions).cutoffs == {"validation": t1, "test": t2}
    lists = {system: world.lists(system) for system in SYSTEMS}
    check_lists(outcome, lists)
    check_report(outcome, world, lists)
    return outcome


class TestByHand:
    """A log that fits on a page: ten users' past, and what two of them and a newcomer took then."""

    ROWS: list[slow.Row] = [
        *((f"u{number}", "a", 4.0, number) for number in range(8)),
        *((f"u{number}", "b", 3.0, 10 + number) for number in range(1, 6)),
        *((f"u{number}", "c", 2.0, 20 + number) for number in range(2, 5)),
        ("u0", "a", 5.0, 30),
        ("u9", "c", 5.0, 31),
        ("u0", "e", 1.0, 40),
        ("u7", "b", 5.0, 40),
        ("u0", "b", 5.0, 50),
        ("u0", "d", 3.0, 50),
        ("u7", "c", 4.0, 51),
        ("new", "d", 4.0, 52),
        ("new", "a", 2.0, 52),
    ]
    GENRES = {"a": ["X"], "b": ["X", "Y"], "c": ["Y"], "d": [], "e": ["Z"]}
    WORLD = slow.World(ROWS, GENRES, t1=40, t2=50, cold=2)

    def test_windows_candidates_and_lists(self) -> None:
        world = self.WORLD
        assert world.users == ["new", "u0", "u7"]
        assert world.taken == {"a": 8, "b": 5, "c": 4}
        assert world.candidates("u0") == ["b", "c", "d", "e"] and world.candidates("new") == ["a", "b", "c", "d", "e"]
        lists = {"new": ["a", "b", "c", "d", "e"], "u0": ["b", "c", "d", "e"], "u7": ["b", "c", "d", "e"]}
        assert world.lists("popularity") == lists

    def test_figures(self) -> None:
        """Of new: a (2) first and d (4) fourth; the ideal has d first."""
        found = slow.per_user(self.WORLD, self.WORLD.lists("popularity"))
        ideal = 4 + 2 / log2(3)
        assert found["ndcg@5"]["new"] == pytest.approx((2 + 4 / log2(5)) / ideal, rel=1e-15)
        assert found["ndcg@5"]["u0"] == pytest.approx((5 + 3 / log2(4)) / (5 + 3 / log2(3)), rel=1e-15)
        assert [found["precision(rel=4)@5"][user] for user in ("new", "u0", "u7")] == [1 / 5, 1 / 5, 1 / 5]
        assert [found["rr(rel=4)@5"][user] for user in ("new", "u0", "u7")] == [1 / 4, 1, 1 / 2]
        assert found["mean_popularity@5"]["u0"] == pytest.approx((5 / 9 + 4 / 9) / 4)
        assert found["diversity@5"]["u0"] == pytest.approx((1 - 1 / 2**0.5 + 1 + 1) / 3)
        assert found["calibration@5"]["new"] is None
        tiers = {item: slow.tier_of(item, Counter(row[1] for row in self.WORLD.train)) for item in self.GENRES}
        assert tiers == {"a": "head", "b": "torso", "c": "torso", "d": "tail", "e": "tail"}
        assert slow.quarters([1, 1, 1, 1, 2, 2, 3, 9]) == [1, 1, 2]
        assert slow.over_all(self.WORLD, self.WORLD.lists("popularity"))["coverage@5"] == 1

    def test_rankjury_says_the_same(self, tmp_path: Path) -> None:
        plan = self.WORLD.write(tmp_path, 'split = { kind = "dates", validation = 40, test = 50 }\n')
        outcome = execute_plan(read_plan(_popularity_alone(plan)))
        assert outcome.report.needed_section(Interactions).cutoffs == {"validation": 40, "test": 50}
        lists = {"popularity": self.WORLD.lists("popularity")}
        check_lists(outcome, lists)
        check_report(outcome, self.WORLD, lists)


def _popularity_alone(plan: Path) -> Path:
    kept = [line for line in plan.read_text().splitlines() if not line.startswith("systems.own")]
    plan.write_text("\n".join(kept) + "\n")
    return plan


class TestMadeUp:
    @given(world=slow.worlds())
    @thorough(15)
    def test_everything(self, world: slow.World) -> None:
        with tempfile.TemporaryDirectory() as folder:
            check_world(world, Path(folder))

    def test_the_worlds_have_what_goes_wrong(self) -> None:
        """Timestamps that tie, users and items that training lacks, users who liked nothing, scores that tie."""
        world = slow.made(4, ties=5)
        times = sorted(row[3] for row in world.rows)
        world = replace(world, t1=times[len(times) * 8 // 10], t2=times[len(times) * 9 // 10])
        assert len(set(times)) < len(times)
        assert len({row[1] for row in world.rows}) < len(world.items)
        assert any(not slow.liked(held) for held in world.truth.values())
        assert any(len(set(of.values())) < len(of) for of in world.scores.values())


@cache
def sample() -> slow.World:
    """The bundled sample, with a system of our own whose scores tie."""
    rows, genres = _read(SAMPLE)
    chance = random.Random(7)
    users = sorted({row[0] for row in rows})
    scores = {user: {item: chance.randrange(40) / 8 for item in genres} for user in users if chance.random() < 0.9}
    return slow.World(rows, genres, scores)


def _read(folder: Path) -> tuple[list[slow.Row], dict[str, list[str]]]:
    """With the standard library alone."""
    with (folder / "ratings.csv").open(newline="") as file:
        rows = [
            (one["userId"], one["movieId"], float(one["rating"]), int(one["timestamp"])) for one in csv.DictReader(file)
        ]
    with (folder / "movies.csv").open(newline="", encoding="utf-8") as file:
        listed = {one["movieId"]: one["genres"].split("|") for one in csv.DictReader(file)}
    return rows, {item: [] if of == ["(no genres listed)"] else of for item, of in listed.items()}


class TestSample:
    @pytest.mark.parametrize(
        ("held", "fit_on"),
        [("test", ("train", "validation")), ("validation", ("train",))],
        ids=["test", "validation"],
    )
    def test_each_window(self, held: str, fit_on: tuple[str, ...], tmp_path: Path) -> None:
        assert check_world(replace(sample(), held=held, fit_on=fit_on), tmp_path) is not None

    def test_the_bundled_plan_asks_for_the_protocol(self) -> None:
        """Section 4: K of 5, 10 and 20; graded nDCG, the others from a rating of 4 on; section 3: 80/10/10."""
        plan = read_plan(SAMPLE / "rankjury.toml")
        asked = {one.label for one in plan.asked}
        for k in slow.CUTS:
            assert {f"ndcg@{k}", f"precision(rel=4)@{k}", f"recall(rel=4)@{k}"} <= asked
        assert plan.headline[0] == "ndcg@10" and plan.plan.baseline == "popularity"
        assert plan.plan.gold.model_dump()["split"]["fractions"] == [0.8, 0.1, 0.1]


@pytest.mark.skipif(not REAL.is_dir(), reason="the MovieLens log is not here")
class TestReal:
    """Every third user of ml-latest-small, and all of its catalogue."""

    @staticmethod
    def world() -> slow.World:
        rows, genres = _read(REAL)
        chance = random.Random(1)
        rows = [row for row in rows if int(row[0]) % 3 == 0]
        cut = sorted(row[3] for row in rows)[len(rows) * 89 // 100]
        late = sorted({row[0] for row in rows if row[3] >= cut})
        scores = {user: {item: chance.randrange(4000) / 8 for item in genres} for user in late[::2]}
        return slow.World(rows, genres, scores)

    def test_everything(self, tmp_path: Path) -> None:
        outcome = check_world(self.world(), tmp_path)
        assert outcome is not None
        windows = outcome.report.needed_section(Interactions).windows
        assert (windows["test"].cold_users or 0) > 0 and (windows["test"].cold_items or 0) > 0
