"""Queries that ask for keywords: items and texts, what is skipped, what is told; and JAAD against a plain filter."""

from typing import Any

import polars as pl
import pytest

import rankjury
import rankjury.labeling.keywords.gold
from rankjury.errors import UnknownName
from rankjury.evaluation.evaluate import evaluate, resolve_measures
from rankjury.labeling.keywords.annotations import Annotations, annotations_from_frame, read_annotations
from rankjury.labeling.keywords.gold import KeywordGold, KeywordMatch, gold_from_items, gold_from_keywords, keyword_gold
from tests import paths

JAAD = paths.SHARED / "driving/jaad_clips.csv"


def clips() -> Annotations:
    """v1: car, dog; v2: dog; v3 and v4: nothing of the first group, v4 nothing at all."""
    frame = pl.DataFrame(
        {"clip": ["v1", "v2", "v3", "v4"], "object": ["car|dog", "dog", "", None], "scene": ["city", "", "city", ""]}
    )
    return annotations_from_frame(frame, id_column="clip", source="clips.csv")


def relevant(held: KeywordGold) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {query: [] for query in held.predicates.queries}
    for query, item, _ in held.gold().against(rankjury.as_ranking({"v1": ["v1"]})).frame().iter_rows():
        found[query].append(item)
    return found


class TestItems:
    def test_all_items_ask_and_one_without_keywords_is_skipped(self) -> None:
        held = gold_from_items(clips())
        assert held.skipped == ("v4",)
        assert relevant(held) == {"v1": [], "v2": ["v1"], "v3": ["v1"]}

    def test_some_items_in_the_order_given(self) -> None:
        held = gold_from_items(clips(), pl.Series(["v3", "v2"]))
        assert relevant(held) == {"v3": ["v1"], "v2": ["v1"]}
        assert held.skipped == ()

    def test_the_selected_groups_decide_who_is_skipped(self) -> None:
        held = gold_from_items(clips().select(("object",)))
        assert held.skipped == ("v3", "v4")
        assert relevant(held) == {"v1": [], "v2": ["v1"]}

    def test_everything_is_relevant_where_that_is_wanted(self) -> None:
        held = gold_from_items(clips(), without="all")
        assert held.skipped == ()
        assert relevant(held)["v4"] == ["v1", "v2", "v3"]

    def test_an_error_where_that_is_wanted(self) -> None:
        told = r"clips\.csv: 1 query has no keyword in the selected groups .*: v4; expected a keyword .* every query"
        with pytest.raises(rankjury.DataError, match=told) as caught:
            gold_from_items(clips(), without="error")
        assert "omitted" not in str(caught.value)

    @pytest.mark.parametrize("without", ["skip", "error"])
    def test_nobody_asks_for_anything(self, without: Any) -> None:
        with pytest.raises(rankjury.DataError, match=r"2 queries have no keyword .*: v3, v4"):
            gold_from_items(clips().select(("object",)), pl.Series(["v3", "v4"]), without=without)

    def test_items_that_are_not_annotated(self) -> None:
        told = r"clips\.csv: 2 queries are not an annotated item: x, y; expected annotated items"
        with pytest.raises(rankjury.DataError, match=told):
            gold_from_items(clips(), pl.Series(["x", "v1", "y"]))

    def test_numbers_that_are_not_annotated(self) -> None:
        with pytest.raises(rankjury.DataError, match="2 queries are not an annotated item: 7, 8"):
            gold_from_items(clips(), pl.Series([7, 8]))

    def test_an_item_twice(self) -> None:
        with pytest.raises(rankjury.DataError, match="v1"):
            gold_from_items(clips(), pl.Series(["v1", "v2", "v1"]))


