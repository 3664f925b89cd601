"""Logs as gold and recommenders as systems: what a plan says of them is what is done, held against plain loops."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import rankjury
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Ints, Matrix
from rankjury.errors import DataError, MissingExtra, UsageError
from rankjury.evaluation.sections import SystemFacts
from rankjury.plan.parse import read_plan
from rankjury.plan.run import Outcome
from rankjury.plan.trials import prepare_subjects
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log
from rankjury.recsys.data.read import read_log
from rankjury.recsys.data.split_folder import write_split
from rankjury.recsys.models import RECOMMENDERS, Recommender
from rankjury.recsys.sections import CatalogueSize, Exposure, Interactions
from rankjury.recsys.splitting import split_log
from rankjury.recsys.tuning.models import tune_model
from tests.plan import carried_out, checked, put
from tests.specs import slow_movielens as slow

_MADE = slow.made(11, users=20, items=25, rows=420, cold=6)
_CUTS = slow.cut_offs(_MADE.rows)
WORLD = replace(_MADE, t1=_CUTS[0], t2=_CUTS[1], catalogue="seen")
MEASURES = 'measures = ["ndcg@5", "precision(rel=4)@5"]\n'
POPULARITY = 'systems.popularity = { kind = "recommender", model = "popularity" }\n'
OWN = 'systems.own = { kind = "recommender", model = "scores", params = { path = "own.csv" } }\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """ratings.csv, movies.csv and own.csv."""
    WORLD.write(tmp_path)
    (tmp_path / "plan.toml").unlink()
    return tmp_path


def gold(**keys: str) -> str:
    given = {"kind": '"interactions"', "path": '"ratings.csv"'} | keys
    return "gold = { " + ", ".join(f"{key} = {value}" for key, value in given.items()) + " }\n"


def run(folder: Path, systems: str = POPULARITY, more: str = "", **keys: str) -> Outcome:
    return carried_out(folder, MEASURES + gold(**keys) + systems + more)


def check(outcome: Outcome, world: slow.World, system: str, lists: Mapping[str, list[str]] | None = None) -> None:
    """The lists, and two measures of every user."""
    lists = world.lists(system) if lists is None else lists
    scores = outcome.report.scores[system]
    assert scores.queries.to_list() == world.users
    assert [list(top)[:5] for top in outcome.report.top_items[system]] == [lists[user][:5] for user in world.users]
    for label, of in (("ndcg@5", slow.ndcg), ("precision(rel=4)@5", slow.precision)):
        wanted = [of(lists[user], world.truth[user], 5) for user in world.users]
        np.testing.assert_allclose(scores[label], np.array(wanted, dtype=float), rtol=1e-12)


def warned(outcome: Outcome, fragment: str) -> bool:
    return any(fragment in warning for warning in outcome.report.warning_lines)


class TestLogs:
    def test_columns_that_the_plan_names(self, folder: Path) -> None:
        text = (folder / "ratings.csv").read_text().replace("userId,movieId,rating,timestamp", "who,what,stars,at")
        put(folder, log__tsv=text.replace(",", "\t"))
        keys = {"user": '"who"', "item": '"what"', "value": '"stars"', "time": '"at"'}
        check(run(folder, path='"log.tsv"', **keys), WORLD, "popularity")

    def test_a_folder_of_rankjury_split(self, folder: Path) -> None:
        write_split(split_log(read_log(folder / "ratings.csv")), folder / "split")
        check(run(folder, path='"split"'), WORLD, "popularity")
        check(run(folder, path='"split"', window='"validation"'), replace(WORLD, held="validation"), "popularity")

    @pytest.mark.parametrize("held", ["test", "validation"])
    @pytest.mark.parametrize("catalogue", ["items", "seen", "train"])
    def test_windows_and_catalogues(self, folder: Path, held: str, catalogue: str) -> None:
        world = replace(WORLD, held=held, catalogue=catalogue)
        keys = {"window": f'"{held}"', "catalogue": f'"{catalogue}"', "items": '"movies.csv"'}
        outcome = run(folder, POPULARITY + OWN, **keys)
        check(outcome, world, "popularity")
        check(outcome, world, "own")
        about = outcome.report.needed_section(Interactions)
        assert about.window == held and about.catalogue == CatalogueSize(catalogue, len(world.items))  # type: ignore[arg-type]

    def test_learning_from_validation_as_well(self, folder: Path) -> None:
        both = replace(WORLD, fit_on=("train", "validation"))
        assert both.lists("popularity") != WORLD.lists("popularity")
        check(run(folder, fit_on='"train+validation"'), both, "popularity")

    def test_by_script(self, folder: Path) -> None:
        (folder / "plan.toml").write_text("statistics.resamples = 100\n" + MEASURES + gold() + POPULARITY)
        check(rankjury.run_plan(folder / "plan.toml", archive=False), WORLD, "popularity")

    def test_sampled_candidates(self, folder: Path) -> None:
        """What was held out, and so many others that the user had not taken; the warning says why not to."""
        outcome = run(folder, 'systems.p = { kind = "recommender", model = "popularity", depth = 25 }\n',
                      "cutoffs = [25]\n", candidates="{ sampled = 4, seed = 2 }")  # fmt: skip
        assert warned(outcome, "4 sampled items and the held-out ones") and warned(outcome, "Krichene & Rendle")
        for user, top in zip(WORLD.users, outcome.report.top_items["p"], strict=True):
            others = set(top) - set(WORLD.truth[user])
            assert set(WORLD.truth[user]) < set(top) and len(others) == 4
            assert others <= set(WORLD.candidates(user))
            assert list(top) == [item for item in WORLD.by_popularity(user, 25) if item in top]
        drawn = {tuple(sorted(top)) for top in outcome.report.top_items["p"]}
        assert len(drawn) == len(WORLD.users)


class TestSystems:
    def test_run_files(self, folder: Path) -> None:
        """What users have and what nobody knows is left out, with counts; what follows moves up."""
        lists, lines = {}, []
        for user in WORLD.users[:-1]:
            seen, held = next(iter(WORLD.history[user])), list(WORLD.truth[user])
            lists[user] = held
            lines += [f"{user} Q0 {item} {n} {-n} x" for n, item in enumerate([seen, "strange", *held], 1)]
        put(folder, x__trec="\n".join([*lines, "nobody Q0 1 1 1 x"]) + "\n")
        outcome = run(folder, 'systems.x = "x.trec"\n')
        check(outcome, WORLD, "x", {**lists, WORLD.users[-1]: []})
        n = len(lists)
        assert warned(outcome, f"{n} recommendations are of training items of the user ({n} users), removed")
        assert warned(outcome, f"{n} recommendations are of items outside the catalogue ({n} users), removed")
        assert warned(outcome, f"1 user is without recommendations: {WORLD.users[-1]}")
        assert warned(outcome, "1 user of the recommendations has nothing held out in test")

    def test_factors(self, folder: Path) -> None:
        """Users and items without factors: popularity for the ones, never recommended the others."""
        rng = np.random.default_rng(4)
        users, items = WORLD.users[:-2], WORLD.items[:-3]
        of_users, of_items = rng.integers(-3, 4, (len(users), 3)) * 1.0, rng.integers(-3, 4, (len(items), 3)) * 1.0
        put(folder, u__npz={"ids": np.array(users), "v": of_users}, i__npz={"ids": np.array(items), "v": of_items})
        system = 'params = { user_factors = "u.npz", item_factors = "i.npz" } }\n'
        outcome = run(folder, f'systems.own = {{ kind = "recommender", model = "factors", {system}')
        rows = [dict(zip(items, row.tolist(), strict=True)) for row in of_users @ of_items.T]
        check(outcome, replace(WORLD, scores=dict(zip(users, rows, strict=True))), "own")
        assert outcome.report.sections_of(SystemFacts)["own"]["users"] == {
            "known": len(users),
            "cold": 2,
            "cold_get": "popularity",
        }

    def test_a_callable(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is fitted on training alone, and the ids it is given are those of the log."""
        monkeypatch.chdir(folder)
        put(
            folder,
            my_recommender_of_tests__py="class Mine:\n"
            "    def fit(self, frame):\n"
            f"        assert frame['time'].max() < {WORLD.t1}\n"
            "        self.often = dict(frame['item'].value_counts().iter_rows())\n"
            "    def predict(self, user, items):\n"
            "        return [-self.often.get(item, 0) for item in items]\n",
        )
        model = 'model = "callable", params = { function = "my_recommender_of_tests:Mine" }'
        outcome = run(folder, f'systems.own = {{ kind = "recommender", {model} }}\n')
        rows = [row[1] for row in WORLD.train]
        least = {user: {item: -float(rows.count(item)) for item in WORLD.items} for user in WORLD.users}
        check(outcome, replace(WORLD, scores=least), "own")

    @pytest.mark.parametrize("fallback", ["popularity", "nothing"])
    def test_cold_users(self, folder: Path, fallback: str) -> None:
        known = [user for user in WORLD.users if user in WORLD.scores]
        cold = len(WORLD.users) - len(known)
        assert cold > 0
        outcome = run(folder, OWN.replace("params", f'cold_users = "{fallback}", params'))
        lists = {
            user: WORLD.lists("own")[user] if user in known or fallback == "popularity" else [] for user in WORLD.users
        }
        check(outcome, WORLD, "own", lists)
        got = "get the most popular items" if fallback == "popularity" else "get nothing, and score 0"
        assert warned(outcome, f"unknown to the model, and {got}")
        assert outcome.report.sections_of(SystemFacts)["own"]["users"]["cold"] == cold

    @pytest.mark.parametrize("keys", [{}, {"catalogue": '"train"'}, {"candidates": "{ sampled = 3 }"}])
    def test_a_random_order(self, folder: Path, keys: dict[str, str]) -> None:
        """Of each user's own candidates: any place is as likely to hold any of them."""
        world = replace(WORLD, catalogue="train" if "catalogue" in keys else "seen")
        outcome = run(folder, 'systems.r = { kind = "random" }\n', **keys)
        wanted = []
        for user in world.users:
            n = len(world.candidates(user))
            n = min(n, len(world.truth[user]) + 3) if "candidates" in keys else n
            shown = min(5, n)
            wanted.append(len(slow.liked(world.truth[user])) / n * shown / 5)
        found = outcome.report.scores["r"]["precision(rel=4)@5"]
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        assert outcome.report.estimates["r"]["ndcg@5"].ci is None

    def test_a_fusion_of_recommenders(self, folder: Path) -> None:
        outcome = run(folder, POPULARITY + OWN + 'systems.both = { kind = "fusion", of = ["popularity", "own"] }\n')
        for user, top in zip(WORLD.users, outcome.report.top_items["both"], strict=True):
            assert set(top) <= set(WORLD.candidates(user))


