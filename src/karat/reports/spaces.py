"""What is to be known of the vectors of each system, as cells."""

from math import isnan

from karat.hygiene import GoldSpaces, Hygiene
from karat.report import Report
from karat.reports.table import Table
from karat.wording import percent

__all__ = ["hygiene_rows", "spaces_table"]

_LONGEST_HUB = 16


def spaces_table(report: Report) -> Table:
    """A row a space: its size, its vectors' lengths, duplicates, how alike all are, and hubs."""
    header = ["space", "vectors", "length", "equal", "near", "mean cos", "hub skew", "top hub"]
    of_gold = report.section(GoldSpaces)
    spaces = {**(of_gold.spaces if of_gold is not None else {}), **report.sections_of(Hygiene)}
    return header, [_row(name, space, report) for name, space in spaces.items()]


def _row(name: str, space: Hygiene, report: Report) -> list[str]:
    hub = f"{_cut(report.name_of(space.hubs[0][0]))} ({space.hubs[0][1]:,})" if space.hubs else "–"
    alike = "–" if isnan(space.mean_similarity) else f"{space.mean_similarity:.3f}"
    return [
        name,
        f"{space.vectors:,} × {space.dimensions:,}",
        f"{space.norm_mean:.3g} ± {space.norm_std:.1g}",
        f"{space.duplicates:,}",
        f"{space.near_duplicates:,}",
        alike,
        f"{space.hub_skew:.1f}",
        hub,
    ]


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_HUB else f"{name[: _LONGEST_HUB - 1].rstrip()}…"


def hygiene_rows(space: Hygiene) -> list[list[str]]:
    """One space in words: what was looked at, and what was found."""
    hubs = ", ".join(f"{name} ({times:,})" for name, times in space.hubs[:3]) or "–"
    rows = [
        ["vectors", f"{space.vectors:,} × {space.dimensions:,}"],
        ["length", f"{space.norm_mean:.4g} ± {space.norm_std:.2g}, {space.norm_min:.4g} to {space.norm_max:.4g}"],
        ["of outlying length", ", ".join(space.norm_outliers[:5]) or "none"],
        ["equal to another", f"{space.duplicates:,}"],
        ["nearly equal", f"{space.near_duplicates:,} of {space.looked_at:,} looked at"],
        ["mean cosine", "–" if isnan(space.mean_similarity) else f"{space.mean_similarity:.4f}"],
        [f"hubs (among {space.hub_k} nearest)", f"skew {space.hub_skew:.2f}; {hubs}"],
        ["never found", percent(space.never_found, 1)],
    ]
    return rows + [[f"tied at {k}", f"{percent(share, 1)} of the queries"] for k, share in space.tied_at.items()]
