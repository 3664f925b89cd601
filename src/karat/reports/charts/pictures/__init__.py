"""The same charts as pictures by matplotlib; equal charts give equal bytes."""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from karat.errors import UsageError
from karat.formats.atomic import make_folder, write_files
from karat.reports.charts.from_form import all_charts
from karat.reports.charts.model import Chart, DotPlot, Histogram, LineChart
from karat.reports.charts.pictures.bars import bars_figure
from karat.reports.charts.pictures.dots import dots_figure
from karat.reports.charts.pictures.planes import lines_figure, points_figure
from karat.reports.drawing import own_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PICTURE_FORMS", "to_figure", "to_picture", "write_pictures"]

PICTURE_FORMS = ("png", "svg")
_SVG: dict[Any, Any] = {"svg.hashsalt": "karat", "svg.fonttype": "path", "svg.image_inline": True}
"""Ids that hang on nothing but the drawing; letters as outlines, so that no font is asked for."""


def to_picture(chart: Chart, form: Literal["png", "svg"] = "png", *, dpi: int = 150) -> bytes:
    """About seven inches wide, readable in grey."""
    from matplotlib import rc_context

    if form not in PICTURE_FORMS:
        raise UsageError(f"a picture as {form!r}", expected=" or ".join(PICTURE_FORMS))
    metadata = {"Software": None} if form == "png" else {"Date": None, "Creator": None}
    picture = BytesIO()
    with own_style(), rc_context(_SVG):
        _drawn(chart).savefig(picture, format=form, dpi=dpi, metadata=metadata)
    return picture.getvalue()


def to_figure(chart: Chart) -> "Figure":
    """The same before it is rendered."""
    with own_style():
        return _drawn(chart)


def _drawn(chart: Chart) -> "Figure":
    if isinstance(chart, DotPlot):
        return dots_figure(chart)
    if isinstance(chart, LineChart):
        return lines_figure(chart)
    return bars_figure(chart) if isinstance(chart, Histogram) else points_figure(chart)


def write_pictures(form: Mapping[str, Any], folder: str | Path, suffix: str = ".png") -> list[Path]:
    """All charts that a report's form has something for, a file each: ``slices-ndcg-10.png``; all files or none."""
    kind = suffix.lower().lstrip(".")
    if kind not in PICTURE_FORMS:
        raise UsageError(f"pictures as {suffix!r}", expected=" or ".join(f".{one}" for one in PICTURE_FORMS))
    home = Path(folder)
    pictures = {home / f"{name}.{kind}": to_picture(chart, kind) for name, chart in all_charts(form).items()}  # type: ignore[arg-type]
    make_folder(home)
    write_files(pictures)
    return list(pictures)
