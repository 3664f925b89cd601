"""Recommenders as a page of figures: what is drawn is what was found, and equal reports look equal to the byte."""

import io
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from rankjury.errors import UsageError
from rankjury.evaluation.report import Report
from rankjury.recsys.sections import Exposure
from rankjury.reporting.charts.matplotlib import MARKERS, to_figure, to_picture
from rankjury.reporting.charts.measures import recommenders_grid
from rankjury.stats.estimates import Estimate
from tests.reporting.test_interactions import SYSTEMS, recommended

NAMES = list(SYSTEMS)


def to_recommenders_figure(report: Report) -> Figure:
    return to_figure(recommenders_grid(report))


def to_recommenders_png(report: Report, dpi: int = 150) -> bytes:
    return to_picture(recommenders_grid(report), dpi=dpi)


@pytest.fixture(scope="module")
def report() -> Report:
    return recommended()


@pytest.fixture(scope="module")
def figure(report: Report) -> Figure:
    return to_recommenders_figure(report)


def with_marker(axes: Axes, marker: str) -> list[Line2D]:
    return [line for line in axes.get_lines() if line.get_marker() == marker]


def points_of(axes: Axes, place: int) -> list[tuple[float, float]]:
    """What is drawn of the system at a place: (figure, height), from above."""
    found = [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in with_marker(axes, MARKERS[place])]  # type: ignore[index]
    return sorted(found, key=lambda point: point[1])


def many(report: Report, n: int) -> Report:
    """The same under n names."""
    names = {f"system number {place}": NAMES[place % len(NAMES)] for place in range(n)}
    return replace(
        report,
        systems={name: report.systems[of] for name, of in names.items()},
        slices=tuple(
            replace(part, estimates={name: part.estimates[of] for name, of in names.items()}) for part in report.slices
        ),
        baseline=None,
        comparisons=(),
    )


def with_exposures(report: Report, exposures: Mapping[str, Exposure]) -> Report:
    """With these of systems, and no others."""
    systems = {}
    for name, one in report.systems.items():
        kept = {key: section for key, section in one.sections.items() if key != Exposure.name}
        added = {Exposure.name: exposures[name]} if name in exposures else {}
        systems[name] = replace(one, sections={**kept, **added})
    return replace(report, systems=systems)


def check_inside(figure: Figure) -> None:
    """No words reach beyond the page or stand on others' ones."""
    FigureCanvasAgg(figure).draw()
    width, height = figure.bbox.width, figure.bbox.height
    legend = figure.legends[0].get_window_extent()
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    for box in (legend, *boxes):
        assert box is not None
        assert box.x0 >= -1 and box.x1 <= width + 1 and box.y0 >= -1 and box.y1 <= height + 1
        assert box is legend or box.y1 <= legend.y0 + 1


class TestWords:
    def test_titles(self, report: Report, figure: Figure) -> None:
        tiers, exposure, *cuts = figure.axes
        assert tiers.get_title(loc="left").startswith("ndcg@5 by tier")
        assert f"first {report.sections_of(Exposure)['popularity'].k} " in exposure.get_title(loc="left")
        assert [axes.get_title(loc="left") for axes in cuts] == ["NDCG@k", "Recall@k"]

    def test_a_line_for_each_tier_with_its_users(self, report: Report, figure: Figure) -> None:
        labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        assert len(labels) == len(report.slices)
        for label, part in zip(labels, report.slices, strict=True):
            assert label.startswith(part.name) and f"{part.estimates['popularity']['ndcg@5'].n}" in label

    def test_the_legend_names_systems_and_plan(self, figure: Figure) -> None:
        (legend,) = figure.legends
        assert [text.get_text() for text in legend.get_texts()] == NAMES
        assert legend.get_title().get_text() == "small"

    def test_the_caption_tells_what_was_held_out_and_how_to_read_it(self, figure: Figure) -> None:
        told = " ".join((figure.get_supxlabel() or "").split())
        for part in (
            "Evaluated on test",
            "training interactions",
            "only items of the tier",
            "95 % intervals",
            "Recall: recall(rel=4)",
        ):
            assert part in told

    def test_ticks_of_a_catalogue_that_tens_do_not_divide_are_rounded_and_apart(self, report: Report) -> None:
        """'9.999227 %20.0103 %' stood under the axis, each label over the next."""
        edges = (0.0999922, 0.200103, 0.299984, 0.400094, 0.499976, 0.51, 0.700078, 0.79996, 0.90007, 1.0)
        uneven = {name: replace(one, edges=edges) for name, one in report.sections_of(Exposure).items()}
        assert all(len(one.recommended) == len(edges) for one in uneven.values())
        figure = to_recommenders_figure(with_exposures(report, uneven))
        FigureCanvasAgg(figure).draw()
        labels = sorted(figure.axes[1].get_xticklabels(), key=lambda label: label.get_position()[0])
        texts = ["10 %", "20 %", "30 %", "40 %", "51 %", "70 %", "80 %", "90 %", "100 %"]
        assert [label.get_text() for label in labels] == texts
        boxes = [label.get_window_extent() for label in labels]
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes))

    def test_words_stay_on_the_page(self, report: Report) -> None:
        check_inside(to_recommenders_figure(report))


