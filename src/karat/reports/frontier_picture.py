"""Sweeps as a picture: recall against P95, a line a build, the frontier below them, every point labelled."""

from collections.abc import Collection, Sequence
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from karat.reports.charts.labels import Box, place_labels
from karat.reports.drawing import COLOURS, MARKERS, fitted, own_style
from karat.reports.frontier_lines import MOST_LABELS, Line, caption_of, label_of, lines_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from karat.lab.outcome import Choice, Cost, Sweep
    from karat.lab.points import Point

__all__ = ["sweeps_to_figure", "sweeps_to_png"]

_SIZE = (7.2, 4.8)
_TITLE, _TEXT, _SMALL = 10.0, 8.0, 6.5
_POINTS = 72.0
_LOG_FROM = 6.0
_GREY, _DARK = "#888888", "#444444"
_OUTCOMES = {
    "sure": "the cheapest that meets the target",
    "tied": "may be the cheapest that meets the target",
    "unsure": "the cheapest that may meet the target",
}
_HALF, _RING, _GAP = 3.2, 12.0, 4.2
"""In points: half the size of a marker, the whole of the ring around one, and from its middle to a label."""
_STEP = 4.0


def sweeps_to_png(sweeps: Sequence["Sweep"], by: Sequence["Cost"] = (), *, dpi: int = 150) -> bytes:
    """Equal sweeps give equal bytes."""
    picture = BytesIO()
    with own_style():
        _drawn(sweeps, by).savefig(picture, format="png", dpi=dpi, metadata={"Software": None})
    return picture.getvalue()


def sweeps_to_figure(sweeps: Sequence["Sweep"], by: Sequence["Cost"] = ()) -> "Figure":
    """The same before it is rendered."""
    with own_style():
        return _drawn(sweeps, by)


