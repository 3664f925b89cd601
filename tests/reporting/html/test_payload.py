"""What is packed into a page is what a person sees there: ids, grades, scores to four digits, and nothing else."""

from math import isnan

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rankjury.reporting.html.payload import BASE, BLOCK, PackedQueries, encode_planes, pack_queries
from rankjury.reporting.html.query_data import QueryDetails
from rankjury.reporting.html.rounding import scale_scores
from tests.reporting.html.drawn import LABELS, details
from tests.reporting.html.unpacking import LETTERS, inflated, lists_of, numbers

ROOMY = 10_000_000


def opened(packed: PackedQueries) -> dict[str, object]:
    return {
        "table": inflated(packed.table),
        "items": inflated(packed.items or ""),
        "names": None if packed.names is None else inflated(packed.names),
        "blocks": [inflated(block) for block in packed.blocks],
    }


def rows_held(packed: PackedQueries) -> list[int]:
    """Which query each row of the table is."""
    order = inflated(packed.table)["order"]
    return list(range(packed.queries)) if order is None else numbers(order)


def check(found: QueryDetails, packed: PackedQueries) -> None:
    assert found.answers is not None
    page = opened(packed)
    rows = rows_held(packed)[: packed.held]
    for row in range(0, len(rows), max(1, len(rows) // 40)):
        query = rows[row]
        whole = row < packed.whole
        depth = None if whole or packed.level is None else packed.level.depth
        lists, wanted = lists_of(page, row), found.query(query)
        for side in ("golds", "systems"):
            for ours, theirs in zip(lists[side], wanted[side], strict=True):
                items = theirs["items"][:depth]
                assert ours["items"] == [one["id"] for one in items]
                assert ours["grades"] == [one["grade"] for one in items]
                assert ours["ranks"] == [one["rank"] for one in items]
                assert ours["total"] == theirs["total"]
                assert all(name in (one["name"], None) for name, one in zip(ours["names"], items, strict=True))
                if ours["scores"] is not None:
                    exact = found.answers.systems[theirs["name"]].of(query)[: len(items)]
                    largest = max((abs(one.score) for one in exact), default=0)
                    assert ours["scores"] == pytest.approx([one.score for one in exact], abs=largest * 0.6e-3)
                    if whole:
                        assert ours["scores"] == [one["score"] for one in items]


class TestPlanes:
    @given(st.lists(st.integers(0, 10**12), max_size=30))
    def test_numbers_come_back(self, given_: list[int]) -> None:
        assert numbers(encode_planes(np.array(given_, dtype=np.int64))) == given_

    def test_the_letters_need_no_escape(self) -> None:
        assert len(LETTERS) >= BASE
        assert not {'"', "\\", "<", "&"} & set(encode_planes(np.array([1]))[0])
        assert all(letter.isprintable() and letter not in '"\\' for letter in LETTERS)

    def test_each_segment_has_digits_of_its_own(self) -> None:
        decimals, found = scale_scores(np.array([1234.567, 123.4, 0.00123456, np.nan]), np.array([0, 2, 2, 4]))
        assert decimals.tolist() == [0, 3, 6]
        assert found.tolist() == [1235, 123, 1235, 0]

    def test_what_is_small_beside_the_large_keeps_two_digits(self) -> None:
        decimals, found = scale_scores(np.array([50_000.0, 0.912]), np.array([0, 2]))
        assert decimals.tolist() == [2]
        assert found.tolist() == [5_000_000, 91]

    @given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=8))
    def test_whatever_a_score_is_it_can_be_written(self, given_: list[float]) -> None:
        values, starts = np.array(given_), np.array([0, len(given_)])
        (decimals,), found = scale_scores(values, starts)
        largest = max((abs(value) for value in given_ if np.isfinite(value)), default=0.0)
        for value, number in zip(given_, found.tolist(), strict=True):
            if np.isfinite(value):
                assert abs(number) <= 10**14
                assert number / 10.0 ** float(decimals) == pytest.approx(value, abs=largest * 0.6e-3 + 1e-15)
        falls = np.concatenate((found[:1], -np.diff(found)))
        assert numbers(encode_planes(falls - falls.min())) == (falls - falls.min()).tolist()

    def test_numbers_below_zero_are_refused(self) -> None:
        with pytest.raises(ValueError, match="-1 among numbers"):
            encode_planes(np.array([3, -1]))