class TestFigures:
    def test_points_are_means_from_above_in_order_of_tiers(self, report: Report, figure: Figure) -> None:
        axes, heights = figure.axes[0], []
        for place, name in enumerate(NAMES):
            points = points_of(axes, place)
            assert [x for x, _ in points] == [part.estimates[name]["ndcg@5"].mean for part in report.slices]
            heights.append([height for _, height in points])
        for above, below in pairwise(np.array(heights).T):
            assert above.max() < below.min()
        bottom, top = axes.get_ylim()
        assert bottom > top and axes.get_xlim()[0] <= 0

    def test_whiskers_are_the_intervals(self, report: Report, figure: Figure) -> None:
        drawn = {tuple(line.get_xdata()) for line in figure.axes[0].get_lines() if len(line.get_xdata()) == 2}  # type: ignore[arg-type]
        known = [part.estimates[name]["ndcg@5"].ci for part in report.slices for name in NAMES]
        assert any(known) and {tuple(ci) for ci in known if ci} <= drawn

    def test_systems_of_a_tier_stand_apart(self, figure: Figure) -> None:
        heights = [points_of(figure.axes[0], place)[0][1] for place in range(len(NAMES))]
        assert heights == sorted(heights) and min(np.diff(heights)) > 0.05

    def test_lines_are_exposures_and_bars_training(self, report: Report, figure: Figure) -> None:
        axes = figure.axes[1]
        for place, name in enumerate(NAMES):
            (line,) = with_marker(axes, MARKERS[place])
            one = report.sections_of(Exposure)[name]
            np.testing.assert_array_equal(line.get_ydata(), one.recommended)
            edges = [0.0, *one.edges]
            np.testing.assert_allclose(line.get_xdata(), [(edges[i] + edges[i + 1]) / 2 for i in range(len(one.edges))])
        bars = [bar for bar in axes.patches if bar.get_height() > 0]  # type: ignore[attr-defined]
        assert [bar.get_height() for bar in bars] == [  # type: ignore[attr-defined]
            share for share in report.sections_of(Exposure)["popularity"].taken if share
        ]

    def test_lines_by_cutoff_are_means_with_their_bands(self, report: Report, figure: Figure) -> None:
        for axes, measure in zip(figure.axes[2:], ("ndcg", "recall(rel=4)"), strict=True):
            assert [label.get_text() for label in axes.get_xticklabels()] == ["5", "10"]
            for place, name in enumerate(NAMES):
                (line,) = with_marker(axes, MARKERS[place])
                wanted = [report.estimates[name][f"{measure}@{k}"].mean for k in (5, 10)]
                assert list(line.get_ydata()) == wanted  # type: ignore[arg-type]
            assert len([one for one in axes.collections if isinstance(one, PolyCollection)]) == len(NAMES)

    def test_the_measure_is_the_one_that_is_compared(self, report: Report) -> None:
        """The first of the headline, though the report has others before it."""
        later = [one for one in report.comparisons if one.measure == "recall(rel=4)@5"]
        figure = to_recommenders_figure(replace(report, comparisons=tuple(later)))
        assert figure.axes[0].get_title(loc="left").startswith("recall(rel=4)@5")


