"""How far candidates agree with a reference, in words: cells, signs, what is shown and what is not."""

from collections.abc import Sequence
from dataclasses import replace
from math import nan
from typing import Any

import numpy as np
import pytest

import rankjury
from rankjury.evaluation.report import Report
from rankjury.reporting.console import print_report
from rankjury.reporting.sections.agreement import render_agreement, render_reference
from rankjury.reporting.tables.cutoffs import display_names
from rankjury.retrieval.agreement.stats import Agreement, AgreementValue
from rankjury.stats.comparison import Comparison
from rankjury.stats.resampling import Resampling
from tests.reporting.small import tables_of, with_only
from tests.reporting.test_cutoffs import PAPERS, at, example

TITLES = ["Spearman ρ", "Kendall τ", "Pearson r", "MAE", "RMSE"]
NDCG, RECALL = "ndcg(gain=binary,gold=k)@3", "recall(over=k,gold=k)@3"


@pytest.fixture(scope="module")
def report() -> Report:
    """Two candidates, of which tuned is much better."""
    draw = np.random.default_rng(5)
    reference = draw.normal(size=(30, 6))
    base = reference[:, :3] + draw.normal(size=(30, 3))
    tuned = reference + 0.1 * draw.normal(size=(30, 6))
    resampling = Resampling(resamples=200)
    return rankjury.agree(reference, {"base": base, "tuned": tuned}, (1, 3), pairs=90, resampling=resampling)


def compared(report: Report, measure: str = NDCG) -> Comparison:
    return next(one for one in report.comparisons if one.measure == measure)


def having(report: Report, measure: str = NDCG, **changes: Any) -> Report:
    """With one comparison only, changed."""
    return replace(report, comparisons=(replace(compared(report, measure), **changes),))


def agreeing(report: Report, system: str, **changes: Any) -> Report:
    return report.with_sections(replace(report.sections_of(Agreement)[system], **changes), system=system)


def agreement_table(report: Report) -> tuple[list[str], list[list[str]]]:
    (found,) = tables_of(render_agreement(report, False), "similarities", "agreement")
    return found.header, found.texts


def agreement_lines(report: Report) -> list[str]:
    (found,) = tables_of(render_agreement(report, False))
    return list(found.notes)


def improvement_table(report: Report, headline: Sequence[str] = ()) -> tuple[list[str], list[list[str]]]:
    found = tables_of(render_reference(replace(report, headline=tuple(headline)), False), "vs base")
    return (found[0].header, found[0].texts) if found else ([], [])


def improvements(report: Report, headline: Sequence[str] = ()) -> list[str]:
    block = render_reference(replace(report, headline=tuple(headline)), False)
    assert block is not None
    return list(block.lines)


