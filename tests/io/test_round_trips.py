"""Every format × compression gives back what was written, to the last bit."""

import gzip
import math
from pathlib import Path

import polars as pl
import pytest
import zstandard
from hypothesis import example, given, settings, strategies as st

from rankjury.io.formats import read, write
from tests.io.support import Row, exact, read_rows, rows_of

TEXT_FORMS = ["trec", "json", "jsonl", "csv", "tsv"]
NAMES = [f"{form}{packed}" for form in TEXT_FORMS for packed in ("", ".gz", ".zst")] + ["parquet"]
KEEPS_ORDER = ("csv", "tsv", "jsonl", "parquet", "json")

_anything = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)
_no_blanks = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=5).filter(
    lambda text: text[0] not in "#[{" and not any(map(str.isspace, text))
)
_scores = st.floats(allow_nan=False, allow_infinity=False)
_grades = st.integers(-2, 5).map(float) | st.floats(0, 1e6, exclude_min=True)
EDGES = [1e-300, -0.0, 5e-324, 1.7976931348623157e308, 0.1, 1 / 3, -1e22, 123456789.12345679]


def _rows(ids: st.SearchStrategy[str], numbers: st.SearchStrategy[float]) -> st.SearchStrategy[list[Row]]:
    """Rows grouped by query in order of appearance, each pair once, as Gold and Ranking hold them."""
    pairs = st.lists(st.tuples(ids, ids, numbers), min_size=1, max_size=6, unique_by=lambda row: row[:2])
    return pairs.map(lambda rows: sorted(rows, key=lambda row: [r[0] for r in rows].index(row[0])))


def _frame(rows: list[Row], value: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"query_id": pl.String, "item_id": pl.String, value: pl.Float64}, orient="row")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trips")


def _check(folder: Path, name: str, rows: list[Row], kind: str) -> None:
    path = folder / f"file.{name}"
    form = write(_frame(rows, "grade" if kind == "gold" else "score"), path, kind)
    back, given_rows = read_rows(path, kind, form), exact(rows)
    assert sorted(back) == sorted(given_rows)
    if form in KEEPS_ORDER:
        assert back == given_rows


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("trec")])
@settings(deadline=None, derandomize=True, max_examples=25)
@given(rows=_rows(_anything, _scores))
@example(rows=[("q", f"d{place}", number) for place, number in enumerate(EDGES)])
@example(rows=[("q,1", 'say "d"', 1.0), ("q\n2", "d\r\n", 2.0), ("\t", " ", 3.0), ("'", "\\", 4.0)])
@example(rows=[("q\r", "d\r", 1.0), ("\u2028", "\x85", 2.0), ("\ufeffq", "\x00", 3.0), ("007", "1e5", 4.0)])
@example(rows=[("null", "NaN", 1.0), ("", "x", 2.0), ("x", "", 3.0), ("#", "{", 4.0), ("[", "]", 5.0)])
def test_runs(folder: Path, name: str, rows: list[Row]) -> None:
    _check(folder, name, rows, "run")


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("trec")])
@settings(deadline=None, derandomize=True, max_examples=25)
@given(rows=_rows(_no_blanks, _scores))
@example(rows=[("q", f"d{place}", number) for place, number in enumerate(EDGES)])
@example(rows=[('"q', 'd"', 1.0), ("q,1", "\\", 2.0), ("null", "NaN", 3.0), ("q", "x#y", 4.0)])
def test_runs_as_trec(folder: Path, name: str, rows: list[Row]) -> None:
    _check(folder, name, rows, "run")


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, derandomize=True, max_examples=25)
@given(rows=_rows(_no_blanks, _grades))
@example(rows=[("q", "a", 1e-300), ("q", "b", 1 / 3)])
def test_golds(folder: Path, name: str, rows: list[Row]) -> None:
    _check(folder, name, rows, "gold")


@pytest.mark.parametrize(
    ("form", "grade"),
    [
        ("csv", -0.0),
        ("jsonl", -0.0),
        ("parquet", -0.0),
        ("trec", -0.0),
        ("json", -0.0),
        ("json", 1e300),
        ("csv", 1e300),
        ("trec", 1e300),
        ("trec", 2.0**53),
    ],
)
def test_whole_grades_at_the_edges(tmp_path: Path, form: str, grade: float) -> None:
    _check(tmp_path, form, [("q", "d", grade)], "gold")


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "json", "tsv", "trec"])
def test_whole_number_ids_come_back_as_their_decimal_form(tmp_path: Path, form: str) -> None:
    frame = pl.DataFrame({"query_id": [3, 3, 1], "item_id": [10, 9, 7], "score": [2.5, 1.5, 0.5]})
    write(frame, tmp_path / f"run.{form}", "run")
    assert sorted(read_rows(tmp_path / f"run.{form}", "run")) == sorted(rows_of(frame))


def test_packed_files_are_what_other_tools_unpack(tmp_path: Path) -> None:
    frame = _frame([("q", "d", 0.1)], "score")
    for packed in ("", ".gz", ".zst"):
        write(frame, tmp_path / f"run.csv{packed}", "run")
    plain = (tmp_path / "run.csv").read_bytes()
    assert plain == b"query_id,item_id,score\nq,d,0.1\n"
    assert gzip.decompress((tmp_path / "run.csv.gz").read_bytes()) == plain
    assert zstandard.ZstdDecompressor().decompressobj().decompress((tmp_path / "run.csv.zst").read_bytes()) == plain


def test_nested_json_is_plain_json(tmp_path: Path) -> None:
    import json

    write(_frame([("q", "a", 1.0), ("q", "b", 0.0), ("p", "é", 2.0)], "grade"), tmp_path / "gold.json", "gold")
    tree = json.loads((tmp_path / "gold.json").read_text(encoding="utf-8"))
    assert tree == {"q": {"a": 1, "b": 0}, "p": {"é": 2}}
    assert all(type(grade) is int for items in tree.values() for grade in items.values()), "pytrec_eval wants ints"


@pytest.mark.parametrize("form", ["trec", "csv", "jsonl", "parquet"])
def test_duplicate_pairs_survive(tmp_path: Path, form: str) -> None:
    rows = [("q", "a", 2.0), ("q", "a", 1.0)]
    _check(tmp_path, form, rows, "run")


def test_duplicate_pairs_are_not_lost_in_json(tmp_path: Path) -> None:
    _check(tmp_path, "json", [("q", "a", 2.0), ("q", "a", 1.0)], "run")


def test_the_order_of_equal_scores_survives_where_the_format_has_one(tmp_path: Path) -> None:
    """Under ties=order it decides; CSV, JSONL, JSON and Parquet keep it."""
    rows = [("q", "z", 1.0), ("q", "a", 1.0), ("q", "m", 1.0)]
    for form in KEEPS_ORDER:
        write(_frame(rows, "score"), tmp_path / f"run.{form}", "run")
        assert read(tmp_path / f"run.{form}", "run")["item_id"].to_list() == ["z", "a", "m"]


def test_negative_zero_is_told_from_zero_by_these_tests() -> None:
    """Guards the comparison itself."""
    assert exact([("q", "d", -0.0)]) != exact([("q", "d", 0.0)])
    assert math.copysign(1, float.fromhex(exact([("q", "d", -0.0)])[0][2])) == -1
