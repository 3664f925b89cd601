"""The documentation is true: its tables come from the code, its commands run, its outputs are what is printed."""

import io
import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from shutil import copytree

import pytest
import rich.console  # noqa: F401  # it keeps the os.environ of its first import: not the copies below
import typer.main

from rankjury import cli
from rankjury.cli import main
from rankjury.io.source import most_unpacked
from rankjury.retrieval.engines.base import ENGINES
from rankjury.retrieval.engines.endpoint import http as web
from rankjury.tracking.archive import environment as surroundings
from tests.cli.support import Outcome
from tests.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [README, *(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md")))]


ELSEWHERE = [
    *(
        "rankjury demo papers",
        "rankjury demo driving",
        "rankjury demo driving --keep driving",
        "rankjury run driving/clips.toml",
    ),
    "rankjury demo movielens",
]
"""Of the longest: those that tests/cli/test_demo*.py run, and one whose lines are compared below."""
AS_A_PROCESS = ["rankjury demo movies", "rankjury list metrics"]
"""Commands that are run as a user runs them; the others in this process, without the time that each takes to start."""
build_parser = cache(typer.main.get_command)


@cache
def rankjury(*arguments: str, cwd: Path) -> Outcome:
    """What is asked for twice is run once."""
    return run_command(*arguments, cwd=cwd)


def run_command(*arguments: str, cwd: Path) -> Outcome:
    if shlex.join(("rankjury", *arguments)) in AS_A_PROCESS:
        command = [sys.executable, "-m", "rankjury", *arguments]
        ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
        return Outcome(ended.returncode, ended.stdout, ended.stderr)
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


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the demo's files, under the names that the README uses as well."""
    folder = tmp_path_factory.mktemp("desk")
    assert rankjury("demo", "--keep", "rankjury-demo", "-q", cwd=folder).code == 0
    for sample in ("movies", "papers", "fashion", "driving", "movielens"):
        copytree(ROOT / "src" / "rankjury" / "plan" / "samples" / sample, folder / sample)
    for name, source in (("qrels.txt", "qrels"), ("bm25.trec", "bm25"), ("dense.trec", "dense"), ("run.trec", "bm25")):
        (folder / name).write_bytes((folder / "rankjury-demo" / f"{source}.trec").read_bytes())
    (folder / "queries.jsonl").write_bytes((folder / "rankjury-demo" / "queries.jsonl").read_bytes())
    (targets,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    (folder / "targets.toml").write_text(targets, encoding="utf-8")
    # What later commands read is made here: the commands that make it may run on another worker.
    for source, target in (("run.trec", "run.trec.gz"), ("qrels.txt", "gold.parquet"), ("bm25.trec", "bm25.parquet")):
        rankjury("convert", source, target, cwd=folder)
    for _ in range(2):  # what the archive's commands look at; not through the cache, which would run one
        assert run_command("run", "movies/rankjury.toml", "-q", cwd=folder).code == 0
    return folder


def commands() -> list[str]:
    """Every rankjury command of the pages' indented blocks, comments left away."""
    indented = [line for page in PAGES for line in page.splitlines() if line[:4] == "    "]
    lines = [line.strip().removeprefix("$ ").partition("   #")[0] for line in indented]
    parts = [part.strip() for line in lines if re.match("rankjury [a-z]", line) for part in line.split("&&")]
    return [part for part in dict.fromkeys(parts) if part.startswith("rankjury ")]


@pytest.mark.parametrize("command", [command for command in commands() if command not in ELSEWHERE])
def test_commands_of_the_readme_run(command: str, desk: Path) -> None:
    ended = rankjury(*shlex.split(command)[1:], cwd=desk)
    assert ended.code == 0, ended.err


def test_there_are_commands_to_run() -> None:
    assert len(commands()) >= 8 and set(ELSEWHERE) < set(commands())


def shown_output(command: str) -> list[str]:
    """The lines that the README shows under a command, up to an ellipsis or a blank line that ends the block."""
    lines = README.splitlines()
    start = next(n for n, line in enumerate(lines) if line.strip() == f"$ {command}")
    block = []
    for line in lines[start + 1 :]:
        if line.strip() == "…" or (line and not line.startswith("    ")):
            break
        block.append(line.removeprefix("    ").rstrip())
    return block


@pytest.mark.parametrize(
    "command",
    [
        "rankjury demo movies",
        "rankjury gate targets.toml qrels.txt dense.trec -b bm25.trec --record latency_p95_ms=31",
        "rankjury demo --keep rankjury-demo && rankjury explain rankjury-demo/qrels.trec rankjury-demo/bm25.trec "
        "-m ndcg@10",
    ],
)
def test_outputs_of_the_readme_are_what_is_printed(command: str, desk: Path) -> None:
    ended = rankjury(*shlex.split(command.split("&&")[-1])[1:], cwd=desk)
    printed = [line.rstrip() for line in (ended.out + ended.err).splitlines()]
    expected = shown_output(command)
    assert printed[: len(expected)] == expected


def test_lines_shown_of_the_recommenders_are_printed(desk: Path) -> None:
    pytest.importorskip("irspack")
    pytest.importorskip("implicit")
    page = README.partition("$ rankjury demo movielens --full\n")[2].partition("\n\n")[0]
    ended = rankjury("demo", "movielens", "--full", cwd=desk)
    assert ended.code == 0, ended.err
    printed = [line.rstrip() for line in ended.out.splitlines()]
    shown = [line.strip() for line in page.splitlines() if line.strip() != "…"]
    assert len(shown) > 5
    assert [line for line in shown if line not in printed] == []


def test_limits_of_the_security_page_are_those_of_the_code() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert most_unpacked(1) == 256_000_000 and "256 MB" in page
    assert web._MAX_BYTES == 64_000_000 and "an answer of 64 MB" in page
    assert ENGINES.get("endpoint").open_params["timeout"].default == 10 and "10 s by default" in page
    assert surroundings._SECONDS_FOR_GIT == 2 and "| 2 s " in page
    assert cli._MOST_THREADS == 1024 and "1 to 1,024" in page


def test_architecture_page_names_every_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {path.name for path in (ROOT / "src" / "rankjury").iterdir() if not path.name.startswith("_")}
    rooms -= {"py.typed", "samples"}
    unnamed = {room for room in rooms if f"`{room}" not in page}
    assert not unnamed
