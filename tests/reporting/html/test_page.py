"""The page as text: everything that the report holds is there, in order, escaped, and nothing asks the network."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from math import nan

import numpy as np
import polars as pl
import pytest

import rankjury
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import as_warnings
from rankjury.labeling.keywords.partial_match import PartialMatches
from rankjury.measures.measure import Measure
from rankjury.plan.parse import read_plan
from rankjury.plan.run import Outcome, execute_plan
from rankjury.recsys.sections import Interactions
from rankjury.reporting.html import cell_html, embed_json, page_script, page_style, visible_text
from rankjury.reporting.html.headline import headline_notes, headline_table
from rankjury.reporting.html.page import render_page, slice_tables
from rankjury.reporting.html.query_data import QueryDetails, select_cases
from rankjury.reporting.sections.interactions import windows_table
from rankjury.reporting.tables import TableCell
from rankjury.reporting.writers.html import to_html
from tests.reporting.html.unpacking import pieces
from tests.reporting.small import HOSTILE, small
from tests.reporting.test_interactions import recommended

SAMPLES = rankjury.__path__[0] + "/plan/samples"


@pytest.fixture(scope="module")
def movies() -> Outcome:
    return execute_plan(read_plan(f"{SAMPLES}/movies/rankjury.toml"))


@pytest.fixture(scope="module")
def driving() -> Outcome:
    return execute_plan(read_plan(f"{SAMPLES}/driving/rankjury.toml"))


class Elements(HTMLParser):
    """What stands in a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._within: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._within.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._within and self._within.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self._within[-1:]):
            self.texts.append(data)

    def sections(self) -> list[str]:
        return [attributes["id"] or "" for tag, attributes in self.found if tag == "section" and "id" in attributes]


def numbers_in(text: str) -> Iterator[float]:
    for found in re.findall(r"[−+]?\d[\d,]*\.?\d*", text):
        yield float(found.replace("−", "-").replace(",", ""))


