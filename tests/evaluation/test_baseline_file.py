"""Baseline files: the same bytes for the same inputs, the verdict of the run itself, no other gold or conventions."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import rankjury
from rankjury.core.hashing import digest_gold
from rankjury.core.types import Background
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.evaluation.baseline_file import baseline_text, compare_baselines, looks_like_baseline, read_baseline
from rankjury.evaluation.compare import report_on
from rankjury.evaluation.scores import RecordedValue, Scores
from rankjury.measures.dialects import resolve
from rankjury.measures.measure import METRICS, Measure
from rankjury.stats.resampling import Resampling

Lists = dict[str, dict[str, float]]
QUICK = Resampling(resamples=200)
MEASURES = ["ndcg@3", "rr", "num_rel_ret@2", "ap(missing=skip)", "precision(rel=2)@3"]
TARGETS = ["ndcg@3 drop <= 0.05", "rr drop <= 5%", "num_rel_ret@2 gain >= 0.1", "ap(missing=skip) drop <= 0"]
TARGETS += ["precision(rel=2)@3 gain > -0.5"]


def made_run(gold: Lists, seed: int, missing: float = 0.1) -> Lists:
    draw = random.Random(seed)
    return {query: {item: draw.random() for item in "abcdefg"} for query in gold if draw.random() >= missing}


GOLD: Lists = {f"q{n}": {"a": 1, "b": 2, "c": 0} for n in range(28)} | {"nothing": {"a": 0}, "also nothing": {"b": 0}}
RUN_A, RUN_B = made_run(GOLD, 1), made_run(GOLD, 2)


def scored(run: Lists = RUN_A, gold: Any = None, measures: Any = MEASURES, **conventions: Any) -> Scores:
    return rankjury.evaluate(GOLD if gold is None else gold, run, measures, **conventions)


def write(path: Path, scores: Scores | None = None) -> Path:
    return rankjury.write_baseline(scores or scored(), path / "baseline.json")


# --- what the file holds ------------------------------------------------------------------------------------------


def test_one_line_per_query_sorted_by_id(tmp_path: Path) -> None:
    text = write(tmp_path).read_text(encoding="utf-8")
    content = json.loads(text)
    assert list(content) == ["schema", "rankjury", "system", "gold", "measures", "scores"]
    assert content["schema"] == "rankjury.baseline/1" and content["gold"]["queries"] == len(GOLD) == 30
    assert content["gold"]["judgments"] == sum(map(len, GOLD.values()))
    assert list(content["scores"]) == sorted(GOLD)
    lines = [line for line in text.splitlines() if line.startswith('    "')]
    assert len(lines) == len(MEASURES) + len(GOLD)
    assert content["scores"]["nothing"][0] is None, "nothing relevant: ndcg is undefined"
    assert content["measures"]["ndcg@3"] == {
        "convention": Measure("ndcg", 3).spelled_out(),
        "mean": scored().mean()["ndcg@3"],
    }


def test_the_same_bytes_for_any_order_format_and_type(tmp_path: Path) -> None:
    rows = rankjury.as_gold(GOLD).frame().sample(fraction=1, shuffle=True, seed=3)
    rows.write_csv(tmp_path / "gold.csv")
    rows.write_parquet(tmp_path / "gold.parquet")
    lines = (f"{query} 0 {item} {grade:g}\n" for query, item, grade in rows.rows() if " " not in query)
    (tmp_path / "gold.qrels").write_text("".join(lines))
    expected = baseline_text(report_on(scored()))
    for gold in (rows, tmp_path / "gold.csv", tmp_path / "gold.parquet", dict(reversed(GOLD.items()))):
        run = dict(random.Random(5).sample(list(RUN_A.items()), len(RUN_A)))
        assert baseline_text(report_on(scored(run, gold))) == expected
    trec = digest_gold(rankjury.read_gold(tmp_path / "gold.qrels"))
    assert trec == digest_gold(rankjury.as_gold({query: items for query, items in GOLD.items() if " " not in query}))


def test_numbers_as_ids_are_their_text() -> None:
    by_number = {1: {10: 1.0, 2: 2.0}, 12: {3: 1.0}}
    by_text = {str(query): {str(item): grade for item, grade in items.items()} for query, items in by_number.items()}
    assert digest_gold(rankjury.as_gold(by_number)) == digest_gold(rankjury.as_gold(by_text))


CHANGES: dict[str, Lists] = {
    "a grade": GOLD | {"q3": {"a": 1, "b": 3, "c": 0}},
    "an item": GOLD | {"q3": {"a": 1, "x": 2, "c": 0}},
    "a judgment less": GOLD | {"q3": {"a": 1, "b": 2}},
    "a query": {("other" if query == "q3" else query): items for query, items in GOLD.items()},
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_of_the_gold_changes_the_digest(change: str) -> None:
    assert digest_gold(rankjury.as_gold(CHANGES[change])) != digest_gold(rankjury.as_gold(GOLD))


def test_boundaries_of_ids_are_part_of_the_digest() -> None:
    digests = {digest_gold(rankjury.as_gold({query: {item: 1}})) for query, item in (("ab", "c"), ("a", "bc"))}
    assert len(digests) == 2


def test_the_threshold_of_relevance_is_part_of_the_gold() -> None:
    digests = {digest_gold(rankjury.as_gold(GOLD, relevant_from=grade)) for grade in (None, 1, 2)}
    assert len(digests) == 3


def test_a_gold_without_listed_judgments_has_no_digest() -> None:
    gold = replace(rankjury.as_gold(GOLD), lookup=lambda ranking: rankjury.as_gold(GOLD))
    assert digest_gold(gold) is None


# --- verdicts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("conventions", [{}, {"missing": "skip"}, {"empty": "zero"}, {"dialect": "trec_eval"}])
def test_verdicts_are_those_of_the_run_itself_to_the_last_digit(conventions: dict[str, str], tmp_path: Path) -> None:
    path = write(tmp_path, scored(**conventions))
    report = rankjury.compare(GOLD, {"old": RUN_A, "new": RUN_B}, MEASURES, baseline="old", **conventions)
    expected = rankjury.gate(report, TARGETS)
    for given_path in (path, str(path)):
        found = rankjury.gate(scored(RUN_B, **conventions), TARGETS, baseline=given_path)
        assert found.baseline == str(path)
        for ours, theirs in zip(found.verdicts, expected.verdicts, strict=True):
            assert (ours.outcome, ours.value, ours.ci, ours.n) == (theirs.outcome, theirs.value, theirs.ci, theirs.n)
            assert ours.ci is not None and ours.ci[0] < ours.ci[1] and ours.note == theirs.note
    assert {verdict.n for verdict in expected.verdicts} != {30}, "some queries are undefined"


def test_a_value_over_all_queries_is_compared(tmp_path: Path) -> None:
    """Coverage is one value: its differences are tested by the jackknife."""
    users, nothing = pl.Series(sorted(GOLD)), np.zeros(len(GOLD) + 1, dtype=np.int64)
    catalogue = pl.Series(list("abcdefg"))
    known = Background(catalogue, np.arange(7), len(users), users, nothing, nothing[:0])
    runs = {"old": {query: dict.fromkeys("ab", 1.0) for query in GOLD}, "new": made_run(GOLD, 2, missing=0)}
    report = rankjury.compare(GOLD, runs, "coverage@3", baseline="old", background=known)
    (expected,) = rankjury.gate(report, "coverage@3 drop <= 0.1").verdicts
    path = rankjury.write_baseline(report, tmp_path / "b.json", system="old")
    new = rankjury.evaluate(GOLD, runs["new"], "coverage@3", background=known)
    (found,) = rankjury.gate(new, "coverage@3 drop <= 0.1", baseline=path).verdicts
    assert (found.value, found.ci, found.n) == (expected.value, expected.ci, expected.n) and found.value > 0.5


def test_a_slice_of_queries_is_compared_in_the_slice(tmp_path: Path) -> None:
    path = write(tmp_path)
    kinds = pl.DataFrame({"query_id": list(GOLD), "kind": ["x" if n % 3 else "y" for n in range(len(GOLD))]})
    report = rankjury.compare(GOLD, {"old": RUN_A, "new": RUN_B}, MEASURES, baseline="old", slices=kinds)
    (tmp_path / "t.toml").write_text('[[target]]\nrequire = "rr drop <= 0.1"\nslice = "kind=y"\nsystem = "new"\n')
    (expected,) = rankjury.gate(report, tmp_path / "t.toml").verdicts
    (found,) = rankjury.gate(report, tmp_path / "t.toml", baseline=path).verdicts
    assert (found.value, found.ci, found.n) == (expected.value, expected.ci, expected.n) and found.n == 10


def test_a_slice_of_items_is_refused(tmp_path: Path) -> None:
    path, shelves = write(tmp_path), pl.DataFrame({"item_id": list("abc"), "shelf": ["top", "top", "low"]})
    report = rankjury.compare(GOLD, {"old": RUN_A, "new": RUN_B}, MEASURES, item_slices=shelves)
    (tmp_path / "t.toml").write_text('[[target]]\nrequire = "rr drop <= 0.1"\nslice = "item.shelf=top"\nsystem = "new"')
    with pytest.raises(DataError, match=r"no scores for the slice item\.shelf=top"):
        rankjury.gate(report, tmp_path / "t.toml", baseline=path)


def test_a_recorded_value_is_compared(tmp_path: Path) -> None:
    old = report_on(scored()).with_recorded({"ranking": {"latency": RecordedValue(10.0, (9.0, 11.0), 50)}})
    new = report_on(scored(RUN_B)).with_recorded({"ranking": {"latency": 12.5}})
    path = rankjury.write_baseline(old, tmp_path / "b.json")
    assert read_baseline(str(path)).systems["ranking"].recorded == old.systems["ranking"].recorded
    (verdict,) = rankjury.gate(new, "latency gain <= 2", baseline=path).verdicts
    assert (verdict.value, verdict.outcome) == (2.5, "fail")
    with pytest.raises(DataError, match="no recorded value size"):
        rankjury.gate(new.with_recorded({"ranking": {"size": 1}}), "size gain <= 2", baseline=path)


def test_a_measure_is_found_by_its_conventions(tmp_path: Path) -> None:
    """The file calls it map, the report average precision in other words."""
    path = write(tmp_path, scored(measures="map", dialect="trec_eval"))
    spelling = read_baseline(str(path)).systems["ranking"].conventions["map"]
    assert spelling != "map"
    same = scored(RUN_B, measures=spelling)
    (found,) = rankjury.gate(same, f"{spelling} drop <= 0.1", baseline=path).verdicts
    (expected,) = rankjury.gate(
        scored(RUN_B, measures="map", dialect="trec_eval"), "map drop <= 0.1", baseline=path
    ).verdicts
    assert (found.value, found.ci) == (expected.value, expected.ci)


def test_a_saved_report_is_checked_as_a_fresh_one(tmp_path: Path) -> None:
    path = write(tmp_path)
    scored(RUN_B).save(tmp_path / "new.json")
    expected = rankjury.gate(scored(RUN_B), TARGETS, baseline=path)
    found = rankjury.gate(str(tmp_path / "new.json"), TARGETS, baseline=path)
    assert [verdict.ci for verdict in found.verdicts] == [verdict.ci for verdict in expected.verdicts]


# --- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", CHANGES)
def test_another_gold_is_refused(change: str, tmp_path: Path) -> None:
    path = write(tmp_path)
    with pytest.raises(DataError, match=r"another gold: 30 queries and 86 judgments, and here 30 queries and 8[56]"):
        rankjury.gate(scored(RUN_B, CHANGES[change]), "rr >= 0", baseline=path)


def test_other_conventions_are_refused_with_both_spellings(tmp_path: Path) -> None:
    path = write(tmp_path)
    with pytest.raises(DataError) as caught:
        rankjury.gate(scored(RUN_B, missing="skip"), "rr drop <= 1", baseline=path)
    spellings = [measure.spelled_out() for measure in (Measure("rr"), Measure("rr", None, (("missing", "skip"),)))]
    assert all(spelling in str(caught.value) for spelling in spellings)
    assert f"rankjury.write_baseline(report_of_main, '{path}')" in str(caught.value)


def test_a_missing_measure_is_refused_where_its_difference_is_limited(tmp_path: Path) -> None:
    path = write(tmp_path, scored(measures=["rr"]))
    report = scored(RUN_B, measures=["rr", "ap"])
    assert rankjury.gate(report, "ap >= 0", "rr drop <= 1", baseline=path).passed
    with pytest.raises(DataError, match="the baseline has no ap; expected one of rr"):
        rankjury.gate(report, "ap drop <= 1", baseline=path)


def test_a_report_that_does_not_record_its_gold_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path)
    with pytest.raises(DataError, match="does not record its gold"):
        rankjury.gate(replace(report_on(scored(RUN_B)), gold=None), "rr drop <= 1", baseline=path)
    with pytest.raises(DataError, match="does not record its gold"):
        rankjury.write_baseline(replace(scored(), gold=None), tmp_path / "other.json")
    assert not (tmp_path / "other.json").exists()


def test_what_cannot_be_a_baseline(tmp_path: Path) -> None:
    several = rankjury.evaluate(GOLD, {"a": RUN_A, "b": RUN_B}, "rr")
    with pytest.raises(UsageError, match="there are 2: a, b"):
        rankjury.write_baseline(several, tmp_path / "b.json")
    with pytest.raises(UnknownName, match="Did you mean"):
        rankjury.write_baseline(several, tmp_path / "b.json", system="aa")
    with pytest.raises(UsageError, match="10 queries, and the gold has 30"):
        rankjury.write_baseline(scored().part(np.arange(10)), tmp_path / "b.json")
    with pytest.raises(UsageError, match="no per-query scores"):
        rankjury.write_baseline(replace(report_on(scored()), queries=None), tmp_path / "b.json")
    assert not list(tmp_path.iterdir())
    path = rankjury.write_baseline(several, tmp_path / "b.json", system="b")
    assert list(read_baseline(str(path)).systems) == ["b"]


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere"):
        rankjury.write_baseline(scored(), tmp_path / "nowhere" / "b.json")


# --- damaged and forged files -------------------------------------------------------------------------------------


DAMAGES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "schema": (lambda form: form.update(schema="rankjury.baseline/9"), "rankjury.baseline/9"),
    "no measures": (lambda form: form.update(measures={}), "no measure"),
    "mean": (lambda form: form["measures"]["rr"].update(mean=0.9), "the mean of rr is 0.9"),
    "mean of text": (lambda form: form["measures"]["rr"].update(mean="0.9"), "measures → rr → mean"),
    "score": (lambda form: form["scores"]["q3"].__setitem__(1, 0.123), "the mean of rr"),
    "text": (lambda form: form["scores"]["q3"].__setitem__(1, "1.0"), "scores → q3 → 1"),
    "infinite": (lambda form: form["scores"]["q3"].__setitem__(1, float("inf")), "scores → q3 → 1"),
    "nan": (lambda form: form["scores"]["q3"].__setitem__(1, float("nan")), "scores → q3 → 1"),
    "a score less": (lambda form: form["scores"]["q3"].pop(), "query 'q3' has 4 scores for 5 measures"),
    "a query less": (lambda form: form["scores"].pop("q3"), "scores of 29 queries, and its gold has 30"),
    "no scores": (lambda form: form.update(scores={}), "scores of 0 queries"),
    "list of scores": (lambda form: form.update(scores=[[1.0]]), "scores: "),
    "gold": (lambda form: form.pop("gold"), "gold: Field required"),
    "digest": (lambda form: form["gold"].update(sha256="x"), "gold → sha256: found 'x'"),
    "judgments": (lambda form: form["gold"].update(judgments=-1), "gold → judgments"),
    "system": (lambda form: form.update(system=None), "system: "),
    "recorded": (lambda form: form.update(recorded={"latency": None}), "recorded → latency"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_one_clear_error(damage: str, tmp_path: Path) -> None:
    path = write(tmp_path)
    change, found = DAMAGES[damage]
    form = json.loads(path.read_text())
    change(form)
    path.write_text(json.dumps(form))
    assert looks_like_baseline(str(path))
    with pytest.raises(DataError) as caught:
        rankjury.gate(scored(RUN_B), "rr drop <= 1", baseline=path)
    assert str(path) in str(caught.value) and found in str(caught.value) and "baseline" in str(caught.value)


def test_text_that_is_not_a_whole_file_is_one_clear_error(tmp_path: Path) -> None:
    path = write(tmp_path)
    text = path.read_text()
    merged = text.replace('    "q3"', '<<<<<<< ours\n    "q3"', 1)
    twice = text.replace('    "q3": ', '    "q3": [0.0, 0.0, 0.0, 0.0, 0.0],\n    "q3": ', 1)
    for damaged in (text[:900], text[:-3], merged, twice):
        path.write_text(damaged)
        with pytest.raises(DataError, match=r"baseline\.json"):
            rankjury.gate(scored(RUN_B), "rr drop <= 1", baseline=path)


WHOLE = baseline_text(report_on(scored()))


@settings(max_examples=100)
@given(st.data())
def test_no_byte_of_a_file_leads_to_another_error(data: st.DataObject) -> None:
    """Characters are cut out, doubled or replaced: the file is read as it was meant, or refused by a DataError."""
    text = WHOLE
    place = data.draw(st.integers(0, len(text) - 1))
    piece = data.draw(
        st.sampled_from(["", "x", '"', "{", "}", "[", ",", "1e999", "NaN", "null", "\ud800", text[place] * 2])
    )
    path = Path("damaged.json")
    content = (text[:place] + piece + text[place + 1 :]).encode("utf-8", "surrogatepass")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankjury.evaluation.baseline_file.Source.open", lambda path: _Bytes(content))
        try:
            report = read_baseline(str(path))
        except DataError:
            return
    assert len(report.scores[next(iter(report.systems))].queries) == 30


class _Bytes:
    """A source of bytes in memory."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def text(self) -> str:
        try:
            return self._content.decode()
        except UnicodeDecodeError as error:
            raise DataError("found text that is not UTF-8") from error


