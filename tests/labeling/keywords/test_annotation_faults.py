"""Tables of annotations that cannot be used: what is found, where, and what was expected."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankjury
from rankjury.errors import UnknownName
from rankjury.labeling.keywords.annotations import Annotations, annotations_from_frame, read_annotations
from tests.labeling.keywords.made import written


class TestFaults:
    FRAME = pl.DataFrame({"clip": ["v1", "v2"], "object": ["car", "bus"], "void": ["", "n/a"]})

    def read(self, groups: Any = None, frame: pl.DataFrame | None = None, **options: Any) -> Annotations:
        held = self.FRAME if frame is None else frame
        return annotations_from_frame(held, groups, **{"id_column": "clip", "source": "clips.csv", **options})

    def test_a_column_that_is_not_there(self) -> None:
        told = r"clips\.csv, group actors: unknown column 'objekt'\. Did you mean object\?"
        with pytest.raises(UnknownName, match=told):
            self.read({"actors": ["object", "objekt"]})

    def test_the_ids_are_no_keywords(self) -> None:
        with pytest.raises(UnknownName, match="unknown column 'clip'"):
            self.read({"actors": "clip"})

    def test_groups_without_a_keyword(self) -> None:
        told = r"clips\.csv: 1 group has no keyword: scene \(void\); expected at least one value"
        with pytest.raises(rankjury.DataError, match=told):
            self.read({"actors": "object", "scene": "void"})
        with pytest.raises(rankjury.DataError, match=r"2 groups have no keyword: scene \(void\), look \(void, rain\)"):
            frame = self.FRAME.with_columns(pl.lit(False).alias("rain"))
            self.read({"actors": "object", "scene": "void", "look": ["void", "rain"]}, frame)

    def test_an_empty_vocabulary(self) -> None:
        with pytest.raises(
            rankjury.DataError, match=r"clips\.csv: found no keyword in any column; expected annotations"
        ):
            self.read(frame=self.FRAME.select("clip", "void"))

    def test_no_groups_and_no_columns(self) -> None:
        with pytest.raises(rankjury.UsageError, match=r"clips\.csv: no group was given"):
            self.read({})
        with pytest.raises(rankjury.UsageError, match="the group scene has no column"):
            self.read({"actors": "object", "scene": []})

    def test_an_empty_separator(self) -> None:
        with pytest.raises(rankjury.UsageError, match=r"the separator is empty; expected such as '\|'"):
            self.read(separator="")

    def test_duplicated_ids_with_both_rows(self) -> None:
        frame = pl.DataFrame({"clip": ["v1", "v2", " v1", "v2", "v1"], "object": list("abcde")})
        told = r"clips\.csv: duplicate id 'v1' in rows 1 and 3 \(3 rows repeat an id\); expected each item once"
        with pytest.raises(rankjury.DataError, match=told):
            self.read(frame=frame)
        with pytest.raises(rankjury.DataError, match=r"duplicate id 'b' in rows 2 and 4 \(1 row repeats an id\)"):
            self.read(frame=pl.DataFrame({"clip": ["a", "b", "c", "b"], "object": list("wxyz")}))

    @pytest.mark.parametrize("cell", [{"a": 1}, [["x"]], [{"a": 1}]])
    def test_nested_cells(self, cell: Any) -> None:
        frame = pl.DataFrame({"clip": ["v1"], "object": [cell]})
        with pytest.raises(
            rankjury.DataError, match=r"clips\.csv: object is of type .*; expected texts, or lists of texts"
        ):
            self.read(frame=frame)

    def test_an_unknown_group_in_select(self) -> None:
        with pytest.raises(UnknownName, match=r"clips\.csv: unknown group 'objects'\. Did you mean object\?"):
            self.read().select(("objects",))


class TestFaultsOfFiles:
    def test_no_rows(self, tmp_path: Path) -> None:
        with pytest.raises(
            rankjury.DataError, match=r"clips\.csv: found a header but no rows; expected at least one row"
        ):
            read_annotations(written(tmp_path, "clip,object\n"))

    def test_only_ids(self, tmp_path: Path) -> None:
        with pytest.raises(rankjury.DataError, match="found no column but clip"):
            read_annotations(written(tmp_path, "clip\nv1\n"))

    def test_no_column_of_ids(self, tmp_path: Path) -> None:
        with pytest.raises(rankjury.DataError, match="none holds ids"):
            read_annotations(written(tmp_path, "name,object\nv1,car\n"))
        with pytest.raises(UnknownName, match=r"unknown column 'clips'\. Did you mean clip\?"):
            read_annotations(written(tmp_path, "clip,object\nv1,car\n"), id_column="clips")

    def test_a_row_without_an_id(self, tmp_path: Path) -> None:
        with pytest.raises(rankjury.DataError, match="row 2 has no clip; expected an id in every row"):
            read_annotations(written(tmp_path, "clip,object\nv1,car\n,bus\n"))

    def test_a_column_twice(self, tmp_path: Path) -> None:
        with pytest.raises(rankjury.DataError, match="duplicate column 'object'"):
            read_annotations(written(tmp_path, "clip,object,object\nv1,car,bus\n"))

    def test_duplicated_ids(self, tmp_path: Path) -> None:
        with pytest.raises(rankjury.DataError, match=r"clips\.csv: duplicate id 'v1' in rows 1 and 2"):
            read_annotations(written(tmp_path, "clip,object\nv1,car\nv1,bus\n"))

    def test_no_such_file(self, tmp_path: Path) -> None:
        with pytest.raises(rankjury.DataError, match=r"clips\.csv"):
            read_annotations(tmp_path / "clips.csv")

    def test_lists_as_ids(self, tmp_path: Path) -> None:
        line = json.dumps({"id": ["a", "b"], "g": "x"})
        with pytest.raises(rankjury.DataError, match="id"):
            read_annotations(written(tmp_path, line + "\n", "clips.jsonl"))

    def test_types_that_are_no_texts(self, tmp_path: Path) -> None:
        pl.DataFrame({"id": ["a"], "g": [b"\xff\xfe"]}).write_parquet(tmp_path / "clips.parquet")
        with pytest.raises(rankjury.DataError, match="g is of type Binary"):
            read_annotations(tmp_path / "clips.parquet")

    def test_blank_ids(self, tmp_path: Path) -> None:
        with pytest.raises(rankjury.DataError, match="row 2 has no clip"):
            read_annotations(written(tmp_path, "clip,object\nv1,car\n  ,bus\n"))


def test_a_frame_of_ids_alone() -> None:
    with pytest.raises(rankjury.DataError, match="no column but id"):
        annotations_from_frame(pl.DataFrame({"id": ["a"]}), id_column="id")
