"""Tables of annotations: every format says the same, every kind of cell is understood, every fault is named."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.annotations import Annotations
from karat.gold.annotations import annotations_from_frame, read_annotations
from tests.partial import plain

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


def written(folder: Path, text: str, name: str = "clips.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


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
    @settings(max_examples=15, deadline=None, derandomize=True)
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


class TestFaults:
    FRAME = pl.DataFrame({"clip": ["v1", "v2"], "object": ["car", "bus"], "void": ["", "n/a"]})

    def read(self, groups: Any = None, frame: pl.DataFrame | None = None, **options: Any) -> Annotations:
        held = self.FRAME if frame is None else frame
        return annotations_from_frame(held, groups, **{"id_column": "clip", "source": "clips.csv", **options})

    def test_a_column_that_is_not_there(self) -> None:
        told = r"clips\.csv, group actors: unknown column 'objekt'\. Did you mean object\?"
        with pytest.raises(karat.UnknownName, match=told):
            self.read({"actors": ["object", "objekt"]})

    def test_the_ids_are_no_keywords(self) -> None:
        with pytest.raises(karat.UnknownName, match="unknown column 'clip'"):
            self.read({"actors": "clip"})

    def test_groups_without_a_keyword(self) -> None:
        told = r"clips\.csv: 1 group has no keyword: scene \(void\); expected at least one value"
        with pytest.raises(karat.DataError, match=told):
            self.read({"actors": "object", "scene": "void"})
        with pytest.raises(karat.DataError, match=r"2 groups have no keyword: scene \(void\), look \(void, rain\)"):
            frame = self.FRAME.with_columns(pl.lit(False).alias("rain"))
            self.read({"actors": "object", "scene": "void", "look": ["void", "rain"]}, frame)

    def test_an_empty_vocabulary(self) -> None:
        with pytest.raises(karat.DataError, match=r"clips\.csv: found no keyword in any column; expected annotations"):
            self.read(frame=self.FRAME.select("clip", "void"))

    def test_no_groups_and_no_columns(self) -> None:
        with pytest.raises(karat.UsageError, match=r"clips\.csv: no group was named"):
            self.read({})
        with pytest.raises(karat.UsageError, match="the group scene has no column"):
            self.read({"actors": "object", "scene": []})

    def test_an_empty_separator(self) -> None:
        with pytest.raises(karat.UsageError, match=r"the separator is empty; expected such as '\|'"):
            self.read(separator="")

    def test_duplicated_ids_with_both_rows(self) -> None:
        frame = pl.DataFrame({"clip": ["v1", "v2", " v1", "v2", "v1"], "object": list("abcde")})
        told = r"clips\.csv: the id 'v1' stands in rows 1 and 3 \(3 rows repeat an id\); expected each item once"
        with pytest.raises(karat.DataError, match=told):
            self.read(frame=frame)
        with pytest.raises(karat.DataError, match=r"the id 'b' stands in rows 2 and 4 \(1 row repeats an id\)"):
            self.read(frame=pl.DataFrame({"clip": ["a", "b", "c", "b"], "object": list("wxyz")}))

    @pytest.mark.parametrize("cell", [{"a": 1}, [["x"]], [{"a": 1}]])
    def test_nested_cells(self, cell: Any) -> None:
        frame = pl.DataFrame({"clip": ["v1"], "object": [cell]})
        with pytest.raises(
            karat.DataError, match=r"clips\.csv: object is of type .*; expected texts, or lists of texts"
        ):
            self.read(frame=frame)

    def test_an_unknown_group_in_select(self) -> None:
        with pytest.raises(karat.UnknownName, match=r"clips\.csv: unknown group 'objects'\. Did you mean object\?"):
            self.read().select(("objects",))


class TestFaultsOfFiles:
    def test_no_rows(self, tmp_path: Path) -> None:
        with pytest.raises(karat.DataError, match=r"clips\.csv: found a header but no rows; expected at least one row"):
            read_annotations(written(tmp_path, "clip,object\n"))

    def test_only_ids(self, tmp_path: Path) -> None:
        with pytest.raises(karat.DataError, match="found no column but clip"):
            read_annotations(written(tmp_path, "clip\nv1\n"))

    def test_no_column_of_ids(self, tmp_path: Path) -> None:
        with pytest.raises(karat.DataError, match="none holds ids"):
            read_annotations(written(tmp_path, "name,object\nv1,car\n"))
        with pytest.raises(karat.UnknownName, match=r"unknown column 'clips'\. Did you mean clip\?"):
            read_annotations(written(tmp_path, "clip,object\nv1,car\n"), id_column="clips")

    def test_a_row_without_an_id(self, tmp_path: Path) -> None:
        with pytest.raises(karat.DataError, match="row 2 has no clip; expected an id in every row"):
            read_annotations(written(tmp_path, "clip,object\nv1,car\n,bus\n"))

    def test_a_column_twice(self, tmp_path: Path) -> None:
        with pytest.raises(karat.DataError, match="the column 'object' stands twice"):
            read_annotations(written(tmp_path, "clip,object,object\nv1,car,bus\n"))

    def test_duplicated_ids(self, tmp_path: Path) -> None:
        with pytest.raises(karat.DataError, match=r"clips\.csv: the id 'v1' stands in rows 1 and 2"):
            read_annotations(written(tmp_path, "clip,object\nv1,car\nv1,bus\n"))

    def test_no_such_file(self, tmp_path: Path) -> None:
        with pytest.raises(karat.DataError, match=r"clips\.csv"):
            read_annotations(tmp_path / "clips.csv")

    def test_lists_as_ids(self, tmp_path: Path) -> None:
        line = json.dumps({"id": ["a", "b"], "g": "x"})
        with pytest.raises(karat.DataError, match="id"):
            read_annotations(written(tmp_path, line + "\n", "clips.jsonl"))

    def test_types_that_are_no_texts(self, tmp_path: Path) -> None:
        pl.DataFrame({"id": ["a"], "g": [b"\xff\xfe"]}).write_parquet(tmp_path / "clips.parquet")
        with pytest.raises(karat.DataError, match="g is of type Binary"):
            read_annotations(tmp_path / "clips.parquet")

    def test_blank_ids(self, tmp_path: Path) -> None:
        with pytest.raises(karat.DataError, match="row 2 has no clip"):
            read_annotations(written(tmp_path, "clip,object\nv1,car\n  ,bus\n"))


def test_a_frame_of_ids_alone() -> None:
    with pytest.raises(karat.DataError, match="no column but id"):
        annotations_from_frame(pl.DataFrame({"id": ["a"]}), id_column="id")


names = st.text(st.characters(exclude_characters="|", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6)
known = {"", "n/a", "nan", "null", "true", "false", "yes", "no"}


@given(
    rows=st.lists(st.lists(names.map(str.strip).filter(lambda one: one.lower() not in known), max_size=4), min_size=1)
)
@settings(max_examples=80, deadline=None, derandomize=True)
def test_any_letters(rows: list[list[str]]) -> None:
    if not any(rows):
        return
    assert of_column(["|".join(row) for row in rows]) == [sorted(set(row)) for row in rows]
