"""Comparison of scores: aligned on ids and conventions, values over all queries, and one correction."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from rankjury.evaluation.paired import compare_scores, pair_scores, pair_with_baseline
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
