"""Interpreter of composite GitHub actions: runs their ``run`` steps with bash, and records their ``uses`` steps.

It knows as much of the expression language as action.yml uses: names, texts, ``== != && || !`` and status functions.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copytree
from typing import Any

import yaml

from tests.paths import ROOT

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
_TOKEN = re.compile(r"'(?P<text>[^']*)'|(?P<function>\w+)\(\)|(?P<name>\w[\w.-]*)|(?P<sign>==|!=|&&|\|\||!|[()])|\s+")
_SIGNS = {"&&": " and ", "||": " or ", "!": " not "}


@dataclass
class Ended:
    """How the action ended."""

    code: int = 0
    """Exit code of the first step that failed."""
    log: str = ""
    used: dict[str, dict[str, str]] = field(default_factory=dict)
    """Inputs of the actions that were called, by name of the step."""
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    pip: list[str] = field(default_factory=list)
    """Arguments that pip was called with."""

    @property
    def commands(self) -> list[str]:
        """Workflow commands that the runner obeys: not those between ``::stop-commands::TOKEN`` and ``::TOKEN::``.

        A line may begin with blanks.
        """
        found, token = [], None
        for line in map(str.lstrip, self.log.splitlines()):
            if token is not None:
                token = None if line == f"::{token}::" else token
            elif line.startswith("::stop-commands::"):
                token = line.removeprefix("::stop-commands::")
            elif line.startswith("::"):
                found.append(line)
        assert token is None
        return found


def evaluate(expression: str, values: dict[str, str], *, failed: bool) -> str | bool:
    """Return the value of an expression; what is not set is an empty text."""
    source, position = "", 0
    while position < len(expression):
        token = _TOKEN.match(expression, position)
        assert token is not None, f"unknown to this interpreter: {expression[position:]}"
        position = token.end()
        if token["text"] is not None:
            source += repr(token["text"])
        elif token["function"] is not None:
            source += repr(
                {"success": not failed, "failure": failed, "always": True, "cancelled": False}[token["function"]]
            )
        elif token["name"] is not None:
            source += repr(values.get(token["name"], ""))
        elif token["sign"] is not None:
            source += _SIGNS.get(token["sign"], token["sign"])
    value: str | bool = eval(source)
    return value


def fill_in(text: object, values: dict[str, str]) -> str:
    """Replace the expressions in a text by their values."""
    return re.sub(r"\$\{\{(.*?)\}\}", lambda found: str(evaluate(found[1].strip(), values, failed=False)), str(text))


def is_due(step: dict[str, Any], values: dict[str, str], *, failed: bool) -> bool:
    condition = str(step.get("if", "success()")).strip().removeprefix("${{").removesuffix("}}").strip()
    if not re.search(r"\b(success|failure|always|cancelled)\(\)", condition):
        condition = f"success() && ({condition})"
    return bool(evaluate(condition, values, failed=failed))


def run_action(workspace: Path, artifacts: dict[str, Path] | None = None, **inputs: str) -> Ended:
    """Run the action in a checkout, with these inputs (``_`` for ``-``); ``artifacts``: folders that can be downloaded.

    pip is replaced: its arguments are recorded, and the tests' own environment has rankjury.
    """
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    assert given.keys() <= ACTION["inputs"].keys()
    assert {name for name, entry in ACTION["inputs"].items() if entry.get("required")} <= given.keys()
    values = {f"inputs.{name}": given.get(name, entry.get("default", "")) for name, entry in ACTION["inputs"].items()}
    temp = workspace.parent / f"{workspace.name}-temp"
    temp.mkdir()
    values |= {"runner.temp": str(temp), "github.run_id": "17", "github.token": "token"}
    environment = _environment(workspace, temp)
    ended = Ended()
    for number, step in enumerate(ACTION["runs"]["steps"]):
        if not is_due(step, values, failed=bool(ended.code)):
            continue
        if "uses" in step:
            used = {name: fill_in(value, values) for name, value in step["with"].items()}
            ended.used[step["name"]] = used
            if "download-artifact" in step["uses"]:
                copytree((artifacts or {})[used["name"]], used["path"])
            continue
        output = temp / f"output-{number}"
        output.touch()
        own = {name: fill_in(value, values) for name, value in step.get("env", {}).items()}
        script = temp / f"step-{number}.sh"
        script.write_text(fill_in(step["run"], values), encoding="utf-8")
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=workspace,
            env={**environment, **own, "GITHUB_OUTPUT": str(output)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        ended.log += ran.stdout
        ended.code = ended.code or ran.returncode
        if "id" in step:
            written = read_outputs(output.read_text(encoding="utf-8"))
            values |= {f"steps.{step['id']}.outputs.{name}": value for name, value in written.items()}
        environment |= read_outputs((temp / "env").read_text(encoding="utf-8"))
        environment["PATH"] = ":".join([*(temp / "path").read_text().split(), environment["PATH"]])
    ended.outputs = {name: fill_in(entry["value"], values) for name, entry in ACTION["outputs"].items()}
    ended.summary = (temp / "summary.md").read_text(encoding="utf-8")
    ended.pip = (temp / "pip").read_text(encoding="utf-8").splitlines()
    return ended


def _environment(workspace: Path, temp: Path) -> dict[str, str]:
    """Return the variables of a runner, with a ``python`` first on PATH that records calls of pip."""
    (temp / "bin").mkdir()
    python = temp / "bin" / "python"
    python.write_text(
        f'#!/bin/sh\nif [ "$1 $2" = "-m pip" ]; then printf "%s\\n" "$@" > "$RUNNER_TEMP/pip"; '
        f'else exec {sys.executable} "$@"; fi\n'
    )
    python.chmod(0o755)
    for name in ("env", "path", "summary.md", "pip"):
        (temp / name).touch()
    return {
        **{name: os.environ[name] for name in ("HOME", "LANG", "POLARS_MAX_THREADS") if name in os.environ},
        "PATH": f"{temp / 'bin'}:{os.environ['PATH']}",
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": str(workspace),
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_ENV": str(temp / "env"),
        "GITHUB_PATH": str(temp / "path"),
        "GITHUB_STEP_SUMMARY": str(temp / "summary.md"),
        "RUNNER_TEMP": str(temp),
    }


def read_outputs(text: str) -> dict[str, str]:
    """Read what a step wrote to GITHUB_OUTPUT: ``name=value``, or ``name<<END``, lines, ``END``."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        name, end = re.split("<<|=", line, maxsplit=1)
        if line.startswith(f"{name}<<"):
            value: list[str] = []
            while (inner := next(lines)) != end:
                value.append(inner)
            found[name] = "\n".join(value)
        else:
            found[name] = end
    return found
