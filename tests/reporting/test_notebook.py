"""What notebooks show: the report's figures, as HTML that brings nothing of its own and escapes what others named."""

from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings, strategies as st

import rankjury
from rankjury.core.text import render_snippet
from rankjury.errors import UnknownName
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import SystemResult
from rankjury.evaluation.sections import as_warnings
from rankjury.stats.formatting import format_difference, format_estimate, format_p
from tests.reporting.small import HOSTILE, gated, small, with_verdicts

TAGS = {
    *("div", "p", "strong", "bdi", "ul", "li", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {"style", "scope", "tabindex"}


class Reader(HTMLParser):
    """Tables as cells, other texts in order; anything that a snippet may not hold is a failure."""

    def __init__(self, snippet: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.texts: list[str] = []
        self.feed(snippet)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS and {name for name, _ in attrs} <= ATTRIBUTES, (tag, attrs)
        style = dict(attrs).get("style") or ""
        assert "url(" not in style and "background:#" not in style and "color:#" not in style
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data
        else:
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


@pytest.fixture(scope="module")
def report() -> Report:
    return small()


@cache
def friendly() -> Report:
    return with_verdicts(small())


class TestReport:
    def test_every_measure_with_its_interval_and_its_difference(self, report: Report) -> None:
        reader = Reader(report._repr_html_())
        header, *rows = reader.tables[0]
        assert header == ["measure", "system", "mean [95 %]", "difference [95 %]", "", "p", "+/=/−", "n"]
        assert len(rows) == len(report.labels) * len(report.systems)
        compared = {(one.measure, one.system): one for one in report.comparisons}
        label = ""
        for row in rows:
            label = row[0] or label
            system = row[1].removesuffix(" (baseline)")
            assert row[2] == format_estimate(report.estimates[system][label])
            if one := compared.get((label, system)):
                assert row[3] == format_difference(one.difference, one.ci)
                assert row[5:7] == [format_p(one.p_holm), f"{one.better}/{one.equal}/{one.worse}"]
            else:
                assert row[3:7] == [""] * 4

    def test_slices_and_losses_are_folded_away(self, report: Report) -> None:
        snippet = report._repr_html_()
        assert snippet.count("<details") == 2 and "<details open" not in snippet
        folded = Reader(snippet).tables[1:]
        assert [table[0][0] for table in folded] == ["slice", "query"]
        assert [row[0] for row in folded[0][1:]] == ["type=b", "type=b", "type=a", "type=a"]

    def test_warnings_are_a_list(self, report: Report) -> None:
        assert report.warning_lines
        snippet = report._repr_html_()
        assert snippet.count("<li>") == len(report.warning_lines)
        assert set(report.warning_lines) <= set(Reader(snippet).texts)

    def test_queries_are_called_by_their_texts(self, report: Report) -> None:
        data = report.queries
        assert data is not None
        named = replace(report, queries=replace(data, query_texts={"q20": "what is it?"}, names={"d0": "a dog"}))
        losses = Reader(named._repr_html_()).tables[2]
        assert losses[1][0] == "what is it?" and "a dog (2)" in losses[1][4]

    def test_a_headline_is_shown_first_and_the_rest_folded(self, report: Report) -> None:
        snippet = replace(report, headline=("unjudged@5",))._repr_html_()
        first, further = Reader(snippet).tables[:2]
        assert first[1][0] == "unjudged@5" and len(first) == 4
        assert [row[0] for row in further[1::3]] == ["ndcg@5", "num_rel_ret"]
        assert "2 further measures" in snippet

    def test_one_system_without_baseline(self) -> None:
        scores = rankjury.evaluate({"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0}, "r": {"b": 1.0}}, ["rr"])
        alone = Report({"only": SystemResult.of(scores, scores.estimates(None))})
        assert Reader(alone._repr_html_()).tables == [
            [["measure", "system", "mean [95 %]", "n"], ["rr", "only", "0.5000", "2"]]
        ]

    def test_verdicts_are_shown_of_a_report_that_was_read_back(self) -> None:
        snippet = Report.from_json(friendly().to_json())._repr_html_()
        assert "✗ FAIL: 2 fail · 2 unsure · 2 pass" in snippet
        assert [row[0] for row in Reader(snippet).tables[0]] == ["verdict", "FAIL", "FAIL", "UNSURE", "UNSURE"]

    def test_many_rows_are_cut_and_counted(self) -> None:
        parts = [replace(part, name=f"{part.name}{n}") for n in range(50) for part in friendly().slices]
        snippet = replace(friendly(), slices=tuple(parts))._repr_html_()
        assert "ndcg@5 by slice, largest loss first (60 of 200 rows)" in snippet
        assert len(Reader(snippet).tables[2]) == 61


class TestOthers:
    def test_a_comparison(self, report: Report) -> None:
        one = report.comparisons[0]
        reader = Reader(one._repr_html_())
        assert reader.texts[0] == "new beside old: ndcg@5"
        found = {row[0]: row[1] for row in reader.tables[0][1:]}
        assert found["difference"] == format_difference(one.difference, one.ci)
        assert found["p, corrected after Holm"] == format_p(one.p_holm)
        assert found["better / equal / worse"] == f"{one.better} / {one.equal} / {one.worse}"
        assert found["n"] == str(one.n)

    def test_a_comparison_of_nothing(self, report: Report) -> None:
        nothing = replace(report.comparisons[0], n=0, mean=float("nan"), ci=None, p=None, p_holm=None, detectable=None)
        found = {row[0]: row[1] for row in Reader(nothing._repr_html_()).tables[0][1:]}
        assert [found[name] for name in ("mean", "difference", "p by itself")] == ["–"] * 3

    def test_of_which_less_is_better_is_said(self, report: Report) -> None:
        one = next(one for one in report.comparisons if one.measure == "unjudged@5")
        assert "unjudged@5 (less is better)" in one._repr_html_()

    def test_of_a_figure_over_all_no_query_is_better(self, report: Report) -> None:
        snippet = replace(report.comparisons[0], whole=True)._repr_html_()
        assert "better / equal / worse" not in snippet

    def test_scores(self, report: Report) -> None:
        scores = report.scores["new"]
        reader = Reader(scores._repr_html_())
        assert reader.tables[0][0] == ["measure", "mean", "n", "undefined"]
        assert [row[:2] for row in reader.tables[0][1:]] == [
            [label, format_estimate(estimate)] for label, estimate in scores.estimates().items()
        ]
        assert all(any(one.text in text for text in reader.texts) for one in scores.warnings)

    def test_a_gate(self, report: Report) -> None:
        gate, _ = gated(report)
        reader = Reader(gate._repr_html_())
        assert reader.texts[0] == "✗ FAIL: 2 fail · 2 unsure · 2 pass · baseline old"
        assert len(reader.tables[0]) == 1 + len(gate.verdicts)
        assert Reader(Gate(gate.verdicts[2:4], "r", None)._repr_html_()).texts[0] == "✓ PASS: 2 pass"

    def test_a_kind_that_nobody_knows(self) -> None:
        with pytest.raises(UnknownName, match="repot"):
            render_snippet("repot", 1)


class TestNames:
    @pytest.mark.parametrize("start", range(0, len(HOSTILE), 3))
    def test_hostile_names_of_everything(self, start: int) -> None:
        hostile = small(tuple(HOSTILE[start : start + 3]), tuple(HOSTILE), HOSTILE[start])
        data = replace(hostile.queries, names=dict.fromkeys("ab", HOSTILE[start]))  # type: ignore[type-var]
        hostile = replace(hostile, warnings=(*hostile.warnings, *as_warnings(HOSTILE, "test")), queries=data)
        held = with_verdicts(hostile)
        gate = held.needed_section(Gate)
        scores = replace(
            hostile.scores[HOSTILE[start]], source=HOSTILE[start], warnings=tuple(as_warnings(HOSTILE, "test"))
        )
        for snippet in (one._repr_html_() for one in (hostile, gate, scores, *hostile.comparisons, held)):
            reader = Reader(snippet)
            assert not any(ord(character) < 32 and character != "\n" for character in snippet)
            assert max(len(cell) for table in reader.tables for row in table for cell in row) <= 200
            assert all(len(row) == len(table[0]) for table in reader.tables for row in table)

    @settings(max_examples=60, deadline=None)
    @given(name=st.text(max_size=300) | st.sampled_from(HOSTILE))
    def test_any_name_is_read_as_it_is(self, name: str) -> None:
        slices = tuple(replace(part, name=name) for part in friendly().slices)
        Reader(replace(friendly(), slices=slices, warnings=tuple(as_warnings([name], "test")))._repr_html_())

    def test_text_from_the_right_turns_only_itself(self) -> None:
        changed = replace(friendly(), warnings=tuple(as_warnings(["\u202eright to left"], "test")))
        assert "<li><bdi>\u202eright to left</bdi></li>" in changed._repr_html_()
