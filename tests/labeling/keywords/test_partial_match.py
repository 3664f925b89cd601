"""What results have and lack: the protocol's example by hand, and a slow count on random tables."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given, strategies as st

import rankjury
from rankjury.labeling.keywords.annotations import Annotations, Keyword, annotations_from_frame
from rankjury.labeling.keywords.gold import KeywordMatch, Predicates, gold_from_items, gold_from_keywords
from rankjury.labeling.keywords.partial_match import (
    ContextSimilarity,
    MissedKeyword,
    PartialMatches,
    ResultCounts,
    Substitute,
    partial_matches,
)
from tests.labeling.keywords import plain
from tests.stats.support import thorough


def annotated(table: plain.Table) -> Annotations:
    return annotations_from_frame(plain.frame(table, plain.groups_of(table)), id_column="item_id")


def by_words(table: plain.Table, queries: dict[str, plain.Words], match: str = "all") -> Predicates:
    found = annotated(table)
    numbers = [[found.vocabulary.number_of[Keyword(*word)] for word in asked] for asked in queries.values()]
    return gold_from_keywords(found, list(queries), numbers, KeywordMatch.parse(match), "all").predicates


RIDER, ENTERING = ("objects", "bicyclist"), ("behaviour", "entering ego path")
CLIPS: plain.Table = {
    "bike1": frozenset({RIDER, ENTERING, ("scene", "urban")}),
    "bike2": frozenset({RIDER, ENTERING, ("scene", "rain")}),
    "person": frozenset({("objects", "pedestrian"), ("objects", "dog"), ENTERING, ("scene", "urban")}),
    "person2": frozenset({("objects", "pedestrian"), ("behaviour", "stationary")}),
    "void": frozenset(),
}
RUN = {"cyclist": {"bike1": 0.92, "bike2": 0.88, "person": 0.53, "person2": 0.12, "alien": 0.2}}


class TestTheProtocolsExample:
    """A cyclist entering the ego lane: two keywords, and results from both to none."""

    def partial(self, threshold: float | None = None, k: int = 5) -> PartialMatches:
        predicates = by_words(CLIPS, {"cyclist": frozenset({RIDER, ENTERING})})
        return partial_matches(predicates, rankjury.as_ranking(RUN), k, threshold=threshold)

    def test_each_result(self) -> None:
        looked = self.partial(0.15).of("cyclist")
        assert looked is not None
        assert list(looked.keywords) == ["behaviour=entering ego path", "objects=bicyclist"]
        assert looked.relevant == 2
        told = [(one.item, one.rank, one.score, one.has, one.relevant) for one in looked.results]
        assert told == [
            ("bike1", 1, 0.92, looked.keywords, True),
            ("bike2", 2, 0.88, looked.keywords, True),
            ("person", 3, 0.53, looked.keywords[:1], False),
            ("alien", 4, 0.2, (), False),
            ("person2", 5, 0.12, (), False),
        ]
        assert [one.lacks for one in looked.results] == [(), (), looked.keywords[1:], looked.keywords, looked.keywords]
        assert [one.shown for one in looked.results] == [True, True, True, True, False]
        assert [one.annotated for one in looked.results] == [True, True, True, False, True]

    def test_whole_some_and_none_of_what_is_shown(self) -> None:
        shown, all_of_them = self.partial(0.15), self.partial()
        assert shown.results == ResultCounts(whole=2, some=1, none=1)
        assert all_of_them.results == ResultCounts(whole=2, some=1, none=2)

    def test_missed_most_first_with_what_stands_there_instead(self) -> None:
        assert self.partial().keywords == (
            MissedKeyword("objects=bicyclist", 1, 5, 3, "objects", (Substitute("pedestrian", 2), Substitute("dog", 1))),
            MissedKeyword("behaviour=entering ego path", 1, 5, 2, "behaviour", (Substitute("stationary", 1),)),
        )
        assert self.partial(0.5).keywords == (
            MissedKeyword("objects=bicyclist", 1, 3, 1, "objects", (Substitute("dog", 1), Substitute("pedestrian", 1))),
            MissedKeyword("behaviour=entering ego path", 1, 3, 0, "behaviour"),
        )

    def test_what_looks_alike_but_is_not(self) -> None:
        told = [(one.query, one.item, one.score, one.lacks) for one in self.partial(0.1).look_alikes]
        assert told == [
            ("cyclist", "person", 0.53, ("bicyclist",)),
            ("cyclist", "person2", 0.12, ("entering ego path", "bicyclist")),
        ]

    def test_by_group(self) -> None:
        assert self.partial().groups == (MissedKeyword("behaviour", 1, 5, 2), MissedKeyword("objects", 1, 5, 3))

    def test_no_more_than_k(self) -> None:
        found = self.partial(k=2)
        assert found.results == ResultCounts(whole=2, some=0, none=0)
        assert found.keywords[0].share == 0.0

    def test_as_json(self) -> None:
        told = self.partial(0.15).to_json()
        assert PartialMatches.from_json(told) == self.partial(0.15)
        assert told["results"] == {"whole": 2, "some": 1, "none": 1}
        assert (told["k"], told["threshold"], told["alike"]) == (5, 0.15, None)
        assert told["queries"][0]["results"][2] == {
            "item": "person", "rank": 3, "score": 0.53, "relevant": False, "shown": True, "annotated": True,
            "has": ["behaviour=entering ego path"], "lacks": ["objects=bicyclist"],
        }  # fmt: skip
        assert told["keywords"][0]["instead"] == [
            {"keyword": "dog", "results": 1},
            {"keyword": "pedestrian", "results": 1},
        ]
        assert told["keywords"][0]["share"] == 0.5

    def test_nothing_found(self) -> None:
        predicates = by_words(CLIPS, {"cyclist": frozenset({RIDER}), "other": frozenset({ENTERING})})
        found = partial_matches(predicates, rankjury.as_ranking({"other": {"bike1": 1.0}}), 3)
        looked = found.of("cyclist")
        assert looked is not None
        assert looked.results == ()
        missed = next(one for one in found.keywords if one.name == "objects=bicyclist")
        assert (missed.queries, missed.results, missed.lacking) == (1, 0, 0)
        assert missed.share != missed.share
        assert missed.to_json()["share"] is None
        assert found.of("nobody") is None

    def test_an_order_without_scores(self) -> None:
        predicates = by_words(CLIPS, {"cyclist": frozenset({RIDER})})
        looked = partial_matches(predicates, rankjury.as_ranking({"cyclist": ["void", "bike1"]}), 3).of("cyclist")
        assert looked is not None
        assert [(one.item, one.score, one.has) for one in looked.results] == [
            ("void", None, ()),
            ("bike1", None, ("objects=bicyclist",)),
        ]


class TestItemsAsQueries:
    def test_the_item_itself_is_left_out_and_the_next_moves_up(self) -> None:
        predicates = gold_from_items(annotated(CLIPS).select(("objects",)), pl.Series(["bike1"])).predicates
        run = {"bike1": {"bike1": 1.0, "person": 0.9, "bike2": 0.8, "void": 0.7}}
        looked = partial_matches(predicates, rankjury.as_ranking(run), 2).of("bike1")
        assert looked is not None
        assert [(one.item, one.rank, one.relevant) for one in looked.results] == [
            ("person", 1, False),
            ("bike2", 2, True),
        ]

    def test_also_where_it_was_not_found(self) -> None:
        predicates = gold_from_items(annotated(CLIPS).select(("objects",)), pl.Series(["bike1"])).predicates
        looked = partial_matches(predicates, rankjury.as_ranking({"bike1": ["person", "void", "bike2"]}), 2).of("bike1")
        assert looked is not None
        assert [one.item for one in looked.results] == ["person", "void"]

    def test_alike_in_what_was_not_asked_for(self) -> None:
        """bike1 is urban, as one of the four others is; its relevant result is not, its other result is."""
        everything = annotated(CLIPS)
        predicates = gold_from_items(everything.select(("objects", "behaviour")), pl.Series(["bike1"])).predicates
        run = rankjury.as_ranking({"bike1": {"person": 0.9, "bike2": 0.8, "alien": 0.7}})
        found = partial_matches(predicates, run, 5, everything=everything)
        assert found.alike == ContextSimilarity(relevant=0.0, others=1.0, anything=0.25, groups=("scene",))
        assert found.to_json()["alike"] == {
            "groups": ["scene"], "relevant_results": 0.0, "other_results": 1.0, "any_item": 0.25,
        }  # fmt: skip

    def test_alike_only_in_what_is_shown(self) -> None:
        everything = annotated(CLIPS)
        predicates = gold_from_items(everything.select(("objects", "behaviour")), pl.Series(["bike1"])).predicates
        run = rankjury.as_ranking({"bike1": {"person": 0.9, "bike2": 0.8}})
        found = partial_matches(predicates, run, 5, threshold=0.85, everything=everything)
        assert found.alike == ContextSimilarity(None, 1.0, 0.25, ("scene",))
        assert partial_matches(predicates, run, 5, threshold=0.95, everything=everything).alike is None

    def test_not_where_all_groups_count_or_queries_are_texts(self) -> None:
        everything = annotated(CLIPS)
        items = gold_from_items(everything, pl.Series(["bike1"])).predicates
        run = rankjury.as_ranking({"bike1": ["person"]})
        assert partial_matches(items, run, 5, everything=everything).alike is None
        texts = gold_from_keywords(everything.select(("objects",)), ["bike1"], [[0]]).predicates
        assert partial_matches(texts, run, 5, everything=everything).alike is None


def check(
    found: PartialMatches, table: plain.Table, queries: dict[str, plain.Words], results: list[plain.Seen]
) -> None:
    shown = [one for one in results if one.shown]
    assert found.results.whole == sum(not one.lacks for one in shown)
    assert found.results.none == sum(bool(queries[one.query]) and not one.has for one in shown)
    assert found.results.some == sum(bool(one.has) and bool(one.lacks) for one in shown)
    assert [one.query for one in found.queries] == sorted(queries)
    told = [
        plain.Seen(
            *(looked.query, one.item, one.rank, one.score),  # type: ignore[arg-type]
            *(frozenset(_word(keyword) for keyword in keywords) for keywords in (one.has, one.lacks)),
            *(one.shown, one.annotated),
        )
        for looked in found.queries
        for one in looked.results
    ]
    assert told == results
    expected = plain.missed(queries, results)
    assert {one.name: (one.queries, one.results, one.lacking) for one in found.keywords} == {
        f"{group}={name}": numbers for (group, name), numbers in expected.items()
    }
    assert [one.lacking for one in found.keywords] == sorted((one.lacking for one in found.keywords), reverse=True)
    for one in found.keywords:
        assert [(other.keyword, other.results) for other in one.instead] == plain.instead(
            table, queries, results, tuple(one.name.split("="))
        )  # type: ignore[arg-type]
    groups = sorted({group for group, _ in expected})
    assert [(one.name, one.queries, one.results, one.lacking) for one in found.groups] == [
        (
            group,
            sum(any(word[0] == group for word in asked) for asked in queries.values()),
            sum(numbers[1] for word, numbers in expected.items() if word[0] == group),
            sum(numbers[2] for word, numbers in expected.items() if word[0] == group),
        )
        for group in groups
    ]


def _word(keyword: str) -> tuple[str, str]:
    group, _, name = keyword.partition("=")
    return group, name


thresholds = st.sampled_from([None, 0.125, 0.5, 0.6, 2.0])


@given(data=st.data(), table=plain.tables(most=80), k=st.integers(1, 8), threshold=thresholds)
@thorough(60)
def test_keywords_like_a_slow_count(data: Any, table: plain.Table, k: int, threshold: float | None) -> None:
    queries = data.draw(plain.asked_of(table))
    run = data.draw(plain.runs_of(table, queries))
    match = data.draw(st.sampled_from(plain.MATCHES))
    found = partial_matches(by_words(table, queries, match), rankjury.as_ranking(run), k, threshold=threshold)
    check(found, table, queries, plain.seen(table, queries, run, k, threshold=threshold, own=False))
    for looked in found.queries:
        asked = queries[looked.query]
        assert looked.relevant == sum(plain.grade(asked, has, match) == 1 for has in table.values())
        for one in looked.results:
            assert one.relevant == (one.annotated and plain.grade(asked, table[one.item], match) == 1)
    wrong = [
        (-one.score, looked.query, one.item, tuple(_word(keyword)[1] for keyword in one.lacks))  # type: ignore[operator]
        for looked in found.queries
        for one in looked.results
        if one.shown and one.annotated and not one.relevant
    ]
    told = [(-one.score, one.query, one.item, one.lacks) for one in found.look_alikes]
    assert told == sorted(wrong)[:10]


@given(data=st.data(), table=plain.tables(most=80), k=st.integers(1, 8), threshold=thresholds)
@thorough(60)
def test_items_like_a_slow_count(data: Any, table: plain.Table, k: int, threshold: float | None) -> None:
    """With some groups selected, and the others looked at for what is alike by the look of it."""
    counted = [one for one in plain.groups_of(table) if data.draw(st.booleans())] or plain.groups_of(table)[:1]
    kept = {item: frozenset(word for word in has if word[0] in counted) for item, has in table.items()}
    queries = {item: kept[item] for item in data.draw(st.lists(st.sampled_from(list(table)), min_size=1, unique=True))}
    run = data.draw(plain.runs_of(table, queries))
    everything = annotated(table)
    asked = gold_from_items(everything.select(tuple(counted)), pl.Series(list(queries)), without="all").predicates
    found = partial_matches(asked, rankjury.as_ranking(run), k, threshold=threshold, everything=everything)
    results = plain.seen(kept, queries, run, k, threshold=threshold, own=True)
    check(found, kept, queries, results)
    check_alike(found.alike, table, kept, results)


def check_alike(
    alike: ContextSimilarity | None, table: plain.Table, kept: plain.Table, results: list[plain.Seen]
) -> None:
    """Shares of the query's other keywords: of relevant results, of others, and of all items but the query."""
    others = {item: has - kept[item] for item, has in table.items()}
    looked = [one for one in results if one.shown and one.annotated and others[one.query]]
    if not looked:
        assert alike is None
        return
    assert alike is not None

    def share(query: str, item: str) -> float:
        return len(others[query] & others[item]) / len(others[query])

    def mean(values: list[float]) -> Any:
        return pytest.approx(sum(values) / len(values)) if values else None

    assert alike.relevant == mean([share(one.query, one.item) for one in looked if not one.lacks])
    assert alike.others == mean([share(one.query, one.item) for one in looked if one.lacks])
    by_chance = [
        sum(share(one.query, item) for item in table if item != one.query) / max(1, len(table) - 1) for one in looked
    ]
    assert alike.anything == mean(by_chance)


def test_results_are_relevant_as_items_are_counted() -> None:
    predicates = by_words(CLIPS, {"cyclist": frozenset({RIDER, ENTERING})}, "graded")
    looked = partial_matches(predicates, rankjury.as_ranking({"cyclist": list(CLIPS)}), 10).of("cyclist")
    assert looked is not None
    assert sum(one.relevant for one in looked.results) == looked.relevant


def test_groups_with_an_equals_sign() -> None:
    table = {"a": frozenset({("x=y", "one")}), "b": frozenset({("x=y", "two")})}
    found = partial_matches(by_words(table, {"q": table["a"]}), rankjury.as_ranking({"q": ["b"]}), 1)
    assert found.groups == (MissedKeyword("x=y", 1, 1, 1),)


def test_a_threshold_without_scores() -> None:
    predicates = by_words(CLIPS, {"cyclist": frozenset({RIDER})})
    with pytest.raises(rankjury.UsageError, match="threshold"):
        partial_matches(predicates, rankjury.as_ranking({"cyclist": ["bike1"]}), 1, threshold=0.5)
