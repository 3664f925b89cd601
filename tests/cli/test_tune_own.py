"""rankjury tune and the record of looks, of models that are somebody's own: other contents are other models."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Rankjury
from tests.cli.support import put
from tests.recsys.tuning.support import TEST, VALIDATION, as_csv, rows

PLAN = f"""
measures = ["ndcg@10"]
statistics.resamples = 100
[gold]
kind = "interactions"
path = "log.csv"
split = {{ kind = "dates", validation = {VALIDATION}, test = {TEST} }}
[systems.own]
kind = "recommender"
"""
CALLED = 'model = "callable"\nparams = { function = "MODULE:f" }\n[tune.own]\nparams = { call = ["user"] }\n'
SCORES = (
    'model = "scores"\nparams = { path = "one/s.csv" }\n[tune.own]\nparams = { path = ["one/s.csv", "other/s.csv"] }\n'
)


@pytest.fixture(autouse=True)
def _files(folder: Path) -> None:
    put("log.csv", as_csv(rows()))


def tuned(rankjury: Rankjury) -> list[tuple[float, bool]]:
    """Of every trial its mean, and whether it was made before."""
    outcome = rankjury("tune", "rankjury.toml", "--json")
    assert outcome.code == 0, outcome.err
    (found,) = json.loads(outcome.out)["systems"]
    return [(trial["estimate"]["mean"], trial["resumed"]) for trial in found["trials"]]


def scored(up: bool) -> str:
    """Items by their ids, upwards or downwards."""
    users, items = (sorted({row[side] for row in rows()}) for side in (0, 1))
    lines = [f"{user},{item},{place if up else -place}" for user in users for place, item in enumerate(items)]
    return "\n".join(["user_id,item_id,score", *lines]) + "\n"


def test_a_function_that_was_changed_is_tried_anew(rankjury: Rankjury, folder: Path) -> None:
    put("rankjury.toml", PLAN + CALLED.replace("MODULE", "tuned_of_own"))
    put("tuned_of_own.py", "def f(user, items):\n    return [float(len(items) - n) for n in range(len(items))]\n")
    assert [resumed for _, resumed in tuned(rankjury)] == [False]
    assert [resumed for _, resumed in tuned(rankjury)] == [True]
    put("tuned_of_own.py", "def f(user, items):\n    return [float(n) for n in range(len(items))]\n")
    assert [resumed for _, resumed in tuned(rankjury)] == [False]


def test_files_of_one_name_in_two_folders(rankjury: Rankjury, folder: Path) -> None:
    for name in ("one", "other"):
        Path(name).mkdir()
        put(f"{name}/s.csv", scored(up=True))
    put("rankjury.toml", PLAN + SCORES)
    first = tuned(rankjury)
    assert [resumed for _, resumed in first] == [False, False] and first[0] == first[1]
    put("one/s.csv", scored(up=False))
    second = tuned(rankjury)
    assert not any(resumed for _, resumed in second) and second[0] != second[1]


def test_sampled_candidates_are_warned_of(rankjury: Rankjury) -> None:
    plan = PLAN.replace('path = "log.csv"', 'path = "log.csv"\ncandidates = { sampled = 3 }')
    put("rankjury.toml", plan + 'model = "popularity"\n[tune.own]\nparams = { days = [1, 30] }\n')
    assert "candidates are 3 sampled items" in rankjury("tune", "rankjury.toml").err


def test_a_range_is_drawn_from_without_more_ado(rankjury: Rankjury) -> None:
    put(
        "rankjury.toml",
        PLAN + 'model = "popularity"\n[tune.own]\nparams = { days = { low = 1, high = 40 } }\ntrials = 3\n',
    )
    assert len(tuned(rankjury)) == 4
    outcome = rankjury("tune", "rankjury.toml", "--search", "grid")
    assert outcome.code == 2 and "found a range" in outcome.err


def test_a_run_with_changed_contents_counts_as_another_use_of_the_test_window(rankjury: Rankjury) -> None:
    put("rankjury.toml", PLAN.replace('kind = "recommender"', 'kind = "run"\npath = "own.csv"'))
    put("own.csv", scored(up=True))
    for _ in range(2):
        assert "was opened" not in rankjury("run", "rankjury.toml").err
    put("own.csv", scored(up=False))
    assert "the test window was opened 3 times with 2 different settings" in rankjury("run", "rankjury.toml").err
