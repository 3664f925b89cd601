"""Reports with comparisons and slices as CSV, Markdown and JSON: all digits, and names that would break them."""

import csv
import io
import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankjury
from rankjury.errors import UsageError
from rankjury.evaluation.paired import Change, Move
from rankjury.evaluation.report import Report, looks_like_report, read_report
from rankjury.evaluation.scores import QueryData, SystemResult
from rankjury.evaluation.sections import ReportWarning, as_warnings
from rankjury.evaluation.slices import SliceTable
from rankjury.evaluation.slices.stats import Gap, break_down
from rankjury.reporting import tables as model
from rankjury.reporting.html.query_data import QueryDetails
from rankjury.reporting.tables.differences import (
    changes_table,
    comparison_table,
    format_tally,
    power_lines,
    slices_table,
    slices_title,
    verdict_style,
)
from rankjury.reporting.writers import OutputRequest, write_reports
from rankjury.reporting.writers.gate import gate_to_markdown
from rankjury.reporting.writers.json import to_json
from rankjury.reporting.writers.markdown import markdown_table, to_markdown
from rankjury.reporting.writers.tables import to_csv
from rankjury.stats.resampling import Resampling
from rankjury.tracking.archive.tables import queries_table
from tests.reporting.small import HOSTILE, gated, small
from tests.reporting.test_gate import cells
from tests.reporting.test_pull_request import READER, check_tame

QUICK = Resampling(resamples=200)
MEASURES = ["ndcg@5", "unjudged@5", "num_rel_ret"]


def example(first: str = "old", second: str = "new", kinds: tuple[str, ...] = ("a", "b"), **options: Any) -> Report:
    chance = random.Random(5)
    gold = {f"q{q:02}": {"d0": 2, **{f"d{i}": chance.randrange(3) for i in range(1, 6)}} for q in range(24)}
    runs = {name: {q: chance.sample([f"d{i}" for i in range(9)], 7) for q in gold} for name in (first, second, "third")}
    table = pl.DataFrame({"query_id": list(gold), "type": [kinds[q % len(kinds)] for q in range(24)]})
    return rankjury.compare(gold, runs, MEASURES, resampling=QUICK, slices=table, by="type", **options)


@pytest.fixture(scope="module")
def report() -> Report:
    return example()


def rows_of(report: Report) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(to_csv(report))))


class TestCsv:
    def test_a_row_for_each_slice_system_and_measure(self, report: Report) -> None:
        rows = rows_of(report)
        assert len(rows) == 3 * 3 * 3
        assert [row["slice"] for row in rows[::9]] == ["", "type=a", "type=b"]
        assert [(row["system"], row["measure"]) for row in rows[:4]] == [
            *(("old", "ndcg@5"), ("old", "unjudged@5"), ("old", "num_rel_ret"), ("new", "ndcg@5"))
        ]

    def test_all_digits(self, report: Report) -> None:
        found = {(row["slice"], row["system"], row["measure"]): row for row in rows_of(report)}
        parts = [("", report.estimates, report.comparisons), *((p.name, p.estimates, p.beside) for p in report.slices)]
        for name, estimates, beside in parts:
            for one in beside:
                row, estimate = found[name, one.system, one.measure], estimates[one.system][one.measure]
                assert one.ci is not None and estimate.ci is not None
                assert (float(row["difference"]), float(row["difference_low"])) == (one.difference, one.ci[0])
                shown = [float(row[name]) if row[name] else None for name in ("p", "p_holm", "p_bh")]
                assert shown == [one.p, one.p_holm, one.p_bh]
                assert (float(row["mean"]), float(row["ci_low"]), float(row["ci_high"])) == (
                    estimate.mean,
                    *estimate.ci,
                )
                assert (float(row["std"]), int(row["n"])) == (estimate.std, estimate.n)
                assert (row["baseline"], int(row["better"])) == ("old", one.to_json()["better"])

    def test_the_baseline_has_no_difference(self, report: Report) -> None:
        (row,) = [
            row for row in rows_of(report) if (row["slice"], row["system"], row["measure"]) == ("", "old", "ndcg@5")
        ]
        assert {row[name] for name in ("difference", "difference_low", "p", "better", "baseline")} == {""}

    def test_columns_only_where_they_say_something(self, report: Report) -> None:
        plain = replace(report, baseline=None, comparisons=(), changes=(), slices=())
        assert to_csv(plain).splitlines()[0] == "system,measure,mean,ci_low,ci_high,std,se,n,undefined,convention"
        assert to_csv(report).splitlines()[0].startswith("slice,system,measure,mean,")

    def test_names_with_commas_quotes_and_lines(self) -> None:
        odd = example('a,"b"', "c\nd", ("x,y", 'z"'))
        rows = rows_of(odd)
        assert {row["system"] for row in rows} == {'a,"b"', "c\nd", "third"}
        assert {row["slice"] for row in rows} == {"", "type=x,y", 'type=z"'}

    def test_no_name_is_a_formula(self) -> None:
        odd = example("=1+1", "@x", ("-2", "+3"))
        rows = rows_of(odd)
        assert {row["system"] for row in rows} == {"'=1+1", "'@x", "third"}
        assert {row["baseline"] for row in rows} == {"", "'=1+1"}
        assert min(float(row["difference"]) for row in rows if row["difference"]) < 0


