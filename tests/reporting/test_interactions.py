"""Recommenders on the screen: counts of windows, figures with their signs, tiers and exposure, at any width."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import SystemFacts
from rankjury.plan.gold.interactions import below_chance
from rankjury.plan.parse import check_plan
from rankjury.plan.run import execute_plan
from rankjury.recsys.sections import Exposure, Interactions, WindowSize
from rankjury.reporting.console import print_report
from rankjury.reporting.sections.interactions import render_exposure, render_interactions, windows_table
from rankjury.reporting.tables import TextTable
from rankjury.reporting.writers.markdown import to_markdown
from tests.reporting.small import tables_of, with_estimates, with_only

USERS, ITEMS = 30, 40
DAY = 86_400
HEADLINE = ("ndcg@5", "recall(rel=4)@5", "coverage@5")
SYSTEMS = {
    "popularity": {"model": "popularity"},
    "recent": {"model": "popularity", "params": {"days": 20.0}},
    "content": {"model": "content"},
    "random": {"model": "random"},
}
"""Such as need no library of others."""


def interactions() -> list[tuple[int, int, int, int]]:
    """User, item, rating and time: three users in four take popular items every day; the last ones come late.

    Ids of users are ids of items as well. The last two items are taken in the last days alone.
    """
    found = []
    for day in range(60):
        for user in range(1, USERS + 1):
            if (user * 7 + day) % 4 == 0 and day >= (52 if user > USERS - 4 else 0):
                late = day >= 55 and user % 3 == 0
                item = ITEMS - user % 2 if late else 1 + (user * day + day * day) % (6 + (day + user) % (ITEMS - 8))
                found.append((user, item, 1 + (user + item) % 5, DAY * day + 60 * user + 1_600_000_000))
    return found


def write_log(folder: Path) -> None:
    """As MovieLens releases are: ratings.csv and movies.csv."""
    rows = "".join(f"{user},{item},{rating},{time}\n" for user, item, rating, time in interactions())
    (folder / "ratings.csv").write_text(f"userId,movieId,rating,timestamp\n{rows}")
    kinds = ("Drama", "Comedy", "Drama|Horror")
    movies = "".join(f"{item},Film number {item} (1999),{kinds[item % 3]}\n" for item in range(1, ITEMS + 1))
    (folder / "movies.csv").write_text(f"movieId,title,genres\n{movies}")


@cache
def recommended(*systems: str, baseline: str | None = "popularity", titles: bool = True, dates: bool = True) -> Report:
    """The report of a small log."""
    with TemporaryDirectory() as place:
        write_log(Path(place))
        log: dict[str, Any] = {"kind": "interactions", "path": f"{place}/ratings.csv"}
        if not dates:
            text = Path(place, "ratings.csv").read_text()
            Path(place, "ratings.csv").write_text(re.sub(r",[^,\n]+$", "", text, flags=re.MULTILINE))
            log["split"] = {"kind": "random", "fractions": [0.8, 0.1, 0.1]}
        content: dict[str, Any] = {
            "name": "small",
            "measures": ["ndcg", "recall(rel=4)", "coverage@5"],
            "cutoffs": [5, 10],
            "headline": list(HEADLINE),
            "gold": log | ({"items": f"{place}/movies.csv"} if titles else {}),
            "systems": {name: {"kind": "recommender", **SYSTEMS[name]} for name in systems or SYSTEMS},
            "statistics": {"resamples": 500},
        } | ({"baseline": baseline} if baseline else {})
        return execute_plan(check_plan(content, "small.toml", Path(place))).report


@pytest.fixture(scope="module")
def whole() -> Report:
    return recommended()


@pytest.fixture(scope="module")
def report(whole: Report) -> Report:
    """As it is shown: the headline alone."""
    return whole.only(HEADLINE)


def without_intervals(report: Report) -> Report:
    """As of a plan with no resamples."""
    for name, of in report.estimates.items():
        report = with_estimates(report, name, {label: replace(one, ci=None) for label, one in of.items()})
    return replace(report, resampling=None, baseline=None, comparisons=(), slices=())


def board(report: Report) -> TextTable:
    """Systems down, measures across; not the comparison, whose first column has the same name."""
    (found,) = tables_of(render_interactions(report, True), "system", *report.labels)
    return found


def tiers_rows(report: Report, label: str, *, ends: bool = False) -> list[list[str]]:
    """A measure by tier, with intervals or, as in a terminal, without."""
    tables = tables_of(render_interactions(report, not ends), "slice", "n")
    return next((one.texts for one in tables if one.title.startswith(f"{label} by tier")), [])


def exposure_table(report: Report) -> TextTable:
    (found,) = tables_of(render_exposure(report, False))
    return found


def shown(report: Report, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    capsys.readouterr()
    print_report(report)
    return capsys.readouterr().out


def test_windows_are_counted_as_by_hand(report: Report) -> None:
    """The cut-offs are times: nothing that happened at the same one is parted."""
    rows = sorted(interactions(), key=lambda row: row[3])
    first, second = (report.needed_section(Interactions).cutoffs[name] for name in ("validation", "test"))
    parts = {
        "train": [row for row in rows if row[3] < first],
        "validation": [row for row in rows if first <= row[3] < second],
        "test": [row for row in rows if row[3] >= second],
    }
    before = {place: {row[place] for row in parts["train"]} for place in (0, 1)}
    windows = windows_table(report.needed_section(Interactions))
    header, cells = windows.header, windows.texts
    assert header[:4] == ["window", "rows", "users", "items"] and len(header) == 7
    for (name, part), row in zip(parts.items(), cells, strict=True):
        distinct = [{one[place] for one in part} for place in (0, 1)]
        fresh = ["–", "–"] if name == "train" else [str(len(distinct[place] - before[place])) for place in (0, 1)]
        assert row[:6] == [name, str(len(part)), *(str(len(one)) for one in distinct), *fresh]
        assert re.fullmatch(r"2020-\d\d-\d\d – 2020-\d\d-\d\d", row[6])
    assert cells[1][4] == "2" and cells[2][5] == "2"


def test_a_log_without_times_has_no_dates() -> None:
    report = recommended("popularity", baseline=None, titles=False, dates=False)
    cells = windows_table(report.needed_section(Interactions)).texts
    assert [row[0] for row in cells] == ["train", "validation", "test"]
    assert [row[-1] for row in cells] == ["", "", ""]


def test_large_counts_have_commas_and_unknown_ones_a_dash(report: Report) -> None:
    windows = {"train": WindowSize(rows=1_234_567, items=5)}
    cells = windows_table(replace(report.needed_section(Interactions), windows=windows)).texts
    assert cells == [["train", "1,234,567", "–", "5", "–", "–", ""]]


class TestBoard:
    def test_figures_are_the_reports(self, report: Report) -> None:
        found = board(report)
        assert found.header == ["system", *HEADLINE] and [row[0] for row in found.texts] == list(SYSTEMS)
        for name, *cells in found.texts:
            for label, cell in zip(HEADLINE, cells, strict=True):
                assert cell.split()[0] == f"{report.estimates[name][label].mean:.3f}"

    def test_the_first_measure_has_its_interval(self, report: Report) -> None:
        low, high = report.estimates["popularity"]["ndcg@5"].ci or (0.0, 0.0)
        mean = report.estimates["popularity"]["ndcg@5"].mean
        rows = board(report).texts
        assert rows[0][1] == f"{mean:.3f} [{low:.3f}, {high:.3f}]"
        assert all("[" not in cell for row in rows for cell in row[2:])

    def test_signs_are_of_corrected_tests_alone(self, report: Report) -> None:
        rows = board(report).texts
        found = {(row[0], label): cell[-1] for row in rows for label, cell in zip(HEADLINE, row[1:], strict=True)}
        signs = set()
        for one in report.comparisons:
            assert one.p_holm is not None
            beyond = one.measure.split("@")[0] in ("coverage", "novelty", "diversity")
            wanted = ("↑" if beyond else "▲") if one.difference > 0 else ("↓" if beyond else "▼")
            assert (found[one.system, one.measure] == wanted) == (one.p_holm <= 0.05), one
            signs.add(found[one.system, one.measure])
        assert signs & {"▲", "▼"} and signs & {"↑", "↓"}
        assert not any(found["popularity", label] in "▲▼↑↓" for label in HEADLINE)

    def test_undefined_is_a_dash(self, report: Report) -> None:
        for place, label in enumerate(HEADLINE, 1):
            nothing = replace(report.estimates["recent"][label], n=0, ci=None)
            assert board(with_estimates(report, "recent", {label: nothing})).texts[1][place].split()[0] == "–"


class TestTiers:
    def test_every_tier_stands_once_in_order(self, report: Report) -> None:
        first = tables_of(render_interactions(report, False), "slice", "n")[0]
        rows = tiers_rows(report, "ndcg@5")
        assert first.title.startswith("ndcg@5 by tier") and first.header == ["slice", "n", *SYSTEMS]
        kinds = list(dict.fromkeys(row[0].partition("=")[0] for row in rows))
        assert kinds == ["activity", "user", "item.popularity", "item"]
        assert [row[0] for row in rows if row[0].startswith("item.popularity")] == [
            f"item.popularity={tier}" for tier in ("head", "torso", "tail")
        ]

    def test_tiers_of_users_part_them(self, report: Report) -> None:
        numbers: dict[str, int] = {}
        for name, n, *_ in tiers_rows(report, "ndcg@5"):
            kind = name.partition("=")[0]
            numbers[kind] = numbers.get(kind, 0) + int(n)
        assert numbers["activity"] == numbers["user"] == 30
        assert numbers["item.popularity"] >= 30  # a user may have taken items of several

    def test_figures_of_a_tier_are_means_of_its_users(self, report: Report) -> None:
        """Cold by hand: fewer than ten interactions in training."""
        cut = report.needed_section(Interactions).cutoffs["validation"]
        taken = [row[0] for row in interactions() if row[3] < cut]
        scores = report.scores["popularity"]
        values = dict(zip(scores.queries, scores["ndcg@5"].tolist(), strict=True))
        cold = [value for user, value in values.items() if taken.count(int(user)) < 10]
        row = next(row for row in tiers_rows(report, "ndcg@5") if row[0] == "user=cold")
        assert row[1:3] == [str(len(cold)), f"{sum(cold) / len(cold):.3f}"]

    def test_a_figure_over_all_users_has_no_tiers(self, whole: Report) -> None:
        assert tiers_rows(whole, "coverage@5", ends=True) == []

    def test_a_tier_in_which_nothing_is_defined(self, report: Report) -> None:
        first = report.slices[0]
        bare = {name: {label: replace(one, n=0) for label, one in of.items()} for name, of in first.estimates.items()}
        found = tiers_rows(replace(report, slices=(replace(first, estimates=bare, beside=()),)), "ndcg@5")
        assert found == [[first.name, "0", "–", "–", "–", "–"]]


class TestExposure:
    TENTHS = tuple(part / 10 for part in range(1, 11))

    def made(self, shares: tuple[float, ...], **other: Any) -> Exposure:
        taken = (0.5, 0.3, 0.2, *(0.0,) * 7)
        return replace(Exposure(10, 300, self.TENTHS, shares, taken, 1_234, 5_000), **other)

    def test_shares_are_of_all_that_is_at_least_as_popular(self, report: Report) -> None:
        one = self.made((0.25, 0.25, 0.1, 0.1, 0.1, 0.2, 0.0, 0.0, 0.0, 0.0))
        found = exposure_table(with_only(report, Exposure, {"recent": one}))
        header, rows = found.header, found.texts
        assert [re.findall(r"\d+", name) for name in header[1:4]] == [["10"], ["20"], ["50"]]
        figures = [[re.sub(r"\s", "", cell) for cell in row] for row in rows]
        assert figures[0][:4] == ["recent", "25%", "50%", "80%"] and rows[0][-1] == "1,234"
        assert figures[1][1:4] == ["50%", "80%", "100%"] and rows[1][-1] == "of 5,000"

    def test_the_whole_log(self, report: Report) -> None:
        """Popularity recommends what is popular, an order by chance anything."""
        rows = exposure_table(report).texts
        assert [row[0] for row in rows[:-1]] == list(SYSTEMS)
        shares = {row[0]: [int(re.sub(r"\D", "", cell)) for cell in row[1:4]] for row in rows}
        assert all(share == sorted(share) for share in shares.values())
        assert shares["popularity"][0] > 2 * shares["random"][0]
        assert int(rows[0][-1]) < int(rows[3][-1]) and rows[-1][-1] == "of 40"

    @pytest.mark.parametrize("items", [3, 7, 15, 25, 45, 99, 1000])
    def test_small_catalogues_have_the_nearest_shares(self, report: Report, items: int) -> None:
        parts = min(10, items)
        edges = tuple(round(items * part / parts) / items for part in range(1, parts + 1))
        one = Exposure(10, 300, edges, (1 / parts,) * parts, (1 / parts,) * parts, 3, items)
        found = exposure_table(with_only(report, Exposure, {"recent": one}))
        header, rows = found.header, found.texts
        assert len(header) == len(rows[0]) and len(header) >= 4 and header[-1] == "different items"
        assert len(set(header)) == len(header)

    def test_systems_without_exposure_are_left_out(self, report: Report) -> None:
        kept = {name: one for name, one in report.sections_of(Exposure).items() if name != "content"}
        rows = exposure_table(with_only(report, Exposure, kept)).texts
        assert [row[0] for row in rows[:-1]] == ["popularity", "recent", "random"]


class TestBelowChance:
    """Sanity that a report must not hide."""

    def told(self, report: Report, **means: float) -> list[str]:
        for name, mean in means.items():
            report = with_estimates(report, name, {"ndcg@5": replace(report.estimates[name]["ndcg@5"], mean=mean)})
        return list(below_chance(report, "ndcg@5"))

    def test_a_system_below_a_random_order_is_named_with_both_values(self, report: Report) -> None:
        notes = self.told(report, content=0.0213, random=0.0529)
        assert len([note for note in notes if "random order" in note]) == 1
        assert notes[0].startswith("content ") and "0.0213" in notes[0] and "0.0529" in notes[0]

    def test_equal_is_no_better(self, report: Report) -> None:
        assert self.told(report, content=0.05, random=0.05)[0].startswith("content is not better than a random order")

    def test_no_warning_above_a_random_order(self, report: Report) -> None:
        assert not any("random order" in note for note in self.told(report, content=0.06, random=0.05))

    def test_an_expectation_is_a_random_order_too(self, report: Report) -> None:
        """The kind of system that scores by its exact expectation."""
        facts = {name: one for name, one in report.sections_of(SystemFacts).items() if name != "random"}
        unnamed = with_only(report, SystemFacts, facts)
        expected = replace(unnamed.systems["random"], random=True)
        named = replace(unnamed, systems={**unnamed.systems, "random": expected})
        assert any("random order" in note for note in self.told(named, content=0.01, random=0.05))
        assert not any("random order" in note for note in self.told(unnamed, content=0.01, random=0.05))

    def test_no_warning_without_a_random_order(self) -> None:
        report = recommended("popularity", "content").only(HEADLINE)
        assert not any("random order" in note for note in below_chance(report, "ndcg@5"))

    def test_systems_not_better_than_popularity_are_named(self, report: Report) -> None:
        """Not the random order, of which nobody expects it."""
        (note,) = [note for note in below_chance(report, "ndcg@5") if "popularity" in note and "not shown" in note]
        assert "recent" in note and "ndcg@5" in note and "random" not in note

    def test_no_warning_where_a_gain_is_shown(self, report: Report) -> None:
        won = [replace(one, mean=one.baseline_mean + 0.2, p_holm=0.001) for one in report.comparisons]
        notes = list(below_chance(replace(report, comparisons=tuple(won)), "ndcg@5"))
        assert not any("not shown" in note for note in notes)

    def test_worse_systems_are_distinguished_from_undecided_ones(self, report: Report) -> None:
        found = [note for note in below_chance(report, "ndcg@5") if "popularity" in note]
        assert found == [
            "worse than popularity on ndcg@5: content",
            "not shown to be better than popularity on ndcg@5: recent",
        ]

    def test_only_popularity_is_a_yardstick(self) -> None:
        report = recommended("content", "popularity", baseline="content").only(HEADLINE)
        assert list(below_chance(report, "ndcg@5")) == []


class TestScreen:
    @pytest.mark.parametrize("columns", [60, 80, 120])
    def test_nothing_is_wider_than_the_screen(
        self, report: Report, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
    ) -> None:
        out = shown(report, capsys, monkeypatch, columns)
        assert max(map(len, out.splitlines())) <= columns and "…:" not in out.replace("item…:", "")
        for part in ("temporal split", "fitted on train", "40 items", *SYSTEMS, *HEADLINE, "(training)"):
            assert part in out, part

    def test_wide(self, report: Report, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        lines = shown(report, capsys, monkeypatch, 120).splitlines()
        mean = f"{report.estimates['popularity']['ndcg@5'].mean:.3f}"
        assert any(re.match(rf"popularity +{mean} \[0\.\d+, 0\.\d+\]", line) for line in lines)
        assert any("95 % interval over users" in line for line in lines)
        assert any(re.match(r"activity=low +24 ", line) for line in lines)
        assert any(line.startswith("activity: low at most 12") for line in lines)
        assert any("only held-out items of the tier count" in line for line in lines)

    @pytest.mark.parametrize("columns", [60, 80])
    def test_wide_tables_are_parted_and_keep_their_first_columns(
        self, report: Report, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
    ) -> None:
        """Nine systems: every figure is there under its name, and every line says what it is of."""
        names = {f"system-{place}": list(SYSTEMS)[place % 4] for place in range(9)}
        many = replace(
            report,
            systems={name: report.systems[of] for name, of in names.items()},
            slices=tuple(
                replace(part, estimates={name: part.estimates[of] for name, of in names.items()}, beside=())
                for part in report.slices
            ),
            baseline=None,
            comparisons=(),
        )
        out = shown(many, capsys, monkeypatch, columns)
        assert max(map(len, out.splitlines())) <= columns
        cells = [line.split() for line in out.splitlines()]
        heads = [line for line in cells if line[:2] == ["slice", "n"]]
        assert len(heads) > 1 and [name for head in heads for name in head[2:]] == list(names)
        for part in report.slices:
            found = [line for line in cells if line[:1] == [part.name]]
            wanted = [f"{part.estimates[of]['ndcg@5'].mean:.3f}" for of in names.values()]
            assert [figure for line in found for figure in line[2:]] == wanted
        for part in (*HEADLINE, "2020-11-06 – 2020-11-11"):
            assert part in out

    def test_users_are_never_called_queries(
        self, report: Report, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        out = shown(report, capsys, monkeypatch, 120)
        assert "users" in out and "quer" not in out

    def test_one_system_without_baseline(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        alone = recommended("popularity", baseline=None, titles=False, dates=False).only(HEADLINE)
        out = shown(alone, capsys, monkeypatch, 80)
        assert "random split" in out and "95 % interval over users" in out
        assert not re.search(r"▲|▼|better|worse|difference|None", out)
        assert re.search(r"^user=cold +\d+ +\d\.\d{3}$", out, re.MULTILINE)

    def test_without_intervals(
        self, report: Report, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        out = shown(without_intervals(report), capsys, monkeypatch, 80)
        assert not re.search(r"interval|\[|▲|▼|by tier", out)
        assert re.search(r"^recent +0\.\d+", out, re.MULTILINE)

    def test_without_exposures(
        self, report: Report, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        out = shown(with_only(report, Exposure, {}), capsys, monkeypatch, 80)
        assert "(training)" not in out and "activity=low" in out

    def test_what_models_learnt_from_is_told(
        self, report: Report, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        about = replace(report.needed_section(Interactions), fit_on="train+validation", window="test")
        both = report.with_sections(about)
        assert "fitted on train and validation" in shown(both, capsys, monkeypatch, 120)


def test_users_never_have_the_name_of_the_item_with_their_id(whole: Report) -> None:
    """Users and items are numbered alike, and only items have titles."""
    text = to_markdown(whole.only(HEADLINE))
    losses = [line for line in text.splitlines() if re.match(r"\| \S+ \| 0\.\d+ → 0\.\d+ \|", line)]
    assert losses and "Film number" in text
    for line in losses:
        assert re.match(r"\| \d{1,2} \|", line), line
    assert {line.split("|")[1].strip() for line in losses} <= set(map(str, range(1, USERS + 1)))


class TestMarkdown:
    """The same as on the screen, and every measure."""

    def test_windows_tiers_and_exposure_are_there(self, whole: Report) -> None:
        text = to_markdown(whole)
        titles = re.findall(r"^### (.+)$", text, re.MULTILINE)
        assert titles[0] == "Compared with popularity" and titles[-3:] == ["Recommenders", "Exposure", "Systems"]
        bold = re.findall(r"^\*\*(.+)\*\*$", text, re.MULTILINE)
        by_tier = [title.split()[0] for title in bold if "by tier" in title]
        assert by_tier == ["ndcg@5", "recall(rel=4)@&#8203;5", "ndcg@10", "recall(rel=4)@&#8203;10"]
        assert bold[-1].startswith(
            f"Which share of the first {whole.sections_of(Exposure)['popularity'].k} recommendations"
        )
        for rows in (
            windows_table(whole.needed_section(Interactions)).texts,
            tiers_rows(whole, "recall(rel=4)@10", ends=True),
            exposure_table(whole).texts,
        ):
            for row in rows:
                assert f"| {' | '.join(row)} |" in text
        assert "\n\nactivity: low at most 12" in text
        assert "- warning: not shown to be better than popularity on ndcg@5: recent" in text

    def test_users_are_users(self, whole: Report) -> None:
        text = to_markdown(replace(whole, warnings=()))
        assert "interval over users" in text and "users better, equal, worse" in text and "quer" not in text

    def test_losses_are_of_the_first_measure_that_was_compared(self, whole: Report) -> None:
        later = replace(
            whole,
            comparisons=tuple(one for one in whole.comparisons if one.measure == "recall(rel=4)@5"),
            changes=tuple(one for one in whole.changes if one.measure == "recall(rel=4)@5"),
        )
        assert "on recall(rel=4)@&#8203;5" in to_markdown(later)

    def test_without_baseline_and_exposure(self) -> None:
        alone = recommended("popularity", baseline=None, titles=False, dates=False)
        text = to_markdown(with_only(alone, Exposure, {}))
        assert "### Recommenders" in text and "Compared" not in text and "▲" not in text and "Which share" not in text


def test_exposure_looks_as_deep_as_the_headline(whole: Report) -> None:
    """So that its items are those of coverage beside it."""
    one = whole.sections_of(Exposure)["popularity"]
    assert one.k == 5 and one.distinct / one.catalogue == pytest.approx(
        whole.estimates["popularity"]["coverage@5"].mean
    )
