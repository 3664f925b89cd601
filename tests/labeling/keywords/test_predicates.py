"""Who is relevant by keywords: worked by hand, and against plain sets on random tables."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

import rankjury
import rankjury.labeling.keywords.annotations
from rankjury.core.types import Gold
from rankjury.labeling.keywords.annotations import Annotations, Keyword, annotations_from_frame
from rankjury.labeling.keywords.gold import KeywordMatch, Predicates, gold_from_items, gold_from_keywords
from tests.labeling.keywords import plain
from tests.stats.support import thorough

CLIPS: plain.Table = {
    "bike": frozenset({("object", "bicyclist"), ("doing", "entering"), ("doing", "turning")}),
    "bike2": frozenset({("object", "bicyclist"), ("doing", "entering")}),
    "car": frozenset({("object", "car"), ("doing", "entering")}),
    "still": frozenset({("object", "car")}),
    "void": frozenset(),
}


def annotated(table: plain.Table, groups: list[str] | None = None) -> Annotations:
    return annotations_from_frame(plain.frame(table, groups or plain.groups_of(table)), id_column="item_id")


def by_items(table: plain.Table, match: str) -> Predicates:
    return gold_from_items(annotated(table), None, KeywordMatch.parse(match), "all").predicates


def by_words(table: plain.Table, queries: dict[str, plain.Words], match: str) -> Predicates:
    annotations = annotated(table)
    numbers = [[annotations.vocabulary.number_of[Keyword(*word)] for word in asked] for asked in queries.values()]
    return gold_from_keywords(annotations, list(queries), numbers, KeywordMatch.parse(match), "all").predicates


def listed(gold: Gold) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {query: {} for query in gold.queries}
    for query, item, grade in gold.frame().iter_rows():
        assert item not in found[query], "an item stands once"
        found[query][item] = grade
    return found


def levels(predicates: Predicates) -> dict[str, dict[float, int]]:
    runs = predicates.levels
    return {
        query: dict(
            zip(runs.grades[first:last].tolist(), runs.counts[first:last].tolist(), strict=True),
        )
        for query, first, last in zip(predicates.queries, runs.starts[:-1], runs.starts[1:], strict=True)
    }


class TestMatch:
    @pytest.mark.parametrize("text", ["all", "any", "at-least-2", "at-least-17", "graded"])
    def test_prints_as_it_parses(self, text: str) -> None:
        assert str(KeywordMatch.parse(text)) == text

    def test_at_least_one_is_any(self) -> None:
        assert KeywordMatch.parse("at-least-1") == KeywordMatch.parse("any")

    @pytest.mark.parametrize("text", ["", "ALL", "at-least-0", "at-least--1", "at-least-", "some", "at-least-2.5"])
    def test_what_is_no_match(self, text: str) -> None:
        with pytest.raises(rankjury.UsageError, match=r"the match is .*; expected all, any, at-least-2"):
            KeywordMatch.parse(text)

    @pytest.mark.parametrize(
        ("text", "needed"), [("all", [1, 2, 5]), ("any", [1, 1, 1]), ("at-least-3", [1, 2, 3]), ("graded", [1, 1, 1])]
    )
    def test_how_many_are_needed_of_1_2_and_5(self, text: str, needed: list[int]) -> None:
        assert [KeywordMatch.parse(text).needed(asked) for asked in (1, 2, 5)] == needed


class TestByHand:
    """Five clips; bike asks for three keywords, bike2 and car for two, still for one, void for none."""

    def test_all_is_the_protocol(self) -> None:
        assert listed(by_items(CLIPS, "all").gold()) == {
            "bike": {},
            "bike2": {"bike": 1.0},
            "car": {},
            "still": {"car": 1.0},
            "void": {"bike": 1.0, "bike2": 1.0, "car": 1.0, "still": 1.0},
        }

    def test_any(self) -> None:
        found = listed(by_items(CLIPS, "any").gold())
        assert found["bike"] == {"bike2": 1.0, "car": 1.0}
        assert found["still"] == {"car": 1.0}

    def test_at_least_two_asks_for_all_of_a_single_keyword(self) -> None:
        found = listed(by_items(CLIPS, "at-least-2").gold())
        assert found["bike"] == {"bike2": 1.0}
        assert found["still"] == {"car": 1.0}

    def test_graded_by_share(self) -> None:
        found = listed(by_items(CLIPS, "graded").gold())
        assert found["bike"] == {"bike2": 2 / 3, "car": 1 / 3}
        assert found["car"] == {"bike": 0.5, "bike2": 0.5, "still": 0.5}

    def test_levels_best_first_without_the_query_itself(self) -> None:
        predicates = by_items(CLIPS, "graded")
        assert levels(predicates)["bike"] == {1.0: 0, 2 / 3: 1, 1 / 3: 1}
        assert predicates.relevant_counts.tolist() == [2, 2, 3, 1, 4]

    def test_texts_may_ask_for_items_of_their_own_name(self) -> None:
        asked = {"bike": frozenset({("object", "bicyclist")})}
        assert listed(by_words(CLIPS, asked, "all").gold()) == {"bike": {"bike": 1.0, "bike2": 1.0}}

    def test_pairs_met_and_graded(self) -> None:
        predicates = by_items(CLIPS, "graded")
        queries, items = np.array([0, 0, 0, 0, 0]), np.array([0, 1, 2, 4, -1])
        assert predicates.met_by(queries, items).tolist() == [3, 2, 1, 0, 0]
        assert predicates.grades_of(queries, items).tolist() == [0.0, 2 / 3, 1 / 3, 0.0, 0.0]
        nothing_asked = np.array([4, 4, 4])
        assert predicates.grades_of(nothing_asked, np.array([0, 4, -1])).tolist() == [1.0, 0.0, 0.0]

    def test_all_is_the_intersection_of_what_has_each_keyword(self) -> None:
        asked = {"q": frozenset({("object", "car"), ("doing", "turning")})}
        assert listed(by_words(CLIPS, asked, "all").gold()) == {"q": {}}
        assert listed(by_words(CLIPS, asked, "any").gold()) == {"q": {"bike": 1.0, "car": 1.0, "still": 1.0}}

    def test_gold_says_that_it_is_complete(self) -> None:
        predicates = by_items(CLIPS, "all")
        ranking = rankjury.as_ranking({"bike": ["car"]})
        assert all(
            one.complete for one in (predicates.gold(), predicates.gold_by_number(), predicates.gold_for(ranking))
        )


@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 127, 128, 129, 150])
def test_words_of_64_items(size: int) -> None:
    """The first and the last item have the keyword; who asks for nothing finds all, and no bit behind the last."""
    last = frozenset({("group", "word")})
    table = {f"i{n}": last if n in (0, size - 1) else frozenset() for n in range(size)}
    predicates = by_words(table, {"some": last, "everyone": frozenset()}, "all")
    found = listed(predicates.gold())
    assert sorted(found["some"]) == sorted({"i0", f"i{size - 1}"})
    assert len(found["everyone"]) == size
    assert predicates.relevant_counts.tolist() == [min(size, 2), size]


def check(predicates: Predicates, table: plain.Table, expected: dict[str, dict[str, float]]) -> None:
    assert listed(predicates.gold()) == expected
    counts = dict(zip(predicates.queries, predicates.relevant_counts.tolist(), strict=True))
    assert counts == {query: len(items) for query, items in expected.items()}
    for query, by_grade in levels(predicates).items():
        assert list(by_grade) == sorted(by_grade, reverse=True), "best first"
        graded = list(expected[query].values())
        assert {grade: n for grade, n in by_grade.items() if n} == {grade: graded.count(grade) for grade in graded}
    items = [*predicates.annotations.ids]
    for row, query in enumerate(predicates.queries):
        grades = predicates.grades_of(np.full(len(items) + 1, row), np.arange(-1, len(items)))
        assert grades.tolist() == [0.0, *(expected[query].get(item, 0.0) for item in items)]


@given(table=plain.tables(), match=st.sampled_from(plain.MATCHES))
@thorough(40)
def test_items_as_queries_like_plain_sets(table: plain.Table, match: str) -> None:
    check(by_items(table, match), table, plain.gold(table, table, match, own=True))


@given(data=st.data(), table=plain.tables())
@thorough(40)
def test_keywords_as_queries_like_plain_sets(data: Any, table: plain.Table) -> None:
    queries = data.draw(plain.asked_of(table))
    for match in plain.MATCHES:
        check(by_words(table, queries, match), table, plain.gold(table, queries, match, own=False))


@given(table=plain.tables(), match=st.sampled_from(plain.MATCHES), words=st.sampled_from([1, 5, 40]))
@thorough(15)
def test_how_many_are_combined_at_once_is_of_no_account(table: plain.Table, match: str, words: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rankjury.labeling.keywords.gold, "_WORDS_AT_ONCE", words)
        patch.setattr(rankjury.labeling.keywords.gold, "_PAIRS_AT_ONCE", words)
        predicates = by_items(table, match)
        check(predicates, table, plain.gold(table, table, match, own=True))
        run = rankjury.as_ranking({query: list(table) for query in table})
        assert listed(predicates.gold_for(run)) == listed(predicates.gold())


@given(data=st.data(), table=plain.tables(), match=st.sampled_from(plain.MATCHES))
@thorough(35)
def test_only_the_groups_that_were_selected(data: Any, table: plain.Table, match: str) -> None:
    groups = data.draw(st.lists(st.sampled_from(plain.groups_of(table)), min_size=1, unique=True))
    kept = {item: frozenset(word for word in has if word[0] in groups) for item, has in table.items()}
    predicates = gold_from_items(
        annotated(table).select(tuple(groups)), None, KeywordMatch.parse(match), "all"
    ).predicates
    check(predicates, kept, plain.gold(kept, kept, match, own=True))


@given(data=st.data(), table=plain.tables(), match=st.sampled_from(plain.MATCHES))
@thorough(35)
def test_the_order_of_rows_is_of_no_account(data: Any, table: plain.Table, match: str) -> None:
    other = {item: table[item] for item in data.draw(st.permutations(list(table)))}
    one, two = by_items(table, match), by_items(other, match)
    assert listed(one.gold()) == listed(two.gold())
    assert levels(one) == levels(two)
    assert one.annotations.vocabulary == two.annotations.vocabulary


@given(data=st.data(), table=plain.tables(most=70), match=st.sampled_from(plain.MATCHES))
@thorough(35)
def test_for_a_ranking_only_what_it_names(data: Any, table: plain.Table, match: str) -> None:
    run = data.draw(plain.runs_of(table, table))
    predicates = by_items(table, match)
    whole = plain.gold(table, table, match, own=True)
    named = {query: {i: g for i, g in items.items() if i in run.get(query, {})} for query, items in whole.items()}
    found = predicates.gold_for(rankjury.as_ranking(run))
    assert listed(found) == named
    assert found.counted is predicates.levels


def test_numbers_as_ids_of_a_ranking() -> None:
    table = {"1": CLIPS["bike"], "2": CLIPS["bike2"], "3": CLIPS["void"]}
    predicates = by_items(table, "all")
    frame = pl.DataFrame({"query_id": [2, 2, 2], "item_id": [3, 1, 2], "score": [3.0, 2.0, 1.0]})
    found = predicates.gold_for(rankjury.as_ranking(frame)).frame()
    assert found.cast(pl.String).rows() == [("2", "1", "1.0")]


def test_arrays_are_read_only() -> None:
    predicates = by_items(CLIPS, "all")
    with pytest.raises(ValueError, match="read-only"):
        predicates.codes[0] = 1


def test_graded_from_two_keywords_on() -> None:
    annotations = annotated(CLIPS)
    predicates = gold_from_items(annotations, pl.Series(["bike"]), KeywordMatch(2, graded=True)).predicates
    assert listed(predicates.gold()) == {"bike": {"bike2": 2 / 3}}
    assert levels(predicates) == {"bike": {1.0: 0, 2 / 3: 1}}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="what a process takes is read from /proc")
def test_a_large_catalogue_in_bounded_memory() -> None:
    """100,000 items × 10,000 queries × 500 keywords; numbers of relevant items are those of a plain filter."""
    script = Path(__file__).parent / "large.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["all", "any", "at-least-2", "graded"]