class NotThere(Recommender):
    """Needs a library that nobody has."""

    description = "cannot be had"
    extra = "recsys"
    libraries: ClassVar[tuple[str, ...]] = ("a_library_that_is_nowhere",)

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None: ...

    def score(self, users: Ints, items: Ints) -> Matrix:
        raise NotImplementedError


class TestMissingLibraries:
    SYSTEM = 'systems.lacking = { kind = "recommender", model = "not-there", optional = OPTIONAL }\n'

    @pytest.fixture(autouse=True)
    def _registered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        entries = {name: RECOMMENDERS.get(name) for name in RECOMMENDERS.names()}
        monkeypatch.setattr(RECOMMENDERS, "_entries", {**entries, "not-there": NotThere})

    def test_left_out(self, folder: Path) -> None:
        fused = 'systems.fused = { kind = "fusion", of = ["popularity", "lacking"] }\n'
        outcome = run(folder, POPULARITY + self.SYSTEM.replace("OPTIONAL", "true") + fused)
        assert list(outcome.report.systems) == ["popularity"]
        assert warned(outcome, "lacking: omitted, as its library is not installed: pip install 'rankjury[recsys]'")
        assert warned(outcome, "fused: omitted, as it is made from lacking")

    def test_an_error_where_it_is_needed(self, folder: Path) -> None:
        with pytest.raises(MissingExtra, match=r"rankjury\[recsys\]"):
            run(folder, POPULARITY + self.SYSTEM.replace("OPTIONAL", "false"))
        with pytest.raises(UsageError, match="lacking: omitted"):
            run(folder, 'baseline = "lacking"\n' + POPULARITY + self.SYSTEM.replace("OPTIONAL", "true"))


