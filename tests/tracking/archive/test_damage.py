"""Archives are not trusted: what is not as it was stored is found where it is read; run, file and fault are named."""

import json
import os
import random
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from shutil import copytree
from typing import Any

import polars as pl
import pytest

from rankjury.errors import DamagedRun, DataError
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.compare import compare_runs
from rankjury.tracking.archive.files import is_settled
from rankjury.tracking.archive.manifest import manifest_bytes
from rankjury.tracking.archive.run import ArchivedRun

TABLES = ("scores.parquet", "queries.parquet", "rankings.parquet", "golds.parquet", "items.parquet")


def seal(run: ArchivedRun, **changes: Any) -> None:
    """Write the manifest with other values and a digest that fits: as an archive of somebody else may be."""
    (run.path / "manifest.json").write_bytes(manifest_bytes({**run.manifest, **changes}))


def replace(run: ArchivedRun, name: str, octets: bytes) -> ArchivedRun:
    """Replace a file, with size and hash that fit."""
    (run.path / name).write_bytes(octets)
    about = {"bytes": len(octets), "sha256": sha256(octets).hexdigest()}
    seal(run, files={**run.manifest["files"], name: about})
    return ArchivedRun.open(run.path)


def read_all(run: ArchivedRun) -> None:
    """Read the report and every table."""
    run.report.to_json(queries=True)
    run.tables.item_names()
    run.tables.query_texts(["q01"])
    run.answer("q01")


