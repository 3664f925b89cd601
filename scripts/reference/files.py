"""Tables of the pages on file formats and exit codes: suffixes, names of columns, outputs, codes."""

import re
from collections.abc import Iterable

from rankjury.cli import app
from rankjury.core import columns
from rankjury.io.formats import FORMATS, suffixes_of
from rankjury.io.source import COMPRESSIONS
from rankjury.io.vectors import VECTOR_SUFFIXES
from rankjury.recsys.data.log import _COMMON_NAMES as LOG_NAMES
from rankjury.reporting.writers import WRITERS
from reference.commands import commands_of
from reference.markdown import anchor, code, codes, sentence, table
from reference.python import error_rows

_KINDS = {
    columns.QUERY: ("gold and run", columns.QUERY_COLUMNS),
    columns.ITEM: ("gold and run", columns._ITEM_COLUMNS),
    columns.GRADE: ("gold", columns.GRADE_COLUMNS),
    columns.SCORE: ("run", columns._SCORE_NAMES),
    columns.RANK: ("run", columns._RANK_NAMES),
}


def column_names() -> list[str]:
    """Return the names of columns that are recognised in golds and runs."""
    rows = [[code(name), where, codes(_unique(spellings))] for name, (where, spellings) in _KINDS.items()]
    return table(["column", "in", "recognised names, in the order of preference"], rows)


def log_columns() -> list[str]:
    """Return the names of columns that are recognised in interaction logs."""
    rows = [[code(name), codes(_unique(spellings))] for name, spellings in LOG_NAMES.items()]
    return table(["column", "recognised names, in the order of preference"], rows)


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def suffixes() -> list[str]:
    """Return the suffixes of golds, runs and vectors."""
    rows = [["gold, run", code(form), codes(suffixes_of(form)), "read and written"] for form in FORMATS]
    rows.append(["vectors", "", codes(VECTOR_SUFFIXES), "read; `.npz` is also written"])
    return [
        *table(["of", "format", "suffixes", "use"], rows),
        "",
        f"Golds, runs and tables may also be compressed: {codes(COMPRESSIONS)} behind the suffix.",
    ]


_OUTPUTS = {
    "html": "The page: one file that opens without a network.",
    "evaluation": "One index completely: meta, quality, recall, latency, stability and examples.",
    "json": "The report with the scores of every query.",
    "markdown": "The summary, verdicts, means, comparisons, losses, slices, sections and warnings.",
    "curves": "The measures by cut-off as a picture.",
    "charts": "Every chart of the report, one file each; `{chart}` in the file's name is its name.",
    "recommenders": "A page of charts of recommenders.",
    "pull-request": "The summary and the verdicts as a comment for a pull request.",
    "retrievers": "One entry per system with its means, and the top k of every query.",
    "csv": "One row per slice, system and measure.",
    "queries": "One row per system and query.",
    "cutoffs": "One row per cut-off with mean, standard deviation and interval of each measure.",
}
"""By output format, what it has."""


def outputs() -> list[str]:
    """Return the output formats of reports."""
    by_suffix = {name: WRITERS.get(name).name for name in WRITERS.names() if name.startswith(".")}
    rows = []
    for name in (name for name in WRITERS.names() if not name.startswith(".")):
        writer = WRITERS.get(name)
        alone = [suffix for suffix in writer.suffixes if by_suffix.get(suffix) == name]
        rows.append([code(name), codes(writer.suffixes) or "those of tables", codes(alone), _OUTPUTS.get(name, "")])
    return table(["form", "suffixes", "by the suffix alone", "what it has"], rows)


def error_codes() -> list[str]:
    """Return the classes of errors with their exit codes."""
    return table(["error", "exit code", "meaning"], error_rows())


def exit_codes_of_commands() -> list[str]:
    """Return what the help of each command says of its exit code."""
    rows = []
    for command in commands_of(app):
        found = re.search(r"Exit code: ([^\n]*)", command.epilog or "")
        if found:
            rows.append(
                [f"[{code(command.name)}](commands.md#{anchor(f'rankjury {command.name}')})", sentence(found[1])]
            )
    return table(["command", "exit code"], rows)
