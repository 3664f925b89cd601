"""Manifests of any age."""

from pathlib import Path

import pytest

from rankjury.errors import DataError
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.manifest import CURRENT, SCHEMA, UPGRADES, upgrade_manifest
from rankjury.tracking.archive.run import ArchivedRun

TABLE = {
    1: lambda old: {"plan": old.pop("name"), **old},
    2: lambda old: {**old, "plan": {"name": old["plan"]}},
}


def test_step_by_step() -> None:
    first = {"schema": "rankjury.run/1", "name": "movies"}
    assert upgrade_manifest(first, "x", steps=TABLE, current=3) == {
        "schema": "rankjury.run/3",
        "plan": {"name": "movies"},
    }
    second = {"schema": "rankjury.run/2", "plan": "movies"}
    assert upgrade_manifest(second, "x", steps=TABLE, current=3) == {
        "schema": "rankjury.run/3",
        "plan": {"name": "movies"},
    }


def test_what_was_read_is_not_changed() -> None:
    first = {"schema": "rankjury.run/1", "name": "movies"}
    upgrade_manifest(first, "x", steps=TABLE, current=3)
    assert first == {"schema": "rankjury.run/1", "name": "movies"}


def test_there_is_a_step_from_every_version() -> None:
    assert sorted(UPGRADES) == list(range(1, CURRENT)) and f"rankjury.run/{CURRENT}" == SCHEMA


def test_a_later_version_is_told() -> None:
    with pytest.raises(
        DataError, match=rf"a later rankjury made this run \(rankjury.run/{CURRENT + 1}\).*Update rankjury"
    ):
        upgrade_manifest({"schema": f"rankjury.run/{CURRENT + 1}"}, "x")


@pytest.mark.parametrize(
    "form", [None, [], "x", {}, {"schema": 1}, {"schema": "rankjury.report/1"}, {"schema": "rankjury.run/0"}]
)
def test_what_is_no_manifest_is_told(form: object) -> None:
    with pytest.raises(DataError, match="not a manifest of rankjury"):
        upgrade_manifest(form, "there")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b'{"schema": "rankjury.run/99"}', b'{"schema": "rankjury.run/1"}', b"\xff"]
)
def test_a_run_that_cannot_be_read_is_left_out_and_told(archive: Archive, run: ArchivedRun, content: bytes) -> None:
    broken = run.path.with_name("20260101T000000Z-broken-00000000")
    broken.mkdir()
    (broken / "manifest.json").write_bytes(content)
    again = Archive(archive.path)
    assert [one.name for one in again.runs()] == [run.name]
    assert len(again.troubles) == 1 and "broken" in again.troubles[0]


def test_a_folder_without_manifest_is_told(archive: Archive, run: ArchivedRun, tmp_path: Path) -> None:
    (run.path.parent / "mine").mkdir()
    assert [one.name for one in archive.runs()] == [run.name]
    assert "mine" in archive.troubles[0] and "No such file" in archive.troubles[0]
