"""Writers of pictures: measures by cut-off, every chart of a report, and a page of figures of recommenders."""

from pathlib import Path
from typing import Literal

from rankjury.errors import UsageError
from rankjury.evaluation.report import Report
from rankjury.reporting.writers import OutputRequest, writer

_CHART = "{chart}"


def _kind(request: OutputRequest) -> Literal["png", "svg"]:
    return "svg" if request.path.suffix.lower() == ".svg" else "png"


@writer("curves", ".png", ".svg", check=OutputRequest.check_cutoffs)
def _curves(report: Report, request: OutputRequest) -> bytes:
    from rankjury.reporting.charts.matplotlib import to_picture
    from rankjury.reporting.charts.measures import curves_grid

    return to_picture(curves_grid(report), _kind(request))


def _check_charts(request: OutputRequest) -> None:
    if _CHART not in request.path.name:
        raise UsageError("the form charts is a picture each", expected="a name such as figures/{chart}.png or .svg")


@writer("charts", ".png", ".svg", by_suffix=False, check=_check_charts)
def _charts(report: Report, request: OutputRequest) -> dict[Path, bytes]:
    """Return every chart that the report has something for."""
    from rankjury.reporting.charts import all_charts
    from rankjury.reporting.charts.matplotlib import to_picture

    charts = all_charts(report)
    return {
        Path(request.file.replace(_CHART, name)): to_picture(chart, _kind(request)) for name, chart in charts.items()
    }


def _check_recommenders(request: OutputRequest) -> None:
    if request.gold != "interactions":
        raise UsageError("the form recommenders is of a log", expected="a gold of the kind interactions")


@writer("recommenders", ".png", by_suffix=False, check=_check_recommenders)
def _recommenders(report: Report, request: OutputRequest) -> bytes:
    from rankjury.reporting.charts.matplotlib import to_picture
    from rankjury.reporting.charts.measures import recommenders_grid

    return to_picture(recommenders_grid(report))