class TestPage:
    def test_sections_stand_in_the_order_of_the_questions(self, movies: Outcome) -> None:
        found = Elements(to_html(movies.report, movies.gate)).sections()
        wanted = ["summary", "headline", "slices", "queries", "examples", "curves", "first_scores", "space"]
        assert found == [*wanted, "provenance", "warnings", "query"]

    def test_contents_name_the_sections(self, movies: Outcome) -> None:
        page = to_html(movies.report, movies.gate)
        names = dict(re.findall(r'<li><a href="#(\w+)">([^<]+)</a></li>', page))
        assert list(names) == Elements(page).sections()[:-1], "the query alone is not in the contents"
        headings = dict(re.findall(r'<h2 id="(\w+)-title"[^>]*>([^<]+)</h2>', page))
        assert names == {name: headings[name] for name in names}, "headings and contents use the same words"

    def test_it_is_small_without_queries(self, movies: Outcome, driving: Outcome) -> None:
        for outcome in (movies, driving):
            assert len(render_page(replace(outcome.report, queries=None)).encode()) < 160_000

    def test_it_asks_nothing_of_the_network(self, driving: Outcome) -> None:
        page = to_html(driving.report, driving.gate)
        for _, attributes in Elements(page).found:
            for name in ("src", "href", "action", "srcset", "poster", "data", "xlink:href"):
                value = attributes.get(name) or ""
                assert value.startswith("#") or value in ("", "data:,")
            assert not any(name.startswith("on") or name == "style" for name in attributes)
        assert "url(" not in page_style()
        assert "@import" not in page_style()
        assert not re.search(r"https?://", page_script())

    def test_the_policy_lets_only_its_own_script_run(self, movies: Outcome) -> None:
        page = to_html(movies.report)
        policy = next(one["content"] for tag, one in Elements(page).found if one.get("http-equiv"))
        assert policy is not None
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        assert "unsafe" not in policy

    def test_equal_reports_give_equal_pages(self, movies: Outcome) -> None:
        assert to_html(movies.report) == to_html(movies.report)

    def test_a_log_is_shown_with_its_windows_cutoff_times_and_candidates(self) -> None:
        report = recommended()
        page = Elements(to_html(report))
        assert page.sections()[:4] == ["summary", "headline", "interactions", "slices"]
        text = " ".join(" ".join(page.texts).split())
        about = report.needed_section(Interactions)
        assert all(time and time in text for time in about.cutoff_times.values())
        assert set(about.cutoff_times) == {"validation", "test"}
        assert "candidates: 40 items of the items file, less what a user took in training" in text
        for row in windows_table(about).texts:
            assert " ".join(row) in text

    def test_a_log_without_times_has_no_cutoffs(self) -> None:
        text = to_html(recommended("popularity", baseline=None, titles=False, dates=False))
        assert "random split, " in text and "cut-off times" not in text

    def test_every_form_of_report_has_a_page(self) -> None:
        plain = rankjury.compare({"q": {"a": 1}}, {"one": {"q": ["a"]}, "two": {"q": ["b"]}}, ["rr"])
        page = to_html(plain)
        assert "one" in page
        assert pieces(page)["blocks"] == []
        assert pieces(page)["table"]["ids"] == ["q"]

    def test_warnings_provenance_and_conventions_stand_in_full(self, driving: Outcome) -> None:
        text = "".join(Elements(to_html(driving.report)).texts)
        for warning in driving.report.warning_lines:
            assert warning in text
        for system in driving.report.systems.values():
            for spelling in system.conventions.values():
                assert Measure.parse(spelling).spelled_out().partition("@")[0] in text

    def test_keywords_that_results_have_and_lack_go_with_the_queries(self, driving: Outcome) -> None:
        held = [one for block in pieces(to_html(driving.report))["blocks"] for one in block["keywords"][0] if one]
        looked = driving.report.sections_of(PartialMatches)["embedding"].to_json()["queries"]
        assert [one["asked"] for one in held] == [one["keywords"] for one in looked]

    def test_the_script_knows_who_is_compared_with_whom(self, movies: Outcome) -> None:
        about = pieces(to_html(movies.report))["about"]
        assert about["systems"][about["baseline"]] == "denseanchor"
        assert [about["systems"][place] for place in about["compared"]] == ["combined"]
        assert about["golds"] == ["overall", "content", "vibes"]
        assert about["gold_of"] == [0, 1, 2, 0]