class TestAll:
    @settings(deadline=None, max_examples=12)
    @given(st.integers(0, 10**6), st.integers(1, 250), st.integers(1, 4), st.booleans())
    def test_with_room_enough_every_query_is_whole(self, seed: int, queries: int, systems: int, names: bool) -> None:
        found = details(seed, queries, systems, names=names)
        packed = pack_queries(found, LABELS, "system 0", (), ROOMY)
        assert (packed.queries, packed.whole, packed.named) == (queries, queries, 1.0)
        assert len(packed.blocks) == -(-queries // BLOCK)
        check(found, packed)

    def test_the_table_has_what_the_scores_are(self) -> None:
        found = details(3, 40)
        table = inflated(pack_queries(found, LABELS, None, (), ROOMY).table)
        assert table["ids"] == list(found.ids)
        assert table["texts"] == list(found.texts)
        for columns, name in zip(table["scores"], found.scores, strict=True):
            for column, label in zip(columns, LABELS, strict=True):
                for shown, value in zip(column, found.scores[name][label].tolist(), strict=True):
                    assert (shown is None) == isnan(value)
                    assert shown is None or shown == pytest.approx(value, rel=0.6e-3)
        assert [numbers(rows) for rows in table["slices"]] == [sorted(rows) for rows in found.slices.values()]

    def test_a_report_without_answers_has_its_table(self) -> None:
        found = details(1)
        bare = QueryDetails(found.ids, found.texts, found.scores, found.slices)
        packed = pack_queries(bare, LABELS, None, (), ROOMY)
        assert packed.blocks == ()
        assert packed.items is None
        assert inflated(packed.table)["ids"] == list(found.ids)


class TestLittleRoom:
    @pytest.mark.parametrize("share", [0.9, 0.7, 0.5, 0.35, 0.2])
    def test_it_never_takes_more_than_there_is(self, share: float) -> None:
        found = details(5, 1_200, 4, 3_000, 12)
        whole = pack_queries(found, LABELS, "system 0", (), ROOMY).size
        packed = pack_queries(found, LABELS, "system 0", (), int(share * whole))
        assert packed.size <= share * whole
        if packed.blocks:
            check(found, packed)

    def test_all_queries_stay_and_the_first_of_them_whole(self) -> None:
        found = details(5, 1_200, 4, 3_000, 12)
        whole = pack_queries(found, LABELS, "system 0", (), ROOMY)
        smaller = pack_queries(found, LABELS, "system 0", (), whole.size * 9 // 10)
        assert smaller.queries == 1_200
        assert 0 < smaller.whole < smaller.held == 1_200
        assert smaller.whole % BLOCK == 0
        assert smaller.level != whole.level

    def test_names_of_items_go_with_the_queries_that_matter_less(self) -> None:
        found = details(9, 1_200, 2, 30_000, 12)
        smaller = pack_queries(
            found, LABELS, "system 0", (), pack_queries(found, LABELS, "system 0", (), ROOMY).size * 9 // 10
        )
        page = opened(smaller)
        first, last = lists_of(page, 0), lists_of(page, smaller.held - 1)
        assert 0 < smaller.named < 1
        known = [any(name is not None for one in some["systems"] for name in one["names"]) for some in (first, last)]
        assert known == [True, False]

    def test_the_first_are_those_that_differ_most_from_the_baseline(self) -> None:
        found = details(6, 1_200, 3, 3_000)
        packed = pack_queries(
            found, LABELS, "system 0", (), pack_queries(found, LABELS, "system 0", (), ROOMY).size * 7 // 10
        )
        base = found.scores["system 0"][LABELS[0]]
        apart = np.max([np.abs(found.scores[name][LABELS[0]] - base) for name in found.scores], axis=0)
        held = apart[rows_held(packed)]
        assert (np.diff(held) <= 0).all()

    def test_without_a_baseline_those_that_went_worst(self) -> None:
        found = details(7, 1_200, 1, 3_000)
        size = pack_queries(found, LABELS, None, (), ROOMY).size * 6 // 10
        worst_first = found.scores["system 0"][LABELS[0]][rows_held(pack_queries(found, LABELS, None, (), size))]
        assert (np.diff(worst_first) >= 0).all()
        highest_first = found.scores["system 0"][LABELS[0]][rows_held(pack_queries(found, LABELS, None, LABELS, size))]
        assert (np.diff(highest_first) <= 0).all()

    def test_a_table_too_large_loses_measures_then_queries(self) -> None:
        found = details(8, 2_000, 3, 500)
        alone = QueryDetails(found.ids, found.texts, found.scores, found.slices)
        whole = len(pack_queries(alone, LABELS, "system 0", (), ROOMY).table)
        fewer = pack_queries(alone, LABELS, "system 0", (), int(whole * 1.5))
        assert fewer.labels == LABELS[: len(fewer.labels)] != LABELS
        fewest = pack_queries(alone, LABELS, "system 0", (), whole // 3)
        assert fewest.labels == LABELS[:1]
        assert fewest.queries < 2_000
        assert fewest.size <= whole // 3
