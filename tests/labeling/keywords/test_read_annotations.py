"""Tables of annotations: every format says the same, every kind of cell is understood, every fault is named."""

import csv
import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, strategies as st

from rankjury.labeling.keywords.annotations import Annotations, annotations_from_frame, read_annotations
from tests.labeling.keywords import plain
from tests.labeling.keywords.made import written
from tests.stats.support import thorough

Words = dict[str, list[str]]


def words(found: Annotations) -> Words:
    """By item its keywords, spelled with their groups."""
    return {
        item: [str(found.vocabulary.keywords[code]) for code in found.keywords_of(item)] for item in found.ids.to_list()
    }


def of_column(values: Any, column: str = "g", dtype: Any = None, **options: Any) -> list[list[str]]:
    """The keywords of each row of a table with this one column; its group's name is left away."""
    cells = pl.Series(column, values, dtype=dtype)
    frame = pl.DataFrame({"id": [f"i{n}" for n in range(len(cells))], column: cells})
    found = annotations_from_frame(frame, id_column="id", **options)
    return [[one.removeprefix(f"{column}=") for one in held] for held in words(found).values()]


def saved(frame: pl.DataFrame, folder: Path) -> dict[str, Path]:
    """The same table in every format."""
    paths = {suffix: folder / f"clips.{suffix}" for suffix in ("csv", "tsv", "jsonl", "json", "parquet")}
    frame.write_csv(paths["csv"])
    frame.write_csv(paths["tsv"], separator="\t")
    frame.write_ndjson(paths["jsonl"])
    frame.write_json(paths["json"])
    frame.write_parquet(paths["parquet"])
    return paths


class TestFormats:
    FRAME = pl.DataFrame(
        {
            "clip": ["v1", "v2", "v3", "007"],
            "object": ["car|bicyclist", " bicyclist ", None, "“quoted”, with comma|Straße"],
            "night": [True, False, None, True],
            "lanes": [2, None, 3, 2],
            "empty": pl.Series([None] * 4, dtype=pl.String),
        }
    )
    EXPECTED = {
        "v1": ["object=bicyclist", "object=car", "night=night", "lanes=2"],
        "v2": ["object=bicyclist"],
        "v3": ["lanes=3"],
        "007": ["object=Straße", "object=“quoted”, with comma", "night=night", "lanes=2"],
    }

    def test_all_say_the_same(self, tmp_path: Path) -> None:
        for suffix, path in saved(self.FRAME, tmp_path).items():
            found = read_annotations(path)
            assert words(found) == self.EXPECTED, suffix
            assert found.source == str(path)
            assert found.vocabulary.groups == ("object", "night", "lanes"), "one without a value is none"

    @given(table=plain.tables(most=20))
    @thorough(15)
    def test_random_tables(self, tmp_path_factory: pytest.TempPathFactory, table: plain.Table) -> None:
        expected = {item: [f"{group}={name}" for group, name in sorted(has)] for item, has in table.items()}
        frame = plain.frame(table, plain.groups_of(table))
        for suffix, path in saved(frame, tmp_path_factory.mktemp("tables")).items():
            assert words(read_annotations(str(path))) == expected, suffix

    def test_lists_in_jsonl_and_parquet(self, tmp_path: Path) -> None:
        frame = pl.DataFrame({"id": ["a", "b", "c"], "g": [["x", " y "], [], None], "h": [[True], [False], None]})
        paths = saved_lists(frame, tmp_path)
        assert [words(read_annotations(path)) for path in paths] == [{"a": ["g=x", "g=y", "h=h"], "b": [], "c": []}] * 2

    def test_a_header_with_blanks_and_a_byte_order_mark(self, tmp_path: Path) -> None:
        path = written(tmp_path, "\ufeffclip , object\nv1,car\n")
        assert words(read_annotations(path)) == {"v1": ["object=car"]}

    def test_semicolons_between_columns_and_commas_within(self, tmp_path: Path) -> None:
        path = written(tmp_path, "clip;object\nv1;car,bus\nv2;bus\n")
        assert words(read_annotations(path, separator=",")) == {
            "v1": ["object=bus", "object=car"],
            "v2": ["object=bus"],
        }

    def test_quotes(self, tmp_path: Path) -> None:
        text = io.StringIO()
        csv.writer(text).writerows([["clip", "object"], ['v"1', 'say "hi"|two\nlines'], ["v2", '""']])
        found = words(read_annotations(written(tmp_path, text.getvalue())))
        assert found == {'v"1': ['object=say "hi"', "object=two\nlines"], "v2": ['object=""']}

    def test_ids_stay_as_they_are_written(self, tmp_path: Path) -> None:
        path = written(tmp_path, "clip,object\n007,1.50\n7,1.5\n 8 ,x\n")
        assert words(read_annotations(path)) == {"007": ["object=1.50"], "7": ["object=1.5"], "8": ["object=x"]}

    def test_the_id_column_by_name(self, tmp_path: Path) -> None:
        path = written(tmp_path, "clip,scene\nv1,s1\n")
        assert words(read_annotations(path, id_column="scene")) == {"s1": ["clip=v1"]}