class TestReports:
    def test_tiers_and_their_slices(self, folder: Path) -> None:
        tiers = "{ activity = [8, 12], popularity = [0.3, 0.9], cold_users = 6, cold_items = 6, crossings = true }"
        outcome = run(folder, tiers=tiers)
        rows = [row[0] for row in WORLD.train]
        activity = {user: sum(rows.count(user) >= edge for edge in (8, 12)) for user in WORLD.users}
        parts = {part.name: part for part in outcome.report.slices}
        for place, name in enumerate(("low", "medium", "high")):
            members = [user for user in WORLD.users if activity[user] == place]
            assert parts[f"activity={name}"].n == len(members)
        about = outcome.report.needed_section(Interactions).tiers
        assert about["users"]["activity"]["medium"].range == "8 to 11 training interactions"
        assert sum(one.train or 0 for one in about["items"]["popularity"].values()) == len(
            {row[1] for row in WORLD.train}
        )
        assert sum(one.share or 0.0 for one in about["items"]["popularity"].values()) == pytest.approx(1)

    def test_settings_that_come_from_the_log_are_recorded(self, folder: Path) -> None:
        """A hybrid calls cold what the tiers call cold; the ridge that EASE chose is in the report, not 0."""
        systems = "".join(
            f'systems.{name} = {{ kind = "recommender", model = "hybrid"{more} }}\n'
            for name, more in (("a", ""), ("b", ", params = { cold_items = 3, ease_regularization = 7 }"))
        )
        recorded = run(folder, systems, items='"movies.csv"', tiers="{ cold_items = 6 }").report.sections_of(
            SystemFacts
        )
        params: dict[str, Any] = {name: recorded[name]["params"] for name in ("a", "b")}
        assert (params["a"]["cold_items"], params["a"]["ease_regularization"]) == (6, 10.0)
        assert (params["b"]["cold_items"], params["b"]["ease_regularization"]) == (3, 7.0)

    def test_lists_too_short_for_a_tier_are_reported(self, folder: Path) -> None:
        """Positions are counted within a tier, of which six listed items hold few: nDCG was too low without a word."""
        cold = "{ cold_items = 8 }"
        items = Counter(row[1] for row in WORLD.train)
        short = run(folder, tiers=cold)
        assert warned(short, "of the 6 items that are listed for a user, fewer than 5 are of the slice in ")
        deep = POPULARITY.replace(" }", ", depth = 25 }")
        whole = run(folder, deep, tiers=cold)
        assert not warned(whole, "that are listed for a user")
        lists, values = WORLD.lists("popularity"), []
        for user in WORLD.users:
            held = {item: grade for item, grade in WORLD.truth[user].items() if items[item] < 8}
            value = slow.ndcg([item for item in lists[user] if items[item] < 8], held, 5) if held else None
            values += [] if value is None else [value]
        means = [part.estimates["popularity"]["ndcg@5"].mean for found in (short, whole)
                 for part in found.report.slices if part.name == "item=cold"]  # fmt: skip
        assert means[1] == pytest.approx(slow.mean(values)) and means[0] < means[1]

    def test_tiers_of_users_crossed_with_tiers_of_items(self, folder: Path) -> None:
        """Only items of one tier count, over the users of the other; six are listed, one more than is looked at."""
        report = run(folder, tiers="{ cold_users = 12, cold_items = 12, crossings = true }").report
        users, items = (Counter(row[side] for row in WORLD.train) for side in (0, 1))
        lists, parts = WORLD.lists("popularity"), {part.name: part for part in report.slices}
        wanted: dict[str, list[float]] = {}
        for user in WORLD.users:
            for tier, is_cold in (("cold", True), ("warm", False)):
                held = {item: grade for item, grade in WORLD.truth[user].items() if (items[item] < 12) == is_cold}
                name = f"user={'cold' if users[user] < 12 else 'warm'}*item={tier}"
                inside = [item for item in lists[user][:6] if (items[item] < 12) == is_cold]
                value = slow.ndcg(inside, held, 5) if held else None
                wanted.setdefault(name, []).extend([] if value is None else [value])
        assert len(wanted) == 4 and all(wanted.values())
        for name, values in wanted.items():
            assert (parts[name].of, parts[name].n) == ("items", len(values))
            assert parts[name].estimates["popularity"]["ndcg@5"].mean == pytest.approx(np.mean(values), abs=1e-12)
        assert {name.partition("=")[0] for name in parts if "*item.popularity=" in name} == {"activity"}

    def test_targets_on_slices(self, folder: Path) -> None:
        targets = "".join(
            f'[[target]]\nrequire = "ndcg@5 >= {least}"\nslice = "{name}"\n'
            for least, name in ((0, "activity=low"), (1, "item.popularity=tail"))
        )
        gate = run(folder, more=targets).gate
        assert gate is not None
        assert {one.target.slice: one.outcome for one in gate.verdicts} == {
            "activity=low": "pass", "item.popularity=tail": "fail",
        }  # fmt: skip

    def test_a_page_of_figures(self, folder: Path) -> None:
        (folder / "plan.toml").write_text(
            "statistics.resamples = 100\n" + MEASURES + gold() + POPULARITY + OWN
            + '[[output]]\nfile = "page.png"\nform = "recommenders"\n'
        )  # fmt: skip
        rankjury.run_plan(folder / "plan.toml", output=folder / "out", archive=False)
        assert (folder / "out" / "page.png").read_bytes().startswith(b"\x89PNG")
        (folder / "plan.toml").write_text(
            'gold = "own.csv"\nsystems.x = "x.trec"\n[[output]]\nfile = "page.png"\nform = "recommenders"\n'
        )
        with pytest.raises(UsageError, match="a gold of the kind interactions"):
            rankjury.run_plan(folder / "plan.toml", archive=False)

    def test_users_are_not_called_like_items(self, folder: Path) -> None:
        """Ids of users and of items are the same numbers; titles are of items."""
        titles = "".join(f"{item},Film of {item},Drama\n" for item in WORLD.genres)
        put(folder, movies__csv="movieId,title,genres\n" + titles)
        text = f'{MEASURES}baseline = "popularity"\noutputs = ["r.md", "r.json"]\n' + gold(items='"movies.csv"')
        (folder / "plan.toml").write_text("statistics.resamples = 100\n" + text + POPULARITY + OWN)
        report = rankjury.run_plan(folder / "plan.toml", output=folder, archive=False).report
        assert report.changes and not report.queries.query_texts
        users = {f"| {change.query} |" for change in report.changes}
        page = (folder / "r.md").read_text()
        assert "Film of" in page and any(user in page for user in users)
        assert not any(line.startswith("| Film of") for line in page.splitlines())
        form = json.loads((folder / "r.json").read_text())
        assert form["queries"]["ids"] == WORLD.users

    def test_exposure_is_of_what_is_shown(self, folder: Path) -> None:
        """Below the threshold nothing is shown, in the table of exposure either."""
        outcome = run(folder, POPULARITY.replace("model", "threshold = 8, model"), 'headline = ["ndcg@5"]\n')
        shown = [[item for item in top[:5] if WORLD.taken[item] >= 8] for top in WORLD.lists("popularity").values()]
        exposure = outcome.report.sections_of(Exposure)["popularity"]
        assert exposure.n == sum(map(len, shown)) < 5 * len(shown)
        assert exposure.distinct == len({item for top in shown for item in top})

    def test_libraries_and_settings_are_recorded(self, folder: Path) -> None:
        pytest.importorskip("implicit")
        system = 'systems.als = { kind = "recommender", model = "als", params = { factors = 4, iterations = 2 } }\n'
        facts: dict[str, Any] = run(folder, system).report.sections_of(SystemFacts)["als"]
        assert facts["model"] == "als" and facts["params"]["factors"] == 4
        assert set(facts["libraries"]) >= {"implicit"} and all(facts["libraries"].values())


