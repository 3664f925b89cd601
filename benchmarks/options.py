"""The command-line options that the benchmarks share."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dataset import FULL_QUERIES, QUICK_QUERIES
from harness import REPOSITORY

TOOLS = ("rankjury", "pytrec_eval", "ir_measures", "ranx", "ranx-first", "parse")
PARTS = ("files", "memory", "scaling")


@dataclass(frozen=True)
class Options:
    """What to measure, with which programs, how often."""

    parts: tuple[str, ...]
    data: Path
    python: Path
    rankjury: Path
    rankjury_python: Path
    rounds: int
    quick: bool
    skipped: frozenset[str]
    json: Path | None

    @property
    def queries(self) -> int:
        return QUICK_QUERIES if self.quick else FULL_QUERIES


def add_shared_options(parser: argparse.ArgumentParser, rounds: int) -> None:
    """Add what every benchmark takes."""
    environment = REPOSITORY / ".venv" / "bin"
    parser.add_argument(
        "--rankjury", type=Path, default=environment / "rankjury", help="rankjury command (default: .venv/bin/rankjury)"
    )
    parser.add_argument(
        "--rankjury-python", type=Path, help="interpreter that has rankjury (default: beside --rankjury)"
    )
    parser.add_argument("--rounds", type=positive, default=rounds, help="best of this many (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save the results as JSON")


def add_peers_option(parser: argparse.ArgumentParser) -> None:
    """Add what benchmarks against other tools take."""
    parser.add_argument(
        "--python",
        type=Path,
        default=REPOSITORY / ".venv-bench" / "bin" / "python",
        help="interpreter that has the other tools (default: .venv-bench/bin/python)",
    )


def positive(text: str) -> int:
    """Read a count of at least one."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def find_rankjury_python(arguments: argparse.Namespace) -> Path:
    """Take the interpreter that was named, or else the one beside the rankjury command."""
    named: Path | None = arguments.rankjury_python
    rankjury: Path = arguments.rankjury
    return named or rankjury.parent / "python"


def build_parser(description: str | None) -> argparse.ArgumentParser:
    """Describe the options of `runs.py`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--part", choices=(*PARTS, "all"), default="files", help="what to measure (default: %(default)s)"
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_QUERIES} queries instead of {FULL_QUERIES:,}")
    parser.add_argument("--skip", choices=TOOLS, action="append", default=[], help="leave out a tool; repeatable")
    add_peers_option(parser)
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FOLDER",
        default=Path(tempfile.gettempdir()) / "rankjury-bench",
        help="where the generated data is kept (default: rankjury-bench in the folder for temporary files)",
    )
    add_shared_options(parser, rounds=3)
    return parser


def read_options(description: str | None) -> Options:
    """Read the options of `runs.py`."""
    arguments = build_parser(description).parse_args()
    return Options(
        parts=PARTS if arguments.part == "all" else (arguments.part,),
        data=arguments.data,
        python=arguments.python,
        rankjury=arguments.rankjury,
        rankjury_python=find_rankjury_python(arguments),
        rounds=arguments.rounds,
        quick=arguments.quick,
        skipped=frozenset(arguments.skip),
        json=arguments.json,
    )
