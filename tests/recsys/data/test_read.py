"""Logs from files: the formats, the columns, the times, and all that can be wrong with them."""

import gzip
import json
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings, strategies as st

import rankjury
from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError
from rankjury.recsys.data.attributes import Attributes, read_items, read_users
from rankjury.recsys.data.log import Log
from rankjury.recsys.data.read import read_log
from rankjury.recsys.splitting import split_log

ROWS = [("1", "10", 5.0, 978300760), ("1", "20", 3.0, 978302109), ("2", "10", 4.5, 978301968)]
CSV = "userId,movieId,rating,timestamp\n" + "".join(f"{u},{i},{r},{t}\n" for u, i, r, t in ROWS)
DAT = "".join(f"{u}::{i}::{r}::{t}\n" for u, i, r, t in ROWS)
U_DATA = "".join(f"{u}\t{i}\t{r}\t{t}\n" for u, i, r, t in ROWS)
JSONL = "".join(json.dumps({"user_id": int(u), "item_id": i, "rating": r, "ts": t}) + "\n" for u, i, r, t in ROWS)

Put = Callable[[str, str | bytes], Path]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def rows_of(log: Log) -> list[tuple[object, ...]]:
    return list(log.frame().iter_rows())


def fault(path: Path, **options: object) -> str:
    with pytest.raises(DataError) as caught:
        read_log(path, **options)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ratings.csv", CSV),
        ("ratings.dat", DAT),
        ("u.data", U_DATA),
        ("log.jsonl", JSONL),
        ("log.tsv", CSV.replace(",", "\t")),
        ("log.csv", CSV.replace(",", ";")),
        ("crlf.csv", CSV.replace("\n", "\r\n")),
        ("crlf.dat", DAT.replace("\n", "\r\n")),
        ("bom.csv", "\ufeff" + CSV),
        ("blank.csv", CSV.replace("\n1,20", "\n\n1,20") + "\n\n"),
        ("blank.dat", DAT.replace("\n1::20", "\n\n1::20") + "\n"),
        ("blank.jsonl", JSONL.replace("\n", "\n\n")),
        ("no-suffix", CSV),
        ("ratings.csv.gz", gzip.compress(CSV.encode(), mtime=0)),
        ("ratings.dat.gz", gzip.compress(DAT.encode(), mtime=0)),
        ("log.jsonl.gz", gzip.compress(JSONL.encode(), mtime=0)),
        ("ratings.csv.zst", zstandard.compress(CSV.encode())),
        (
            "recbole.inter",
            CSV.replace("userId,movieId,rating,timestamp", "user_id:token,item_id:token,rating:float,time"),
        ),
    ],
)
def test_the_same_log_in_every_format(put: Put, name: str, content: str | bytes) -> None:
    log = read_log(put(name, content))
    assert rows_of(log) == ROWS
    assert (log.unit, log.rated, log.notes) == ("s", True, ())
    assert log.users.to_list() == ["1", "2"] and log.items.to_list() == ["10", "20"]


def test_parquet_with_whole_numbers_and_with_texts(tmp_path: Path) -> None:
    frame = pl.DataFrame(ROWS, schema=["customer_id", "product_id", "stars", "date"], orient="row")
    for name, one in {
        "texts.parquet": frame,
        "numbers.parquet": frame.cast({"customer_id": pl.UInt32, "product_id": pl.Int64}),
        "categories.parquet": frame.cast({"customer_id": pl.Categorical}),
        "floats.parquet": frame.cast({"customer_id": pl.Float64}),
    }.items():
        one.write_parquet(tmp_path / name)
        assert rows_of(read_log(tmp_path / name)) == ROWS


@pytest.mark.parametrize(("name", "content"), [("ratings.csv", CSV), ("ratings.dat", DAT), ("u.data", U_DATA)])
def test_a_folder_as_grouplens_ships_it(put: Put, tmp_path: Path, name: str, content: str) -> None:
    put("README", "words")
    put(name, content)
    log = read_log(tmp_path)
    assert rows_of(log) == ROWS
    assert log.source.endswith(name)


