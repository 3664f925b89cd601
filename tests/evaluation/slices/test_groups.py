"""Groups by attributes: how they are asked for, cut and named, and ids that do not match."""

import math
from datetime import date
from functools import reduce
from itertools import chain, pairwise
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.evaluation.sections import ReportWarning
from rankjury.evaluation.slices import SliceTable
from rankjury.evaluation.slices.groups import (
    Attribute,
    Group,
    ValueCounts,
    group_by,
    parse_attributes,
    suitable_attributes,
)

odd_numbers = st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0, 1 + 1e-9, 1 + 1e-15, math.inf, -math.inf])


def groups_of(table: dict[str, list[Any]], by: str) -> dict[str, list[int]]:
    """The rows in each group."""
    found = group_by(pl.DataFrame(table, strict=False), parse_attributes(by), "q.csv")
    return {group.name: np.flatnonzero(group.members).tolist() for group in found}


def notes_of(table: dict[str, list[Any]], by: str) -> dict[str, str]:
    return {group.name: group.note for group in group_by(pl.DataFrame(table), parse_attributes(by), "q.csv")}


class TestSpelling:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("length", [(Attribute("length"),)]),
            ("length(quantiles=3)", [(Attribute("length", quantiles=3),)]),
            ("length(bins=5/10)", [(Attribute("length", bins=(5.0, 10.0)),)]),
            ("length ( bins = 10/5/5 )", [(Attribute("length", bins=(5.0, 10.0)),)]),
            ("length(bins=-1.5)", [(Attribute("length", bins=(-1.5,)),)]),
            ("type*lang", [(Attribute("type"), Attribute("lang"))]),
            (
                "type,length(quantiles=4),type*lang",
                [(Attribute("type"),), (Attribute("length", quantiles=4),), (Attribute("type"), Attribute("lang"))],
            ),
            (" a b , c * d(quantiles=2) ,", [(Attribute("a b"),), (Attribute("c"), Attribute("d", quantiles=2))]),
        ],
    )
    def test_read(self, text: str, expected: list[tuple[Attribute, ...]]) -> None:
        assert parse_attributes(text) == expected

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "no attribute was named"),
            (" , ", "no attribute was named"),
            ("a*b*c", "crosses 3 attributes; expected two different ones at most"),
            ("length(deciles=3)", r"cannot read the attribute 'length\(deciles=3\)'"),
            ("length(quantiles=3", "cannot read the attribute"),
            ("a*", "cannot read the attribute ''"),
            ("length(quantiles=1)", "quantiles=1; expected 2 to 100"),
            ("length(quantiles=101)", "expected 2 to 100"),
            ("length(quantiles=2.5)", "expected 2 to 100"),
            ("length(quantiles=2/3)", "expected 2 to 100"),
            ("length(quantiles=few)", "expected 2 to 100"),
            ("length(bins=5/x)", "edges split by slashes"),
            ("length(bins=inf)", "edges split by slashes"),
            ("length(bins=5/nan)", "edges split by slashes"),
        ],
    )
    def test_not_to_be_read(self, text: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            parse_attributes(text)


class TestCategories:
    def test_texts_are_trimmed_sorted_and_blank_is_none(self) -> None:
        table = {"type": ["how-to", "fact ", "", None, "fact", "  "]}
        assert groups_of(table, "type") == {"type=fact": [1, 4], "type=how-to": [0], "type=(none)": [2, 3, 5]}
        assert list(groups_of(table, "type"))[-1] == "type=(none)"

    def test_booleans(self) -> None:
        assert groups_of({"x": [True, False, None, True]}, "x") == {"x=false": [1], "x=true": [0, 3], "x=(none)": [2]}

    def test_dates_and_enumerations(self) -> None:
        assert groups_of({"day": [date(2026, 1, 2), date(2026, 1, 1)]}, "day") == {
            "day=2026-01-01": [1],
            "day=2026-01-02": [0],
        }
        frame = pl.DataFrame({"x": pl.Series(["b", "a", None], dtype=pl.Categorical)})
        assert [group.name for group in group_by(frame, [[Attribute("x")]], "q")] == ["x=a", "x=b", "x=(none)"]

    def test_a_list_puts_its_row_in_several_groups(self) -> None:
        table = {"tags": [["a", "b"], ["b"], None, ["b", "b"]]}
        assert groups_of(table, "tags") == {"tags=a": [0], "tags=b": [0, 1, 3], "tags=(none)": [2]}
        assert groups_of({"years": [[1999], [1999, 2000]]}, "years") == {"years=1999": [0, 1], "years=2000": [1]}

    def test_a_list_of_nothing_is_no_value(self) -> None:
        table = {"tags": [["a"], [], None, [None], ["a", None]]}
        assert groups_of(table, "tags") == {"tags=a": [0, 4], "tags=(none)": [1, 2, 3]}

    @pytest.mark.parametrize("values", [[1, 2, 3, 2, None], [1.0, 2.0, 3.0, 2.0, None]])
    def test_numbers_of_few_values_are_categories(self, values: list[float | None]) -> None:
        assert groups_of({"hops": values}, "hops") == {
            "hops=1": [0],
            "hops=2": [1, 3],
            "hops=3": [2],
            "hops=(none)": [4],
        }

    def test_fractions_of_few_values(self) -> None:
        assert groups_of({"x": [0.5, 1.25, 0.5]}, "x") == {"x=0.5": [0, 2], "x=1.25": [1]}

    @pytest.mark.parametrize("odd", [math.nan, math.inf])
    def test_few_numbers_that_are_not_finite(self, odd: float) -> None:
        """A frame from pandas holds NaN for no value."""
        found = groups_of({"hops": [1.0, odd, 2.0]}, "hops")
        assert found["hops=1"] == [0] and found["hops=2"] == [2]
        assert found["hops=(none)" if math.isnan(odd) else "hops=inf"] == [1]

    def test_more_than_five_numbers_are_cut(self) -> None:
        assert list(groups_of({"x": [1, 2, 3, 4, 5]}, "x")) == [f"x={n}" for n in range(1, 6)]
        assert list(groups_of({"x": [1, 2, 3, 4, 5, 6]}, "x")) == [f"x=q{n}" for n in range(1, 5)]

    def test_too_many_groups(self) -> None:
        with pytest.raises(DataError, match=r"q\.csv: text makes 101 groups or more; expected at most 100.*quantiles"):
            groups_of({"text": [f"how {n}" for n in range(101)]}, "text")
        assert len(groups_of({"text": [f"how {n}" for n in range(100)]}, "text")) == 100

    def test_an_unknown_attribute_with_a_suggestion(self) -> None:
        with pytest.raises(UnknownName, match=r"q\.csv: unknown attribute 'lenght'\. Did you mean length\?"):
            groups_of({"type": ["a"], "length": [1]}, "type*lenght")

    @pytest.mark.parametrize("by", ["type(quantiles=2)", "type(bins=1)"])
    def test_a_text_cannot_be_cut(self, by: str) -> None:
        with pytest.raises(DataError, match=r"type is not a number and cannot be cut\. Ask for type alone"):
            groups_of({"type": ["a", "b"]}, by)


class TestNumbers:
    def test_quartiles_unless_told(self) -> None:
        table = {"length": [8, 1, 7, 2, 6, 3, 5, 4]}
        expected = {"length=q1": [1, 3], "length=q2": [5, 7], "length=q3": [4, 6], "length=q4": [0, 2]}
        assert groups_of(table, "length") == groups_of(table, "length(quantiles=4)") == expected
        assert notes_of(table, "length") == {
            "length=q1": "1 to 2",
            "length=q2": "3 to 4",
            "length=q3": "5 to 6",
            "length=q4": "7 to 8",
        }

    def test_nulls_and_nan_stand_apart(self) -> None:
        values = [1.0, None, 2.0, 3.0, math.nan, 4.0, 5.0, 6.0]
        found = groups_of({"x": values}, "x(quantiles=2)")
        assert found == {"x=q1": [0, 2, 3], "x=q2": [5, 6, 7], "x=(none)": [1, 4]}
        assert groups_of({"x": values}, "x(bins=3)") == {"x<3": [0, 2], "x>=3": [3, 5, 6, 7], "x=(none)": [1, 4]}

    def test_none_but_nulls(self) -> None:
        empty = {"x": pl.Series([None, None], dtype=pl.Float64)}
        assert groups_of(empty, "x(quantiles=3)") == {"x=(none)": [0, 1]}  # type: ignore[arg-type]

    @given(
        values=st.lists(st.one_of(st.integers(0, 12), st.floats(-5, 5), st.none()), min_size=1, max_size=60),
        parts=st.integers(2, 9),
    )
    @settings(max_examples=200, deadline=None, derandomize=True)
    def test_quantiles_never_part_equal_values(self, values: list[float | None], parts: int) -> None:
        frame = pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64, strict=False)})
        found = group_by(frame, [[Attribute("x", quantiles=parts)]], "q")
        assert sum(group.members.astype(int) for group in found).tolist() == [1] * len(values)  # type: ignore[union-attr]
        cut = [group for group in found if group.name != "x=(none)"]
        assert [group.name for group in cut] == [f"x=q{n + 1}" for n in range(len(cut))] and len(cut) <= parts
        held = [[float(v) for v, m in zip(values, group.members, strict=True) if m and v is not None] for group in cut]
        for lower, higher in pairwise(held):
            assert max(lower) < min(higher)

    @given(values=st.lists(st.floats(-5, 5), min_size=2, max_size=60, unique=True), parts=st.integers(2, 9))
    @settings(max_examples=100, deadline=None, derandomize=True)
    def test_quantiles_of_different_values_are_even(self, values: list[float], parts: int) -> None:
        found = group_by(pl.DataFrame({"x": values}), [[Attribute("x", quantiles=parts)]], "q")
        sizes = [int(group.members.sum()) for group in found]
        assert max(sizes) - min(sizes) <= 1 and len(found) == min(parts, len(values))

    def test_quantiles_tell_a_heap_from_the_rest(self) -> None:
        """As even as equal numbers allow: two groups of one and three rather than one of four."""
        assert groups_of({"x": [1, 2, 2, 2]}, "x(quantiles=2)") == {"x=q1": [0], "x=q2": [1, 2, 3]}
        assert groups_of({"x": [1, 1, 1, 2]}, "x(quantiles=2)") == {"x=q1": [0, 1, 2], "x=q2": [3]}

    def test_a_constant_is_one_group(self) -> None:
        assert groups_of({"x": [3, 3, 3]}, "x(quantiles=4)") == {"x=q1": [0, 1, 2]}
        assert notes_of({"x": [3, 3, 3]}, "x(quantiles=4)") == {"x=q1": "3"}

    def test_bins_at_their_edges(self) -> None:
        """An edge belongs to the bin above it; bins without rows are left out."""
        table = {"length": [4.999, 5, 9.999, 10, 20, -math.inf, math.inf]}
        expected = {"length<5": [0, 5], "length=5..10": [1, 2], "length>=10": [3, 4, 6]}
        assert groups_of(table, "length(bins=5/10)") == expected
        assert groups_of({"x": [1, 2]}, "x(bins=5/10)") == {"x<5": [0, 1]}
        assert groups_of({"x": [7]}, "x(bins=5/10)") == {"x=5..10": [0]}

    def test_bins_whose_edges_are_near_each_other(self) -> None:
        """Names that lose digits would lose groups."""
        table = {"id": [1_000_000, 1_000_001, 1_000_002, 1_000_003]}
        found = groups_of(table, "id(bins=1000001/1000002/1000003)")
        assert sorted(found.values()) == [[0], [1], [2], [3]]

    @given(
        values=st.lists(st.floats(-9, 9), min_size=1, max_size=30),
        edges=st.sets(st.sampled_from([-4.5, -1.0, 0.0, 2.0, 7.25]), min_size=1),
    )
    @settings(max_examples=60, deadline=None, derandomize=True)
    def test_bins_part_the_rows(self, values: list[float], edges: set[float]) -> None:
        found = group_by(pl.DataFrame({"x": values}), [[Attribute("x", bins=tuple(sorted(edges)))]], "q")
        assert sum(group.members.astype(int) for group in found).tolist() == [1] * len(values)  # type: ignore[union-attr]
        for group in found:
            below = {sum(edge <= values[row] for edge in edges) for row in np.flatnonzero(group.members)}
            assert len(below) == 1