class TestTables:
    def test_the_headline_is_what_the_report_found(self, movies: Outcome) -> None:
        report = movies.report
        table = headline_table(report, report.headline)
        cells = list(zip(*(row[1:] for row in table.rows), strict=True))
        compared = {(one.system, one.measure): one for one in report.comparisons}
        for name, of_system in zip(report.systems, cells, strict=True):
            for label, cell in zip(report.headline, of_system, strict=True):
                estimate, one = report.estimates[name][label], compared.get((name, label))
                mean, *more = cell.text.split("\n")
                assert list(numbers_in(mean)) == pytest.approx([estimate.mean, *(estimate.ci or ())], abs=6e-4)
                assert bool(more) == (one is not None)
                if one is not None:
                    assert next(numbers_in(more[0])) == pytest.approx(one.difference, abs=6e-4)
                    assert (cell.style == "noise") == (not one.is_significant(report.level))

    def test_measures_are_rows_and_their_conventions_are_small(self, movies: Outcome) -> None:
        table = headline_table(movies.report, movies.report.headline)
        assert [row[0].text for row in table.rows] == ["ndcg@5\ngain=exp", "hits@5\n= recall@5", "rr@5"]
        assert table.header[1] == "denseanchor (baseline)\nagainst overall" and table.header[3].endswith("vibes")

    def test_two_systems_have_a_column_for_each_value(self) -> None:
        queries = [f"q{number}" for number in range(12)]
        gold = {query: {"a": 1} for query in queries}
        runs = {"old": {query: ["b", "a"] for query in queries}, "new": {query: ["a", "b"] for query in queries}}
        table = headline_table(rankjury.compare(gold, runs, ["rr", "rr(self=drop)"]), ["rr"])
        assert table.header == ["measure", "old (baseline)", "new", "difference", "p", "better / equal / worse"]
        ((name, old, new, difference, p, tally),) = table.rows
        assert [cell.text.split(" ")[0] for cell in (name, old, new)] == ["rr", "0.5000", "1.0000"]
        assert difference.text.startswith("▲ +0.5") and difference.style == "better"
        assert float(p.text.lstrip("<")) < 0.05 and tally.text == "12 / 0 / 0"

    @pytest.mark.parametrize(("systems", "first"), [(3, "measure"), (7, "measure"), (8, "system"), (30, "system")])
    def test_no_table_has_more_columns_than_a_page_has_room_for(self, systems: int, first: str) -> None:
        runs = {f"s{number}": {"q": ["a"], "r": ["b"]} for number in range(systems)}
        report = rankjury.compare({"q": {"a": 1}, "r": {"a": 1}}, runs, ["rr", "recall@5", "ndcg@5"])
        table = headline_table(report, report.labels)
        assert table.header[0] == first and len(table.header) <= 8
        assert len(table.rows) == (3 if first == "measure" else systems)

    def test_p_before_correction_is_there_where_only_it_agrees_with_the_interval(self, movies: Outcome) -> None:
        report = replace(movies.report, systems={n: movies.report.systems[n] for n in ("denseanchor", "combined")})
        found = {row[0].text: row[4].text for row in headline_table(report, report.headline).rows}
        assert "before correction" in found["rr@5"] and "before" not in found["hits@5\n= recall@5"]

    def test_the_first_screen_says_the_summary_and_the_verdicts(self, movies: Outcome) -> None:
        report = movies.report
        gate = rankjury.gate(report, "ndcg(gain=exp)@5 >= 0", "ndcg(gain=exp)@5 >= 0.99")
        page = to_html(report, gate)
        first = page.partition('id="summary"')[2].partition("</section>")[0]
        texts = " ".join(Elements(f"<section {first}").texts)
        assert all(sentence in texts for sentence in report.summary) and gate.sentence in texts
        assert first.count('class="badge fail">FAIL<') == first.count('class="badge pass">PASS<') > 0
        assert "arget" not in to_html(report).partition('id="queries"')[0].partition("<body>")[2]

    def test_undefined_queries_are_counted_under_the_table(self) -> None:
        runs = {"one": {"q": ["a"], "r": ["a"]}, "two": {"q": ["a"]}}
        report = rankjury.compare({"q": {"a": 1}, "r": {"a": 0}}, runs, ["ndcg@5", "rr"])
        assert any(
            "Undefined for 1 query" in note and "ndcg@5" in note for note in headline_notes(report, report.labels)
        )

    def test_a_measure_that_is_not_tested_is_not_called_not_different(self) -> None:
        report = small()
        assert {one.measure for one in report.comparisons if one.p is None} == {"unjudged@5", "num_rel_ret"}
        noted = [
            any("not tested" in note for note in headline_notes(report, [label])) for label in ("ndcg@5", "unjudged@5")
        ]
        assert noted == [False, True]

    def test_cells_are_escaped_and_marked(self) -> None:
        assert cell_html(TableCell("<b> [1, 2]")) == '&lt;b&gt; <span class="small">[1, 2]</span>'
        assert cell_html(TableCell("<b> [1, 2]"), "text") == '<bdi class="name">&lt;b&gt; [1, 2]</bdi>'
        assert cell_html(TableCell("FAIL", "fail")) == '<span class="badge fail">FAIL</span>'
        assert cell_html(TableCell("0.5 ▲", "better")) == '<b class="better">0.5 ▲</b>'
        assert 'class="difference worse">−1 <span class="small">[−2, &lt;]</span>' in cell_html(
            TableCell("1\n−1 [−2, <]\np 1", "worse")
        )
        bold = '<span class="mean">1</span> <span class="small">[0, 2]</span>'
        assert cell_html(TableCell("1 [0, 2]"), strong=True) == bold
        assert (
            cell_html(TableCell("1 [0, 2]\n+1", "better"), strong=True)
            == f'{bold}<br><span class="difference better">+1</span>'
        )
        assert "difference" not in cell_html(TableCell("bm25\nagainst gold", "baseline"), "text")

    def test_means_are_bold(self, movies: Outcome) -> None:
        page = to_html(movies.report)
        headline = page.partition('id="headline-table"')[2].partition("</table>")[0]
        head, *rows = headline.split("<tr")[1:]
        assert all(row.count('<span class="mean">') == len(movies.report.systems) for row in rows)
        assert "mean" not in head

    def test_slices_come_worst_first(self, movies: Outcome) -> None:
        report, label = movies.report, movies.report.headline[0]
        tables, _, _ = slice_tables(report, [label], 10**6)
        gains = {part.name: min(one.gain for one in part.beside if one.measure == label) for part in report.slices}
        assert [row[0].text for row in tables[label].rows] == sorted(gains, key=lambda name: (gains[name], name))
        assert len(gains) == 8

    def test_every_measure_that_slices_have_has_a_table_of_them(self) -> None:
        """The page showed the first measure alone."""
        report = recommended()
        tables, cut, omitted = slice_tables(report, list(report.headline), 10**6)
        known = {label for part in report.slices for of in part.estimates.values() for label in of}
        assert set(tables) == known and (cut, omitted) == (0, 0)
        for number, (label, table) in enumerate(tables.items()):
            means = {part.name: part.estimates for part in report.slices}
            assert {row[0].text for row in table.rows} == set(means)
            assert any("[" in cell.text for row in table.rows for cell in row) == (number == 0)
            systems = table.header[2:]
            for name, n, *cells in table.rows:
                over = sorted({means[name.text][system][label].n for system in systems})
                assert n.text == "–".join(f"{one:,}" for one in dict.fromkeys([over[0], over[-1]]))
                for system, cell in zip(systems, cells, strict=True):
                    estimate = means[name.text][system][label]
                    if estimate.n:
                        assert next(numbers_in(cell.text)) == pytest.approx(estimate.mean, abs=6e-4)
        page = to_html(report)
        for label in known:
            assert f'aria-label="Slices: {label}"' in page

    def test_slices_that_do_not_fit_are_counted_and_where_they_are_is_said(self) -> None:
        """They were dropped by a budget of bytes without a word."""
        report = recommended()
        slices = tuple(replace(part, name=f"{part.name} {n}") for part in report.slices for n in range(90))
        page = render_page(replace(report, slices=slices, queries=None))
        found = re.search(r"The tables have the first (\d+) of ([\d,]+) slices of each measure\. ([^<]*)<", page)
        assert found is not None
        assert int(found[1]) < len(slices) and found[2] == f"{len(slices):,}"
        assert "JSON" in found[3] and "CSV" in found[3]
        assert len(page.encode()) < 400_000

    def test_failures_come_first(self, movies: Outcome) -> None:
        label = movies.report.headline[0]
        mean = movies.report.estimates["combined"][label].mean
        gate = rankjury.gate(movies.report, f"{label} >= 0", f"{label} >= {mean:.3f}", f"{label} >= 0.9")
        page = Elements(to_html(movies.report, gate))
        outcomes = [classes.split()[1] for tag, found in page.found if tag == "span"
                    if (classes := found.get("class") or "").startswith("badge ")]  # fmt: skip
        assert outcomes[0] == gate.outcome  # in the title
        assert {one.outcome for one in gate.verdicts} == {"pass", "fail", "unsure"}
        wanted = sorted((one.outcome for one in gate.verdicts), key=("fail", "unsure", "pass").index)
        assert outcomes[-len(wanted) :] == wanted, "in the table"
        assert outcomes[1 : -len(wanted)] == wanted[: len(outcomes) - 1 - len(wanted)], (
            "as chips, as far as there is room"
        )

    def test_a_difference_beyond_chance_is_good_or_bad_by_the_measure(self) -> None:
        queries = [f"q{number}" for number in range(40)]
        gold = {query: {"a": 1} for query in queries}
        runs = {"old": {query: ["b", "a"] for query in queries}, "new": {query: ["a", "b"] for query in queries}}
        report = rankjury.compare(gold, runs, ["rr", "unjudged@2", "unjudged@1"])
        rr, unjudged = headline_table(report, ["rr", "unjudged@1"]).rows
        assert rr[3].style == "better" and unjudged[3].text.startswith("−")


