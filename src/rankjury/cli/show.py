"""rankjury show: one archived run, from its own files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankjury.cli.shared.archive import ArchiveOption, open_archive, read_baselines
from rankjury.cli.shared.completion import complete_runs
from rankjury.cli.shared.console import (
    check_suffixes,
    files_in_folder,
    ignore_broken_pipe,
    print_json,
    print_line,
    say,
    warn,
)
from rankjury.cli.shared.options import JsonOption, QuietOption
from rankjury.core.text import json_text
from rankjury.errors import DataError, UsageError

if TYPE_CHECKING:
    from rankjury.tracking.archive.run import ArchivedRun

_PAGE = "report.html"
_QUICKLY_READ = 100_000_000
"""Bytes of a run whose files are checked against their hashes before it is shown."""
GROUP = "History"
ORDER = 2
EPILOG = (
    "Examples:\n\n"
    "  rankjury show latest\n\n"
    "  rankjury show baseline:movies --json\n\n"
    "  rankjury show 1a2b3c4d -o report.html -o report.json\n\n"
    "  rankjury show latest --pictures figures\n\n"
    "RUN can also be the path of a run folder. latest is the last run of all plans, latest:PLAN that of one plan. "
    "baseline needs :PLAN if several plans have one.\n\n"
    "The runs of a plan are listed by rankjury history."
)


def show_command(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="Run name or a unique prefix of it, hash, latest[:PLAN] or baseline[:PLAN].",
            autocompletion=complete_runs,
        ),
    ] = "latest",
    html: Annotated[bool, typer.Option("--html", help="Print only the path of the HTML report.")] = False,
    pr: Annotated[bool, typer.Option("--pr", help="Print a Markdown summary for a pull request.")] = False,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the report: .html, .md, .json, or a folder; repeatable.",
            callback=files_in_folder("report.html", "report.md", "report.json"),
        ),
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the charts as .png files to this folder.")
    ] = None,
    archive: ArchiveOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show one archived run.

    Shows verdicts, values, weakest slices, warnings, and the inputs and versions of the run.
    """
    if sum((html, pr, as_json)) > 1:
        raise UsageError("found several of --html, --pr and --json", expected="one of them")
    check_suffixes(output or (), (".html", ".md", ".json"))
    kept = open_archive(archive)
    found = kept.find(run)
    if found.bytes < _QUICKLY_READ:
        warn([f"not as it was kept: {fault}" for fault in found.faults()])
    drawn: list[Path] = []
    if output or pictures is not None:
        from rankjury.io.atomic import together, write_files
        from rankjury.reporting.charts import write_pictures

        with together():
            write_files({path: _content(found, path.suffix.lower()) for path in output or ()})
            drawn = [] if pictures is None else write_pictures(found.report, pictures)
    with ignore_broken_pipe():
        if html:
            if _PAGE not in found.files:
                where, hint = str(found.path), "-o report.html makes one."
                raise DataError("it was kept without an HTML report", where=where, hint=hint)
            print_line(str(found.check(_PAGE)))
        elif pr:
            print(_content(found, ".md"), end="")
        elif as_json:
            print_json({"run": found.name, "manifest": dict(found.manifest), "report": found.report.to_json()})
        else:
            from rankjury.cli.shared.archive_tables import print_run

            print_run(found, is_baseline=read_baselines(kept).get(found.plan) == found.name)
    if output or drawn:
        say(f"Wrote {', '.join(map(str, [*(output or ()), *drawn]))}")
    elif not (html or pr or as_json):
        say(f"Next: rankjury diff {found.name}, or rankjury baseline set {found.name}")


def _content(run: "ArchivedRun", suffix: str) -> str | bytes:
    if suffix == ".json":
        return json_text(run.report.to_json(queries=True))
    if suffix == ".md":
        from rankjury.reporting.writers.pull_request import to_comment

        return to_comment(run.report)
    if _PAGE in run.files:
        return run.read(_PAGE)
    from rankjury.reporting.html.page import render_page

    return render_page(run.report)
