"""The summary for a pull request: what it says first, that names are but names in it, and that it is never too long."""

import re
from dataclasses import replace
from functools import cache
from html import unescape
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

import rankjury
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import as_warnings
from rankjury.reporting.tables.differences import changes_table, largest_losses, slices_table, summary_table
from rankjury.reporting.writers.pull_request import LONGEST, escape_text, to_comment
from tests.core.test_text import REFERENCES
from tests.reporting.small import HOSTILE, small, with_verdicts
from tests.reporting.test_gate import cells

READER = MarkdownIt("gfm-like", {"linkify": False}).disable("linkify")
"""As GitHub reads it; addresses without brackets are looked for by hand."""
OWN_TAGS = re.compile(r"</?details>|</?summary>|</?sub>")


@pytest.fixture(scope="module")
def report() -> Report:
    return small()


@pytest.fixture(scope="module")
def gated_report() -> Report:
    return friendly()


@cache
def friendly() -> Report:
    return with_verdicts(small())


def tables(summary: str) -> list[list[list[str]]]:
    """The tables, header first."""
    found: list[list[list[str]]] = []
    for before, line in pairwise(["", *summary.splitlines()]):
        if line.startswith("|") and not line.startswith("|:--"):
            if not before.startswith("|"):
                found.append([])
            found[-1].append(cells(line))
    return found


def tokens(summary: str) -> list[Token]:
    found = READER.parse(summary)
    return [one for token in found for one in (token, *(token.children or ()))]