class TestCrossings:
    TABLE = {"type": ["a", "a", "b", "b"], "lang": ["fr", "en", "en", None], "length": [1, 2, 3, 4]}

    def test_only_those_that_occur(self) -> None:
        assert groups_of(self.TABLE, "type*lang") == {
            "type=a*lang=en": [1],
            "type=a*lang=fr": [0],
            "type=b*lang=en": [2],
            "type=b*lang=(none)": [3],
        }

    def test_with_a_cut_number_keeps_its_note(self) -> None:
        assert notes_of(self.TABLE, "type*length(quantiles=2)") == {
            "type=a*length=q1": "1 to 2",
            "type=b*length=q2": "3 to 4",
        }

    def test_beside_single_ones_and_asked_for_twice(self) -> None:
        names = list(groups_of(self.TABLE, "type,type*length(bins=3),type"))
        assert names == ["type=a", "type=b", "type=a*length<3", "type=b*length>=3"]

    def test_too_many(self) -> None:
        table = {"a": [str(n // 11) for n in range(121)], "b": [str(n % 11) for n in range(121)]}
        with pytest.raises(DataError, match=r"a\*b makes 101 groups or more"):
            groups_of(table, "a*b")


def cuts(table: dict[str, list[Any]], of: str = "queries", by: str | None = "type") -> SliceTable:
    asked = parse_attributes(by) if by else None
    return SliceTable(pl.DataFrame(table), "query_id", of, asked, "q.csv")


def aligned(given: SliceTable, ids: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The ids in each group, and what was warned of."""
    warnings: list[ReportWarning] = []
    groups: list[Group] = given.groups(pl.Series(ids), warnings)
    members = {group.name: [one for one, m in zip(ids, group.members, strict=True) if m] for group in groups}
    return members, list(map(str, warnings))


class TestIds:
    TABLE = {"query_id": ["q3", "q1", "q2"], "type": ["c", "a", "b"]}

    def test_rows_are_found_by_id_not_by_place(self) -> None:
        assert aligned(cuts(self.TABLE), ["q1", "q2", "q3"]) == (
            {"type=a": ["q1"], "type=b": ["q2"], "type=c": ["q3"]},
            [],
        )

    def test_numbers_stand_for_their_decimal_form(self) -> None:
        found, warnings = aligned(cuts({"query_id": [10, 9], "type": ["a", "b"]}), ["10", "9"])
        assert found == {"type=a": ["10"], "type=b": ["9"]} and not warnings

    def test_007_is_not_7(self) -> None:
        with pytest.raises(DataError, match=r"1 id is unknown to the gold, such as '7'.*'007'"):
            aligned(cuts({"query_id": ["7"], "type": ["a"]}), ["007"])

    def test_repeated_ids_are_an_error(self) -> None:
        with pytest.raises(DataError, match="duplicate query_id 'q2'; expected each id once"):
            aligned(cuts({"query_id": ["q1", "q2", "q2"], "type": ["a", "b", "b"]}), ["q1", "q2"])

    def test_unknown_ids_are_warned_of_where_the_table_covers_the_gold(self) -> None:
        found, warnings = aligned(cuts(self.TABLE), ["q1", "q2"])
        assert found == {"type=a": ["q1"], "type=b": ["q2"]}
        assert warnings == ["q.csv: 1 id is unknown to the gold (q3 …): not counted"]

    def test_unknown_ids_are_an_error_where_others_lack(self) -> None:
        message = r"q\.csv: 1 id is unknown to the gold, such as 'q3', and 1 of the gold's 3 are not here, such as 'Q3'"
        with pytest.raises(DataError, match=message):
            aligned(cuts(self.TABLE), ["Q3", "q1", "q2"])

    def test_ids_that_lack_are_without_value(self) -> None:
        found, warnings = aligned(cuts(self.TABLE), ["q0", "q1", "q2", "q3"])
        assert found["type=(none)"] == ["q0"]
        assert warnings == ["q.csv: 1 of the gold's 4 ids are not here (q0 …): slices (none)"]

    @pytest.mark.parametrize("of", ["queries", "items"])
    def test_none_in_common(self, of: str) -> None:
        with pytest.raises(DataError, match="3 ids are unknown to the gold, such as 'q1', and 2 of the gold's 2"):
            aligned(cuts(self.TABLE, of), ["a", "b"])

    def test_items_beside_the_gold_are_no_matter(self) -> None:
        """A catalogue holds more items than were judged, and may lack some."""
        found, warnings = aligned(cuts(self.TABLE, "items"), ["q0", "q1"])
        assert found == {"type=a": ["q1"], "type=(none)": ["q0"]}
        assert warnings == ["q.csv: 1 of the gold's 2 ids are not here (q0 …): slices (none)"]

    def test_an_attribute_called_id_is_one_too(self) -> None:
        found, _ = aligned(cuts({"query_id": ["q1", "q2"], "id": ["x", "y"]}, by="id"), ["q1", "q2"])
        assert found == {"id=x": ["q1"], "id=y": ["q2"]}


class TestUnasked:
    def test_what_groups_well(self) -> None:
        many = [f"text {n}" for n in range(21)]
        table = pl.DataFrame({"a": ["x", "y", "z"] * 7, "same": ["x"] * 21, "text": many, "n": range(21)})
        assert suitable_attributes(table) == [(Attribute("a"),), (Attribute("n"),)]
        assert suitable_attributes(pl.DataFrame({"text": many[:20]})) == [(Attribute("text"),)]

    def test_nothing_that_groups(self) -> None:
        with pytest.raises(
            DataError, match=r"q\.csv: found no attribute that groups among type; expected a category or a number"
        ):
            aligned(cuts({"query_id": ["q1", "q2"], "type": ["a", "a"]}, by=None), ["q1", "q2"])

    def test_only_the_golds_queries_count(self) -> None:
        """Of three types one is judged: that is no grouping."""
        with pytest.raises(DataError, match="found no attribute that groups"):
            aligned(cuts({"query_id": ["q1", "q2"], "type": ["a", "b"]}, by=None), ["q1"])


@given(st.lists(st.lists(odd_numbers), min_size=1, max_size=5), st.integers(1, 12), st.randoms())
def test_a_census_of_too_many_numbers(parts: list[list[float]], most: int, chance: Random) -> None:
    """The same whatever the parts and their order; all rows are counted."""
    whole = ValueCounts.of(pl.Series([*chain(*parts)], dtype=pl.Float64)).limited(most)
    chance.shuffle(parts)
    censuses = [ValueCounts.of(pl.Series(part, dtype=pl.Float64)).limited(most) for part in parts]
    joined = reduce(lambda one, other: (one + other).limited(most), censuses)
    assert joined.values.equals(whole.values) and joined.counts.tolist() == whole.counts.tolist()
    assert (joined.rows, joined.distinct, joined.dropped) == (whole.rows, whole.distinct, whole.dropped)
    assert whole.counts.sum() == sum(map(len, parts))


def test_too_many_numbers_are_cut_where_they_would_be() -> None:
    numbers = np.random.default_rng(1).normal(1e3, 200, 5_000)
    found = ValueCounts.of(pl.Series(numbers)).limited(4_999)
    assert found.dropped and len(found.values) > 4_900
    np.testing.assert_allclose(np.repeat(*found.numbers), np.sort(numbers), rtol=2.0**-24)


@pytest.mark.parametrize("values", [[[["a"]], [["b"]]], [{"a": 1}, {"a": 2}], [[{"a": 1}], []]])
def test_nested_values_do_not_group(values: list[Any]) -> None:
    with pytest.raises(DataError, match="expected a text, a number, or a list of them"):
        groups_of({"kind": values}, "kind")


def test_bytes_group_as_text() -> None:
    assert groups_of({"kind": [b"a", b"\xff", b"a"]}, "kind") == {"kind=a": [0, 2], "kind=\ufffd": [1]}
