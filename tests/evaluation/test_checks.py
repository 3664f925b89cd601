"""What is told of a ranking, counted over parts of the queries and joined, is what is told of all of them."""

from functools import reduce
from math import log2
from operator import add
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankjury
from rankjury.core.convert import gold_from_frame, ranking_from_frame
from rankjury.evaluation.checks import Findings, warn_of_names
from rankjury.evaluation.evaluate import Evaluation, resolve_measures
from rankjury.evaluation.judge import judge
from rankjury.evaluation.sections import ReportWarning, group_warnings
from rankjury.evaluation.shared_ids import IdSample
from rankjury.measures.measure import Measure
from tests.scale.made import gold_of, run_of

MEASURES = [Measure.parse(label) for label in ("ndcg@10", "ap(rel=2)", "precision(empty=zero)@3", "rr@5")]
GOLD, RUN = gold_of(40), run_of(40, 1)
LOW = 1 / log2(3)


def findings(gold: pl.DataFrame, run: pl.DataFrame) -> Findings:
    evaluation = Evaluation.match(gold_from_frame(gold), ranking_from_frame(run), allow_disjoint_queries=True)
    return evaluation.findings(MEASURES)


@pytest.mark.parametrize("parts", [2, 5])
def test_parts_are_joined(parts: int) -> None:
    part_of = pl.col("query_id") * 7 % parts
    whole = findings(GOLD, RUN)
    found = [findings(GOLD.filter(part_of == part), RUN.filter(part_of == part)) for part in range(parts)]
    assert reduce(add, found) == reduce(add, found[::-1]) == whole
    assert list(whole.warnings(MEASURES)) == list(reduce(add, found).warnings(MEASURES))


def test_what_is_told() -> None:
    told = "\n".join(map(str, findings(GOLD, RUN).warnings(MEASURES)))
    assert "judged queries are missing from the ranking (" in told and "scored 0" in told
    assert "5 retrieved queries have no gold: not counted" in told
    assert "6 queries have nothing relevant in the gold: left out" in told
    assert "unjudged items count as not relevant: " in told and "of the top 3" in told
    assert "the cut-off falls within equal scores" in told


def test_nothing_is_told_where_nothing_is_wrong() -> None:
    one = pl.DataFrame({"query_id": ["q"], "item_id": ["a"]})
    found = findings(one.with_columns(grade=1.0), one.with_columns(score=1.0))
    assert list(found.warnings(MEASURES[:1])) == []
    assert [line.partition(" in the gold")[0] for line in map(str, found.warnings(MEASURES))] == [
        "1 query has nothing relevant of grade 2 or better"
    ]


def test_says_which_measures_leave_out_a_query_with_nothing_relevant_and_which_count_it_0() -> None:
    """Precision was left out for such queries like recall, although its formula needs no relevant item."""
    labels = ("ndcg@5", "recall@5", "recall(over=k)@5", "precision@5", "rr")
    measures = [Measure.parse(label) for label in labels]
    found = Evaluation.match(gold_from_frame(GOLD), ranking_from_frame(RUN)).findings(measures)
    (told,) = (line for line in map(str, found.warnings(measures)) if "nothing relevant" in line)
    left_out, _, zero = told.partition(";")
    assert "6 queries" in left_out and "left out for ndcg, recall@5 (" in left_out
    assert "scored 0 for recall(over=k)@5, precision, rr (" in zero


def lists_of(queries: int, length: int, items: int) -> pl.DataFrame:
    """A run of lists that are equally long."""
    rows = [(f"q{q}", f"d{(7 * q + i) % items}", float(-i)) for q in range(queries) for i in range(length)]
    return pl.DataFrame(rows, schema=["query_id", "item_id", "score"], orient="row")


def judged(queries: int, items: int, prefix: str = "d") -> pl.DataFrame:
    rows = [(f"q{q}", f"{prefix}{(7 * q + 3 * i) % items}", 1.0) for q in range(queries) for i in range(4)]
    return pl.DataFrame(rows, schema=["query_id", "item_id", "grade"], orient="row")