class TestWhatIsSaid:
    def test_the_verdict_is_the_first_line_and_targets_that_fail_the_first_table(self, gated_report: Report) -> None:
        lines = to_comment(gated_report).splitlines()
        assert lines[0] == "### ❌ FAIL · report"
        assert lines[2].startswith("May not ship: 1 of 3 targets failed, 1 is unsure")
        assert "targets: 2 fail · 2 unsure · 2 pass · 24 queries · 3 systems · compared with old" in lines
        shown = tables(to_comment(gated_report))[0]
        assert [row[0] for row in shown] == ["verdict", "FAIL", "FAIL", "UNSURE", "UNSURE"]

    @pytest.mark.parametrize(("verdict", "mark"), [("pass", "✅ PASS"), ("unsure", "⚠️ UNSURE"), ("fail", "❌ FAIL")])
    def test_every_verdict_has_its_mark_and_word(self, gated_report: Report, verdict: str, mark: str) -> None:
        gate = gated_report.needed_section(Gate)
        alone = replace(gate, verdicts=tuple(one for one in gate.verdicts if one.outcome == verdict))
        changed = replace(gated_report, provenance={"name": "nightly"}).with_sections(alone)
        assert to_comment(changed).splitlines()[0] == f"### {mark} · nightly"

    def test_without_targets_it_is_a_report(self, report: Report) -> None:
        summary = to_comment(report)
        assert summary.startswith(f"### rankjury · report\n\n{report.summary[0]}\n")
        assert "\n24 queries · 3 systems · compared with old\n" in summary
        assert not re.search("PASS|FAIL|target", summary)

    def test_means_and_differences_are_those_of_the_report(self, report: Report, gated_report: Report) -> None:
        headline = tables(to_comment(gated_report))[1]
        assert headline[0] == ["measure", "system", "mean [95 %]", "difference [95 %]", "", "p", "+/=/−", "n"]
        assert len(headline) == 1 + 3 * 3
        one = next(one for one in report.comparisons if (one.system, one.measure) == ("new", "ndcg@5"))
        row = headline[2]
        assert row[1] == "new"
        assert row[2].startswith(f"{one.mean:.3f} [") and row[3].startswith(f"−{-one.difference:.3f} [")
        assert row[6:] == [f"{one.better}/{one.equal}/{one.worse}", str(one.n)]

    def test_headline_measures_come_first_and_others_are_folded_away(self, gated_report: Report) -> None:
        summary = to_comment(replace(gated_report, headline=("num_rel_ret",)))
        shown, folded = summary.split("<details>", 1)
        assert "`num_rel_ret`" in shown and "`ndcg@5`" in folded
        assert "`ndcg@5` |" not in shown.partition("| measure")[2]
        assert "2 further measures" in folded

    def test_slices_that_lose_worst_first_and_no_more_than_five(self, report: Report) -> None:
        rows = slices_table(report, "ndcg@5", losing=True).texts
        assert [row[:2] for row in rows] == [["type=b", "new"], ["type=b", "third"], ["type=a", "new"]]
        parts = [replace(part, name=f"{part.name}{n}") for n in range(9) for part in report.slices]
        many = replace(report, slices=tuple(parts))
        worst = next(table for table in tables(to_comment(many)) if table[0][0] == "slice")
        assert len(worst) == 1 + 5
        assert all(row[0].startswith("type=b") for row in worst[1:])
        assert "system" not in worst[0] or {row[1] for row in worst[1:]} == {"new"}

    def test_slices_in_which_nothing_differs_are_left_out(self, report: Report) -> None:
        def same(one: Any) -> Any:
            return replace(one, better=0, worse=0, equal=one.n) if one.system == "third" else one

        parts = [replace(part, beside=tuple(map(same, part.beside))) for part in report.slices]
        rows = slices_table(replace(report, slices=tuple(parts)), "ndcg@5", changed=True).texts
        assert len(rows) == 2 and "third" not in {cell for row in rows for cell in row}

    def losses(self, report: Report, label: str, most: int, **names: dict[str, str]) -> list[list[str]]:
        assert report.queries is not None
        named = replace(report, queries=replace(report.queries, **names))
        return changes_table(named, largest_losses(named, label, most=most), texts=True).texts

    def test_the_largest_losses_are_those_of_the_report(self, report: Report) -> None:
        rows = self.losses(report, "ndcg@5", 5, query_texts={"q20": "what is it?"})
        lost = sorted((one for one in report.changes if one.measure == "ndcg@5"), key=lambda one: one.difference)
        assert [row[1] for row in rows] == [one.system for one in lost[:5]]
        assert rows[0][0] == "what is it?" and rows[2][0] == lost[2].query
        assert rows[0][2] == f"{lost[0].before:.3f} → {lost[0].after:.3f}"

    def test_where_less_is_better_a_rise_is_a_loss(self, report: Report) -> None:
        rows = self.losses(report, "unjudged@5", 3)
        assert rows and all(row[-2].startswith("+") for row in rows)

    def test_a_query_and_an_item_of_one_id_have_names_of_their_own(self, report: Report) -> None:
        """A query was called by the title of the document with its id, and a document by the query's text."""
        assert self.losses(report, "ndcg@5", 1, names={"q20": "a film"})[0][0] == "q20"
        moved = next(move.item for one in report.changes if one.query == "q20" for move in one.moves)
        rows = self.losses(report, "ndcg@5", 1, query_texts={moved: "what is it?"})
        assert moved in rows[0][-1] and "what is it?" not in rows[0][-1]

    def test_warnings_conventions_and_provenance_are_there(self, report: Report) -> None:
        given = {"plan": "rankjury.toml", "dialect": "trec_eval", "made": "2026-01-02T03:04:05Z"}
        summary = to_comment(replace(report, provenance=given))
        for warning in report.warning_lines:
            assert escape_text(warning, 500) in summary
        assert "`ndcg@5`: `ndcg(gain=linear," in summary
        assert summary.splitlines()[-1] == (
            f"<sub>rankjury {rankjury.__version__} · plan rankjury.toml · dialect trec_eval · made "
            "2026-01-02T03:04:05Z · 200 resamples, seed 0</sub>"
        )

    def test_a_report_needs_nothing_but_systems(self, report: Report) -> None:
        form = report.to_json()
        bare = Report.from_json({"schema": form["schema"], "systems": form["systems"]})
        assert tables(to_comment(bare))[0][0] == ["measure", "system", "mean [95 %]", "n"]

    def test_a_system_without_a_measure_has_no_row_of_it(self, report: Report) -> None:
        less = replace(report, systems={**report.systems, "third": report.systems["third"].only(["unjudged@5"])})
        rows = summary_table(less, ["ndcg@5"]).texts
        assert [row[1] for row in rows] == ["old (baseline)", "new"]