def test_a_tuned_hybrid_is_never_worse_than_its_model_on_validation(folder: Path) -> None:
    """The grid names no weight without content: it is tried all the same, and is the model within to the last bit."""
    systems = 'systems.h = { kind = "recommender", model = "hybrid", params = { trust = 1.0 } }\n' + (
        'systems.e = { kind = "recommender", model = "ease" }\n'
    )
    tune = "tune.h = { params = { trust = [0.5, 1.0], ease_regularization = [5.0, 50.0] } }\n"
    tune += "tune.e = { params = { regularization = [5.0, 50.0] } }\n"
    (folder / "plan.toml").write_text(MEASURES + gold(items='"movies.csv"') + systems + tune)
    hybrid, ease = (
        tune_model(one) for one in prepare_subjects(read_plan(folder / "plan.toml"), ["h", "e"], NO_PROGRESS)
    )
    assert hybrid.best is not None and ease.best is not None
    without = {
        trial.params.get("ease_regularization"): trial.values
        for trial in hybrid.trials
        if (trial.params.get("trust"), trial.params.get("blend")) == (0.0, 0.0)
    }
    for trial in ease.trials:
        assert np.array_equal(without[trial.params.get("regularization")], trial.values, equal_nan=True)
    assert hybrid.estimates[hybrid.best.number].mean >= ease.estimates[ease.best.number].mean


