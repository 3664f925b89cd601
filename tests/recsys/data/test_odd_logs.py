"""Logs that are odd but clear are read; those that are not are refused with the line, not guessed at."""

from pathlib import Path

import polars as pl
import pytest

import rankjury
from rankjury.errors import DataError, RankjuryError, UsageError
from rankjury.recsys.data.attributes import read_items, read_users
from rankjury.recsys.data.read import read_log
from rankjury.recsys.splitting import split_log


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
        with pytest.raises(DataError, match=r"of several kinds: 1 as dates .* 1 as dates with a time zone"):
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
