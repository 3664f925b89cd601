"""What the tests of the command line share."""

import json
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from rankjury.evaluation.sections import ReportWarning

GOLD = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\nq2 0 d3 1\n"
RUN = "q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.5 tag\nq2 Q0 d3 1 0.9 tag\nq2 Q0 d1 2 0.5 tag\n"


@dataclass(frozen=True)
class Outcome:
    """What a command gave back."""

    code: int
    out: str
    err: str

    @property
    def warnings(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith("warning: ")]


def put(name: str, content: str | bytes) -> str:
    """A file in the current folder."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def public_functions(module: ModuleType) -> list[str]:
    """Return the names of the functions without an underscore that a module defines."""
    return [
        name
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__ and not name.startswith("_")
    ]


def check_failure(outcome: Outcome, code: int, *fragments: str) -> None:
    """One clear line on standard error, nothing on standard output, the right code."""
    assert outcome.code == code, outcome
    assert outcome.out == ""
    assert outcome.err.startswith("error: "), outcome.err
    assert outcome.err.count("\n") == 1 and outcome.err.endswith("\n"), outcome.err
    assert "Traceback" not in outcome.err
    for fragment in fragments:
        assert fragment in outcome.err


def check_screen(outcome: Outcome, lines: int = 60, width: int = 80) -> None:
    """Both outputs together fit a terminal, of which a longer line takes several lines."""
    shown = [*outcome.out.splitlines(), *outcome.err.splitlines()]
    assert sum(max(1, -(-len(line) // width)) for line in shown) <= lines, "\n".join(shown)


def help_examples(text: str) -> list[str]:
    """Return the commands that a help text shows below "Examples:", each as one line, as a shell reads it."""
    shown = text.partition("Examples:")[2].replace(" \\\n", " ").splitlines()
    return [" ".join(line.split()) for line in shown if line.startswith("    rankjury ")]


def tables_of(out: str) -> str:
    """What is printed under the sentences that a report begins with."""
    return out.partition("\n\n")[2]


def check_width(text: str, width: int = 80) -> None:
    """Nothing is wider than the terminal, and nothing was cut to make it fit."""
    assert text.strip()
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text.replace(" …", "")


def report_of(outcome: Outcome) -> dict[str, Any]:
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    assert report["schema"] == "rankjury.report/1"
    assert isinstance(report["warnings"], list)
    return report


def warnings_of(outcome: Outcome) -> list[str]:
    """The warnings of a report that was printed as JSON."""
    return [str(ReportWarning.from_json(one)) for one in report_of(outcome)["warnings"]]


def means_of(outcome: Outcome, system: str = "run") -> dict[str, float | None]:
    return {label: entry["mean"] for label, entry in report_of(outcome)["systems"][system]["measures"].items()}
