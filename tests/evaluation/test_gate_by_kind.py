"""Verdicts on what is no plain mean: shares of a negative one, sums, lower-is-better measures, recorded figures."""

from pathlib import Path

import pytest

import rankjury
from rankjury.errors import UnknownName, UsageError
from rankjury.evaluation.gate import check_targets
from rankjury.evaluation.report import read_report
from rankjury.evaluation.targets import parse_target
from rankjury.reporting.writers import OutputRequest, write_reports

QUICK = rankjury.Resampling(resamples=300)
GOLD = {f"q{n:02}": {"a": 1, "b": 0} for n in range(24)}
GOOD = {query: ["a"] for query in GOLD}
# Every third query retrieves the relevant item behind two others, the rest behind eight.
BAD = {query: [*("x", "y", "p", "r", "s", "t", "u", "v")[: 2 if n % 3 else 8], "a"] for n, query in enumerate(GOLD)}
WORSE = {query: [*items, "z", "zz"] for query, items in BAD.items()}


def report(measures: list[str], **runs: dict[str, list[str]]) -> rankjury.Report:
    return rankjury.compare(GOLD, runs, measures, resampling=QUICK)


def test_a_share_of_a_negative_mean_keeps_its_sign() -> None:
    """Utility is relevant less other items retrieved: below zero for both, and lower for the worse."""
    found = rankjury.gate(report(["utility"], bad=BAD, worse=WORSE), "utility drop <= 10 %", "utility gain >= 5 %")
    assert [verdict.outcome for verdict in found.verdicts] == ["fail", "fail"]
    for verdict in found.verdicts:
        assert verdict.value < 0 and verdict.ci is not None and verdict.ci[0] <= verdict.value <= verdict.ci[1]


def test_counts_are_held_by_their_sum() -> None:
    found = rankjury.gate(report(["num_rel_ret"], good=GOOD, bad=BAD), "num_rel_ret >= 24")
    assert [(verdict.value, verdict.outcome) for verdict in found.verdicts] == [(24.0, "pass")]


@pytest.mark.parametrize("change", ["drop", "gain"])
def test_drop_and_gain_are_refused_where_less_is_better(change: str) -> None:
    with pytest.raises(UsageError, match=r"better when it is lower.*unjudged@5 rise <= 0\.1"):
        rankjury.gate(report(["unjudged@5"], good=GOOD, bad=BAD), f"unjudged@5 {change} <= 0.1")


def test_a_rise_may_be_limited() -> None:
    found = rankjury.gate(report(["unjudged@5", "rr"], good=GOOD, bad=BAD), "unjudged@5 rise <= 0.1", "rr rise >= -1")
    assert [verdict.outcome for verdict in found.verdicts if verdict.target.subject == "unjudged@5"] == ["fail"]


def test_figures_recorded_in_both_reports_are_compared(tmp_path: Path) -> None:
    made = report(["rr"], good=GOOD, bad=BAD)
    for name, latency in (("old", 10.0), ("new", 13.0)):
        changed = made.with_recorded({"bad": {"latency_ms": latency}})
        write_reports(changed, [OutputRequest(str(tmp_path / f"{name}.json"))])
    new, old = (read_report(str(tmp_path / f"{name}.json")) for name in ("new", "old"))
    limits = ["gain <= 2", "gain <= 40 %", "drop <= 0"]
    targets = [parse_target(f"latency_ms {limit}", {"system": "bad"}) for limit in limits]
    assert [verdict.outcome for verdict in check_targets(targets, new, old).verdicts] == ["fail", "pass", "pass"]


def test_a_slice_is_paired_with_a_report_that_has_no_slices(tmp_path: Path) -> None:
    halves = {"query_id": list(GOLD), "half": ["odd" if n % 2 else "even" for n in range(24)]}
    new = rankjury.compare(GOLD, {"good": GOOD, "bad": BAD}, ["rr"], slices=halves, by="half", resampling=QUICK)
    write_reports(report(["rr"], good=GOOD, bad=BAD), [OutputRequest(str(tmp_path / "old.json"))])
    target = parse_target("rr drop <= 0", {"slice": "half=odd", "system": "bad"})
    (found,) = rankjury.gate(new, target, baseline=tmp_path / "old.json").verdicts
    assert (found.outcome, found.value, found.ci, found.n) == ("pass", 0.0, (0.0, 0.0), 12)


def test_targets_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    path.write_text('targets = ["rr >= 0.5"]\n[[target]]\nrequire = "rr >= 0.1"\nsystem = "good"\n')
    made = report(["rr"], good=GOOD, bad=BAD)
    assert [verdict.system for verdict in rankjury.gate(made, path, "rr <= 1").verdicts] == ["bad", "good", "bad"]
    assert len(rankjury.gate(made, str(path)).verdicts) == 2


@pytest.mark.parametrize("given", [{"by": "half"}, {"items_by": "part"}, {"slices": {"query_id": [None], "x": [1]}}])
def test_what_compare_cannot_use(given: dict[str, object]) -> None:
    with pytest.raises(rankjury.RankjuryError):
        rankjury.compare(GOLD, {"good": GOOD, "bad": BAD}, ["rr"], resampling=QUICK, **given)  # type: ignore[arg-type]


def test_item_slices_and_figures_from_python() -> None:
    items = {"item_id": ["a", "b"], "part": ["head", "tail"]}
    recorded = {"bad": {"latency_ms": 3.0}}
    made = rankjury.compare(
        GOLD, {"good": GOOD, "bad": BAD}, ["rr"], item_slices=items, recorded=recorded, resampling=QUICK
    )
    assert [part.name for part in made.slices] == ["item.part=head", "item.part=tail"]
    assert rankjury.gate(made, "latency_ms <= 3").outcome == "pass"
    with pytest.raises(UnknownName, match="system 'badd'"):
        rankjury.compare(GOLD, {"good": GOOD, "bad": BAD}, ["rr"], recorded={"badd": {}}, resampling=QUICK)
