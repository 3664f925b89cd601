"""Comparison of scores: aligned on ids and conventions, values over all queries, and one correction."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import rankjury
from rankjury.evaluation.compare import assess
from rankjury.evaluation.evaluate import resolve_measures
from rankjury.evaluation.paired import Change, Move, compare_scores, pair_scores, pair_with_baseline
from rankjury.evaluation.scores import Scores
from rankjury.stats.comparison import compare_pairs, correct_p_values
from rankjury.stats.resampling import Resampling, query_keys

QUICK = Resampling(resamples=400)


def scores(ids: Sequence[str], seed: int, labels: tuple[str, ...] = ("ap", "coverage@5")) -> Scores:
    """Values by id, whatever the order; a coverage is one value over all queries."""
    rng = np.random.default_rng(seed)
    known = {f"q{n:02}": rng.uniform(0, 1, len(labels)) for n in range(30)}
    values = np.array([known[one] for one in ids]).reshape(len(ids), len(labels))
    whole = {label: 1.0 for label in labels if label.startswith("coverage")}
    return Scores(pl.Series(ids, dtype=pl.String), labels, labels, ("mean",) * len(labels), values, whole=whole)


IDS = [f"q{n:02}" for n in range(30)]


def test_the_same_queries_are_compared_as_they_are() -> None:
    ours, theirs = scores(IDS, 1), scores(IDS, 2)
    pair = pair_scores("new", ours, "old", theirs)
    assert pair.scores is ours and pair.baseline_scores is theirs and pair.only == (0, 0)
    ((ap, coverage),) = compare_scores([pair], QUICK)
    assert (ap.p_method, coverage.p_method) == ("monte carlo", "jackknife")
    assert ap.p_holm is not None and coverage.p_holm is not None
    expected = correct_p_values(compare_pairs(pair.columns(), query_keys(ours.queries, 0), QUICK))
    assert [ap, coverage] == expected


def test_no_digit_depends_on_the_order_of_queries() -> None:
    expected = compare_scores([pair_scores("new", scores(IDS, 1), "old", scores(IDS, 2))], QUICK)
    turned = pair_scores("new", scores(IDS[::-1], 1), "old", scores(IDS, 2))
    assert turned.queries.to_list() == IDS[::-1] and turned.only == (0, 0) and turned.incomplete == ()
    assert repr(compare_scores([turned], QUICK)) == repr(expected)


def test_queries_in_common() -> None:
    """A coverage over those in common would be that of neither side."""
    pair = pair_scores("new", scores(IDS[:25], 1), "old", scores(IDS[3:], 2))
    assert pair.queries.to_list() == IDS[3:25] and pair.only == (3, 5)
    assert (pair.scores.labels, pair.incomplete) == (("ap",), ("coverage@5",))
    ((found,),) = compare_scores([pair], QUICK)
    ((expected, _),) = compare_scores([pair_scores("new", scores(IDS[3:25], 1), "old", scores(IDS[3:25], 2))], QUICK)
    assert (found.n, found.difference, found.ci, found.p) == (22, expected.difference, expected.ci, expected.p)


def test_a_query_that_contributes_nothing_does_not_count() -> None:
    ours, theirs = scores(IDS, 1), scores(IDS[1:], 2)
    values = ours.values.copy()
    values[0] = np.nan
    pair = pair_scores("new", replace(ours, values=values), "old", theirs)
    assert pair.incomplete == () and pair.scores.labels == ("ap", "coverage@5")


def test_no_query_in_common() -> None:
    pair = pair_scores("new", scores(IDS[:9], 1), "old", scores(IDS[9:], 2))
    assert len(pair.queries) == 0 and pair.only == (9, 21)


def test_measures_are_matched_by_their_conventions() -> None:
    ours = scores(IDS, 1, ("ap", "mine", "ndcg@10", "rr"))
    ours = replace(ours, conventions=("ap", "ap(rel=2)", "ndcg(gain=exp)@10", "rr"))
    theirs = replace(scores(IDS, 2, ("rr", "yours", "ap", "ndcg@10")), conventions=("rr", "ap(rel=2)", "ap", "ndcg@10"))
    pair = pair_scores("new", ours, "old", theirs)
    assert pair.scores.labels == ("ap", "mine", "rr") and pair.baseline_scores.labels == ("ap", "yours", "rr")
    assert pair.unmatched == ("ndcg@10",)
    ((*_, found),) = compare_scores([pair], QUICK)
    assert found.measure == "rr" and found.baseline_mean == pytest.approx(theirs["rr"].mean())


def test_all_pairs_of_a_call_are_corrected_together() -> None:
    systems = {"base": scores(IDS, 1), "one": scores(IDS, 2), "two": scores(IDS, 3)}
    together = compare_scores(pair_with_baseline(systems, "base"), QUICK)
    assert [[one.system for one in some] for some in together] == [["one"] * 2, ["two"] * 2]
    apart = [compare_scores([pair], QUICK)[0] for pair in pair_with_baseline(systems, "base")]
    flat = [one for some in apart for one in some]
    assert [one for some in together for one in some] == correct_p_values(flat)
    fewer = {name: one.part(np.arange(20)) for name, one in systems.items()}
    mixed = compare_scores([*pair_with_baseline(systems, "base")[:1], *pair_with_baseline(fewer, "base")[:1]], QUICK)
    assert [some[0].n for some in mixed] == [30, 20], "pairs over other queries are compared over theirs"
    assert mixed[0][0].p == together[0][0].p


def test_shares_of_the_baseline() -> None:
    pair = pair_scores("new", scores(IDS, 1), "old", scores(IDS, 2))
    ((plain, _),), ((found, _),) = compare_scores([pair], QUICK), compare_scores([pair], QUICK, relative=True)
    assert plain.relative is None and found.relative == pytest.approx(found.difference / found.baseline_mean)
    assert compare_scores([], QUICK) == []


QUICK = Resampling(resamples=100)


def changes_of(
    gold: Any, before: Any, after: Any, measure: str = "rr", duplicates: Any = "error", **conventions: Any
) -> list[Change]:
    asked = resolve_measures([measure], None, conventions)
    rankings = {"old": rankjury.as_ranking(before), "new": rankjury.as_ranking(after)}
    gold = rankjury.as_gold(gold)
    return list(assess(gold, rankings, asked, resampling=QUICK, baseline="old", duplicates=duplicates).changes)


def moves_of(change: Change) -> list[tuple[str, float, int | None, int | None]]:
    return [(move.item, move.grade, move.before, move.after) for move in change.moves]


def frame_of(rows: list[tuple[str, str, float]], value: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["query_id", "item_id", value], orient="row")


def test_a_worked_example() -> None:
    gold = {"q1": {"a": 1, "b": 2, "x": 0}, "q2": {"c": 1}, "q3": {"d": 1}}
    old = {"q1": ["x", "a", "z", "b"], "q2": ["c"], "q3": ["d"]}
    new = {"q1": ["b", "x"], "q2": ["z", "c"], "q3": ["d", "z"]}
    worse, better = changes_of(gold, old, new)
    assert (worse.query, worse.before, worse.after, worse.difference, worse.gain) == ("q2", 1.0, 0.5, -0.5, -0.5)
    assert moves_of(worse) == [("c", 1.0, 1, 2)]
    assert (better.query, better.before, better.after) == ("q1", 0.5, 1.0)
    assert moves_of(better) == [("b", 2.0, 4, 1), ("a", 1.0, 2, None)], "best grade first; x is not relevant"
    assert better.to_json() == {
        "system": "new",
        "measure": "rr",
        "query_id": "q1",
        "baseline": 0.5,
        "value": 1.0,
        "difference": 0.5,
        "moves": [
            {"item_id": "b", "grade": 2.0, "from": 4, "to": 1},
            {"item_id": "a", "grade": 1.0, "from": 2, "to": None},
        ],
    }


def test_ranks_among_equal_scores_are_those_of_the_tie_rule() -> None:
    gold, old, new = {"q": {"b": 1}}, {"q": {"b": 2.0, "c": 1.0}}, {"q": {"c": 1.0, "b": 1.0, "a": 1.0}}
    assert moves_of(changes_of(gold, old, new)[0]) == [("b", 1.0, 1, 2)], "a before b before c"
    descending = changes_of(gold, old, {"q": {"c": 1.0, "b": 1.0, "a": 1.0, "d": 1.0}}, ties="id-desc")
    assert moves_of(descending[0]) == [("b", 1.0, 1, 3)], "d before c before b"
    given_order = {"q": {"b": 1.0, "c": 1.0}}
    assert moves_of(changes_of(gold, given_order, {"q": {"c": 1.0, "b": 1.0}}, ties="order")[0]) == [("b", 1.0, 1, 2)]


def test_a_query_that_one_of_them_lacks() -> None:
    gold = {"p": {"a": 1}, "q": {"b": 1, "c": 1}}
    both, one = {"p": ["a"], "q": ["z", "b"]}, {"p": ["a"]}
    (lost,) = changes_of(gold, both, one)
    assert (lost.query, lost.before, lost.after) == ("q", 0.5, 0.0)
    assert moves_of(lost) == [("b", 1.0, 2, None), ("c", 1.0, None, None)]
    (found,) = changes_of(gold, one, both)
    assert found.gain == 0.5 and moves_of(found)[0] == ("b", 1.0, None, 2)


def test_undefined_for_one_of_them_is_no_change() -> None:
    gold = {"p": {"a": 1}, "q": {"b": 1}}
    assert changes_of(gold, {"p": ["a"], "q": ["b"]}, {"p": ["a"]}, missing="skip") == []


@pytest.mark.parametrize(("rule", "grade", "rank"), [("first", 1.0, 3), ("last", 2.0, 1), ("max", 3.0, 1)])
def test_duplicates_in_the_gold_and_in_the_runs(rule: Any, grade: float, rank: int) -> None:
    """Pairs that stand twice before the query that is looked at shift no row."""
    gold = frame_of(
        [("p", "a", 1), ("p", "a", 1), ("q", "x", 0), ("q", "b", 1), ("q", "b", 3), ("q", "b", 2), ("q", "c", 1)],
        "grade",
    )
    old = frame_of([("q", "z", 9.0), ("q", "y", 8.0), ("q", "w", 7.0), ("q", "b", 6.0), ("p", "a", 1.0)], "score")
    new = frame_of([("q", "z", 9.0), ("q", "b", 1.0), ("q", "b", 10.0), ("q", "v", 3.0), ("p", "a", 1.0)], "score")
    (change,) = changes_of(gold, old, new, duplicates=rule)
    assert set(moves_of(change)) == {("b", grade, 4, rank), ("c", 1.0, None, None)}


def test_what_counts_as_relevant_is_the_measures_own() -> None:
    gold = {"q": {"a": 1, "b": 2, "c": 3}}
    old, new = {"q": ["a", "b", "c"]}, {"q": ["c", "b", "a"]}
    (change,) = changes_of(gold, old, new, "rr(rel=3)")
    assert moves_of(change) == [("c", 3.0, 3, 1)]
    asked = resolve_measures(["rr"], None, {})
    graded = rankjury.as_gold(gold, relevant_from=2)
    rankings = {"old": rankjury.as_ranking(old), "new": rankjury.as_ranking(new)}
    report = assess(graded, rankings, asked, resampling=QUICK, baseline="old")
    assert [moves_of(one) for one in report.changes] == [[("c", 3.0, 3, 1), ("b", 2.0, 2, 2)]]


def test_less_is_better_turns_it_around() -> None:
    gold = {"p": {"a": 1}, "q": {"a": 1, "b": 0}}
    old, new = {"p": ["a", "x"], "q": ["a", "y"]}, {"p": ["x", "y"], "q": ["a", "b"]}
    worse, better = changes_of(gold, old, new, "unjudged@2")
    assert (worse.query, worse.difference, worse.gain) == ("p", 0.5, -0.5)
    assert (better.query, better.difference, better.gain) == ("q", -0.5, 0.5)


def test_ten_of_each_side_largest_first() -> None:
    gold = {f"q{n:02}": {"a": 1} for n in range(40)}
    at = {query: n % 20 for n, query in enumerate(gold)}
    top = {query: ["a"] for query in gold}
    down = {query: [*(f"x{n}" for n in range(at[query])), "a"] for query in gold}
    losses = changes_of(gold, top, down)
    assert len(losses) == 10 and all(change.gain < 0 for change in losses)
    assert [change.difference for change in losses] == sorted(change.difference for change in losses)
    assert [change.query for change in losses[:4]] == ["q19", "q39", "q18", "q38"]
    gains = changes_of(gold, down, top)
    assert [change.difference for change in gains] == [-change.difference for change in losses]
    mixed = {query: down[query] if n < 20 else top[query] for n, query in enumerate(gold)}
    other = {query: top[query] if n < 20 else down[query] for n, query in enumerate(gold)}
    both = changes_of(gold, mixed, other)
    assert [change.gain < 0 for change in both] == [True] * 10 + [False] * 10


def test_each_system_and_measure_has_its_own() -> None:
    gold, old = {"q": {"a": 1, "b": 1}}, {"q": ["a", "b"]}
    report = rankjury.compare(
        gold, {"old": old, "new": {"q": ["x", "a"]}, "same": old}, ["rr", "recall@2", "ndcg@10"], resampling=QUICK
    )
    assert [(one.system, one.measure) for one in report.changes] == [
        ("new", "rr"),
        ("new", "recall@2"),
        ("new", "ndcg@10"),
    ]


QUERIES, ITEMS = ["q1", "q10", "q2"], ["a", "b", "c", "d", "e"]
runs = st.dictionaries(
    st.sampled_from(QUERIES),
    st.dictionaries(st.sampled_from(ITEMS), st.integers(0, 3).map(float), min_size=1),
    min_size=1,
)
golds = st.dictionaries(
    st.sampled_from(QUERIES), st.dictionaries(st.sampled_from(ITEMS), st.integers(0, 2), min_size=1), min_size=1
)


@given(gold=golds, old=runs, new=runs)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_moves_like_a_plain_sort(gold: Any, old: Any, new: Any) -> None:
    if not (set(gold) & set(old) and set(gold) & set(new)):
        return

    def rank(run: Any, query: str, item: str) -> int | None:
        ranked = sorted(sorted(run.get(query, {})), key=lambda one: -run[query][one])
        return ranked.index(item) + 1 if item in ranked else None

    for change in changes_of(gold, old, new, "ap"):
        judged = gold[change.query]
        expected = {
            Move(i, float(g), rank(old, change.query, i), rank(new, change.query, i)) for i, g in judged.items()
        }
        assert set(change.moves) == {move for move in expected if move.grade > 0}
        assert [move.grade for move in change.moves] == sorted((m.grade for m in change.moves), reverse=True)
        assert change.difference == change.after - change.before != 0


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_is_of_no_account(seed: int) -> None:
    chance = random.Random(11)
    gold_rows = [(f"q{q}", f"d{i}", float(chance.randrange(3))) for q in range(8) for i in range(9)]
    run_rows = [[(f"q{q}", f"d{i}", chance.randrange(5) / 2) for q in range(8) for i in range(9)] for _ in range(2)]

    def found(shuffled: bool) -> str:
        frames = [
            frame_of(rows, value)
            for rows, value in zip([gold_rows, *run_rows], ("grade", "score", "score"), strict=True)
        ]
        if shuffled:
            frames = [frame.sample(fraction=1, shuffle=True, seed=seed) for frame in frames]
        return json.dumps([change.to_json() for change in changes_of(*frames, "ndcg@5")])

    assert found(True) == found(False) and len(json.loads(found(False))) >= 6
