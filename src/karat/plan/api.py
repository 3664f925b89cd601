"""What a script calls to carry out a plan."""

from pathlib import Path

from karat.arguments import check_arguments
from karat.plan.outputs import check_outputs, write_outputs
from karat.plan.reading import read_plan
from karat.plan.run import Outcome
from karat.plan.run import run_plan as run_checked

__all__ = ["run_plan"]


@check_arguments
def run_plan(plan: str | Path, *, output: str | Path | None = None) -> Outcome:
    """Carry out a plan file: ``karat.run_plan("karat.toml").report``.

    With ``output`` the plan's files are written into that folder, without it nothing is written.
    """
    checked = read_plan(plan)
    folder = Path(output) if output is not None else None
    check_outputs(checked, folder)
    outcome = run_checked(checked, output=folder)
    if folder is not None:
        write_outputs(checked, outcome.report, folder, outcome.gate)
    return outcome
