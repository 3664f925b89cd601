"""The files that a plan asks for: all of them, or none."""

from collections.abc import Callable
from os.path import exists, isdir, normpath
from pathlib import Path
from typing import Any

import polars as pl

from karat.errors import DataError, KaratError, UnknownName, UsageError
from karat.formats import TABLE_FORMATS, form_to_write, write_table
from karat.formats.atomic import check_destination, make_folder, together, write_files
from karat.gates import Gate
from karat.plan.earlier import References
from karat.plan.model import OutputTable, Plan
from karat.plan.reading import Checked
from karat.report import Report
from karat.reports import form_of
from karat.reports.digest import Names
from karat.reports.evaluation import as_file_name, check_evaluation, file_parts, to_evaluation
from karat.reports.html import html_of
from karat.reports.per_cutoff import to_cutoff_csv
from karat.reports.pull_request import summary_of
from karat.reports.recommendations_picture import to_recommenders_png
from karat.reports.retrievers import check_retrievers, to_retrievers

__all__ = ["FORMS", "check_outputs", "reports_among", "write_outputs"]

_USUAL_K = 5
_CHARTS, _CHART = "charts", "{chart}"
FORMS = ("report", "queries", "cutoffs", "retrievers", "evaluation", "recommenders", _CHARTS, "pull-request")
_EACH = {"cutoffs": "{system}", "evaluation": "{index}"}
_PICTURES = (".png", ".svg")
_DATE = "{date}"
_LATER = (_DATE, "{model}")
"""Known when the report is."""


def check_outputs(checked: Checked, folder: Path | None = None) -> None:
    """Refuse what could not be written, or would replace what the plan reads, before anything is computed."""
    if folder is not None and exists(folder) and not isdir(folder):
        raise DataError("cannot make this folder: a file is there", where=str(folder))
    seen: set[str] = set()
    read = {(checked.folder / text).resolve() for text in _read_by(checked.plan)}
    for key, output in _with_keys(checked.plan):
        where = f"{checked.at(*key)} ({output.file})"
        try:
            _check(output, checked)
        except KaratError as error:
            raise UsageError(str(error), where=where) from error
        if ((folder or checked.folder) / output.file).resolve() in read:
            raise UsageError("the plan reads this file", where=where, expected="another name")
        _check_reference(output, checked, where, folder)
        check_destination((folder or checked.folder) / output.file, parents=True)
        if normpath(output.file) in seen:
            raise UsageError("two outputs have one name", where=where)
        seen.add(normpath(output.file))


def _check_reference(output: OutputTable, checked: Checked, where: str, folder: Path | None) -> None:
    """Refuse to overwrite the earlier report: a run that failed its drift target would be the next reference."""
    pattern = checked.plan.lab.earlier
    if pattern is None or output.form not in (None, "report", "evaluation") or _DATE in output.file:
        return
    references = References(pattern, lambda text: str(checked.folder / text))
    path = (folder or checked.folder) / output.file
    if any(references.matches(path, name) for name in ([output.system] if output.system else checked.plan.systems)):
        expected = f"{_DATE} in the name of the file, or another name"
        raise UsageError("the plan reads its earlier report from this file", where=where, expected=expected)


def _read_by(plan: Plan) -> set[str]:
    """The paths that a plan names, each with and without what may follow a colon."""
    tables = [plan.gold, plan.lab, *plan.systems.values()]
    texts = [text for table in tables for text in table.model_dump().values() if isinstance(text, str)]
    for given in (plan.slices, plan.item_slices, plan.names or [], plan.texts or []):
        texts += [given] if isinstance(given, str) else given
    return {part for text in texts for part in (text, text.rpartition(":")[0]) if part}


def outputs_of(plan: Plan) -> list[OutputTable]:
    """One a file: a name with {system} stands for one of each system."""
    return [output for _, output in _with_keys(plan)]


