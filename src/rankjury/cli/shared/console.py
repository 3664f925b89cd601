"""Output of commands: lines on standard error, JSON, progress, and checks of the files to read and write."""

import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from json import dumps
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.text import json_text, split_spellings, visible
from rankjury.errors import DataError, UsageError

if TYPE_CHECKING:
    from rankjury.core.journal import Journal
    from rankjury.evaluation.report import Report

_STEERING = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_NOT_ASCII = re.compile("[^\x00-\x7e]")
_SECONDS_BEFORE_PROGRESS = 2.0

_quiet = False
_full = False
_folders: set[Path] = set()
"""The folders that ``-o`` named."""
_made: list[Path] = []


def files_in_folder(*names: str) -> Callable[[Any], Any]:
    """Return the callback of an option ``-o`` that puts these files in place of a folder: a name without a suffix."""

    def replace_folders(given: Any) -> Any:
        files: list[Path] = []
        for path in [given] if isinstance(given, Path) else given or ():
            if path.suffix or (os.path.exists(path) and not os.path.isdir(path)):
                files.append(path)
            else:
                _folders.add(path)
                files += [path / name for name in names]
        return (files[0] if isinstance(given, Path) else files) if files else given

    return replace_folders


def remove_empty_folders() -> None:
    """Remove the folders that were made for output, where a command failed before it wrote anything."""
    for folder in _made:
        with suppress(OSError):
            folder.rmdir()
    _made.clear()
    _folders.clear()


def check_folder(path: Path, *, folder: bool = False) -> None:
    """Refuse an output that cannot be written, such as in a missing folder, before anything is computed."""
    if path.parent in _folders and not os.path.exists(path.parent):
        from rankjury.io.atomic import make_folder

        make_folder(path.parent)
        _made.append(path.parent)
    if not os.path.exists(path.parent):
        raise DataError("cannot write here: no such folder", where=str(path), hint=f"Make it: mkdir -p {path.parent}")
    from rankjury.io.atomic import check_destination

    check_destination(path, folder=folder)


def check_suffixes(paths: Iterable[Path], suffixes: Collection[str]) -> None:
    """Refuse outputs that end in none of these suffixes or cannot be written, before anything is computed."""
    for path in paths:
        if path.suffix.lower() not in suffixes:
            expected = f"a suffix among {', '.join(suffixes)}"
            raise UsageError(f"cannot tell the format from {path.name!r}", expected=expected)
        check_folder(path)


def check_distinct_outputs(paths: Iterable[str | Path]) -> None:
    """Refuse two outputs that are the same file, before anything is computed."""
    places: set[str] = set()
    for path in paths:
        place = os.path.realpath(path)
        if place in places:
            raise UsageError(f"{path} is named for two outputs", expected="a file for each")
        places.add(place)


def set_quiet(quiet: bool) -> bool:
    """Silence hints, warnings and progress from now on, or not: the callback of the option ``--quiet``."""
    global _quiet
    _quiet = quiet
    return quiet


def set_full(full: bool) -> bool:
    """Print reports and their warnings in full from now on, or cut to a screen: the callback of ``--full``."""
    global _full
    _full = full
    return full


def is_full() -> bool:
    """Return whether ``--full`` was given."""
    return _full


def show_report(report: "Report", *, omit: Collection[str] = (), lines: int | None = None) -> None:
    """Print a report as tables: cut to ``lines``, by default to those of a screen, unless ``--full`` was given."""
    from rankjury.reporting.console import REPORT_LINES, print_report

    print_report(report, omit=omit, lines=None if _full else lines or REPORT_LINES)


def warn_of(report: "Report", further: Collection[str] = ()) -> None:
    """Print a report's warnings: under ``--full`` all of them, else in a few lines; then further ones."""
    warn([*(report.warning_lines if _full else report.warning_groups), *further])


def say(message: str) -> None:
    """Print a hint on standard error, unless ``--quiet`` was given."""
    if not _quiet:
        print_error(message)


def print_error(message: str) -> None:
    """Print a line on standard error, also under ``--quiet``."""
    print(visible(message), file=sys.stderr)


def print_line(text: str) -> None:
    """Print a line on standard output that may hold names: nothing in it steers the terminal."""
    print(visible(text))


def print_json(form: object) -> None:
    """Print a JSON document, or its text, on standard output.

    Characters that the output's encoding lacks, or that could steer a terminal, are escaped as JSON does, so that what
    is read from it is the same everywhere.
    """
    text = form if isinstance(form, str) else json_text(form)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    escaped = _STEERING if encoding.lower().startswith("utf") else _NOT_ASCII
    print(escaped.sub(lambda found: dumps(found[0])[1:-1], text), end="")


def warn(messages: Iterable[str]) -> None:
    for message in messages:
        say(f"warning: {message}")


