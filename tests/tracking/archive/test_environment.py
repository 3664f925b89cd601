"""The commit of a folder: read without running what the repository's own files name."""

import importlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rankjury.core.temp_files import new_folder_name
from rankjury.tracking.archive.environment import git_commit, package_versions

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

Git = Callable[..., str]


def git_in(folder: Path) -> Git:
    def git(*arguments: str) -> str:
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "protocol.file.allow=always"]
        done = subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    return git


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A work tree with one commit."""
    folder = tmp_path / "tree"
    folder.mkdir()
    git = git_in(folder)
    git("init", "-q")
    (folder / "plan.toml").write_text("x = 1\n")
    (folder / "data.txt").write_text("data\n")
    git("add", ".")
    git("commit", "-qm", "x")
    return folder


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "was-run"


@pytest.fixture
def script(tmp_path: Path, marker: Path) -> str:
    """A program that leaves a trace, and passes its input on as a filter does."""
    path = tmp_path / "script.sh"
    path.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    path.chmod(0o755)
    return str(path)


def make_stale(folder: Path) -> None:
    """Files that look changed to the index, so that git has to read them."""
    for path in folder.iterdir():
        if path.is_file():
            os.utime(path, (time.time() + 5, time.time() + 5))


@pytest.mark.parametrize(
    "settings",
    [
        {"core.fsmonitor": "{}"},
        {"filter.x.clean": "{}", "filter.x.smudge": "{}", "filter.x.required": "true"},
        {"filter.x.process": "{}"},
        {"diff.x.textconv": "{}", "diff.external": "{}", "diff.x.command": "{}"},
        {"core.pager": "{}", "pager.status": "true", "core.sshCommand": "{}", "core.editor": "{}"},
        {"alias.status": "!{}", "alias.rev-parse": "!{}", "status.submoduleSummary": "true"},
        {"core.hooksPath": "hooks-of-mine"},
        {"include.path": "../included"},
        {"core.fsmonitor": "{}", "core.worktree": ".."},
    ],
    ids=lambda settings: "+".join(settings),
)
def test_nothing_that_the_repository_names_is_run(
    tree: Path, marker: Path, script: str, settings: dict[str, str]
) -> None:
    git = git_in(tree)
    (tree / ".gitattributes").write_text("* filter=x diff=x\n")
    git("add", ".")
    git("commit", "-qm", "attributes")
    (tree / "included").write_text(f'[core]\n\tfsmonitor = {script}\n[filter "x"]\n\tclean = {script}\n')
    hooks = tree / "hooks-of-mine"
    hooks.mkdir()
    for name in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "pre-commit"):
        shutil.copy(script, hooks / name)
        shutil.copy(script, tree / ".git" / "hooks" / name)
    for name, value in settings.items():
        git("config", name, value.format(script))
    make_stale(tree)
    marker.unlink(missing_ok=True)
    found = git_commit(tree)
    assert not marker.exists()
    assert found is None or len(found["commit"]) == 40


def test_the_attack_works_on_git_itself(tree: Path, marker: Path, script: str) -> None:
    """The test above would be of no use otherwise."""
    git_in(tree)("config", "core.fsmonitor", script)
    git_in(tree)("status")
    assert marker.exists()


def test_a_filter_of_the_repository_leaves_open_what_has_changed(tree: Path, script: str) -> None:
    git = git_in(tree)
    (tree / ".gitattributes").write_text("data.txt filter=x\n")
    git("add", ".")
    git("commit", "-qm", "attributes")
    git("config", "filter.x.clean", script)
    assert (git_commit(tree) or {})["dirty"] is False
    (tree / "data.txt").write_text("changed, perhaps only before the filter\n")
    assert (git_commit(tree) or {})["dirty"] is None


def test_changes_are_seen(tree: Path) -> None:
    git = git_in(tree)
    clean = {"commit": git("rev-parse", "HEAD"), "dirty": False}
    assert git_commit(tree) == clean
    (tree / "new.txt").write_text("untracked files are no change")
    make_stale(tree)
    assert git_commit(tree) == clean
    (tree / "data.txt").write_text("other\n")
    assert git_commit(tree) == clean | {"dirty": True}
    git("add", ".")
    assert git_commit(tree) == clean | {"dirty": True}, "staged"
    git("commit", "-qm", "y")
    (tree / "plan.toml").unlink()
    assert git_commit(tree) == {"commit": git("rev-parse", "HEAD"), "dirty": True}


def test_settings_about_the_file_system_are_heeded(tree: Path) -> None:
    git_in(tree)("config", "core.fileMode", "false")
    (tree / "data.txt").chmod(0o755)
    assert (git_commit(tree) or {})["dirty"] is False


@pytest.mark.parametrize("packed", [False, True])
def test_linked_work_trees_folders_below_and_packed_objects(tree: Path, tmp_path: Path, packed: bool) -> None:
    git = git_in(tree)
    if packed:
        git("gc", "-q")
    git("worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    below = tmp_path / "linked" / "below"
    below.mkdir()
    assert git_commit(below) == {"commit": git("rev-parse", "HEAD"), "dirty": False}
    (tmp_path / "linked" / "data.txt").write_text("other\n")
    assert (git_commit(below) or {})["dirty"] is True and (git_commit(tree) or {})["dirty"] is False


def test_a_submodules_own_settings_are_not_used(tree: Path, tmp_path: Path, marker: Path, script: str) -> None:
    other = tmp_path / "other"
    shutil.copytree(tree, other)
    git = git_in(tree)
    git("submodule", "add", "-q", str(other), "part")
    git("commit", "-qm", "part")
    git_in(tree / "part")("config", "core.fsmonitor", script)
    marker.unlink(missing_ok=True)
    assert (git_commit(tree) or {})["dirty"] is False and not marker.exists()


def test_variables_of_another_repository_are_not_followed(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they are set while a hook of git runs."""
    other = tmp_path / "other"
    shutil.copytree(tree, other)
    git_in(other)("commit", "-q", "--allow-empty", "-m", "later")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", "none")
    found = git_commit(tree)
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert found == {"commit": git_in(tree)("rev-parse", "HEAD"), "dirty": False}


def test_no_work_tree_no_commit(tmp_path: Path, tree: Path) -> None:
    assert git_commit(tmp_path) is None
    assert git_commit(tree / ".git") is None
    assert git_commit(tmp_path / "nowhere") is None


def test_the_folder_for_git_has_an_owner(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the next run removes the one of a run that was killed, and no other."""
    home = tmp_path / "temporary"
    home.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(home))
    dead = home / new_folder_name("git").replace(f"-{os.getpid()}-", "-999999999-")
    living = home / new_folder_name("git")
    dead.mkdir()
    living.mkdir()
    assert git_commit(tree)
    assert list(home.iterdir()) == [living]


def test_packages_that_only_show_results_are_left_out() -> None:
    importlib.import_module("rich")
    assert not {"rich", "typer", "jinja2", "matplotlib"} & package_versions().keys()
