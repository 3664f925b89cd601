"""Artifacts are written whole or not at all, and nothing is left beside them."""

import errno
import os
from pathlib import Path

import polars as pl
import pytest

from rankjury.errors import DataError, UsageError
from rankjury.io.atomic import check_destination, replacing, together, write_text
from rankjury.io.formats import write

FRAME = pl.DataFrame({"query_id": ["q1"], "item_id": ["d1"], "score": [1.5]})


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("before", [None, "old"])
def test_the_target_changes_only_at_the_end(tmp_path: Path, before: str | None) -> None:
    target = tmp_path / "out.txt"
    if before is not None:
        target.write_text(before)
    with replacing(target) as part:
        part.write_text("half")
        assert (target.read_text() if target.exists() else None) == before
        part.write_text("whole")
    assert target.read_text() == "whole"
    assert _names(tmp_path) == ["out.txt"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, MemoryError, pl.exceptions.ComputeError])
@pytest.mark.parametrize("before", [None, "old"])
def test_a_failure_leaves_everything_as_it_was(
    tmp_path: Path, failure: type[BaseException], before: str | None
) -> None:
    target = tmp_path / "out.txt"
    if before is not None:
        target.write_text(before)
    with pytest.raises(failure), replacing(target) as part:
        part.write_text("half")
        raise failure
    assert _names(tmp_path) == ([] if before is None else ["out.txt"])
    assert (target.read_text() if target.exists() else None) == before


def test_a_full_disk_is_an_error_of_the_data(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No space left") as caught, replacing(tmp_path / "out.txt"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.where == str(tmp_path / "out.txt")
    assert _names(tmp_path) == []


def test_a_failing_rename_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(errno.EXDEV, "no")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(DataError, match="cannot write"):
        write_text(tmp_path / "out.txt", "text")
    assert _names(tmp_path) == []


def test_content_reaches_the_disk_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a crash could leave an empty file under the final name."""
    target, seen = tmp_path / "out.txt", []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (seen.append(target.exists()), real(handle))[1])
    write_text(target, "text")
    assert seen[0] is False
    assert target.read_text() == "text"


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_are_those_of_any_new_file(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        write_text(tmp_path / "out.txt", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "out.txt").stat().st_mode & 0o777 == mode


def test_a_missing_folder_and_a_folder_as_target(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot write here: No such file or directory"):
        write_text(tmp_path / "nowhere" / "out.txt", "text")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(DataError, match="cannot write here: found a folder"):
        write_text(tmp_path / "folder.json", "text")
    assert _names(tmp_path) == ["folder.json"]


def test_a_pipe_is_written_into_not_replaced(tmp_path: Path) -> None:
    """As ``-o /dev/stdout`` and ``>(command)`` need; replacing /dev/null by a file would harm the machine."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(FRAME, pipe, "table")
        assert pipe.is_fifo()
        assert b"q1,d1,1.5" in os.read(reader, 1000)
    finally:
        os.close(reader)


@pytest.mark.parametrize("name", ["out.xyz", "out", "out.parquet.gz", "out.zst"])
def test_names_that_tell_no_format_write_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        write(FRAME, tmp_path / name, "run")
    assert _names(tmp_path) == []


@pytest.mark.parametrize("name", ["out.trec", "out.json", "out.txt"])
def test_a_table_is_not_written_as_gold_or_run(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is unknown"):
        write(FRAME, tmp_path / name, "table")
    assert _names(tmp_path) == []


@pytest.mark.parametrize(
    "name", ["out.csv", "out.tsv", "out.jsonl", "out.ndjson", "out.parquet", "out.pq", "out.csv.gz"]
)
def test_a_table_is_written_by_suffix(tmp_path: Path, name: str) -> None:
    write(FRAME, tmp_path / name, "table")
    assert _names(tmp_path) == [name]
    assert (tmp_path / name).stat().st_size > 20


class TestTogether:
    def test_nothing_appears_before_all_is_written(self, tmp_path: Path) -> None:
        with together():
            write_text(tmp_path / "a.txt", "a")
            write(FRAME, tmp_path / "b.parquet", "table")
            assert not (tmp_path / "a.txt").exists() and not (tmp_path / "b.parquet").exists()
        assert _names(tmp_path) == ["a.txt", "b.parquet"]

    @pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
    def test_a_failure_of_one_is_one_of_all(self, tmp_path: Path, failure: type[BaseException]) -> None:
        (tmp_path / "a.txt").write_text("old")
        with pytest.raises(failure), together():
            write_text(tmp_path / "a.txt", "new")
            with replacing(tmp_path / "folder", folder=True) as part:
                (part / "file").write_text("half")
                raise failure
        assert _names(tmp_path) == ["a.txt"] and (tmp_path / "a.txt").read_text() == "old"

    def test_a_failure_that_is_handled_drops_one_file_alone(self, tmp_path: Path) -> None:
        with together():
            write_text(tmp_path / "a.txt", "a")
            with pytest.raises(ValueError), replacing(tmp_path / "b.txt"):
                raise ValueError
        assert _names(tmp_path) == ["a.txt"]

    def test_what_vouches_goes_first_and_comes_last(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "record").write_text("of the old")
        real, seen = os.replace, []

        def replace(part: Path, path: Path) -> None:
            seen.append((Path(path).name, (tmp_path / "record").exists()))
            real(part, path)

        monkeypatch.setattr(os, "replace", replace)
        with together():
            with replacing(tmp_path / "record", vouches=True) as part:
                part.write_text("of the new")
            for name in "ab":
                write_text(tmp_path / name, name)
        assert seen == [("a", False), ("b", False), ("record", False)]
        assert (tmp_path / "record").read_text() == "of the new"

    def test_a_folder_takes_the_place_of_an_empty_one_only(self, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "mine").touch()
        with replacing(tmp_path / "empty", folder=True) as part:
            (part / "file").write_text("new")
        with pytest.raises(DataError, match="Directory not empty"), replacing(tmp_path / "full", folder=True) as part:
            (part / "file").write_text("new")
        assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
            *("empty", "empty/file", "full", "full/mine")
        ]


class TestDestinations:
    def test_what_cannot_be_written_is_refused_before(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "file").touch()
        (tmp_path / "folder").mkdir()
        for path in ("folder", "file/out", "missing/out"):
            with pytest.raises(DataError, match="cannot write here"):
                check_destination(tmp_path / path)
        check_destination(tmp_path / "missing" / "deep" / "out", parents=True)
        with pytest.raises(DataError, match="Not a directory"):
            check_destination(tmp_path / "file" / "deep" / "out", parents=True)
        with pytest.raises(DataError, match="File name too long"):
            check_destination(tmp_path / ("x" * 300))
        monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
        with pytest.raises(DataError, match="Permission denied"):
            check_destination(tmp_path / "out")
        check_destination(Path(os.devnull))