def say_own_item(excluded: bool, *, keep: str = "--keep-self") -> None:
    """Print whether each query's own item is excluded where the queries are the items; ``keep``: the way to keep it."""
    kept = "Queries are the items: each query's own item is kept."
    say(f"Queries are the items: each query's own item is excluded; {keep} keeps it." if excluded else kept)


def ids_note(vectors: str) -> str:
    """Say where the ids of the rows of a file without ids, such as .npy, come from."""
    from rankjury.io.vectors import ids_file_of

    file = ids_file_of(vectors)
    return f"Ids of rows: {file}." if file else "Ids of rows: numbers from 0; --ids FILE names them."


def check_standard_input(paths: Iterable[str]) -> None:
    """Standard input can be read once; a path may have attributes behind a colon."""
    if [path.partition(":")[0] for path in paths].count("-") > 1:
        raise UsageError("standard input was named twice", expected="- once")


def split_measures(given: Iterable[str]) -> list[str]:
    """Measures from repeated options, each perhaps several split by blanks or commas (not those in brackets)."""
    given = list(given)
    for text in given:
        if ("." in text or "/" in text) and os.path.isfile(text):
            expected = "a measure, with files before it: rankjury evaluate GOLD RUN -m ndcg@10"
            raise UsageError(f"-m {text} is a file", expected=expected)
    measures = [measure for text in given for measure in split_spellings(text)]
    if not measures:
        expected = "something like -m ndcg@10"
        raise UsageError("no measure was named", expected=expected, hint="rankjury list metrics lists them.")
    return measures


@contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """Ignore a closed standard output: the exit code still counts."""
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def show_progress(what: str = "") -> Iterator[Progress]:
    """Show what is being done, how much of it is done, and the time left, on a terminal from the third second on."""
    if _quiet or not sys.stderr.isatty():
        yield NO_PROGRESS
        return
    from rich import progress as rich

    from rankjury.reporting.console import console

    known = (rich.BarColumn(bar_width=20), rich.TimeRemainingColumn())
    columns = (rich.SpinnerColumn(), rich.TextColumn("{task.description}"), rich.TimeElapsedColumn(), *known)
    bar = rich.Progress(*columns, console=console(stderr=True), transient=True)
    task = bar.add_task(what, total=None)
    timer = Timer(_SECONDS_BEFORE_PROGRESS, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield Progress(lambda what, done, of: bar.update(task, description=what, completed=done, total=of or None))
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


@contextmanager
def open_journal(
    folder: Path, count: "Callable[[Journal], str]", again: str, *, fresh: bool = False
) -> "Iterator[Journal]":
    """Open the journal of resumable work in a folder, which is made; ``fresh`` drops the results that are in it.

    When the work is interrupted, a line says the ``count`` of finished results, with their noun, and how to go on.
    """
    from rankjury.core.journal import Journal
    from rankjury.io.atomic import make_folder

    make_folder(folder)
    with Journal(folder / "journal.jsonl", fresh=fresh) as journal:
        if journal.dropped:
            warn([f"{journal.path}: {journal.dropped} unfinished or unreadable lines were passed over"])
        try:
            yield journal
        except KeyboardInterrupt:
            print_error(f"{count(journal)} are kept in {journal.path}: {again} from there")
            raise


def check_outputs(outputs: list[Path] | None, per_query: str | None = None, *, here: bool = True) -> None:
    """Refuse a file name that no writer knows before anything is computed; ``per_query`` may not be here."""
    check_distinct_outputs([*(outputs or ()), *([per_query] if per_query else ())])
    if outputs:
        from rankjury.reporting.writers import OutputRequest

        for path in outputs:
            OutputRequest(str(path)).check()
            check_folder(path)
    if per_query and here:
        target = Path(per_query)
        check_folder(target, folder=not target.suffix)
        if target.suffix:  # else it may be a folder, where scores are written in blocks
            from rankjury.reporting.writers import OutputRequest

            OutputRequest(per_query, "queries").check()


def print_result(
    report: "Report",
    *,
    omit: Collection[str] = (),
    outputs: list[Path] | None,
    per_query: str | None = None,
    as_json: bool,
    next_step: str,
) -> None:
    """Print the report as JSON or as tables but ``omit``, then warnings, and the files written or what to try next."""
    if as_json:
        print_json(report.to_json())
    else:
        show_report(report, omit=omit)
    warn_of(report)
    if not report.keeps_queries and any(path.suffix == ".json" for path in outputs or ()):
        warn(
            ["the report has no scores of single queries, as in blocks or with very many: gates on it cannot pair them"]
        )
    written = [*(outputs or ()), *([per_query] if per_query else ())]
    if written:
        say(f"Wrote {', '.join(map(str, written))}")
    elif not as_json:
        say(next_step)


def write_outputs(report: "Report", outputs: list[Path] | None) -> None:
    """Write the files asked for: all or none."""
    if outputs:
        from rankjury.reporting.writers import OutputRequest, write_reports

        write_reports(report, [OutputRequest(str(path)) for path in outputs])
