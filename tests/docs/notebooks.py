"""Runner for notebooks of plain Python: run the cells in this process, and store what they show as text.

python -m tests.docs.notebooks PATH… writes the outputs into the notebooks.
"""

import ast
import io
import json
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

Notebook = dict[str, Any]
Output = dict[str, Any]


def read_notebook(path: Path) -> Notebook:
    return json.loads(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def write_notebook(path: Path, notebook: Notebook) -> None:
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def code_cells(notebook: Notebook) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run_cells(notebook: Notebook, folder: Path) -> tuple[list[list[Output]], list[str]]:
    """Return the outputs of each code cell, as text, and the HTML of all last expressions that have such a form."""
    names: dict[str, Any] = {"__name__": "__main__"}
    outputs, html = [], []
    with pytest.MonkeyPatch.context() as patch, chdir(folder):
        patch.setenv("COLUMNS", "80")
        for number, cell in enumerate(code_cells(notebook), start=1):
            printed, value = _run_cell("".join(cell["source"]), f"cell {number}", names)
            found: list[Output] = []
            if printed:
                found.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
            if value is not None:
                text = {"text/plain": repr(value).splitlines(keepends=True)}
                found.append({"data": text, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
                html += [value._repr_html_()] if hasattr(value, "_repr_html_") else []
            outputs.append(found)
    return outputs, html


def _run_cell(source: str, name: str, names: dict[str, Any]) -> tuple[str, Any]:
    """Return what a cell prints, and the value of its last expression."""
    tree, last = ast.parse(source), None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(tree, name, "exec"), names)
        value = None if last is None else eval(compile(last, name, "eval"), names)
    return out.getvalue(), value


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        notebook = read_notebook(path)
        for number, (cell, outputs) in enumerate(
            zip(code_cells(notebook), run_cells(notebook, path.parent)[0], strict=True), start=1
        ):
            cell["outputs"], cell["execution_count"] = outputs, number
        write_notebook(path, notebook)
