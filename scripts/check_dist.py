"""Check the built packages in dist: their files, the links of the README, and the wheel in a bare environment."""

import re
import subprocess
import sys
import tarfile
import venv
from email import message_from_bytes
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

DIST = Path(__file__).resolve().parents[1] / "dist"
LARGEST = 10_000_000
"""Bytes of a package: half of it are the vectors of the samples; a data file by mistake would be larger."""
_LINK = re.compile(r"\]\((?!https://|#)([^)\s]+)")
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def main() -> None:
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    faults = [*foreign_files(wheel, sdist), *broken_links(wheel)]
    faults += [
        f"{path.name} has {path.stat().st_size:,} bytes" for path in (wheel, sdist) if path.stat().st_size > LARGEST
    ]
    with TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        programs = Path(folder) / "bin"
        subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", wheel], check=True)
        for command in (["rankjury", "--version"], ["rankjury", "demo"]):
            print(f"$ {' '.join(command)}", flush=True)
            subprocess.run([programs / command[0], *command[1:]], cwd=folder, check=True)
    if faults:
        sys.exit("\n".join(faults))


def foreign_files(wheel: Path, sdist: Path) -> list[str]:
    """Return a line for each file that does not belong into a package."""
    with ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not re.match(r"rankjury(/|-[\d.]+\w*\.dist-info/)", name)]
    with tarfile.open(sdist) as archive:
        inside = [member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()]
    kept = r"src/rankjury/|(README\.md|CHANGELOG\.md|LICENSE|hatch_build\.py|pyproject\.toml|PKG-INFO|\.gitignore)$"
    names += [name for name in inside if not re.match(kept, name)]
    return [f"does not belong into a package: {name}" for name in names]


def broken_links(wheel: Path) -> list[str]:
    """Return a line for each link of the README that leads nowhere on the page of the package."""
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        text = str(message_from_bytes(archive.read(name)).get_payload(decode=True), "utf-8")
    links = _LINK.findall(_FENCE.sub("", text))
    return [f"README.md: the link {link} is relative; PyPI shows no such file" for link in links]


if __name__ == "__main__":
    main()
