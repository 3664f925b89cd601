"""Reports from gold and rankings: slices of queries and items, cautions, and digits that hang on nothing else."""

import json
import random
from typing import Any, ClassVar

import polars as pl
import pytest

import rankjury
import rankjury.core.types
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.evaluation.compare import assess
from rankjury.evaluation.evaluate import resolve_measures
from rankjury.evaluation.report import Report
from rankjury.evaluation.slices import SliceTable
from rankjury.evaluation.slices.groups import Attribute, parse_attributes
from rankjury.stats.resampling import Resampling

QUICK = Resampling(resamples=300, seed=4)
MEASURES = ["ndcg@10", "ap", "unjudged@5", "num_rel_ret", "gm_map"]
BY_POSITION = ["ndcg@10", "ap", "gm_map"]
Rows = list[tuple[str, str, float]]


def example(seed: int = 0, queries: int = 40) -> tuple[Rows, dict[str, Rows]]:
    """Graded gold; three systems with ties; the last lacks two queries and has one of its own."""
    chance = random.Random(seed)
    gold = [
        (f"q{q}", f"d{i}", float(chance.randrange(4))) for q in range(queries) for i in chance.sample(range(30), 12)
    ]
    systems = {
        name: [(f"q{q}", f"d{i}", chance.randrange(40) / 7) for q in asked for i in chance.sample(range(30), 15)]
        for name, asked in (("a", range(queries)), ("b", range(queries)), ("c", range(2, queries + 1)))
    }
    return gold, systems


GOLD, SYSTEMS = example()
TYPES = pl.DataFrame(
    {
        "query_id": [f"q{q}" for q in range(40)],
        "type": ["easy" if q % 3 else "hard" for q in range(40)],
        "length": list(range(40)),
    }
)
ITEMS = pl.DataFrame(
    {
        "item_id": [f"d{i}" for i in range(28)],
        "part": ["head" if i < 6 else "tail" for i in range(28)],
        "tags": [["x"] if i % 2 else ["x", "y"] for i in range(28)],
    }
)


def frame_of(rows: Rows, value: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["query_id", "item_id", value], orient="row")


def query_cuts(
    by: str | None = "type,length(quantiles=2),type*length(bins=20)", table: pl.DataFrame = TYPES
) -> SliceTable:
    return SliceTable(table, "query_id", "queries", parse_attributes(by) if by else None, "q.csv")


def item_cuts(by: str = "part,tags") -> SliceTable:
    return SliceTable(ITEMS, "item_id", "items", parse_attributes(by), "items.csv")


def assessed(
    measures: Any = MEASURES, gold: Any = None, systems: Any = None, baseline: str | None = "a", **options: Any
) -> Report:
    given = {name: frame_of(rows, "score") for name, rows in SYSTEMS.items()} if systems is None else systems
    rankings = {name: rankjury.as_ranking(run) for name, run in given.items()}
    options = {"resampling": QUICK, "slices": [query_cuts()], "item_slices": [item_cuts()]} | options
    truth = rankjury.as_gold(frame_of(GOLD, "grade") if gold is None else gold)
    return assess(truth, rankings, resolve_measures(measures, None, {}), baseline=baseline, **options)


def as_text(report: Report) -> str:
    return json.dumps(report.to_json(queries=True), sort_keys=True, allow_nan=False)


@pytest.fixture(scope="module")
def whole() -> Report:
    return assessed()


