"""Splits in folders: written whole or not at all, read back the same, and refused where something is wrong."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rankjury.errors import DataError, UsageError
from rankjury.recsys.data import split_folder as saving
from rankjury.recsys.data.log import Log, log_from_frame
from rankjury.recsys.data.split_folder import is_split_folder, read_folds, read_split, write_folds, write_split
from rankjury.recsys.split import WINDOWS, Split, window_sizes
from rankjury.recsys.splitting import split_folds, split_log
from tests.core.test_temp_files import mark_of_the_dead

ROWS = 60


@pytest.fixture
def log() -> Log:
    """Ids that are no whole numbers, and sort otherwise than numbers do."""
    places = range(ROWS)
    frame = pl.DataFrame(
        {
            "user": [f"u{place % 7}" for place in places],
            "item": [f"{place % 11:02d}" for place in places],
            "value": [place % 5 + 0.5 for place in places],
            "time": [1_000_000_000 + 3 * place for place in places],
        }
    )
    return log_from_frame(frame, source="log.csv", notes=("something to know",))


@pytest.fixture
def written(log: Log, tmp_path: Path) -> Path:
    write_split(split_log(log), tmp_path / "split")
    return tmp_path / "split"


def same(one: Split, other: Split) -> None:
    """The same rows by code in each window, and the same ids behind the codes."""
    assert one.log.users.equals(other.log.users) and one.log.items.equals(other.log.items)
    for name in WINDOWS:
        ours, theirs = one.window(name), other.window(name)
        assert ours.frame().equals(theirs.frame())
        assert ours.user.tolist() == theirs.user.tolist() and ours.item.tolist() == theirs.item.tolist()
    assert (one.settings, one.cutoffs, one.leaks) == (other.settings, other.cutoffs, other.leaks)
    assert (one.log.unit, one.log.rated, one.log.notes) == (other.log.unit, other.log.rated, other.log.notes)


def change(folder: Path, **changes: Any) -> None:
    path = folder / "split.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


class TestBackAndForth:
    @pytest.mark.parametrize(
        ("kind", "options"),
        [
            ("temporal", {}),
            ("temporal", {"fractions": "80/0/20"}),
            ("leave-last", {"n": 2}),
            ("random", {}),
            ("rolling", {"windows": 4, "window": 2, "share": 0.2, "train": "sliding"}),
        ],
    )
    def test_the_same_split(self, log: Log, tmp_path: Path, kind: str, options: dict[str, Any]) -> None:
        split = split_log(log, kind, **options)
        write_split(split, tmp_path)
        same(split, read_split(tmp_path))

    def test_whole_numbers_stay_numbers(self, tmp_path: Path) -> None:
        frame = pl.DataFrame(
            {"user": [1, 2, 10, 2], "item": [7, -8, 9, 7], "value": [1, 2, 3, 4], "time": [4, 3, 2, 1]}
        )
        split = split_log(log_from_frame(frame), "dates", test=4)
        write_split(split, tmp_path)
        same(split, read_split(tmp_path))
        assert pl.read_parquet_schema(tmp_path / "train.parquet")["user"] == pl.Int64

    def test_numbers_written_oddly_stay_texts(self, written: Path) -> None:
        schema = pl.read_parquet_schema(written / "test.parquet")
        assert schema == {"user": pl.String, "item": pl.String, "value": pl.Float64, "time": pl.Int64}

    def test_items_that_nobody_took(self, log: Log, tmp_path: Path) -> None:
        split = split_log(log.with_items(pl.Series(["00a", "zz"])), "leave-last")
        write_split(split, tmp_path)
        same(split, read_split(tmp_path))

    def test_users_and_items_of_no_window(self, log: Log, tmp_path: Path) -> None:
        frame = pl.concat([log.frame(), pl.DataFrame({"user": ["a"], "item": ["0"], "value": [1.0], "time": [2**31]})])
        split = split_log(log_from_frame(frame), "rolling", windows=3, share=0.1)
        assert "a" not in split.window(*WINDOWS).frame()["user"]
        write_split(split, tmp_path)
        same(split, read_split(tmp_path))

    def test_without_times_and_ratings(self, log: Log, tmp_path: Path) -> None:
        split = split_log(log_from_frame(log.frame().select("user", "item")), "random", fractions="60/20/20")
        write_split(split, tmp_path)
        same(split, read_split(tmp_path))
        assert not read_split(tmp_path).log.rated and read_split(tmp_path).log.time is None

    def test_the_record(self, log: Log, written: Path) -> None:
        record = json.loads((written / "split.json").read_text())
        assert record["schema"] == "rankjury.split/1"
        assert record["source"] == "log.csv"
        assert record["rows"] == {"log": ROWS, "left_out": 0}
        assert record["how"] == {"kind": "temporal", "fractions": [0.8, 0.1, 0.1]}
        assert record["cutoffs"]["test"] == {"time": 1_000_000_162, "iso": "2001-09-09T01:49:22Z"}
        assert record["windows"] == window_sizes(split_log(log))
        assert record["leaks"] == []

    def test_folds(self, log: Log, tmp_path: Path) -> None:
        splits = split_folds(log, "users", folds=3, fraction=0.4)
        write_folds(splits, tmp_path / "folds")
        for one, other in zip(splits, read_folds(tmp_path / "folds"), strict=True):
            same(one, other)
        same(splits[1], read_split(tmp_path / "folds" / "fold-2"))
        with pytest.raises(DataError, match=r"found several folds; expected one of them. Choose one: .*fold-1"):
            read_split(tmp_path / "folds")

    def test_one_split_is_its_only_fold(self, written: Path) -> None:
        (only,) = read_folds(written)
        same(only, read_split(written))

    def test_is_one(self, written: Path, tmp_path: Path) -> None:
        assert is_split_folder(written) and not is_split_folder(tmp_path) and not is_split_folder(tmp_path / "nowhere")


class TestTargets:
    def test_a_folder_of_something_else(self, log: Log, tmp_path: Path) -> None:
        (tmp_path / "thesis.tex").write_text("words")
        with pytest.raises(UsageError, match=r"such as thesis\.tex; expected a new or an empty folder. Use --force"):
            write_split(split_log(log), tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
        write_split(split_log(log), tmp_path, force=True)
        assert (tmp_path / "thesis.tex").read_text() == "words" and is_split_folder(tmp_path)

    def test_a_split_is_replaced(self, log: Log, written: Path) -> None:
        split = split_log(log, "leave-last")
        write_split(split, written)
        same(split, read_split(written))

    def test_a_split_with_something_beside_it(self, log: Log, written: Path) -> None:
        (written / "notes.txt").write_text("words")
        with pytest.raises(UsageError, match=r"such as notes\.txt"):
            write_split(split_log(log), written)

    def test_folds_in_place_of_a_split_and_back(self, log: Log, written: Path) -> None:
        splits = split_folds(log, "users", folds=3, fraction=0.4)
        with pytest.raises(UsageError, match="other files"):
            write_folds(splits, written)
        write_folds(splits, written, force=True)
        assert {path.name for path in written.iterdir()} == {"split.json", "fold-1", "fold-2", "fold-3"}
        write_folds(splits[:2], written, force=True)
        assert {path.name for path in written.iterdir()} == {"split.json", "fold-1", "fold-2"}
        write_split(splits[0], written, force=True)
        assert {path.name for path in written.iterdir()} == {"split.json", *(f"{name}.parquet" for name in WINDOWS)}

    def test_files_that_only_look_like_ours_are_left_alone(self, log: Log, tmp_path: Path) -> None:
        (tmp_path / "train.parquet").write_text("mine")
        write_folds(split_folds(log, "users", folds=2, fraction=0.4), tmp_path, force=True)
        assert (tmp_path / "train.parquet").read_text() == "mine"

    def test_a_file_in_the_way(self, log: Log, tmp_path: Path) -> None:
        (tmp_path / "split").write_text("words")
        with pytest.raises(DataError, match="found a file; expected a folder"):
            write_split(split_log(log), tmp_path / "split", force=True)

    def test_all_or_nothing(self, log: Log, tmp_path: Path) -> None:
        """The last window cannot take its place: the others do not either."""
        (tmp_path / "test.parquet").mkdir()
        with pytest.raises(DataError, match="found a folder"):
            write_split(split_log(log), tmp_path, force=True)
        assert [path.name for path in tmp_path.iterdir()] == ["test.parquet"]


class TestFaults:
    def test_no_split(self, tmp_path: Path) -> None:
        with pytest.raises(
            DataError, match=r"found no split\.json; expected a split. Create one with: rankjury split LOG -o DIR"
        ):
            read_split(tmp_path)

    @pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\xff"])
    def test_an_unreadable_record(self, written: Path, text: str) -> None:
        (written / "split.json").write_text(text, encoding="latin-1")
        with pytest.raises(DataError, match=r"split\.json"):
            read_split(written)

    @pytest.mark.parametrize("form", [[], {}, {"schema": "rankjury.split/2"}])
    def test_another_schema(self, written: Path, form: Any) -> None:
        (written / "split.json").write_text(json.dumps(form))
        with pytest.raises(DataError, match=r"expected rankjury\.split/1"):
            read_split(written)

    @pytest.mark.parametrize(
        "changes",
        [{"windows": {}}, {"cutoffs": []}, {"how": 3}, {"leaks": None}, {"idle_ids": {"users": 1}, "unit": {}}],
    )
    def test_an_odd_record(self, written: Path, changes: dict[str, Any]) -> None:
        change(written, **changes)
        with pytest.raises(DataError, match=r"invalid record|cannot be read as Parquet|no such file"):
            read_split(written)

    def test_odd_folds(self, log: Log, tmp_path: Path) -> None:
        write_folds(split_folds(log, "users", folds=2, fraction=0.4), tmp_path)
        change(tmp_path, folds="fold-1")
        with pytest.raises(DataError, match="folds is not a list"):
            read_folds(tmp_path)

    def test_a_missing_window(self, written: Path) -> None:
        (written / "validation.parquet").unlink()
        with pytest.raises(DataError, match=r"validation\.parquet: the file is missing; expected the 6 rows"):
            read_split(written)

    def test_other_rows(self, written: Path) -> None:
        shutil.copy(written / "train.parquet", written / "test.parquet")
        with pytest.raises(DataError, match=r"test\.parquet: found 48 rows; expected 6"):
            read_split(written)

    def test_no_parquet(self, written: Path) -> None:
        (written / "test.parquet").write_text("words")
        with pytest.raises(DataError, match="cannot be read as Parquet"):
            read_split(written)

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            (pl.col("time").alias("when"), "found no column time"),
            (pl.lit(None).alias("time"), "some rows have no time"),
            (pl.lit("noon").alias("time"), "cannot be read as Parquet"),
        ],
    )
    def test_other_columns(self, written: Path, changed: pl.Expr, message: str) -> None:
        frame = pl.read_parquet(written / "test.parquet")
        frame.select("user", "item", "value", changed).write_parquet(written / "test.parquet")
        with pytest.raises(DataError, match=message):
            read_split(written)


class TestInterrupted:
    """Folds are all of one split, or there are none that anything vouches for."""

    @pytest.fixture
    def log(self) -> Log:
        rows = [(user, item, 3.0, user + item) for user in range(9) for item in range(4)]
        return log_from_frame(pl.DataFrame(rows, schema=["user", "item", "value", "time"], orient="row"))

    def interrupted(self, monkeypatch: pytest.MonkeyPatch, log: Log, folder: Path, seed: int) -> None:
        """At the third fold."""
        write, calls = saving._write, iter(range(99))

        def stopping(*given: Any) -> Any:
            if next(calls) == 2:
                raise KeyboardInterrupt
            return write(*given)

        with monkeypatch.context() as patched:
            patched.setattr(saving, "_write", stopping)
            with pytest.raises(KeyboardInterrupt):
                write_folds(split_folds(log, "users", folds=3, seed=seed), folder)

    def test_what_stood_there_stays(self, monkeypatch: pytest.MonkeyPatch, log: Log, tmp_path: Path) -> None:
        write_folds(split_folds(log, "users", folds=3, seed=0), tmp_path / "folds")
        self.interrupted(monkeypatch, log, tmp_path / "folds", seed=5)
        assert [split.settings["seed"] for split in read_folds(tmp_path / "folds")] == [0, 0, 0]
        assert not list((tmp_path / "folds").rglob("*.part"))

    def test_what_was_begun_can_be_written_again(
        self, monkeypatch: pytest.MonkeyPatch, log: Log, tmp_path: Path
    ) -> None:
        self.interrupted(monkeypatch, log, tmp_path / "folds", seed=5)
        assert not is_split_folder(tmp_path / "folds")
        write_folds(split_folds(log, "users", folds=3, seed=1), tmp_path / "folds")
        assert [split.settings["seed"] for split in read_folds(tmp_path / "folds")] == [1, 1, 1]

    def test_what_a_killed_process_left_is_cleared(self, log: Log, tmp_path: Path) -> None:
        folder, dead = tmp_path / "folds", mark_of_the_dead()
        for name in ("fold-1", "fold-5"):
            (folder / name).mkdir(parents=True)
            (folder / name / f".train.parquet.{dead}.part").write_bytes(b"half")
        (folder / f".split.json.{dead}.part").write_text("{")
        write_folds(split_folds(log, "users", folds=3), folder)
        assert sorted(path.name for path in folder.iterdir()) == ["fold-1", "fold-2", "fold-3", "split.json"]
        assert not list(folder.rglob("*.part"))
        (folder / "mine.txt").write_text("mine")
        with pytest.raises(UsageError, match=r"such as mine\.txt"):
            write_folds(split_folds(log, "users", folds=3), folder)

    def test_one_split_can_be_repeated_after_a_kill(self, log: Log, tmp_path: Path) -> None:
        folder, dead = tmp_path / "split", mark_of_the_dead()
        folder.mkdir()
        for name in ("split.json", "train.parquet", "test.parquet"):
            (folder / f".{name}.{dead}.part").write_bytes(b"half")
        (folder / "validation.parquet").write_bytes(b"already renamed")
        write_split(split_log(log, "random"), folder)
        assert not list(folder.glob(".*")) and len(read_split(folder).log) == len(log)

    def test_windows_without_a_record_may_be_those_of_the_user(self, log: Log, tmp_path: Path) -> None:
        (tmp_path / "train.parquet").write_bytes(b"mine")
        with pytest.raises(UsageError, match="contains other files"):
            write_split(split_log(log, "random"), tmp_path)

    def test_a_window_of_no_numbers(self, log: Log, tmp_path: Path) -> None:
        write_split(split_log(log, "random"), tmp_path / "split")
        frame = pl.read_parquet(tmp_path / "split" / "train.parquet").with_columns(value=pl.lit(float("nan")))
        frame.write_parquet(tmp_path / "split" / "train.parquet")
        with pytest.raises(DataError, match="a value that is not finite"):
            read_split(tmp_path / "split")