class TestSimilarities:
    def test_a_row_for_each_figure_and_system(self, report: Report) -> None:
        header, rows = agreement_table(report)
        assert header == ["similarities", "agreement", "difference"]
        assert [row[0] for row in rows] == [name for title in TITLES for name in (title, "  base", "  tuned")]
        assert all(len(row) == 3 for row in rows)
        assert {tuple(row[1:]) for row in rows[::3]} == {("", "")}
        assert all(row[2] == "" for row in rows[1::3]), "the baseline is not compared with itself"

    def test_cells(self, report: Report) -> None:
        """Ends of intervals stand as decimals of the figure; differences have a sign and four decimals."""
        _, rows = agreement_table(report)
        for place, name in enumerate(("spearman", "kendall", "pearson", "mae", "rmse")):
            one = report.sections_of(Agreement)["tuned"].figures[name]
            shown, low, high = (float(part.strip("[],").replace("−", "-")) for part in rows[3 * place + 2][1].split())
            assert one.ci is not None and one.difference is not None and one.difference_ci is not None
            assert (shown, low, high) == (pytest.approx(one.value, abs=0.01), pytest.approx(one.ci[0], abs=0.01),
                                          pytest.approx(one.ci[1], abs=0.01))  # fmt: skip
            low, high = one.difference_ci
            text = f"{one.difference:+.4f} [{low:+.4f}, {high:+.4f}]".replace("-", "−")
            assert rows[3 * place + 2][2] == text
        assert rows[2][2].startswith("+") and rows[11][2].startswith("−"), "more ρ, less error"

    def test_without_a_baseline_there_is_no_third_column(self, report: Report) -> None:
        alone = with_only(report, Agreement, {"base": report.sections_of(Agreement)["base"]})
        header, rows = agreement_table(alone)
        assert header == ["similarities", "agreement"] and all(len(row) == 2 for row in rows)

    def test_undefined_is_a_dash_and_nothing_is_nothing(self, report: Report) -> None:
        figures = {
            "spearman": AgreementValue(nan),
            "pearson": AgreementValue(-0.25),
            "mae": AgreementValue(0.5, (0.25, 0.75), 0.0, (-0.00001, 0.00001)),
            "rmse": AgreementValue(0.5, (0.25, 0.75), -0.125),
        }
        _, rows = agreement_table(with_only(report, Agreement, {"base": Agreement("drawn", 2, 1, 0, figures)}))
        cells = {rows[place][0]: rows[place + 1][1:] for place in range(0, 8, 2)}
        assert cells["Spearman ρ"] == ["–", ""]
        assert cells["Pearson r"][0].startswith("−0.25") and "[" not in cells["Pearson r"][0]
        assert cells["MAE"][1] == "0.0000 [0.0000, 0.0000]", "neither +0 nor −0"
        assert cells["RMSE"][1] == "−0.1250"

    def test_over_which_pairs(self, report: Report) -> None:
        assert agreement_lines(report) == ["over 90 pairs drawn by seed 0 (30 queries)"]
        apart = agreeing(report, "tuned", about="among the first 3 of either", pairs=1, queries=1, left_out=1234)
        assert agreement_lines(apart) == [
            "base: over 90 pairs drawn by seed 0 (30 queries)",
            "tuned: over 1 pair among the first 3 of either (1 query), 1,234 more unknown to one side",
        ]


class TestImprovements:
    def test_the_sentence(self, report: Report) -> None:
        """``tuned vs base: NDCG@3 +80.2 % [+50.1, +120.3]``"""
        one = compared(report)
        assert one.relative is not None and one.relative_ci is not None and one.relative > 0
        low, high = one.relative_ci
        assert improvements(report) == [
            f"tuned vs base: NDCG@3 +{100 * one.relative:.1f} % [+{100 * low:.1f}, +{100 * high:.1f}]"
        ]
        assert one.relative == pytest.approx(one.mean / one.baseline_mean - 1)

    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({"relative": -0.0904, "relative_ci": (-0.114, -0.0663)}, "−9.0 % [−11.4, −6.6]"),
            ({"relative": 0.0, "relative_ci": (0.0, 0.0)}, "0.0 % [0.0, 0.0]"),
            ({"relative": -0.0001, "relative_ci": (-0.02, 0.02)}, "0.0 % [−2.0, +2.0]"),
            ({"relative": 0.5, "relative_ci": None}, "+50.0 %"),
            ({"relative": 12.0, "relative_ci": (9.0, 20.0)}, "+1200.0 % [+900.0, +2000.0]"),
            ({"relative": 0.5, "relative_ci": None, "p_holm": 0.05}, "+50.0 %"),
            ({"relative": 0.5, "relative_ci": None, "p_holm": 0.06}, "+50.0 %, not shown: chance alone may explain it"),
            ({"relative": 0.5, "relative_ci": None, "p_holm": None}, "+50.0 %, not shown: chance alone may explain it"),
        ],
    )
    def test_signs_intervals_and_verdicts(self, report: Report, changes: dict[str, Any], expected: str) -> None:
        changes = {"p_holm": 0.001, **changes}
        assert improvements(having(report, **changes)) == [f"tuned vs base: NDCG@3 {expected}"]

    def test_of_a_baseline_of_nothing_there_is_no_share(self, report: Report) -> None:
        assert improvements(having(report, relative=None)) == []
        assert improvement_table(having(report, relative=None))[1] == []

    def test_the_measure_that_says_most(self, report: Report) -> None:
        """NDCG where there is one, else the first; the headline says which there are."""
        assert [line.split()[3] for line in improvements(report)] == ["NDCG@3"]
        assert [line.split()[3] for line in improvements(report, [RECALL, NDCG])] == ["NDCG@3"]
        assert [line.split()[3] for line in improvements(report, [RECALL])] == ["Recall@3"]
        assert [line.split()[3] for line in improvements(report, ["rr(gold=k)@3", RECALL])] == ["Recall@3"]

    def test_the_table(self, report: Report) -> None:
        header, rows = improvement_table(report)
        assert header == ["vs base", "measure", "change", "means", "p"]
        assert [row[:2] for row in rows] == [["tuned", "Recall@3"], ["", "NDCG@3"], ["", "MRR@3"], ["", "MAP@3"]]
        one = compared(report)
        assert rows[1][3] == f"{one.baseline_mean:.3f} → {one.mean:.3f}"
        assert all(row[2] in line for row, line in zip(rows[1:2], improvements(report), strict=True))
        assert [row[:2] for row in improvement_table(report, [NDCG])[1]] == [["tuned", "NDCG@3"]]

    def test_each_system_has_its_sentence(self, report: Report) -> None:
        third = tuple(replace(one, system="third", relative=-0.5, relative_ci=None) for one in report.comparisons)
        three = replace(report, comparisons=(*report.comparisons, *third))
        assert [line.partition(":")[0] for line in improvements(three)] == ["tuned vs base", "third vs base"]
        assert [row[0] for row in improvement_table(three)[1]] == ["tuned", "", "", "", "third", "", "", ""]


