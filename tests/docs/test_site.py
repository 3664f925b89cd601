"""The site builds without a warning and loads nothing foreign; links of pages at the root lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path
from shutil import copy, copytree

import pytest
import yaml

from tests.paths import ROOT

CONFIGURATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
ROOT_PAGES = sorted(path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site of a copy, so that the checkout stays as it is."""
    folder = tmp_path_factory.mktemp("site")
    copytree(ROOT / "docs", folder / "docs")
    copy(ROOT / "mkdocs.yml", folder / "mkdocs.yml")
    command = [Path(sys.executable).parent / "zensical", "build", "--strict"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder / "site"


def test_strict_build_has_every_page_and_a_search_index(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
    built = {path.parent.relative_to(site) for path in site.rglob("index.html")}
    assert {page.parent if page.name == "index" else page for page in pages} <= built
    assert (site / "search.json").stat().st_size > 100_000


def test_site_loads_nothing_from_other_hosts(site: Path) -> None:
    loaded = re.compile(
        r'<(?:script|img|iframe|source)[^>]+src="?(https?:)?//|<link[^>]+href="?https?://(?!zensical\.org)'
    )
    assert [str(page) for page in site.rglob("*.html") if loaded.search(page.read_text(encoding="utf-8"))] == []


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r"[\w/-]+\.md", CONFIGURATION))
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    measures = {page for page in there if page.startswith("reference/measures/")}  # its index lists them
    assert there - measures == listed - measures
    assert "reference/measures/index.md" in listed


def test_both_colour_schemes_are_offered() -> None:
    palette = yaml.safe_load(CONFIGURATION)["theme"]["palette"]
    assert {entry["scheme"] for entry in palette} == {"default", "slate"}


def test_readme_is_one_screen() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.encode()) <= 8_000 and len(text.splitlines()) <= 150
    assert (ROOT / "docs" / "assets" / "report.png").stat().st_size <= 150_000


@pytest.mark.parametrize("page", ROOT_PAGES, ids=lambda page: page.name)
def test_links_of_the_pages_at_the_root_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(#[^)\s]*)?\)", page.read_text(encoding="utf-8"))
    missing = [link for link, _ in links if "://" not in link and not (ROOT / link).exists()]
    assert not missing
    for link, anchor in links:
        if anchor and link.endswith(".md"):
            titles = re.findall(r"^#+ (.*)", (ROOT / link).read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor[1:] in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}, anchor


def test_overviews_are_made_from_the_pages() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "make_overview.py"), "--check"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_addresses_of_llms_txt_are_pages_of_the_site(site: Path) -> None:
    addresses = re.findall(r"\]\(([\w/-]+)\): ", (site / "llms.txt").read_text(encoding="utf-8"))
    assert len(addresses) == len(set(re.findall(r"[\w/-]+\.md", CONFIGURATION))) - 1  # all but the first page
    assert [address for address in addresses if not (site / address / "index.html").exists()] == []