class TestListsShorterThanTheCutOff:
    """Lists that were cut at 10 were scored at 20 without a word."""

    def warned(self, run: pl.DataFrame, measure: str, items: int = 60) -> list[str]:
        warnings = rankjury.evaluate(judged(20, items), run, measure).warnings
        return [one for one in map(str, warnings) if "cut off" in one]

    def test_a_warning_says_how_many_and_how_long(self) -> None:
        (warning,) = self.warned(lists_of(20, 10, 60), "ndcg@20")
        assert "all 20 lists have 10 items" in warning and "ndcg@20" in warning and "up to 10" in warning

    def test_measures_of_arrays(self) -> None:
        shown = [[(7 * user + place) % 60 for place in range(10)] for user in range(20)]
        scores = rankjury.evaluate_arrays(shown, [[user] for user in range(20)], measures="ndcg@20", n_items=60)
        assert "all 20 lists have 10 items" in scores.warnings[0].text

    def test_a_few_lists_that_are_shorter_still_do_not_hide_it(self) -> None:
        """One query that matched five items silenced the warning about 19 lists that were cut at 10."""
        run = lists_of(20, 10, 60).filter((pl.col("query_id") != "q3") | (pl.col("score") > -5))
        (warning,) = self.warned(run, "ndcg@20")
        assert "19 of 20 lists have 10 items" in warning

    def test_no_warning_where_nothing_was_cut(self) -> None:
        assert self.warned(lists_of(20, 10, 60), "ndcg@10") == []
        uneven = lists_of(20, 10, 60).filter(~pl.col("query_id").is_in(["q3", "q4", "q5"]) | (pl.col("score") > -5))
        assert self.warned(uneven, "ndcg@20") == []
        assert self.warned(lists_of(20, 10, 10), "ndcg@20", items=10) == []
        one = lists_of(1, 10, 60)
        assert self.warned(one, "ndcg@20") == []

    def test_no_warning_where_lists_hold_all_but_the_query_itself(self) -> None:
        """49 movies, each of which ranks the 48 others."""
        movies = [f"m{n}" for n in range(49)]
        run = {one: [other for other in movies if other != one] for one in movies}
        gold = {one: [movies[(n + 1) % 49]] for n, one in enumerate(movies)}
        assert not [one for one in map(str, rankjury.evaluate(gold, run, "ndcg@100").warnings) if "cut off" in one]

    def test_blocks_say_the_same(self) -> None:
        gold, run, measures = judged(20, 60), lists_of(20, 10, 60), [Measure.parse("ndcg@20")]

        def found(part: pl.Expr) -> Findings:
            evaluation = Evaluation.match(
                gold_from_frame(gold.filter(part)), ranking_from_frame(run.filter(part)), allow_disjoint_queries=True
            )
            return evaluation.findings(measures)

        in_first = pl.col("query_id").is_in(["q1", "q2", "q7"])
        assert list((found(in_first) + found(~in_first)).warnings(measures)) == list(
            rankjury.evaluate(gold, run, "ndcg@20").warnings
        )


class TestNoItemInCommon:
    """D123 against 123 scored 0 without a word."""

    def test_it_is_an_error_with_examples_of_both_sides(self) -> None:
        gold, run = judged(20, 60, prefix="D"), lists_of(20, 10, 60)
        for call in (
            lambda: rankjury.evaluate(gold, run, "ndcg@10"),
            lambda: rankjury.compare(gold, {"a": run, "b": run}, "ndcg@10"),
            lambda: judge(gold_from_frame(gold), ranking_from_frame(run)),
        ):
            with pytest.raises(rankjury.DataError, match=r"no item in common: the gold has 'D.*the ranking has 'd"):
                call()
        with pytest.raises(rankjury.DataError, match="no item in common"):
            rankjury.evaluate_arrays([[n] for n in range(20)], [[n + 50] for n in range(20)], measures="rr")

    def test_it_is_an_error_in_blocks(self, tmp_path: Path) -> None:
        judged(20, 60, prefix="D").write_parquet(tmp_path / "gold.parquet")
        lists_of(20, 10, 60).write_parquet(tmp_path / "run.parquet")
        with pytest.raises(rankjury.DataError, match="no item in common: the gold has 'D"):
            rankjury.scale.evaluate(tmp_path / "gold.parquet", tmp_path / "run.parquet", "ndcg@10")

    def test_parts_of_the_queries_may_have_none(self) -> None:
        """What one block retrieves, another one's gold has: only all of them together say whether ids differ."""
        gold = {**{f"a{n}": [f"d{n}"] for n in range(20)}, **{f"b{n}": [f"e{n}"] for n in range(20)}}
        run = {**{f"a{n}": [f"e{n}"] for n in range(20)}, **{f"b{n}": [f"d{n}"] for n in range(20)}}
        scores = rankjury.evaluate(gold, run, "ndcg@10")
        assert scores.mean() == {"ndcg@10": 0.0} and not [
            one for one in map(str, scores.warnings) if "in common" in one
        ]
        measures = [Measure.parse("ndcg@10")]
        parts = []
        for side in "ab":
            of_part = rankjury.as_gold({query: items for query, items in gold.items() if query.startswith(side)})
            parts.append(
                Evaluation.match(of_part, rankjury.as_ranking(run), allow_disjoint_queries=True).findings(measures)
            )
            with pytest.raises(rankjury.DataError):
                parts[-1].check("a part")
        (parts[0] + parts[1]).check("all")

    def test_few_items_may_all_be_missed(self) -> None:
        scores = rankjury.evaluate({"q": ["a"]}, {"q": ["b", "c"]}, "rr")
        assert scores.mean() == {"rr": 0.0}
        (warning,) = (one for one in map(str, scores.warnings) if "no item in common" in one)
        assert "'a'" in warning and "'b', 'c'" in warning

    def test_a_share_below_one_percent_is_told(self) -> None:
        gold = {f"q{q}": [f"D{q}-{n}" for n in range(10)] for q in range(50)}
        run = {f"q{q}": [f"{q}-{n}" for n in range(10)] for q in range(50)}
        run["q7"] = ["D7-3", *run["q7"][1:]]
        (warning,) = (
            one for one in map(str, rankjury.evaluate(gold, run, "ndcg@10").warnings) if "spelled alike" in one
        )
        assert warning.startswith("0.20 % of the gold's items")
        missed = {query: ["x", *items[1:]] for query, items in gold.items()}
        assert not [
            one for one in map(str, rankjury.evaluate(gold, missed, "ndcg@10").warnings) if "spelled alike" in one
        ]

    @pytest.mark.parametrize("n", [1_000, 40_000])
    def test_samples_of_many_ids_join_in_any_order(self, n: int) -> None:
        ids = pl.Series([f"i{number}" for number in range(n)])
        parts = [IdSample.of(ids.filter(pl.Series([number % 3 == part for number in range(n)]))) for part in range(3)]
        assert parts[0] | parts[1] | parts[2] == parts[2] | (parts[1] | parts[0]) == IdSample.of(ids)
        assert IdSample.of(ids).size == pytest.approx(n, rel=0.05)


