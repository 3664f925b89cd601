"""Figures of a report's form as a page shows them: no more digits than the interval deserves, and what they mean."""

from dataclasses import dataclass

from karat.reports.charts.from_form.reading import Form
from karat.statistics.corrections import at_floor, is_shown
from karat.statistics.intervals import Bounds
from karat.wording import NOTHING, bounds_shown, decimals_of, difference_shown, figure_shown, p_shown

__all__ = ["NOTHING", "Cell", "Form", "bounds_of", "cell_of"]


@dataclass(frozen=True)
class Cell:
    """A system under a measure."""

    mean: str
    ci: str = ""
    n: int = 0
    undefined: int = 0
    difference: str = ""
    difference_ci: str = ""
    p: str = ""
    tally: str = ""
    """``26 better · 9 worse · 4 equal``"""
    sign: str = ""
    """better, worse, or same where chance would do; empty where nothing is compared."""


def cell_of(entry: Form | None, compared: Form | None, *, lower: bool, level: float) -> Cell:
    """An entry of a system's measures, and of the comparisons where there is one."""
    if entry is None or entry.get("mean") is None:
        return Cell(NOTHING, undefined=(entry or {}).get("undefined", 0))
    ci = bounds_of(entry)
    total = entry.get("sum")
    mean = f"Σ {total:,.0f}" if total is not None else figure_shown(entry["mean"], decimals_of(ci))
    shown = "" if ci is None or total is not None else bounds_shown(ci)
    cell = Cell(mean, shown, entry.get("n", 0), entry.get("undefined", 0))
    if compared is None or compared.get("difference") is None:
        return cell
    own = bounds_of(compared)
    told, _, _ = difference_shown(compared["difference"], own).partition(" ")
    return Cell(
        *(cell.mean, cell.ci, cell.n, cell.undefined, told),
        "" if own is None else bounds_shown(own, signed=True),
        p_shown(compared.get("p_holm"), at_floor=at_floor(compared.get("p"), compared.get("p_resamples"))),
        _tally(compared),
        _sign(compared, lower, level),
    )


def _tally(compared: Form) -> str:
    if compared.get("better") is None:
        return ""
    return f"{compared['better']:,} better · {compared['worse']:,} worse · {compared['equal']:,} equal"


def _sign(compared: Form, lower: bool, level: float) -> str:
    """By the corrected p-value, as everywhere in karat."""
    difference = compared["difference"]
    if not difference or not is_shown(compared.get("p_holm"), level):
        return "same"
    return "better" if (difference > 0) != lower else "worse"


def bounds_of(entry: Form) -> Bounds | None:
    ci = entry.get("ci")
    return (ci[0], ci[1]) if ci else None
