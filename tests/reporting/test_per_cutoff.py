"""Tables and CSV by cut-off: cells as in the protocol, all digits in the CSV, 80 columns in the console."""

import csv
import io
from dataclasses import replace
from statistics import stdev

import pytest

from rankjury.errors import UnknownName
from rankjury.evaluation.report import Report
from rankjury.reporting.console import print_block
from rankjury.reporting.sections.agreement import render_reference
from rankjury.reporting.tables import TextTable
from rankjury.reporting.tables.cutoffs import cutoff_grid, display_names
from rankjury.reporting.writers import OutputRequest
from rankjury.reporting.writers.tables import to_cutoff_csv
from rankjury.stats.estimates import Estimate
from tests.reporting.small import tables_of, with_estimates
from tests.reporting.test_cutoffs import PAPERS, at, example

BASE = """\
1 0.156±0.363 0.156±0.363 0.156±0.363 0.156±0.363
3 0.187±0.224 0.198±0.227 0.234±0.352 0.189±0.226
5 0.198±0.186 0.213±0.192 0.267±0.347 0.195±0.181
10 0.215±0.138 0.234±0.149 0.298±0.339 0.208±0.137
"""


@pytest.fixture(scope="module")
def report() -> Report:
    return example(at([1, 3, 5, 10]))


@pytest.fixture(scope="module")
def alfa() -> Report:
    return example(["Recall@1", "Recall@5", "Precision@5", "NDCG@5"], dialect="alfa")


def cutoff_tables(report: Report) -> list[TextTable]:
    return tables_of(render_reference(report, False), "k")


def as_published(report: Report) -> Report:
    """With the figures of the protocol's example for its base model."""
    found = {}
    for line in BASE.splitlines():
        k, *cells = line.split()
        for measure, cell in zip(PAPERS, cells, strict=True):
            mean, std = map(float, cell.split("±"))
            found[f"{measure}@{k}"] = Estimate(mean, 500, 0, None, std, (mean - 0.01, mean + 0.01))
    return with_estimates(report, "base", found)


def rows_of(report: Report, system: str = "base") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(to_cutoff_csv(report, OutputRequest("a.csv", "cutoffs", system)))))


class TestTables:
    def test_the_example_of_the_protocol(self, report: Report) -> None:
        tables = cutoff_tables(as_published(report))
        assert [one.title for one in tables] == ["base:", "tuned:"]
        assert tables[0].header == ["k", "Recall", "NDCG", "MRR", "MAP"]
        assert tables[0].texts == [line.split() for line in BASE.splitlines()]

    def test_the_spread_is_that_of_a_sample(self, report: Report) -> None:
        values = report.scores["base"]["recall(over=k,gold=k)@5"].tolist()
        rows = cutoff_tables(report)[0].texts
        assert rows[2][1] == f"{sum(values) / len(values):.3f}±{stdev(values):.3f}"

    def test_what_is_not_there_is_a_dash(self) -> None:
        rows = cutoff_tables(example(["recall@1", "rr@5"]))[0].texts
        assert [row[0] for row in rows] == ["1", "5"]
        assert rows[0][2] == rows[1][1] == "–" and "±" in rows[0][1] and "±" in rows[1][2]

    def test_undefined_is_a_dash_and_one_query_has_no_spread(self, report: Report) -> None:
        nothing = Estimate(float("nan"), 0, 24)
        one = Estimate(0.25, 1, 23)
        odd = with_estimates(report, "base", {f"{PAPERS[0]}@1": nothing, f"{PAPERS[0]}@3": one})
        rows = cutoff_tables(odd)[0].texts
        assert [row[1] for row in rows[:2]] == ["–", "0.250"]


