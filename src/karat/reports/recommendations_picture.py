"""Recommenders as a page of figures: the first measure by tier, what is recommended by popularity, and by cut-off."""

from functools import partial
from io import BytesIO
from textwrap import wrap
from typing import TYPE_CHECKING

from karat.breakdown import Slice
from karat.common_sections import Interactions
from karat.errors import UsageError
from karat.exposures import Exposure
from karat.report import Report
from karat.reports.curves import Panel, bounds_of
from karat.reports.cutoffs import by_cutoff
from karat.reports.drawing import (
    COLOURS,
    MARGIN,
    POINTS,
    SMALL,
    TEXT,
    TITLE,
    WIDTH,
    add_legend,
    fitted,
    legend_of,
    own_style,
    plain,
    style_of,
)
from karat.wording import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

__all__ = ["to_recommenders_figure", "to_recommenders_png"]

_MOST_CUTS = 3
_WIDEST = 0.5
"""Of the page, at most, are names of slices."""
_TICKS_APART = 0.06
"""As a share of the axis: nearer ticks would have labels that overlap."""
_ROW, _POINT, _EXPOSURE, _PANEL = 0.1, 0.045, 2.2, 1.9
"""In inches: the space about a slice, a system in it, what is exposed, and a panel by cut-off."""


def to_recommenders_png(report: Report, *, dpi: int = 150) -> bytes:
    """Equal reports give equal bytes."""
    picture = BytesIO()
    with own_style():
        _drawn(report).savefig(picture, format="png", dpi=dpi, metadata={"Software": None})
    return picture.getvalue()


def to_recommenders_figure(report: Report) -> "Figure":
    """The same before it is rendered."""
    with own_style():
        return _drawn(report)


def _drawn(report: Report) -> "Figure":
    from matplotlib.figure import Figure

    if not report.needed_section(Interactions):
        raise UsageError("the report is of no log", expected="a gold of the kind interactions")
    measure, slices = _of_tiers(report)
    panels, conventions = _panels(report)
    names, columns = legend_of(list(report.systems))
    rows = 0.5 + max(2, len(slices)) * (_ROW + _POINT * len(report.systems))
    parts = [(rows, partial(_draw_tiers, report=report, slices=slices, measure=measure))] if slices else []
    parts += [(_EXPOSURE, partial(_draw_exposure, report=report))] if report.sections_of(Exposure) else []
    parts += [(_PANEL, partial(_draw_cutoffs, panels=panels))] if panels else []
    caption = _caption(report, slices, panels, conventions)
    height = sum(height for height, _ in parts) + 0.9 + 0.13 * len(caption)
    figure = Figure((WIDTH, height), layout="constrained")
    # Each by itself: the names of tiers are as wide as half of the page, and would push the others aside.
    ratios = [height for height, _ in parts]
    places = figure.subfigures(len(parts), 1, height_ratios=ratios, squeeze=False).flat if parts else ()
    for place, (_, draw) in zip(places, parts, strict=True):
        draw(place)
    title = fitted(str(report.provenance.get("name") or ""), WIDTH * POINTS - 2 * MARGIN, TITLE)
    add_legend(figure, names, columns, title, lines=True)
    figure.supxlabel("\n".join(caption), x=0.015, ha="left", fontsize=SMALL, color="#444444")
    return figure


def _of_tiers(report: Report) -> tuple[str, list[Slice]]:
    """The first measure that has slices, those that were compared before the others; and its slices."""
    for measure in dict.fromkeys((*(one.measure for one in report.comparisons), *report.labels)):
        slices = [
            part for part in report.slices if all(measure in part.estimates.get(name, {}) for name in report.systems)
        ]
        if slices:
            return measure, slices
    return report.labels[0], []


def _panels(report: Report) -> tuple[list[Panel], list[str]]:
    """Measures at several cut-offs, and the conventions that their names leave out."""
    if not any("@" in label for label in report.labels):
        return [], []
    grid = by_cutoff(report)
    shown = [one for one in grid.measures if len(grid.ks_of(one)) > 1][:_MOST_CUTS]
    panels = [Panel(one, grid.ks_of(one), tuple(grid.row(name, one) for name in grid.systems)) for one in shown]
    return panels, [f"{one.name}: {one.spelling}" for one in shown if "(" in one.spelling and one.name != one.spelling]


