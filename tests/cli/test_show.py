"""rankjury show: one archived run."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from rankjury.tracking.archive.archive import Archive
from tests.cli.archives import two_runs
from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure, check_width
from tests.tracking.archive.made import kept, put_small


@pytest.fixture(autouse=True)
def nobodys_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKJURY_ARCHIVE", raising=False)


def test_all_that_is_to_be_known(rankjury: Rankjury, folder: Path) -> None:
    first, last = two_runs(folder)
    Archive(folder / ".rankjury").set_baseline(first)
    outcome = rankjury("show", first.name)
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0] == f"{first.name} (baseline)" and lines[1].startswith(
        "2026-01-01 06:30 UTC · 12 queries · 2 systems"
    )
    assert any(line.startswith("PASS") and "at least 0.3" in line for line in lines)
    heads = [line.split()[0] for line, below in pairwise(lines) if below.startswith("──")]
    assert heads[1:3] == ["rr", "ndcg@3"] and "and 1 other measure: precision@3" in lines
    shown = first.report.to_json()["systems"]["new"]["measures"]["rr"]
    assert any(line.startswith("new ") and f"{shown['mean']:.3f} [" in line for line in lines)
    for name, digest in first.manifest["inputs"].items():
        assert f"{name} {digest[:8]}" in outcome.out.replace("\n    ", " ")
    assert "packages: rankjury " in outcome.out and "scores.parquet" in outcome.out
    assert outcome.err == f"Next: rankjury diff {first.name}, or rankjury baseline set {first.name}\n"
    check_width(outcome.out)
    assert rankjury("show").out.splitlines()[0] == last.name, "the last, where none is named"


def test_json_is_manifest_and_report(rankjury: Rankjury, folder: Path) -> None:
    _, last = two_runs(folder)
    form = json.loads(rankjury("show", "latest", "--json").out)
    assert form == {"run": last.name, "manifest": dict(last.manifest), "report": last.report.to_json()}


def test_files(rankjury: Rankjury, folder: Path) -> None:
    two_runs(folder)
    outcome = rankjury("show", "latest", "-o", "r.json", "-o", "r.md", "-o", "r.html")
    assert outcome.code == 0 and outcome.err == "Wrote r.json, r.md, r.html\n"
    (folder / "t.toml").write_text('targets = ["rr >= 0.3"]')
    assert rankjury("gate", "t.toml", "r.json").out == rankjury("gate", "t.toml", "latest").out
    assert Path("r.md").read_text() == rankjury("show", "latest", "--pr").out != ""
    assert Path("r.html").read_text().startswith("<!doctype html")


def test_the_page_is_the_one_that_was_kept(rankjury: Rankjury, folder: Path) -> None:
    put_small(folder)
    rankjury("run", "plan.toml", "-q")
    path = Path(rankjury("show", "--html").out.strip())
    assert path.name == "report.html" and path.is_file()
    rankjury("show", "-o", "copy.html")
    assert Path("copy.html").read_bytes() == path.read_bytes()


def test_a_run_without_page(rankjury: Rankjury, folder: Path) -> None:
    kept(Archive(folder / ".rankjury"), put_small(folder))
    check_failure(rankjury("show", "--html"), 3, "kept without an HTML report", "-o report.html makes one")


@pytest.mark.parametrize("width", ["60", "80", "120", "200"])
def test_it_fits_the_screen(rankjury: Rankjury, folder: Path, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    two_runs(folder)
    monkeypatch.setenv("COLUMNS", width)
    out = rankjury("show", "latest").out
    assert max(map(len, out.splitlines())) <= int(width) and "0.6" in out


def test_requests_that_make_no_sense(rankjury: Rankjury, folder: Path) -> None:
    check_failure(rankjury("show"), 3, "the archive has no run", "rankjury run")
    two_runs(folder)
    check_failure(rankjury("show", "lates"), 2, "unknown run 'lates'", "Did you mean latest?")
    check_failure(rankjury("show", "2026"), 2, "'2026' names several runs")
    check_failure(rankjury("show", "--json", "--html"), 2, "one of them")
    check_failure(rankjury("show", "-o", "r.xls"), 2, ".html, .md, .json")