class TestDigits:
    def test_the_example_says_something(self, whole: Report) -> None:
        names = {part.name for part in whole.slices}
        assert {"type=hard", "length=q2", "type=easy*length<20", "item.part=tail", "item.part=(none)"} <= names
        assert len(whole.comparisons) == 10 and len(whole.changes) > 50 and whole.to_json()["worst_slices"]

    @pytest.mark.parametrize("seed", range(2))
    def test_the_order_of_rows(self, whole: Report, seed: int) -> None:
        def shuffled(frame: pl.DataFrame) -> pl.DataFrame:
            return frame.sample(fraction=1, shuffle=True, seed=seed)

        systems = {name: shuffled(frame_of(rows, "score")) for name, rows in SYSTEMS.items()}
        cuts = [query_cuts(table=shuffled(TYPES))]
        assert as_text(assessed(gold=shuffled(frame_of(GOLD, "grade")), systems=systems, slices=cuts)) == as_text(whole)

    @pytest.mark.parametrize("threads", [1, 2, 7])
    def test_the_number_of_threads_and_the_size_of_blocks(
        self, whole: Report, threads: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rankjury.core.types.os, "cpu_count", lambda: threads)
        monkeypatch.setattr(rankjury.core.types, "ROWS_PER_BLOCK", 50)
        monkeypatch.setattr("rankjury.stats.resampling._RESAMPLES_PER_PART", 64 * threads)
        assert as_text(assessed()) == as_text(whole)

    def test_other_measures(self, whole: Report) -> None:
        """All but the correction over all measures asked for."""

        def of_map(report: Report) -> Any:
            form = report.to_json(queries=True)
            only = [row for row in form["comparisons"] if row["measure"] == "ap"]
            for row in only:
                del row["p_holm"], row["p_bh"]
            return json.dumps(
                [
                    {name: system["measures"]["ap"] for name, system in form["systems"].items()},
                    only,
                    [row for row in form["changes"] if row["measure"] == "ap"],
                    [
                        [
                            part["slice"],
                            {name: system["measures"]["ap"] for name, system in part["systems"].items()},
                            [row for row in part["comparisons"] if row["measure"] == "ap"],
                        ]
                        for part in form["slices"]
                    ],
                    [row for row in form["worst_slices"] if row["measure"] == "ap"],
                ],
                sort_keys=True,
            )

        assert of_map(assessed(["ap"])) == of_map(whole) == of_map(assessed([*reversed(MEASURES), "rr"]))

    def test_other_systems_and_slices(self, whole: Report) -> None:
        alone = assessed(systems={name: frame_of(SYSTEMS[name], "score") for name in "ba"}, slices=[], item_slices=[])
        assert alone.estimates == {name: whole.estimates[name] for name in "ba"}

        def uncorrected(report: Report) -> list[Any]:
            rows = [one.to_json() for one in report.comparisons if one.system == "b"]
            return [row | {"p_holm": 0, "p_bh": 0} for row in rows]

        assert uncorrected(alone) == uncorrected(whole)

    def test_the_seed_is_of_account(self, whole: Report) -> None:
        other = assessed(resampling=Resampling(resamples=300, seed=5))
        assert other.estimates["a"]["ap"].mean == whole.estimates["a"]["ap"].mean
        assert other.estimates["a"]["ap"].ci != whole.estimates["a"]["ap"].ci