class TestCsv:
    def test_columns(self, report: Report) -> None:
        figures = ("mean", "std", "ci_low", "ci_high")
        names = [f"{short}_{figure}" for short in ("recall", "ndcg", "mrr", "map") for figure in figures]
        assert to_cutoff_csv(report, OutputRequest("a.csv", "cutoffs", "base")).splitlines()[0].split(",") == [
            "k",
            *names,
            "n",
        ]

    @pytest.mark.parametrize("system", ["base", "tuned"])
    def test_it_reads_back_to_the_last_digit(self, report: Report, system: str) -> None:
        rows = rows_of(report, system)
        assert [row["k"] for row in rows] == ["1", "3", "5", "10"]
        for row in rows:
            for short, measure in zip(("recall", "ndcg", "mrr", "map"), PAPERS, strict=True):
                one = report.estimates[system][f"{measure}@{row['k']}"]
                assert one.ci is not None
                found = [float(row[f"{short}_{figure}"]) for figure in ("mean", "std", "ci_low", "ci_high")]
                assert found == [one.mean, one.std, *one.ci]
                assert int(row["n"]) == one.n == 24

    def test_systems_differ(self, report: Report) -> None:
        assert to_cutoff_csv(report, OutputRequest("a.csv", "cutoffs", "base")) != to_cutoff_csv(
            report, OutputRequest("a.csv", "cutoffs", "tuned")
        )

    def test_what_is_unknown_is_empty(self) -> None:
        plain = example(["recall@1", "recall@5", "rr@5"], resampling=None)
        first, second = rows_of(plain)
        assert (first["mrr_mean"], first["mrr_std"], first["n"]) == ("", "", "24")
        assert (first["recall_ci_low"], second["recall_ci_high"]) == ("", "")
        assert float(second["mrr_mean"]) == plain.estimates["base"]["rr@5"].mean

    def test_one_query_has_no_spread(self) -> None:
        (row,) = rows_of(example(["recall@5"], queries=1))
        assert (row["recall_std"], row["recall_ci_low"], row["n"]) == ("", "", "1")

    def test_measures_over_different_numbers_of_queries(self, report: Report) -> None:
        fewer = replace(report.estimates["base"][f"{PAPERS[1]}@3"], n=20)
        rows = rows_of(with_estimates(report, "base", {f"{PAPERS[1]}@3": fewer}))
        assert [row["n"] for row in rows] == ["24", "", "24", "24"]
        assert (rows[1]["recall_n"], rows[1]["ndcg_n"]) == ("24", "20")

    def test_conventions_in_the_names_of_columns(self) -> None:
        (row,) = rows_of(example(["recall@5", "recall(over=k,gold=k)@5"]))
        assert float(row["recall(over=k,gold=k)_mean"]) > float(row["recall_mean"]) > 0

    def test_a_system_that_is_not_there(self, report: Report) -> None:
        with pytest.raises(UnknownName, match=r"unknown system 'bse'.*Did you mean base"):
            to_cutoff_csv(report, OutputRequest("a.csv", "cutoffs", "bse"))


class TestConsole:
    def printed(self, report: Report, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
        monkeypatch.setenv("COLUMNS", "80")
        block = render_reference(replace(report, comparisons=()), True)
        assert block is not None
        print_block(block)
        return [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    def test_the_example_of_the_protocol(
        self, report: Report, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lines = self.printed(as_published(report), capsys, monkeypatch)
        assert lines[0] == "base:"
        assert lines[1].split() == ["k", "Recall", "NDCG", "MRR", "MAP"]
        assert [line.split() for line in lines[3:7]] == [line.split() for line in BASE.splitlines()]
        assert lines[8] == "tuned:"
        assert "mean±standard deviation over 24 to 500 queries" in lines and "MRR: rr(gold=k)" in lines
        assert max(map(len, lines)) <= 80

    def test_many_measures_stand_in_several_tables(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        measures = [*PAPERS, "recall", "ndcg", "precision", "f1", "rbo", "err"]
        wide = example(at([1, 10], measures))
        lines = self.printed(wide, capsys, monkeypatch)
        assert max(map(len, lines)) <= 80
        names = [name for line in lines if line.split()[:1] == ["k"] for name in line.split()[1:]]
        assert names == [measure.name for measure in cutoff_grid(wide).measures] * 2
        text = "\n".join(lines)
        for estimate in wide.estimates["tuned"].values():
            assert f"{estimate.mean:.3f}±{estimate.std:.3f}" in text


class TestBothNames:
    """Where a measure's own name misleads, its common name is shown as well."""

    def test_tables(self, alfa: Report, capsys: pytest.CaptureFixture[str]) -> None:
        assert cutoff_tables(alfa)[0].header == ["k", "Recall = precision", "Precision = recall", "NDCG"]
        block = render_reference(replace(alfa, comparisons=()), True)
        assert block is not None
        print_block(block)
        shown = capsys.readouterr().out
        assert "\nRecall = precision: recall(over=k,rel=1,self=drop)\n" in shown
        assert shown.splitlines()[-1].startswith("After =: ") and "name" in shown.splitlines()[-1]

    def test_csv(self, alfa: Report) -> None:
        rows = rows_of(alfa)
        assert [row["recall_common_name"] for row in rows] == ["precision@1", "precision@5"]
        assert rows[1]["precision_common_name"] == "recall@5" and "ndcg_common_name" not in rows[1]

    def test_elsewhere(self, alfa: Report) -> None:
        assert [one.name_at_k for one in cutoff_grid(alfa).measures][:2] == [
            "Recall@k = precision@k",
            "Precision@k = recall@k",
        ]
        assert display_names(alfa)["Recall@5"] == "Recall@5 = precision@5"

    def test_other_measures_are_as_they_were(self, report: Report) -> None:
        assert "common_name" not in to_cutoff_csv(report, OutputRequest("a.csv", "cutoffs", "base"))
        assert all(one.both_names == one.name for one in cutoff_grid(report).measures)
