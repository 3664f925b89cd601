"""What the commands that make reports share: where these go."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from karat.cli.common import check_apart, check_folder, print_json, say, warn

if TYPE_CHECKING:
    from karat.report import Report

__all__ = ["check_form", "check_outputs", "deliver", "write_outputs"]


def check_outputs(outputs: list[Path] | None, per_query: str | None = None, *, here: bool = True) -> None:
    """Refuse a file name that no writer knows before anything is computed; ``per_query`` may not be here."""
    check_apart([*(outputs or ()), *([per_query] if per_query else ())])
    if outputs:
        from karat.reports.writers import Request

        for path in outputs:
            Request(str(path)).check()
            check_folder(path)
    if per_query and here:
        target = Path(per_query)
        check_folder(target, folder=not target.suffix)
        if target.suffix:  # else it may be a folder, where scores are written in blocks
            check_form(target)


def check_form(path: Path) -> None:
    """Refuse a file of the queries' scores that has no suffix of a table."""
    from karat.reports.writers import Request

    Request(str(path), "queries").check()


def deliver(
    report: "Report",
    *,
    omit: Collection[str] = (),
    outputs: list[Path] | None,
    per_query: str | None = None,
    as_json: bool,
    next_step: str,
    quiet: bool,
) -> None:
    """Print the report as JSON or as tables but ``omit``, then warnings, and the files written or what to try next."""
    if as_json:
        print_json(report.to_json())
    else:
        from karat.reports.console import print_report

        print_report(report, omit=omit)
    warn(report.warning_lines, quiet=quiet)
    if not report.keeps_queries and any(path.suffix == ".json" for path in outputs or ()):
        warn(["too many queries to keep their scores in the report: gates on it cannot pair them"], quiet=quiet)
    written = [*(outputs or ()), *([per_query] if per_query else ())]
    if written:
        say(f"Wrote {', '.join(map(str, written))}", quiet=quiet)
    elif not as_json:
        say(next_step, quiet=quiet)


def write_outputs(report: "Report", outputs: list[Path] | None, per_query: str | None = None) -> None:
    """Write the files asked for: all or none. The scores of a report without queries were written in blocks."""
    if outputs or per_query:
        from karat.reports.writers import Request, write_reports

        requests = [Request(str(path)) for path in outputs or ()]
        if per_query and report.queries is not None:
            requests.append(Request(per_query, "queries"))
        write_reports(report, requests)