# --- round trips --------------------------------------------------------------------------------------------------

METRICS.load_own()
SPELLINGS = [
    str(Measure(metric.name, 3 if metric.cut != "none" else None, ((option.name, choice),)))
    for metric in METRICS
    if not metric.of_lists
    for option in metric.all_options
    for choice in (option.choices or ((max(option.low, 0.5),) if not option.from_gold else ()))
    if not (choice in ("k", "tied") and metric.cut == "none")
    if choice != "error"
]


@pytest.mark.parametrize("spelling", list(dict.fromkeys(SPELLINGS)))
def test_every_convention_reads_back_from_its_full_spelling(spelling: str) -> None:
    measure = Measure.parse(spelling)
    assert Measure.parse(measure.spelled_out()) == measure


def is_computed(spelling: str) -> bool:
    """Whether any gold has the measure: rbo needs an order, and some options have no effect, which is an error."""
    try:
        return resolve(spelling).measure.name != "rbo"
    except UsageError:
        return False


COMPUTED = list(filter(is_computed, dict.fromkeys(SPELLINGS)))
ids = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=4).filter(str.strip)


@st.composite
def golds(draw: st.DrawFn) -> Lists:
    items = st.dictionaries(ids, st.sampled_from([0.0, 1.0, 2.0, 0.1]), min_size=1, max_size=4)
    gold: Lists = draw(st.dictionaries(ids, items, min_size=1, max_size=6))
    return gold


