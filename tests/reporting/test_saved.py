"""Saved reports: what is read back, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankjury
from rankjury.errors import DataError
from rankjury.evaluation.report import looks_like_report, read_report
from rankjury.evaluation.targets import Target
from rankjury.reporting.writers import OutputRequest, write_reports

GOLD = {f"q{n}": {"a": 1} for n in range(6)}
RUNS = {"old": {query: ["a"] for query in GOLD}, "new": {query: ["b", "a"] for query in GOLD}}
Form = dict[str, Any]


@pytest.fixture
def form(tmp_path: Path) -> Form:
    kinds = {"query_id": list(GOLD), "kind": ["x", "y"] * 3}
    report = rankjury.compare(
        GOLD, RUNS, ["rr"], slices=kinds, by="kind", resampling=rankjury.Resampling(resamples=200)
    )
    write_reports(report, [OutputRequest(str(tmp_path / "r.json"))])
    made: Form = json.loads((tmp_path / "r.json").read_text())
    return made


def damage_ci(form: Form) -> None:
    form["systems"]["new"]["measures"]["rr"]["ci"] = [0.1]


def turn_ci(form: Form) -> None:
    form["systems"]["new"]["measures"]["rr"]["ci"] = [0.9, 0.1]


def make_nan(form: Form) -> None:
    form["systems"]["new"]["measures"]["rr"]["mean"] = float("nan")


DAMAGES: dict[str, tuple[Callable[[Form], Any], str]] = {
    "one end": (damage_ci, "systems → new → measures → rr → ci → 1: Field required"),
    "ends turned": (turn_ci, "a lower and an upper end"),
    "nan": (make_nan, "finite"),
    "an id short": (lambda form: form["queries"]["ids"].pop(), "there are not as many scores as queries"),
    "an id twice": (lambda form: form["queries"]["ids"].__setitem__(1, "q0"), "a query occurs twice"),
    "a row too far": (lambda form: form["queries"]["slices"]["kind=x"].append(6), "a query that is not there"),
    "no scores": (lambda form: form["queries"]["scores"].pop("new"), "other systems or measures"),
    "another system in a slice": (
        lambda form: form["slices"][0]["systems"].update(other={"measures": {}}),
        "the slice kind=x has other systems",
    ),
    "another measure in a slice": (
        lambda form: form["slices"][0]["systems"]["new"].update(measures={"ap": {"mean": 0.5, "n": 1, "undefined": 0}}),
        "the slice kind=x has other systems or measures",
    ),
    "no system": (lambda form: form.update(systems={}, slices=[]), "the report has no system"),
    "half a tally": (lambda form: form["comparisons"][0].pop("equal"), "better, equal and worse"),
    "no n": (lambda form: form["systems"]["new"]["measures"]["rr"].pop("n"), "rr → n"),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_what_is_damaged_is_refused(tmp_path: Path, form: Form, case: str) -> None:
    damage, message = DAMAGES[case]
    damage(form)
    path = tmp_path / "damaged.json"
    path.write_text(json.dumps(form))
    with pytest.raises(DataError) as caught:
        read_report(str(path))
    assert str(caught.value).startswith(f"{path}: ") and message in str(caught.value)


def test_what_later_versions_add_is_passed_over(tmp_path: Path, form: Form) -> None:
    form |= {"more": 1}
    form["resampling"]["later"] = True
    form["systems"]["new"]["measures"]["rr"]["median"] = 0.5
    path = tmp_path / "later.json"
    path.write_text(json.dumps(form, sort_keys=True))
    assert looks_like_report(str(path))
    assert read_report(str(path)).resampling == rankjury.Resampling(resamples=200)


def test_a_slice_may_lack_a_measure_that_is_one_figure_over_all(tmp_path: Path, form: Form) -> None:
    for part in form["slices"]:
        for system in part["systems"].values():
            system["measures"].pop("rr")
    path = tmp_path / "whole.json"
    path.write_text(json.dumps(form))
    report = read_report(str(path))
    (verdict,) = rankjury.gate(report, "rr >= 0").verdicts
    assert verdict.value == 0.5
    with pytest.raises(DataError, match=r"whole\.json, target 'rr, kind=x': rr was not computed for the slice kind=x"):
        rankjury.gate(report, Target("rr", ">=", 0, slice="kind=x"))
