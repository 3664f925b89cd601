"""The picture of measures against k: what is drawn is what was found, and equal reports look equal to the byte."""

import io
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan

import pytest
from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from rankjury.errors import UsageError
from rankjury.evaluation.report import Report
from rankjury.reporting.charts.matplotlib import to_figure, to_picture
from rankjury.reporting.charts.measures import curves_grid
from rankjury.stats.estimates import Estimate
from tests.reporting.test_cutoffs import PAPERS, at, example

KS = (1, 3, 5, 10)


def curves_figure(report: Report) -> Figure:
    return to_figure(curves_grid(report))


def to_png(report: Report, dpi: int = 150) -> bytes:
    return to_picture(curves_grid(report), dpi=dpi)


@pytest.fixture(scope="module")
def report() -> Report:
    return replace(example(at(KS)), provenance={"name": "Papers"})


@pytest.fixture(scope="module")
def picture(report: Report) -> bytes:
    return to_png(report)


def lines_of(axes: Axes) -> list[Line2D]:
    """The lines of means, in the order of systems."""
    return [line for line in axes.lines if line.get_marker() not in ("None", "_")]


def caption_of(figure: Figure) -> str:
    return " ".join(figure.get_supxlabel().split())


def names_of(figure: Figure) -> list[str]:
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def laid_out(figure: Figure) -> Figure:
    FigureCanvasAgg(figure).draw()
    return figure


def changed(report: Report, system: str, label: str, **figures: object) -> Report:
    one = replace(report.estimates[system][label], **figures)  # type: ignore[arg-type]
    return with_estimates(report, {system: {**report.estimates[system], label: one}})


def with_estimates(report: Report, estimates: Mapping[str, Mapping[str, Estimate]]) -> Report:
    changed = {name: replace(report.systems[name], estimates=of) for name, of in estimates.items()}
    return replace(report, systems={**report.systems, **changed})


def scaled(report: Report, low: float, high: float) -> Report:
    """Means put between two values, with narrow intervals."""

    def put(one: Estimate) -> Estimate:
        mean = low + (high - low) * one.mean
        return replace(one, mean=mean, ci=(mean, mean))

    return with_estimates(
        report, {name: {key: put(one) for key, one in of.items()} for name, of in report.estimates.items()}
    )


class TestWhatIsDrawn:
    def test_a_panel_for_each_measure_with_the_ks_below(self, report: Report) -> None:
        figure = curves_figure(report)
        assert [axes.get_title(loc="left") for axes in figure.axes] == ["Recall@k", "NDCG@k", "MRR@k", "MAP@k"]
        for axes in figure.axes:
            assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "3", "5", "10"]

    def test_lines_are_the_means_and_bands_the_intervals(self, report: Report) -> None:
        for axes, measure in zip(curves_figure(report).axes, PAPERS, strict=True):
            bands = list(axes.collections)
            assert len(lines_of(axes)) == len(bands) == 2
            for system, line, band in zip(report.systems, lines_of(axes), bands, strict=True):
                found = [report.estimates[system][f"{measure}@{k}"] for k in KS]
                assert list(line.get_ydata()) == [one.mean for one in found]
                assert list(line.get_xdata()) == [0, 1, 2, 3]
                corners = {tuple(corner) for corner in band.get_paths()[0].vertices.tolist()}
                assert corners == {(place, end) for place, one in enumerate(found) for end in one.ci or ()}

    def test_everything_is_within_the_panel(self, report: Report) -> None:
        for axes, measure in zip(curves_figure(report).axes, PAPERS, strict=True):
            low, high = axes.get_ylim()
            for of in report.estimates.values():
                ends = [of[f"{measure}@{k}"].ci for k in KS]
                assert all(low <= end <= high for pair in ends for end in pair or ())

    def test_without_intervals_there_are_no_bands(self) -> None:
        figure = curves_figure(example(at(KS), resampling=None))
        assert not any(axes.collections for axes in figure.axes)
        assert caption_of(figure).startswith("Mean over 24 queries. ") and "interval" not in caption_of(figure)

    def test_one_cut_off_is_points_with_bars_side_by_side(self) -> None:
        report = example(at([5]))
        figure = curves_figure(report)
        for axes, measure in zip(figure.axes, PAPERS, strict=True):
            points, bars = lines_of(axes), [line for line in axes.lines if line.get_marker() == "_"]
            for system, point, bar in zip(report.systems, points, bars, strict=True):
                one = report.estimates[system][f"{measure}@5"]
                assert (list(point.get_ydata()), tuple(bar.get_ydata())) == ([one.mean], one.ci)
                assert list(bar.get_xdata()) == list(point.get_xdata()) * 2
                assert point.get_linestyle() == "None"
            assert points[0].get_xdata()[0] < points[1].get_xdata()[0]
        assert "bars: 95 % interval" in caption_of(figure)

    def test_a_gap_where_nothing_is_known(self, report: Report) -> None:
        figure = curves_figure(changed(report, "base", f"{PAPERS[0]}@3", n=0, mean=float("nan"), ci=None))
        line = lines_of(figure.axes[0])[0]
        assert [isnan(y) for y in line.get_ydata()] == [False, True, False, False]
        bars = [line for line in figure.axes[0].lines if line.get_marker() == "_"]
        assert [tuple(bar.get_ydata()) for bar in bars] == [report.estimates["base"][f"{PAPERS[0]}@1"].ci]

    def test_measures_may_have_ks_of_their_own(self) -> None:
        first, second = curves_figure(example(["recall@1", "recall@5", "recall@10", "rr@5"])).axes
        assert [tick.get_text() for tick in first.get_xticklabels()] == ["1", "5", "10"]
        assert [tick.get_text() for tick in second.get_xticklabels()] == ["5"]

    def test_many_ks_are_labelled_as_far_as_there_is_room(self) -> None:
        (axes,) = curves_figure(example(at(range(1, 101), ["recall"]))).axes
        labels = [tick.get_text() for tick in axes.get_xticklabels()]
        assert 5 < len(labels) < 40 and (labels[0], labels[-1]) == ("1", "100")
        assert len(lines_of(axes)[0].get_ydata()) == 100
        assert axes.get_xlabel() == "k"

    def test_it_is_said_that_ks_are_not_to_scale(self, report: Report) -> None:
        assert curves_figure(report).axes[-1].get_xlabel() == "k (not to scale)"


