"""rankjury baseline: set by a person."""

import json
from pathlib import Path

import pytest

from rankjury.tracking.archive.archive import Archive
from tests.cli.archives import two_runs
from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure


@pytest.fixture(autouse=True)
def nobodys_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKJURY_ARCHIVE", raising=False)


def test_set_shown_and_unset(rankjury: Rankjury, folder: Path) -> None:
    first, last = two_runs(folder)
    outcome = rankjury("baseline")
    assert (outcome.code, outcome.out) == (0, "") and "rankjury baseline set RUN" in outcome.err
    assert rankjury("baseline", "set", first.name).err == f"{first.name} is now the baseline of small\n"
    assert rankjury("baseline").out == f"small: {first.name}\n"
    rankjury("baseline", "set", "latest", "-q")
    assert json.loads(rankjury("baseline", "--json").out) == {"small": last.name}
    assert rankjury("baseline", "unset", "small").err == "small has no baseline any more\n"
    assert rankjury("baseline").out == "" and Archive(folder / ".rankjury").baseline("small") is None


def test_unset_without_a_name_is_of_the_last_plan(rankjury: Rankjury, folder: Path) -> None:
    two_runs(folder)
    rankjury("baseline", "set", "latest")
    assert rankjury("baseline", "unset").code == 0 and rankjury("baseline").out == ""


def test_a_baseline_that_is_gone_is_told(rankjury: Rankjury, folder: Path) -> None:
    first, _ = two_runs(folder)
    rankjury("baseline", "set", first.name)
    first.path.rename(first.path.with_name(".away"))
    assert rankjury("baseline").out == f"small: {first.name} (not there any more)\n"
    assert rankjury("diff").code == 3, "there is no run before the one that is left"


def test_runs_never_set_it(rankjury: Rankjury, folder: Path) -> None:
    two_runs(folder)
    rankjury("run", "plan.toml")
    assert rankjury("baseline").out == ""


def test_requests_that_make_no_sense(rankjury: Rankjury, folder: Path) -> None:
    check_failure(rankjury("baseline", "unset"), 3, "no baseline is set")
    check_failure(rankjury("baseline", "set"), 2, "which run is not said")
    check_failure(rankjury("baseline", "put", "latest"), 2, "'put'", "rankjury baseline set RUN")
    check_failure(rankjury("baseline", "set", "latest"), 3, "the archive has no run")
    two_runs(folder)
    rankjury("baseline", "set", "latest")
    check_failure(rankjury("baseline", "unset", "smal"), 2, "Did you mean small?")
