"""rankjury gate: verdicts and exit codes, on reports and files, against every kind of baseline; never a silent pass."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Rankjury
from tests.cli.gating import (
    FAIL,
    FILES,
    GATE,
    PASS,
    UNSURE,
    gate_files,
    make_report,
    put_one_target,
    put_targets,
    verdicts_of,
)
from tests.cli.made import QUERIES, RANKS, put_gold, put_run, tree
from tests.cli.support import check_failure, check_width, put

__all__ = ["gate_files"]
pytestmark = pytest.mark.usefixtures("gate_files")


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
def test_exit_codes(rankjury: Rankjury, on: str, targets: list[str], verdict: str, code: int, strict: int) -> None:
    put_targets(*targets)
    saved = Path(make_report(rankjury, "report.json", "new.trec")).read_bytes()
    given = {"files": FILES, "report": ["report.json"], "standard input": ["-"]}[on]
    assert rankjury(*GATE, *given, stdin=saved).code == code
    outcome = rankjury(*GATE, *given, "--strict", "--json", stdin=saved)
    assert (outcome.code, json.loads(outcome.out)["verdict"]) == (strict, verdict)


def test_a_reader_that_left_does_not_turn_failure_into_success(rankjury: Rankjury) -> None:
    """As ``rankjury gate … | head -1`` with pipefail: no silent pass."""
    put_targets(FAIL)
    reader, writer = os.pipe()
    os.close(reader)
    line = [sys.executable, "-m", "rankjury", *GATE, *FILES]
    try:
        done = subprocess.run(line, stdout=writer, stderr=subprocess.PIPE, timeout=60)
    finally:
        os.close(writer)
    assert done.returncode == 4


def test_json_tells_all(rankjury: Rankjury) -> None:
    put_one_target(require="rr >= 0.5", slice="type=fact", name="Facts")
    (verdict,) = verdicts_of(rankjury(*GATE, *FILES, "-s", "types.csv:type", "--json"))
    low, high = verdict.pop("ci")
    assert low < verdict["value"] < high
    del verdict["value"], verdict["note"]
    requirement = verdict.pop("requirement")
    assert (requirement["subject"], requirement["sign"], requirement["limit"]) == ("rr", ">=", 0.5)
    assert verdict == {
        "target": "Facts",
        "measure": "rr",
        "slice": "type=fact",
        "system": "new",
        "verdict": "pass",
        "n": QUERIES // 2,
        "relative": False,
        "wanted": "at least 0.5",
        "queries_needed": None,
    }


def test_files_and_their_report_agree(rankjury: Rankjury) -> None:
    put_targets(PASS, UNSURE, "ap gain >= 0.1", baseline="old")
    saved = make_report(rankjury, "report.json", "old.trec", "new.trec", compared=True)
    assert verdicts_of(rankjury(*GATE, saved, "--json")) == verdicts_of(
        rankjury(*GATE, "g.qrels", "old.trec", "new.trec", "--json")
    )


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        ("rr drop <= 0.005", "fail"),
        ("rr drop <= 0.9", "pass"),
        ("rr drop <= 0.37", "fail"),
        ("rr drop <= 0.38", "unsure"),
        ("rr drop <= 5 %", "fail"),
        ("rr drop < 90%", "pass"),
        ("rr gain >= 0", "fail"),
        ("rr gain ≥ -0.9", "pass"),
    ],
)
def test_targets_on_the_difference(rankjury: Rankjury, target: str, verdict: str) -> None:
    put_targets(target)
    outcome = rankjury(*GATE, "g.qrels", "new.trec", "old.trec", "--baseline", "new", "--json")
    (found,) = verdicts_of(outcome)
    assert (found["system"], found["relative"], found["verdict"]) == ("old", True, verdict)


def test_recorded_figures(rankjury: Rankjury) -> None:
    put_targets("latency_p95_ms <= 50", "size < 10")
    options = ["--record", "latency_p95_ms=12.5", "--record", "new:size=10"]
    saved = make_report(rankjury, "report.json", "new.trec", options=tuple(options))
    for given in ([saved], [*FILES, *options]):
        outcome = rankjury(*GATE, *given, "--json")
        assert [(v["verdict"], v["value"], v["n"]) for v in verdicts_of(outcome)] == [
            ("pass", 12.5, None),
            ("fail", 10, None),
        ]
        assert outcome.code == 4


def test_the_difference_of_a_recorded_figure(rankjury: Rankjury) -> None:
    put_targets("latency gain <= 5")
    runs = ["g.qrels", "old.trec", "new.trec", "-b", "old"]
    outcome = rankjury(*GATE, *runs, "--record", "old:latency=10", "--record", "new:latency=12", "--json")
    if outcome.code == 0:
        assert verdicts_of(outcome)[0]["value"] == 2
    else:
        check_failure(outcome, 2, "latency", "figure")
        assert "Did you mean latency?" not in outcome.err and "unknown" not in outcome.err


# --- the baseline -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["name", "run among", "run beside", "report", "TOML name", "TOML run", "TOML report"])
def test_the_baseline_of_files(rankjury: Rankjury, how: str) -> None:
    make_report(rankjury, "old.json", "old.trec")
    given = {"name": "old", "run among": "old.trec", "run beside": "old.trec", "report": "old.json"}
    among = ["old.trec"] if how in ("name", "run among", "TOML name") else []
    chosen = given.get(how) or {"TOML name": "old", "TOML run": "old.trec", "TOML report": "old.json"}[how]
    in_file = {"baseline": chosen} if how.startswith("TOML") else {}
    put_targets("rr gain >= 0.1", **in_file)
    outcome = rankjury(*GATE, "g.qrels", *among, "new.trec", "--json", *([] if in_file else ["--baseline", chosen]))
    (verdict,) = verdicts_of(outcome)
    assert (outcome.code, verdict["system"], verdict["verdict"]) == (0, "new", "pass")
    assert verdict["value"] == pytest.approx(0.375) and verdict["ci"][0] < 0.375 < verdict["ci"][1]


@pytest.mark.parametrize("baseline", ["old.json", "old"])
def test_the_baseline_of_areport(rankjury: Rankjury, baseline: str) -> None:
    put_targets("rr gain >= 0.1")
    make_report(rankjury, "old.json", "old.trec")
    saved = make_report(rankjury, "new.json", *(["old.trec"] if baseline == "old" else []), "new.trec")
    outcome = rankjury(*GATE, saved, "--baseline", baseline, "--json")
    (verdict,) = verdicts_of(outcome)
    assert (verdict["verdict"], verdict["n"], outcome.err) == ("pass", QUERIES, "")
    paired = verdicts_of(rankjury(*GATE, "g.qrels", "old.trec", "new.trec", "-b", "old", "--json"))
    assert verdict["ci"] == paired[0]["ci"]


def test_reports_without_queries_are_not_paired_and_it_is_said(rankjury: Rankjury) -> None:
    put_targets("rr gain >= 0.1")
    make_report(rankjury, "old.json", "old.trec")
    put("new.json", rankjury("evaluate", *FILES, "-m", "rr", "--json").out)
    outcome = rankjury(*GATE, "new.json", "-b", "old.json")
    assert outcome.code == 0 and "not paired" in outcome.warnings[0]


def test_no_interval_is_said(rankjury: Rankjury) -> None:
    put_targets(PASS)
    assert rankjury("evaluate", *FILES, "-m", "rr", "--no-ci", "-o", "new.json").code == 0
    assert "no interval" in rankjury(*GATE, "new.json").warnings[0]


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
    rankjury: Rankjury, folder: Path, monkeypatch: pytest.MonkeyPatch, baseline: str, runs: list[str]
) -> None:
    put("t.toml", SLICED.format(json.dumps(baseline)))
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    outcome = rankjury("gate", "../t.toml", "../g.qrels", *runs, "--json")
    assert outcome.code == 0, outcome.err
    assert [verdict["slice"] for verdict in verdicts_of(outcome)] == ["type=fact", "item.part=head"]


# --- what is written ----------------------------------------------------------------------------------------------


def test_junit_and_markdown(rankjury: Rankjury) -> None:
    put_targets(PASS, UNSURE, FAIL, "ap < 0.99")
    put("t.toml", Path("t.toml").read_text() + '[[target]]\nrequire = "rr > 0"\nname = "a<b> & \\"c\\"|\\u0007"\n')
    outcome = rankjury(*GATE, *FILES, "-o", "gate.xml", "-o", "gate.md", "-o", "gate.json")
    assert (outcome.code, outcome.err) == (4, "Wrote gate.xml, gate.md, gate.json\n")
    suite = ElementTree.parse("gate.xml").getroot()[0]
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped", "errors")} == {
        "tests": "5", "failures": "1", "skipped": "1", "errors": "0",
    }  # fmt: skip
    assert [[part.tag for part in case] for case in suite] == [[], ["skipped"], ["failure"], [], []]
    assert suite[4].get("name", "").startswith('a<b> & "c"|')
    assert "wanted at least 0.95" in suite[2][0].get("message", "")
    text = Path("gate.md").read_text()
    assert text.startswith("### rankjury gate: FAIL") and "| FAIL | rr | 0.708 [" in text
    assert 'a&lt;b> &amp; "c"&#124;' in text
    assert json.loads(Path("gate.json").read_text()) == json.loads(rankjury(*GATE, *FILES, "--json").out)


def test_the_summary_is_appended(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch) -> None:
    put_targets(FAIL)
    put("summary.md", "# Before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    for _ in range(2):
        rankjury(*GATE, *FILES, "-o", "gate.md")
    text = Path("summary.md").read_text()
    assert text.startswith("# Before\n") and text.count("### rankjury gate: FAIL") == 2
    assert Path("gate.md").read_text() in text


@pytest.mark.parametrize("place", ["nowhere/summary.md", "."])
def test_a_summary_that_cannot_be_written_changes_no_verdict(
    rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    put_targets(PASS)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", place)
    outcome = rankjury(*GATE, *FILES, "-o", "gate.xml")
    assert outcome.code == 0 and Path("gate.xml").exists()
    assert len(outcome.warnings) == 1 and "GITHUB_STEP_SUMMARY" in outcome.warnings[0]


def test_an_error_is_no_summary(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch) -> None:
    put_targets("ndgc@10 >= 1")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    check_failure(rankjury(*GATE, *FILES), 2)
    assert not Path("summary.md").exists()


def test_the_first_file_is_not_left_when_the_second_cannot_be_written(rankjury: Rankjury, folder: Path) -> None:
    put_targets(PASS)
    before = tree(folder)
    check_failure(rankjury(*GATE, *FILES, "-o", "gate.xml", "-o", "nowhere/gate.md"), 3, "nowhere/gate.md")
    assert tree(folder) == before


# --- the screen ---------------------------------------------------------------------------------------------------


def test_failures_come_first_and_the_sum_last(rankjury: Rankjury) -> None:
    put_targets(PASS, UNSURE, FAIL)
    outcome = rankjury(*GATE, *FILES)
    lines = outcome.out.splitlines()
    assert "1 of 3 targets failed, 1 is unsure" in lines[0]
    words = [line.split()[0] for line in lines[1:] if line]
    assert [word for word in words if word.isupper()] == ["FAIL", "UNSURE", "PASS"]
    assert "would decide" in outcome.out
    assert "4" in lines[-1]


@pytest.mark.parametrize(("options", "code"), [((), 4), (("--lenient",), 0), (("--lenient", "--strict"), 5)])
def test_a_value_beyond_the_limit(rankjury: Rankjury, options: tuple[str, ...], code: int) -> None:
    """0.708 is below 0.72, which its interval holds."""
    put_targets("rr >= 0.72")
    outcome = rankjury(*GATE, *FILES, *options)
    assert outcome.code == code
    assert outcome.out.startswith("FAIL" if code == 4 else "UNSURE")
    assert ("exit code" in outcome.out) and str(code) in outcome.out.splitlines()[-1]


@pytest.mark.parametrize("systems", [1, 3])
@pytest.mark.parametrize("name", ["s", "a-system-with-a-name-of-more-than-forty-letters"])
@pytest.mark.parametrize("title", ["rr", "A target with a name that goes on for a while, as people like to write them"])
def test_everything_fits_80_columns(rankjury: Rankjury, systems: int, name: str, title: str) -> None:
    put("t.toml", f'targets = ["{FAIL}", "rr drop <= 0.005"]\n[[target]]\nrequire = "rr >= 0.7"\nname = "{title}"\n')
    runs = [put_run(f"{name}-{n}.trec", RANKS) for n in range(systems)]
    out = rankjury(*GATE, "g.qrels", "old.trec", *runs, "-b", "old").out
    check_width(out)
    assert [out.count(word) for word in ("FAIL", "UNSURE", "PASS")] == [systems] * 3, out
    assert out.count("0.708 [0.") == 2 * systems
    assert out.count("0.95") in (1, systems), "the limit: in each row, or once above the rows of its systems"


def test_the_queries_that_got_worse_are_one_command_away(rankjury: Rankjury) -> None:
    put_targets(FAIL, slices="types.csv:type")
    outcome = rankjury(*GATE, *FILES, "-b", "old.trec")
    assert outcome.code == 4
    command = outcome.err.partition("Next: ")[2].partition("rankjury ")[2].split()
    assert rankjury(*command).code == 0
    assert Path("diff.html").exists()
    assert rankjury("evaluate", "g.qrels", "old.trec", "-m", "rr", "-s", "types.csv:type", "-o", "old.json").code == 0
    assert "diff.html" not in rankjury(*GATE, *FILES, "-b", "old.json").err, "a report has no ranking to compare with"
    put_targets(PASS)
    assert "diff.html" not in rankjury(*GATE, *FILES, "-b", "old.trec").err


def test_targets_that_are_still_to_be_written(rankjury: Rankjury) -> None:
    missing = rankjury("gate", "new-targets.toml", *FILES)
    assert missing.code == 3
    assert "new-targets.toml: no such file" in missing.err and 'targets = ["' in missing.err
    put_targets(PASS, name="new-target.toml")
    assert "Did you mean new-target.toml?" in rankjury("gate", "new-targets.toml", *FILES).err


def test_quiet_leaves_the_same_result(rankjury: Rankjury) -> None:
    put_gold(queries=5)
    put_targets(PASS)
    for form in ([], ["--json"], ["-o", "gate.md"]):
        loud, quiet = rankjury(*GATE, *FILES, *form), rankjury(*GATE, *FILES, *form, "-q")
        assert loud.err.startswith("warning: ") and quiet.err == "" and quiet.out == loud.out