class TestJson:
    def test_it_reads_back(self, report: Report, tmp_path: Path) -> None:
        write_reports(report, [OutputRequest(str(tmp_path / "r.json"))])
        saved = read_report(str(tmp_path / "r.json"))
        assert looks_like_report(str(tmp_path / "r.json"))
        assert saved == report and saved.to_json(queries=True) == report.to_json(queries=True)

    def test_queries_are_left_out_of_a_pipe(self, report: Report) -> None:
        whole, summary = json.loads(to_json(report)), json.loads(json.dumps(report.to_json()))
        assert whole.pop("queries")["ids"] == [f"q{q:02}" for q in range(24)]
        assert whole.pop("gold")["queries"] == 24 and whole == summary

    def test_comparisons_say_how_many_queries_it_takes(self, report: Report) -> None:
        rows = json.loads(to_json(replace(report, detect=0.02)))["comparisons"]
        one = report.comparisons[0]
        assert rows[0]["to_detect"] == {"difference": 0.02, "queries": one.needed_for(0.02, 0.95)}
        assert rows[0]["to_detect"]["queries"] > 24

    def test_worst_slices_are_those_that_lose_most(self, report: Report) -> None:
        form = json.loads(to_json(report))
        gains = [
            -row["difference"] if row["measure"].startswith("unjudged") else row["difference"]
            for row in form["worst_slices"]
        ]
        assert gains == sorted(gains) and gains and max(gains) < 0

    def test_figures_stand_with_their_system(self, report: Report) -> None:
        form = json.loads(to_json(report.with_recorded({"new": {"ms": 5.0}})))
        assert form["systems"]["new"]["figures"] == {"ms": 5.0} and "figures" not in form["systems"]["old"]

    @pytest.mark.parametrize("name", ["r", "r.txt", "r.jsn"])
    def test_a_suffix_that_names_no_form(self, name: str) -> None:
        with pytest.raises(UsageError, match=rf"cannot tell the form of the report from '{name}'"):
            OutputRequest(name).check()

    def test_what_does_not_look_like_a_report(self, tmp_path: Path) -> None:
        (tmp_path / "gold.json").write_text('{"q1": {"d1": 1}}')
        for path in ("-", str(tmp_path), str(tmp_path / "gold.json"), str(tmp_path / "nowhere.json")):
            assert not looks_like_report(path)


