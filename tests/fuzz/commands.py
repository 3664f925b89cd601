"""Fuzz surface of the command line: valid lines of every command, then odd values, options and files.

Commands run in this process, through the parser that ``rankjury`` uses, so that an error keeps its place. Not among the
lines: ``view``, which serves until it is stopped; ``demo``, which reads nothing; and whatever starts a server or Spark.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import typer.main

from rankjury.cli import app
from rankjury.errors import DataError, RankjuryError
from tests.fuzz import inputs, mutators
from tests.fuzz.harness import Case, Surface, register

__all__ = ["Done", "run_command"]

_PARSER_ERROR: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")
_CODES = (0, 2, 3, 4, 5)
_ENVIRONMENT = {"COLUMNS": "80", "SOURCE_DATE_EPOCH": "1700000000", "RANKJURY_ARCHIVE": "", "GITHUB_STEP_SUMMARY": ""}


@dataclass(frozen=True)
class Done:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


class BadOutcomeError(AssertionError):
    """An exit code or an output that no command may give."""


@cache
def _parser() -> Any:
    return typer.main.get_command(app)


def command_names() -> set[str]:
    """Return the names of all commands."""
    return {*_parser().commands}


def run_command(arguments: Sequence[str], stdin: bytes = b"") -> Done:
    """Run a command in this process and the current folder.

    Raises:
        BadOutcomeError: The exit code is not one that is documented, or a traceback is printed.
        BaseException: Whatever ``rankjury.cli.main`` would report as an internal error or as an error of the system.
    """
    with _streams(stdin) as (out, err):
        code = _code_of(arguments)
    shown = Done(code, out(), err())
    if code not in _CODES:
        raise BadOutcomeError(f"exit code {code} of {' '.join(arguments)}"[:300])
    if "Traceback (most recent call last)" in shown.out + shown.err:
        raise BadOutcomeError(f"a traceback from {' '.join(arguments)}"[:300])
    return shown


def _code_of(arguments: Sequence[str]) -> int:
    try:
        ended = _parser().main(list(arguments), prog_name="rankjury", standalone_mode=False)
    except RankjuryError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except _PARSER_ERROR as error:
        error.show()
        return int(error.exit_code)
    except typer.Abort:
        return 2
    except SystemExit as exit_:
        ended = exit_.code
    return ended if isinstance(ended, int) else 0


@contextmanager
def _streams(stdin: bytes) -> Iterator[tuple[Callable[[], str], Callable[[], str]]]:
    """Give a command streams of its own; the two functions return what it printed so far."""
    kept = sys.stdin, sys.stdout, sys.stderr
    before = dict(os.environ)
    os.environ.update(_ENVIRONMENT)
    held = [io.BytesIO() for _ in range(2)]
    out = io.TextIOWrapper(held[0], encoding="utf-8", errors="surrogateescape", write_through=True)
    err = io.TextIOWrapper(held[1], encoding="utf-8", errors="backslashreplace", write_through=True)
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    sys.stdout, sys.stderr = out, err

    def shown(stream: io.TextIOWrapper, octets: io.BytesIO) -> Callable[[], str]:
        def read() -> str:
            with suppress(ValueError):
                stream.flush()
            return octets.getvalue().decode("utf-8", "replace")

        return read

    try:
        yield shown(out, held[0]), shown(err, held[1])
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


# Valid lines. The names of files are those of `inputs.FILES`.

LINES = (
    "run rankjury.toml --no-archive -q",
    "run rankjury.toml --archive kept --json",
    "run rankjury.toml -o out --strict",
    "init runs -o new.toml --force",
    "init -o new.toml",
    "evaluate gold.qrels run.trec -m ndcg@10 -m rr --resamples 100",
    "evaluate gold.qrels run.trec other.trec --json --no-ci --per-query out.csv",
    "evaluate gold.qrels run.trec --slices queries.csv:type --item-slices items.csv:title --names items.csv:title "
    "--resamples 100 -o out.json -o out.md",
    "evaluate gold.qrels run.trec -d trec_eval --level 0.9 --seed 3 --interval percentile --resamples 100",
    "evaluate gold.qrels run.trec -m rr --ties order --missing skip --empty zero --rel 1 --duplicates first --no-ci",
    "evaluate gold.qrels run.trec --format trec --gold-format trec --quantiles 0.5,0.9 --no-ci",
    "evaluate gold.qrels - --no-ci --format trec",
    "evaluate gold.parquet run.parquet --memory 1GB --no-ci -m rr",
    "compare gold.qrels run.trec other.trec -b run -m rr --resamples 100 --detect 0.02",
    "compare gold.qrels run.trec other.trec --json --resamples 100 --slices queries.csv",
    "gate targets.toml report.json",
    "gate targets.toml gold.qrels run.trec other.trec -b run --slices queries.csv:type --resamples 100",
    "gate targets.toml report.json --baseline older.json --json -o out.xml",
    "gate targets.toml latest --baseline baseline",
    "gate targets.toml gold.qrels run.trec --baseline baseline.json --slices queries.csv:type --resamples 100",
    "history small -m rr --system new --last 3",
    "history --json",
    "history small -o out.csv",
    "show latest",
    "show latest --json",
    "show --pr",
    "show baseline:small -o out.md -o out.json",
    "diff latest -m rr --system new",
    "diff baseline latest --json",
    "baseline set latest",
    "baseline show",
    "baseline unset small",
    "baseline write gold.qrels run.trec -m rr -o baseline.json --resamples 100",
    "baseline write gold.qrels run.trec --targets targets.toml --missing skip -o out.json --json",
    "baseline write report.json --system new -o baseline.json",
    "prune --keep 1 --dry-run --json",
    "prune --older-than 90d --plan small --yes",
    "drift moved.json still.json",
    "drift moved.json still.json --system hnsw --allowed 0.1 --strict --json",
    "agree ref.npz base.npz --k-values 2,3 --pairs 50 --n-samples 10 --json",
    "agree ref.npz base.npz --distance ip --seed 3 --ties any --truncate 2 --pairs 50",
    "agree run.trec other.trec --k-values 2",
    "tune gold.qrels run.trec other.trec --c 60 --resamples 100 --folds 2 --json",
    "tune gold.qrels run.trec other.trec -m rr --method combsum --normalise min-max --folds 2 -o out.json",
    "neighbours ref.npz -k 3 --distance cosine -o out.csv",
    "neighbours ref.npz --queries bare.npy -k 3 --exclude-self --json",
    "neighbours bare.npy --ids ids.txt -k 2 -o out.trec",
    "embed --from ref.npz --dtype int8 --truncate 2 --normalise -o out.npz",
    "embed papers.jsonl --text title,abstract --model models_of_fuzz:lengths -o out.npz --id paper_id",
    "list vectors ref.npz --json",
    "list vectors",
    "label products.json asked.jsonl -o out.jsonl --zeros --json",
    "label products.json asked.jsonl --human human.jsonl --synonyms words.toml -o out.jsonl",
    "label products.json asked.jsonl --explain q2 -o out.jsonl",
    "pin pinned.txt",
    "pin pinned.txt --check",
    "keywords --vocabulary clips.csv cyclist --method exact",
    "keywords --vocabulary clips.csv --file texts.jsonl --synonyms synonyms.toml --json",
    "keywords --vocabulary clips.csv --check texts.jsonl --threshold 0.8 --group object=object --group scene=scene",
    "audit log.csv --json",
    "audit log.csv --items items.csv --user user --item item --value rating --time time --scale 1,5 --cold 2",
    "split log.csv -o out --fractions 70/10/20 --json",
    "split log.csv -o out --kind leave-last --n 1 --validation 1",
    "split log.csv -o out --kind random --seed 3 --fractions 80/0/20",
    "split log.csv -o out --kind users --fraction 0.5 --validation 0.2",
    "split log.csv -o out --kind rolling --windows 2 --days 1",
    "split log.csv -o out --kind users --folds 2 --fold 1",
    "explain gold.qrels run.trec -m ndcg@10 --json",
    "list metrics ndcg",
    "list dialects --json",
    "list engines faiss-hnsw --json",
    "list recommenders popularity",
    "convert run.trec out.csv --kind run",
    "convert gold.qrels out.jsonl --kind gold --to jsonl",
    "list schema -o out.json",
)
ODD_ARGUMENTS = (
    *(text for text in mutators.ODD_TEXTS if "\x00" not in text),
    *("-", "--", "-x", "--no-such", "--help", ".", "..", "/", "/dev/null", "/proc/self/mem", "missing.trec", "x.toml"),
    *("empty.csv", "folder", "folder.csv", "report.json:x", "ref.npz:vectors", "ref.npz:none", "queries.csv:type*none"),
    *("latest", "latest:small", "latest:", "baseline:", "20260101", "a=b", "[x]", "ndcg", "ndcg@0", "ndcg@",),
    *("ndcg(gain=x)", "rr@-1"),
    *("p=0.5@3", "rr@99999999999", "ndcg(gain=exp)@10", "0.5,nan", "1e-300", "0/0/0", "50/50/50", "-1/1/1", "1;2"),
    *("x" * 300,),
    *("\udc80", "\x1b[31mred", "a\nb", "~", "$(x)", "http://127.0.0.1:1/x", "s3://x/y", "file:///etc/passwd"),
)  # fmt: skip


def _seeds() -> list[Case]:
    return [Case(options={"line": line.split()}) for line in LINES]


def _mutate(rng: Random, case: Case) -> Case:
    line = list(case.options["line"])
    files: dict[str, bytes] = {}
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        line = _changed(rng, line)
        if rng.random() < 0.2:
            named = [one for one in line if one in inputs.FILES]
            name = rng.choice(named or sorted(inputs.FILES))
            files[name] = mutators.mutate_file(rng, name, inputs.files()[name])
    return Case(files, {"line": line})


def _changed(rng: Random, line: list[str]) -> list[str]:
    at = rng.randrange(1, len(line)) if len(line) > 1 else 0
    kind = rng.randrange(12)
    if kind <= 3 and at:
        return [*line[:at], rng.choice(ODD_ARGUMENTS), *line[at + 1 :]]
    if kind == 4 and at:
        return [*line[:at], *line[at + 1 :]]
    if kind == 5 and at:
        return [*line[:at], line[at], *line[at:]]
    if kind == 6 and at:
        return [*line[:at], rng.choice(sorted(inputs.FILES)), *line[at + 1 :]]
    if kind == 7 and at:
        return [*line[:at], line[at] + rng.choice((":", ",", "@", "=", ".gz", ":x", ",,", "\t", "1")), *line[at + 1 :]]
    if kind == 8 and len(line) > 2:
        other = rng.randrange(1, len(line))
        line[at], line[other] = line[other], line[at]
        return line
    if kind == 9:
        words = rng.choice(LINES).split()
        return [line[0], *words[1:]] if rng.random() < 0.5 else [*line, *words[1:]]
    options = _options(line[0])
    if not options:
        return [*line, rng.choice(ODD_ARGUMENTS)]
    name, takes = rng.choice(options)
    value = [rng.choice(ODD_ARGUMENTS if rng.random() < 0.7 else sorted(inputs.FILES))] if takes else []
    return [*line, name, *value]


_SERVERS = ("--on", "--master", "--dsn", "--tracking", "--model")
"""Options that start a server or a library for seconds; lines with valid values have them."""


@cache
def _options(command: str) -> list[tuple[str, bool]]:
    """Return the options of a command, and whether each takes a value."""
    found = _parser().commands.get(command)
    if found is None:
        return []
    given = [one for one in found.params if one.param_type_name == "option"]
    return [(name, not one.is_flag) for one in given for name in one.opts if name not in _SERVERS]


NOT_CALLED = {"view", "demo", "log", "sweep", "--install-completion", "--show-completion", "spark", "--on", "--master"}
"""Commands and options that serve, only print samples, start a server or Spark, or install."""


def _call(case: Case) -> object:
    line = list(case.options["line"])
    if not _is_quick(line):
        return None
    inputs.write_all({**inputs.files(), **inputs.archive_files()}, case.files)
    for name in ("folder", "folder.csv"):
        Path(name).mkdir()
    done = run_command(line, inputs.files()["run.trec"])
    if done.code in (2, 3):
        raise DataError(done.err)
    return done


def _is_quick(line: Sequence[str]) -> bool:
    """Leave out lines that serve, install, load a model, or start Spark; the line of a model's own function is kept."""
    if NOT_CALLED.intersection(line) or any(one.startswith(("--on", "--mast", "--ins", "--sho")) for one in line):
        return False
    models = [line[at + 1] for at, one in enumerate(line[:-1]) if one == "--model"]
    return all(":" in one or one == "" for one in models)


register(Surface("commands", _seeds, _mutate, _call, writes=True, quick=90))