class TestDisplayNames:
    def test_familiar_names_with_the_cut_off(self) -> None:
        names = display_names(example([*at([1, 10]), "rbo@5", "precision@3", "hits"]))
        assert (names[f"{PAPERS[1]}@10"], names[f"{PAPERS[3]}@1"]) == ("NDCG@10", "MAP@1")
        assert (names["rbo@5"], names["precision@3"], names["hits"]) == ("RBO@5", "Precision@3", "hits = recall")

    def test_measures_that_differ_in_conventions_keep_them(self) -> None:
        names = display_names(example(["ndcg(gain=binary,gold=k)@5", "ndcg(gain=exp)@5", "rr@5"]))
        assert len(set(names.values())) == 3 and names["rr@5"] == "MRR@5"
        assert "gain=exp" in names["ndcg(gain=exp)@5"]


class TestPrinted:
    def test_in_order(
        self, report: Report, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        print_report(replace(report, headline=(NDCG,)))
        text = capsys.readouterr().out
        parts = ["base:\n", "tuned:\n", "mean±standard deviation over 30 queries", "Recall: recall(over=k,gold=k)",
                 "vs base", "tuned vs base: NDCG@3", "Spearman ρ", "RMSE", "over 90 pairs"]  # fmt: skip
        assert [text.index(part) for part in parts] == sorted(text.index(part) for part in parts)
        assert max(map(len, text.splitlines())) <= 80

    def test_without_pairs_and_comparisons(self, report: Report, capsys: pytest.CaptureFixture[str]) -> None:
        print_report(replace(with_only(report, Agreement, {}), comparisons=()))
        text = capsys.readouterr().out
        assert "tuned:" in text and "Spearman" not in text and "vs base" not in text

    def test_names_are_no_markup(self, capsys: pytest.CaptureFixture[str]) -> None:
        draw = np.random.default_rng(2)
        spaces = {"[red]a": draw.normal(size=(12, 3)), "[/]": draw.normal(size=(12, 3))}
        print_report(rankjury.agree(draw.normal(size=(12, 4)), spaces, (2,), resampling=Resampling(resamples=100)))
        text = capsys.readouterr().out
        assert "[red]a:" in text and "[/] vs [red]a: NDCG@2" in text
