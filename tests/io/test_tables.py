"""CSV and TSV with a header: the names others give to columns, and rows that do not fit."""

from pathlib import Path

import pytest

from rankjury.errors import DataError
from rankjury.io.formats import read
from tests.io.support import exact, put, read_rows

GOLD_HEADERS = [
    "query_id,item_id,grade",
    "query-id\tcorpus-id\tscore",
    "user_id,item_id,rating",
    "userId,movieId,rating,timestamp",
    "qid,docid,relevance",
    "qid;docno;label",
    "topic|doc_id|rel",
    "Query ID,Doc-ID,Grade",
    '"query_id","item_id","grade"',
    "query_id, item_id, grade",
]
RUN_HEADERS = [
    "query_id,item_id,score",
    "query_id,item_id,score,rank",
    "query_id,item_id,rank,score",
    "qid,docid,score",
    "qid\tpid\tscore",
    "user_id,item_id,prediction",
    "query,doc,similarity,model",
    "model,query,doc,sim",
]
_ORDER = ("query", "item", "value")


def _cells(header: str, query: str, item: str, value: str) -> str:
    """A line that fits the header, whatever the order of its columns."""
    separator = next(mark for mark in "\t;|," if mark in header)
    filled = []
    for name in header.replace('"', "").split(separator):
        folded = name.strip().lower().replace("-", "_").replace(" ", "_")
        if folded in ("query_id", "qid", "topic", "user_id", "userid", "query"):
            filled.append(query)
        elif folded in ("item_id", "docid", "docno", "doc_id", "corpus_id", "movieid", "pid", "doc"):
            filled.append(item)
        else:
            filled.append({"rank": "7", "timestamp": "88", "model": "m"}.get(folded, value))
    return separator.join(filled)