class TestMarkdown:
    def test_every_table_is_rectangular(self, report: Report) -> None:
        self.check(to_markdown(report))

    def check(self, text: str) -> None:
        """Each table has as many cells in every line as in its header."""
        tables: list[list[str]] = [[]]
        for line in text.splitlines():
            if line.startswith("|"):
                tables[-1].append(line)
            elif tables[-1]:
                tables.append([])
        tables = [table for table in tables if table]
        assert len(tables) >= 5
        for table in tables:
            assert len(table) > 2, table
            assert len({len(cells(line)) for line in table}) == 1, table
            assert set(table[1]) <= set("|:-"), table[1]

    def test_its_parts(self, report: Report) -> None:
        text = to_markdown(replace(report, warnings=(ReportWarning("look < out | there"),)))
        titles = [line for line in text.splitlines() if line.startswith("### ")]
        assert text.startswith(report.summary[0]), "the answer comes first"
        assert titles[:3] == [
            "### Compared with old",
            *("### Largest losses of new on ndcg@5", "### Largest losses of third on ndcg@5"),
        ]
        assert titles[3:] == [f"### {slices_title(report, label)}" for label in report.labels]
        assert "[95 % interval over queries]" in text
        assert text.splitlines()[-1] == "- warning: look &lt; out &#124; there"

    def test_names_that_would_break_a_table(self) -> None:
        odd = example("a|b", "<script>c\\", ("x|y", "<z>"))
        text = to_markdown(odd)
        self.check(text)
        assert "<" not in text and "a&#124;b" in text and "&lt;script>c&#92;" in text and "type=x&#124;y" in text

    def test_the_verdicts_of_a_plan_come_first(self) -> None:
        report = small()
        gate, _ = gated(report)
        text = to_markdown(report, OutputRequest("report.md", gate=gate))
        assert text.startswith(gate.sentence.partition(":")[0]) and "### Targets" in text

    @pytest.mark.parametrize("start", range(0, len(HOSTILE), 3))
    def test_hostile_names_are_but_text(self, start: int) -> None:
        report = small(tuple(HOSTILE[start : start + 3]), tuple(HOSTILE), HOSTILE[start])
        gate, _ = gated(report)
        for text in (
            to_markdown(replace(report, warnings=tuple(as_warnings(HOSTILE, "test")))),
            gate_to_markdown(gate),
        ):
            check_tame(text, longest=1_000_000)
            page = READER.render(text)
            allowed = {"p", "h3", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "strong"}
            assert set(re.findall(r"</?([^\s>]*)", page)) <= allowed

    def test_names_of_two_lines(self) -> None:
        self.check(to_markdown(example("a\nb", "c", ("x\ny", "z"))))

    def test_cells(self) -> None:
        assert markdown_table(model.make_table(["a", "b"], [["x|", "1"]])) == [
            "| a | b |",
            "|:--|--:|",
            "| x&#124; | 1 |",
        ]