def test_a_folder_without_a_log(tmp_path: Path) -> None:
    assert "found a folder without log; expected one of ratings.dat, ratings.csv, u.data" in fault(tmp_path)


def test_ids_stay_as_they_are_written(put: Put) -> None:
    log = read_log(put("a.csv", "user,item\n7,a\n007,b\n+7,c\n"))
    assert log.users.to_list() == ["+7", "007", "7"]
    assert not log.rated and log.time is None
    assert log.value.tolist() == [1, 1, 1]


def test_numbers_and_texts_as_ids_in_one_file(put: Put) -> None:
    assert rows_of(read_log(put("a.csv", "user,item\n1,2\nx,y\n"))) == [("1", "2", 1.0), ("x", "y", 1.0)]
    mixed = '{"user": 1, "item": "2"}\n{"user": "x", "item": 12345678901234567890}\n'
    assert rows_of(read_log(put("a.jsonl", mixed))) == [("1", "2", 1.0), ("x", "12345678901234567890", 1.0)]


def test_columns_may_be_named(put: Put) -> None:
    path = put("a.csv", "who,what,user,score,when\na,b,z,3,978300760\n")
    log = read_log(path, user="who", item="what", time="when")
    assert rows_of(log) == [("a", "b", 3.0, 978300760)]
    assert rows_of(read_log(path, user="who", item="what", value="when")) == [("a", "b", 978300760.0)]
    with pytest.raises(UnknownName, match=r"unknown column 'whom'.*Did you mean who"):
        read_log(path, user="whom", item="what")
    with pytest.raises(UsageError, match="the column 'who' was given twice"):
        read_log(path, user="who", item="who")


def test_quoted_fields_and_other_columns_do_not_matter(put: Put) -> None:
    path = put("a.csv", 'title,user,item,note\n"A, B",1,"x ""y""",\n"two\nlines",2,z,n\n')
    assert rows_of(read_log(path)) == [("1", 'x "y"', 1.0), ("2", "z", 1.0)]


def test_old_files_in_latin_1_and_ids_with_a_colon(put: Put) -> None:
    assert rows_of(read_log(put("a.dat", "Jos\xe9::1::5::978300760\n".encode("latin-1"))))[0][0] == "José"
    assert rows_of(read_log(put("b.data", "Jos\xe9\t1\t5\t978300760\n".encode("latin-1"))))[0][0] == "José"
    mixed = "1::a:b::5::978300760\n2::c::4::978300761\n"
    assert rows_of(read_log(put("c.dat", mixed))) == [("1", "a:b", 5.0, 978300760), ("2", "c", 4.0, 978300761)]
    last = "2::c::4::978300761\n1::a:b::5::978300760\n"
    assert rows_of(read_log(put("d.dat", last)))[1] == ("1", "a:b", 5.0, 978300760)


def test_a_catalogue_adds_items_that_nobody_took(put: Put) -> None:
    path = put("a.csv", CSV)
    ids = pl.Series(["15", "10", "30"])
    for catalogue in (ids, Attributes(ids, pl.DataFrame()), put("items.csv", "id,title\n15,a\n10,b\n30,c\n")):
        log = read_log(path, catalogue=catalogue)
        assert log.items.to_list() == ["10", "15", "20", "30"]
        assert rows_of(log) == ROWS


# --- times --------------------------------------------------------------------------------------------------------

SECONDS = [978300760, 978302109, 1_000_000_000]


def timed(put: Put, values: list[object]) -> Log:
    return read_log(put("t.csv", "user,item,time\n" + "".join(f"{n},a,{value}\n" for n, value in enumerate(values))))


