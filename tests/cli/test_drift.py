"""rankjury drift: what moved on the screen and as JSON, and exit codes that tell beyond from unsure."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure, check_width, put
from tests.evaluation.drifting import QUERIES, entry, form_of, scores_of, stability

TOPS = [[f"item-{row + place}" for place in range(3)] for row in range(QUERIES)]
OTHER_TOPS = [["item-99", *items[:2]] if row % 3 == 0 else items for row, items in enumerate(TOPS)]


def put_report(name: str, form: dict[str, Any]) -> str:
    return put(name, json.dumps(form))


def drift_of(outcome: Any) -> dict[str, Any]:
    form = json.loads(outcome.out)
    assert form["schema"] == "rankjury.drifts/1" and "NaN" not in outcome.out
    (one,) = form["drifts"]
    assert form["verdict"] == one["verdict"]
    return dict(one)


@pytest.fixture
def old(folder: Path) -> str:
    return put_report("old.json", form_of(tops=TOPS))


@pytest.mark.parametrize(
    ("by", "options", "verdict", "code"),
    [
        (0.0, [], "pass", 0),
        (0.008, ["--strict"], "pass", 0),
        (0.1, [], "fail", 4),
        (0.1, ["--strict"], "fail", 4),
        (0.1, ["--allowed", "20 %"], "pass", 0),
        (0.008, ["--allowed", "0.005"], "fail", 4),
    ],
)
def test_exit_codes(rankjury: Rankjury, old: str, by: float, options: list[str], verdict: str, code: int) -> None:
    new = put_report("new.json", form_of(hnsw=entry(stability(scores_of() + by))))
    assert rankjury("drift", old, new, *options).code == code
    outcome = rankjury("drift", old, new, *options, "--json")
    assert (outcome.code, drift_of(outcome)["verdict"]) == (code, verdict)


def test_unsure_counts_under_strict(rankjury: Rankjury, old: str) -> None:
    """The same similarities, of other queries: no figure moves, but the paired interval is wider than allowed."""
    new = put_report("new.json", form_of(hnsw=entry(stability(scores_of()[::-1]))))
    options = ["--allowed", "1%"]
    outcome = rankjury("drift", old, new, *options)
    assert outcome.code == 0
    answer = " ".join(outcome.out.partition("\n\n")[0].split())
    assert answer.startswith("UNSURE: Nothing of hnsw moved beyond ±1 % since old.json")
    assert "interval of top1, top3 mean reaches beyond ±1 %" in answer
    outcome = rankjury("drift", old, new, *options, "--strict", "--json")
    assert (outcome.code, drift_of(outcome)["verdict"]) == (5, "unsure")
    assert rankjury("drift", old, new, "--allowed", "20%", "--strict").code == 0


def test_the_screen_says_both(rankjury: Rankjury, old: str) -> None:
    new = put_report("new.json", form_of(tops=OTHER_TOPS, hnsw=entry(stability(scores_of() + 0.008))))
    outcome = rankjury("drift", old, new)
    check_width(outcome.out)
    lines = outcome.out.splitlines()
    assert lines[0].startswith("PASS: Nothing of hnsw moved beyond ±5 % since old.json; most: top3 mean +1.1 %")
    assert "hnsw of new.json compared with hnsw of old.json" in lines
    assert any(line.startswith("top1 mean") and line.endswith("within") for line in lines)
    assert any(line.startswith("norm std") and "0.0 %*" in line for line in lines)
    assert f"The same queries ({QUERIES}), before and after" in lines
    flowing = " ".join(outcome.out.split())
    assert "within ±5 %, but real: the interval excludes 0" in flowing
    assert f"8 queries of {QUERIES} changed" in flowing and "item-99" in flowing
    assert "Changed: no declared or recorded version or input" in lines


def test_noise_is_told(rankjury: Rankjury, old: str) -> None:
    noise = np.random.default_rng(3).normal(0, 0.02, size=(QUERIES, 1))
    new = put_report("new.json", form_of(hnsw=entry(stability(scores_of() + noise))))
    assert "and within noise: the interval includes 0" in " ".join(rankjury("drift", old, new).out.split())


def test_a_failure_comes_with_its_hint(rankjury: Rankjury, old: str) -> None:
    form = form_of(hnsw=entry(stability(scores_of() + 0.1, norms=[6.0, 8.0])))
    form["provenance"]["meta"]["model_version"] = "m2"
    outcome = rankjury("drift", old, put_report("new.json", form))
    check_width(outcome.out)
    flowing = " ".join(outcome.out.split())
    assert "beyond ±5 %, and real" in flowing and "hnsw drifted from old.json: norm mean moved +600.0 %" in flowing
    assert flowing.startswith("FAIL: ")
    assert "Changed: model: m1 → m2" in flowing
    assert "Undeclared: model_version changed, but the vectors are the same" in flowing
    assert "Hint: score drift" in flowing and "normalisation is missing" in flowing


def test_warnings_are_on_standard_error(rankjury: Rankjury, old: str) -> None:
    ids = [f"q{row:02}" for row in range(2, QUERIES + 2)]
    new = put_report("new.json", form_of(hnsw=entry(stability(ids=ids))))
    outcome = rankjury("drift", old, new)
    assert any("different queries" in warning for warning in outcome.warnings)
    assert rankjury("drift", old, new, "-q").err == ""


def test_every_system_of_both(rankjury: Rankjury) -> None:
    moved = entry(stability(scores_of() + 0.1))
    new = put_report("new.json", form_of(a=entry(stability()), b=moved, c=entry(stability())))
    old = put_report("old.json", form_of(a=entry(stability()), b=entry(stability())))
    outcome = rankjury("drift", old, new, "--json")
    form = json.loads(outcome.out)
    assert (outcome.code, form["verdict"], form["strict"]) == (4, "fail", False)
    assert [(one["system"], one["verdict"]) for one in form["drifts"]] == [("a", "pass"), ("b", "fail")]
    assert rankjury("drift", old, new, "--system", "a").code == 0
    unsure = put_report("unsure.json", form_of(a=entry(stability(scores_of()[::-1])), b=moved))
    outcome = rankjury("drift", old, unsure, "--allowed", "1%", "--strict", "--json")
    form = json.loads(outcome.out)
    assert (outcome.code, form["verdict"], [one["verdict"] for one in form["drifts"]]) == (
        4,
        "fail",
        ["unsure", "fail"],
    )
    assert rankjury("drift", old, new, "--system", "b", "--old-system", "a").code == 4
    assert drift_of(rankjury("drift", old, new, "--system", "c", "--old-system", "a", "--json"))["old_system"] == "a"


def test_standard_input(rankjury: Rankjury, old: str) -> None:
    outcome = rankjury("drift", old, "-", "--json", stdin=json.dumps(form_of()).encode())
    assert drift_of(outcome)["report"] == "-"
    check_failure(rankjury("drift", "-", "-"), 2, "standard input was named twice")


@pytest.mark.parametrize("share", ["five", "5", "-1%", "100%", "5%%", "5% or so", "nan"])
def test_shares_that_are_none(rankjury: Rankjury, old: str, share: str) -> None:
    check_failure(rankjury("drift", old, old, "--allowed", share), 2, "--allowed", "such as 5% or 0.05")


def test_bad_reports(rankjury: Rankjury, old: str) -> None:
    check_failure(rankjury("drift", old, "run.trec"), 3, "run.trec")
    check_failure(rankjury("drift", old, old, "--system", "hnws"), 2, "unknown system 'hnws'", "Did you mean hnsw?")
    bare = put_report("bare.json", form_of(hnsw=entry()))
    check_failure(rankjury("drift", old, bare), 3, "bare.json: the report holds no stability of hnsw", "rankjury run")
    check_failure(rankjury("drift", bare, old), 3, "bare.json: the report holds no stability of hnsw")
    broken = put_report("broken.json", form_of(hnsw=entry(stability() | {"norm": 1})))
    check_failure(rankjury("drift", old, broken), 3, "broken.json: systems → hnsw → stability → norm")
    other = put_report("other.json", form_of(hnsw=entry(stability(ids=[f"x{row}" for row in range(QUERIES)]))))
    check_failure(rankjury("drift", old, other), 3, "no query in common")
