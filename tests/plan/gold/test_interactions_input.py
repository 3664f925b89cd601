"""Logs, recommendations and plans that are wrong: the command says what, where, and what was expected instead."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Rankjury, folder, rankjury
from tests.cli.support import Outcome, check_failure, put
from tests.specs import slow_movielens as slow

__all__ = ["folder", "rankjury"]

_MADE = slow.made(11, users=20, items=25, rows=420, cold=6)
_CUTS = slow.cut_offs(_MADE.rows)
WORLD = replace(_MADE, t1=_CUTS[0], t2=_CUTS[1], catalogue="seen")
HEADER = "userId,movieId,rating,timestamp"
LINES = [f"{user},{item},{rating!r},{time}" for user, item, rating, time in WORLD.rows]
AT = 57
"""The line at which something is put that is wrong: the header is the first."""
POPULARITY = 'systems.p = { kind = "recommender", model = "popularity" }\n'
MEASURES = 'measures = ["ndcg@5"]\nstatistics.resamples = 100\n'


@pytest.fixture(autouse=True)
def _log(folder: Path) -> None:
    put("ratings.csv", "\n".join([HEADER, *LINES]) + "\n")


def gold(**keys: str) -> str:
    given = {"kind": '"interactions"', "path": '"ratings.csv"'} | keys
    return "gold = { " + ", ".join(f"{key} = {value}" for key, value in given.items()) + " }\n"


def run(
    rankjury: Rankjury, systems: str = POPULARITY, more: str = "", measures: str = MEASURES, **keys: str
) -> Outcome:
    put("plan.toml", measures + gold(**keys) + systems + more)
    return rankjury("run", "plan.toml", "--full")


def recommender(model: str, **params: str) -> str:
    given = ", ".join(f'{key} = "{value}"' for key, value in params.items())
    return f'systems.p = {{ kind = "recommender", model = "{model}", params = {{ {given} }} }}\n'


def with_line(line: str) -> str:
    """The log with another line at ``AT``."""
    return "\n".join([HEADER, *LINES[: AT - 2], line, *LINES[AT - 2 :]]) + "\n"


def warned(outcome: Outcome, fragment: str) -> bool:
    assert outcome.code == 0, outcome.err
    return any(fragment in warning for warning in outcome.warnings)


class TestLogs:
    @pytest.mark.parametrize(
        ("line", "fragment"),
        [
            ("1,2,3,soon", "the timestamp is 'soon'; expected seconds, milliseconds"),
            ("1,2,3,", "timestamp"),
            ("1,2,good,1000000000", "the rating of user 1 for item 2 is 'good'; expected a finite number"),
            ("1,2,nan,1000000000", "the rating of user 1 for item 2 is 'nan'; expected a finite number"),
            ("1,2,inf,1000000000", "expected a finite number"),
            ("1,2", "found 2 fields in the line '1,2'; expected 4: userId, movieId, rating, timestamp"),
            ("1,2,3,1000000000,7", "found 5 fields"),
            (",2,3,1000000000", "no userId"),
            ("1,,3,1000000000", "no movieId"),
        ],
    )
    def test_a_row_that_cannot_be_read(self, rankjury: Rankjury, line: str, fragment: str) -> None:
        put("ratings.csv", with_line(line))
        check_failure(run(rankjury), 3, f"ratings.csv:{AT} ", "plan.toml:3, gold", fragment)

    def test_a_row_of_ratings_dat(self, rankjury: Rankjury) -> None:
        put("ratings.dat", "\n".join([*LINES[:39], "1,2,3", *LINES[39:]]).replace(",", "::") + "\n")
        check_failure(run(rankjury, path='"ratings.dat"'), 3, "ratings.dat:40 ", "found 3 fields in the line '1::2::3'")

    @pytest.mark.parametrize("mixed", [1, len(LINES) // 2])
    def test_seconds_and_milliseconds(self, rankjury: Rankjury, mixed: int) -> None:
        put("ratings.csv", "\n".join([HEADER, *LINES[:AT], *(f"{line}000" for line in LINES[AT : AT + mixed])]) + "\n")
        seconds, others = f"{AT} in seconds (first ", f"{mixed} in milliseconds (first "
        check_failure(run(rankjury), 3, "timestamp", "several types", seconds, others, f"at ratings.csv:{AT + 2})")

    def test_milliseconds_alone_are_fine(self, rankjury: Rankjury) -> None:
        put("ratings.csv", "\n".join([HEADER, *(f"{line}000" for line in LINES)]) + "\n")
        assert run(rankjury).code == 0

    def test_outside_the_scale(self, rankjury: Rankjury) -> None:
        low = [place for place, row in enumerate(WORLD.rows, 2) if row[2] < 1]
        assert low
        expected = f"({len(low)} rows are outside the scale); expected 1 to 5"
        check_failure(run(rankjury, scale="[1, 5]"), 3, f"ratings.csv:{low[0]} ", "is 0.5", expected)
        assert run(rankjury, scale="[0.5, 5]").code == 0

    @pytest.mark.parametrize(
        ("content", "fragment"),
        [
            (b"", "the file is empty"),
            (f"{HEADER}\n".encode(), "found a header but no rows"),
            (bytes(range(256)) * 9, "not UTF-8"),
            (b"\x89PNG\r\n\x1a\n" + bytes(500), "ratings.csv"),
        ],
        ids=["empty", "header", "bytes", "picture"],
    )
    def test_no_log(self, rankjury: Rankjury, content: bytes, fragment: str) -> None:
        put("ratings.csv", content)
        check_failure(run(rankjury), 3, "ratings.csv", fragment)

    def test_no_file(self, rankjury: Rankjury) -> None:
        check_failure(run(rankjury, path='"rating.csv"'), 3, "rating.csv (plan.toml:3, gold", "no such file")

    def test_no_times(self, rankjury: Rankjury) -> None:
        put("ratings.csv", "\n".join(line.rpartition(",")[0] for line in [HEADER, *LINES]) + "\n")
        check_failure(run(rankjury), 3, "the log has no times", "Kinds without times: random")
        assert run(rankjury, split='{ kind = "random" }').code == 0

    def test_an_empty_window(self, rankjury: Rankjury) -> None:
        keys = {"window": '"validation"', "split": "{ fractions = [0.9, 0, 0.1] }"}
        check_failure(run(rankjury, **keys), 3, "the validation window is empty (train ", "Choose other fractions")
        put("ratings.csv", "\n".join([HEADER, *LINES[:7]]) + "\n")
        check_failure(run(rankjury), 3, "no rows for")

    def test_no_such_column(self, rankjury: Rankjury) -> None:
        check_failure(run(rankjury, user='"who"'), 2, "unknown column 'who'. Known: movieId, rating, timestamp, userId")

    @pytest.mark.parametrize(
        ("content", "fragment"),
        [
            ("movieId,title\n1,A\n1,B\n", "duplicate id '1' in rows 1 and 2"),
            (bytes(range(256)), "bytes that are not text"),
        ],
    )
    def test_a_catalogue_that_is_none(self, rankjury: Rankjury, content: str | bytes, fragment: str) -> None:
        put("movies.csv", content)
        check_failure(run(rankjury, items='"movies.csv"'), 3, "movies.csv", fragment)

    def test_a_catalogue_that_lacks_items(self, rankjury: Rankjury) -> None:
        put("movies.csv", "movieId,title\n1,A\n2,B\n")
        outcome = run(rankjury, items='"movies.csv"')
        assert warned(outcome, f"{len(WORLD.items) - 2} items of the log are not in the file of items")
        assert warned(outcome, "of items outside the catalogue: candidates of those users only")

    def test_a_catalogue_of_other_items(self, rankjury: Rankjury) -> None:
        """All candidates would be right: 0.94 of nDCG for popularity, with a warning."""
        put("movies.csv", "movieId,title\n801,A\n802,B\n")
        check_failure(run(rankjury, items='"movies.csv"'), 3, "none of the log's 25 items is in the file of items")

    @pytest.mark.parametrize("keys", [{"split": '{ kind = "random" }'}, {"user": '"who"'}, {"scale": "[1, 5]"}])
    def test_keys_that_a_split_folder_answers(self, rankjury: Rankjury, keys: dict[str, str]) -> None:
        assert rankjury("split", "ratings.csv", "-o", "split").code == 0
        check_failure(
            run(rankjury, path='"split"', **keys), 2, f"already split, so {next(iter(keys))} would be ignored"
        )


class TestPlans:
    @pytest.mark.parametrize(
        ("kind", "keys", "fragment"),
        [
            ("recommender", 'model = "popularty"', "systems.p.model: unknown recommender 'popularty'. Did you mean"),
            (
                "recommender",
                'model = "popularity", params = { dayz = 3 }',
                "unknown parameter 'dayz'. Did you mean days?",
            ),
            ("recommender", 'model = "popularity", params = { days = "many" }', "days is 'many'"),
            ("recommender", 'model = "popularity", parms = { days = 3 }', "unknown key 'parms'. Did you mean params?"),
            ("recommender", 'model = "als", params = { factors = 0 }', "factors is 0; expected 1 or more"),
            ("recommender", 'model = "popularity", cold_users = "nobody"', "expected 'popularity' or 'nothing'"),
            ("recommender", 'model = "popularity", depth = 0', "systems.p.depth"),
            ("recomender", 'model = "popularity"', "recommender"),
        ],
    )
    def test_systems(self, rankjury: Rankjury, kind: str, keys: str, fragment: str) -> None:
        outcome = run(rankjury, f'systems.p = {{ kind = "{kind}", {keys} }}\n')
        check_failure(outcome, 2, "plan.toml:4, systems.p", fragment)
        assert not Path("plan.opened.jsonl").exists()

    @pytest.mark.parametrize(
        ("keys", "fragment"),
        [
            ({"splt": "{}"}, "unknown key 'splt'. Did you mean split"),
            ({"split": '{ kind = "date" }'}, "unknown kind of split 'date'. Did you mean dates?"),
            ({"split": "{ n = 3 }"}, "unknown option of the temporal split: 'n'"),
            ({"split": "{ fractions = [0.9, 0.2, 0.1] }"}, "that sum to 1"),
            ({"window": '"tset"'}, "gold.window"),
            ({"window": '"validation"', "fit_on": '"train+validation"'}, "includes the window"),
            ({"scale": "[5, 1]"}, "expected the lowest and the highest rating"),
            ({"catalogue": '"items"'}, "is items, but items is not set"),
            ({"candidates": "{ sampled = 0 }"}, "gold.candidates.sampled"),
            ({"tiers": "{ activity = [5, 3] }"}, "expected numbers that rise"),
            ({"tiers": "{ popularity = [0.8, 0.5] }"}, "two shares that rise"),
            ({"tiers": "{ cold_user = 3 }"}, "Did you mean cold_users"),
        ],
    )
    def test_golds(self, rankjury: Rankjury, keys: dict[str, str], fragment: str) -> None:
        check_failure(run(rankjury, **keys), 2, "plan.toml:3, gold", fragment)

    def test_what_is_tuned(self, rankjury: Rankjury) -> None:
        check_failure(
            run(rankjury, more="[tune.q]\nparams = { days = [1] }\n"), 2, "unknown system of the kind recommender 'q'"
        )
        check_failure(run(rankjury, more="[tune.p]\nparams = { dayz = [1] }\n"), 2, "plan.toml:6, tune.p.params.dayz")

    def test_no_such_slice(self, rankjury: Rankjury) -> None:
        target = '[[target]]\nrequire = "ndcg@5 >= 0.1"\nslice = "activity=lowest"\n'
        check_failure(run(rankjury, more=target), 2, "unknown slice 'activity=lowest'. Did you mean activity=low")

    def test_a_recommender_without_a_log(self, rankjury: Rankjury) -> None:
        put("plan.toml", MEASURES + 'gold = "gold.qrels"\n' + POPULARITY)
        check_failure(
            rankjury("run", "plan.toml"),
            2,
            "recommenders need a gold of interactions",
            'expected a gold of the kind "interactions"',
        )

    def test_measures_that_need_attributes(self, rankjury: Rankjury) -> None:
        check_failure(run(rankjury, measures='measures = ["diversity@5"]\n'), 2, "diversity")

    def test_they_are_refused_before_anything_is_done(self, rankjury: Rankjury) -> None:
        outcome = run(rankjury, measures='measures = ["ndcg@5", "diversity@5"]\n')
        check_failure(outcome, 2, "plan.toml:2, gold.items", "diversity@5")
        assert not Path("plan.opened.jsonl").exists()

    @pytest.mark.parametrize("system", ['kind = "vectors"', 'kind = "vectors", queries = "users.npz"'])
    def test_vectors_are_no_recommender(self, rankjury: Rankjury, system: str) -> None:
        """Users would be taken for the items that have their ids, and be shown what they have."""
        rng = np.random.default_rng(1)
        users = sorted({row[0] for row in WORLD.rows})
        np.savez("items.npz", ids=np.array(WORLD.items), v=rng.normal(size=(len(WORLD.items), 3)))
        np.savez("users.npz", ids=np.array(users), v=rng.normal(size=(len(users), 3)))
        check_failure(run(rankjury, f'systems.p = {{ {system}, path = "items.npz" }}\n'), 2, 'model = "factors"')


class TestRecommendations:
    @pytest.mark.parametrize(
        ("body", "fragment"),
        [
            ("[float('nan')] * len(items)", "is not a number (325 such values here); expected finite scores, or −∞"),
            ("[float('inf')] * len(items)", "is not a number"),
            ("[1.0] * (len(items) - 1)", "gave 24 for user '1' and 25 items; expected scores of shape 25"),
            ("['good'] * len(items)", "scoring failed for user '1': ValueError"),
            ("[][0]", "scoring failed for user '1': IndexError"),
        ],
    )
    def test_a_model_that_scores_badly(self, rankjury: Rankjury, body: str, fragment: str) -> None:
        put("a_bad_model_of_tests.py", f"def score(user, items):\n    return {body}\n")
        sys.modules.pop("a_bad_model_of_tests", None)
        outcome = run(rankjury, recommender("callable", function="a_bad_model_of_tests:score"))
        check_failure(outcome, 3, "plan.toml:4, systems.p", fragment)

    def test_a_model_that_can_say_nothing(self, rankjury: Rankjury) -> None:
        put("a_mute_model_of_tests.py", "def score(user, items):\n    return [float('-inf')] * len(items)\n")
        outcome = run(rankjury, recommender("callable", function="a_mute_model_of_tests:score"))
        assert warned(outcome, f"{len(WORLD.users)} users have fewer than 5 candidates that it can score")

    @pytest.mark.parametrize(
        ("rows", "code", "fragment"),
        [
            ("1,2,nan\n", 3, "own.csv:2"),
            ("1,2,3\n1,2,4\n", 3, "duplicate item '2' for user '1'"),
            ("zoe,2,3\n", 3, "is in the log: zoe"),
            ("1,film,3\n", 3, "is in the log: film"),
            ("", 3, "own.csv"),
        ],
    )
    def test_scores(self, rankjury: Rankjury, rows: str, code: int, fragment: str) -> None:
        put("own.csv", "user,item,score\n" + rows)
        check_failure(run(rankjury, recommender("scores", path="own.csv")), code, "plan.toml:4, systems.p", fragment)

    def test_scores_of_strangers_are_counted(self, rankjury: Rankjury) -> None:
        put("own.csv", "user,item,score\n1,2,3\n1,film,4\nzoe,2,1\n")
        outcome = run(rankjury, recommender("scores", path="own.csv"))
        assert warned(outcome, "1 user is not in the log, and ignored")
        assert warned(outcome, "1 item is not in the log, and ignored")

    def test_a_matrix(self, rankjury: Rankjury) -> None:
        users = sorted({row[0] for row in WORLD.rows})
        table = np.zeros((len(users), len(WORLD.items)))
        table[3, 4] = np.nan
        np.savez("own.npz", scores=table, users=np.array(users), items=np.array(WORLD.items))
        check_failure(run(rankjury, recommender("scores", path="own.npz")), 3, "own.npz", f"user {users[3]!r} is NaN")
        np.save("own.npy", table)
        check_failure(run(rankjury, recommender("scores", path="own.npy")), 2, "own.npy has no ids of users")

    def test_factors_of_different_width(self, rankjury: Rankjury) -> None:
        np.savez("u.npz", ids=np.array(WORLD.users), v=np.ones((len(WORLD.users), 3)))
        np.savez("i.npz", ids=np.array(WORLD.items), v=np.ones((len(WORLD.items), 4)))
        outcome = run(rankjury, recommender("factors", user_factors="u.npz", item_factors="i.npz"))
        check_failure(outcome, 3, "vectors of 3 numbers for users and of 4 for items")

    def test_lists_with_seen_and_unknown_items(self, rankjury: Rankjury) -> None:
        user = WORLD.users[0]
        seen = next(iter(WORLD.history[user]))
        put("x.trec", f"{user} Q0 {seen} 1 3 x\n{user} Q0 strange 2 2 x\n{user} Q0 {WORLD.candidates(user)[0]} 3 1 x\n")
        outcome = run(rankjury, 'systems.p = "x.trec"\n')
        assert warned(outcome, "1 recommendation is of training items of the user (1 user), removed")
        assert warned(outcome, "1 recommendation is of items outside the catalogue (1 user), removed")
        assert warned(outcome, f"{len(WORLD.users) - 1} users are without recommendations")

    def test_lists_of_nobody(self, rankjury: Rankjury) -> None:
        put("x.trec", "zoe Q0 1 1 3 x\n")
        check_failure(run(rankjury, 'systems.p = "x.trec"\n'), 3, "none of its users is among those of test: zoe")

    def test_fewer_than_k_candidates(self, rankjury: Rankjury) -> None:
        outcome = run(rankjury, measures='measures = ["ndcg@5", "ndcg@50"]\n')
        assert warned(outcome, f"p: {len(WORLD.users)} users have fewer than 50 candidates that it can score")
        assert not any("candidates that it can score" in line for line in run(rankjury).warnings)

    def test_only_what_measures_look_at_is_told(self, rankjury: Rankjury) -> None:
        """A system that is fused is ranked in full, of which nobody has as many candidates."""
        outcome = run(rankjury, POPULARITY + 'systems.f = { kind = "fusion", of = ["p"] }\n')
        assert outcome.code == 0 and not any("candidates that it can score" in line for line in outcome.warnings)

    def test_shallower_than_the_measures(self, rankjury: Rankjury) -> None:
        outcome = run(rankjury, POPULARITY.replace("model", "depth = 3, model"))
        assert warned(outcome, "p: recommends 3 items per user, but measures use 5")
