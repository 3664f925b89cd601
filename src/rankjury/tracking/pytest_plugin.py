"""pytest plugin: the fixture ranking_baseline, the option that writes baseline files, and a summary of assertions.

pytest imports this module when it starts: it imports nothing of rankjury but the log of assertions.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from rankjury.tracking import assertion_log
from rankjury.tracking.assertion_log import BaselineRequest

_PROPERTY = "rankjury"
"""Name of the property of a test's report that holds a line: workers of pytest-xdist send it to the controller."""
_OPTION = "--rankjury-update-baseline"
_LONGEST_NAME = 100
_COLOURS = {
    "PASS": {"green": True},
    "FAIL": {"red": True},
    "UNSURE": {"yellow": True},
    "WARNING": {"yellow": True},
    "BASELINE": {"bold": True},
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes baseline files."""
    help_text = "write the baseline files of rankjury.assert_ranking instead of comparing with them"
    parser.getgroup("rankjury").addoption(_OPTION, action="store_true", help=help_text)


def pytest_configure(config: pytest.Config) -> None:
    """Begin a session: register what collects the lines of all tests."""
    assertion_log.written.clear()
    config.pluginmanager.register(_Summary(), "rankjury-summary")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Keep the lines of assertions while a test runs."""
    before, assertion_log.log = assertion_log.log, []
    try:
        yield
    finally:
        assertion_log.log = before


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Put the lines of a phase of the test into its report."""
    if assertion_log.log:
        item.user_properties += [(_PROPERTY, line) for line in assertion_log.log]
        assertion_log.log.clear()
    yield


class _Summary:
    """Section of the terminal summary: one line per target, the warnings about the data below them, and one line per
    baseline file that was written."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the lines of a test, which the report of its last phase has all of."""
        lines = [str(text) for name, text in report.user_properties if name == _PROPERTY]
        if lines and report.when == "teardown":
            self._lines[report.nodeid] = lines

    def pytest_terminal_summary(self, terminalreporter: "pytest.TerminalReporter", config: pytest.Config) -> None:
        """Print the section; with -q without warnings and targets that passed, with -qq not at all."""
        verbosity = int(config.getoption("verbose"))
        rows = [(test, *line.split(" ", 1)) for test, lines in self._lines.items() for line in lines]
        shown = [row for row in rows if verbosity >= 0 or row[1] not in ("PASS", "WARNING")]
        if not shown or verbosity < -1:
            return
        terminalreporter.ensure_newline()
        terminalreporter.section("rankjury")
        for test, word, text in shown:
            about = text if word == "BASELINE" else f"{test}  {text}"
            terminalreporter.write_line(f"{word:<8}  {about}", **_COLOURS[word])


@pytest.fixture
def ranking_baseline(request: pytest.FixtureRequest) -> Callable[..., BaselineRequest]:
    """Return a function that names a baseline file beside the test file: ``ranking_baseline("search.json")``.

    Without a name, the file is named after the test. ``rankjury.assert_ranking(…, baseline=ranking_baseline())``
    compares with the file; with ``--rankjury-update-baseline`` it writes it.
    """
    node = request.node

    def locate(name: str | Path | None = None) -> BaselineRequest:
        update = bool(request.config.getoption(_OPTION))
        command = shlex.join(["pytest", _from_here(request.config, node.nodeid), _OPTION])
        return BaselineRequest(node.path.parent / (_default_name(node) if name is None else name), update, command)

    return locate


def _from_here(config: pytest.Config, nodeid: str) -> str:
    """Return the id of a test as it is given where pytest was started."""
    file, colons, test = nodeid.partition("::")
    path = config.rootpath / file
    here = config.invocation_params.dir
    return f"{path.relative_to(here) if path.is_relative_to(here) else path}{colons}{test}"


def _default_name(node: pytest.Item) -> str:
    """Return the file name of a test: ``test_search.py::test_bm25[en]`` → ``test_search-test_bm25-en.json``."""
    test = node.nodeid.partition("::")[2]
    name = re.sub(r"[^\w.]+", "-", f"{node.path.stem}-{test}").strip("-.")
    if len(name) > _LONGEST_NAME:
        name = f"{name[: _LONGEST_NAME - 9]}-{sha256(test.encode()).hexdigest()[:8]}"
    return f"{name}.json"