@pytest.mark.parametrize(
    ("values", "unit", "times"),
    [
        (SECONDS, "s", SECONDS),
        ([t * 1000 + 7 for t in SECONDS], "ms", [t * 1000 + 7 for t in SECONDS]),
        ([t * 10**6 + 7 for t in SECONDS], "us", [t * 10**6 + 7 for t in SECONDS]),
        ([t * 10**9 + 7 for t in SECONDS], "ns", [t * 10**9 + 7 for t in SECONDS]),
        ([f"{t}.0" for t in SECONDS], "s", SECONDS),
        ([f"{t}.25" for t in SECONDS], "us", [t * 10**6 + 250_000 for t in SECONDS]),
        ([978300760, "978300760.5", 978300761], "us", [978300760000000, 978300760500000, 978300761000000]),
        (["9.7830076e+08", 978300761], "s", [978300760, 978300761]),
        ([0, *SECONDS], "s", [0, *SECONDS]),
        ([0, 978300760000], "ms", [0, 978300760000]),
        ([-5, 978300760], "s", [-5, 978300760]),
        ([1, 2, 3], "", [1, 2, 3]),
        ([0, 0], "", [0, 0]),
        (["0.5", "0.25"], "", [500_000, 250_000]),
        ([20200131, 20200201], "s", [1580428800, 1580515200]),
        ([20200131, 20209999], "", [20200131, 20209999]),
        (["2020-01-31", "2020-02-01"], "s", [1580428800, 1580515200]),
        (["2020/01/31", "2020/02/01"], "s", [1580428800, 1580515200]),
        (["2020-01-31 00:00:01", "2020-02-01T00:00:00"], "s", [1580428801, 1580515200]),
        (["2020-01-31 00:00:01.5", "2020-02-01"], "us", [1580428801500000, 1580515200000000]),
        (["2020-01-31T00:00:01Z", "2020-01-31T02:00:00+02:00"], "s", [1580428801, 1580428800]),
        (["2020-01-31 00:00:01+00:00", "2020-01-31 00:00:02+00:00"], "s", [1580428801, 1580428802]),
        (["2020-01-31 00:00"], "s", [1580428800]),
    ],
)
def test_times_of_every_kind(put: Put, values: list[object], unit: str, times: list[int]) -> None:
    log = timed(put, values)
    assert log.time is not None
    assert (log.unit, log.time.tolist()) == (unit, times)
    assert bool(log.notes) == ("0.5" in values or 20200201 in values)


def test_times_of_parquet(tmp_path: Path) -> None:
    moment, later = datetime(2020, 1, 31, 12), datetime(2020, 1, 31, 12, 0, 0, 500_000)
    for column, unit, time in (
        (pl.Series([date(2020, 1, 31)]), "s", 1580428800),
        (pl.Series([moment], dtype=pl.Datetime("ms")), "s", 1580472000),
        (pl.Series([moment], dtype=pl.Datetime("ns")), "s", 1580472000),
        (pl.Series([later], dtype=pl.Datetime("ms")), "ms", 1580472000500),
        (pl.Series([later], dtype=pl.Datetime("us")), "us", 1580472000500 * 10**3),
        (pl.Series([later], dtype=pl.Datetime("ns")), "ns", 1580472000500 * 10**6),
        (pl.Series([moment], dtype=pl.Datetime("us", "UTC")), "s", 1580472000),
        (pl.Series([moment]).dt.replace_time_zone("Europe/Rome"), "s", 1580468400),
        (pl.Series([1580472000], dtype=pl.UInt64), "s", 1580472000),
        (pl.Series([1580472000.5]), "us", 1580472000500000),
        (pl.Series(["2020-01-31 12:00:00"]), "s", 1580472000),
    ):
        pl.DataFrame({"user": ["a"], "item": ["b"], "time": column}).write_parquet(tmp_path / "a.parquet")
        log = read_log(tmp_path / "a.parquet")
        assert log.time is not None
        assert (log.unit, log.time.tolist()) == (unit, [time])


def test_units_that_are_mixed_are_told_with_counts_and_lines(put: Put) -> None:
    path = put(
        "t.csv", "user,item,timestamp\n1,a,978300760\n1,b,978300761000\n\n2,a,978300762\n2,b,978300763000\n2,c,1\n"
    )
    told = fault(path)
    assert f"3 in seconds (first 978300760 at {path}:2), 2 in milliseconds (first 978300761000 at {path}:3)" in told
    told = fault(put("u.dat", "1::a::5::978300760000000000\n1::b::5::978300761000000\n"))
    assert "1 in microseconds (first 978300761000000" in told and "1 in nanoseconds" in told


