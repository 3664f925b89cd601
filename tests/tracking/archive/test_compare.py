"""Two runs held against each other, query by query."""

import json
from pathlib import Path

import pytest

from rankjury.errors import DataError, UnknownName
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.compare import compare_runs
from rankjury.tracking.archive.run import ArchivedRun
from tests.tracking.archive.made import PLAN, QUERIES, kept, put_small, ranked


@pytest.fixture
def two(archive: Archive, tmp_path: Path) -> tuple[ArchivedRun, ArchivedRun]:
    """The system new puts everything a rank lower or, from rank 3, first; old stays as it is."""
    plan = put_small(tmp_path / "small")
    before = kept(archive, plan, 0)
    (tmp_path / "small" / "new.trec").write_text(ranked(2))
    return before, kept(archive, plan, 1)


def test_means_and_counts_are_those_of_the_scores(two: tuple[ArchivedRun, ArchivedRun]) -> None:
    compared = compare_runs(*two)
    assert [(one.measure, one.system) for one in compared.comparisons] == [
        *(("rr", "old"), ("rr", "new"), ("ndcg@3", "old"), ("ndcg@3", "new"))
    ], "the headline"
    sides = [run.scores().collect().filter(system="new").sort("query_id")["rr"].to_numpy() for run in two]
    one = compared.comparisons[1]
    assert (one.baseline_mean, one.mean) == pytest.approx((sides[0].mean(), sides[1].mean()))
    apart = sides[1] - sides[0]
    assert (one.better, one.equal, one.worse) == (
        int((apart > 0).sum()),
        int((apart == 0).sum()),
        int((apart < 0).sum()),
    )
    assert one.n == QUERIES and one.ci is not None and one.ci[0] <= one.difference <= one.ci[1]
    assert [str(one) for one in compared.changed] == ["input new.trec has other contents"]
    assert compared.queries == {"common": QUERIES, "before": 0, "after": 0} and compared.not_compared == ()


def test_systems_that_stay_as_they_are_count_for_no_correction(two: tuple[ArchivedRun, ArchivedRun]) -> None:
    compared = compare_runs(*two)
    same, changed = compared.comparisons[0], compared.comparisons[1::2]
    assert (same.better, same.worse, same.p, same.p_holm) == (0, 0, 1.0, 1.0)
    alone = compare_runs(*two, systems=["new"]).comparisons
    assert [one.p_holm for one in alone] == [one.p_holm for one in changed] and changed[0].p_holm >= changed[0].p


def test_the_largest_losses_with_the_moves_of_their_items(two: tuple[ArchivedRun, ArchivedRun]) -> None:
    compared = compare_runs(*two, measures=["rr"], systems=["new"])
    differences = [loss.difference for loss in compared.losses]
    assert differences == pytest.approx([-1 / 2, -1 / 2, -1 / 2, -1 / 2, -1 / 6]), "five of eight, the largest first"
    for loss in compared.losses:
        (move,) = loss.moves
        assert (move.item, move.grade) == ("a", 1.0)
        assert (1 / move.before, 1 / move.after) == pytest.approx((loss.before, loss.after))


def test_what_is_equal_has_no_losses(two: tuple[ArchivedRun, ArchivedRun]) -> None:
    compared = compare_runs(two[0], two[0])
    assert (
        compared.losses == () and compared.changed == () and {one.difference for one in compared.comparisons} == {0.0}
    )


def test_only_queries_that_both_asked(archive: Archive, two: tuple[ArchivedRun, ArchivedRun], tmp_path: Path) -> None:
    folder = tmp_path / "small"
    (folder / "queries.csv").write_text((folder / "queries.csv").read_text() + "q99,odd\n")
    gold = (folder / "gold.qrels").read_text().splitlines(keepends=True)
    (folder / "gold.qrels").write_text("".join(line for line in gold if line[:3] not in ("q00", "q01")) + "q99 0 a 1\n")
    later = kept(archive, folder / "plan.toml", 2)
    compared = compare_runs(two[1], later)
    assert compared.queries == {"common": QUERIES - 2, "before": 2, "after": 1}
    assert {one.n for one in compared.comparisons} == {QUERIES - 2}
    assert {one.difference for one in compared.comparisons} == {0.0}


def test_other_conventions_are_told_not_compared(
    archive: Archive, two: tuple[ArchivedRun, ArchivedRun], tmp_path: Path
) -> None:
    plan = tmp_path / "small" / "plan.toml"
    plan.write_text(PLAN + '\n[conventions]\nties = "order"\n')
    compared = compare_runs(two[1], kept(archive, plan, 2))
    assert compared.comparisons == () and compared.losses == ()
    assert [text.partition(":")[0] for text in compared.not_compared] == [
        *("rr follows other conventions now", "ndcg@3 follows other conventions now")
    ]
    assert "rr before, rr(ties=order) after" in compared.not_compared[0]


def test_what_only_one_has_is_told(archive: Archive, two: tuple[ArchivedRun, ArchivedRun], tmp_path: Path) -> None:
    plan = tmp_path / "small" / "plan.toml"
    plan.write_text(PLAN.replace('new = "new.trec"', 'newest = "new.trec"').replace('"precision@3"', '"ap"'))
    later = kept(archive, plan, 2)
    compared = compare_runs(two[0], later)
    assert {one.system for one in compared.comparisons} == {"old"}
    assert set(compared.not_compared) == {
        *("system new was there before only", "system newest is new"),
        *("measure precision@3 was there before only", "measure ap is new"),
    }
    with pytest.raises(UnknownName, match="unknown system in both runs: 'new'"):
        compare_runs(two[0], later, systems=["new"])
    with pytest.raises(UnknownName, match="unknown measure in both runs: 'ap'"):
        compare_runs(two[0], later, measures=["ap"])


def test_runs_with_nothing_in_common(archive: Archive, two: tuple[ArchivedRun, ArchivedRun], tmp_path: Path) -> None:
    folder = tmp_path / "other"
    plan = put_small(folder, PLAN.replace('old = "old.trec"\nnew = ', 'x = "old.trec"\ny = ').replace('"old"', '"x"'))
    other = kept(archive, plan, 3)
    with pytest.raises(DataError, match="no system in common"):
        compare_runs(two[0], other)
    plan = put_small(folder)
    for name in ("gold.qrels", "old.trec", "new.trec"):
        (folder / name).write_text((folder / name).read_text().replace("q", "u"))
    plan.write_text(PLAN.replace('slices = "queries.csv:type"\n', ""))
    with pytest.raises(DataError, match="no query in common"):
        compare_runs(two[0], kept(archive, plan, 4))


def test_verdicts_that_changed(archive: Archive, two: tuple[ArchivedRun, ArchivedRun], tmp_path: Path) -> None:
    plan = tmp_path / "small" / "plan.toml"
    (tmp_path / "small" / "new.trec").write_text("".join(f"q{query:02} Q0 c 1 1 t\n" for query in range(QUERIES)))
    compared = compare_runs(two[0], kept(archive, plan, 2))
    (one,) = compared.verdicts
    assert (one["target"], one["system"], one["before"], one["after"]) == ("rr", "new", "pass", "fail")
    form = compared.to_json()
    assert form["schema"] == "rankjury.diff/1" and json.loads(json.dumps(form, allow_nan=False)) == form
