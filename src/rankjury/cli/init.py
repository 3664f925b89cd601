"""rankjury init: a plan to start from."""

from collections.abc import Iterable, Mapping, Sequence
from os.path import exists, isdir
from pathlib import Path
from shlex import quote
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

import typer

from rankjury.cli.shared.completion import names_of
from rankjury.cli.shared.console import files_in_folder, say
from rankjury.cli.shared.options import PLAN_FILE, QuietOption
from rankjury.errors import DataError, UsageError

if TYPE_CHECKING:
    from rankjury.plan.draft import DraftedPlan
    from rankjury.plan.folder_scan import FolderContents

GROUP = "Plans"
ORDER = 1
EPILOG = (
    "Examples:\n\n"
    "  rankjury init\n\n"
    "  rankjury init movies -o plans/movies.toml\n\n"
    "  rankjury init --data beir/scifact -o scifact.toml\n\n"
    "Kinds and their aliases:\n\n"
    "  runs                     saved runs and labels\n\n"
    "  search                   vectors or texts, and labels\n\n"
    "  spaces, movies           embedding spaces and ordered lists\n\n"
    "  reference, papers        models compared with a reference model\n\n"
    "  index, fashion           vector indexes: quality, recall, latency\n\n"
    "  keywords, driving        items that have all keywords of a query\n\n"
    "  recommenders, movielens  models tested on later interactions"
)
_SHOWN = 5
_WIDTH = 80


def init_command(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help="Kind of plan; default: chosen by the files that are found.",
            autocompletion=names_of("rankjury.plan.draft:DRAFTS"),
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Plan file to write, or its folder.",
            callback=files_in_folder(PLAN_FILE),
        ),
    ] = Path(PLAN_FILE),
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder to search; default: that of the plan, or the current one if that has no data."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing plan.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Write a commented plan for the data in a folder.

    Searches the folder and its subfolders for gold, runs, vectors, queries, catalogues and logs, which are recognized
    by their content. The plan is ready to run, unless files are missing; these are marked in it.
    """
    from rankjury.io.atomic import make_folder, write_files
    from rankjury.plan.draft import SCHEMA_FILE, draft_plan, find_draft, kind_for
    from rankjury.plan.schema import schema_text

    if kind is not None:
        find_draft(kind)
    _check_new(output, force)
    found, folder = _look(data, output.parent)
    chosen = kind or kind_for(found)
    drafted = draft_plan(chosen, found, (folder if data else output.parent).resolve().name)
    others = {output.with_name(f"{output.stem}-{key}{output.suffix}"): text for key, text in drafted.companions.items()}
    for path in others:
        _check_new(path, force)
    make_folder(output.parent)
    write_files({output: drafted.text, **others, output.parent / SCHEMA_FILE: schema_text()})
    _print_answer(chosen, output, list(others), folder, found, drafted)


def _check_new(path: Path, force: bool) -> None:
    if exists(path) and not force:
        raise UsageError(f"{path} exists already", hint="Name another file with -o, or replace it with --force.")


def _look(data: Path | None, plan_folder: Path) -> "tuple[FolderContents, Path]":
    """Return what a folder holds, and the folder: the given one, the plan's, or the current one if that has data."""
    from rankjury.plan.folder_scan import FolderContents, scan_folder

    if data is not None:
        if not isdir(data):
            fault = "found a file" if exists(data) else "no such folder"
            raise DataError(fault, where=str(data), expected="a folder with gold, runs or vectors")
        return scan_folder(data, plan_folder), data
    found = scan_folder(plan_folder) if isdir(plan_folder) else FolderContents()
    here = Path()
    if not found.anything and not (isdir(plan_folder) and plan_folder.samefile(here)):
        elsewhere = scan_folder(here, plan_folder)
        if elsewhere.anything:
            return elsewhere, here
    return found, plan_folder