def test_times_of_several_kinds_are_told(put: Put) -> None:
    path = put("t.csv", "user,item,time\n1,a,2020-01-31\n1,b,978300761\n1,c,2020-01-31\n")
    assert f"1 as numbers (first 978300761 at {path}:3), 2 as dates (first 2020-01-31 at {path}:2)" in fault(path)
    told = fault(put("z.csv", "user,item,time\n1,a,2020-01-31T00:00:00\n1,b,2020-01-31T00:00:00Z\n"))
    assert "1 as dates (" in told and "1 as dates with a time zone (" in told


# --- faults -------------------------------------------------------------------------------------------------------

HEAD = "userId,movieId,rating,timestamp\n1,10,5,978300760\n"


@pytest.mark.parametrize(
    ("name", "content", "line", "told"),
    [
        ("a.csv", HEAD + ",20,5,978300760\n", 3, "no userId in the line ',20,5,978300760'"),
        ("a.csv", HEAD + "1,,5,978300760\n", 3, "no movieId"),
        ("a.csv", HEAD + '1,"  ",5,978300760\n', 3, "no movieId"),
        ("a.csv", HEAD + "1,20,,978300760\n", 3, "no rating"),
        ("a.csv", HEAD + "1,20,5,\n", 3, "no timestamp"),
        ("a.csv", HEAD + "\n1,20,five,978300760\n", 4, "the rating of user 1 for item 20 is 'five'"),
        ("a.csv", HEAD + "1,20,nan,978300760\n", 3, "the rating of user 1 for item 20 is 'nan'"),
        ("a.csv", HEAD + "1,20,inf,978300760\n", 3, "is 'inf'; expected a finite number"),
        ("a.csv", HEAD + "1,20,5,yesterday\n", 3, "the timestamp is 'yesterday'; expected seconds"),
        ("a.csv", HEAD + "1,20,5,nan\n", 3, "the timestamp is nan"),
        ("a.csv", HEAD + "1,20,5\n", 3, "found 3 fields in the line '1,20,5'; expected 4: userId, movieId, rating"),
        ("a.csv", HEAD + "1,20,5,978300760,6\n", 3, "found 5 fields"),
        ("a.csv", HEAD + " 1,20,5,978300760\n", 3, "the userId is ' 1', with blanks around it (1 such id)"),
        ("a.csv", 'user,item,rating\n1,"a\nb",3\n2,c,x\n', 4, "the rating of user 2 for item c is 'x'"),
        ("a.csv", "user,item,rating\n,,\n1,b,3\n\n2,c,x\n", 5, "the rating of user 2 for item c is 'x'"),
        ("a.csv", 'user,item,n\n1,"a\nb",x\n2,,x\n', 4, "no item"),
        ("a.csv", "1,31,2.5,1260759144\n1,32,2.5,1260759144\n", 1, "names no columns; expected a header"),
        ("a.csv", b"user,item\n1,2\n3,\xff\xfe\n", 3, "found bytes that are not UTF-8"),
        ("a.dat", "1::10::5::978300760\n1::20::5\n", 2, "found 3 fields in the line '1::20::5'"),
        ("a.dat", "1::10::5::978300760\n\n1::20::5::978300760::9\n", 3, "found 5 fields"),
        ("a.dat", "1::10::5::978300760\n::20::5::978300760\n", 2, "no user in the line"),
        ("a.dat", "1::10::5::978300760\n1::20:: ::978300760\n", 2, "no rating in the line"),
        ("a.dat", "1::10::5::978300760\n1::20::x::978300760\n", 2, "the rating of user 1 for item 20 is 'x'"),
        ("a.dat", "1::10::5::978300760::x\n", 1, "found 5 fields"),
        ("u.data", "1\t10\t5\t978300760\n1\t20\t5\n", 2, "found 3 fields"),
        ("u.data", "1\t10\t5\t978300760\n1\t20\t5\tx\n", 2, "the timestamp is 'x'"),
        ("a.jsonl", '{"user": 1, "item": 2}\nnope\n', 2, "not JSON"),
        ("a.jsonl", '{"user": 1, "item": 2}\n\n[1, 2]\n', 3, "found '[1, 2]'; expected an object"),
        ("a.jsonl", '{"user": 1, "item": 2}\n\n{"user": 1}\n', 3, "no item"),
        ("a.jsonl", '{"user": 1, "item": 2, "rating": 1}\n{"user": 1, "item": 3, "rating": "x"}\n', 2, "is 'x'"),
        ("a.jsonl", '{"user": 1, \n', 1, "not JSON"),
    ],
)
def test_rows_that_do_not_fit_are_told_with_their_line(
    put: Put, name: str, content: str | bytes, line: int, told: str
) -> None:
    path = put(name, content)
    message = fault(path)
    assert message.startswith(f"{path}:{line}: ")
    assert told in message


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", "", "the file is empty"),
        ("a.csv", "\n \n", "found only blank lines"),
        ("a.csv", "user,item,rating\n", "found a header but no rows"),
        ("a.csv", "name,item,rating\nx,y,3\n", "found the columns name, item, rating; none for user"),
        ("a.csv", "user,item,item\n1,2,3\n", "duplicate column 'item'"),
        ("a.csv", b"\x00\x01\x02\x03 user,item", "found bytes that are not text"),
        ("a.parquet", "user,item\n1,2\n", "not a Parquet file"),
        ("a.parquet", b"PAR1 and no more", "cannot be read as Parquet"),
        ("a.jsonl", '{"user": 1, "thing": 2}\n', "none for item"),
        ("a.zip", b"PK\x03\x04\xff\xff\xff\xff", "compressed with zip"),
        ("a.csv.gz", gzip.compress(CSV.encode() * 1000, mtime=0)[:60], "the gzip stream is damaged or truncated"),
    ],
)
def test_files_that_are_no_logs(put: Put, name: str, content: str | bytes, told: str) -> None:
    path = put(name, content)
    message = fault(path)
    assert message.startswith(str(path))
    assert told in message


