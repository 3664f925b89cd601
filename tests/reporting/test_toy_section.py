"""A section of a third party: three files (section, renderer, this test), and every writer shows it.

It is found as that of any installed distribution, by the entry points in the metadata of a folder on ``sys.path``.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankjury.evaluation.report import Report, read_report
from rankjury.evaluation.sections import SECTIONS, UnknownSection
from rankjury.reporting.console import print_report
from rankjury.reporting.html.page import render_page
from rankjury.reporting.sections import RENDERERS
from rankjury.reporting.writers.markdown import to_markdown
from rankjury.reporting.writers.pull_request import to_comment
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.manifest import Origin
from rankjury.tracking.archive.run import ArchivedRun
from tests.cli.conftest import Rankjury, folder, rankjury
from tests.tracking.archive.made import START, carried_out, put_small

__all__ = ["folder", "rankjury"]

ENTRY_POINTS = """\
[rankjury.sections]
weather = tests.reporting.toy_section:Weather

[rankjury.section_renderers]
weather = tests.reporting.toy_renderer:render
"""
WARNING = "new: it was hot in attic, roof"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A distribution on ``sys.path`` whose entry points have not been looked up yet."""
    metadata = tmp_path / "site" / "weather-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: weather\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(metadata.parent)
    forget_plugins(monkeypatch)
    yield
    _forget_modules()


def _forget_modules() -> None:
    """Importing them registers the section, which each test does for itself."""
    for name in ("section", "renderer"):
        sys.modules.pop(f"tests.reporting.toy_{name}", None)


def forget_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    _forget_modules()
    for registry in (SECTIONS, RENDERERS):
        registry.load_own()
        entries = {name: one for name, one in registry._entries.items() if name != "weather"}  # type: ignore[attr-defined]
        monkeypatch.setattr(registry, "_entries", entries)
        monkeypatch.setattr(registry, "_plugins_loaded", False)


@pytest.fixture
def made(tmp_path: Path, installed: None) -> tuple[Report, Origin]:
    """A report whose second system has the section, and where it comes from."""
    outcome, origin = carried_out(put_small(tmp_path / "small"))
    kind = SECTIONS.get("weather")
    weather = kind.from_json({"degrees": {"attic": 31.5, "cellar": 12.25, "roof": 40.0}})
    return outcome.report.with_sections(weather, system="new"), origin


@pytest.fixture
def report(made: tuple[Report, Origin]) -> Report:
    return made[0]


@pytest.fixture
def run(made: tuple[Report, Origin], tmp_path: Path) -> ArchivedRun:
    """The report in an archive, with its page."""
    report, origin = made
    return Archive(tmp_path / ".rankjury").store(report, origin, time=START, page=lambda stored, _: render_page(stored))


def text_of(html: str) -> str:
    """What a reader of a page sees, with one space between words."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def check_text(text: str) -> None:
    """Table, sentence and warning are there, in whatever marks a writer puts around them."""
    words = " ".join(re.sub(r"[|*]", " ", text).split())
    for part in (
        "Weather by place",
        "system place degrees",
        "new attic 31.5",
        "new cellar 12.2",
        "new roof 40.0",
        "Measured in the shade",
        WARNING,
    ):
        assert part in words, part


def test_json_round_trip(report: Report, tmp_path: Path) -> None:
    form = json.loads(json.dumps(report.to_json()))
    assert form["systems"]["new"]["weather"] == {"degrees": {"attic": 31.5, "cellar": 12.25, "roof": 40.0}}
    assert {"text": "it was hot in attic, roof", "system": "new", "code": "heat", "count": 2} in form["warnings"]
    assert Report.from_json(form) == report
    (tmp_path / "report.json").write_text(json.dumps(form))
    section = read_report(str(tmp_path / "report.json")).systems["new"].sections["weather"]
    assert type(section) is SECTIONS.get("weather")


def test_console(report: Report, capsys: pytest.CaptureFixture[str]) -> None:
    print_report(report)
    check_text(f"{capsys.readouterr().out} {' '.join(report.warning_lines)}")


def test_markdown(report: Report) -> None:
    text = to_markdown(report)
    assert "### Weather\n" in text
    check_text(re.sub(r"[|:-]+\n", "\n", text))


def test_page(report: Report) -> None:
    page = render_page(report)
    assert '<a href="#weather">Weather</a>' in page
    check_text(text_of(page))


def test_notebook(report: Report) -> None:
    snippet = report._repr_html_()
    assert ">Weather</summary>" in snippet
    check_text(text_of(snippet))


def test_pull_request(report: Report) -> None:
    text = to_comment(report)
    assert "<summary>Weather</summary>" in text
    check_text(re.sub(r"[|:-]+\n", "\n", text))


def test_archived_run(run: ArchivedRun, report: Report, rankjury: Rankjury) -> None:
    stored = run.report.systems["new"].sections["weather"]
    assert stored == report.systems["new"].sections["weather"]
    found = rankjury("show", run.name, "--archive", str(run.path.parent.parent))
    assert found.code == 0
    check_text(found.out)
    check_text(text_of((run.path / "report.html").read_text("utf-8")))


def test_where_it_is_not_installed_it_is_kept_and_not_shown(
    report: Report, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    form = report.to_json()
    monkeypatch.undo()
    forget_plugins(monkeypatch)
    other = Report.from_json(form)
    assert isinstance(other.systems["new"].sections["weather"], UnknownSection) and other.to_json() == form
    print_report(other)
    assert "Weather" not in capsys.readouterr().out and WARNING in other.warning_lines
