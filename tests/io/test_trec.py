"""TREC runs and qrels: whatever blanks, comments and line ends, the rows are the same; what is malformed is found."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings, strategies as st

from rankjury.errors import DataError
from rankjury.io import trec
from rankjury.io.formats import read, write
from rankjury.io.source import Source
from tests.io.support import Row, exact, put, read_rows, rows_of

RUN = "q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.5 tag\nq2 Q0 d1 1 -3e-2 tag\n"
RUN_ROWS = exact([("q1", "d1", 2.5), ("q1", "d2", 1.5), ("q2", "d1", -0.03)])
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 -1\n"
QRELS_ROWS = exact([("q1", "d1", 1.0), ("q1", "d2", 0.0), ("q2", "d1", -1.0)])


def _every_line(before: str, after: str):  # type: ignore[no-untyped-def]
    return lambda text: "".join(f"{before}{line}{after}\n" for line in text.splitlines())


ODD_FORMS = {
    "regular": lambda text: text,
    "tabs": lambda text: text.replace(" ", "\t"),
    "double blanks": lambda text: text.replace(" ", "  "),
    "tabs and blanks": lambda text: text.replace(" ", " \t "),
    "odd gap on one line only": lambda text: text.replace("q1 ", "q1   ", 1),
    "tabs on the last line only": lambda text: text[:-20] + text[-20:].replace(" ", "\t"),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "CRLF and double blanks": lambda text: text.replace(" ", "  ").replace("\n", "\r\n"),
    "leading blanks": _every_line("  ", ""),
    "leading tab": _every_line("\t", ""),
    "trailing blanks": _every_line("", "  "),
    "trailing tab": _every_line("", "\t"),
    "byte order mark": lambda text: "\ufeff" + text,
    "byte order mark and comment": lambda text: "\ufeff# made by hand\n" + text,
    "no final newline": lambda text: text.rstrip("\n"),
    "comment first": lambda text: "# a comment of six words here\n" + text,
    "comment of four words last": lambda text: text + "# one two three\n",
    "comment without blank in the middle": lambda text: text.replace("\nq2", "\n#q9\nq2"),
    "indented comment": lambda text: text.replace("\nq2", "\n  # no data\nq2"),
    "blank lines": lambda text: "\n" + text.replace("\n", "\n\n") + " \t\n",
}


@pytest.mark.parametrize("form", ODD_FORMS)
@pytest.mark.parametrize(("kind", "text", "rows"), [("run", RUN, RUN_ROWS), ("gold", QRELS, QRELS_ROWS)])
def test_any_layout_gives_the_same_rows(tmp_path: Path, form: str, kind: str, text: str, rows: list[Row]) -> None:
    assert read_rows(put(tmp_path, "file.txt", ODD_FORMS[form](text)), kind) == rows


def test_tags_may_differ_from_line_to_line(tmp_path: Path) -> None:
    assert read_rows(put(tmp_path, "run.trec", RUN.replace("tag", "other", 1)), "run") == RUN_ROWS


@pytest.mark.parametrize("number", ["+1.5", "1.5e0", "15E-1", "0.15e+1", "1.50000"])
@pytest.mark.parametrize("comment", ["", "# read with care\n"])
def test_numbers_in_every_spelling(tmp_path: Path, number: str, comment: str) -> None:
    path = put(tmp_path, "run.trec", comment + RUN.replace("1.5", number))
    assert read_rows(path, "run") == RUN_ROWS


@pytest.mark.parametrize(
    "item", ['"d1', 'd"1"', "#d1", "d,1", "d\u00a01", "dé", "日本", "d\x1c1", "d\u20281", "NA", "-"]
)
def test_ids_may_hold_anything_but_blanks(tmp_path: Path, item: str) -> None:
    text = f"q1 Q0 {item} 1 2.5 tag\nq1 Q0 d2 2 1.5 tag\n"
    assert read_rows(put(tmp_path, "run.trec", text), "run")[0] == ("q1", item, (2.5).hex())


# --- the fast and the careful way ---------------------------------------------------------------------------------

_ID = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Z"]), min_size=1, max_size=6).filter(
    lambda text: not text.startswith(("#", "\ufeff")) and not any(map(str.isspace, text))
)
_NUMBER = st.floats(allow_nan=False, allow_infinity=False)
_ROWS = st.lists(st.tuples(_ID, _ID, _NUMBER), min_size=1, max_size=8)
_GAP = st.text(" \t", min_size=1, max_size=3)
_MARGIN = st.text(" \t", max_size=2)
_END = st.sampled_from(["\n", "\r\n", "\n\n", "\n# comment of more words here\n", "\n \t\r\n", "\n  #x\n"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trec")


def _columns(kind: str, row: Row) -> list[str]:
    query, item, number = row
    return [query, "Q0", item, "1", repr(number), "tag"] if kind == "run" else [query, "0", item, repr(number)]


@settings(deadline=None, derandomize=True, max_examples=60)
@given(data=st.data(), kind=st.sampled_from(["run", "gold"]), rows=_ROWS)
def test_both_ways_give_equal_frames(folder: Path, data: st.DataObject, kind: str, rows: list[Row]) -> None:
    lines = [_columns(kind, row) for row in rows]
    regular = Source.open(put(folder, "regular.txt", "".join(" ".join(line) + "\n" for line in lines)))
    odd_text = ""
    for line in lines:
        gaps = [data.draw(_GAP) for _ in line[1:]]
        body = line[0] + "".join(gap + field for gap, field in zip(gaps, line[1:], strict=True))
        odd_text += data.draw(_MARGIN) + body + data.draw(_MARGIN) + data.draw(_END)
    odd = Source.open(put(folder, "odd.txt", odd_text))
    fast = trec._read_regular(regular, kind)
    assert fast is not None, "a regular file did not take the fast way"
    assert rows_of(fast) == exact(rows)
    assert rows_of(trec._read_carefully(regular, kind)) == exact(rows)
    assert rows_of(trec.read(odd, kind)) == exact(rows)


# --- malformed lines hidden in a regular file ---------------------------------------------------------------------

_LINES = 3000

BAD_RUN_LINES = [
    ("q5 Q0 d7 3 tag", "found 5 columns"),
    ("q5 Q0 d7  3 tag", "found 5 columns"),
    ("q5 Q0  3 1.5 tag", "found 5 columns"),
    ("q5  d7 3 1.5 tag", "found 5 columns"),
    ("q5 Q0 d7  1.5 tag", "found 5 columns"),
    (" Q0 d7 3 1.5 tag", "found 5 columns"),
    ("q5 Q0 d7 3 1.5", "found 5 columns"),
    ("q5 Q0 d7 3 1.5 ", "found 5 columns"),
    ("q5 0 d7 1", "found 4 columns"),
    ("q5 Q0 kb 031 1 7.39 bm25", "found 7 columns"),
    ("q5 Q0 d7 1 7.39 my tag", "found 7 columns"),
    ("q5 Q0 d7 1 7.39 my long tag", "found 8 columns"),
    ("q5", "found 1 columns"),
    ("q5 Q0 d7 3 high tag", "the score is 'high'"),
    ("q5 Q0 d7 3 nan tag", "the score is 'nan'"),
    ("q5 Q0 d7 3 NaN tag", "the score is 'NaN'"),
    ("q5 Q0 d7 3 inf tag", "the score is 'inf'"),
    ("q5 Q0 d7 3 -Infinity tag", "the score is '-Infinity'"),
    ("q5 Q0 d7 3 1e400 tag", "the score is '1e400'"),
    ("q5 Q0 d7 3 1,5 tag", "the score is '1,5'"),
    ("q5 Q0 d7 3 1_5 tag", "the score is '1_5'"),
]
BAD_QRELS_LINES = [
    ("q5 0 d7", "found 3 columns"),
    ("q5 0 d7 ", "found 3 columns"),
    ("q5 0  1", "found 3 columns"),
    ("q5  d7 1", "found 3 columns"),
    ("q5 0 d7 1 2", "found 5 columns"),
    ("q5 0 d 7 1", "found 5 columns"),
    ("q5 Q0 d7 1 1.5 tag", "found 6 columns"),
    ("q5 0 d7 relevant", "the grade is 'relevant'"),
    ("q5 0 d7 nan", "the grade is 'nan'"),
    ("q5 0 d7 -inf", "the grade is '-inf'"),
]


def _hidden(line: str, kind: str, at: int) -> str:
    form = "q{} Q0 d{} 1 {} tag" if kind == "run" else "q{} 0 d{} {}"
    lines = [form.format(number // 100, number, number % 3) for number in range(_LINES)]
    lines[at - 1] = line
    return "\n".join(lines) + "\n"


def _check_found(folder: Path, kind: str, line: str, found: str, at: int) -> None:
    with pytest.raises(DataError) as caught:
        read(put(folder, "deep.txt", _hidden(line, kind, at)), kind)
    assert caught.value.where == f"{folder / 'deep.txt'}:{at}"
    assert found in caught.value.found
    assert repr(line) in caught.value.found


@pytest.mark.parametrize("at", [2, 2500, _LINES])
@pytest.mark.parametrize(("line", "found"), BAD_RUN_LINES)
def test_malformed_run_line_is_found(tmp_path: Path, line: str, found: str, at: int) -> None:
    _check_found(tmp_path, "run", line, found, at)


@pytest.mark.parametrize("at", [2, 2500, _LINES])
@pytest.mark.parametrize(("line", "found"), BAD_QRELS_LINES)
def test_malformed_qrels_line_is_found(tmp_path: Path, line: str, found: str, at: int) -> None:
    _check_found(tmp_path, "gold", line, found, at)


@pytest.mark.parametrize("odd", ["q1\tQ0\tdoc one\t2\t1.5\ttag", "q1 Q0 doc\tone 2 1.5 tag"])
@pytest.mark.parametrize("comment", ["", "# read with care\n"])
def test_a_blank_within_an_id_is_refused_by_both_ways(tmp_path: Path, odd: str, comment: str) -> None:
    """Columns are split by any blank: neither way may take ``doc one`` for an id, nor ``doc`` with a score of 2."""
    first = RUN.splitlines()[0].replace(" ", odd[2])
    path = put(tmp_path, "run.trec", f"{comment}{first}\n{odd}\n")
    with pytest.raises(DataError, match="found 7 columns") as caught:
        read(path, "run")
    assert caught.value.where == f"{path}:{3 if comment else 2}"


@pytest.mark.parametrize("separator", [" ", "\t"])
@pytest.mark.parametrize("comment", ["", "# comment\n"])
def test_an_id_with_a_blank_before_a_number_is_not_read_as_item_rank_and_score(
    tmp_path: Path, separator: str, comment: str
) -> None:
    """``kb 031`` was read as item ``kb`` at rank 031 with the rank, 1, for a score."""
    lines = ["q01 Q0 kb 031 1 7.39 bm25", "q01 Q0 kb2 2 7.1 bm25"]
    path = put(tmp_path, "run.trec", comment + "\n".join(lines).replace(" ", separator) + "\n")
    with pytest.raises(DataError, match="found 7 columns") as caught:
        read(path, "run")
    assert caught.value.where == f"{path}:{2 if comment else 1}"
    assert repr(lines[0].replace(" ", separator)) in caught.value.found


def test_words_behind_the_tag_are_no_columns_where_tabs_separate_these(tmp_path: Path) -> None:
    """NIST's own test file has such lines, and trec_eval reads them."""
    path = put(tmp_path, "run.trec", "q1\tQ0\td1\t1\t  2.5\ttag\nq1\tQ0\td2\t2\t  1.5\ttag reserved for \n")
    assert read(path, "run").rows() == [("q1", "d1", 2.5), ("q1", "d2", 1.5)]


