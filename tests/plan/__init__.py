"""Plans: what their tests share."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankjury.plan import GOLD_KINDS, SYSTEM_KINDS
from rankjury.plan.parse import CheckedPlan, read_plan
from rankjury.plan.run import Outcome, execute_plan

GOLD = "q1 0 a 2\nq1 0 b 0\nq2 0 c 1\nq3 0 a 1\nq3 0 d 3\n"
RUN = "q1 Q0 a 1 3.5 t\nq1 Q0 b 2 2 t\nq2 Q0 a 1 3 t\nq2 Q0 c 2 2 t\nq3 Q0 d 1 1 t\n"
OTHER = "q1 Q0 b 1 3.5 t\nq1 Q0 a 2 2 t\nq2 Q0 c 1 3 t\nq2 Q0 b 2 2 t\nq3 Q0 d 1 1 t\nq3 Q0 a 2 0.5 t\n"
SHORT = 'gold = "qrels.txt"\nsystems.x = "x.trec"\n'
"""The shortest plan there is: two lines."""
QUICK = "statistics.resamples = 100\n"

Content = str | bytes | np.ndarray[Any, Any] | dict[str, Any]


def put(folder: Path, **files: Content) -> None:
    """Files by name, two underscores for the dot: texts, bytes, an array (.npy), or arrays by name (.npz)."""
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, np.ndarray):
            np.save(path, content)
        elif isinstance(content, dict):
            np.savez(path, **content)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)


def plan_in(folder: Path, text: str, name: str = "plan.toml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def checked(folder: Path, text: str) -> CheckedPlan:
    return read_plan(plan_in(folder, text))


def carried_out(folder: Path, text: str) -> Outcome:
    """With few resamples, unless the plan says how many."""
    return execute_plan(checked(folder, text if "statistics" in text else QUICK + text))


def means(outcome: Outcome, system: str) -> dict[str, float]:
    return {label: estimate.mean for label, estimate in outcome.report.estimates[system].items()}


def with_runs(folder: Path) -> Path:
    """A folder with qrels.txt, x.trec and y.trec."""
    put(folder, qrels__txt=GOLD, x__trec=RUN, y__trec=OTHER)
    return folder


def with_own_registries(patch: pytest.MonkeyPatch) -> None:
    """Kinds of gold and systems that are registered from now on are gone when the test is over."""
    for registry in (GOLD_KINDS, SYSTEM_KINDS):
        patch.setattr(registry, "_entries", {name: registry.get(name) for name in registry.names()})