class TestLooks:
    """A plan's folder keeps the record of looks at its test window."""

    def looks(self, folder: Path) -> list[dict[str, Any]]:
        file = folder / "plan.opened.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def test_each_is_written_down(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
        first = run(folder)
        assert first.report.provenance["test_opened"] == {"times": 1, "settings": 1, "first": "2023-11-14T22:13:20Z"}
        again = run(folder)
        assert again.report.provenance["test_opened"]["times"] == 2 and not warned(again, "was opened")
        other = run(folder, POPULARITY + OWN)
        assert warned(other, "the test window was opened 3 times with 2 different settings since 2023-11-14T22:13:20Z")
        assert [look["systems"] for look in self.looks(folder)] == [["popularity"]] * 2 + [["popularity", "own"]]

    def test_validation_is_free(self, folder: Path) -> None:
        outcome = run(folder, window='"validation"')
        assert "test_opened" not in outcome.report.provenance and not self.looks(folder)

    def test_a_plan_that_cannot_be_read_opens_nothing(self, folder: Path) -> None:
        with pytest.raises(UsageError):
            checked(folder, MEASURES + gold(window='"tset"') + POPULARITY)
        with pytest.raises(rankjury.RankjuryError):
            run(folder, path='"nowhere.csv"')
        assert not self.looks(folder)

    def test_a_spoilt_record(self, folder: Path) -> None:
        put(folder, **{"plan__opened__jsonl": "spoilt\n"})
        assert run(folder).report.provenance["test_opened"]["times"] == 2


def test_a_target_on_a_tier_that_nobody_is_in(folder: Path) -> None:
    target = '[[target]]\nrequire = "ndcg@5 >= 0"\nslice = "activity=power"\n'
    with pytest.raises(DataError, match="the tier activity=power is empty in the test window"):
        run(folder, more=target, tiers="{ activity = [5, 10, 5000] }")