class TestTables:
    def test_comparisons(self, report: Report) -> None:
        found = comparison_table(report)
        rows = found.texts
        assert found.header == ["measure", "system", "mean", "difference [95 %]", "p", "n", "+/=/−"]
        assert [row[:2] for row in rows[:4]] == [["ndcg@5", "old"], ["", "new"], ["", "third"]]
        assert len(rows) == 3, "measures that describe a run are not compared"
        one = report.comparisons[0]
        assert (
            rows[1][5:] == ["24", f"{one.better}/{one.equal}/{one.worse}"] and one.better + one.equal + one.worse == 24
        )
        assert format_tally(one) == f"new, ndcg@5: {one.better} better · {one.worse} worse · {one.equal} equal"

    def test_less_is_better_turns_it_around(self, report: Report) -> None:
        one = next(one for one in report.comparisons if (one.system, one.measure) == ("new", "unjudged@5"))
        ours, theirs = (report.scores[name]["unjudged@5"] for name in ("new", "old"))
        assert (one.better, one.worse) == (int((ours < theirs).sum()), int((ours > theirs).sum()))
        assert one.better != one.worse and one.gain == -one.difference

    def test_power_is_of_the_first_measure(self, report: Report) -> None:
        (line,) = power_lines(report)
        assert "0.01 in ndcg@5" in line and "80 % power" in line
        for one in (one for one in report.comparisons if one.measure == "ndcg@5"):
            assert f"{one.needed_for(0.01, 0.95):,} queries ({one.system})" in line

    def test_slices_lose_most_first(self, report: Report) -> None:
        for measure, sign in (("ndcg@5", 1), ("unjudged@5", -1)):
            shown = slices_table(report, measure)
            rows = shown.texts
            assert shown.header == ["slice", "system", "n", "old", "mean", "difference [95 %]", "", "p"]
            found = {(p.label, one.system): one for p in report.slices for one in p.beside if one.measure == measure}
            gains = [sign * found[row[0], row[1]].difference for row in rows]
            assert gains == sorted(gains) and len(rows) == 4

    def test_beside_the_rest_for_one_system(self, report: Report) -> None:
        system = report.scores["new"]
        frame = pl.DataFrame({"query_id": system.queries, "type": ["a", "b"] * 12})
        groups = SliceTable(frame, "query_id", "queries", None, "t").groups(system.queries, [])
        slices = tuple(break_down({"new": system}, groups, QUICK, None))
        alone = Report({"new": SystemResult.of(system, system.estimates(QUICK))}, QUICK, slices=slices)
        found = slices_table(alone, "ndcg@5")
        rows = found.texts
        assert found.header == ["slice", "n", "mean", "to the rest [95 %]", "", "p"]
        assert [row[1] for row in rows] == ["12", "12"] and rows[0][3].startswith("−") and rows[1][3].startswith("+")

    @pytest.mark.parametrize(
        ("difference", "p_holm", "lower", "expected"),
        [
            (0.1, 0.05, False, "better"),
            (-0.1, 0.05, False, "worse"),
            (0.1, 0.01, True, "worse"),
            (-0.1, 0.01, True, "better"),
            (0.1, 0.0501, False, "noise"),
            (0.1, None, False, ""),
            (0.0, 0.01, False, "noise"),
        ],
    )
    def test_verdicts(self, difference: float, p_holm: float | None, lower: bool, expected: str) -> None:
        assert verdict_style(Gap("s", "m", difference, None, 0.01, lower, p_holm=p_holm), 0.95) == expected

    def test_changes(self) -> None:
        moves = (Move("a", 1.0, 5, 2), Move("b", 2.0, 2, None), Move("c", 3.0, None, None), Move("d", 1.0, 4, 4))
        more = (*moves, Move("e", 0.5, None, 1), Move("f", 1.0, 9, 8))
        changes = [Change("new", "ap", "q1", 0.25, 0.75, moves), Change("new", "ap", "q2", 0.5, 1 / 3, more)]
        found = changes_table(Report({}, queries=QueryData({}, names={"e": "The E"})), changes)
        assert found.header == ["query", "before → after", "change", "relevant items (grade): rank before → after"]
        assert found.texts == [
            ["q1", "0.250 → 0.750", "+0.500", "b (2): 2 → –, a (1): 5 → 2"],
            ["q2", "0.500 → 0.333", "−0.167", "The E (0.5): – → 1, b (2): 2 → –, a (1): 5 → 2, 1 more"],
        ]

    def test_a_query_has_the_name_of_an_item_only_where_it_is_one(self) -> None:
        """A query had the title of the document with its id, in tables, pages, notebooks and archived runs."""
        scores = rankjury.evaluate({"1": ["1", "2"]}, {"1": ["2", "1"]}, "ap")
        data = QueryData({"s": scores}, names={"1": "A document", "2": "Another"})
        report = Report({"s": SystemResult.of(scores, scores.estimates(None))})
        change = Change("s", "ap", "1", 0.75, 0.25, (Move("1", 1.0, 1, 2),))
        for are_items, name, text in ((False, "1", None), (True, "A document", "A document")):
            made = replace(report, queries=replace(data, queries_are_items=are_items))
            ((query, *_, moves),) = changes_table(made, [change]).texts
            assert query == name and moves.startswith("A document")
            details = QueryDetails.of(made)
            assert details is not None and details.query(0)["text"] == text
            assert queries_table(made)["text"].to_list() == [text]
        asked = replace(report, queries=replace(data, query_texts={"1": "what is it?"}, queries_are_items=True))
        assert asked.texts["1"] == "what is it?" and asked.name_of("1") == "A document"