def check_tame(summary: str, longest: int = LONGEST) -> None:
    """Nothing but rankjury's own structure: no link, picture, tag, mention or reference; no table broken."""
    assert len(summary) <= longest
    for token in tokens(summary):
        assert token.type not in {"link_open", "image", "footnote_ref", "s_open"}, token
        if token.type in {"html_inline", "html_block"}:
            tags = re.findall("<[^>]*>", token.content)
            assert all(OWN_TAGS.fullmatch(tag) for tag in tags), token.content
    assert not re.search("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", summary)
    shown = unescape(re.sub("<[^>]*>|`[^`]*`", "", summary))
    assert not REFERENCES.search(re.sub("^### ", "", shown, flags=re.MULTILINE))
    for table in tables(summary):
        assert len({len(row) for row in table}) == 1


class TestNames:
    @pytest.mark.parametrize("start", range(0, len(HOSTILE), 3))
    def test_hostile_names_of_everything(self, start: int) -> None:
        report = small(tuple(HOSTILE[start : start + 3]), tuple(HOSTILE), HOSTILE[start])
        held = with_verdicts(report)
        assert held.queries is not None
        changed = replace(
            held,
            provenance={"name": HOSTILE[start], "plan": HOSTILE[start + 1], "made": HOSTILE[start + 2]},
            warnings=(*held.warnings, *as_warnings(HOSTILE, "test")),
            queries=replace(held.queries, query_texts=dict.fromkeys(held.queries.ids, HOSTILE[start + 1])),
        )
        summary = to_comment(changed)
        check_tame(summary)
        rendered = READER.render(summary)
        assert rendered.count("<table>") == len(tables(summary))
        assert "<script" not in rendered and "<img" not in rendered

    def test_names_are_read_as_they_are(self) -> None:
        """What GitHub shows is the name itself."""
        for name in (
            "a_b",
            "_a_",
            "`x`",
            "*x*",
            "<b>",
            "a|b",
            "x & y &lt;",
            "[x](y)",
            "1 < 2 > 0",
            "$a$",
            "\\",
            "~~a~~",
        ):
            (paragraph,) = (one for one in READER.parse(f"- {escape_text(name)}") if one.type == "inline")
            shown = "".join(one.content for one in paragraph.children or ())
            assert shown == name

    @settings(max_examples=60, deadline=None)
    @given(name=st.text(max_size=400) | st.sampled_from(HOSTILE), other=st.text(max_size=60))
    def test_any_name(self, name: str, other: str) -> None:
        changed = replace(
            friendly(),
            slices=tuple(replace(part, name=name) for part in friendly().slices),
            changes=tuple(replace(one, query=other) for one in friendly().changes),
            warnings=tuple(as_warnings([name, other], "test")),
            provenance={"name": name, "plan": other},
        )
        check_tame(to_comment(changed))


class TestLength:
    def test_many_systems_measures_and_slices_are_cut_with_a_note(self, gated_report: Report) -> None:
        system = gated_report.systems["new"]
        labels = [f"ndcg@{k}" for k in range(1, 40)]
        entry = replace(
            system,
            estimates=dict.fromkeys(labels, system.estimates["ndcg@5"]),
            conventions={label: label for label in labels},
        )
        parts = [replace(part, name=f"{'[' * 200}{n}") for n in range(200) for part in gated_report.slices]
        many = replace(
            gated_report, systems={f"{'x' * 150}{n}": entry for n in range(30)}, slices=tuple(parts), changes=()
        )
        summary = to_comment(many)
        assert LONGEST * 0.9 < len(summary) <= LONGEST
        assert "Something was left out" in summary
        assert summary.splitlines()[-1].startswith("<sub>rankjury ")
        assert summary.count("<details>") == summary.count("</details>")
        check_tame(summary)

    def test_ten_thousand_targets(self, gated_report: Report) -> None:
        gate = gated_report.needed_section(Gate)
        failed = next(one for one in gate.verdicts if one.outcome == "fail")
        one = replace(failed, target=replace(failed.target, name="&" * 500))
        summary = to_comment(gated_report.with_sections(replace(gate, verdicts=(one,) * 10_000)))
        assert len(summary) <= LONGEST
        assert "10,000 fail" in summary and "Something was left out" in summary

    def test_what_fits_is_not_cut(self, gated_report: Report) -> None:
        assert "Something was left out" not in to_comment(gated_report)
