"""Shell completion: the values of options and arguments, and a script for zsh that completes at the first Tab."""

import os
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer import _completion_shared

from rankjury.errors import RankjuryError

if TYPE_CHECKING:
    from rankjury.tracking.archive.archive import Archive

_VARIABLE = "_RANKJURY_COMPLETE"
"""Environment variable by which the script of a shell asks for completions."""
_AT_ONCE = 'if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n  %(complete_func)s "$@"\nfi\n'


def is_completing() -> bool:
    """Return whether a shell asks for completions: then nothing may be printed into the line that is being typed."""
    return _VARIABLE in os.environ


def complete_at_once() -> None:
    """Let typer's script for zsh complete also while zsh loads it, which is at the first Tab of each shell.

    Without it, the script only defines its function then, and the first Tab does nothing.
    """
    scripts = _completion_shared._completion_scripts
    if _AT_ONCE not in scripts["zsh"]:
        scripts["zsh"] += _AT_ONCE


def one_of(choices: str) -> dict[str, Any]:
    """Return the arguments of an option with these choices, such as ``id|id-desc|order``: shown, and completed."""
    return {"metavar": choices, "autocompletion": lambda: choices.split("|")}


def names_of(registry: str) -> Callable[[], list[str]]:
    """Return the completion by the names of a registry, such as ``rankjury.measures.dialects:DIALECTS``."""
    module, _, name = registry.partition(":")

    def complete() -> list[str]:
        found: list[str] = getattr(import_module(module), name).names()
        return found

    return complete


complete_dialects = names_of("rankjury.measures.dialects:DIALECTS")
complete_measures = names_of("rankjury.measures.measure:METRICS")


def complete_runs(ctx: typer.Context) -> list[str]:
    """Return the names of the archived runs; none where no archive can be read."""
    with suppress(RankjuryError, OSError):
        kept = _archive(ctx)
        names = [run.name for run in kept.runs()]
        return [*(["latest"] if names else []), *(["baseline"] if kept.baselines else []), *names]
    return []


def complete_plans(ctx: typer.Context) -> list[str]:
    """Return the names of the plans that have archived runs."""
    with suppress(RankjuryError, OSError):
        return sorted({run.plan for run in _archive(ctx).runs()})
    return []


def _archive(ctx: typer.Context) -> "Archive":
    from rankjury.cli.shared.archive import open_archive

    given = ctx.params.get("archive")  # a text: the parser has not converted it yet
    return open_archive(Path(given) if given else None)
