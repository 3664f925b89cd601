"""A full disk, and folders that may not be written to: told, and nothing that was there is lost."""

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from rankjury.errors import DataError
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.files import guard_writing, is_write_protected
from tests.tracking.archive.made import PLAN, kept, put_small

FAILING = PLAN.replace("rr >= 0.3", "rr >= 0.99")


def rankjury_run(folder: Path, *arguments: str, largest: int | None = None) -> subprocess.CompletedProcess[str]:
    """The real command; ``largest``: no file may become larger."""

    def limit() -> None:
        if largest is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    clean = {name: value for name, value in os.environ.items() if name != "RANKJURY_ARCHIVE"}
    clean["PYTHONDONTWRITEBYTECODE"] = "1"  # the limit would cut the files of modules, which Python does not notice
    return subprocess.run(
        [sys.executable, "-m", "rankjury", "run", "plan.toml", *arguments],
        cwd=folder,
        env=clean,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=limit,
    )


def contents(archive: Path) -> dict[str, str]:
    files = [path for path in archive.rglob("*") if path.is_file()]
    return {str(path.relative_to(archive)): sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize(("plan", "code"), [(PLAN, 3), (FAILING, 4)])
def test_a_file_that_cannot_be_written_whole(tmp_path: Path, plan: str, code: int) -> None:
    """A limit on the size of files stands for a full disk, wherever tests run."""
    folder = tmp_path / "small"
    put_small(folder, plan)
    archive = Archive(folder / ".rankjury")
    earlier = kept(archive, folder / "plan.toml")
    before = contents(archive.path)
    done = rankjury_run(folder, largest=20_000)
    assert done.returncode == code, done.stderr
    assert "rr" in done.stdout and "12 queries, 2 systems" in done.stdout, "what was computed is shown all the same"
    assert "error: .rankjury: the archive cannot be written: File too large" in done.stderr
    assert "rankjury prune removes old runs" in done.stderr and "Traceback" not in done.stderr
    assert contents(archive.path) == before and Archive(archive.path).runs()[0].name == earlier.name
    assert archive.leftovers() == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own that is soon full; skipped where none can be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        pytest.skip(f"no disk can be mounted here: {error}")
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk(tmp_path: Path, small_disk: Path) -> None:
    folder = tmp_path / "small"
    plan = put_small(folder)
    archive = Archive(small_disk / "archive")
    earlier = kept(archive, plan)
    before = contents(archive.path)
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * (os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize - 30_000))
    done = rankjury_run(folder, "--archive", str(archive.path))
    assert done.returncode == 3, done.stderr
    assert "the archive cannot be written: No space left on device" in done.stderr
    assert "rankjury prune" in done.stderr and "--no-archive" in done.stderr and "12 queries" in done.stdout
    found = {name: digest for name, digest in contents(archive.path).items() if name != "lock"}
    assert found == {name: digest for name, digest in before.items() if name != "lock"}
    assert (
        [run.name for run in archive.runs()] == [earlier.name] and earlier.faults() == [] and archive.leftovers() == []
    )
    filler.unlink()
    assert rankjury_run(folder, "--archive", str(archive.path)).returncode == 0, "with room again it works again"
    assert len(archive.runs()) == 2


def test_a_file_where_the_archive_should_be(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    put_small(folder)
    (folder / ".rankjury").write_text("mine")
    done = rankjury_run(folder)
    assert done.returncode == 3 and "error: .rankjury: the archive cannot be written" in done.stderr
    assert "12 queries" in done.stdout and (folder / ".rankjury").read_text() == "mine"
    assert rankjury_run(folder, "--no-archive").returncode == 0


@pytest.mark.parametrize(("plan", "code"), [(PLAN, 0), (FAILING, 4)])
def test_a_folder_that_may_not_be_written_to_is_only_warned_of(tmp_path: Path, plan: str, code: int) -> None:
    folder = tmp_path / "small"
    put_small(folder, plan)
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    if os.access(locked, os.W_OK):
        pytest.skip("whoever runs this may write everywhere")
    done = rankjury_run(folder, "--archive", str(locked / "archive"))
    assert done.returncode == code
    assert "warning: the run was not kept: " in done.stderr and "Permission denied" in done.stderr


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EPERM])
def test_what_is_forbidden_is_told_from_what_is_broken(number: int) -> None:
    def raised(code: int) -> DataError:
        with pytest.raises(DataError) as found, guard_writing(Path("x")):
            raise OSError(code, os.strerror(code))
        return found.value

    assert is_write_protected(raised(number)) and os.strerror(number) in str(raised(number))
    assert not is_write_protected(raised(errno.ENOSPC)) and "prune" in str(raised(errno.ENOSPC))
    assert not is_write_protected(DataError("x"))


def test_a_read_only_archive_is_only_warned_of(tmp_path: Path, small_disk: Path) -> None:
    """Root may write everywhere but here."""
    folder = tmp_path / "small"
    put_small(folder)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    done = rankjury_run(folder, "--archive", str(small_disk / "archive"))
    assert done.returncode == 0, done.stderr
    assert "warning: the run was not kept: " in done.stderr and "Read-only file system" in done.stderr
