"""Tables that only the page has: measures and slices with systems across, and where a report comes from."""

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import Any

from karat.breakdown import Slice
from karat.report import SCHEMA, Report
from karat.reports.differences import verdict_of
from karat.reports.tables import Cell, Column, Style, Table, idle_systems, table
from karat.statistics.comparison import Comparison
from karat.statistics.estimates import Estimate
from karat.wording import NOTHING, count, difference_shown, estimate_shown, p_shown, percent, visible

__all__ = ["measures_matrix", "provenance_table", "slice_tables"]

_MARKS = {"better": " ▲", "worse": " ▼"}
_FULL_CELL, _BRIEF_CELL = 330, 40
"""Bytes of a cell of a table of slices, about."""
_FEWEST_SLICES = 10
_INDEX_FACTS = ("engine", "metric", "build", "search", "items", "dimensions", "facts")
_LOG_FACTS = ("window", "fit_on", "split")
_RUN_FACTS = ("versions", "inputs", "packages", "machine", "git", "seconds", "same_inputs_as")


def measures_matrix(report: Report, labels: Sequence[str], *, across: bool = True) -> Table:
    """Return means with differences to the baseline: one row per system, or per measure where not ``across``."""
    compared = {(one.system, one.measure): one for one in report.comparisons}
    cells = {
        (name, label): _cell(system.estimates.get(label), compared.get((name, label)), report.level)
        for name, system in report.systems.items()
        for label in labels
    }
    names = {}
    for name, system in report.systems.items():
        mark = " (baseline)" if name == report.baseline else " (by chance)" if system.random else ""
        gold = f"\nagainst {visible(system.gold, one_line=True)}" if system.gold and across else ""
        style: Style = "baseline" if name == report.baseline else ""
        names[name] = Cell(visible(name, one_line=True) + mark + gold, style)
    titles = {label: report.both_names(label) for label in labels}
    rows: list[list[str | Cell]]
    if across:
        rows = [[names[name], *(cells[name, label] for label in labels)] for name in report.systems]
        return table([Column("system", "text"), *(Column(title, strong=True) for title in titles.values())], rows)
    rows = [[titles[label], *(cells[name, label] for name in report.systems)] for label in labels]
    return table([Column("measure", "text"), *(Column(name.text, strong=True) for name in names.values())], rows)


def _cell(estimate: Estimate | None, compared: Comparison | None, level: float) -> Cell:
    """Return a mean with its interval; on further lines the difference to the baseline, its p-value and the tally."""
    if estimate is None:
        return Cell(NOTHING)
    undefined = f" ({estimate.undefined:,} undefined)" if estimate.undefined else ""
    if compared is None or isnan(compared.difference) or isnan(estimate.mean):
        return Cell(estimate_shown(estimate) + undefined)
    tally = "" if compared.whole else f" · {compared.better:,}/{compared.equal:,}/{compared.worse:,}"
    p = p_shown(compared.p_holm, at_floor=compared.at_floor)
    lines = [estimate_shown(estimate) + undefined, difference_shown(compared.difference, compared.ci), f"p {p}{tally}"]
    return Cell("\n".join(lines), verdict_of(compared, level))


