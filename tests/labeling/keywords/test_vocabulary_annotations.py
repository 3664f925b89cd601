"""Items with their keywords: lists and rows of bits say the same."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

import rankjury
from rankjury.errors import UnknownName
from rankjury.labeling.keywords.annotations import Annotations, Keyword, Vocabulary, annotations_from_frame
from rankjury.labeling.keywords.gold import bit_positions
from tests.labeling.keywords import plain
from tests.stats.support import thorough


def small() -> Annotations:
    """a: g=x, h=z; b: nothing; c: g=x, g=y."""
    words = Vocabulary.of({"g": ["x", "y"], "h": ["z"]})
    return Annotations(pl.Series(["a", "b", "c"]), words, np.array([0, 2, 2, 4]), np.array([0, 2, 0, 1]), "t.csv")


def annotated(table: plain.Table) -> Annotations:
    return annotations_from_frame(plain.frame(table, plain.groups_of(table)), id_column="item_id")


class TestByHand:
    def test_bits(self) -> None:
        assert small().bits.tolist() == [[0b101], [0b100], [0b001]]
        assert small().bits.dtype == np.uint64

    def test_frequencies(self) -> None:
        assert small().frequencies.tolist() == [2, 1, 1]

    def test_keywords_of_an_item(self) -> None:
        assert [small().keywords_of(one) for one in "abc"] == [(0, 2), (), (0, 1)]

    def test_rows(self) -> None:
        assert small().row_of("c") == 2
        assert small().rows_of(pl.Series(["c", "q", "a", "c"])).tolist() == [2, -1, 0, 2]
        assert small().rows_of(pl.Series([], dtype=pl.String)).tolist() == []

    def test_numbers_stand_for_their_decimal_form(self) -> None:
        numbered = Annotations(pl.Series(["7", "07"]), small().vocabulary, np.array([0, 1, 1]), np.array([0]))
        assert numbered.rows_of(pl.Series([7, 8])).tolist() == [0, -1]

    def test_an_item_that_is_not_there(self) -> None:
        with pytest.raises(UnknownName, match=r"t\.csv: unknown item 'd'"):
            small().row_of("d")
        with pytest.raises(UnknownName, match="unknown item"):
            small().keywords_of("A1")

    def test_pairs(self) -> None:
        rows, codes = np.array([0, 0, 1, 2, -1, -1]), np.array([0, 1, 0, 1, 0, 2])
        assert small().have(rows, codes).tolist() == [True, False, False, True, False, False]

    def test_some_groups(self) -> None:
        chosen = small().select(("h",))
        assert [chosen.keywords_of(one) for one in "abc"] == [(0,), (), ()]
        assert chosen.vocabulary.keywords == (Keyword("h", "z"),)
        assert chosen.bits.tolist() == [[0b001]]
        assert chosen.source == "t.csv"

    def test_a_group_that_is_not_there(self) -> None:
        with pytest.raises(UnknownName, match=r"unknown group 'hh'\. Did you mean h\?"):
            small().select(("hh",))

    def test_no_group_at_all(self) -> None:
        with pytest.raises(rankjury.DataError, match="found no keyword"):
            small().select(())

    def test_shown_by_its_size(self) -> None:
        assert repr(small()) == "Annotations(t.csv: 3 items, 3 keywords)"
        assert len(small()) == 3

    def test_arrays_are_read_only(self) -> None:
        with pytest.raises(ValueError, match="read-only"):
            small().codes[0] = 1


@given(table=plain.tables())
@thorough(60)
def test_lists_bits_and_pairs_say_what_the_table_says(table: plain.Table) -> None:
    found = annotated(table)
    words = [(one.group, one.name) for one in found.vocabulary.keywords]
    assert words == plain.words_of(table)
    assert found.ids.to_list() == list(table)
    for item, has in table.items():
        assert [words[code] for code in found.keywords_of(item)] == sorted(has)
    assert found.bits.shape == (len(words), -(-len(table) // 64))
    for code, word in enumerate(words):
        rows = [row for row, has in enumerate(table.values()) if word in has]
        assert [one.tolist() for one in bit_positions(found.bits[[code]])] == [[0] * len(rows), rows]
        assert found.frequencies[code] == len(rows)
    rows, codes = (one.ravel() for one in np.meshgrid(np.arange(-1, len(table)), np.arange(len(words))))
    held = [frozenset(), *table.values()]
    expected = [words[code] in held[row + 1] for row, code in zip(rows, codes, strict=True)]
    assert found.have(rows, codes).tolist() == expected


@given(data=st.data(), table=plain.tables(most=70))
@thorough(40)
def test_selecting_groups_is_reading_those_columns(data: Any, table: plain.Table) -> None:
    groups = [one for one in plain.groups_of(table) if data.draw(st.booleans())] or plain.groups_of(table)[:1]
    chosen = annotated(table).select(tuple(reversed(groups)))
    alone = annotations_from_frame(plain.frame(table, groups), id_column="item_id")
    assert chosen.vocabulary == alone.vocabulary
    assert chosen.starts.tolist() == alone.starts.tolist()
    assert chosen.codes.tolist() == alone.codes.tolist()


@given(places=st.sets(st.integers(0, 319)))
@thorough(60)
def test_places_of_bits(places: set[int]) -> None:
    """Of two rows; the second has the places that the first has not."""
    both = [places, set(range(320)) - places]
    words = [[sum(1 << (place - 64 * n) for place in row if place // 64 == n) for n in range(5)] for row in both]
    row, place = bit_positions(np.array(words, dtype=np.uint64))
    assert place.tolist() == [*sorted(both[0]), *sorted(both[1])]
    assert row.tolist() == [0] * len(both[0]) + [1] * len(both[1])


def test_no_bits_no_places() -> None:
    for shape in ((2, 3), (0, 3), (1, 0)):
        assert [one.tolist() for one in bit_positions(np.zeros(shape, dtype=np.uint64))] == [[], []]
