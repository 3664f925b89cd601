"""Facts that pages state about the code."""

from rankjury import cli
from rankjury.io.source import most_unpacked
from rankjury.retrieval.engines.base import ENGINES
from rankjury.retrieval.engines.endpoint import http as web
from rankjury.tracking.archive import environment as surroundings
from tests.paths import ROOT


def test_limits_of_the_security_page_are_those_of_the_code() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert most_unpacked(1) == 256_000_000 and "256 MB" in page
    assert web._MAX_BYTES == 64_000_000 and "an answer of 64 MB" in page
    assert ENGINES.get("endpoint").open_params["timeout"].default == 10 and "10 s by default" in page
    assert surroundings._SECONDS_FOR_GIT == 2 and "| 2 s " in page
    assert cli._MOST_THREADS == 1024 and "1 to 1,024" in page


def test_architecture_page_names_every_package() -> None:
    page = (ROOT / "docs" / "contributing" / "architecture.md").read_text(encoding="utf-8")
    packages = {path.name for path in (ROOT / "src" / "rankjury").iterdir() if not path.name.startswith("_")}
    assert {package for package in packages - {"py.typed"} if f"`{package}" not in page} == set()