def saved_lists(frame: pl.DataFrame, folder: Path) -> list[Path]:
    frame.write_ndjson(folder / "lists.jsonl")
    frame.write_parquet(folder / "lists.parquet")
    return [folder / "lists.jsonl", folder / "lists.parquet"]


class TestCells:
    def test_values_split_and_stripped(self) -> None:
        assert of_column([" a | b", "b||a|", "|", " ", "c"]) == [["a", "b"], ["a", "b"], [], [], ["c"]]

    def test_a_value_twice_counts_once(self) -> None:
        assert of_column(["a|a| a", "b"]) == [["a"], ["b"]]

    @pytest.mark.parametrize("separator", [",", ";", " / ", "||", ".", "\t", "$^"])
    def test_separators_are_taken_as_they_stand(self, separator: str) -> None:
        assert of_column([f"a{separator}b", "c"], separator=separator) == [["a", "b"], ["c"]]

    def test_another_separator_leaves_bars_alone(self) -> None:
        assert of_column(["a|b;c"], separator=";") == [["a|b", "c"]]

    @pytest.mark.parametrize("cell", ["n/a", "N/A", " n/A ", "NaN", "nan", "NULL", "null", "", "  "])
    def test_no_value(self, cell: str) -> None:
        assert of_column([cell, "x", f"{cell}|y"]) == [[], ["x"], ["y"]]

    def test_other_words_for_no_value(self) -> None:
        assert of_column(["None", "n/a", "x"], no_value=["", " none "]) == [[], ["n/a"], ["x"]]

    def test_case_and_letters_are_kept(self) -> None:
        assert of_column(["Car|car|ČAR|車"]) == [["Car", "car", "ČAR", "車"]]

    @pytest.mark.parametrize(
        ("true", "false"), [("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("yes", "no"), ("Yes", "NO")]
    )
    def test_booleans_become_the_name_of_the_column(self, true: str, false: str) -> None:
        assert of_column([true, false, None, "n/a", f" {true} "], "rain") == [["rain"], [], [], [], ["rain"]]

    def test_true_booleans(self) -> None:
        assert of_column([True, False, None], "rain") == [["rain"], [], []]

    def test_yes_among_other_values_is_a_value(self) -> None:
        assert of_column(["yes", "no", "perhaps"]) == [["yes"], ["no"], ["perhaps"]]

    def test_what_is_odd_is_noted(self) -> None:
        frame = pl.DataFrame({"clip": ["a", "b"], "wet": ["0", "1"], "who": ["Car", "car"], "lit": ["true", "false"]})
        notes = annotations_from_frame(frame, id_column="clip").notes
        assert [note.partition(":")[0] for note in notes] == ["wet", "who"]
        assert "write false and true" in notes[0] and "Car, car differ in case only" in notes[1]

    def test_ones_and_zeros_are_numbers(self) -> None:
        assert of_column([1, 0]) == [["1"], ["0"]]

    def test_numbers(self) -> None:
        assert of_column([1, -2, None]) == [["1"], ["-2"], []]
        assert of_column([1.0, 2.5, float("nan"), None, 10.0]) == [["1"], ["2.5"], [], [], ["10"]]

    def test_lists_are_not_split(self) -> None:
        assert of_column([["a|b", None, " c ", "n/a"], []]) == [["a|b", "c"], []]

    @pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["a|b", "c"])])
    def test_categories(self, dtype: Any) -> None:
        assert of_column(["a|b", "c", None], dtype=dtype) == [["a", "b"], ["c"], []]

    def test_arrays(self) -> None:
        assert of_column([["a", "b"], ["b", "a"]], dtype=pl.Array(pl.String, 2)) == [["a", "b"], ["a", "b"]]

    def test_nothing_is_never_a_value(self) -> None:
        assert of_column(["a||b|", "none"], no_value=["none"]) == [["a", "b"], []]

    def test_whole_numbers_in_lists(self) -> None:
        assert of_column([[1.0, 2.5], [10.0]]) == [["1", "2.5"], ["10"]]