def _print_answer(
    kind: str, output: Path, others: Sequence[Path], folder: Path, found: "FolderContents", drafted: "DraftedPlan"
) -> None:
    """Print what was written and the next command, then what was found, assumed, is missing and is not used."""
    from rankjury.plan.draft import find_draft

    notes = drafted.notes
    command = f"rankjury run{'' if output == Path(PLAN_FILE) else f' {quote(str(output))}'}"
    written = ", ".join(map(str, [output, *others]))
    if notes.summary:
        answer, then = f"Wrote {written}: {notes.summary}.", f"Next: {command}"
    elif notes.missing:
        fault, them = ("a file is missing", "it") if len(notes.missing) == 1 else ("files are missing", "them")
        answer, then = f"Wrote {written} ({kind}): {fault}.", f"Next: add {them}, then {command}"
    else:
        fault = "the files do not belong together, see Not used"
        answer, then = f"Wrote {written} ({kind}): {fault}.", f"Next: correct them, then {command}"
    for line in [f"{answer} {then}"] if len(answer) + len(then) < _WIDTH else [answer, then]:
        _print_wrapped(line)
    if folder != output.parent:
        say(f"Data: {folder} (paths in the plan are relative to the plan)")
    _print_list("Found", _found_lines(found) or ["no gold, runs, vectors or log, in the folder or below it"])
    _print_list("Assumed", notes.assumed if notes.summary else ())
    by_content: dict[str, list[str]] = {}
    for name, content in notes.missing.items():
        if name in found.unusable:
            content = f"{content}; the file there cannot be used"
        by_content.setdefault(content, []).append(name)
    _print_list("Missing", [f"{', '.join(names)}: {content}" for content, names in by_content.items()])
    unused = [f"{name}: {reason}" for name, reason in {**notes.left_out, **found.unusable}.items()]
    _print_list("Not used", _shortened(unused))
    _print_list("Limits", _shortened(found.limits))
    if not notes.summary:
        demo = {"runs": "demo", "search": "demo fashion"}.get(kind) or f"demo {find_draft(kind).alias or kind}"
        say(f"rankjury {demo} --keep DIR makes a folder with data that works.")
    elif others:
        commands = [f"rankjury run {quote(str(path))}" for path in others]
        _print_wrapped(f"Also: {', '.join(commands)} (every item as a query)")


def _found_lines(found: "FolderContents") -> list[str]:
    """Return one line for each kind of file."""
    from rankjury.core.text import plural

    def with_counts(names: Iterable[str]) -> list[str]:
        counted = []
        for name in names:
            queries = found.facts_of(name).queries
            counted.append(name if queries is None else f"{name} ({plural(len(queries), 'query', 'queries')})")
        return counted

    kinds: Mapping[str, Sequence[str]] = {
        "gold": with_counts([*found.golds, *found.ordered]),
        "runs": with_counts(found.runs),
        "vectors": [*found.vectors, *found.query_vectors],
        "log": found.logs,
        "annotated items": [] if found.logs else list(found.annotated),
        "texts of queries": found.texts,
        "texts of items": found.products,
        "attributes": list(dict.fromkeys([*found.tables, *found.item_tables, *found.catalogues, *found.people])),
        "synonyms": [found.synonyms] if found.synonyms else [],
    }
    return [f"{kind}: {', '.join(_shortened(names))}" for kind, names in kinds.items() if names]


def _shortened(names: Sequence[str]) -> list[str]:
    more = len(names) - _SHOWN
    return [*names[:_SHOWN], *([f"and {more:,} more"] if more > 0 else [])]


def _print_list(heading: str, lines: Iterable[str]) -> None:
    for number, line in enumerate(lines):
        if not number:
            say(f"{heading}:")
        _print_wrapped(line, "  ")


def _print_wrapped(text: str, indent: str = "") -> None:
    """Print a text in lines of 80 columns; file names are not broken."""
    lines = wrap(
        text, _WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip
    say("\n".join(lines))
