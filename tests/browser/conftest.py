"""A browser for the tests of this folder, and pages that must do nothing foreign and complain of nothing."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.ground import AXE, Watch, launched, missing, watched

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
