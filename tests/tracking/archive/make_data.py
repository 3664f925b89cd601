"""Make the run that every later rankjury must open: python -m tests.tracking.archive.make_data

Only for a new version of the form of runs: it goes beside those that are there, which are never made again.
"""

import tempfile
from pathlib import Path
from shutil import copytree

from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.manifest import CURRENT
from tests.tracking.archive.made import kept, put_small

DATA = Path(__file__).parent / "data"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        run = kept(Archive(Path(name) / ".rankjury"), put_small(Path(name) / "small"))
        copytree(run.path, DATA / f"version-{CURRENT}" / "runs" / run.name)


if __name__ == "__main__":
    main()