@settings(max_examples=50)
@given(
    golds(),
    st.lists(st.sampled_from(COMPUTED), min_size=1, max_size=3, unique=True),
    st.randoms(use_true_random=False),
)
def test_scores_read_back_to_the_last_digit(gold: Lists, measures: list[str], draw: random.Random) -> None:
    items = sorted({item for listed in gold.values() for item in listed})
    run = {query: {item: draw.choice([0.5, draw.random()]) for item in items} for query in gold if draw.random() > 0.2}
    run = run or {next(iter(gold)): {"x": 1.0}}
    report = report_on(rankjury.evaluate(gold, run, measures))
    text = baseline_text(report)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankjury.evaluation.baseline_file.Source.open", lambda path: _Bytes(text.encode()))
        read = read_baseline("baseline.json")
    assert baseline_text(read) == text and digest_gold(read.gold) == digest_gold(report.gold)
    ((name, ours),), ((_, theirs),) = report.systems.items(), read.systems.items()
    assert ours.conventions == theirs.conventions and list(read.systems) == [name]
    merged = report.per_query.join(read.per_query, on=["system", "query_id"], suffix=" read")
    assert merged.height == len(gold)
    for label in ours.labels:
        assert merged[label].equals(merged[f"{label} read"], null_equal=True), label
        assert theirs.estimates[label] == replace(ours.estimates[label], ci=None)


