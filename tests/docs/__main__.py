"""Run pages and write the outputs that differ into them: python -m tests.docs PAGE… [--check]."""

import difflib
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.pages import Page, PageRun, record_outputs


def run_page(path: Path, *, check: bool) -> bool:
    """Execute a page, show what differs, and write it unless ``check``; return whether nothing differs."""
    page = Page.read(path)
    with TemporaryDirectory() as folder:
        run = PageRun(page, Path(folder))
        run.run()
    new = record_outputs(run)
    if not run.found:
        return True
    sys.stdout.writelines(difflib.unified_diff(page.text.splitlines(True), new.splitlines(True), str(path), str(path)))
    if not check:
        path.write_text(new, encoding="utf-8")
    return False


if __name__ == "__main__":
    paths = [Path(argument) for argument in sys.argv[1:] if argument != "--check"]
    same = [run_page(path, check="--check" in sys.argv) for path in paths]
    sys.exit(0 if all(same) or "--check" not in sys.argv else 1)