def test_a_line_too_long_and_a_line_too_short_do_not_make_up_for_each_other(tmp_path: Path) -> None:
    """Counted over the whole file, the separators are as many as there should be."""
    regular = "q1 Q0 d1 1 2.5 tag\n" * 50_000
    path = put(tmp_path, "run.trec", f"{regular}q1 Q0 kb 031 1 7.39 tag\n{regular}q1 Q0 d2 2 1.5\n")
    with pytest.raises(DataError, match="found 7 columns") as caught:
        read(path, "run")
    assert caught.value.where == f"{path}:50001"


def test_a_long_line_is_shown_shortened(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(put(tmp_path, "run.trec", RUN + "x" * 500 + "\n"), "run")
    assert "x" * 79 + "…" in caught.value.found
    assert len(caught.value.found) < 160


@pytest.mark.parametrize(
    ("kind", "text", "hint"), [("gold", RUN, "looks like a TREC run"), ("run", QRELS, "looks like a TREC qrels")]
)
def test_swapped_files_are_recognised(tmp_path: Path, kind: str, text: str, hint: str) -> None:
    with pytest.raises(DataError) as caught:
        read(put(tmp_path, "file.txt", text), kind)
    assert caught.value.where == f"{tmp_path / 'file.txt'}:1"
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize("text", ["# only\n# comments\n", "#\n", "\n \n# x"])
def test_comments_alone_are_no_data(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match="no line with data"):
        read(put(tmp_path, "run.trec", text), "run")


# --- writing ------------------------------------------------------------------------------------------------------


def test_a_run_is_written_query_by_query_in_order_of_score(tmp_path: Path) -> None:
    frame = read(put(tmp_path, "in.csv", "query_id,item_id,score\nz,a,1\nz,b,3\na,c,2\nz,c,2\n"), "run")
    write(frame, tmp_path / "my system.trec", "run")
    lines = (tmp_path / "my system.trec").read_text().splitlines()
    assert lines == [
        "z Q0 b 1 3.0 my_system",
        "z Q0 c 2 2.0 my_system",
        "z Q0 a 3 1.0 my_system",
        "a Q0 c 1 2.0 my_system",
    ]


def test_whole_grades_are_written_whole(tmp_path: Path) -> None:
    write(read(put(tmp_path, "in.txt", QRELS), "gold"), tmp_path / "out.qrels", "gold")
    assert (tmp_path / "out.qrels").read_text() == QRELS


@pytest.mark.parametrize("bad", ["a b", "a\tb", "#a", "", "a\nb", "a\u2003b"])
@pytest.mark.parametrize("column", ["query_id", "item_id"])
def test_ids_that_trec_cannot_hold_are_refused(tmp_path: Path, column: str, bad: str) -> None:
    frame = read(put(tmp_path, "in.txt", QRELS), "gold")
    frame = frame.with_columns(frame[column].replace({"q2": bad, "d2": bad}))
    with pytest.raises(DataError, match="cannot be written to a TREC file") as caught:
        write(frame, tmp_path / "out.qrels", "gold")
    assert repr(bad) in caught.value.found
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


LAYOUTS = st.text("ab#\n\r \t", max_size=40)


def plain_layout(text: str, separator: str) -> tuple[int, bool] | None:
    """The same by looking at every character and its successor."""
    other = "\t" if separator == " " else " "
    followers = zip(text, (text + "\n")[1:], strict=True)
    if other in text or any(one == separator and next_ in " \t\r\n" for one, next_ in followers):
        return None
    return text.count(separator), "#" in text


@pytest.mark.parametrize("chunk", [2, 3, 5, 1 << 17])
@pytest.mark.parametrize("separator", [" ", "\t"])
@settings(max_examples=150, deadline=None, derandomize=True)
@given(text=LAYOUTS)
@example(text="a b")
@example(text="a b ")
@example(text="ab  a")
@example(text="aaa b\na\n")
def test_the_scan_of_bytes_is_like_a_plain_reading(chunk: int, separator: str, text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trec, "_CHUNK", chunk)
        assert trec.scan_bytes(text.encode(), separator) == plain_layout(text, separator)


def test_the_scan_of_a_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    path.write_bytes(b"q Q0 d 1 1.5 t\n" * 20_000)
    assert trec.scan_bytes(path, " ") == trec.scan_bytes(path.read_bytes(), " ") == (100_000, False)
