"""The headline table as cells, for the console and for Markdown."""

from karat.report import Report
from karat.statistics.estimates import Estimate
from karat.usual import LEGEND
from karat.wording import estimate_shown, percent

__all__ = [
    "Table",
    "by_measure",
    "by_system",
    "by_system_only",
    "caption",
    "legend",
    "one_by_one",
    "queries_averaged",
]

Table = tuple[list[str], list[list[str]]]


def caption(report: Report, *, count_of_queries: bool = False) -> str:
    """What the brackets mean, and over how many queries; nothing where there are none."""
    found = any(estimate.ci for measures in report.estimates.values() for estimate in measures.values())
    who = report.unit[1]
    over = f"{queries_averaged(report)} {who}" if count_of_queries and queries_averaged(report) else who
    return f"[{percent(report.level)} interval over {over}]" if found else ""


def legend(report: Report) -> str:
    """What stands beside a measure's name; nothing where no measure has two."""
    return LEGEND if report.usual_names else ""


def by_measure(report: Report) -> Table:
    """Measures down, systems across, and how many queries were averaged."""
    rows = []
    for label in report.labels:
        estimates = [measures[label] for measures in report.estimates.values()]
        rows.append([report.both_names(label), *map(estimate_shown, estimates), _counts(estimates)])
    return ["measure", *report.systems, "n"], rows


def by_system(report: Report) -> Table:
    """Systems down, measures across, and how many queries were averaged."""
    rows = []
    for name, measures in report.estimates.items():
        estimates = [measures[label] for label in report.labels]
        rows.append([name, *map(estimate_shown, estimates), _counts(estimates)])
    return ["system", *map(report.both_names, report.labels), "n"], rows


def by_system_only(report: Report) -> Table:
    """The same without the number of queries, which the caption then tells."""
    header, rows = by_system(report)
    return header[:-1], [row[:-1] for row in rows]


def queries_averaged(report: Report) -> str | None:
    """How many queries every estimate is over; None where they differ."""
    found = {_counts([one]) for measures in report.estimates.values() for one in measures.values()}
    return found.pop() if len(found) == 1 else None


def one_by_one(report: Report) -> Table:
    """A row for each system and measure: as narrow as it gets."""
    rows = []
    for label in report.labels:
        for name, measures in report.estimates.items():
            rows.append([name, report.both_names(label), estimate_shown(measures[label]), _counts([measures[label]])])
    return ["system", "measure", "mean", "n"], rows


def _counts(estimates: list[Estimate]) -> str:
    """How many queries were averaged, and how many left out; once where they agree."""
    shown = [f"{e.n:,}" + (f" ({e.undefined:,} undefined)" if e.undefined else "") for e in estimates]
    return shown[0] if len(set(shown)) == 1 else " | ".join(shown)