class TestAxes:
    def test_they_begin_at_zero_where_that_costs_little(self, report: Report) -> None:
        figure = curves_figure(scaled(report, 0.0, 0.5))
        assert {axes.get_ylim()[0] for axes in figure.axes} == {0.0} and "begin at 0" not in caption_of(figure)

    def test_it_is_said_where_they_do_not(self, report: Report) -> None:
        figure = curves_figure(scaled(report, 0.9, 0.95))
        assert all(axes.get_ylim()[0] > 0.8 for axes in figure.axes)
        assert "Vertical axes that do not begin at 0: all." in caption_of(figure)

    def test_one_range_where_all_panels_fill_it(self, report: Report) -> None:
        alike = with_estimates(report, {name: _same_for_all(of) for name, of in report.estimates.items()})
        assert len({axes.get_ylim() for axes in curves_figure(alike).axes}) == 1

    def test_ranges_of_their_own_where_one_would_waste_room(self) -> None:
        first, second = curves_figure(example(["recall@1", "recall@10", "dcg@1", "dcg@10"])).axes
        assert first.get_ylim()[1] <= 1.1 < 10 < second.get_ylim()[1]

    def test_shares_end_at_one(self, report: Report) -> None:
        figure = curves_figure(scaled(report, 1.0, 1.0))
        assert {axes.get_ylim() for axes in figure.axes} == {(0.0, 1.0)}

    def test_below_zero_the_zero_line_is_drawn(self, report: Report) -> None:
        figure = curves_figure(scaled(report, -0.5, 0.5))
        flat = [line for axes in figure.axes for line in axes.lines if list(line.get_ydata()) == [0.0, 0.0]]
        assert len(flat) == 4


def _same_for_all(of: dict[str, Estimate]) -> dict[str, Estimate]:
    return {label: of[f"{PAPERS[0]}@{label.rpartition('@')[2]}"] for label in of}


