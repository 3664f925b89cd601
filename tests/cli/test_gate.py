"""karat gate: verdicts and exit codes, on reports and on files, against every kind of baseline; never a silent pass."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from .conftest import Karat
from .support import Outcome, check_failure, check_width, put
from .test_compare import tree
from .test_intervals import QUERIES, RANKS, put_gold, put_run

WORSE = [3] * QUERIES
TYPES = "query_id,type\n" + "".join(f"q{n:02},{'how-to' if n % 2 else 'fact'}\n" for n in range(QUERIES))
ITEMS = "item_id,part\nd0,head\nd1,tail\nd2,tail\n"
GATE = ["gate", "t.toml"]
FILES = ["g.qrels", "new.trec"]
# The mean of new is 0.708 [0.59, 0.83], that of old 0.333 for every query.
PASS, FAIL, UNSURE = "rr >= 0.5", "rr >= 0.95", "rr >= 0.7"


@pytest.fixture(autouse=True)
def _files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    put_gold()
    put_run("new.trec", RANKS)
    put_run("old.trec", WORSE)
    put("types.csv", TYPES)
    put("items.csv", ITEMS)


def _targets(*targets: str, name: str = "t.toml", **keys: str | list[str]) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in {"targets": list(targets), **keys}.items()]
    return put(name, "\n".join(lines) + "\n")


def _one_target(**keys: str) -> None:
    put("t.toml", "[[target]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items()))


def _report(karat: Karat, name: str, *runs: str, compared: bool = False, options: tuple[str, ...] = ()) -> str:
    given = ["-m", "rr,ap", "-s", "types.csv:type", "-o", name, *options]
    assert karat("compare" if compared else "evaluate", "g.qrels", *runs, *given).code == 0
    return name


def _verdicts(outcome: Outcome) -> list[dict[str, Any]]:
    gate = json.loads(outcome.out)
    assert gate["schema"] == "karat.gate/1" and "NaN" not in outcome.out
    verdicts: list[dict[str, Any]] = gate["targets"]
    return verdicts


# --- verdicts and exit codes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("on", ["files", "report", "standard input"])
@pytest.mark.parametrize(
    ("targets", "verdict", "code", "strict"),
    [
        ([PASS], "pass", 0, 0),
        ([FAIL], "fail", 4, 4),
        ([UNSURE], "unsure", 0, 5),
        ([PASS, UNSURE, FAIL], "fail", 4, 4),
        ([UNSURE, PASS], "unsure", 0, 5),
    ],
)
def test_exit_codes(karat: Karat, on: str, targets: list[str], verdict: str, code: int, strict: int) -> None:
    _targets(*targets)
    saved = Path(_report(karat, "report.json", "new.trec")).read_bytes()
    given = {"files": FILES, "report": ["report.json"], "standard input": ["-"]}[on]
    assert karat(*GATE, *given, stdin=saved).code == code
    outcome = karat(*GATE, *given, "--strict", "--json", stdin=saved)
    assert (outcome.code, json.loads(outcome.out)["verdict"]) == (strict, verdict)


def test_a_reader_that_left_does_not_turn_failure_into_success(karat: Karat) -> None:
    """As ``karat gate … | head -1`` with pipefail: no silent pass."""
    _targets(FAIL)
    reader, writer = os.pipe()
    os.close(reader)
    line = [sys.executable, "-m", "karat", *GATE, *FILES]
    try:
        done = subprocess.run(line, stdout=writer, stderr=subprocess.PIPE, timeout=60)
    finally:
        os.close(writer)
    assert done.returncode == 4


def test_json_tells_all(karat: Karat) -> None:
    _one_target(require="rr >= 0.5", slice="type=fact", name="Facts")
    (verdict,) = _verdicts(karat(*GATE, *FILES, "-s", "types.csv:type", "--json"))
    low, high = verdict.pop("ci")
    assert low < verdict["value"] < high
    del verdict["value"], verdict["note"]
    assert verdict == {
        "target": "Facts",
        "measure": "rr",
        "slice": "type=fact",
        "system": "new",
        "verdict": "pass",
        "n": QUERIES // 2,
        "relative": False,
        "wanted": "at least 0.5",
    }


def test_files_and_their_report_agree(karat: Karat) -> None:
    _targets(PASS, UNSURE, "ap gain >= 0.1", baseline="old")
    saved = _report(karat, "report.json", "old.trec", "new.trec", compared=True)
    assert _verdicts(karat(*GATE, saved, "--json")) == _verdicts(
        karat(*GATE, "g.qrels", "old.trec", "new.trec", "--json")
    )


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        ("rr drop <= 0.005", "fail"),
        ("rr drop <= 0.9", "pass"),
        ("rr drop <= 0.37", "unsure"),
        ("rr drop <= 5 %", "fail"),
        ("rr drop < 90%", "pass"),
        ("rr gain >= 0", "fail"),
        ("rr gain ≥ -0.9", "pass"),
    ],
)
def test_targets_on_the_difference(karat: Karat, target: str, verdict: str) -> None:
    _targets(target)
    outcome = karat(*GATE, "g.qrels", "new.trec", "old.trec", "--baseline", "new", "--json")
    (found,) = _verdicts(outcome)
    assert (found["system"], found["relative"], found["verdict"]) == ("old", True, verdict)


def test_recorded_figures(karat: Karat) -> None:
    _targets("latency_p95_ms <= 50", "size < 10")
    options = ["--record", "latency_p95_ms=12.5", "--record", "new:size=10"]
    saved = _report(karat, "report.json", "new.trec", options=tuple(options))
    for given in ([saved], [*FILES, *options]):
        outcome = karat(*GATE, *given, "--json")
        assert [(v["verdict"], v["value"], v["n"]) for v in _verdicts(outcome)] == [
            ("pass", 12.5, None),
            ("fail", 10, None),
        ]
        assert outcome.code == 4


def test_the_difference_of_a_recorded_figure(karat: Karat) -> None:
    _targets("latency gain <= 5")
    runs = ["g.qrels", "old.trec", "new.trec", "-b", "old"]
    outcome = karat(*GATE, *runs, "--record", "old:latency=10", "--record", "new:latency=12", "--json")
    if outcome.code == 0:
        assert _verdicts(outcome)[0]["value"] == 2
    else:
        check_failure(outcome, 2, "latency", "figure")
        assert "Did you mean latency?" not in outcome.err and "unknown" not in outcome.err


# --- the baseline -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["name", "run among", "run beside", "report", "TOML name", "TOML run", "TOML report"])
def test_the_baseline_of_files(karat: Karat, how: str) -> None:
    _report(karat, "old.json", "old.trec")
    given = {"name": "old", "run among": "old.trec", "run beside": "old.trec", "report": "old.json"}
    among = ["old.trec"] if how in ("name", "run among", "TOML name") else []
    chosen = given.get(how) or {"TOML name": "old", "TOML run": "old.trec", "TOML report": "old.json"}[how]
    in_file = {"baseline": chosen} if how.startswith("TOML") else {}
    _targets("rr gain >= 0.1", **in_file)
    outcome = karat(*GATE, "g.qrels", *among, "new.trec", "--json", *([] if in_file else ["--baseline", chosen]))
    (verdict,) = _verdicts(outcome)
    assert (outcome.code, verdict["system"], verdict["verdict"]) == (0, "new", "pass")
    assert verdict["value"] == pytest.approx(0.375) and verdict["ci"][0] < 0.375 < verdict["ci"][1]


@pytest.mark.parametrize("baseline", ["old.json", "old"])
def test_the_baseline_of_a_report(karat: Karat, baseline: str) -> None:
    _targets("rr gain >= 0.1")
    _report(karat, "old.json", "old.trec")
    saved = _report(karat, "new.json", *(["old.trec"] if baseline == "old" else []), "new.trec")
    outcome = karat(*GATE, saved, "--baseline", baseline, "--json")
    (verdict,) = _verdicts(outcome)
    assert (verdict["verdict"], verdict["n"], outcome.err) == ("pass", QUERIES, "")
    paired = _verdicts(karat(*GATE, "g.qrels", "old.trec", "new.trec", "-b", "old", "--json"))
    assert verdict["ci"] == paired[0]["ci"]


def test_reports_without_queries_are_not_paired_and_it_is_said(karat: Karat) -> None:
    _targets("rr gain >= 0.1")
    _report(karat, "old.json", "old.trec")
    put("new.json", karat("evaluate", *FILES, "-m", "rr", "--json").out)
    outcome = karat(*GATE, "new.json", "-b", "old.json")
    assert outcome.code == 0 and "not paired" in outcome.warnings[0]


def test_no_interval_is_said(karat: Karat) -> None:
    _targets(PASS)
    assert karat("evaluate", *FILES, "-m", "rr", "--no-ci", "-o", "new.json").code == 0
    assert "no interval" in karat(*GATE, "new.json").warnings[0]


# --- slices, named beside the targets -----------------------------------------------------------------------------


SLICED = """baseline = {}
slices = "types.csv:type"
item_slices = ["items.csv:part"]
[[target]]
require = "rr >= 0.1"
slice = "type=fact"
[[target]]
require = "rr drop <= 0.1"
slice = "item.part=head"
"""


@pytest.mark.parametrize(("baseline", "runs"), [("old", ["../new.trec", "../old.trec"]), ("old.trec", ["../new.trec"])])
def test_files_named_in_the_targets_stand_beside_them(
    karat: Karat, folder: Path, monkeypatch: pytest.MonkeyPatch, baseline: str, runs: list[str]
) -> None:
    put("t.toml", SLICED.format(json.dumps(baseline)))
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    outcome = karat("gate", "../t.toml", "../g.qrels", *runs, "--json")
    assert outcome.code == 0, outcome.err
    assert [verdict["slice"] for verdict in _verdicts(outcome)] == ["type=fact", "item.part=head"]


# --- never a silent pass ------------------------------------------------------------------------------------------

WRONG: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "measure": ('targets = ["rrr >= 0.5"]', 2, ("'rrr'", "Did you mean rr")),
    "figure": ('targets = ["latency_p95 <= 5"]', 2, ("'latency_p95'", "latency_p95_ms")),
    "slice": ('[[target]]\nrequire = "rr >= 0.5"\nslice = "type=fcat"', 2, ("'type=fcat'", "Did you mean type=fact")),
    "system": ('[[target]]\nrequire = "rr >= 0.5"\nsystem = "nwe"', 2, ("'nwe'", "Did you mean new")),
    "key": (f'targest = ["{PASS}"]', 2, ("t.toml", "unknown key 'targest'", "target")),
    "key of a target": (f'[[target]]\nrequire = "{PASS}"\nslcie = "x"', 2, ("t.toml", "'slcie'", "Did you mean slice")),
    "baseline": ('baseline = "odl"\ntargets = ["rr drop <= 1"]', 2, ("unknown system 'odl'", "old")),
    "no baseline": ('targets = ["rr drop <= 1"]', 2, ("'rr' needs a baseline", "--baseline")),
    "no targets": ("targets = []", 2, ("t.toml: found no target", "ndcg@10 >= 0.85")),
    "no sign": ('targets = ["rr 0.5"]', 2, ("t.toml: cannot read the target 'rr 0.5'",)),
    "no number": ('targets = ["rr >= high"]', 2, ("'rr >= high'",)),
    "nan": ('targets = ["rr >= nan"]', 2, ("'rr >= nan'",)),
    "no text": ("targets = [0.5]", 2, ("t.toml: targets is [0.5]",)),
    "no require": ('[[target]]\nslice = "type=fact"', 2, ("t.toml", "require")),
    "one table": (f'[target]\nrequire = "{PASS}"', 2, ("t.toml", "[[target]]")),
    "not TOML": ("targets = [", 2, ("t.toml: not TOML",)),
    "empty": ("", 3, ("t.toml: the file is empty",)),
    "a run": ("q1 Q0 d1 1 2.5 tag", 2, ("t.toml: not TOML",)),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("on", ["files", "report"])
def test_what_is_misspelt_is_an_error(karat: Karat, folder: Path, on: str, case: str) -> None:
    text, code, fragments = WRONG[case]
    figure = ("--record", "latency_p95_ms=3")
    _report(karat, "report.json", "new.trec", "old.trec", options=figure)
    put("t.toml", text and text + "\n")
    put("old.md", "as it was")
    before = tree(folder)
    given = ["report.json"] if on == "report" else [*FILES, "old.trec", "-s", "types.csv:type", *figure]
    check_failure(karat(*GATE, *given, "-o", "new.xml", "-o", "old.md"), code, *fragments)
    assert tree(folder) == before


def test_errors_come_without_warnings_before_them(karat: Karat) -> None:
    """A clear line is no clearer under ten others."""
    put_gold(queries=3)
    _one_target(require="rr >= 0.5", slice="type=fcat")
    put("types.csv", "query_id,type\nq00,fact\nq01,how-to\nq02,fact\n")
    check_failure(karat(*GATE, *FILES, "-s", "types.csv:type"), 2, "unknown slice 'type=fcat'")


def test_a_measure_that_the_report_does_not_have(karat: Karat) -> None:
    _targets("ndcg@7 >= 0.5")
    outcome = karat(*GATE, _report(karat, "report.json", "new.trec"), "-o", "gate.xml")
    check_failure(outcome, 3, "report.json", "the report has no ndcg@7", "rr, ap", "-m 'ndcg@7'")
    assert not Path("gate.xml").exists()


def test_slices_that_the_report_does_not_have(karat: Karat) -> None:
    _one_target(require=PASS, slice="type=fact")
    karat("evaluate", *FILES, "-m", "rr", "-o", "plain.json")
    check_failure(karat(*GATE, "plain.json"), 3, "plain.json", "no slices", "'type=fact'", "--slices")


def test_a_figure_that_was_not_recorded(karat: Karat) -> None:
    """The example of --help, forgotten on the command line."""
    _targets("latency_p95_ms <= 50")
    check_failure(karat(*GATE, *FILES), 2, "t.toml", "latency_p95_ms", "--record")


@pytest.mark.parametrize("target", [PASS, "rr drop <= 0.1"])
def test_nothing_relevant_at_all(karat: Karat, target: str) -> None:
    put_gold(grade=0)
    _targets(target)
    saved = _report(karat, "report.json", "old.trec", "new.trec")
    for given in ([saved, "-b", "old"], ["g.qrels", "old.trec", "new.trec", "-b", "old"]):
        check_failure(karat(*GATE, *given, "-o", "gate.xml"), 3, "rr", "undefined for every query")
    assert not Path("gate.xml").exists()


def test_one_query_is_unsure(karat: Karat) -> None:
    put_gold(queries=1)
    _targets(PASS)
    assert [karat(*GATE, *FILES, *strict).code for strict in ([], ["--strict"])] == [0, 5]
    assert any("one query" in text for text in karat(*GATE, *FILES).warnings)


def test_equal_scores_at_the_limit_pass(karat: Karat) -> None:
    put_run("new.trec", [1] * QUERIES)
    _targets("rr >= 1", "rr <= 1", "precision@10 >= 0.1", "precision@10 <= 0.1", "rr drop <= 0")
    outcome = karat(*GATE, *FILES, "-b", put_run("same.trec", [1] * QUERIES), "--json")
    assert [verdict["verdict"] for verdict in _verdicts(outcome)] == ["pass"] * 5


@pytest.mark.parametrize(
    ("given", "code", "fragments"),
    [
        (["g.qrels"], 3, ("g.qrels", "no report of karat")),
        (["report.csv"], 3, ("report.csv", "no report of karat")),
        (["nowhere.json"], 3, ("nowhere.json: no such file",)),
        (["empty.json"], 3, ("empty.json",)),
        (["."], 3, ("found a folder",)),
        (["report.json", "new.trec"], 2, ("report.json is a report", "a gold and runs")),
        (["g.qrels", "report.json"], 3, ("report.json", "is a report of karat")),
        (["report.json", "-b", "nowhere.json"], 3, ("nowhere.json: no such report",)),
        (["report.json", "--record", "x=1"], 2, ("--record",)),
        (["report.json", "--slices", "types.csv:type"], 2, ("--slices", "report")),
        (["report.json", "--level", "0.9"], 2, ("--level", "report")),
        (["report.json", "-o", "gate.xls"], 2, ("'gate.xls'", ".xml", ".md", ".json")),
        (["cut.json"], 3, ("cut.json: not JSON",)),
        (["later.json"], 3, ("later.json", "karat.report/9", "karat.report/1")),
        (["bare.json"], 3, ("bare.json",)),
        (["half.json"], 3, ("half.json",)),
    ],
)
def test_files_of_the_wrong_kind(
    karat: Karat, folder: Path, given: list[str], code: int, fragments: tuple[str, ...]
) -> None:
    saved = Path(_report(karat, "report.json", "new.trec", options=("-o", "report.csv"))).read_text()
    put("empty.json", "")
    put("cut.json", saved[: len(saved) // 2])
    put("later.json", saved.replace("karat.report/1", "karat.report/9"))
    put("bare.json", '{"schema": "karat.report/1", "systems": {"new": {}}}')
    put("half.json", '{"schema": "karat.report/1", "systems": {"new": {"measures": {"rr": {"mean": "x"}}}}}')
    _targets(PASS)
    before = tree(folder)
    check_failure(karat(*GATE, *given, "-o", "new.xml"), code, *fragments)
    assert tree(folder) == before


def test_standard_input_is_read_once(karat: Karat) -> None:
    check_failure(karat("gate", "-", "-", stdin=b'targets = ["rr >= 0"]\n'), 2, "standard input was named twice")


def test_a_packed_report(karat: Karat) -> None:
    _targets(PASS)
    put("report.json.gz", gzip.compress(Path(_report(karat, "report.json", "new.trec")).read_bytes()))
    assert karat(*GATE, "report.json.gz").code == 0


# --- what is written ----------------------------------------------------------------------------------------------


def test_junit_and_markdown(karat: Karat) -> None:
    _targets(PASS, UNSURE, FAIL, "ap < 0.99")
    put("t.toml", Path("t.toml").read_text() + '[[target]]\nrequire = "rr > 0"\nname = "a<b> & \\"c\\"|\\u0007"\n')
    outcome = karat(*GATE, *FILES, "-o", "gate.xml", "-o", "gate.md", "-o", "gate.json")
    assert (outcome.code, outcome.err) == (4, "Wrote gate.xml, gate.md, gate.json\n")
    suite = ElementTree.parse("gate.xml").getroot()[0]
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped", "errors")} == {
        "tests": "5", "failures": "1", "skipped": "1", "errors": "0",
    }  # fmt: skip
    assert [[part.tag for part in case] for case in suite] == [[], ["skipped"], ["failure"], [], []]
    assert suite[4].get("name", "").startswith('a<b> & "c"|')
    assert "wanted at least 0.95" in suite[2][0].get("message", "")
    text = Path("gate.md").read_text()
    assert text.startswith("### karat gate: FAIL") and "| FAIL | rr | 0.708 [" in text and 'a&lt;b> & "c"\\|' in text
    assert json.loads(Path("gate.json").read_text()) == json.loads(karat(*GATE, *FILES, "--json").out)


def test_the_summary_is_appended(karat: Karat, monkeypatch: pytest.MonkeyPatch) -> None:
    _targets(FAIL)
    put("summary.md", "# Before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    for _ in range(2):
        karat(*GATE, *FILES, "-o", "gate.md")
    text = Path("summary.md").read_text()
    assert text.startswith("# Before\n") and text.count("### karat gate: FAIL") == 2
    assert Path("gate.md").read_text() in text


@pytest.mark.parametrize("place", ["nowhere/summary.md", "."])
def test_a_summary_that_cannot_be_written_changes_no_verdict(
    karat: Karat, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    _targets(PASS)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", place)
    outcome = karat(*GATE, *FILES, "-o", "gate.xml")
    assert outcome.code == 0 and Path("gate.xml").exists()
    assert len(outcome.warnings) == 1 and "GITHUB_STEP_SUMMARY" in outcome.warnings[0]


def test_an_error_is_no_summary(karat: Karat, monkeypatch: pytest.MonkeyPatch) -> None:
    _targets("ndgc@10 >= 1")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    check_failure(karat(*GATE, *FILES), 2)
    assert not Path("summary.md").exists()


def test_the_first_file_is_not_left_when_the_second_cannot_be_written(karat: Karat, folder: Path) -> None:
    _targets(PASS)
    before = tree(folder)
    check_failure(karat(*GATE, *FILES, "-o", "gate.xml", "-o", "nowhere/gate.md"), 3, "nowhere/gate.md")
    assert tree(folder) == before


# --- the screen ---------------------------------------------------------------------------------------------------


def test_failures_come_first_and_the_sum_last(karat: Karat) -> None:
    _targets(PASS, UNSURE, FAIL)
    lines = karat(*GATE, *FILES).out.splitlines()
    assert [line.split()[0] for line in lines[2:5]] == ["FAIL", "UNSURE", "PASS"]
    assert lines[-1] == "1 pass · 1 fail · 1 unsure"


@pytest.mark.parametrize("systems", [1, 3])
@pytest.mark.parametrize("name", ["s", "a-system-with-a-name-of-more-than-forty-letters"])
@pytest.mark.parametrize("title", ["rr", "A target with a name that goes on for a while, as people like to write them"])
def test_everything_fits_80_columns(karat: Karat, systems: int, name: str, title: str) -> None:
    put("t.toml", f'targets = ["{FAIL}", "rr drop <= 0.005"]\n[[target]]\nrequire = "rr >= 0.7"\nname = "{title}"\n')
    runs = [put_run(f"{name}-{n}.trec", RANKS) for n in range(systems)]
    out = karat(*GATE, "g.qrels", "old.trec", *runs, "-b", "old").out
    check_width(out)
    assert [out.count(word) for word in ("FAIL", "UNSURE", "PASS")] == [systems] * 3
    assert out.count("0.708 [0.") == 2 * systems and out.count("0.95") == systems


def test_quiet_leaves_the_same_result(karat: Karat) -> None:
    put_gold(queries=5)
    _targets(PASS)
    for form in ([], ["--json"], ["-o", "gate.md"]):
        loud, quiet = karat(*GATE, *FILES, *form), karat(*GATE, *FILES, *form, "-q")
        assert loud.err.startswith("warning: ") and quiet.err == "" and quiet.out == loud.out
