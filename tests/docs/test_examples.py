"""The files in examples/ are what scripts/make_examples.py makes, small, and described."""

import subprocess
import sys

import pytest

from tests.paths import ROOT

EXAMPLES = ROOT / "examples"
SCRIPT = ROOT / "scripts" / "make_examples.py"


def test_the_examples_are_what_the_script_makes() -> None:
    pytest.importorskip("wordllama")
    ended = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{ended.stderr}\nrun: python scripts/make_examples.py"


def test_each_folder_of_examples_is_small_and_used_by_a_recipe() -> None:
    recipes = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "recipes").glob("*.md"))
    for folder in EXAMPLES.iterdir():
        assert f"examples/{folder.name}" in recipes
        assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 80_000
        readme = (folder / "README.md").read_text(encoding="utf-8").splitlines()
        assert readme[0].startswith("# ") and len(readme) <= 5
