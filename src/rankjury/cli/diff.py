"""rankjury diff: comparison of two archived runs."""

from typing import TYPE_CHECKING, Annotated

import typer

from rankjury.cli.shared.archive import (
    ArchiveOption,
    open_archive,
    read_baselines,
    resolve_measures,
    warn_of_damaged_runs,
)
from rankjury.cli.shared.completion import complete_runs
from rankjury.cli.shared.console import ignore_broken_pipe, print_json, say, split_measures
from rankjury.cli.shared.options import JsonOption, MeasuresOption, QuietOption, SystemsOption
from rankjury.errors import DataError

if TYPE_CHECKING:
    from rankjury.tracking.archive.archive import Archive
    from rankjury.tracking.archive.run import ArchivedRun

GROUP = "History"
ORDER = 3
EPILOG = (
    "Examples:\n\n"
    "  rankjury diff\n\n"
    "  rankjury diff latest -m ndcg@10 --system dense\n\n"
    "  rankjury diff baseline latest --json\n\n"
    "A single run is compared with the baseline of its plan. If there is none, or the run is the baseline itself, "
    "it is compared with the previous run.\n\n"
    "Systems are compared on the queries that both runs have. Measures whose conventions changed are not compared."
)


def diff_command(
    first: Annotated[
        str,
        typer.Argument(
            metavar="OLD",
            help="The older run; if it is the only one, the newer.",
            show_default="latest",
            autocompletion=complete_runs,
        ),
    ] = "latest",
    second: Annotated[
        str | None, typer.Argument(metavar="NEW", help="The newer run.", autocompletion=complete_runs)
    ] = None,
    measures: MeasuresOption = None,
    system: SystemsOption = None,
    archive: ArchiveOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare two archived runs.

    Shows changed inputs and settings, which measures became better or worse, and the queries with the largest losses.
    """
    kept = open_archive(archive)
    after = kept.find(first if second is None else second)
    before = _before(kept, after) if second is None else kept.find(first)
    from rankjury.tracking.archive.compare import compare_runs

    labels = resolve_measures([before, after], split_measures(measures)) if measures else None
    compared = compare_runs(before, after, measures=labels, systems=system)
    with ignore_broken_pipe():
        if as_json:
            print_json(compared.to_json())
        else:
            from rankjury.cli.shared.archive_tables import print_compared

            print_compared(compared, read_baselines(kept))
    if second is None:
        warn_of_damaged_runs(kept)
    if not as_json:
        say(f"Next: rankjury show {after.name}, or rankjury view")


def _before(archive: "Archive", after: "ArchivedRun") -> "ArchivedRun":
    """Return the baseline of its plan; where it is that itself, or there is none, the run before it."""
    baseline = archive.baseline(after.plan)
    if baseline is not None and baseline.name != after.name:
        return baseline
    runs = archive.runs(after.plan)
    place = next((place for place, run in enumerate(runs) if run.name == after.name), 0)
    if place == 0:
        hint = "Name two runs: rankjury diff OLD NEW."
        raise DataError("there is no run of this plan before it", where=after.name, hint=hint)
    return runs[place - 1]