class TestKeywords:
    def test_texts(self) -> None:
        find = clips().vocabulary.find
        held = gold_from_keywords(clips(), ["t1", "t2"], [[find("dog"), find("city"), find("dog")], [find("dog")]])
        assert relevant(held) == {"t1": ["v1"], "t2": ["v1", "v2"]}
        assert held.predicates.codes.tolist() == [1, 2, 1]
        assert held.predicates.own is None

    def test_a_text_without_keywords(self) -> None:
        held = gold_from_keywords(clips(), ["t1", "t2", "t3"], [[], [0], []])
        assert held.skipped == ("t1", "t3")
        assert relevant(held) == {"t2": ["v1"]}
        assert relevant(gold_from_keywords(clips(), ["t1"], [[]], without="all")) == {"t1": ["v1", "v2", "v3", "v4"]}
        with pytest.raises(rankjury.DataError, match=r"^texts\.jsonl: 1 query has no keyword"):
            gold_from_keywords(clips(), ["t1", "t2"], [[], [0]], without="error", source="texts.jsonl")

    def test_a_match(self) -> None:
        held = gold_from_keywords(clips(), ["t"], [[0, 1, 2]], KeywordMatch.parse("graded"))
        frame = held.gold().frame()
        assert dict(frame.select("item_id", "grade").iter_rows()) == {"v1": 1.0, "v2": 1 / 3, "v3": 1 / 3}

    def test_a_query_twice(self) -> None:
        with pytest.raises(rankjury.DataError, match="'t'"):
            gold_from_keywords(clips(), ["t", "t"], [[0], [1]])


class TestByName:
    def test_items(self) -> None:
        with pytest.warns(UserWarning, match="2 queries have no keyword in the selected groups"):
            gold = keyword_gold(clips(), groups=["object"])
        assert gold.frame().rows() == [("v2", "v1", 1.0)]

    def test_a_text_instead_of_a_list(self) -> None:
        with pytest.raises(rankjury.UsageError, match=r"expected a list: \['dog'\]"):
            keyword_gold(clips(), {"t1": "dog"})

    def test_an_unknown_way_with_queries_without_keywords(self) -> None:
        with pytest.raises(rankjury.UsageError, match=r"'drop'.*all, error, skip"):
            keyword_gold(clips(), without="drop")  # type: ignore[arg-type]

    def test_queries(self) -> None:
        queries = {"t1": ["dog", "scene=city"], "t2": ["dog"]}
        gold = keyword_gold(clips(), queries, match="graded")
        assert gold.frame().rows() == [
            *(("t1", "v1", 1.0), ("t1", "v2", 0.5), ("t1", "v3", 0.5)),
            *(("t2", "v1", 1.0), ("t2", "v2", 1.0)),
        ]

    def test_a_keyword_that_is_not_there(self) -> None:
        with pytest.raises(UnknownName, match=r"clips\.csv: unknown keyword 'dogg'"):
            keyword_gold(clips(), {"t": ["dogg"]})
        with pytest.raises(UnknownName, match="unknown keyword 'city'"):
            keyword_gold(clips(), {"t": ["city"]}, groups=["object"])


class TestNotes:
    def test_nothing_to_tell(self) -> None:
        assert gold_from_items(clips(), pl.Series(["v1"])).notes() == []

    def test_who_was_left_out(self) -> None:
        (told,) = gold_from_items(clips()).notes()
        assert told == "1 query has no keyword in the selected groups (everything would be relevant), omitted: v4"

    def test_no_more_than_five_are_named(self) -> None:
        names = [f"t{n}" for n in range(8)]
        (told,) = gold_from_keywords(clips(), names, [[0], *([] for _ in names[1:])]).notes()
        assert told.startswith("7 queries have no keyword")
        assert told.endswith("omitted: t1, t2, t3, t4, t5 …")

    def test_save_those_told_of_before(self) -> None:
        held = gold_from_keywords(clips(), ["t1", "t2", "t3"], [[], [0], []])
        assert held.notes(["t1", "t3"]) == []
        assert held.notes(["t1"])[0].endswith("omitted: t3")


