"""Install the libraries of extras for the tests, one by one: one that has no wheel here is told, not fatal.

The tests of an extra whose library is missing skip, and say so.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

EXTRAS = ("faiss", "engines", "pgvector", "recsys", "mlflow", "wandb", "spark")
BESIDE = ("pysqlite3",)
"""Where Python's own sqlite3 loads no extensions, as sqlite-vec is."""
ALONE = ("keybert",)
"""Without what these ask for: the dev group has what is used of it, and sentence-transformers would bring torch."""


def main() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    known = project["project"]["optional-dependencies"]
    install([*(one for extra in EXTRAS for one in known[extra]), *BESIDE])
    install([one for extra in ALONE for one in known[extra]], "--no-deps")


def install(wanted: list[str], *options: str) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", *options]
    if subprocess.run([*pip, *wanted], capture_output=True, check=False).returncode == 0:
        return
    for one in wanted:
        if subprocess.run([*pip, one], capture_output=True, check=False).returncode:
            print(f"could not install {one}: its tests will skip", file=sys.stderr)


if __name__ == "__main__":
    main()
