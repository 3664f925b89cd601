"""rankjury gate: never a silent pass. What is misspelt, missing or of the wrong kind is an error."""

import gzip
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
from tests.cli.made import QUERIES, put_gold, put_run, tree
from tests.cli.support import check_failure, put

__all__ = ["gate_files"]
pytestmark = pytest.mark.usefixtures("gate_files")


# --- never a silent pass ------------------------------------------------------------------------------------------

WRONG: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "measure": ('targets = ["rrr >= 0.5"]', 2, ("'rrr'", "Did you mean rr")),
    "figure": ('targets = ["latency_p95 <= 5"]', 2, ("'latency_p95'", "latency_p95_ms")),
    "slice": ('[[target]]\nrequire = "rr >= 0.5"\nslice = "type=fcat"', 2, ("'type=fcat'", "Did you mean type=fact")),
    "system": ('[[target]]\nrequire = "rr >= 0.5"\nsystem = "nwe"', 2, ("'nwe'", "Did you mean new")),
    "key": (f'targest = ["{PASS}"]', 2, ("t.toml", "unknown key 'targest'", "target")),
    "key of a target": (f'[[target]]\nrequire = "{PASS}"\nslcie = "x"', 2, ("t.toml", "'slcie'", "Did you mean slice")),
    "baseline": ('baseline = "odl"\ntargets = ["rr drop <= 1"]', 2, ("unknown system 'odl'", "old")),
    "no baseline": ('targets = ["rr drop <= 1"]', 2, ("'rr drop <= 1' needs a baseline", "--baseline")),
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
def test_what_is_misspelt_is_an_error(rankjury: Rankjury, folder: Path, on: str, case: str) -> None:
    text, code, fragments = WRONG[case]
    figure = ("--record", "latency_p95_ms=3")
    make_report(rankjury, "report.json", "new.trec", "old.trec", options=figure)
    put("t.toml", text and text + "\n")
    put("old.md", "as it was")
    before = tree(folder)
    given = ["report.json"] if on == "report" else [*FILES, "old.trec", "-s", "types.csv:type", *figure]
    check_failure(rankjury(*GATE, *given, "-o", "new.xml", "-o", "old.md"), code, *fragments)
    assert tree(folder) == before


def test_errors_come_without_warnings_before_them(rankjury: Rankjury) -> None:
    """A clear line is no clearer under ten others."""
    put_gold(queries=3)
    put_one_target(require="rr >= 0.5", slice="type=fcat")
    put("types.csv", "query_id,type\nq00,fact\nq01,how-to\nq02,fact\n")
    check_failure(rankjury(*GATE, *FILES, "-s", "types.csv:type"), 2, "unknown slice 'type=fcat'")


def test_a_measure_that_the_report_does_not_have(rankjury: Rankjury) -> None:
    put_targets("ndcg@7 >= 0.5")
    outcome = rankjury(*GATE, make_report(rankjury, "report.json", "new.trec"), "-o", "gate.xml")
    check_failure(outcome, 3, "report.json", "the report has no ndcg@7", "rr, ap", "-m 'ndcg@7'")
    assert not Path("gate.xml").exists()


def test_slices_that_the_report_does_not_have(rankjury: Rankjury) -> None:
    put_one_target(require=PASS, slice="type=fact")
    rankjury("evaluate", *FILES, "-m", "rr", "-o", "plain.json")
    check_failure(rankjury(*GATE, "plain.json"), 3, "plain.json", "no slices", "'type=fact'", "--slices")


def test_a_figure_that_was_not_recorded(rankjury: Rankjury) -> None:
    """The example of --help, forgotten on the command line."""
    put_targets("latency_p95_ms <= 50")
    check_failure(rankjury(*GATE, *FILES), 2, "t.toml", "latency_p95_ms", "--record")


@pytest.mark.parametrize("target", ["ap >= 0.5", "ap drop <= 0.1"])
def test_nothing_relevant_at_all(rankjury: Rankjury, target: str) -> None:
    put_gold(grade=0)
    put_targets(target)
    saved = make_report(rankjury, "report.json", "old.trec", "new.trec")
    for given in ([saved, "-b", "old"], ["g.qrels", "old.trec", "new.trec", "-b", "old"]):
        check_failure(rankjury(*GATE, *given, "-o", "gate.xml"), 3, "ap", "undefined for every query")
    assert not Path("gate.xml").exists()


def test_one_query_is_unsure(rankjury: Rankjury) -> None:
    put_gold(queries=1)
    put_targets(PASS)
    assert [rankjury(*GATE, *FILES, *strict).code for strict in ([], ["--strict"])] == [0, 5]
    assert any("one query" in text for text in rankjury(*GATE, *FILES).warnings)