def test_parquet_columns_of_the_wrong_type_and_gaps(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    for columns, told in (
        ({"user": ["a", None], "item": ["b", "c"]}, "row 2: no user"),
        ({"user": [1.5], "item": ["b"]}, "user is of type Float64"),
        ({"user": [["a"]], "item": ["b"]}, "user is of type List"),
        ({"user": ["a"], "item": ["b"], "rating": [None]}, "rating is of type Null"),
        ({"user": ["a"], "item": ["b"], "rating": [float("nan")]}, "the rating of user a for item b is nan"),
        ({"user": ["a", "a"], "item": ["b", "c"], "rating": [1.0, None]}, "row 2: no rating"),
        ({"user": ["a"], "item": ["b"], "rating": [date(2020, 1, 1)]}, "rating is of type Date"),
        ({"user": ["a", "b"], "item": ["b", "c"], "time": [1, None]}, "row 2: no time"),
        ({"user": ["a"], "item": ["b"], "time": [True]}, "time is of type Boolean"),
    ):
        pl.DataFrame(columns).write_parquet(path)
        assert told in fault(path)


def test_ratings_outside_the_scale(put: Put) -> None:
    path = put("a.csv", HEAD + "2,20,0,978300760\n3,30,5.5,978300760\n")
    assert len(read_log(path)) == 3
    told = fault(path, scale=(0.5, 5))
    assert told == f"{path}:3: the rating of user 2 for item 20 is 0 (2 rows are outside the scale); expected 0.5 to 5"
    assert len(read_log(path, scale=(0, 5.5))) == 3
    with pytest.raises(UsageError, match="the scale 5 to 1 is empty"):
        read_log(path, scale=(5, 1))


def test_formats_may_be_named(put: Put) -> None:
    assert rows_of(read_log(put("odd.csv", U_DATA), format="u.data")) == ROWS
    assert "found 1 field in the line" in fault(put("a.csv", CSV), format="u.data")
    with pytest.raises(UnknownName, match="unknown format 'csw'"):
        read_log(put("a.csv", CSV), format="csw")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "no such file" in fault(tmp_path / "none.csv")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.text("abc019:é ,\"'\n", min_size=1, max_size=4).filter(lambda text: text == text.strip()),
            st.integers(0, 10**12).map(str) | st.sampled_from(["007", "x"]),
            st.floats(-1e6, 1e6),
            st.integers(10**8, 10**11 - 1),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_whatever_a_table_holds_is_read_back(tmp_path: Path, rows: list[tuple[str, str, float, int]]) -> None:
    frame = pl.DataFrame(rows, schema=["user", "item", "rating", "timestamp"], orient="row")
    frame.write_csv(tmp_path / "a.csv")
    frame.write_ndjson(tmp_path / "a.jsonl")
    frame.write_parquet(tmp_path / "a.parquet")
    for name in ("a.csv", "a.jsonl", "a.parquet"):
        log = read_log(tmp_path / name)
        assert [row[:2] for row in rows_of(log)] == [row[:2] for row in rows]
        assert np.allclose(log.value, [row[2] for row in rows], rtol=1e-12, atol=0)
        assert log.time is not None and log.time.tolist() == [row[3] for row in rows]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text('1:,\t\n{}"ue', max_size=40).map(str.encode), st.booleans())