class TestWords:
    def test_title_and_caption(self, report: Report) -> None:
        figure = curves_figure(report)
        assert figure.legends[0].get_title().get_text() == "Papers"
        assert "Mean over 24 queries; bands: 95 % interval." in caption_of(figure)
        assert "NDCG: ndcg(gain=binary,gold=k)" in caption_of(figure)

    def test_no_title_without_a_name(self, report: Report) -> None:
        assert not curves_figure(replace(report, provenance={})).legends[0].get_title().get_text()

    def test_more_measures_than_panels(self) -> None:
        measures = [*PAPERS, "recall", "ndcg", "precision", "f1", "rbo", "err"]
        figure = curves_figure(example(at([1, 5], measures)))
        assert len(figure.axes) == 9 and "The first 9 of 10 measures." in caption_of(figure)

    def test_less_is_better(self) -> None:
        figure = curves_figure(example(at(KS, ["unjudged"])))
        assert figure.axes[0].get_title(loc="left") == "unjudged@k (less is better)"

    @pytest.mark.parametrize("name", ["_hidden", "$x_1$", "100 % \\alpha", "modèle ≥ 7B", "быстрый", "a\nb"])
    def test_names_are_shown_as_they_are(self, name: str) -> None:
        figure = laid_out(curves_figure(example(at([1, 5], PAPERS[:1]), [name, "other"])))
        assert names_of(figure) == [" ".join(name.split()), "other"]

    def test_names_that_the_font_lacks_are_still_told_apart(self) -> None:
        figure = laid_out(curves_figure(example(at([1, 5], PAPERS[:1]), ["模型一", "模型二", "plain"])))
        assert names_of(figure) == ["1: □□□", "2: □□□", "3: plain"]

    @pytest.mark.parametrize("columns", [1, 5])
    def test_nothing_overlaps(self, columns: int) -> None:
        long = "sentence-transformers/all-MiniLM-L6-v2 truncated to 128 dimensions, int8, " + "very " * 20
        systems = [f"{long}{number}" if columns == 1 else f"model {number}" for number in range(8)]
        report = replace(example(at((1, 3, 5, 10, 20)), systems), provenance={"name": "A title " * 30})
        figure = laid_out(curves_figure(report))
        width, _ = figure.canvas.get_width_height()
        legend = figure.legends[0].get_window_extent()
        assert legend.x0 >= 0 and legend.x1 <= width and legend.y1 <= figure.bbox.height
        boxes = [axes.get_tightbbox() for axes in figure.axes]
        assert all(box is not None and box.y1 <= legend.y0 for box in boxes)
        assert all(
            not one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place] if one and other
        )
        assert len(set(names_of(figure))) == 8

    def test_systems_are_told_apart_without_colour(self) -> None:
        (axes,) = curves_figure(example(at(KS, ["recall"]), [f"s{number}" for number in range(12)])).axes
        looks = {(line.get_marker(), str(line._dash_pattern)) for line in lines_of(axes)}  # type: ignore[attr-defined]
        assert len(looks) == 12


class TestPng:
    @pytest.mark.parametrize("dpi", [150, 72])
    def test_it_is_as_wide_as_other_charts(self, report: Report, dpi: int) -> None:
        png = to_png(report, dpi=dpi)
        image = Image.open(io.BytesIO(png))
        assert png.startswith(b"\x89PNG\r\n\x1a\n") and image.format == "PNG"
        height = curves_figure(report).get_figheight()
        assert image.size == pytest.approx((7.2 * dpi, height * dpi), abs=1) and 4 < height < 6
        assert "Software" not in image.info

    @pytest.mark.parametrize("measures", [PAPERS[:1], PAPERS[:2], PAPERS[:3], PAPERS, [*PAPERS, "rbo"]])
    def test_any_number_of_measures_fills_the_picture(self, measures: Sequence[str]) -> None:
        image = Image.open(io.BytesIO(to_png(example(at(KS, measures)))))
        assert image.size[0] == 1080 and len(set(image.convert("L").tobytes())) > 20

    def test_equal_reports_give_equal_bytes(self, report: Report, picture: bytes) -> None:
        again = replace(example(at(KS)), provenance={"name": "Papers"})
        assert to_png(report) == picture == to_png(again)

    @pytest.mark.parametrize("figures", [{"mean": 0.123}, {"ci": (0.1, 0.9)}, {"ci": None}])
    def test_other_figures_give_another_picture(
        self, report: Report, picture: bytes, figures: dict[str, object]
    ) -> None:
        assert to_png(changed(report, "base", f"{PAPERS[0]}@5", **figures)) != picture

    def test_the_style_of_the_user_changes_nothing_and_is_kept(self, report: Report, picture: bytes) -> None:
        with rc_context({"axes.facecolor": "black", "font.size": 20.0, "lines.linewidth": 9.0}):
            assert to_png(report) == picture
            assert (rcParams["font.size"], rcParams["text.parse_math"]) == (20.0, True)

    def test_no_measure_has_a_cut_off(self) -> None:
        with pytest.raises(UsageError, match="no measure of the report has a cut-off"):
            to_png(example(["rr"]))

    def test_matplotlib_is_loaded_on_use_and_pyplot_never(self) -> None:
        code = (
            "import sys\n"
            "from rankjury.reporting.charts.measures import curves_grid\n"
            "from rankjury.reporting.charts.matplotlib import to_picture\n"
            "from tests.reporting.test_cutoffs import at, example\n"
            "report = example(at([1, 5]))\n"
            "print('matplotlib' in sys.modules)\n"
            "to_picture(curves_grid(report))\n"
            "print('matplotlib' in sys.modules, 'matplotlib.pyplot' in sys.modules)\n"
        )
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["False", "True", "False"]