def _drawn(sweeps: Sequence["Sweep"], by: Sequence["Cost"]) -> "Figure":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    lines = lines_of(sweeps)
    caption = caption_of(sweeps, lines)
    named = {line.name for line in lines}
    figure = Figure((_SIZE[0], _SIZE[1] + 0.13 * len(caption) + 0.09 * len(named)), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    _scale(axes, sweeps)
    frontiers = [sweep.frontier() for sweep in sweeps]
    on_frontier = [id(point) for frontier in frontiers for point in frontier]
    for frontier in frontiers:
        axes.plot(*_places(frontier), color="#BBBBBB", linewidth=5.0, solid_capstyle="round", alpha=0.45, zorder=1)
    for line in lines:
        _draw_line(axes, line, on_frontier)
    chosen = _choices(sweeps, by)
    for choice in chosen:
        ringed = [*([choice.point] if choice.point else []), *choice.rivals]
        axes.plot(*_places(ringed), **_ring(choice.outcome), zorder=5, clip_on=False)
    _draw_limits(axes, sweeps)
    _add_legend(figure, lines, sweeps, [choice.outcome for choice in chosen])
    figure.supxlabel("\n".join(caption), x=0.015, ha="left", fontsize=_SMALL, color=_DARK)
    canvas.draw()  # type: ignore[no-untyped-call]
    figure.set_layout_engine("none")  # it is laid out, and labels stand where there is room
    first = [id(choice.point) for choice in chosen]
    ringed_ids = {*first, *(id(rival) for choice in chosen for rival in choice.rivals)}
    _add_labels(axes, lines, [*first, *on_frontier], ringed_ids)
    return figure


def _places(points: Sequence["Point"]) -> tuple[list[float], list[float]]:
    """P95 and recall."""
    return [point.p95.ms for point in points if point.p95], [point.recall or 0.0 for point in points if point.p95]


def _scale(axes: "Axes", sweeps: Sequence["Sweep"]) -> None:
    """Times by their ratio where they are far apart; recall up to 1, with room above for the points there."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

    times, recalls = _places([point for sweep in sweeps for point in sweep.comparable])
    targets = [sweep.target for sweep in sweeps if sweep.target is not None]
    ends = [end for sweep in sweeps for point in sweep.comparable for end in point.recall_ci or ()]
    low, high = (end([*recalls, *targets, *ends], default=usual) for end, usual in ((min, 0.0), (max, 1.0)))
    room = max(0.05 * (high - low), 0.004)
    axes.set_ylim(low - room, high + room)
    axes.yaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: "" if value > 1.0 + 1e-9 else f"{value:g}"))
    least, most = min(times, default=1.0), max(times, default=1.0)
    if most > _LOG_FROM * least > 0:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter() if most > 30 * least else FuncFormatter(_some))
        axes.set_xlim(least / (most / least) ** 0.06, most * (most / least) ** 0.06)
    else:
        spread = max(most - least, 0.5 * most)
        axes.set_xlim(max(0.0, least - 0.1 * spread), most + 0.1 * spread)
    _dress(axes, sweeps)


def _some(value: float, _: object) -> str:
    """Ticks between powers of ten: those of which there is room for a figure."""
    return f"{value:g}" if f"{value:e}"[0] in "235" else ""


def _dress(axes: "Axes", sweeps: Sequence["Sweep"]) -> None:
    ks = sorted({sweep.k for sweep in sweeps})
    axes.set_xlabel(
        "P95 latency, milliseconds" + (" (log scale)" if axes.get_xscale() == "log" else ""), fontsize=_TEXT
    )
    axes.set_ylabel(f"recall@{ks[0]}" if len(ks) == 1 else "recall", fontsize=_TEXT)
    axes.tick_params(which="both", labelsize=7.0, color=_GREY)
    axes.grid(which="major", color="#E4E4E4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(_GREY)


def _draw_line(axes: "Axes", line: Line, on_frontier: Collection[int]) -> None:
    """Points on the frontier are filled, others hollow; intervals as fine bars."""
    colour, marker = COLOURS[line.place % len(COLOURS)], MARKERS[line.place % len(MARKERS)]
    axes.plot(*_places(_by_time(line)), color=colour, linewidth=0.9, alpha=0.55)
    fine: Any = {"colors": colour, "linewidth": 0.7, "alpha": 0.4}
    upright = [point for point in line.points if point.recall_ci]
    lying = [point for point in line.points if point.p95 and point.p95.ci]
    lows, highs = ([point.recall_ci[end] for point in upright if point.recall_ci] for end in (0, 1))
    axes.vlines(_places(upright)[0], lows, highs, **fine)
    lefts, rights = ([point.p95.ci[end] for point in lying if point.p95 and point.p95.ci] for end in (0, 1))
    axes.hlines(_places(lying)[1], lefts, rights, **fine)
    for filled in (True, False):
        marked = [point for point in line.points if (id(point) in on_frontier) is filled]
        if not marked:  # an empty line that is not clipped counts as a point at the corner, for which room is kept
            continue
        axes.plot(
            *_places(marked),
            marker=marker, markersize=5.0, markerfacecolor=colour if filled else "white", markeredgecolor=colour,
            markeredgewidth=0.9, linestyle="none", zorder=4, clip_on=False,
        )  # fmt: skip


def _choices(sweeps: Sequence["Sweep"], by: Sequence["Cost"]) -> list["Choice"]:
    """The cheapest of each sweep that meets its target, or may."""
    costs = by or ["p95"] * len(sweeps)
    found = [sweep.cheapest(by=cost) for sweep, cost in zip(sweeps, costs, strict=True) if sweep.aims]
    return [choice for choice in found if choice.outcome != "none"]


def _ring(outcome: str, size: float = _RING) -> dict[str, Any]:
    """Around a chosen point: fainter where it is not sure."""
    colour = "black" if outcome == "sure" else "#AAAAAA"
    ring = {"marker": "o", "markersize": size, "markerfacecolor": "none", "markeredgecolor": colour}
    return ring | {"markeredgewidth": 1.1, "linestyle": "none"}


def _draw_limits(axes: "Axes", sweeps: Sequence["Sweep"]) -> None:
    """The target on recall, and the limit on P95 where the picture reaches that far."""
    dashes: Any = {"color": _DARK, "linewidth": 0.8, "dashes": (4, 3), "zorder": 1}
    for target in dict.fromkeys(sweep.target for sweep in sweeps if sweep.target is not None):
        axes.axhline(target, **dashes)
        axes.annotate(
            f"target {target:g}", (0.0, target), (4, 2.5), xycoords=("axes fraction", "data"),
            textcoords="offset points", ha="left", va="bottom", fontsize=_SMALL, color=_DARK,
        )  # fmt: skip
    for limit in dict.fromkeys(sweep.limit_p95_ms for sweep in sweeps if sweep.limit_p95_ms is not None):
        if axes.get_xlim()[0] < limit < axes.get_xlim()[1]:
            axes.axvline(limit, **dashes)
            axes.annotate(
                f"limit {limit:g} ms", (limit, 0.0), (-2.5, 3), xycoords=("data", "axes fraction"),
                textcoords="offset points", rotation=90, ha="right", va="bottom", fontsize=_SMALL, color=_DARK,
            )  # fmt: skip


def _add_labels(axes: "Axes", lines: Sequence[Line], first: Sequence[int], ringed: Collection[int]) -> None:
    """Label the points, those that come ``first`` before the others; a fine line leads to a label that is far off."""
    from matplotlib.patheffects import withStroke

    order = {key: place for place, key in enumerate(dict.fromkeys(first))}
    shown = [(line, point) for line in lines for point in line.points]
    scale = _POINTS / axes.figure.dpi
    spots = {id(point): _spot(axes, point, scale) for _, point in shown}
    taken = [_extent(text.get_window_extent(), scale) for text in axes.texts]
    taken += [_around(spot, 0.55 * _RING if key in ringed else _HALF) for key, spot in spots.items()]
    if len(shown) > MOST_LABELS:
        shown = [(line, point) for line, point in shown if id(point) in order]
    shown.sort(key=lambda pair: order.get(id(pair[1]), len(order)))
    texts = [label_of(line, point) for line, point in shown]
    sizes = [(_wide(text, _SMALL) + 1.0, _SMALL) for text in texts]
    wanted = [spots[id(point)] for _, point in shown]
    drawn = [box for line in lines for box in _along([spots[id(point)] for point in _by_time(line)])]
    places = place_labels(wanted, sizes, _extent(axes.bbox.padded(6), scale), taken, gap=_GAP, avoided=drawn)
    for (line, point), spot, text, place in zip(shown, wanted, texts, places, strict=True):
        if place is None or not text:
            continue
        offset = place[0] - spot[0], place[1] - spot[1]
        far = max(abs(offset[0]) - _wide(text, _SMALL) / 2, abs(offset[1]) - _SMALL / 2) > 2 * _GAP
        colour = COLOURS[line.place % len(COLOURS)]
        (time,), (recall,) = _places([point])
        axes.annotate(
            text, (time, recall), offset, textcoords="offset points", ha="center", va="center", fontsize=_SMALL,
            color=colour, zorder=6, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "linewidth": 0.5, "color": colour, "shrinkB": 3} if far else None,
            path_effects=[withStroke(linewidth=1.6, foreground="white")],
        )  # fmt: skip


def _by_time(line: Line) -> list["Point"]:
    return sorted(line.points, key=lambda point: _places([point]))


def _along(spots: Sequence[tuple[float, float]]) -> list[Box]:
    """Return small boxes that cover the line through these spots."""
    found = []
    for (x, y), (to_x, to_y) in pairwise(spots):
        steps = max(1, int(max(abs(to_x - x), abs(to_y - y)) / _STEP))
        ways = (step / steps for step in range(steps + 1))
        found += [_around((x + way * (to_x - x), y + way * (to_y - y)), 1.0) for way in ways]
    return found


def _spot(axes: "Axes", point: "Point", scale: float) -> tuple[float, float]:
    (time,), (recall,) = _places([point])
    x, y = axes.transData.transform((time, recall)).tolist()
    return x * scale, y * scale


def _around(spot: tuple[float, float], size: float) -> Box:
    return spot[0] - size, spot[1] - size, spot[0] + size, spot[1] + size


def _extent(box: Any, scale: float) -> Box:
    left, bottom, right, top = (float(end) * scale for end in box.extents)
    return left, bottom, right, top


def _add_legend(figure: "Figure", lines: Sequence[Line], sweeps: Sequence["Sweep"], ringed: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    handles, names = [], []
    for line in {line.name: line for line in lines}.values():
        colour, marker = COLOURS[line.place % len(COLOURS)], MARKERS[line.place % len(MARKERS)]
        handles.append(Line2D([], [], color=colour, marker=marker, markersize=5.0, linewidth=0.9))
        names.append(fitted(line.name, _SIZE[0] * _POINTS / 2, _TEXT))
    handles.append(Line2D([], [], color="#BBBBBB", linewidth=5.0, alpha=0.45, solid_capstyle="round"))
    names.append("frontier (filled points)")
    for outcome in sorted(set(ringed)):
        handles.append(Line2D([], [], **_ring(outcome, 9.0)))
        names.append(_OUTCOMES[outcome])
    columns = max(1, int((_SIZE[0] * _POINTS - 20) / (max(_wide(name, _TEXT) for name in names) + 42)))
    title = ", ".join(f"{sweep.name} ({sweep.engine}, {sweep.items:,} × {sweep.dimensions:,})" for sweep in sweeps)
    legend = figure.legend(
        handles, [str(place) for place in range(len(names))], loc="outside upper left", ncols=columns, fontsize=_TEXT,
        frameon=False, handlelength=2.4, columnspacing=1.5, borderpad=0.1, labelspacing=0.35, alignment="left",
        title=fitted(title, _SIZE[0] * _POINTS - 20, _TITLE), title_fontsize=_TITLE,
    )  # fmt: skip
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)


def _wide(text: str, size: float) -> float:
    """In points, by the font's own measure."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = get_font(findfont(FontProperties(family="DejaVu Sans")))
    font.set_size(size, _POINTS)
    font.set_text(text)
    return float(font.get_width_height()[0]) / 64.0