class TestExamples:
    def test_five_that_went_best_and_five_that_went_worst(self, movies: Outcome) -> None:
        details, label = QueryDetails.of(movies.report), movies.report.headline[0]
        for system, best, worst in select_cases(details, label, lower=False):
            values = np.sort(movies.report.scores[system][label])
            assert [float(case.score) for case in best] == pytest.approx(values[::-1][:5].tolist(), abs=6e-4)
            assert [float(case.score) for case in worst] == pytest.approx(values[:5].tolist(), abs=6e-4)
            assert not {case.id for case in best} & {case.id for case in worst}

    def test_what_was_missed_is_relevant_and_did_not_come(self, movies: Outcome) -> None:
        details, label = QueryDetails.of(movies.report), movies.report.headline[0]
        answers = movies.report.answers
        assert answers is not None
        (system, _, worst), *_ = select_cases(details, label, lower=False, k=5)
        row = details.ids.index(worst[0].id)
        came = {one.item: one.rank for one in answers.systems[system].of(row)}
        gold = [one.item for one in answers.golds["overall"].of(row) if one.grade > 0]
        wanted = [(movies.report.names[item], f"{came[item]}") for item in gold if came[item] > 5]
        assert [(one.name, one.rank) for one in worst[0].missed] == wanted

    def test_few_queries_are_never_both(self) -> None:
        details = QueryDetails(["a", "b", "c"], [None] * 3, {"s": {"rr": np.array([1.0, nan, 0.5])}})
        ((_, best, worst),) = select_cases(details, "rr", lower=False)
        assert ([case.id for case in best], [case.id for case in worst]) == (["a"], ["c"])


