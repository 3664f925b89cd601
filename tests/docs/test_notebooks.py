"""The notebooks of examples/notebooks run from top to bottom, and show what is stored in them."""

from pathlib import Path

import pytest

from tests.docs.notebooks import code_cells, read_notebook, run_cells
from tests.paths import ROOT

pytest.importorskip("pandas")
PATHS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks_of_both_kinds() -> None:
    assert [path.stem for path in PATHS] == ["recommendation", "retrieval"]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_show_what_is_stored(path: Path, tmp_path: Path) -> None:
    notebook = read_notebook(path)
    outputs, html = run_cells(notebook, tmp_path)
    assert [cell["outputs"] for cell in code_cells(notebook)] == outputs
    displayed = [page for page in html if "tabindex" in page]  # reports, scores and gates; frames have another form
    assert len(displayed) >= 3 and all("<script" not in page for page in displayed)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_is_one_that_jupyter_opens(path: Path) -> None:
    notebook = read_notebook(path)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids) and path.stat().st_size < 20_000
    for number, cell in enumerate(code_cells(notebook), start=1):
        assert cell["execution_count"] == number
        assert {output["output_type"] for output in cell["outputs"]} <= {"stream", "execute_result"}