def _with_keys(plan: Plan) -> list[tuple[tuple[str, int], OutputTable]]:
    """Each with its place in the plan."""
    short = [plan.outputs] if isinstance(plan.outputs, str) else plan.outputs
    given = [(("outputs", number), OutputTable(file=file)) for number, file in enumerate(short)]
    given += [(("output", number), output) for number, output in enumerate(plan.output)]
    return [(key, one) for key, output in given for one in _for_each(output, plan)]


def _for_each(output: OutputTable, plan: Plan) -> list[OutputTable]:
    each = _EACH.get(output.form or "")
    if each is None or each not in output.file:
        return [output]
    names = plan.indexes if output.form == "evaluation" else plan.systems
    if not names:
        return [output]  # refused: there is nothing to write it of
    return [output.model_copy(update={"file": output.file.replace(each, as_file_name(name)), "system": name})
            for name in names]  # fmt: skip


def _check(output: OutputTable, checked: Checked) -> None:
    if output.form not in (None, *FORMS):
        raise UnknownName("form", str(output.form), FORMS)
    if output.form == "queries":
        form_to_write(Path(output.file), None, TABLE_FORMATS)
    elif output.form == "cutoffs":
        _check_suffix(output, ".csv")
        if output.system not in checked.plan.systems:
            found = f"no system is called {output.system!r}" if output.system else "which system is not said"
            raise UsageError(found, expected="{system} in the name of the file, or system = one of the plan's")
        _check_has_cuts(checked)
    elif output.form == "evaluation":
        _check_suffix(output, ".json")
        check_evaluation(output.system, checked.plan.indexes)
    elif output.form == "recommenders":
        _check_suffix(output, ".png")
        if checked.plan.gold.kind != "interactions":  # type: ignore[attr-defined]
            raise UsageError("the form recommenders is of a log", expected="a gold of the kind interactions")
    elif output.form == "pull-request":
        _check_suffix(output, ".md")
    elif output.form == _CHARTS:
        if Path(output.file).suffix not in _PICTURES or _CHART not in Path(output.file).name:
            raise UsageError("the form charts is a picture each", expected="a name such as figures/{chart}.png or .svg")
    elif output.form == "retrievers":
        _check_suffix(output, ".json")
        names = [name for name, system in checked.plan.systems.items() if system.ranks]
        check_retrievers(names, [str(one.measure) for one in checked.asked], output.k or _USUAL_K)
    else:
        form_of(Path(output.file))
        if Path(output.file).suffix in _PICTURES:
            _check_has_cuts(checked)


def _check_suffix(output: OutputTable, wanted: str) -> None:
    suffix = Path(output.file).suffix
    if suffix != wanted:
        found = suffix or "a name without suffix"
        raise UsageError(f"the form {output.form} is {wanted[1:].upper()}, not {found}")


def _check_has_cuts(checked: Checked) -> None:
    if not checked.cuts:
        raise UsageError("no measure has a cut-off", expected="measures at several k", hint="cutoffs = [1, 5, 10]")


def write_outputs(
    checked: Checked,
    report: Report,
    folder: Path | None = None,
    gate: Gate | None = None,
    tell: Callable[[str], None] | None = None,
) -> list[Path]:
    """Write the plan's files, and return their paths.

    Args:
        checked: The plan.
        report: The report that the files are made from.
        folder: Where to write; beside the plan unless given.
        gate: The verdicts on the plan's targets.
        tell: Called with a line where a file of the same day exists: a name with ``{date}`` never overwrites a file.

    Returns:
        The paths, those of single files first, then those of charts.
    """
    place = checked.folder if folder is None else folder
    contents: dict[Path, str | bytes] = {}
    tables, paths = [], []
    number = _number(checked.plan, report, place)
    if number > 1 and tell is not None:
        tell(f"A run of the same day wrote these files already, which stay as they are: this one adds _{number}")
    for output in _of_one_file(checked.plan):
        paths.append(path := place / _numbered(output, _named(output, report), number))
        if output.form == "queries":
            tables.append(path)
        else:
            contents[path] = _content_of(output, gate)(report)
    for output in outputs_of(checked.plan):
        if output.form == _CHARTS:
            charts = _charts(output, report, gate)
            charts = {_numbered(output, name, number): picture for name, picture in charts.items()}
            paths += [place / name for name in charts]
            contents |= {place / name: picture for name, picture in charts.items()}
    for path in paths:
        make_folder(path.parent)
    with together():
        write_files(contents)
        for path in tables:
            write_table(_per_query(report), path)
    return paths