def test_a_gold_too_large_to_list_is_told_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four pairs are relevant."""
    held = gold_from_items(clips(), match=KeywordMatch.parse("any"))
    assert int(held.predicates.relevant_counts.sum()) == 4
    ranking = rankjury.as_ranking({"v2": ["v3", "v1"], "v3": ["v1"]})
    asked = resolve_measures(["recall@1", "ap", "ndcg@2"])
    values = []
    for most in (4, 3):
        monkeypatch.setattr(rankjury.labeling.keywords.gold, "MOST_LISTED", most)
        gold = held.gold()
        assert (gold.lookup is None) is (most == 4)
        values.append(evaluate(gold, ranking, asked).values.tolist())
    assert values[0] == values[1]


def groups_of_jaad() -> list[dict[str, list[str]]]:
    return [
        {"object_type": ["objects"]},
        {"actor_behavior": ["ped_action", "ped_cross", "ped_look"], "ego_behavior": ["ego_behaviour"]},
        {"object_type": ["objects", "ped_age"], "scene_type": ["weather", "time_of_day", "road_type"]},
        {"scene_type": ["location", "intersection", "signalized", "ped_crossing", "stop_sign", "traffic_light"]},
        {"ego": ["ego_main"], "people": ["n_behaving_peds", "motion_direction", "ped_reaction", "ped_hand_gesture"]},
    ]


def split_by_hand(groups: dict[str, list[str]]) -> dict[str, set[tuple[str, str]]]:
    """By clip its keywords, with ``str.split``; columns of yes and no, or True and False, are one keyword each."""
    table = pl.read_csv(JAAD, infer_schema=False)
    yes_or_no = {"intersection", "ped_crossing", "stop_sign"}
    found: dict[str, set[tuple[str, str]]] = {clip: set() for clip in table["clip"]}
    for group, columns in groups.items():
        for column in columns:
            for clip, cell in table.select("clip", column).iter_rows():
                values = {one.strip() for one in (cell or "").split("|")} - {"", "n/a"}
                if column in yes_or_no:
                    assert values <= {"yes", "no", "True", "False"}
                    values = {column} if values & {"yes", "True"} else set()
                found[clip] |= {(group, value) for value in values}
    return found


@pytest.mark.skipif(not JAAD.is_file(), reason="the JAAD annotations (shared/data/driving) are not here")
class TestJaad:
    @pytest.mark.parametrize("groups", groups_of_jaad(), ids=lambda groups: "+".join(groups))
    def test_as_many_relevant_as_a_plain_filter_finds(self, groups: dict[str, list[str]]) -> None:
        plain = split_by_hand(groups)
        annotations = read_annotations(JAAD, groups)
        assert len(annotations) == len(plain) == 346
        held = gold_from_items(annotations)
        assert set(held.skipped) == {clip for clip, has in plain.items() if not has}
        counts = dict(zip(held.predicates.queries, held.predicates.relevant_counts.tolist(), strict=True))
        assert counts == {
            clip: sum(has <= other for name, other in plain.items() if name != clip)
            for clip, has in plain.items()
            if has
        }
        listed = held.gold().frame().group_by("query_id").len()
        assert dict(listed.iter_rows()) == {clip: number for clip, number in counts.items() if number}

    def test_a_text_query_by_a_filter_of_polars(self) -> None:
        """Who crosses while the car slows down, at night: as SQL would ask."""
        groups = {"actor": "ped_cross", "ego": "ego_behaviour", "time": "time_of_day"}
        annotations = read_annotations(JAAD, groups)
        asked = {"actor": "crossing", "ego": "decelerating", "time": "nighttime"}
        table = pl.read_csv(JAAD, infer_schema=False)
        has = [pl.col(str(groups[group])).str.split("|").list.contains(name) for group, name in asked.items()]
        numbers = [annotations.vocabulary.find(f"{group}={name}") for group, name in asked.items()]
        for match, least in (("all", 3), ("any", 1), ("at-least-2", 2)):
            held = gold_from_keywords(annotations, ["t"], [numbers], KeywordMatch.parse(match))
            met = pl.sum_horizontal(one.fill_null(False).cast(pl.Int64) for one in has)
            expected = table.filter(met >= least)["clip"].to_list()
            assert expected
            assert held.gold().items.to_list() == expected

    def test_select_is_reading_fewer_groups(self) -> None:
        groups = groups_of_jaad()[1]
        whole = gold_from_items(read_annotations(JAAD, groups).select(("ego_behavior",)))
        alone = gold_from_items(read_annotations(JAAD, {"ego_behavior": groups["ego_behavior"]}))
        assert whole.gold().frame().equals(alone.gold().frame())