class TestGroups:
    FRAME = pl.DataFrame(
        {
            "clip": ["v1", "v2"],
            "actors": ["car|dog", "dog"],
            "others": ["car", "cat"],
            "rain": ["yes", "no"],
            "fog": [False, True],
        }
    )

    def read(self, groups: Any) -> Words:
        return words(annotations_from_frame(self.FRAME, groups, id_column="clip"))

    def test_several_columns_make_one_group(self) -> None:
        assert self.read({"object": ["others", "actors"]}) == {
            "v1": ["object=car", "object=dog"],
            "v2": ["object=cat", "object=dog"],
        }

    def test_a_single_column_by_its_name(self) -> None:
        assert self.read({"object": "actors"}) == self.read({"object": ["actors"]})

    def test_booleans_of_a_group_keep_their_columns_apart(self) -> None:
        assert self.read({"weather": ["rain", "fog"]}) == {"v1": ["weather=rain"], "v2": ["weather=fog"]}

    def test_in_the_order_in_which_they_are_named(self) -> None:
        found = annotations_from_frame(self.FRAME, {"z": "rain", "a": "actors"}, id_column="clip")
        assert [str(one) for one in found.vocabulary.keywords] == ["z=rain", "a=car", "a=dog"]

    def test_a_column_may_serve_two_groups(self) -> None:
        assert self.read({"one": "others", "two": "others"})["v1"] == ["one=car", "two=car"]

    def test_columns_that_are_not_named_are_left_alone(self) -> None:
        nested = self.FRAME.with_columns(pl.struct("actors", "others").alias("odd"))
        assert words(annotations_from_frame(nested, {"o": "others"}, id_column="clip")) == {
            "v1": ["o=car"],
            "v2": ["o=cat"],
        }

    def test_rows_in_another_order(self) -> None:
        other = annotations_from_frame(self.FRAME.reverse(), id_column="clip")
        assert words(other) == self.read(None)
        assert list(words(other)) == ["v2", "v1"]


names = st.text(st.characters(exclude_characters="|", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6)
known = {"", "n/a", "nan", "null", "true", "false", "yes", "no"}


@given(
    rows=st.lists(st.lists(names.map(str.strip).filter(lambda one: one.lower() not in known), max_size=4), min_size=1)
)
@thorough(80)
def test_any_letters(rows: list[list[str]]) -> None:
    if not any(rows):
        return
    assert of_column(["|".join(row) for row in rows]) == [sorted(set(row)) for row in rows]