def _number(plan: Plan, report: Report, place: Path) -> int:
    """The number of this run among those of the day: the first under which no dated file exists."""
    dated = [output for output in outputs_of(plan) if _DATE in output.file]
    number = 1
    while any(_exists(place / _numbered(output, _named(output, report), number)) for output in dated):
        number += 1
    return number


def _exists(path: Path) -> bool:
    """Whether there is a file of this name; of a name with ``{chart}``, of any chart."""
    return exists(path) if _CHART not in path.name else any(path.parent.glob(path.name.replace(_CHART, "*")))


def _numbered(output: OutputTable, name: str, number: int) -> str:
    """The name of a dated file with the number of the run, which the first run of a day does not have."""
    if number == 1 or _DATE not in output.file:
        return name
    path = Path(name)
    return str(path.with_name(f"{path.stem}_{number}{path.suffix}"))


def _of_one_file(plan: Plan) -> list[OutputTable]:
    """They are written first, and come first among what was."""
    return [output for output in outputs_of(plan) if output.form != _CHARTS]


def _charts(output: OutputTable, report: Report, gate: Gate | None) -> dict[str, bytes]:
    """Every chart that the report has something for, by the name of its file."""
    from karat.reports.charts import all_charts, to_picture

    form, name = _with_verdicts(report, gate), _named(output, report)
    kind = Path(output.file).suffix.removeprefix(".")
    return {name.replace(_CHART, chart): to_picture(one, kind) for chart, one in all_charts(form).items()}  # type: ignore[arg-type]


def _with_verdicts(report: Report, gate: Gate | None) -> dict[str, Any]:
    return report.as_json() | ({"gate": gate.as_json()} if gate is not None else {})


def reports_among(checked: Checked, written: list[Path]) -> list[Path]:
    """Those that karat can read back, for a gate."""
    outputs = _of_one_file(checked.plan)
    kept = (
        path for output, path in zip(outputs, written, strict=False) if output.form in (None, "report", "evaluation")
    )
    return [path for path in kept if path.suffix == ".json"]


def _named(output: OutputTable, report: Report) -> str:
    """The name of the file, with the date and the model where it asks for them."""
    if not any(part in output.file for part in _LATER):
        return output.file
    parts = file_parts(report, output.system or next(iter(report.systems)))
    return output.file.replace("{date}", parts["date"]).replace("{model}", as_file_name(parts["model"]))


def _content_of(output: OutputTable, gate: Gate | None) -> Callable[[Report], str | bytes]:
    if output.form == "evaluation":
        return lambda report: to_evaluation(report, output.system or "", gate)
    if output.form == "cutoffs":
        return lambda report: to_cutoff_csv(report, output.system or "")
    if output.form == "retrievers":
        return lambda report: to_retrievers(report, output.k or _USUAL_K)
    if output.form == "recommenders":
        return to_recommenders_png
    if output.form == "pull-request":
        return lambda report: summary_of(_with_verdicts(report, gate), names=Names(report.texts, report.names))
    if Path(output.file).suffix == ".html":
        return lambda report: html_of(report, None if gate is None else gate.as_json())
    return form_of(Path(output.file))


def _per_query(report: Report) -> pl.DataFrame:
    frames = [one.per_query.select(pl.lit(name).alias("system"), pl.all()) for name, one in report.systems.items()]
    return pl.concat(frames)
