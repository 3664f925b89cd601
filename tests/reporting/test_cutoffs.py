"""A report seen by cut-off: names of measures, ks in order, and which estimate stands where."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from rankjury.core.convert import as_ranking, ordered_gold
from rankjury.core.types import Ranking
from rankjury.errors import UsageError
from rankjury.evaluation.compare import assess
from rankjury.evaluation.evaluate import resolve_measures
from rankjury.evaluation.report import Report
from rankjury.reporting.tables.cutoffs import cutoff_grid
from rankjury.stats.estimates import Estimate
from rankjury.stats.resampling import Resampling

PAPERS = ("recall(over=k,gold=k)", "ndcg(gain=binary,gold=k)", "rr(gold=k)", "ap(over=found,gold=k)")
QUICK = Resampling(resamples=200)


def at(ks: Sequence[int], measures: Sequence[str] = PAPERS) -> list[str]:
    return [f"{measure}@{k}" for measure in measures for k in ks]


def ranked(lists: dict[str, list[str]]) -> Ranking:
    return as_ranking(lists)


def example(
    measures: Sequence[str],
    systems: Sequence[str] = ("base", "tuned"),
    *,
    queries: int = 24,
    resampling: Resampling | None = QUICK,
    dialect: str | None = None,
) -> Report:
    """Rankings that are shuffles of the gold's order, each system further from it than the one before."""
    chance = random.Random(7)
    items = [f"d{number:02}" for number in range(40)]
    gold = {f"q{number:02}": chance.sample(items, 20) for number in range(queries)}
    rankings = {}
    for place, system in enumerate(systems):
        lists = {
            query: sorted(best, key=lambda item, best=best: best.index(item) + chance.gauss(0, 3 + 3 * place))  # type: ignore[misc]
            for query, best in gold.items()
        }
        rankings[system] = ranked(lists)
    return assess(ordered_gold(gold), rankings, resolve_measures(measures, dialect, {}), resampling=resampling)


def having(report: Report, system: str, estimates: dict[str, Estimate]) -> Report:
    """The report with other estimates of a system."""
    found = report.systems[system]
    changed = replace(found, estimates={**found.estimates, **estimates})
    return replace(report, systems={**report.systems, system: changed})


def test_names_are_the_familiar_ones_in_the_order_asked() -> None:
    grid = cutoff_grid(example([*at([5, 1], PAPERS[1:]), *at([1], PAPERS[:1]), "precision@1", "rbo@5"]))
    assert [one.name for one in grid.measures] == ["NDCG", "MRR", "MAP", "Recall", "Precision", "RBO"]
    assert [one.short for one in grid.measures] == ["ndcg", "mrr", "map", "recall", "precision", "rbo"]
    assert grid.measures[0].spelling == "ndcg(gain=binary,gold=k)"
    assert grid.systems == ("base", "tuned")


def test_ks_ascend_as_numbers() -> None:
    assert cutoff_grid(example(at([10, 2, 1, 20]))).ks == (1, 2, 10, 20)


def test_every_estimate_stands_at_its_system_measure_and_k() -> None:
    report = example(at([1, 5, 10]))
    grid = cutoff_grid(report)
    for system in report.systems:
        for measure in grid.measures:
            for k in grid.ks:
                assert grid.at(system, measure, k) is report.estimates[system][f"{measure.spelling}@{k}"]


def test_where_a_measure_was_not_asked_for_there_is_none() -> None:
    grid = cutoff_grid(example(["recall@1", "recall@10", "rr@5"]))
    recall, rr = grid.measures
    assert grid.ks == (1, 5, 10)
    assert grid.ks_of(recall) == (1, 10) and grid.ks_of(rr) == (5,)
    assert grid.at("base", recall, 5) is None and grid.at("base", rr, 5) is not None
    assert [one is not None for one in grid.row("base", recall)] == [True, True]


def test_where_no_query_is_defined_a_row_has_none() -> None:
    report = example(["recall@1", "recall@5"])
    empty = replace(report.estimates["base"]["recall@1"], n=0)
    odd = having(report, "base", {"recall@1": empty})
    grid = cutoff_grid(odd)
    assert grid.at("base", grid.measures[0], 1) is empty
    assert grid.row("base", grid.measures[0]) == (None, report.estimates["base"]["recall@5"])


def test_measures_of_one_metric_are_told_apart_by_their_conventions() -> None:
    grid = cutoff_grid(example(["recall@5", "recall(over=k)@5", "ndcg@5"]))
    assert [one.name for one in grid.measures] == ["recall", "recall(over=k)", "NDCG"]


def test_measures_without_a_cut_off_are_left_out() -> None:
    grid = cutoff_grid(example(["rr", "recall@5", "r_precision"]))
    assert [(one.name, one.spelling) for one in grid.measures] == [("Recall", "recall")]


def test_nothing_but_measures_without_a_cut_off() -> None:
    with pytest.raises(UsageError, match="no measure of the report has a cut-off"):
        cutoff_grid(example(["rr", "ap"]))


def test_names_of_other_tools_and_second_names() -> None:
    grid = cutoff_grid(example(["ndcg_cut_5", "ndcg_cut_10", "map@5"]))
    assert [one.name for one in grid.measures] == ["NDCG", "MAP"]
    assert grid.ks == (5, 10) and grid.measures[0].spelling.startswith("ndcg(")
    assert grid.at("base", grid.measures[0], 10) is not None


def test_a_measure_asked_for_under_two_names_stands_once() -> None:
    assert [one.name for one in cutoff_grid(example(["rr@5", "mrr@5"])).measures] == ["MRR"]


def test_conventions_are_told_where_the_name_hides_them() -> None:
    assert cutoff_grid(example(at([1], PAPERS[:2]))).conventions == (
        "Recall: recall(over=k,gold=k)",
        "NDCG: ndcg(gain=binary,gold=k)",
    )
    assert cutoff_grid(example(["recall@5", "recall(over=k)@5", "rr@5"])).conventions == ()


def test_over_how_many_queries() -> None:
    report = example(["recall@1", "recall@5"])
    assert cutoff_grid(report).over == "24 queries"
    fewer = replace(report.estimates["base"]["recall@1"], n=1_000)
    odd = having(report, "base", {"recall@1": fewer})
    assert cutoff_grid(odd).over == "24 to 1,000 queries"


def test_measures_of_which_less_is_better_are_marked() -> None:
    report = example(["recall@1", "unjudged@1"])
    assert [one.lower_is_better for one in cutoff_grid(report).measures] == [False, True]