class TestReports:
    @pytest.mark.parametrize("n", [1, 9])
    def test_any_number_of_systems(self, report: Report, n: int) -> None:
        figure = to_recommenders_figure(many(report, n))
        assert len(figure.legends[0].get_texts()) == n
        assert all(len(points_of(figure.axes[0], place)) == len(report.slices) for place in range(n))
        check_inside(figure)

    def test_more_systems_take_more_room(self, report: Report) -> None:
        heights = [to_recommenders_figure(many(report, n)).get_figheight() for n in (1, 4, 9)]
        assert heights == sorted(heights) and heights[0] < heights[-1]

    def test_without_intervals_and_baseline(self, report: Report) -> None:
        bare = replace(
            report,
            systems={
                name: replace(one, estimates={label: replace(of, ci=None) for label, of in one.estimates.items()})
                for name, one in report.systems.items()
            },
            resampling=None,
            baseline=None,
            comparisons=(),
            slices=tuple(
                replace(
                    part,
                    beside=(),
                    estimates={
                        name: {label: replace(one, ci=None) for label, one in of.items()}
                        for name, of in part.estimates.items()
                    },
                )
                for part in report.slices
            ),
        )
        figure = to_recommenders_figure(bare)
        assert figure.axes[0].get_title(loc="left").startswith("ndcg@5 by tier")
        assert "interval" not in (figure.get_supxlabel() or "")
        assert not any(
            len(line.get_xdata()) == 2 and line.get_color() != "#EEEEEE" for line in figure.axes[0].get_lines()
        )  # type: ignore[arg-type]

    def test_a_tier_in_which_nothing_is_defined_has_no_point(self, report: Report) -> None:
        first = report.slices[0]
        bare = {name: {label: replace(one, n=0) for label, one in of.items()} for name, of in first.estimates.items()}
        figure = to_recommenders_figure(replace(report, slices=(replace(first, estimates=bare), *report.slices[1:])))
        assert len(points_of(figure.axes[0], 0)) == len(report.slices) - 1

    def test_one_cutoff_has_no_curves(self, report: Report) -> None:
        figure = to_recommenders_figure(report.only(["ndcg@5", "recall(rel=4)@5"]))
        assert len(figure.axes) == 2
        check_inside(figure)

    def test_no_cutoff_has_no_curves(self, report: Report) -> None:
        """As of a plan whose measures look at all that is recommended."""
        label = "ndcg"

        def renamed(estimates: dict[str, dict[str, Estimate]]) -> dict[str, dict[str, Estimate]]:
            return {name: {label: of["ndcg@5"]} for name, of in estimates.items()}

        scores = {
            name: replace(one, estimates={label: one.estimates["ndcg@5"]}, conventions={label: label})
            for name, one in report.systems.items()
        }
        slices = tuple(replace(part, estimates=renamed(part.estimates), beside=()) for part in report.slices)
        bare = replace(report, systems=scores, slices=slices, comparisons=(), baseline=None)
        figure = to_recommenders_figure(bare)
        assert [axes.get_title(loc="left").split()[0] for axes in figure.axes] == ["ndcg", "Share"]
        check_inside(figure)

    def test_no_exposures_have_no_panel(self, report: Report) -> None:
        figure = to_recommenders_figure(with_exposures(report, {}))
        assert [axes.get_title(loc="left") for axes in figure.axes[1:]] == ["NDCG@k", "Recall@k"]
        check_inside(figure)

    def test_markers_of_a_tier_hardly_overlap(self, report: Report) -> None:
        figure = to_recommenders_figure(many(report, 9))
        FigureCanvasAgg(figure).draw()
        axes = figure.axes[0]
        heights = [axes.transData.transform((0, points_of(axes, place)[0][1]))[1] for place in range(9)]
        assert abs(heights[1] - heights[0]) * 72 / figure.dpi > 2.0

    def test_systems_without_exposure_are_left_out(self, report: Report) -> None:
        """As of a random order that is scored by its expectation."""
        kept = {name: one for name, one in report.sections_of(Exposure).items() if name != "random"}
        axes = to_recommenders_figure(with_exposures(report, kept)).axes[1]
        assert not with_marker(axes, MARKERS[NAMES.index("random")]) and with_marker(axes, MARKERS[0])

    def test_a_log_without_times_and_titles(self) -> None:
        alone = recommended("popularity", baseline=None, titles=False, dates=False)
        figure = to_recommenders_figure(alone)
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["popularity"]
        check_inside(figure)

    def test_a_report_of_no_log_is_refused(self, report: Report) -> None:
        with pytest.raises(UsageError, match="interactions"):
            to_recommenders_figure(replace(report, sections={}))


class TestBytes:
    def test_equal_reports_give_equal_bytes_whatever_the_style(self, report: Report) -> None:
        picture = to_recommenders_png(report, dpi=60)
        with rc_context({"font.size": 30, "axes.facecolor": "red", "lines.linewidth": 9}):
            assert to_recommenders_png(report, dpi=60) == picture
        image = Image.open(io.BytesIO(picture))
        assert image.format == "PNG" and image.width == 432
        assert "Software" not in image.info

    def test_other_figures_look_different(self, report: Report) -> None:
        recent = report.systems["recent"]
        estimates = {**recent.estimates, "ndcg@10": replace(recent.estimates["ndcg@10"], mean=0.9)}
        other = replace(report, systems={**report.systems, "recent": replace(recent, estimates=estimates)})
        assert to_recommenders_png(report, dpi=60) != to_recommenders_png(other, dpi=60)
