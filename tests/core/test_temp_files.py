"""Marks of owners: what dead processes left is removed, what living ones have in hand and what looks alike is not."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rankjury.core import temp_files as temporary
from rankjury.core.temp_files import TemporaryFolder, is_alive, new_folder_name, new_mark, remove_abandoned_folders
from rankjury.io.atomic import replacing, write_text

OWNER = """
import sys
from pathlib import Path
from rankjury.io.atomic import replacing
from rankjury.core.temp_files import TemporaryFolder
with replacing(Path(sys.argv[1], "out.txt")) as part, TemporaryFolder("blocks", Path(sys.argv[1])):
    part.write_text("half")
    print("ready", flush=True)
    sys.stdin.read()
"""


@contextmanager
def owner(folder: Path) -> "Iterator[subprocess.Popen[str]]":
    """A process that has a part file and a temporary folder in hand."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", OWNER, str(folder)], text=True, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def mark_of_the_dead() -> str:
    """A mark that a process made which is gone."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, new_mark().encode())
        os._exit(0)
    os.waitpid(child, 0)
    mark = os.read(reader, 100).decode()
    os.close(reader)
    os.close(writer)
    return mark


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_a_living_process_has_in_hand_stays_until_it_is_killed(tmp_path: Path) -> None:
    with owner(tmp_path) as process:
        held = names(tmp_path)
        assert len(held) == 2, "a part and a folder"
        write_text(tmp_path / "out.txt", "mine")
        remove_abandoned_folders(tmp_path)
        assert names(tmp_path) == sorted([*held, "out.txt"])
        process.kill()
        process.wait()
        write_text(tmp_path / "other.txt", "mine")
        remove_abandoned_folders(tmp_path)
        assert names(tmp_path) == ["other.txt", "out.txt"]
        assert (tmp_path / "out.txt").read_text() == "mine"


def test_the_last_of_two_writers_wins_and_both_files_are_whole(tmp_path: Path) -> None:
    with owner(tmp_path) as process:
        write_text(tmp_path / "out.txt", "mine")
        process.communicate("")
        assert process.returncode == 0 and names(tmp_path) == ["out.txt"]
        assert (tmp_path / "out.txt").read_text() == "half"


def test_a_process_that_was_not_waited_for_is_dead() -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert not is_alive(child), "a zombie"
    os.waitpid(child, 0)


def test_names_that_only_look_alike_stay(tmp_path: Path) -> None:
    dead = mark_of_the_dead()
    alike = [
        ".out.txt.part",
        ".out.txt.12-ab.part",
        f"out.txt.{dead}.part",
        f".out.txt.{dead}.part.txt",
        f"{dead}.part",
    ]
    for name in alike:
        (tmp_path / name).write_text("mine")
    (tmp_path / f"rankjury-{dead}").mkdir()
    (tmp_path / f"other-blocks-{dead}").mkdir()
    (tmp_path / "target").mkdir()
    (tmp_path / f"rankjury-blocks-{dead}").symlink_to(tmp_path / "target")
    (tmp_path / f".a.{dead}.part").symlink_to(tmp_path / "target")
    before = names(tmp_path)
    write_text(tmp_path / "out.txt", "new")
    remove_abandoned_folders(tmp_path)
    assert names(tmp_path) == sorted([*before, "out.txt"])


def test_another_process_with_the_same_id_is_not_the_owner(tmp_path: Path) -> None:
    process, _, rest = new_mark().split("-", 2)
    (tmp_path / f".out.txt.{process}-1-{rest}.part").write_text("half")
    write_text(tmp_path / "out.txt", "new")
    assert names(tmp_path) == ["out.txt"]


@pytest.mark.parametrize(("age", "stays"), [(3600, True), (3 * 86400, False)])
def test_what_another_machine_left_goes_a_day_after_its_last_change(tmp_path: Path, age: int, stays: bool) -> None:
    process, started, _, token = new_mark().split("-")
    mark = f"{process}-{started}-{'0' * 8}-{token}"
    folder = tmp_path / f"rankjury-blocks-{mark}"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "file").write_text("half")
    part = tmp_path / f".out.txt.{mark}.part"
    part.write_text("half")
    now = part.stat().st_mtime
    for path in (part, folder / "deep" / "file", folder / "deep", folder):
        os.utime(path, (now - age, now - age))
    write_text(tmp_path / "out.txt", "new")
    remove_abandoned_folders(tmp_path)
    assert (part.exists(), folder.exists()) == (stays, stays)


def test_a_folder_of_another_machine_that_is_written_to_stays(tmp_path: Path) -> None:
    folder = tmp_path / f"rankjury-blocks-1-1-{'0' * 8}-{'a' * 8}"
    folder.mkdir()
    (folder / "file").write_text("half")
    os.utime(folder, (0, 0))
    remove_abandoned_folders(tmp_path)
    assert folder.exists()


def test_the_next_temporary_folder_removes_those_of_the_dead(tmp_path: Path) -> None:
    (tmp_path / f"rankjury-spark-{mark_of_the_dead()}" / "deep").mkdir(parents=True)
    with TemporaryFolder("blocks", tmp_path) as name:
        assert names(tmp_path) == [Path(name).name]
        assert temporary._FOLDER.fullmatch(Path(name).name)
    assert names(tmp_path) == []


def test_the_folder_of_a_server_is_left_to_the_one_who_can_stop_it(tmp_path: Path) -> None:
    name = f"rankjury-{temporary.SERVER}-{mark_of_the_dead()}"
    (tmp_path / name).mkdir()
    remove_abandoned_folders(tmp_path)
    assert names(tmp_path) == [name]
    assert temporary.abandoned_folders(tmp_path, temporary.SERVER) == [tmp_path / name]
    assert new_folder_name("x") != new_folder_name("x")


def test_a_part_of_a_long_name_is_not_too_long(tmp_path: Path) -> None:
    target = tmp_path / ("ä" * 120 + ".txt")
    with replacing(target) as part:
        part.write_text("whole")
    assert target.read_text() == "whole" and len(names(tmp_path)) == 1
