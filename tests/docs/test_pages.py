"""Every page and the README are true: their commands and Python blocks run, and print what is shown."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer
import typer.main

from rankjury.cli import app
from tests.docs.pages import Page, PageRun, matches, record_outputs, steps_of
from tests.paths import ROOT

PAGES = {
    str(path.relative_to(ROOT)): Page.read(path)
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md")))
}
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if page.runs])
def test_page_runs_and_prints_what_it_shows(name: str, tmp_path: Path) -> None:
    page = PAGES[name]
    for module in page.front.get("requires", []):
        if find_spec(module) is None:
            pytest.skip(f"{name} needs {module}")
    run = PageRun(page, tmp_path)
    run.run()
    new = record_outputs(run).splitlines()
    shown = page.text.splitlines()
    differing = {
        start + 1: ("\n".join(shown[start:end]), "\n".join(lines)) for (start, end), lines in run.found.items()
    }
    assert not differing, f"python -m tests.docs {name}" + "".join(
        f"\n{name}:{line} shows\n{old}\nbut it prints\n{printed}" for line, (old, printed) in differing.items()
    )
    assert len(new) == len(shown)


def mentioned_commands(page: Page) -> list[str]:
    """Return the rankjury commands of all blocks and of inline code."""
    lines = [step.command for block in page.blocks if block.language == "console" for step in steps_of(block)]
    shell = [block.text.replace("\\\n", " ") for block in page.blocks if block.language in ("sh", "bash", "yaml")]
    lines += [line.strip().removeprefix("- ").removeprefix("run: ") for text in shell for line in text.splitlines()]
    prose = re.sub(r"^ *```.*?^ *```", "", page.text, flags=re.DOTALL | re.MULTILINE)
    lines += re.findall(r"`(rankjury [^`]+)`", prose)
    parts = [part.strip() for line in lines for part in re.split(r"&&|\||;|   #|, then ", line)]
    return [part for part in parts if re.match(r"rankjury [a-z]", part)]


@pytest.mark.parametrize("name", PAGES)
def test_commands_and_options_exist(name: str) -> None:
    unknown = []
    for line in mentioned_commands(PAGES[name]):
        try:
            words = shlex.split(line.replace("…", " "))
        except ValueError:
            words = line.replace("…", " ").split()
        command = COMMANDS.get(words[1])
        if command is None:
            unknown.append(f"{words[1]} in {line!r}")
            continue
        params = command.get_params(typer.Context(command))  # split has those of its kinds here only
        known = {spelling for param in params for spelling in (*param.opts, *param.secondary_opts)}
        options = {word.partition("=")[0] for word in words[2:] if re.match(r"--?[a-z]", word)}
        unknown += [f"{option} in {line!r}" for option in options - known - {"--help", "-h", "--debug"}]
    assert not unknown


def test_a_page_that_is_not_true_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(
        '# Page\n\n```python title="numbers.py"\nONE = 1\n```\n\n```python\nimport numbers_\n```\n'.replace(
            "numbers_", "json"
        )
        + '```python\nprint(1 + 1)\n```\n\n```text title="Output"\n3\n```\n\n'
        "```console\n$ rankjury --version\nrankjury 99\n$ rankjury evaluate none.trec none.trec\n…\n$ echo $?\n3\n```\n"
    )
    run = PageRun(Page.read(path), tmp_path)
    run.run()
    assert len(run.found) == 2
    new = record_outputs(run)
    assert "\n2\n" in new and "rankjury 99" not in new and "\n…\n$ echo $?\n3\n" in new
    assert (tmp_path / "numbers.py").read_text() == "ONE = 1\n"


def test_an_ellipsis_matches_lines_and_parts_of_lines() -> None:
    assert matches(("a … c", "…", "z"), ["a b c", "x", "y", "z"])
    assert matches(("a", "…"), ["a"])
    assert not matches(("a",), ["a", "b"])
    assert not matches(("a … c",), ["a b d"])
