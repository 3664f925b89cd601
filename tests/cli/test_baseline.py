"""karat baseline: set by a person."""

import json
from pathlib import Path

import pytest

from karat.archive import Archive

from .archives import two_runs
from .conftest import Karat
from .support import check_failure


@pytest.fixture(autouse=True)
def nobodys_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KARAT_ARCHIVE", raising=False)


def test_set_shown_and_unset(karat: Karat, folder: Path) -> None:
    first, last = two_runs(folder)
    outcome = karat("baseline")
    assert (outcome.code, outcome.out) == (0, "") and "karat baseline set RUN" in outcome.err
    assert karat("baseline", "set", first.name).err == f"{first.name} is now the baseline of small\n"
    assert karat("baseline").out == f"small: {first.name}\n"
    karat("baseline", "set", "latest", "-q")
    assert json.loads(karat("baseline", "--json").out) == {"small": last.name}
    assert karat("baseline", "unset", "small").err == "small has no baseline any more\n"
    assert karat("baseline").out == "" and Archive(folder / ".karat").baseline("small") is None


def test_unset_without_a_name_is_of_the_last_plan(karat: Karat, folder: Path) -> None:
    two_runs(folder)
    karat("baseline", "set", "latest")
    assert karat("baseline", "unset").code == 0 and karat("baseline").out == ""


def test_a_baseline_that_is_gone_is_told(karat: Karat, folder: Path) -> None:
    first, _ = two_runs(folder)
    karat("baseline", "set", first.name)
    first.path.rename(first.path.with_name(".away"))
    assert karat("baseline").out == f"small: {first.name} (not there any more)\n"
    assert karat("diff").code == 3, "there is no run before the one that is left"


def test_runs_never_set_it(karat: Karat, folder: Path) -> None:
    two_runs(folder)
    karat("run", "plan.toml")
    assert karat("baseline").out == ""


def test_requests_that_make_no_sense(karat: Karat, folder: Path) -> None:
    check_failure(karat("baseline", "unset"), 3, "no baseline is set")
    check_failure(karat("baseline", "set"), 2, "which run is not said")
    check_failure(karat("baseline", "put", "latest"), 2, "'put'", "karat baseline set RUN")
    check_failure(karat("baseline", "set", "latest"), 3, "the archive has no run")
    two_runs(folder)
    karat("baseline", "set", "latest")
    check_failure(karat("baseline", "unset", "smal"), 2, "Did you mean small?")