def test_equal_scores_at_the_limit_pass(rankjury: Rankjury) -> None:
    put_run("new.trec", [1] * QUERIES)
    put_targets("rr >= 1", "rr <= 1", "precision@10 >= 0.1", "precision@10 <= 0.1", "rr drop <= 0")
    outcome = rankjury(*GATE, *FILES, "-b", put_run("same.trec", [1] * QUERIES), "--json")
    assert [verdict["verdict"] for verdict in verdicts_of(outcome)] == ["pass"] * 5


@pytest.mark.parametrize(
    ("given", "code", "fragments"),
    [
        (["g.qrels"], 3, ("g.qrels", "not a report of rankjury")),
        (["report.csv"], 3, ("report.csv", "not a report of rankjury")),
        (["nowhere.json"], 3, ("nowhere.json: no such file",)),
        (["empty.json"], 3, ("empty.json",)),
        (["."], 3, ("found a folder",)),
        (["report.json", "new.trec"], 2, ("report.json is a report", "a gold and runs")),
        (["g.qrels", "report.json"], 3, ("report.json", "rankjury report", "expected a run")),
        (["report.json", "-b", "nowhere.json"], 3, ("nowhere.json: no such report",)),
        (["report.json", "--record", "x=1"], 2, ("--record",)),
        (["report.json", "--slices", "types.csv:type"], 2, ("--slices", "report")),
        (["report.json", "--level", "0.9"], 2, ("--level", "report")),
        (["report.json", "-o", "gate.xls"], 2, ("'gate.xls'", ".xml", ".md", ".json")),
        (["cut.json"], 3, ("cut.json:", "not JSON")),
        (["later.json"], 3, ("later.json", "rankjury.report/9", "rankjury.report/1")),
        (["bare.json"], 3, ("bare.json",)),
        (["half.json"], 3, ("half.json",)),
    ],
)
def test_files_of_the_wrong_kind(
    rankjury: Rankjury, folder: Path, given: list[str], code: int, fragments: tuple[str, ...]
) -> None:
    saved = Path(make_report(rankjury, "report.json", "new.trec", options=("-o", "report.csv"))).read_text()
    put("empty.json", "")
    put("cut.json", saved[: len(saved) // 2])
    put("later.json", saved.replace("rankjury.report/1", "rankjury.report/9"))
    put("bare.json", '{"schema": "rankjury.report/1", "systems": {"new": {}}}')
    put("half.json", '{"schema": "rankjury.report/1", "systems": {"new": {"measures": {"rr": {"mean": "x"}}}}}')
    put_targets(PASS)
    before = tree(folder)
    check_failure(rankjury(*GATE, *given, "-o", "new.xml"), code, *fragments)
    assert tree(folder) == before


def test_standard_input_is_read_once(rankjury: Rankjury) -> None:
    check_failure(rankjury("gate", "-", "-", stdin=b'targets = ["rr >= 0"]\n'), 2, "standard input was named twice")


def test_a_packedreport(rankjury: Rankjury) -> None:
    put_targets(PASS)
    put("report.json.gz", gzip.compress(Path(make_report(rankjury, "report.json", "new.trec")).read_bytes()))
    assert rankjury(*GATE, "report.json.gz").code == 0


def test_a_figure_cannot_stand_for_a_measure(rankjury: Rankjury) -> None:
    put_targets(FAIL)
    check_failure(rankjury(*GATE, *FILES, "--record", "rr=0.99"), 2, "--record rr=0.99", "rr is a measure")


def test_a_misspelt_measure_is_not_taken_for_a_figure(rankjury: Rankjury) -> None:
    put_targets("ndgc@10 >= 0.1")
    check_failure(rankjury(*GATE, *FILES), 2, "t.toml", "'ndgc@10'", "Did you mean ndcg@10")


@pytest.mark.parametrize("target", ["ndcg@10 => 0.5", "rr dropp <= 0.1", "0.1 <= rr <= 0.9"])
def test_a_target_that_cannot_be_read_is_named(rankjury: Rankjury, target: str) -> None:
    put_targets(target)
    check_failure(rankjury(*GATE, *FILES), 2, "t.toml")


def test_unsure_is_a_failure_in_junit_under_strict(rankjury: Rankjury) -> None:
    put_targets(UNSURE)
    for options, failures, skipped in ((["--strict"], "1", "0"), ([], "0", "1")):
        rankjury(*GATE, *FILES, *options, "-o", "g.xml")
        root = ElementTree.parse("g.xml").getroot()
        assert (root.attrib["failures"], root.attrib["skipped"]) == (failures, skipped)


def test_the_baseline_of_the_targets_serves_runs_and_reports(rankjury: Rankjury) -> None:
    put_targets("rr drop <= 0", baseline="old.trec")
    saved = make_report(rankjury, "both.json", "old.trec", "new.trec")
    assert [rankjury(*GATE, *given).code for given in (FILES, [saved])] == [0, 0]