# --- how a new baseline differs -----------------------------------------------------------------------------------


def test_a_new_baseline_is_compared_with_the_old(tmp_path: Path) -> None:
    old, new = read_baseline(str(write(tmp_path))), report_on(scored(RUN_B))
    changes, notes = compare_baselines(old, new, "ranking", Resampling())
    assert changes is not None and not notes
    expected = rankjury.compare(GOLD, {"old": RUN_A, "new": RUN_B}, MEASURES, baseline="old")
    found = [(row.measure, row.difference, row.ci, row.p_holm) for row in changes.comparisons]
    assert found == [(row.measure, row.difference, row.ci, row.p_holm) for row in expected.comparisons]


def test_what_cannot_be_compared_is_named(tmp_path: Path) -> None:
    old = read_baseline(str(write(tmp_path, scored(measures=["rr", "ap", "ndcg@3"]))))
    new = report_on(scored(RUN_B, measures=["rr(missing=skip)", "ap", "precision@3"]))
    changes, notes = compare_baselines(old, new, "ranking", QUICK)
    assert changes is not None and [row.measure for row in changes.comparisons] == ["ap"]
    assert any("ndcg@3 is not in" in note for note in notes) and any("precision@3 is new" in note for note in notes)
    other = report_on(scored(RUN_B, CHANGES["a grade"]))
    changes, notes = compare_baselines(old, other, "ranking", QUICK)
    assert changes is None and "other content" in notes[0]
    changes, notes = compare_baselines(old, report_on(scored(RUN_B, missing="skip", measures="rr")), "ranking", QUICK)
    assert changes is None and "missing=zero" in notes[0] and "missing=skip" in notes[0]
