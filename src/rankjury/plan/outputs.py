"""Output files of a plan: all of them are written, or none."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from os.path import exists, isdir, normpath
from pathlib import Path
from typing import Any

from rankjury.errors import DataError, RankjuryError, UsageError
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import Report
from rankjury.io.atomic import check_destination
from rankjury.plan.earlier_reports import EarlierReports
from rankjury.plan.input_digests import texts_in
from rankjury.plan.parse import CheckedPlan
from rankjury.plan.schema import OutputTable
from rankjury.reporting.writers import OutputRequest, Writer, as_file_name, find_writer, write_reports

_DATE = "{date}"


def check_outputs(checked: CheckedPlan, folder: Path | None = None) -> None:
    """Refuse outputs that cannot be written, or would replace inputs, before anything is computed."""
    if folder is not None and exists(folder) and not isdir(folder):
        raise DataError("cannot create this folder: this is a file", where=str(folder))
    seen: set[str] = set()
    plan = checked.plan
    tables = [list(table.model_dump().values()) for table in (plan.gold, plan.lab, *plan.systems.values())]
    texts = [value for values in tables for value in values if isinstance(value, str)]
    texts += texts_in([plan.slices, plan.item_slices, plan.names, plan.texts])
    # Text after a colon may be a key of the file.
    inputs = {(checked.folder / file).resolve() for text in texts for file in (text, text.rpartition(":")[0]) if file}
    for request, place in _requests(checked):
        where = f"{place} ({request.file})"
        try:
            request.check()
        except RankjuryError as error:
            raise UsageError(str(error), where=where) from error
        path = (folder or checked.folder) / request.file
        if path.resolve() in inputs:
            raise UsageError("the plan reads this file", where=where, expected="another name")
        if plan.lab.earlier is not None and _DATE not in request.file and find_writer(request).is_report:
            # A run that failed its drift target would be the reference of the next.
            references = EarlierReports(plan.lab.earlier, plan, checked.folder)
            names = [request.system] if request.system else plan.systems
            if any(references.matches(path, name) for name in names):
                expected = f"{_DATE} in the name of the file, or another name"
                raise UsageError("the plan reads its earlier report from this file", where=where, expected=expected)
        check_destination(path, parents=True)
        if normpath(request.file) in seen:
            raise UsageError("two outputs have one name", where=where)
        seen.add(normpath(request.file))


def _requests(checked: CheckedPlan) -> Iterator[tuple[OutputRequest, str]]:
    """Yield the plan's outputs, one per file, each with its location in the plan."""
    plan = checked.plan
    short = [plan.outputs] if isinstance(plan.outputs, str) else plan.outputs
    outputs = [(("outputs", number), OutputTable(file=file)) for number, file in enumerate(short)]
    outputs += [(("output", number), output) for number, output in enumerate(plan.output)]
    for key, output in outputs:
        request = OutputRequest(
            **output.model_dump(),
            systems=list(plan.systems),
            rankings=[name for name, system in plan.systems.items() if system.ranks],
            indexes=list(plan.indexes),
            measures=[str(asked.measure) for asked in checked.asked],
            cutoffs=checked.cuts,
            gold=plan.gold.kind,  # type: ignore[attr-defined]
        )
        place = checked.at(*key)
        try:
            yield from ((part, place) for part in request.split())
        except RankjuryError as error:
            raise UsageError(str(error), where=f"{place} ({output.file})") from error


def write_outputs(
    checked: CheckedPlan,
    report: Report,
    folder: Path | None = None,
    gate: Gate | None = None,
    tell: Callable[[str], None] | None = None,
) -> dict[Path, Writer]:
    """Write the plan's files, all of them or none, and return their paths in the order of the plan.

    They are written to ``folder``, or next to the plan. A name with ``{date}`` never overwrites a file: if a file of
    the same day exists, ``tell`` is called with a message about it.
    """
    place = checked.folder if folder is None else folder
    requests = [request for request, _ in _requests(checked)]
    dated = [request for request in requests if _DATE in request.file]
    number = 1  # of this run on the same day: the first for which no dated file exists
    while any(_exists(place / _file_name(request, report, number)) for request in dated):
        number += 1
    if number > 1 and tell is not None:
        tell(f"Files of an earlier run of the same day are kept: this run adds _{number} to its names")
    return write_reports(
        report,
        [replace(request, file=str(place / _file_name(request, report, number)), gate=gate) for request in requests],
    )


def _exists(path: Path) -> bool:
    """Return whether a file of this name exists; for a placeholder such as ``{chart}``, with any value."""
    pattern = re.sub(r"\{\w+\}", "*", path.name)
    return exists(path) if pattern == path.name else any(path.parent.glob(pattern))


def _file_name(request: OutputRequest, report: Report, number: int) -> Path:
    """Return the name with date and model inserted; a dated one with the run's number, unless it is the first."""
    if not any(part in request.file for part in (_DATE, "{model}")):
        return request.path
    parts = file_parts(report, request.system or next(iter(report.systems)))
    path = Path(request.file.replace(_DATE, parts["date"]).replace("{model}", as_file_name(parts["model"])))
    return path if number == 1 or _DATE not in request.file else path.with_name(f"{path.stem}_{number}{path.suffix}")


def file_parts(report: Report, system: str) -> dict[str, str]:
    """Return the values of {date}, {model} and {index} in the name of a file."""
    meta: dict[str, Any] = report.provenance.get("meta") or {}
    model = meta.get("model_version") or meta.get("model") or report.fact(system, "model") or "model"
    return {"date": str(report.provenance.get("made", ""))[:10], "model": str(model), "index": system}