@pytest.fixture(scope="module")
def hostile() -> Report:
    made = small(tuple(HOSTILE[:3]), tuple(HOSTILE[3:5]), prefix="<b>'\"&")
    assert made.queries is not None
    texts = {query: HOSTILE[place % len(HOSTILE)] for place, query in enumerate(made.queries.ids.cast(pl.String))}
    return replace(
        made,
        queries=replace(made.queries, query_texts=texts),
        warnings=tuple(as_warnings(HOSTILE, "test")),
        provenance={"name": HOSTILE[0], "meta": {HOSTILE[1]: HOSTILE[2]}},
    )


class TestHostile:
    def test_it_is_shown_as_text(self, hostile: Report) -> None:
        page = to_html(hostile)
        elements = Elements(page)
        assert {tag for tag, _ in elements.found} <= ALLOWED
        assert not any(name.startswith("on") for _, attributes in elements.found for name in attributes)
        text = "".join(elements.texts)
        assert "<script>alert('1')</script>" in text
        assert "\x00" not in page
        assert visible_text("null\x00byte") == "null␀byte"

    def test_nothing_ends_the_data(self) -> None:
        text = embed_json({"a": "</script><!--<script>"})
        assert "<" not in text
        assert ">" not in text

    def test_what_was_packed_is_as_it_was_given(self, hostile: Report) -> None:
        table = pieces(to_html(hostile))["table"]
        assert hostile.queries is not None
        assert table["ids"] == [str(query) for query in hostile.queries.ids]
        assert [text for text in table["texts"] if text and len(text) < 300] == [
            text for text in hostile.texts.values() if len(text) < 300
        ]


ALLOWED = {
    *(
        "html",
        "head",
        "wbr",
        "meta",
        "title",
        "link",
        "style",
        "script",
        "body",
        "a",
        "header",
        "div",
        "h1",
        "h2",
        "h3",
        "p",
        "nav",
    ),
    *(
        "ul",
        "ol",
        "li",
        "main",
        "noscript",
        "section",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "span",
        "bdi",
        "br",
        "code",
    ),
    *(
        "details",
        "summary",
        "figure",
        "figcaption",
        "label",
        "select",
        "option",
        "input",
        "button",
        "kbd",
        "dialog",
        "dl",
        "dt",
    ),
    *(
        "dd",
        "form",
        "footer",
        "svg",
        "g",
        "path",
        "text",
        "tspan",
        "desc",
        "circle",
        "rect",
        "line",
        "polyline",
        "polygon",
    ),
}
