"""An archive of a few runs, and a server over it, for all tests that only look."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.view.overview import RunCatalog
from rankjury.tracking.view.server import ViewServer
from tests.browser.reported import movies_plan
from tests.tracking.archive.made import QUERIES, kept, put_small
from tests.tracking.view.asking import served


@pytest.fixture(autouse=True)
def default_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use no archive of the user's, and wait for every answer: on a busy machine the page for waiting comes instead."""
    monkeypatch.delenv("RANKJURY_ARCHIVE", raising=False)
    monkeypatch.setattr("rankjury.tracking.view.pages._SECONDS_BEFORE_WAITING", 60.0)


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """Of a small plan three runs, the second with another ranking and the third as the second; of movies two."""
    folder = tmp_path_factory.mktemp("view")
    found = Archive(folder / ".rankjury")
    small = put_small(folder / "small")
    kept(found, small, 0)
    (small.parent / "new.trec").write_text(placed(1))
    kept(found, small, 1)
    kept(found, small, 2)
    movies = movies_plan(folder / "movies")
    kept(found, movies, 3)
    text = movies.read_text(encoding="utf-8")
    movies.write_text(text.replace("denseanchor = 0.5", "denseanchor = 0.9"), encoding="utf-8")
    kept(found, movies, 4)
    found.set_baseline(found.runs("small")[0])
    return found


def placed(rank: int) -> str:
    """A run that puts the one relevant item of most queries at this rank; of the first at the last."""
    lines = []
    for query in range(QUERIES):
        items = ["b", "c"]
        items.insert(rank - 1 if query else 2, "a")
        lines += [f"q{query:02} Q0 {item} {at} {9.5 - at} t" for at, item in enumerate(items, 1)]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="session")
def names(archive: Archive) -> list[str]:
    """Oldest first: three small, two movies."""
    return [run.name for run in archive.runs()]


@pytest.fixture(scope="session")
def shelf(archive: Archive) -> RunCatalog:
    return RunCatalog(archive)


@pytest.fixture(scope="session")
def server(shelf: RunCatalog) -> Iterator[ViewServer]:
    with served(shelf) as found:
        yield found


@pytest.fixture
def tree(archive: Archive) -> list[tuple[str, int, int]]:
    return tree_of(archive.path)


def tree_of(folder: Path) -> list[tuple[str, int, int]]:
    """Every file with its size and when it was last written."""
    found = [(path, path.stat()) for path in sorted(folder.rglob("*"))]
    return [(str(path), about.st_size, about.st_mtime_ns) for path, about in found]