def test_garbage_is_an_error_that_is_meant(tmp_path: Path, content: bytes, headed: bool) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"user,item,rating,time\n" * headed + content)
    try:
        log = read_log(path)
    except RankjuryError as error:
        assert str(path) in str(error)
    else:
        assert len(log) and np.isfinite(log.value).all()


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


class TestTimes:
    HEAD = "user,item,time\n"

    def test_names_of_zones_are_not_guessed(self, tmp_path: Path) -> None:
        path = written(tmp_path, "log.csv", self.HEAD + "1,2,2020-01-01 00:00:00 PST\n1,3,2020-01-02 00:00:00 CET\n")
        with pytest.raises(DataError, match=r"log\.csv:2: the time is '2020-01-01 00:00:00 PST'"):
            read_log(path)

    @pytest.mark.parametrize(
        ("times", "hint"),
        [
            (["01/02/2009 02:52", "14/12/2009 02:52"], "2009-02-01"),
            (["14.12.2009", "01.02.2009"], "2009-12-14"),
            (["01/02/2009", "12/14/2009"], "2009-01-02"),
            (["01/02/2009", "03/04/2009"], "year-month-day"),
            (["31/31/2009", "01/02/2009"], None),
            (["soon", "14/12/2009"], None),
        ],
    )
    def test_dates_with_the_year_last(self, tmp_path: Path, times: list[str], hint: str | None) -> None:
        """The error says how to write them, by their order where a day above 12 shows it."""
        rows = "".join(f"1,{n},{time}\n" for n, time in enumerate(times))
        with pytest.raises(DataError, match=r"log\.csv:2: ") as caught:
            read_log(written(tmp_path, "log.csv", self.HEAD + rows))
        assert (caught.value.hint is None) if hint is None else (hint in str(caught.value.hint))

    def test_universal_time_by_its_names(self, tmp_path: Path) -> None:
        rows = [
            "2020-01-01 00:00:00 UTC",
            "2020-01-01 00:00:00Z",
            "2020-01-01T00:00:00 gmt",
            "2020-01-01T05:00:00+05:00",
        ]
        path = written(tmp_path, "log.csv", self.HEAD + "".join(f"1,{n},{one}\n" for n, one in enumerate(rows)))
        time = read_log(path).time
        assert time is not None and set(time.tolist()) == {1_577_836_800}

    def test_with_and_without_a_zone(self, tmp_path: Path) -> None:
        path = written(tmp_path, "log.csv", self.HEAD + "1,2,2020-01-01T00:00:00+05:00\n1,3,2020-01-01 00:00:00\n")
        with pytest.raises(DataError, match=r"of several types: 1 as dates .* 1 as dates with a time zone"):
            read_log(path)


