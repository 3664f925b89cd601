"""Completion: what rankjury offers to a shell, and what bash and zsh make of a line when Tab is typed."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import rankjury as library
from rankjury.io.formats import FORMATS
from rankjury.measures.dialects import DIALECTS
from rankjury.measures.measure import METRICS
from tests.cli.conftest import Rankjury
from tests.cli.support import put

SHELLS = ["bash", "zsh"]
PLAN = 'name = "desk"\ngold = "gold.qrels"\nmeasures = ["rr"]\n[systems]\nrun = "run.trec"\n'


def complete(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """Return what is offered for the last word, by the protocol of typer's script for bash."""
    monkeypatch.setenv("_RANKJURY_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(["rankjury", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    outcome = rankjury()
    assert outcome.err == ""
    return outcome.out.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("ev",), ["evaluate"]),
        (("evaluate", "--dia"), ["--dialect"]),
        (("evaluate", "--dialect", ""), DIALECTS.names()),
        (("evaluate", "--dialect", "tr"), [name for name in DIALECTS.names() if name.startswith("tr")]),
        (("explain", "-m", ""), METRICS.names()),
        (("evaluate", "-m", "ndc"), ["ndcg"]),
        (("gate", "--ties", ""), ["id", "id-desc", "order"]),
        (("compare", "--missing", "s"), ["skip"]),
        (("evaluate", "--interval", "b"), ["bca"]),
        (("evaluate", "--duplicates", ""), ["error", "first", "last", "max"]),
        (("evaluate", "--format", ""), list(FORMATS)),
        (("convert", "--to", "p"), ["parquet"]),
        (("neighbours", "--distance", "cosine-"), ["cosine-zero"]),
        (("agree", "--dtype", "f"), ["float16"]),
        (("keywords", "--method", "k"), ["keybert"]),
        (("tune", "--method", "rr"), ["rrf"]),
        (("tune", "--normalise", "z"), ["z-score"]),
        (("tune", "--refit", "train+"), ["train+validation"]),
        (("split", "--kind", "te"), ["temporal"]),
        (("init", "rec"), ["recommenders"]),
        (("demo", "help"), ["helpdesk"]),
        (("baseline", ""), ["set", "unset", "write"]),
        (("list", "dia"), ["dialects"]),
        (("list", "dialects", "ranx"), ["ranx"]),
        (("list", "engines", "pgv"), ["pgvector"]),
        (("list", "vectors", ""), []),
        (("evaluate", "gold"), []),  # the shell then completes files
        (("show", ""), []),  # no archive
        (("nonsense", ""), []),
    ],
)
def test_values_are_offered(
    words: tuple[str, ...], offered: list[str], rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert complete(rankjury, monkeypatch, *words) == offered


def test_archived_runs_and_their_plans_are_offered(
    folder: Path, rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("desk.toml", PLAN)
    library.run_plan("desk.toml", archive="kept")
    (name,) = [path.name for path in (folder / "kept" / "runs").iterdir()]
    monkeypatch.setenv("RANKJURY_ARCHIVE", "kept")
    for command in (("show",), ("diff",), ("diff", "latest"), ("view",), ("log",)):
        assert complete(rankjury, monkeypatch, *command, "") == ["latest", name], command
    for words in (("history", ""), ("prune", "--plan", "de")):
        assert complete(rankjury, monkeypatch, *words) == ["desk"]
    monkeypatch.delenv("RANKJURY_ARCHIVE")
    assert complete(rankjury, monkeypatch, "show", "--archive", "kept", "2") == [name]
    (folder / "kept" / "runs" / name / "manifest.json").write_text("{")
    assert complete(rankjury, monkeypatch, "show", "--archive", "kept", "") == []


class Typing:
    """A shell in a terminal, with the completion that ``rankjury --install-completion`` put into its home folder."""

    def __init__(self, shell: str, home: Path, cwd: Path) -> None:
        programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {"HOME": str(home), "PATH": programs, "TERM": "dumb", "LANG": "C.UTF-8", "SHELL": shell}
        install = [shell, "-c", "rankjury --install-completion; true"]
        subprocess.run(install, env=environment, cwd=cwd, check=True, capture_output=True)
        show = {
            "bash": "show() { printf '\\n<%s>\\n' \"$READLINE_LINE\"; }\nbind -x '\"\\C-g\": show'\n",
            "zsh": "show() { print -r -- \"\n<$BUFFER>\" }\nzle -N show\nbindkey '^G' show\n",
        }
        with (home / f".{shell}rc").open("a") as file:
            file.write(f"PS1='READY '\n{show[shell]}")
        self.terminal, inner = pty.openpty()
        self.process = subprocess.Popen(
            [shell, "-i"], stdin=inner, stdout=inner, stderr=inner, env=environment, cwd=cwd, start_new_session=True
        )
        os.close(inner)
        self.read("READY ")

    def complete(self, line: str) -> str:
        """Return the line after Tab; Ctrl-G prints it, and Ctrl-U empties it."""
        os.write(self.terminal, f"{line}\t\x07".encode())
        seen = self.read(r"\n<(.*)>\r?\n")
        os.write(self.terminal, b"\x15")
        return seen

    def read(self, pattern: str) -> str:
        """Read until the pattern is printed, and return its group."""
        seen, end = "", time.monotonic() + 30
        while time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.1)[0]:
                seen += os.read(self.terminal, 65536).decode(errors="replace")
                if found := re.search(pattern, seen):
                    return found[found.re.groups]
        raise TimeoutError(seen)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)


@pytest.fixture(params=SHELLS)
def typing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Typing]:
    if shutil.which(request.param) is None:
        pytest.skip(f"there is no {request.param} here")
    work = tmp_path / "work"
    work.mkdir()
    for name in ("my gold.trec", "run.trec"):
        (work / name).touch()
    shell = Typing(request.param, tmp_path, work)
    yield shell
    shell.close()


def test_a_shell_completes_commands_options_values_and_files(typing: Typing) -> None:
    for line, completed in (
        ("rankjury ev", "rankjury evaluate "),  # the first Tab of the shell
        ("rankjury evaluate --dia", "rankjury evaluate --dialect "),
        ("rankjury evaluate --dialect trec_eval-", "rankjury evaluate --dialect trec_eval-10 "),
        ("rankjury evaluate ru", "rankjury evaluate run.trec "),
        ("rankjury evaluate my", "rankjury evaluate my\\ gold.trec "),
        ("rankjury evaluate run.trec -o ru", "rankjury evaluate run.trec -o run.trec "),
    ):
        assert typing.complete(line) == completed
