"""The same charts as pictures by matplotlib; equal charts give equal bytes."""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rankjury.errors import UsageError
from rankjury.evaluation.report import Report
from rankjury.io.atomic import make_folder, write_files
from rankjury.reporting.charts.builders import all_charts
from rankjury.reporting.charts.matplotlib.figure import default_style
from rankjury.reporting.charts.matplotlib.plots import draw
from rankjury.reporting.charts.spec import Chart, ChartGrid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE_FORMATS = ("png", "svg")
_SVG: dict[Any, Any] = {"svg.hashsalt": "rankjury", "svg.fonttype": "path", "svg.image_inline": True}
"""Ids that hang on nothing but the drawing; letters as outlines, so that no font is asked for."""


def to_picture(chart: Chart | ChartGrid, form: Literal["png", "svg"] = "png", *, dpi: int = 150) -> bytes:
    """About seven inches wide, readable in grey."""
    from matplotlib import rc_context

    if form not in PICTURE_FORMATS:
        raise UsageError(f"a picture as {form!r}", expected=" or ".join(PICTURE_FORMATS))
    metadata = {"Software": None} if form == "png" else {"Date": None, "Creator": None}
    picture = BytesIO()
    with default_style(), rc_context(_SVG):
        draw(chart).savefig(picture, format=form, dpi=dpi, metadata=metadata)
    return picture.getvalue()


def to_figure(chart: Chart | ChartGrid) -> "Figure":
    """The same before it is rendered."""
    with default_style():
        return draw(chart)


def write_pictures(report: Report, folder: str | Path, suffix: str = ".png") -> list[Path]:
    """Write all charts that a report has something for, a file each: ``slices-ndcg-10.png``; all files or none."""
    kind = suffix.lower().lstrip(".")
    if kind not in PICTURE_FORMATS:
        raise UsageError(f"pictures as {suffix!r}", expected=" or ".join(f".{one}" for one in PICTURE_FORMATS))
    home = Path(folder)
    pictures = {home / f"{name}.{kind}": to_picture(chart, kind) for name, chart in all_charts(report).items()}  # type: ignore[arg-type]
    make_folder(home)
    write_files(pictures)
    return list(pictures)
