"""The packages: what the wheel and the source distribution contain, built in this process without a network."""

import importlib.util
import tarfile
import tomllib
from email.message import Message
from email.parser import Parser
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest
from hatchling import build

from rankjury import __version__
from tests.paths import ROOT, SAMPLES

NAME = f"rankjury-{__version__}"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return folder / build.build_wheel(str(folder)), folder / build.build_sdist(str(folder))


@pytest.fixture(scope="module")
def wheel(packages: tuple[Path, Path]) -> ZipFile:
    return ZipFile(packages[0])


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def check_dist() -> ModuleType:
    """The script of ``make dist``."""
    return load(ROOT / "scripts" / "check_dist.py")


def metadata_of(wheel: ZipFile) -> Message:
    return Parser().parsestr(wheel.read(f"{NAME}.dist-info/METADATA").decode())


def test_the_wheel_has_every_module_and_every_file_of_the_samples(wheel: ZipFile) -> None:
    package = ROOT / "src" / "rankjury"
    expected = {f"rankjury/{path.relative_to(package).as_posix()}" for path in package.rglob("*.py")}
    expected |= {f"rankjury/{path.relative_to(package).as_posix()}" for path in SAMPLES.rglob("*") if path.is_file()}
    expected |= {"rankjury/py.typed"}
    assert expected - set(wheel.namelist()) == set()
    assert not [name for name in wheel.namelist() if "__pycache__" in name]


def test_the_packages_have_nothing_else(packages: tuple[Path, Path], check_dist: ModuleType) -> None:
    assert check_dist.foreign_files(*packages) == []
    with tarfile.open(packages[1]) as archive:
        names = set(archive.getnames())
    assert {
        f"{NAME}/{file}" for file in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "CHANGELOG.md")
    } <= names
    assert f"{NAME}/src/rankjury/plan/samples/helpdesk/qrels.trec" in names
    assert all(path.stat().st_size < check_dist.LARGEST for path in packages)


def test_the_script_names_files_and_links_that_do_not_belong(tmp_path: Path, check_dist: ModuleType) -> None:
    readme = "Metadata-Version: 2.4\n\n[a](docs/a.md) [b](https://x.y/) [c](#c) ![d](d.png)\n\n```\n[e](e)\n```\n"
    with ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr("rankjury/a.py", "")
        archive.writestr("tests/a.py", "")
        archive.writestr("rankjury-1.0.dist-info/METADATA", readme)
    (tmp_path / "a.py").touch()
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "a.py", "rankjury-1.0/benchmarks/a.py")
        archive.add(tmp_path / "a.py", "rankjury-1.0/src/rankjury/a.py")
    found = check_dist.foreign_files(tmp_path / "a.whl", tmp_path / "a.tar.gz")
    assert [line.rpartition(" ")[2] for line in found] == ["tests/a.py", "benchmarks/a.py"]
    links = check_dist.broken_links(tmp_path / "a.whl")
    assert len(links) == 2 and "docs/a.md" in links[0] and "d.png" in links[1]


def test_the_readme_of_the_packages_has_no_relative_links(packages: tuple[Path, Path], check_dist: ModuleType) -> None:
    assert check_dist.broken_links(packages[0]) == []
    with ZipFile(packages[0]) as wheel:
        assert "# rankjury" in wheel.read(f"{NAME}.dist-info/METADATA").decode()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (None, "a [b](https://x.y/z) [c](#d)  `e`"),
        ("https://x.y/r", "[a](https://x.y/r/blob/v1.0/docs/a.md) [b](https://x.y/z) [c](#d) "
         "![p](https://x.y/r/raw/v1.0/p.png) `e`"),
    ],
)  # fmt: skip
def test_relative_links_lead_to_the_files_of_the_release(source: str | None, expected: str) -> None:
    text = "[a](docs/a.md) [b](https://x.y/z) [c](#d) ![p](p.png) `e`\n```\n[f](f)\n```"
    assert load(ROOT / "hatch_build.py").absolute_links(text, source, "1.0") == f"{expected}\n```\n[f](f)\n```"


def test_the_metadata_and_the_entry_point_are_complete(wheel: ZipFile) -> None:
    metadata = metadata_of(wheel)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (metadata["Name"], metadata["Version"]) == ("rankjury", __version__)
    assert metadata["License-Expression"] == project["license"] and metadata["Requires-Python"] == ">=3.11"
    assert metadata["Description-Content-Type"] == "text/markdown"
    core = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert len(core) == len(project["dependencies"])
    assert set(metadata.get_all("Provides-Extra", [])) == set(project["optional-dependencies"])
    entry_points = wheel.read(f"{NAME}.dist-info/entry_points.txt").decode().split("\n")
    assert "rankjury = rankjury.__main__:run" in entry_points
