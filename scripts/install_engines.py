"""Install the libraries of the vector engines for the tests, one by one: one that has no wheel here is told, not fatal.

The tests of an engine whose library is missing skip, and say so.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

EXTRAS = ("engines", "pgvector")
BESIDE = ("pysqlite3",)
"""Where Python's own sqlite3 loads no extensions, as sqlite-vec is."""


def main() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [one for extra in EXTRAS for one in project["project"]["optional-dependencies"][extra]]
    wanted += BESIDE
    pip = [sys.executable, "-m", "pip", "install", "--quiet"]
    if subprocess.run([*pip, *wanted], capture_output=True, check=False).returncode == 0:
        return
    for one in wanted:
        if subprocess.run([*pip, one], capture_output=True, check=False).returncode:
            print(f"could not install {one}: the tests of its engine will skip", file=sys.stderr)


if __name__ == "__main__":
    main()
