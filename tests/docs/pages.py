"""Runner for documentation pages: each page is a script whose commands, files and Python blocks are executed in order.

The rules for authors are in docs/contributing/documentation.md.
"""

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import rich.console  # noqa: F401  # it keeps the os.environ of its first import: not the copies below
import typer.main
import yaml

from rankjury.cli import main
from tests.cli.support import Outcome
from tests.paths import ROOT, SAMPLES

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*) *(?P<attributes>[^\n`]*)\n(?P<body>.*?)^(?P=indent)``` *$",
    re.DOTALL | re.MULTILINE,
)
OUTPUT_TITLE = "Output"
build_parser = cache(typer.main.get_command)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, title, and lines without the indentation."""

    language: str
    title: str | None
    lines: tuple[str, ...]
    first: int
    """The line of the page, from 0, on which the first line of the block is."""
    indent: str

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


@dataclass(frozen=True)
class Page:
    """A Markdown page: its front matter and fenced blocks."""

    path: Path
    text: str
    front: dict[str, Any]
    blocks: tuple[Block, ...]

    @classmethod
    def read(cls, path: Path) -> "Page":
        text = path.read_text(encoding="utf-8")
        found = re.match(r"---\n(.*?)^---\n", text, re.DOTALL | re.MULTILINE)
        front = yaml.safe_load(found[1]) if found else {}
        blocks = []
        for block in FENCE.finditer(text):
            title = re.search(r'title="([^"]*)"', block["attributes"])
            lines = tuple(line.removeprefix(block["indent"]) for line in block["body"].splitlines())
            first = text.count("\n", 0, block.start("body"))
            blocks.append(Block(block["language"], title and title[1], lines, first, block["indent"]))
        return cls(path, text, front, tuple(blocks))

    @property
    def runs(self) -> bool:
        """Whether a block of the page is executed; a copy of another page is not."""
        return "source" not in self.front and any(block.language == "console" or is_run(block) for block in self.blocks)


def is_run(block: Block) -> bool:
    """Return whether the block is Python that is executed; with a title it is a file."""
    return block.language == "python" and block.title is None


@dataclass(frozen=True)
class Step:
    """A command of a console block and the output that the page shows below it."""

    command: str
    shown: tuple[str, ...]
    first: int
    """The index, within the block, of the first line of the output."""


def steps_of(block: Block) -> Iterator[Step]:
    """Yield the commands of a console block. A line that ends with a backslash goes on in the next."""
    starts = [n for n, line in enumerate(block.lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(block.lines)], strict=True):
        command, first = block.lines[start][2:], start + 1
        while command.endswith("\\"):
            command, first = f"{command[:-1].rstrip()} {block.lines[first].strip()}", first + 1
        yield Step(command.partition("   #")[0].strip(), block.lines[first:end], first)


def matches(shown: tuple[str, ...], printed: list[str]) -> bool:
    """Return whether output is as shown: a line ``…`` matches any lines, ``…`` in a line any text.

    Where nothing is shown, nothing is compared.
    """
    if not shown:
        return True
    pattern = "".join(
        r"(?:[^\n]*\n)*?" if line.strip() == "…" else ".*?".join(map(re.escape, line.rstrip().split("…"))) + "\n"
        for line in shown
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


@dataclass
class PageRun:
    """One execution of a page in a folder."""

    page: Page
    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    code: int = 0
    found: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    """What was printed, by the lines of the page (first, last + 1) that show something else."""

    def run(self) -> None:
        """Execute the page; lines of output that differ are collected in ``found``."""
        for files in [self.page.front.get("files", [])]:
            for name in [files] if isinstance(files, str) else files:
                copytree(ROOT / name, self.folder, dirs_exist_ok=True)
        printed: list[str] | None = None
        for block in self.page.blocks:
            if block.language == "console":
                self._run_console(block)
            elif is_run(block):
                printed = self._run_python(block)
                continue
            elif block.title == OUTPUT_TITLE:
                assert printed is not None, f"{self.page.path}: no Python block before the output"
                self._compare(block, 0, len(block.lines), block.lines, printed)
            elif block.title is not None:
                path = self.folder / block.title
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, encoding="utf-8")
            printed = None
        assert self.code == 0, f"{self.page.path}: the last command ended with {self.code}"

    def _compare(self, block: Block, start: int, end: int, shown: tuple[str, ...], printed: list[str]) -> None:
        if not matches(shown, printed):
            self.found[block.first + start, block.first + end] = [f"{block.indent}{line}".rstrip() for line in printed]

    def _run_console(self, block: Block) -> None:
        for step in steps_of(block):
            if step.command == "echo $?":
                printed, self.code = [str(self.code)], 0
            else:
                assert self.code == 0, f"{self.page.path}: {step.command!r} follows a failure; show it by echo $?"
                ended = self._run_command(step)
                self.code = ended.code
                printed = [line.rstrip() for line in (ended.out + ended.err).splitlines()]
                if ended.code not in (0, 4, 5) and not step.shown:
                    raise AssertionError(f"{self.page.path}: {step.command}: {ended.err}")
            self._compare(block, step.first, step.first + len(step.shown), step.shown, printed)

    def _run_command(self, step: Step) -> Outcome:
        copied = re.fullmatch(r"rankjury demo (?:(\w+) )?--keep (\S+)(?: -q)?", step.command)
        if copied and not step.shown:  # the demo itself runs in tests/cli/test_demo*.py
            copytree(SAMPLES / (copied[1] or "helpdesk"), self.folder / copied[2], dirs_exist_ok=True)
            return Outcome(0, "", "")
        words = shlex.split(step.command)
        assert words[:2] != ["rankjury", "view"], f"{self.page.path}: rankjury view does not end; show it in a sh block"
        simple = (
            words[0] == "rankjury" and not {"|", ">", "<", "&&", ";", "2>"} & set(words) and "*" not in step.command
        )
        if simple:
            return run_in_process(words[1:], self.folder)
        # pytest does not shorten lines where it finds the variable CI.
        environment = {name: value for name, value in os.environ.items() if name != "CI"} | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "COLUMNS": "80",
        }
        command = ["bash", "-c", step.command]
        ended = subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return Outcome(ended.returncode, ended.stdout, ended.stderr)

    def _run_python(self, block: Block) -> list[str]:
        out = io.StringIO()
        code = compile("\n" * block.first + block.text, str(self.page.path), "exec")
        with pytest.MonkeyPatch.context() as patch, chdir(self.folder), redirect_stdout(out):
            patch.setattr(sys, "path", [str(self.folder), *sys.path])
            patch.setenv("COLUMNS", "80")
            exec(code, self.names)
        return [line.rstrip() for line in out.getvalue().splitlines()]


def run_in_process(arguments: list[str], cwd: Path) -> Outcome:
    """Run a rankjury command in this process, without the time that a new one takes to start."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, chdir(cwd), redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["rankjury", *arguments])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        patch.setattr(typer.main, "get_command", build_parser)
        patch.setattr(os, "environ", os.environ.copy())
        patch.setattr(sys, "path", list(sys.path))
        patch.setenv("COLUMNS", "80")
        with pytest.raises(SystemExit) as ended:
            main()
    code = ended.value.code
    printed = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    return Outcome(code if isinstance(code, int) else 0, *printed)


def record_outputs(run: PageRun) -> str:
    """Return the page with the outputs that were printed in the places of those that differ."""
    lines = run.page.text.splitlines()
    for (start, end), printed in sorted(run.found.items(), reverse=True):
        lines[start:end] = printed
    return "\n".join(lines) + "\n"