@pytest.mark.parametrize("header", GOLD_HEADERS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_gold_under_any_known_header(tmp_path: Path, header: str, end: str) -> None:
    lines = [header, _cells(header, "q1", "d1", "2"), _cells(header, "007", "d2", "0")]
    path = put(tmp_path, "gold.tsv" if "\t" in header else "gold.csv", end.join(lines) + end)
    assert read_rows(path, "gold") == exact([("q1", "d1", 2.0), ("007", "d2", 0.0)])


@pytest.mark.parametrize("header", RUN_HEADERS)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_run_under_any_known_header(tmp_path: Path, header: str, mark: str) -> None:
    text = "\n".join([mark + header, _cells(header, "q1", "d1", "0.25"), _cells(header, "q2", "d2", "-1e-3")])
    path = put(tmp_path, "run.csv", text)
    assert read_rows(path, "run") == exact([("q1", "d1", 0.25), ("q2", "d2", -0.001)])


def test_rank_alone_makes_a_run(tmp_path: Path) -> None:
    frame = read(put(tmp_path, "run.csv", "query_id,item_id,rank\nq1,d1,1\nq1,d2,2\n"), "run")
    assert frame.rows() == [("q1", "d1", 1.0), ("q1", "d2", 2.0)]
    assert frame.columns == ["query_id", "item_id", "rank"]


def test_quoted_cells_keep_separators_quotes_and_line_ends(tmp_path: Path) -> None:
    text = 'query_id,item_id,score\n"q,1","say ""hi""",1\nq2,"two\nlines",2\n'
    assert read_rows(put(tmp_path, "run.csv", text), "run") == exact(
        [("q,1", 'say "hi"', 1.0), ("q2", "two\nlines", 2.0)]
    )


def test_blanks_around_numbers_do_not_matter(tmp_path: Path) -> None:
    assert read_rows(put(tmp_path, "run.csv", "query_id,item_id,score\nq1,d1, 1.5 \n"), "run") == exact(
        [("q1", "d1", 1.5)]
    )


def test_an_empty_cell_in_a_column_that_is_not_used_does_no_harm(tmp_path: Path) -> None:
    text = "query_id,item_id,score,note\nq1,d1,1,\nq1,d2,2,x\n"
    assert read_rows(put(tmp_path, "run.csv", text), "run") == exact([("q1", "d1", 1.0), ("q1", "d2", 2.0)])


@pytest.mark.parametrize(
    "text",
    [
        "query_id,item_id,score\nq1,d1,1\n\nq1,d2,2\n",
        "query_id,item_id,score\nq1,d1,1\nq1,d2,2\n\n\n",
        "query_id,item_id,score\r\nq1,d1,1\r\nq1,d2,2\r\n\r\n",
    ],
)
def test_blank_lines_are_passed_over(tmp_path: Path, text: str) -> None:
    assert read_rows(put(tmp_path, "run.csv", text), "run") == exact([("q1", "d1", 1.0), ("q1", "d2", 2.0)])


def test_a_blank_line_before_the_header_is_passed_over(tmp_path: Path) -> None:
    assert read_rows(put(tmp_path, "run.csv", "\nquery_id,item_id,score\nq1,d1,1\n"), "run") == exact(
        [("q1", "d1", 1.0)]
    )


H = "query_id,item_id,score\nq1,d0,9\n"
BAD = [
    ("run", H + "q1,d1\n", 3, "found 2 columns in the line 'q1,d1'"),
    ("run", H + "q1,d1,1,2\n", 3, "found 4 columns in the line 'q1,d1,1,2'"),
    ("run", H * 1 + "q1,d1,2\n" * 4000 + "q1,d1\n", 4003, "found 2 columns in the line 'q1,d1'"),
    ("run", H + "q1,d1,high\n", 3, "the score of query 'q1' is 'high'"),
    ("run", H + "q1,d1,nan\n", 3, "'nan'"),
    ("run", H + "q1,d1,NaN\n", 3, "'NaN'"),
    ("run", H + "q1,d1,inf\n", 3, "'inf'"),
    ("run", H + "q1,d1,-inf\n", 3, "'-inf'"),
    ("run", H + "q1,d1,1e999\n", 3, "'1e999'"),
    ("run", H + 'q1,d1,"1,5"\n', 3, "'1,5'"),
    ("run", H + "q1,d1,\n", 3, "no score in the line 'q1,d1,'"),
    ("run", H + ",d1,1\n", 3, "no query_id in the line ',d1,1'"),
    ("run", H + "q1,,1\n", 3, "no item_id in the line 'q1,,1'"),
    ("gold", "user_id,item_id,rating,time\nu,a,3,88\nu,b\n", 3, "found 2 columns in the line 'u,b'"),
    ("gold", "user_id,item_id,rating,time\nu,a,3,88\nu,b,4\n", 3, "found 3 columns"),
    ("run", "query_id,item_id,score,note\nq1,d1,1,\nq1,,2,x\n", 3, "no item_id"),
    ("run", 'query_id,item_id,score\nq1,"d\n1",1\nq1,d2,x\n', 4, "'x'"),
]


@pytest.mark.parametrize(("kind", "text", "line", "found"), BAD)
def test_a_row_that_does_not_fit_is_named_with_its_line(
    tmp_path: Path, kind: str, text: str, line: int, found: str
) -> None:
    with pytest.raises(DataError) as caught:
        read(put(tmp_path, "table.csv", text), kind)
    assert caught.value.where == f"{tmp_path / 'table.csv'}:{line}"
    assert found in caught.value.found


@pytest.mark.parametrize(
    ("kind", "header", "missing"),
    [
        ("gold", "query_id,item_id,timestamp", "grade"),
        ("gold", "query_id,name,grade", "item_id"),
        ("run", "query_id,item_id,timestamp", "score or rank"),
        ("run", "a,b,c", "query_id, item_id, score or rank"),
    ],
)
def test_missing_columns_are_named(tmp_path: Path, kind: str, header: str, missing: str) -> None:
    with pytest.raises(DataError) as caught:
        read(put(tmp_path, "table.csv", f"{header}\n1,2,3\n"), kind)
    assert f"no column for {missing}" in caught.value.found
    assert header.replace(",", ", ") in caught.value.found


@pytest.mark.parametrize("name", ["run.csv", "run.csv.gz", "run.csv.zst"])
def test_a_header_without_rows(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="a header but no rows"):
        read(put(tmp_path, name, "query_id,item_id,score\n"), "run")


# --- gold and run mixed up ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["query_id,item_id,rank", "query_id,item_id,score,rank", "qid,docid,Rank,sim"])
def test_a_table_with_ranks_is_no_gold(tmp_path: Path, header: str) -> None:
    text = header + "\n" + ",".join(["q1", "d1", "1", "2"][: header.count(",") + 1]) + "\n"
    with pytest.raises(DataError, match="are those of a run") as caught:
        read(put(tmp_path, "run.csv", text), "gold")
    assert "The gold comes first" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["run.csv", "run.tsv", "run.csv.gz"])
def test_fractional_scores_are_no_grades(tmp_path: Path, name: str) -> None:
    text = "query_id,item_id,score\nq1,d1,1\nq1,d2,0.5\n"
    with pytest.raises(DataError, match="the column score holds fractions"):
        read(put(tmp_path, name, text.replace(",", "\t") if ".tsv" in name else text), "gold")


@pytest.mark.parametrize(
    "header",
    [
        "query_id,item_id,grade",
        "user_id,item_id,rating",
        "query_id,item_id,rating,score_date",
    ],
)
def test_fractions_under_another_name_are_grades(tmp_path: Path, header: str) -> None:
    text = header + "\n" + ",".join(["q1", "d1", "0.5", "x"][: header.count(",") + 1]) + "\n"
    assert read_rows(put(tmp_path, "gold.csv", text), "gold") == exact([("q1", "d1", 0.5)])


@pytest.mark.parametrize("header", ["query_id,item_id,grade", "user_id,item_id,rating", "qid,docid,relevance"])
def test_a_table_of_grades_is_no_run(tmp_path: Path, header: str) -> None:
    with pytest.raises(DataError, match="no column for score or rank") as caught:
        read(put(tmp_path, "gold.csv", f"{header}\nq1,d1,1\n"), "run")
    assert "Is this the gold?" in str(caught.value.hint)