class TestItemSlices:
    def test_like_a_gold_restricted_by_hand(self, whole: Report) -> None:
        members = {
            "item.part=head": set(ITEMS.filter(pl.col("part") == "head")["item_id"]),
            "item.part=tail": set(ITEMS.filter(pl.col("part") == "tail")["item_id"]),
            "item.part=(none)": {"d28", "d29"},
            "item.tags=x": set(ITEMS["item_id"]),
            "item.tags=y": {f"d{i}" for i in range(0, 28, 2)},
            "item.tags=(none)": {"d28", "d29"},
        }
        found = {part.name: part for part in whole.slices if part.of == "items"}
        assert set(found) == set(members)
        for name, items in members.items():
            gold = frame_of([row for row in GOLD if row[1] in items], "grade")
            assert found[name].n == gold["query_id"].n_unique()
            inside = {of: frame_of([row for row in rows if row[1] in items], "score") for of, rows in SYSTEMS.items()}
            for label in MEASURES:
                ranked = inside if label in BY_POSITION else None
                by_hand = assessed([label], gold, ranked, slices=[], item_slices=[])
                for system, estimates in by_hand.estimates.items():
                    assert repr(found[name].estimates[system][label]) == repr(estimates[label]), (name, label)
                rows = [one.to_json() | {"p_holm": 0, "p_bh": 0} for one in by_hand.comparisons]
                beside = [one for one in found[name].beside if one.measure == label]
                assert [one.to_json() | {"p_holm": 0, "p_bh": 0} for one in beside] == rows

    def test_items_that_nobody_described_are_warned_of(self, whole: Report) -> None:
        assert any("items.csv: 2 of the gold's 30 ids are not here (d28 …)" in text for text in whole.warning_lines)

    def test_a_group_whose_queries_nobody_answered(self) -> None:
        gold = {"q1": {"a": 1}, "q2": {"b": 1}}
        table = pl.DataFrame({"item_id": ["a", "b"], "x": ["u", "v"]})
        cuts = [SliceTable(table, "item_id", "items", None, "i.csv")]
        report = assessed(["rr"], gold, {"s": {"q1": ["a"]}}, None, slices=[], item_slices=cuts)
        means = {part.name: part.estimates["s"]["rr"].mean for part in report.slices}
        assert means == {"item.x=u": 1.0, "item.x=v": 0.0}

    def test_whole_numbers_as_ids(self) -> None:
        gold = pl.DataFrame({"query_id": [1, 1, 2], "item_id": [7, 8, 7], "grade": [1, 1, 1]})
        table = pl.DataFrame({"item_id": [7, 8], "x": ["u", "v"]})
        cuts = [SliceTable(table, "item_id", "items", None, "i.csv")]
        report = assessed(["rr"], gold, {"s": {"1": [8, 7], "2": [7]}}, None, slices=[], item_slices=cuts)
        assert {part.name: (part.n, part.estimates["s"]["rr"].mean) for part in report.slices} == {
            "item.x=u": (2, 1.0),
            "item.x=v": (1, 1.0),
        }


class TestQuerySlices:
    def test_like_a_gold_of_those_queries(self, whole: Report) -> None:
        hard = set(TYPES.filter(pl.col("type") == "hard")["query_id"])
        by_hand = assessed(gold=frame_of([row for row in GOLD if row[0] in hard], "grade"), slices=[], item_slices=[])
        part = next(part for part in whole.slices if part.name == "type=hard")
        for name, estimates in by_hand.estimates.items():
            for label, estimate in estimates.items():
                found = part.estimates[name][label]
                assert (found.mean, found.n, found.std) == (estimate.mean, estimate.n, estimate.std)

    def test_without_a_baseline_beside_the_rest(self) -> None:
        report = assessed(["ap"], baseline=None, item_slices=[])
        assert not report.comparisons and "comparisons" not in report.to_json()
        gaps = [row for part in report.to_json()["slices"] for row in part["gaps"]]
        assert len(gaps) == 3 * len(report.slices) and all(row["p_holm"] >= row["p"] for row in gaps)

    def test_attributes_that_were_not_named(self) -> None:
        report = assessed(["ap"], slices=[query_cuts(None)], item_slices=[])
        assert [part.label for part in report.slices] == [
            "type=easy",
            "type=hard",
            *("length=q1 (0 to 9)", "length=q2 (10 to 19)", "length=q3 (20 to 29)", "length=q4 (30 to 39)"),
        ]

    def test_ids_that_do_not_match_stop_it(self) -> None:
        table = TYPES.with_columns(query_id=pl.Series([f"Q{n}" for n in range(40)]))
        with pytest.raises(DataError, match="40 ids are unknown to the gold, such as 'Q0'"):
            assessed(slices=[query_cuts(table=table)])


