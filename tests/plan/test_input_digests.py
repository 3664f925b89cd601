"""What files and functions hold counts, whatever they are called."""

from pathlib import Path

import numpy as np
import pytest

from rankjury.plan.input_digests import digest_contents


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "f.npy", np.eye(3))
        (tmp_path / name / "f.ids.txt").write_text("a\nb\nc\n")
    (tmp_path / "mine_of_contents.py").write_text("def f(user, items): ...\n")
    return tmp_path


SETTINGS = [
    {"item_factors": "one/f.npy", "n": 3},
    {"item_factors": "other/f.npy:x"},
    {"function": "mine_of_contents:f"},
]


def test_files_modules_and_ids_beside(folder: Path) -> None:
    found = digest_contents(SETTINGS, folder)
    assert sorted(found) == ["mine_of_contents", "one/f.npy", "one/f.npy, ids", "other/f.npy", "other/f.npy, ids"]


@pytest.mark.parametrize("file", ["one/f.npy", "other/f.npy", "one/f.ids.txt", "mine_of_contents.py"])
def test_any_change_is_one(folder: Path, file: str) -> None:
    before = digest_contents(SETTINGS, folder)
    with (folder / file).open("ab") as out:
        out.write(b"#")
    after = digest_contents(SETTINGS, folder)
    assert sum(before[name] != after[name] for name in before) == 1


def test_what_names_nothing_is_passed_over(folder: Path) -> None:
    texts = ["popularity", "one", "no/such.file", "no_such_module:f", "x" * 5000, "a\0b", "", "os:path"]
    assert set(digest_contents({"of": texts, "k": [1, 2.0, True, None]}, folder)) <= {"os"}
    assert Path.cwd() == folder


@pytest.mark.parametrize("fault", ["raise RuntimeError('boom')", "import sys\nsys.exit(3)"])
def test_a_package_is_not_run(folder: Path, fault: str) -> None:
    package = folder / f"failing_{len(fault)}"
    package.mkdir()
    (package / "__init__.py").write_text(fault)
    (package / "inner.py").write_text("def f(user, items): ...\n")
    assert set(digest_contents([f"{package.name}.inner:f"], folder)) == {f"{package.name}.inner"}