def _draw_cutoffs(figure: "SubFigure", panels: list[Panel]) -> None:
    """A measure a panel, over its cut-offs."""
    for place, (panel, limits) in enumerate(zip(panels, bounds_of(panels), strict=True)):
        axes = figure.add_subplot(1, len(panels), place + 1)
        panel.draw(axes, limits, inches=WIDTH / len(panels) - 0.5)
        axes.set_xlabel("k", fontsize=SMALL)


def _draw_tiers(figure: "SubFigure", report: Report, slices: list[Slice], measure: str) -> None:
    """A line a slice, a point with its interval for each system."""
    axes = figure.add_subplot()
    systems = list(report.systems)
    for row, part in enumerate(slices):
        for place, name in enumerate(systems):
            one = part.estimates[name][measure]
            at = row + ((place + 1) / (len(systems) + 1) - 0.5) * 0.8
            if one.n and one.ci:
                axes.plot(one.ci, [at, at], color=COLOURS[place % len(COLOURS)], linewidth=1.0, alpha=0.7)
            if one.n:
                style = {**style_of(place, line=False), "markersize": 4.0}
                axes.plot([one.mean], [at], **style, clip_on=False, zorder=3)
        if row:
            axes.axhline(row - 0.5, color="#EEEEEE", linewidth=0.6, zorder=0)
    labels = [fitted(f"{part.name} ({_n(part, measure)})", _WIDEST * WIDTH * POINTS, SMALL) for part in slices]
    axes.set_yticks(range(len(slices)), labels, fontsize=SMALL)
    axes.set_ylim(len(slices) - 0.5, -0.5)
    axes.set_xlim(left=0.0)
    plain(axes)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    axes.tick_params(labelsize=SMALL, length=3, color="#888888")
    axes.set_title(f"{report.both_names(measure)} by tier (n users)", loc="left", fontsize=TEXT)


def _n(part: Slice, measure: str) -> str:
    return f"{max(of[measure].n for of in part.estimates.values()):,}"


def _draw_exposure(figure: "SubFigure", report: Report) -> None:
    """Which part of the catalogue recommendations come from, most popular first, beside what was taken in training."""
    axes = figure.add_subplot()
    edges: tuple[float, ...] = ()
    for place, name in enumerate(report.systems):
        one = report.sections_of(Exposure).get(name)
        if one is not None:
            edges = one.edges
            axes.plot(_middles(edges), one.recommended, **{**style_of(place), "markersize": 4.0})
    first = next(iter(report.sections_of(Exposure).values()))
    widths = [high - low for low, high in zip((0.0, *edges), edges, strict=False)]
    axes.bar(_middles(edges), first.taken, width=[0.96 * one for one in widths], color="#E3E3E3", zorder=0)
    plain(axes)
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, 1.02)
    ticks: list[float] = []
    for edge in reversed(edges):
        if not ticks or ticks[-1] - edge >= _TICKS_APART:
            ticks.append(edge)
    axes.set_xticks(ticks, [percent(edge, 0) for edge in ticks])
    axes.tick_params(labelsize=SMALL, length=3, color="#888888")
    axes.set_xlabel("catalogue, most popular in training first", fontsize=SMALL)
    axes.set_ylabel("share", fontsize=SMALL)
    title = f"Share of the first {first.k} recommendations (lines) and of training (bars)"
    axes.set_title(title, loc="left", fontsize=TEXT)


def _middles(edges: tuple[float, ...]) -> list[float]:
    return [(low + high) / 2 for low, high in zip((0.0, *edges), edges, strict=False)]


def _caption(report: Report, slices: list[Slice], panels: list[Panel], conventions: list[str]) -> list[str]:
    of_items = any(part.of == "items" for part in slices)
    said = [
        f"Held against {report.needed_section(Interactions)['window']}",
        "tiers are of training interactions" if slices else "",
        "tiers of items: only items of the tier are ranked and relevant" if of_items else "",
        f"lines and bands: {percent(report.level)} intervals" if report.resampling and (slices or panels) else "",
        *conventions,
    ]
    return wrap("; ".join(filter(None, said)) + ".", 108)
