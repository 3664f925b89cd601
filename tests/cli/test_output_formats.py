"""Registry of output formats: found by suffix and by name, open to third parties, for commands and plans alike."""

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest

import rankjury.core.registry
from rankjury.errors import UnknownName, UsageError
from rankjury.evaluation.report import Report
from rankjury.reporting.writers import WRITERS, OutputRequest, find_writer, writer
from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure

TARGETS = "targets = ['rr >= 0.1']\n"
PLAN = "gold = 'gold.qrels'\nmeasures = ['rr']\nsystems.a = 'a.trec'\nsystems.b = 'b.trec'\n" + TARGETS
GROUP = "rankjury.writers"


def _refuse_long_names(request: OutputRequest) -> None:
    if len(request.path.stem) > 12:
        raise UsageError("the name of a toy has at most 12 characters")


def _register_toys() -> None:
    """What the module of a third party does when it is imported: two writers, one of several files."""

    @writer("toy", ".toy", check=_refuse_long_names)
    def to_toy(report: Report, request: OutputRequest) -> str:
        verdict = "" if request.gate is None else f" {request.gate.outcome}"
        return f"toy of {', '.join(report.systems)}{verdict}"

    @writer("blocks", ".toy", by_suffix=False)
    def to_blocks(report: Report, request: OutputRequest) -> dict[Path, bytes]:
        return {Path(request.file.replace("{block}", name)): name.encode() for name in report.systems}


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A plug-in that is installed."""
    WRITERS.names()
    plugin = ModuleType("plugin_of_toys")
    plugin.__getattr__ = lambda name: _register_toys()  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, "plugin_of_toys", plugin)
    points = {GROUP: [EntryPoint("toy", "plugin_of_toys:toy", GROUP)]}
    monkeypatch.setattr(rankjury.core.registry, "entry_points", lambda group: points.get(group, []))
    monkeypatch.setattr(WRITERS, "_plugins_loaded", False)
    monkeypatch.setattr(WRITERS, "_entries", dict(WRITERS._entries))
    yield


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    Path("gold.qrels").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    for name, items in {"a": ("d1", "d2"), "b": ("d2", "d1")}.items():
        Path(f"{name}.trec").write_text("".join(f"q{q} Q0 {item} 1 1.0 {name}\n" for q, item in enumerate(items, 1)))


@pytest.mark.usefixtures("toys")
class TestThirdParty:
    def test_a_command_writes_it(self, rankjury: Rankjury) -> None:
        outcome = rankjury("evaluate", "gold.qrels", "a.trec", "-m", "rr", "-o", "report.toy", "-o", "r.json")
        assert outcome.code == 0 and "Wrote report.toy, r.json" in outcome.err
        assert Path("report.toy").read_text() == "toy of a" and Path("r.json").exists()

    def test_a_plan_writes_it_by_suffix_and_by_name_with_verdicts(self, rankjury: Rankjury) -> None:
        more = "[[output]]\nfile = 'named.toy'\nform = 'toy'\n[[output]]\nfile = 'x/{block}.toy'\nform = 'blocks'\n"
        Path("plan.toml").write_text(PLAN + "outputs = ['short.toy', 'page.html']\n" + more)
        outcome = rankjury("run", "plan.toml", "--no-archive")
        written = "short.toy, page.html, named.toy, x/a.toy, x/b.toy"
        assert f"Wrote {written}" in outcome.err, outcome.err
        assert Path("short.toy").read_text() == Path("named.toy").read_text()
        assert Path("short.toy").read_text().startswith("toy of a, b ")
        assert Path("x/b.toy").read_bytes() == b"b"

    def test_its_check_refuses_before_anything_is_computed(self, rankjury: Rankjury) -> None:
        told = "the name of a toy has at most 12 characters"
        check_failure(rankjury("evaluate", "gold.qrels", "nowhere.trec", "-o", "longer_than_that.toy"), 2, told)
        Path("plan.toml").write_text(PLAN + "outputs = ['longer_than_that.toy']\n")
        check_failure(rankjury("run", "plan.toml"), 2, "outputs[1] (longer_than_that.toy)", told)

    def test_messages_list_it(self) -> None:
        with pytest.raises(UsageError, match=r"expected a suffix among \.csv, \.html, .*\.svg, \.toy"):
            find_writer(OutputRequest("a.txt"))
        with pytest.raises(UnknownName, match=r"unknown form 'bloks'\. Did you mean blocks"):
            find_writer(OutputRequest("a.toy", "bloks"))

    def test_a_suffix_is_registered_once(self) -> None:
        with pytest.raises(UsageError, match=r"form '\.csv' is registered twice"):
            writer("other", ".csv")(lambda report, request: "")


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        (OutputRequest("a.JSON"), "json"),
        (OutputRequest("a.svg", "report"), "curves"),
        (OutputRequest("a.md"), "markdown"),
        (OutputRequest("a.md", "pull-request"), "pull-request"),
        (OutputRequest("a.csv", "csv"), "csv"),
    ],
)
def test_by_suffix_and_by_name(request_: OutputRequest, name: str) -> None:
    request_.check()
    assert find_writer(request_).name == name


def test_a_suffix_is_not_a_name_and_a_name_has_its_suffixes() -> None:
    with pytest.raises(UnknownName):
        find_writer(OutputRequest("a.csv", ".csv"))
    with pytest.raises(UsageError, match=r"the form charts is PNG or SVG, not \.jpg"):
        OutputRequest("{chart}.jpg", "charts").check()