def slice_tables(report: Report, labels: Sequence[str], room: int) -> tuple[dict[str, Table], int, int]:
    """Return tables of slices by measure, worst slice first, and how many measures and slices there was no room for.

    Measures of ``labels`` come first, and the first of all has intervals and p-values. Where not all slices fit into
    about ``room`` bytes, each table has the worst of them; ten at least.
    """
    idle = idle_systems(report)
    systems = [name for name in report.systems if name not in idle]
    ordered = {label: _worst_first(report, label, systems) for label in dict.fromkeys((*labels, *report.labels))}
    known = {label: parts for label, parts in ordered.items() if parts}
    row_bytes = len(systems) * (_FULL_CELL + _BRIEF_CELL * (len(known) - 1))
    most = max(_FEWEST_SLICES, room // max(1, row_bytes))
    tables: dict[str, Table] = {}
    used = 0
    for label, parts in known.items():
        used += min(most, len(parts)) * len(systems) * (_BRIEF_CELL if tables else _FULL_CELL)
        if tables and used > 2 * room:
            break
        rows = [_slice_row(report, part, label, systems, brief=bool(tables)) for part in parts[:most]]
        columns = (Column(name, strong=not tables) for name in systems)
        tables[label] = table([Column("slice", "text"), Column("n"), *columns], rows)
    omitted = max((len(parts) - most for label, parts in known.items() if label in tables), default=0)
    return tables, len(known) - len(tables), max(omitted, 0)


def _worst_first(report: Report, label: str, systems: Sequence[str]) -> list[Slice]:
    """Return slices by their worst difference to the baseline, or by their worst mean where nothing is compared."""
    lower, found = report.lower_is_better(label), []
    compared = any(
        isinstance(one, Comparison) and one.measure == label for part in report.slices for one in part.beside
    )
    for part in report.slices:
        gains = []
        if compared:
            gains = [
                one.gain
                for one in part.beside
                if isinstance(one, Comparison) and one.measure == label and one.system in systems
            ]
        else:
            means = [part.estimates[name][label].mean for name in systems if label in part.estimates.get(name, {})]
            gains = [-mean if lower else mean for mean in means]
        if defined := [gain for gain in gains if not isnan(gain)]:
            found.append((min(defined), part.name, part))
    return [part for _, _, part in sorted(found, key=lambda one: one[:2])]


def _slice_row(report: Report, part: Slice, label: str, systems: Sequence[str], *, brief: bool) -> list[str | Cell]:
    """Return slice, number of queries that the measure is over (a range where systems differ), and cells."""
    compared = {one.system: one for one in part.beside if isinstance(one, Comparison) and one.measure == label}
    estimates = {name: part.estimates.get(name, {}).get(label) for name in systems}
    numbers = {one.n for one in estimates.values() if one is not None} or {0}
    row: list[str | Cell] = [part.name, "–".join(f"{n:,}" for n in sorted({min(numbers), max(numbers)}))]
    for name, estimate in estimates.items():
        one = compared.get(name)
        if not brief or estimate is None or isnan(estimate.mean):
            row.append(_cell(estimate, one, report.level))
            continue
        style = "" if one is None else verdict_of(one, report.level)
        mean = estimate_shown(estimate).partition(" [")[0]
        row.append(Cell(mean + _MARKS.get(style, ""), style if style in _MARKS else ""))
    return row


def provenance_table(report: Report, manifest: Mapping[str, Any] | None = None) -> Table:
    """Return what came from where, as names and values; of an archived run with its inputs, packages and machine."""
    about, how = dict(report.provenance), report.resampling
    rows: list[tuple[str, Any]] = [("karat", report.version), ("schema", SCHEMA)]
    rows += [(key, about.pop(key)) for key in ("name", "plan", "made", "dialect") if about.get(key)]
    if how is not None:
        resamples = count(how.resamples, "resample", "resamples")
        rows.append(("intervals", f"{resamples}, {percent(how.level)}, {how.interval}"))
        rows.append(("seed", how.seed))
    rows += [("baseline", report.baseline), *_flat("", about)]
    for name, system in report.systems.items():
        held = {key: section.to_json() for key, section in system.sections.items()}
        for key in ("facts", "fusion", "fingerprints"):
            rows += _flat(f"{name}, {key}", held.get(key) or {})
        rows += _flat(f"{name}, index", _chosen(held.get("index"), _INDEX_FACTS))
    log = report.sections.get("interactions")
    rows += _flat("log", _chosen(None if log is None else log.to_json(), _LOG_FACTS))
    rows += _flat("", _chosen(manifest, _RUN_FACTS))
    known = [(key, str(value)) for key, value in rows if value not in (None, "", {}, [])]
    return table(["name", "value"], known, text=(0, 1))


def _chosen(value: Mapping[str, Any] | None, keys: Sequence[str]) -> dict[str, Any]:
    return {key: value[key] for key in keys if value.get(key) is not None} if value else {}


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield nested tables by their path."""
    if isinstance(value, Mapping):
        for key, held in value.items():
            yield from _flat(f"{prefix} · {key}" if prefix else str(key), held)
    elif isinstance(value, list | tuple):
        yield prefix, ", ".join(map(str, value))
    else:
        yield prefix, value
