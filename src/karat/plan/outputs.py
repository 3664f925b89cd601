"""The files that a plan asks for: all of them, or none."""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from karat.errors import DataError, KaratError, UnknownName, UsageError
from karat.formats import TABLE_FORMATS, form_to_write, write_table
from karat.formats.atomic import writing_texts
from karat.plan.model import OutputTable, Plan
from karat.plan.reading import Checked
from karat.report import Report
from karat.reports import form_of
from karat.reports.retrievers import to_retrievers

__all__ = ["FORMS", "check_outputs", "reports_among", "write_outputs"]

_USUAL_K = 5
FORMS = ("report", "queries", "retrievers")


def check_outputs(checked: Checked) -> None:
    """Refuse what could not be written, before anything is computed."""
    seen: set[str] = set()
    for number, output in enumerate(outputs_of(checked.plan)):
        where = f"{checked.where}, output {number + 1} ({output.file})"
        try:
            _check(output)
        except KaratError as error:
            raise UsageError(str(error), where=where) from error
        if output.file in seen:
            raise UsageError("two outputs have one name", where=where)
        seen.add(output.file)


def outputs_of(plan: Plan) -> list[OutputTable]:
    short = [plan.outputs] if isinstance(plan.outputs, str) else plan.outputs
    return [*(OutputTable(file=file) for file in short), *plan.output]


def _check(output: OutputTable) -> None:
    if output.form not in (None, *FORMS):
        raise UnknownName("form", str(output.form), FORMS)
    if output.form == "queries":
        form_to_write(Path(output.file), None, TABLE_FORMATS)
    elif output.form == "retrievers":
        if Path(output.file).suffix != ".json":
            raise UsageError(f"the form retrievers is JSON, not {Path(output.file).suffix or 'a name without suffix'}")
    else:
        form_of(Path(output.file))


def write_outputs(checked: Checked, report: Report, folder: Path | None = None) -> list[Path]:
    """Write into ``folder``, or beside the plan; returns what was written."""
    place = checked.folder if folder is None else folder
    outputs = outputs_of(checked.plan)
    paths = [place / output.file for output in outputs]
    texts, tables = {}, []
    for output, path in zip(outputs, paths, strict=True):
        if output.form == "queries":
            tables.append(path)
        else:
            texts[path] = _text_of(output)(report)
    for path in paths:
        if path.is_dir():
            raise DataError("cannot write here: found a folder", where=str(path))
    for path in paths:
        _make_folder(path.parent)
    with writing_texts(texts):
        for path in tables:
            write_table(_per_query(report), path)
    return paths


def reports_among(checked: Checked, written: list[Path]) -> list[Path]:
    """Those that karat can read back, for a gate."""
    outputs = outputs_of(checked.plan)
    kept = (path for output, path in zip(outputs, written, strict=True) if output.form in (None, "report"))
    return [path for path in kept if path.suffix == ".json"]


def _text_of(output: OutputTable) -> Callable[[Report], str]:
    if output.form == "retrievers":
        return lambda report: to_retrievers(report, output.k or _USUAL_K)
    return form_of(Path(output.file))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot make this folder: {error.strerror}", where=str(folder)) from error


def _per_query(report: Report) -> pl.DataFrame:
    frames = [one.per_query.select(pl.lit(name).alias("system"), pl.all()) for name, one in report.systems.items()]
    return pl.concat(frames)
