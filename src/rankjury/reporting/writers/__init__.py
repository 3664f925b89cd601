"""Registry of output formats: a writer turns a report into the contents of one or several files.

A writer is found by the suffix of a file (``-o report.html``, a plan's ``outputs``) or by its name (a plan's ``form``).
Built-in writers are the modules of this package. Third parties register theirs in a module that they name under the
entry point group ``rankjury.writers``; it then works for ``-o`` and for plans alike::

    @writer("toy", ".toy")
    def to_toy(report: Report, request: OutputRequest) -> str:
        return f"{len(report.systems)} systems"
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from rankjury.core.registry import Registry
from rankjury.core.text import SAVERS
from rankjury.errors import UnknownName, UsageError
from rankjury.evaluation.compare import report_on
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import Scores

if TYPE_CHECKING:
    import polars as pl

Content: TypeAlias = "str | bytes | pl.DataFrame"
"""A data frame is written as a table, in the format and compression of the file's suffix."""
Write: TypeAlias = "Callable[[Report, OutputRequest], Content | Mapping[Path, Content]]"
"""Returns the content of the file, or the contents of several files by their paths."""
_Write = TypeVar("_Write", bound=Write)
BY_SUFFIX = "report"
"""The name that a plan may give for: the writer of the suffix."""


@dataclass(frozen=True)
class OutputRequest:
    """An output file, its options, and what is known of the report before it is computed (None: not known)."""

    file: str
    form: str | None = None
    """Name of the writer; None or ``report``: the suffix decides."""
    system: str | None = None
    k: int | None = None
    systems: Sequence[str] | None = None
    rankings: Sequence[str] | None = None
    """Systems that rank items."""
    indexes: Sequence[str] | None = None
    """Systems that are vector indexes."""
    measures: Sequence[str] | None = None
    """Measures with all their conventions spelled out."""
    cutoffs: Sequence[int] | None = None
    gold: str | None = None
    """Kind of the gold."""
    gate: Gate | None = None
    """Verdicts on the targets; known when the report is."""

    @property
    def path(self) -> Path:
        return Path(self.file)

    def check_cutoffs(self) -> None:
        """Refuse an output over cut-offs where no measure has one."""
        if self.cutoffs is not None and not self.cutoffs:
            raise UsageError("no measure has a cut-off", expected="measures at several k", hint="cutoffs = [1, 5, 10]")

    def split(self) -> "list[OutputRequest]":
        """Return one request per system or index where the file name has the writer's placeholder, else this one."""
        placeholder = find_writer(self).each
        names = {"{system}": self.systems, "{index}": self.indexes}.get(placeholder)
        if not names or placeholder not in self.file:
            return [self]
        return [replace(self, file=self.file.replace(placeholder, as_file_name(name)), system=name) for name in names]

    def check(self) -> None:
        """Refuse a file that could not be written, before anything is computed."""
        found = find_writer(self)
        suffix = self.path.suffix
        if found.suffixes and suffix.lower() not in found.suffixes:
            formats = " or ".join(suffix[1:].upper() for suffix in found.suffixes)
            raise UsageError(f"the form {found.name} is {formats}, not {suffix or 'a name without suffix'}")
        found.check(self)


@dataclass(frozen=True)
class Writer:
    """An output format."""

    name: str
    suffixes: tuple[str, ...]
    """Suffixes that a file may have; none: ``check`` decides."""
    write: Write
    check: Callable[[OutputRequest], None] = lambda request: None
    """Raises a UsageError where the request could not be carried out."""
    each: str = ""
    """``{system}`` or ``{index}``: in a file name it stands for one file per system or index."""
    is_report: bool = False
    """Whether commands read the file back as a report."""


WRITERS: Registry[Writer] = Registry("form", home="rankjury.reporting.writers", group="rankjury.writers")
"""Writers by name, and by suffix (with its dot) where the suffix alone means this writer."""


def writer(name: str, *suffixes: str, by_suffix: bool = True, **options: Any) -> Callable[[_Write], _Write]:
    """Register the decorated function as a writer.

    Args:
        name: Name of the format, for a plan's ``form``.
        suffixes: Suffixes that its files may have, with their dot, in lower case.
        by_suffix: Whether the suffix alone (``-o file.suffix``) means this writer.
        options: Further fields of ``Writer``: ``check``, ``each``, ``is_report``.
    """

    def register(write: _Write) -> _Write:
        made = Writer(name, suffixes, write, **options)
        for key in (name, *(suffixes if by_suffix else ())):
            WRITERS.add(key, made)
        return write

    return register


def find_writer(request: OutputRequest) -> Writer:
    """Return the writer that the request names, or that of the file's suffix."""
    if request.form in (None, BY_SUFFIX):
        found = WRITERS.find(request.path.suffix.lower() or ".")
        if found is None:
            known = ", ".join(sorted(name for name in WRITERS.names() if name.startswith(".")))
            name = request.path.name
            raise UsageError(f"cannot tell the form of the report from {name!r}", expected=f"a suffix among {known}")
        return found
    found = None if str(request.form).startswith(".") else WRITERS.find(str(request.form))
    if found is None:
        names = [BY_SUFFIX, *(name for name in WRITERS.names() if not name.startswith("."))]
        raise UnknownName(WRITERS.kind, str(request.form), names)
    return found


def write_reports(report: Report, requests: Sequence[OutputRequest]) -> dict[Path, Writer]:
    """Write all the files that are requested, or none of them.

    Args:
        report: The report that the files are made from.
        requests: The files.

    Returns:
        The writer of each file that was written.
    """
    from rankjury.io.atomic import make_folder, together, write_files
    from rankjury.io.formats import write

    contents: dict[Path, Content] = {}
    writers: dict[Path, Writer] = {}
    for request in requests:
        found = find_writer(request)
        content = found.write(report, request)
        made = content if isinstance(content, Mapping) else {request.path: content}
        contents |= made
        writers |= dict.fromkeys(made, found)
    for path in contents:
        make_folder(path.parent)
    with together():
        write_files({path: content for path, content in contents.items() if isinstance(content, str | bytes)})
        for path, content in contents.items():
            if not isinstance(content, str | bytes):
                write(content, path, "table")
    return writers


@SAVERS.register("report")
def save_report(report: Report, files: Sequence[str]) -> list[Path]:
    """Write a report to files, each in the format of its suffix: what ``report.save`` does."""
    requests = [OutputRequest(file, gate=report.section(Gate)) for file in files]
    for request in requests:
        request.check()
    return list(write_reports(report, requests))


@SAVERS.register("scores")
def save_scores(scores: Scores, files: Sequence[str]) -> list[Path]:
    """Write the report on one system to files: what ``scores.save`` does."""
    return save_report(report_on(scores), files)


def as_file_name(system: str) -> str:
    """Return a name without the characters that a path cannot hold."""
    return re.sub(r"[^\w.+-]", "_", system).lstrip("._") or "system"