class TestNamesOfOtherTools:
    """A spelling that differs from rankjury's own only by case, and is read with another tool's conventions."""

    CODE = "name-of-other-tool"
    DATA = ({"q": {"b": 1}}, {"q": {"a": 1.0, "b": 1.0}})

    def texts(self, measures: str | list[str], **options: Any) -> list[str]:
        """Return the warnings of one ranking, and check that those of several have the same, once and of no system."""
        gold, run = self.DATA
        single = rankjury.evaluate(gold, run, measures, **options)
        several = rankjury.evaluate(gold, {"one": run, "two": run}, measures, **options)
        compared = rankjury.compare(gold, {"one": run, "two": run}, measures, **options)
        found = [warning.text for warning in single.warnings if warning.code == self.CODE]
        for report in (several, compared):
            of_report = [warning for warning in report.warnings if warning.code == self.CODE]
            assert [warning.text for warning in of_report] == found
            assert {warning.system for warning in of_report} <= {None}
        return found

    @pytest.mark.parametrize("name", ["NDCG@10", "nDCG@10"])
    def test_the_warning_names_tool_conventions_and_the_other_spelling(self, name: str) -> None:
        (text,) = self.texts(name)
        assert text.startswith(name) and "ir_measures" in text and "ties=id-desc" in text and "ndcg@10" in text
        gold, run = self.DATA
        assert rankjury.evaluate(gold, run, [name, "ndcg@10"]).mean() == {name: 1.0, "ndcg@10": pytest.approx(LOW)}

    @pytest.mark.parametrize(
        "name", ["ndcg@10", "Ndcg@10", "ndcg_cut_10", "P_10", "map", "recip_rank", "ndcg_burges@10", "SetP"]
    )
    def test_none_where_more_than_the_case_differs_or_it_is_rankjurys_own(self, name: str) -> None:
        assert self.texts(name) == []

    @pytest.mark.parametrize("dialect", ["ir_measures", "beir", "trec_eval"])
    def test_none_under_a_dialect(self, dialect: str) -> None:
        assert self.texts("NDCG@10", dialect=dialect) == []

    def test_none_where_the_conventions_are_the_same(self) -> None:
        same: dict[str, Any] = {"rel": 1, "ties": "id-desc", "scores": "single", "empty": "zero"}
        assert self.texts("NDCG@10", **same) == []

    def test_one_warning_for_names_that_are_read_alike(self) -> None:
        both, other = self.texts(["NDCG@10", "NDCG@5", "DCG@10"])
        assert "NDCG@10, NDCG@5 are" in both and "lenskit" in other and "gain=binary" in other

    def test_arrays_and_blocks_warn_too(self, tmp_path: Path) -> None:
        scores = rankjury.evaluate_arrays([[3, 1]], [[1, -1]], measures=["NDCG@10"])
        assert self.CODE in {warning.code for warning in scores.warnings}
        gold, run = (str(tmp_path / name) for name in ("gold.parquet", "run.parquet"))
        GOLD.write_parquet(gold)
        RUN.write_parquet(run)
        for options in ({}, {"memory": "1GB"}):
            report = rankjury.evaluate_files(gold, run, ["NDCG@10"], **options)
            assert [warning.system for warning in report.warnings if warning.code == self.CODE] == [None]

    def test_it_is_not_folded_away(self) -> None:
        (named,) = warn_of_names(resolve_measures("NDCG@10"))
        others = [ReportWarning(f"note {number}", code="ranking") for number in range(9)]
        lines = group_warnings([*others, named], ["run"])
        assert named.text in lines and len(lines) <= 5