def flip(path: Path, bit: int) -> None:
    octets = bytearray(path.read_bytes())
    octets[bit // 8] ^= 1 << bit % 8
    path.write_bytes(octets)


@pytest.mark.parametrize("name", [*TABLES, "report.json", "manifest.json"])
def test_no_flipped_bit_passes(run: ArchivedRun, name: str) -> None:
    bits = 8 * (run.path / name).stat().st_size
    for bit in random.Random(name).sample(range(bits), 25):
        flip(run.path / name, bit)
        with pytest.raises(DamagedRun) as found:
            read_all(ArchivedRun.open(run.path))
        assert (found.value.run, found.value.file) == (run.name, name)
        flip(run.path / name, bit)
    read_all(ArchivedRun.open(run.path))


def test_a_table_of_another_run_is_found_by_every_reader(run: ArchivedRun, tmp_path: Path) -> None:
    other = tmp_path / "other" / run.name
    copytree(run.path, other)
    (other / "scores.parquet").write_bytes((run.path / "golds.parquet").read_bytes())
    damaged = ArchivedRun.open(other)
    for read in (lambda: compare_runs(run, damaged), lambda: damaged.report.to_json(queries=True), damaged.scores):
        with pytest.raises(DamagedRun, match="scores"):
            read()


ODD = [None, 3, "x", [], {}, [1], {"a": 1}, {"a": {}}, {"a": {"b": 1}}]
OPTIONAL = {"plan", "inputs", "versions", "packages", "machine", "git", "measures", "by_chance", "headline", "answers"}


@pytest.mark.parametrize("key", ["schema", "name", "time", "summary", "files", *sorted(OPTIONAL)])
def test_an_odd_value_makes_a_run_damaged_or_is_harmless(run: ArchivedRun, archive: Archive, key: str) -> None:
    """Whatever stands in a manifest: the archive can be listed, and a run that is listed can be compared."""
    for value in ODD:
        seal(run, **{key: value})
        fresh = Archive(archive.path)
        assert len(fresh.runs()) + len(fresh.damaged) == 1
        for listed in fresh.runs():
            try:
                compare_runs(run, listed)
            except DataError:
                continue
        assert all(one.name == run.name and "manifest.json" in one.reason for one in fresh.damaged)


@pytest.mark.parametrize("name", ["/dev/zero", "../x", "a/b", "..", "", ".hidden", "a\0b"])
def test_a_file_stays_in_the_folder_of_its_run(run: ArchivedRun, name: str) -> None:
    seal(run, files={**run.manifest["files"], name: {"bytes": 1, "sha256": "0" * 64}})
    with pytest.raises(DamagedRun, match="not the name of a file"):
        ArchivedRun.open(run.path)


def link_to_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_outside(path: Path) -> None:
    outside = path.parent.parent.parent / "outside"
    outside.write_bytes(b"{}")
    path.symlink_to(outside)


@pytest.mark.parametrize("place", [link_to_device, link_outside, os.mkfifo, Path.mkdir])
@pytest.mark.parametrize("name", ["report.json", "scores.parquet", "manifest.json"])
def test_only_regular_files_are_opened(run: ArchivedRun, place: Callable[[Path], None], name: str) -> None:
    (run.path / name).unlink()
    place(run.path / name)
    with pytest.raises(DamagedRun, match=name):
        read_all(ArchivedRun.open(run.path))


def test_a_linked_folder_is_not_a_run(run: ArchivedRun, archive: Archive, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    copytree(run.path, outside / run.name)
    link = archive.path / "runs" / "20260102T000000Z-small-00000000"
    link.symlink_to(outside / run.name)
    fresh = Archive(archive.path)
    assert [one.name for one in fresh.runs()] == [run.name] and [one.name for one in fresh.damaged] == [link.name]
    with pytest.raises(DamagedRun, match="symbolic link"):
        fresh.named(link.name)
    assert fresh.prune_damaged() == [link.name]
    assert not link.is_symlink() and (outside / run.name / "manifest.json").is_file() and fresh.leftovers() == []


def without(column: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda frame: frame.drop(column)


def with_(**columns: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda frame: frame.with_columns(**columns)


CHANGED: list[tuple[str, Callable[[pl.DataFrame], pl.DataFrame]]] = [
    ("scores.parquet", without("system")),
    ("scores.parquet", without("rr")),
    ("scores.parquet", with_(rr=pl.lit("x"))),
    ("scores.parquet", with_(rr=pl.lit(float("inf")))),
    ("scores.parquet", with_(query_id=pl.lit(None, dtype=pl.String))),
    ("scores.parquet", lambda frame: pl.concat([frame, frame])),
    ("queries.parquet", with_(slices=pl.lit("x"))),
    ("queries.parquet", lambda frame: pl.concat([frame, frame])),
    ("queries.parquet", lambda frame: frame.head(3)),
    ("rankings.parquet", with_(rank=pl.lit(None, dtype=pl.Int32))),
    ("rankings.parquet", with_(grade=pl.lit(1))),
    ("golds.parquet", with_(grade=pl.lit(float("nan")))),
    ("items.parquet", with_(name=pl.lit(None, dtype=pl.String))),
]


@pytest.mark.parametrize(("name", "change"), CHANGED)
def test_other_columns_and_rows_are_found_though_hashes_fit(
    run: ArchivedRun, name: str, change: Callable[[pl.DataFrame], pl.DataFrame]
) -> None:
    file = BytesIO()
    change(pl.read_parquet(run.path / name)).write_parquet(file)
    with pytest.raises(DamagedRun):
        read_all(replace(run, name, file.getvalue()))


def test_sizes_that_cannot_be_are_found_though_hashes_fit(run: ArchivedRun) -> None:
    octets = (run.path / TABLES[0]).read_bytes()
    length = int.from_bytes(octets[-8:-4], "little")
    longer = octets[:-8] + (length + len(octets)).to_bytes(4, "little") + octets[-4:]
    with pytest.raises(DamagedRun, match="declares"):
        read_all(replace(run, TABLES[0], longer))


@pytest.mark.parametrize(
    "report", [b"", b"[]", b"{", b"[" * 100_000, b'{"systems": 3}', b'{"systems": {}}', b'{"systems": {"a": null}}']
)
def test_other_reports_are_found_though_hashes_fit(run: ArchivedRun, report: bytes) -> None:
    with pytest.raises(DamagedRun, match=r"report\.json"):
        _ = replace(run, "report.json", report).report


@pytest.mark.parametrize(
    "content", [b"[]", b"{}", b"[" * 100_000, b'{"schema": "rankjury.baselines/1", "baselines": {"a": 3}}']
)
def test_odd_baselines_are_an_error_that_says_what_to_do(run: ArchivedRun, archive: Archive, content: bytes) -> None:
    (archive.path / "baselines.json").write_bytes(content)
    with pytest.raises(DataError, match="Remove the file"):
        _ = archive.baselines


@pytest.mark.parametrize("content", [b"[]", b"[" * 100_000, b'{"started": [], "what": {"a": 1}}', b" " * 2_000_000])
def test_odd_files_of_running_processes_are_passed_over(run: ArchivedRun, archive: Archive, content: bytes) -> None:
    (archive.path / "running").mkdir()
    (archive.path / "running" / f"{os.getpid()}-abcd.json").write_bytes(content)
    os.mkfifo(archive.path / "running" / f"{os.getpid()}-ef01.json")
    assert all(isinstance(one, dict) for one in archive.running())


@pytest.mark.parametrize("key", [{}, {"sha256": "0" * 64}, {"sha257": "0" * 64}])
def test_a_manifest_without_its_digest_is_damaged(run: ArchivedRun, key: dict[str, str]) -> None:
    (run.path / "manifest.json").write_text(json.dumps({**run.manifest, **key}))
    with pytest.raises(DamagedRun, match="content has changed"):
        ArchivedRun.open(run.path)


def test_a_hash_is_computed_once_for_each_state_of_a_file(run: ArchivedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankjury.tracking.archive.files._SETTLED", -1)
    run.scores()
    monkeypatch.setattr("rankjury.tracking.archive.files.file_digest", None)
    run.scores()
    os.utime(run.path / "scores.parquet", ns=(1, 1))
    with pytest.raises(TypeError):
        run.scores()


def test_a_file_that_changed_just_now_is_hashed_again(run: ArchivedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    run.scores()
    monkeypatch.setattr("rankjury.tracking.archive.files.file_digest", None)  # another change may have the same time
    with pytest.raises(TypeError):
        run.scores()


def test_a_file_settles_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 10**18
    monkeypatch.setattr("rankjury.tracking.archive.files.time_ns", lambda: now)
    assert not is_settled(10**18)
    now += 3 * 10**9
    assert is_settled(10**18)


def test_a_listing_is_kept_until_the_folder_changes(run: ArchivedRun, archive: Archive) -> None:
    folder = archive.path / "runs"
    os.utime(folder, ns=(10**18, 10**18))
    first, version = archive.runs(), archive.version
    (run.path / "manifest.json").write_text("{")
    assert archive.runs() == first and archive.version == version
    copytree(run.path, folder / "20260102T000000Z-small-00000000")
    assert len(archive.damaged) == 1 and archive.version != version