class TestText:
    @pytest.mark.parametrize("blank", ["\n", "  \n\n"])
    def test_blank_lines_above_everything(self, tmp_path: Path, blank: str) -> None:
        for name, row in (("ratings.dat", "1::{}::3::97830000{}\n"), ("u.data", "1\t{}\t3\t97830000{}\n")):
            path = written(tmp_path, name, blank + row.format(2, 0) + row.format(3, 1))
            assert read_log(path).items.to_list() == ["2", "3"]

    def test_a_third_field_that_can_only_be_a_time(self, tmp_path: Path) -> None:
        log = read_log(written(tmp_path, "u.data", "1\t2\t978300000\n1\t3\t978300001\n"))
        assert not log.rated and log.time is not None and log.time.tolist() == [978300000, 978300001]
        log = read_log(written(tmp_path, "u.data", "1\t2\t5\n1\t3\t4\n"))
        assert log.rated and log.time is None

    def test_a_quote_within_a_field(self, tmp_path: Path) -> None:
        path = written(tmp_path, "log.csv", 'user,item,rating\n1,5" disc,3\n1,"a, b",4\n\n')
        assert read_log(path).items.to_list() == ['5" disc', "a, b"]

    def test_a_quote_that_is_never_closed_is_told_where_it_opens(self, tmp_path: Path) -> None:
        path = written(tmp_path, "log.csv", 'user,item,rating\n1,a,3\n1,"b,3\n2,c,3\n2,d,3\n')
        with pytest.raises(DataError, match=r"log\.csv:3: found 2 fields"):
            read_log(path)

    def test_json_behind_a_byte_order_mark(self, tmp_path: Path) -> None:
        path = written(tmp_path, "log.jsonl", '\ufeff{"user": 1, "item": 2}\n{"user": 1, "item": 3}\n')
        assert read_log(path).items.to_list() == ["2", "3"]

    def test_no_ratings_though_a_column_is_called_so(self, tmp_path: Path) -> None:
        path = written(tmp_path, "log.csv", "user,item,label\n1,2,click\n1,3,buy\n")
        with pytest.raises(DataError, match="the label of user 1 for item 2 is 'click'"):
            read_log(path)
        assert not read_log(path, value="none").rated

    @pytest.mark.parametrize(("name", "text"), [("ratings.dat", "1::2::5::{0}\n"), ("u.data", "1\t2\t5\t{0}\n")])
    def test_nor_where_there_is_no_header(self, tmp_path: Path, name: str, text: str) -> None:
        log = read_log(written(tmp_path, name, text.format(978300000)), value="none")
        assert not log.rated and log.time is not None
        assert read_log(tmp_path / name, time="none").time is None


class TestUnusedColumns:
    """A log whose ratings have a name that is not known is read without them, and that is a warning."""

    ROWS = [
        {"user": f"u{n % 3}", "item": f"i{n}", "sterne": 1 + n * n % 5, "zeit": 1_260_000_000 + n, "shop_id": n % 4}
        | {"year": 2009 + n % 2, "number": n + 1, "note": "x"}
        for n in range(12)
    ]

    @pytest.fixture(params=["csv", "jsonl", "parquet", "frame"])
    def log(self, request: pytest.FixtureRequest, tmp_path: Path) -> Path | pl.DataFrame:
        frame, path = pl.DataFrame(self.ROWS), tmp_path / f"log.{request.param}"
        if request.param == "frame":
            return frame
        writers = {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}
        writers[request.param](path)
        return path

    def test_numbers_that_may_be_ratings_are_named(self, log: Path | pl.DataFrame) -> None:
        """Not the times, ids, years, numbers of rows and texts beside them."""
        found = read_log(log)
        assert not found.rated and set(found.value.tolist()) == {1.0}
        (note,) = found.notes
        assert "unused: sterne;" in note and "--value" in note

    def test_none_where_they_are_named_or_said_to_be_absent(self, log: Path | pl.DataFrame) -> None:
        assert read_log(log, value="sterne").notes == () == read_log(log, value="none").notes
        assert read_log(log, value="sterne").rated

    def test_none_where_no_column_may_be_a_rating(self) -> None:
        assert read_log(pl.DataFrame(self.ROWS).drop("sterne")).notes == ()
        assert read_log(pl.DataFrame(self.ROWS).with_columns(rating=pl.lit(2.0))).notes == ()


