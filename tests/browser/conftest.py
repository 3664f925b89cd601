"""A browser for the tests of this folder, and pages that must do nothing foreign and complain of nothing."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.ground import AXE, Watch, launched, missing, watched
from tests.browser.hostile import hostile_plan
from tests.browser.reported import Reported, movies_plan, reported

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="package")
def browser() -> Iterator["Browser"]:
    """One for the tests of this folder that follow each other in a worker.

    It does not outlive them: while Playwright runs, its event loop counts as running, and no other test could have one.
    """
    reason = missing()
    if reason:
        pytest.skip(reason)
    with launched() as one:
        yield one


@pytest.fixture
def watch(browser: "Browser") -> Iterator[Watch]:
    """A page with its watcher; fails at the end if the page asked for anything foreign or complained."""
    with watched(browser) as one:
        yield one
        assert one.faults == []


@pytest.fixture
def page(watch: Watch) -> "Page":
    """A page that is watched."""
    return watch.page


@pytest.fixture
def axe() -> None:
    """Skips where axe-core is not here."""
    if not AXE.exists():
        pytest.skip("no axe-core here: scripts/install_browser.py installs it from npm")


@pytest.fixture(scope="package")
def movies(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    """The page of the sample about movies."""
    folder = tmp_path_factory.mktemp("movies")
    return reported(movies_plan(folder / "plan"), folder)


@pytest.fixture(scope="package")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    """The page of a plan that is full of hostile texts."""
    folder = tmp_path_factory.mktemp("hostile")
    return reported(hostile_plan(folder / "plan"), folder)
