"""Renderer of embedding diagnostics: norms, duplicates, anisotropy and hubs of each system's vectors."""

from math import isnan

from rankjury.evaluation.report import Report
from rankjury.reporting.charts.sections import norm_charts
from rankjury.reporting.sections import SectionBlock, renderer
from rankjury.reporting.tables import TextTable, cut_name, make_table
from rankjury.retrieval.diagnostics import GoldSpaces, SpaceDiagnostics
from rankjury.stats.formatting import format_percent

_LONGEST_HUB = 16
_LEGEND = (
    "length: L2 norm, mean ± standard deviation · equal, near: duplicates and near-duplicates · mean cos: mean cosine "
    "of two vectors · hub skew: skewness of how often an item is a nearest neighbour · top hub: the most frequent one"
)


@renderer("spaces")
@renderer("space")
def render(report: Report, brief: bool) -> SectionBlock | None:
    """Return one row per space, those of the gold first."""
    of_gold = report.section(GoldSpaces)
    spaces = {**(of_gold.spaces if of_gold is not None else {}), **report.sections_of(SpaceDiagnostics)}
    header = ["space", "vectors", "length", "equal", "near", "mean cos", "hub skew", "top hub"]
    rows = [_row(name, space, report) for name, space in spaces.items()]
    shown = make_table(header, rows, text=(0, 7), wraps=(0, 7), notes=[_LEGEND])
    return SectionBlock("Embedding spaces", [shown], charts=lambda: norm_charts(report)) if rows else None


def _row(name: str, space: SpaceDiagnostics, report: Report) -> list[str]:
    hubs = space.hubness.hubs
    hub = f"{cut_name(report.name_of(hubs[0].id), _LONGEST_HUB)} ({hubs[0].found_by:,})" if hubs else "–"
    alike = "–" if isnan(space.mean_similarity) else f"{space.mean_similarity:.3f}"
    return [
        name,
        f"{space.vectors:,} × {space.dimensions:,}",
        f"{space.norm.mean:.3g} ± {space.norm.std:.{1 if space.norm.std < 9.5 else 3}g}",
        f"{space.duplicates.exact:,}",
        f"{space.near_duplicates.found:,}",
        alike,
        f"{space.hubness.skew:.1f}",
        hub,
    ]


def diagnostics_table(space: SpaceDiagnostics) -> TextTable:
    """Return the diagnostics of one space, a row per value."""
    hubs = ", ".join(f"{hub.id} ({hub.found_by:,})" for hub in space.hubness.hubs[:3]) or "–"
    rows = [
        ["vectors", f"{space.vectors:,} × {space.dimensions:,}"],
        ["length", f"{space.norm.mean:.4g} ± {space.norm.std:.2g}, {space.norm.min:.4g} to {space.norm.max:.4g}"],
        ["of outlying length", ", ".join(space.norm.outliers[:5]) or "none"],
        ["equal to another", f"{space.duplicates.exact:,}"],
        ["nearly equal", f"{space.near_duplicates.found:,} of {space.near_duplicates.looked_at:,} looked at"],
        ["mean cosine", "–" if isnan(space.mean_similarity) else f"{space.mean_similarity:.4f}"],
        [f"hubs (among {space.hubness.k} nearest)", f"skew {space.hubness.skew:.2f}; {hubs}"],
        ["never found", format_percent(space.hubness.never_found, 1)],
    ]
    rows += [[f"tied at {k}", f"{format_percent(share, 1)} of the queries"] for k, share in space.tied_at.items()]
    return make_table(["space", ""], rows, text=(0, 1), wraps=(1,))
