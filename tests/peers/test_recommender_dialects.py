"""The dialects of RecTools, LensKit, RecBole and RePlay against what these said of the cases of one file.

The libraries need environments of their own; tests/peers/make_recommender_oracles.py wrote their answers down.
"""

import json
import math
from pathlib import Path
from typing import Any

import pytest

import rankjury
from rankjury.measures.dialects import DIALECTS, resolve
from tests.peers.agreement import assert_close, assert_same, per_query
from tests.peers.make_recommender_oracles import CASES, LIBRARIES

DATA = Path(__file__).parent / "data"
SAID: dict[str, dict[str, Any]] = {name: json.loads((DATA / f"{name}.json").read_text()) for name in LIBRARIES}
NEW = [*LIBRARIES, "implicit"]


def given(case: str) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    data = CASES[case]
    return data["gold"], {user: dict(ranked) for user, ranked in data["run"].items()}


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, said in SAID.items() for case in said["cases"]])
def test_every_measure_of_every_user(name: str, case: str) -> None:
    said = SAID[name]["cases"][case]
    scores = rankjury.evaluate(*given(case), list(said), dialect=name)
    for label, expected in said.items():
        assert_same(per_query(scores, label), expected["users"], f"{label} of {name}", exact=False)
        assert_close(scores.summary(label).mean, expected["mean"], f"{label} of {name}, all users")


def test_the_cases_hold_what_libraries_differ_in() -> None:
    """Else the tables could not tell one dialect from another."""
    gold, run = given("gaps")
    assert gold.keys() - run.keys() and not all(run.values())
    assert any(not any(judged.values()) for judged in gold.values())
    assert any(len(shown) < 5 for shown in run.values()) and any(len(judged) > 5 for judged in gold.values())
    for one in LIBRARIES:
        for other in LIBRARIES:
            same = (
                rankjury.evaluate(gold, run, ["NDCG@5", "MAP@5"], dialect=one).mean()
                == rankjury.evaluate(gold, run, ["NDCG@5", "MAP@5"], dialect=other).mean()
            )
            assert same == (one == other), (one, other)


def test_equal_scores_in_replay_stand_by_id_descending() -> None:
    gold, run = {"u": {"b": 1}}, {"u": {"a": 1.0, "b": 1.0}}
    assert rankjury.evaluate(gold, run, "MRR@1", dialect="replay").mean() == {"MRR@1": 1.0}
    assert rankjury.evaluate(gold, run, "MRR@1", dialect="rectools").mean() == {"MRR@1": 0.0}


@pytest.mark.parametrize("name", list(LIBRARIES))
def test_the_dialect_reads_the_librarys_names(name: str) -> None:
    """All but those with a setting, which are spelled as rankjury's."""
    plain = [label for label in SAID[name]["cases"]["binary"] if "(" not in label]
    assert len(plain) >= 24
    assert [label for label in plain if DIALECTS.get(name).read(label) is None] == []


def test_names_that_others_have_are_still_theirs() -> None:
    """Without a dialect the first that reads a name has it: these five come behind all the others."""
    assert [name for name in DIALECTS.names() if name in NEW] == DIALECTS.names()[-len(NEW) :]
    older = {label: resolve(label).measure for label in ("ndcg@10", "map@10", "precision@10", "recall@10", "mrr@10")}
    assert [str(measure) for measure in older.values()] == ["ndcg@10", "ap@10", "precision@10", "recall@10", "rr@10"]
    for label in ("NDCG@10", "MAP@10", "MRR@10", "Precision@10", "Recall@10", "RBP@10"):
        assert resolve(label).measure == resolve(label, "ir_measures").measure, label
    assert resolve("R_cap@10").measure == resolve("R_cap@10", "beir").measure


@pytest.mark.parametrize(
    ("label", "home"),
    [
        ("HitRate@10", "rectools"),
        ("F1Beta@10", "rectools"),
        ("RecipRank@10", "lenskit"),
        ("AveragePrecision", "lenskit"),
        ("Hit@10", "lenskit"),
        ("hit@10", "recbole"),
    ],
)
def test_names_that_nobody_else_has(label: str, home: str) -> None:
    assert resolve(label).measure == resolve(label, home).measure


LOW = 1 / math.log2(3)


def test_an_ideal_list_of_always_k() -> None:
    """One relevant item, found first: not a whole score, for two more could have been relevant."""
    gold, run = {"u": {"a": 1}, "v": {"b": 2, "c": 1}}, {"u": ["a", "x"], "v": ["b", "c", "x"]}
    found = rankjury.evaluate(gold, run, ["ndcg(gain=binary,ideal=full)@3", "ndcg(ideal=full)@2", "ndcg(ideal=full)"])
    full = 1 + LOW + 0.5
    assert found["ndcg(gain=binary,ideal=full)@3"].tolist() == pytest.approx([1 / full, (1 + LOW) / full], rel=1e-15)
    two = 1 + LOW
    assert found["ndcg(ideal=full)@2"].tolist() == pytest.approx([1 / two, (2 + LOW) / (2 * two)], rel=1e-15)
    assert found["ndcg(ideal=full)"].tolist() == pytest.approx([1 / two, (2 + LOW) / (2 * full)], rel=1e-15)


def test_gains_too_large_for_a_float_have_a_full_ideal_list() -> None:
    gold, run = {"u": {"a": 1500}, "v": {"b": 1}}, {"u": ["a"], "v": ["b"]}
    found = rankjury.evaluate(gold, run, ["ndcg(gain=exp,ideal=full)@2"])
    assert found["ndcg(gain=exp,ideal=full)@2"].tolist() == pytest.approx([1 / (1 + LOW)] * 2, rel=1e-15)


def test_the_first_two_ranks_undiscounted() -> None:
    gold, run = {"u": {"a": 3, "b": 2, "c": 1}}, {"u": ["x", "a", "b", "c"]}
    found = rankjury.evaluate(
        gold, run, ["dcg(discount=rank)", "ndcg(discount=rank)@3", "dcg(discount=rank,ties=average)"]
    )
    exact = 3 + 2 / math.log2(3) + 0.5
    assert found["dcg(discount=rank)"].tolist() == pytest.approx([exact], rel=1e-15)
    assert found["dcg(discount=rank,ties=average)"].tolist() == pytest.approx([exact], rel=1e-15)
    assert found["ndcg(discount=rank)@3"].tolist() == pytest.approx([(3 + 2 * LOW) / (5 + LOW)], rel=1e-15)


def test_ap_over_the_least() -> None:
    gold, run = {"u": {"a": 1, "b": 1, "c": 1}}, {"u": ["a", "b"]}
    names = ["ap@5", "ap(over=min)@5", "ap(over=least)@5", "ap(over=least)@1"]
    assert list(rankjury.evaluate(gold, run, names).mean().values()) == pytest.approx(
        [2 / 3, 2 / 3, 1.0, 1.0], rel=1e-15
    )