class TestCautions:
    def test_systems_that_answer_other_queries(self, whole: Report) -> None:
        cautions = [text for text in whole.warning_lines if "answer different queries" in text]
        assert cautions == [
            "a and c answer different queries (2 are answered by one of them only): aligned on the gold's 40"
        ]
        assert any(text.startswith("c: 2 judged queries are missing from the ranking") for text in whole.warning_lines)

    @pytest.mark.parametrize(("n", "text"), [(1, "one query: no interval"), (19, "19 queries: intervals"), (20, None)])
    def test_few_queries(self, n: int, text: str | None) -> None:
        gold, systems = {f"q{q}": {"a": 1} for q in range(n)}, {"s": {f"q{q}": ["a"] for q in range(n)}}
        warnings = assessed(["rr"], gold, systems, None, slices=[], item_slices=[]).warning_lines
        assert [warning.startswith(text) for warning in warnings] == [True] if text else warnings == []

    def test_undefined_everywhere_is_null(self) -> None:
        gold, run = {"q": {"a": 0}, "r": {"a": 0}}, {"q": ["a"], "r": ["a"]}
        report = assessed(["ap"], gold, {"s": run, "t": run}, "s", slices=[], item_slices=[]).to_json(queries=True)
        assert report["systems"]["s"]["measures"]["ap"]["mean"] is None
        assert report["comparisons"][0]["difference"] is None and report["comparisons"][0]["p"] is None
        assert report["queries"]["scores"] == {"s": {"ap": [None, None]}, "t": {"ap": [None, None]}}
        json.dumps(report, allow_nan=False)


class TestRequests:
    def test_a_baseline_that_is_not_there(self) -> None:
        with pytest.raises(UnknownName, match=r"unknown system 'bb'\. Did you mean b\?"):
            assessed(baseline="bb")

    def test_no_comparison_without_resampling(self) -> None:
        with pytest.raises(UsageError, match="a comparison needs confidence intervals"):
            assessed(resampling=None)

    def test_no_intervals(self) -> None:
        report = assessed(["ap"], baseline=None, resampling=None, slices=[], item_slices=[])
        assert report.estimates["a"]["ap"].ci is None and "resampling" not in report.to_json()


class TestSeveralGolds:
    """Slices of items are matched by name: a gold may judge groups that another does not."""

    GOLDS: ClassVar = {
        "x": {"q1": {"a": 1, "c": 1}, "q2": {"c": 1}},
        "y": {"q1": {"b": 1, "c": 1}, "q2": {"b": 1, "c": 1}},
    }
    RUNS: ClassVar = {"x": {"q1": ["a", "b", "c"], "q2": ["c"]}, "y": {"q1": ["b", "c"], "q2": ["c", "b"]}}

    @pytest.mark.parametrize("order", ["xy", "yx"])
    @pytest.mark.parametrize("resampling", [None, QUICK])
    def test_each_has_its_own_groups(self, order: str, resampling: Resampling | None) -> None:
        golds = {name: rankjury.as_gold(self.GOLDS[name]) for name in order}
        table = pl.DataFrame({"item_id": ["a", "b", "c"], "kind": ["first", "second", "third"]})
        cuts = SliceTable(table, "item_id", "items", [(Attribute("kind"),)], "table")
        report = assess(
            golds[order[0]],
            {name: rankjury.as_ranking(self.RUNS[name]) for name in order},
            resolve_measures(["recall@1"]),
            golds=golds,
            resampling=resampling,
            baseline="x" if resampling else None,
            item_slices=[cuts],
        )
        parts = {part.name: part for part in report.slices}
        found = {group: part.estimates for group, part in parts.items()}
        means = {(group, name): of[name]["recall@1"].mean for group, of in found.items() for name in of}
        assert means == {
            ("item.kind=first", "x"): 1.0,
            ("item.kind=third", "x"): 0.5,
            ("item.kind=second", "y"): 0.5,
            ("item.kind=third", "y"): 0.5,
        }
