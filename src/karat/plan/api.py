"""What a script, and karat run, call to carry out a plan: run it, write its files, and keep it in the archive."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from karat.archive import Archive, Run, telling
from karat.errors import DataError
from karat.formats.atomic import together
from karat.plan.archiving import begin, is_equal_to, page_with_history, plan_name
from karat.plan.outputs import check_outputs, write_outputs
from karat.plan.reading import Checked, read_plan
from karat.plan.run import Outcome
from karat.plan.run import run_plan as run_checked
from karat.progress import NO_PROGRESS, Progress
from karat.reports.writers import Writer
from karat.validation import check_arguments

__all__ = ["PlanResult", "carry_out", "run_plan"]


@dataclass(frozen=True)
class PlanResult(Outcome):
    """What came of a plan, and where it is stored."""

    written: Mapping[Path, Writer] = field(default_factory=dict)
    """The files, each with its writer."""
    record: Run | None = None
    """The run in the archive; None where it is not kept."""
    archive_error: DataError | None = None
    """Why it could not be kept: a full disk takes nothing from the user who waited for it."""
    repeats: tuple[str, bool] | None = None
    """The earlier run of the same plan and inputs, and whether every figure is equal to its figures."""
    notes: tuple[str, ...] = ()
    """What to know of the files that were written."""


@check_arguments
def run_plan(
    plan: str | Path,
    *,
    output: str | Path | None = None,
    archive: str | Path | bool = True,
    write: bool = True,
    strict: bool = False,
) -> PlanResult:
    """Carry out a plan file, as ``karat run`` does.

    Args:
        plan: The plan file.
        output: The folder for the plan's files; without it they are written where the plan is.
        archive: The archive that keeps the run. True: as with the command, that of ``KARAT_ARCHIVE``, else the nearest
            ``.karat`` folder, else one made here. False: the run is not kept.
        write: Whether the plan's files are written.
        strict: Whether a gate that is unsure is false.

    Returns:
        The report, the gate (None where the plan has no targets), the files that were written, and the archived run.
        Where the archive cannot be written to, ``archive_error`` says why; the results are not lost.

    Raises:
        KaratError: The plan or a file that it names cannot be read, or a file could not be written.

    >>> karat.run_plan("karat.toml", archive=False).report
    """
    kept = None if archive is False else Archive.at(given=None if isinstance(archive, bool) else Path(archive))
    folder = None if output is None else Path(output)
    return carry_out(read_plan(plan), folder, archive=kept, write=write, strict=strict)


def carry_out(
    checked: Checked,
    output: Path | None = None,
    *,
    archive: Archive | None = None,
    write: bool = True,
    strict: bool = False,
    progress: Progress = NO_PROGRESS,
) -> PlanResult:
    """Run a checked plan, write its files, all or none, and keep the run in the archive."""
    writes = write and checked.plan.has_outputs
    if writes or (write and output is not None):
        check_outputs(checked, output)
    if archive is None:
        begun, outcome = None, run_checked(checked, progress, output)
    else:
        begun = begin(checked)
        # Whoever looks at the archive sees what is being done.
        with telling(archive.path, plan_name(checked), Path(checked.where).name, progress) as live:
            outcome = run_checked(checked, live, output)
    report, gate = outcome.report, None if outcome.gate is None else replace(outcome.gate, strict=strict)
    if begun is None and not writes:
        return PlanResult(report, gate)
    record, error, repeats, notes = None, None, None, list[str]()
    with together():
        written = write_outputs(checked, report, output, gate, notes.append) if writes else {}
        if begun is not None and archive is not None:
            try:
                record = begun.keep(archive, report, gate, page_with_history(archive))
            except DataError as failure:
                error = failure
    if record is not None and archive is not None and record.manifest["same_inputs_as"] is not None:
        repeats = record.manifest["same_inputs_as"], is_equal_to(record, archive)
    return PlanResult(report, gate, written, record, error, repeats, tuple(notes))