class TestFrames:
    TABLE = pl.DataFrame({"who": [1, 1, 2], "movieId": [7, 8, 7], "rating": [3.0, 4.0, 5.0], "timestamp": [1, 2, 3]})

    def test_of_polars_and_pandas(self) -> None:
        log = read_log(self.TABLE, user="who")
        assert read_log(self.TABLE.to_pandas(), user="who").frame().equals(log.frame())
        assert log.frame().rows()[0] == ("1", "7", 3.0, 1)

    def test_faults_name_the_row(self) -> None:
        with pytest.raises(DataError, match=r"frame, row 2: the rating of user 1 for item 8 is 4 .*; expected 0 to 3"):
            read_log(self.TABLE.head(2), user="who", scale=(0, 3))
        with pytest.raises(DataError, match="none for user"):
            read_log(self.TABLE)
        with pytest.raises(UsageError, match="the log is of type int; expected a path or a frame"):
            read_log(3)


class TestAttributes:
    def test_ids_by_the_names_that_logs_have(self, tmp_path: Path) -> None:
        items = read_items(written(tmp_path, "items.csv", "title,asin\nA,x\nB,y\n"))
        assert items.ids.to_list() == ["x", "y"] and items.titles == {"x": "A", "y": "B"}
        users = read_users(written(tmp_path, "users.csv", "customer_id,age\n1,old\n2,young\n"))
        assert users.ids.to_list() == ["1", "2"]

    def test_whole_numbers_that_were_kept_as_floats(self, tmp_path: Path) -> None:
        pl.DataFrame({"item": [1.0, 2.0], "genre": ["a", "b"]}).write_parquet(tmp_path / "items.parquet")
        assert read_items(tmp_path / "items.parquet").ids.to_list() == ["1", "2"]


class TestDates:
    """A number in a date is what it would be in the log."""

    LOG = pl.DataFrame({"user": ["a"] * 6, "item": range(6)})

    @pytest.mark.parametrize(
        ("times", "date"),
        [
            ([20200101, 20200102, 20200103, 20200104, 20200105, 20200106], 20200104),
            ([1577836800.5, 1577836801, 1577836802, 1577836803.5, 1577836804, 1577836805], "1577836803.5"),
            ([1577836800, 1577836801, 1577836802, 1577836803, 1577836804, 1577836805], 1577836803000),
            ([1546300800, 1546300801, 1546300802, 1577836800, 1577836801, 1577836802], 2020),
            ([1, 2, 3, 2020, 2021, 2022], 2020),
        ],
    )
    def test_as_the_log_has_them(self, times: list[float], date: object) -> None:
        split = split_log(read_log(self.LOG.with_columns(time=pl.Series(times))), "dates", test=date)
        assert split.window_codes.tolist() == [0, 0, 0, 2, 2, 2]

    @pytest.mark.parametrize("value", [float("nan"), float("inf")])
    def test_settings_are_finite(self, value: float) -> None:
        log = read_log(self.LOG.with_columns(time=pl.Series(range(6))))
        for kind, name in (("users", "fraction"), ("rolling", "share"), ("rolling", "days")):
            with pytest.raises(UsageError, match=f"{name} is .*; expected"):
                split_log(log, kind, **{name: value})


@pytest.mark.parametrize("sampled", [0, -1, 2.5, "3", True])
def test_candidates_are_drawn_by_a_whole_number(sampled: object) -> None:
    with pytest.raises(RankjuryError, match="sampled"):
        rankjury.held_out(TestFrames.TABLE.rename({"who": "user"}), fractions="50/0/50", sampled=sampled)  # type: ignore[arg-type]
