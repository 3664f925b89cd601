"""rankjury compare: its figures by hand, its files, its screen, and what must never change a digit."""

import csv
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.comparing import COMPARE, RR, A, B, compare_files
from tests.cli.conftest import Rankjury
from tests.cli.made import QUERIES, put_gold, put_run, shuffled, tree
from tests.cli.support import RUN, Outcome, check_failure, check_width, put, report_of, warnings_of

__all__ = ["compare_files"]
pytestmark = pytest.mark.usefixtures("compare_files")


def _row(outcome: Outcome, system: str = "b", measure: str = "rr") -> dict[str, Any]:
    rows: list[dict[str, Any]] = report_of(outcome)["comparisons"]
    (row,) = (row for row in rows if (row["system"], row["measure"]) == (system, measure))
    return row


def _drop_lines(name: str, *starts: str) -> None:
    kept = [line for line in Path(name).read_text().splitlines(keepends=True) if not line.startswith(starts)]
    put(name, "".join(kept))


# --- JSON ---------------------------------------------------------------------------------------------------------


def test_the_difference_with_all_that_belongs_to_it(rankjury: Rankjury) -> None:
    outcome = rankjury(*RR, "--json")
    report, row = report_of(outcome), _row(outcome)
    apart = [1 / after - 1 / before for before, after in zip(A, B, strict=True)]
    assert report["baseline"] == row["baseline"] == "a"
    assert row["difference"] == pytest.approx(sum(apart) / QUERIES)
    assert row["difference"] == row["mean"] - row["baseline_mean"]
    assert (row["better"], row["equal"], row["worse"]) == (9, 12, 3)
    assert (row["n"], row["left_out"]) == (QUERIES, 0)
    assert row["ci"][0] < row["difference"] < row["ci"][1]
    assert 0 < row["p"] <= row["p_holm"] <= 1 and row["p"] <= row["p_bh"] <= row["p_holm"]
    assert 0 < row["p_t"] < 1 and 0 < row["p_wilcoxon"] < 1
    assert row["effect_size"] == pytest.approx(row["difference"] / row["std"])
    assert row["detectable"] > 0 and row["queries_needed"] > QUERIES
    assert row["to_detect"]["difference"] == 0.01 and row["to_detect"]["queries"] > 1000
    assert outcome.err == ""


def test_every_system_and_measure_is_compared_and_corrected_together(rankjury: Rankjury) -> None:
    put_run("c.trec", B[::-1])
    outcome = rankjury(*COMPARE, "c.trec", "-m", "rr,ap", "--json")
    rows = report_of(outcome)["comparisons"]
    assert [(row["system"], row["measure"]) for row in rows] == [("b", "rr"), ("b", "ap"), ("c", "rr"), ("c", "ap")]
    assert min(row["p_holm"] for row in rows) == pytest.approx(min(1, 4 * min(row["p"] for row in rows)))


def test_the_queries_that_changed_come_with_rank_moves(rankjury: Rankjury) -> None:
    changes = report_of(rankjury(*RR, "--json"))["changes"]
    lost, won = ([c["query_id"] for c in changes if (c["difference"] < 0) == wanted] for wanted in (True, False))
    assert lost == ["q00", "q08", "q16"] and len(won) == 9
    assert changes[0] == {
        "system": "b",
        "measure": "rr",
        "query_id": "q00",
        "baseline": 1.0,
        "value": 0.5,
        "difference": -0.5,
        "moves": [{"item_id": "d0", "grade": 1.0, "from": 1, "to": 2}],
    }


def test_an_item_that_was_lost_has_no_rank(rankjury: Rankjury) -> None:
    _drop_lines("b.trec", "q00 Q0 d0")
    (change,) = (c for c in report_of(rankjury(*RR, "--json"))["changes"] if c["query_id"] == "q00")
    assert change["moves"] == [{"item_id": "d0", "grade": 1.0, "from": 1, "to": None}]
    assert "d0 (1): 1 → –" in rankjury(*RR).out


def test_files_hold_the_same(rankjury: Rankjury) -> None:
    outcome = rankjury(*RR, "--json", "-o", "diff.json", "-o", "diff.csv", "-o", "diff.md")
    saved = json.loads(Path("diff.json").read_text())
    assert sorted(saved.pop("queries")["scores"]) == ["a", "b"] and saved.pop("gold")["queries"] == QUERIES
    assert saved == report_of(outcome)
    rows = list(csv.DictReader(Path("diff.csv").read_text().splitlines()))
    row = _row(outcome)
    assert rows[0]["difference"] == "" and rows[1]["baseline"] == "a"
    assert [float(rows[1][name]) for name in ("difference_low", "difference_high")] == row["ci"]
    assert [rows[1][name] for name in ("better", "equal", "worse")] == ["9", "12", "3"]
    text = Path("diff.md").read_text()
    assert "### Compared with a" in text and f"+{row['difference']:.3f} [" in text and "q00" in text
    assert outcome.err == "Wrote diff.json, diff.csv, diff.md\n"


# --- the baseline -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["b", "b.trec"])
def test_the_baseline_by_its_name_or_file(rankjury: Rankjury, name: str) -> None:
    plain, turned = _row(rankjury(*RR, "--json")), _row(rankjury(*RR, "--baseline", name, "--json"), "a")
    assert turned["baseline"] == "b"
    assert turned["difference"] == -plain["difference"]
    assert turned["ci"] == pytest.approx([-plain["ci"][1], -plain["ci"][0]], abs=1e-12)
    assert (turned["better"], turned["worse"], turned["p"]) == (plain["worse"], plain["better"], plain["p"])


def test_an_unknown_baseline_is_an_error_with_a_suggestion(rankjury: Rankjury) -> None:
    put_run("dense.trec", B)
    outcome = rankjury("compare", "g.qrels", "a.trec", "dense.trec", "--baseline", "dens", "-o", "new.json")
    check_failure(outcome, 2, "unknown system 'dens'", "Did you mean dense?")
    assert not Path("new.json").exists()


@pytest.mark.parametrize("runs", [["a.trec"], ["a.trec", "--baseline", "a"]])
def test_one_run_is_not_enough(rankjury: Rankjury, runs: list[str]) -> None:
    check_failure(rankjury("compare", "g.qrels", *runs), 2, "one run", "two or more", "rankjury compare GOLD OLD NEW")


# --- same seed, same digits ---------------------------------------------------------------------------------------


def test_no_digit_hangs_on_order_or_company(rankjury: Rankjury) -> None:
    alone = _row(rankjury(*RR, "--json"))
    together = {name: alone[name] for name in alone if name not in ("p_holm", "p_bh")}
    put_run("c.trec", A[::-1])
    shuffled("g.qrels", 1)
    shuffled("a.trec", 2)
    shuffled("b.trec", 3)
    assert _row(rankjury(*RR, "--json")) == alone
    for runs in (["b.trec", "c.trec", "a.trec"], ["a.trec", "c.trec", "b.trec"]):
        row = _row(rankjury("compare", "g.qrels", *runs, "-b", "a", "-m", "ndcg@10,rr,ap", "--json"))
        assert {name: row[name] for name in together} == together


def test_the_seed_decides(rankjury: Rankjury) -> None:
    found = [_row(rankjury(*RR, "--json", "--seed", seed)) for seed in ("0", "1", "0")]
    assert found[0] == found[2] and found[0]["ci"] != found[1]["ci"]


def test_the_usual_interval_of_a_difference_is_the_percentile_one(rankjury: Rankjury) -> None:
    usual, plain, shifted = (
        _row(rankjury(*RR, "--json", "--interval", kind)) for kind in ("auto", "percentile", "bca")
    )
    assert usual == plain and shifted["ci"] != plain["ci"] and shifted["p"] == plain["p"]


def test_threads_change_no_digit(rankjury: Rankjury) -> None:
    expected = rankjury(*COMPARE, "--json").out
    for threads in ("1", "7"):
        line = [sys.executable, "-m", "rankjury", *COMPARE, "--json"]
        environment = {**os.environ, "POLARS_MAX_THREADS": threads}
        done = subprocess.run(line, capture_output=True, check=True, timeout=60, env=environment)
        assert done.stdout.decode() == expected


# --- awkward data -------------------------------------------------------------------------------------------------


def test_different_query_sets_are_aligned_on_the_gold_and_said(rankjury: Rankjury) -> None:
    _drop_lines("b.trec", "q01", "q02")
    outcome = rankjury(*RR, "--json")
    assert _row(outcome)["n"] == QUERIES
    (warning,) = (text for text in outcome.warnings if "a and b answer different queries" in text)
    assert "2 are" in warning and f"the gold's {QUERIES}" in warning
    assert warning.removeprefix("warning: ") in warnings_of(outcome)


def test_one_query(rankjury: Rankjury) -> None:
    put_gold(queries=1)
    outcome = rankjury(*RR, "--json")
    row = _row(outcome)
    assert (row["n"], row["ci"], row["p_t"], row["effect_size"], row["detectable"]) == (1, None, None, None, None)
    assert any("one query: no interval" in text for text in outcome.warnings)
    assert "−0.5" in rankjury(*RR).out


@pytest.mark.parametrize("measures", ["rr", "rr,ap,ndcg@10,precision@10"])
def test_runs_that_are_equal(rankjury: Rankjury, measures: str) -> None:
    put_run("b.trec", A)
    outcome = rankjury(*COMPARE, "-m", measures, "--json")
    for row in report_of(outcome)["comparisons"]:
        assert (row["difference"], row["ci"], row["p"], row["equal"]) == (0.0, [0.0, 0.0], 1.0, QUERIES)
        assert row["effect_size"] is None and row["p_t"] is None
    assert report_of(outcome)["changes"] == []
    check_width(rankjury(*COMPARE, "-m", measures).out)


def test_a_difference_that_is_the_same_everywhere(rankjury: Rankjury) -> None:
    put_run("a.trec", [1] * QUERIES)
    put_run("b.trec", [2] * QUERIES)
    row = _row(rankjury(*RR, "--json"))
    assert (row["difference"], row["ci"], row["worse"]) == (-0.5, [-0.5, -0.5], QUERIES)
    assert row["p"] < 0.001


def test_nothing_relevant_at_all(rankjury: Rankjury) -> None:
    put_gold(grade=0)
    check_failure(
        rankjury(*RR, "--empty", "skip", "--json", "-o", "diff.csv"),
        3,
        "g.qrels",
        "under no measure is any query defined",
        "--empty",
    )
    assert not Path("diff.csv").exists()


def test_nothing_relevant_under_one_of_two_measures(rankjury: Rankjury) -> None:
    """Judged shares are defined all the same; what is not is a dash, and null."""
    put_gold(grade=0)
    measures = ["-m", "ap,judged@10"]
    outcome = rankjury(*COMPARE, *measures, "--json", "-o", "diff.csv", "-o", "diff.md")
    row = next(row for row in report_of(outcome)["comparisons"] if row["measure"] == "ap")
    assert {row[name] for name in ("mean", "difference", "ci", "p", "p_holm", "p_t", "p_wilcoxon")} == {None}
    assert (row["n"], row["left_out"]) == (0, QUERIES)
    assert any(f"{QUERIES} queries have nothing relevant" in text for text in outcome.warnings)
    shown = Path("diff.csv").read_text() + Path("diff.md").read_text() + rankjury(*COMPARE, *measures).out
    assert "nan" not in shown.lower()


@pytest.mark.parametrize(
    ("arguments", "code", "fragments"),
    [
        (["compare", "a.trec", "g.qrels", "b.trec"], 3, ("a.trec:1", "TREC run", "GOLD RUN")),
        (["compare", "g.qrels", "a.trec", "g.qrels"], 3, ("g.qrels:1", "qrels")),
        (["compare", "report.json", "a.trec", "b.trec"], 3, ("report.json", "rankjury report", "expected relevance")),
        (["compare", "g.qrels", "a.trec", "report.json"], 3, ("report.json", "rankjury report", "expected a run")),
        (["compare", "g.qrels", "a.trec", "nowhere.trec"], 3, ("nowhere.trec: no such file",)),
        (["compare", "g.qrels", "a.trec", "empty.trec"], 3, ("empty.trec: the file is empty",)),
        (["compare", "g.qrels", "a.trec", "a.trec"], 2, ("'a.trec'", "twice")),
        (["compare", "g.qrels", "-", "-"], 2, ("standard input was named twice",)),
        ([*COMPARE, "-m", "ndgc@10"], 2, ("unknown measure 'ndgc@10'", "Did you mean ndcg@10")),
        ([*COMPARE, "-o", "diff.xls"], 2, ("'diff.xls'", "a suffix among")),
        ([*COMPARE, "--detect", "0"], 2, ("--detect is 0", "above 0")),
        ([*COMPARE, "--detect", "nan"], 2, ("--detect is nan",)),
        ([*COMPARE, "--record", "c:x=1"], 2, ("unknown system 'c'",)),
        ([*COMPARE, "-o", "nowhere/diff.md"], 3, ("nowhere/diff.md: cannot write here",)),
    ],
)
def test_nothing_is_written_when_it_fails(
    rankjury: Rankjury, folder: Path, arguments: list[str], code: int, fragments: tuple[str, ...]
) -> None:
    rankjury("evaluate", "g.qrels", "a.trec", "-o", "report.json")
    put("empty.trec", "")
    put("old.md", "as it was")
    before = tree(folder)
    check_failure(rankjury(*arguments, "-o", "new.json", "-o", "old.md", stdin=RUN.encode()), code, *fragments)
    assert tree(folder) == before


def test_the_first_file_is_not_left_when_the_second_cannot_be_written(rankjury: Rankjury, folder: Path) -> None:
    before = tree(folder)
    check_failure(rankjury(*RR, "-o", "new.json", "-o", "nowhere/diff.md"), 3, "nowhere/diff.md: cannot write here")
    assert tree(folder) == before


# --- standard input, output and error -----------------------------------------------------------------------------


def test_standard_input_and_gzip_give_the_same(rankjury: Rankjury) -> None:
    plain = _row(rankjury(*RR, "--json"))
    put("b.trec.gz", gzip.compress(Path("b.trec").read_bytes()))
    assert _row(rankjury("compare", "g.qrels", "a.trec", "b.trec.gz", "-m", "rr", "--json")) == plain
    piped = rankjury("compare", "g.qrels", "a.trec", "-", "-m", "rr", "--json", stdin=Path("b.trec").read_bytes())
    assert _row(piped, "stdin") == {**plain, "system": "stdin"}


@pytest.mark.parametrize("form", [[], ["--json"], ["-o", "diff.md"]])
def test_quiet_leaves_the_same_result(rankjury: Rankjury, form: list[str]) -> None:
    put_gold(queries=5)
    loud, quiet = rankjury(*RR, *form), rankjury(*RR, *form, "--quiet")
    assert loud.err.startswith("warning: ") and "warning" not in loud.out.replace('"warnings"', "")
    assert quiet.err == "" and quiet.out == loud.out


def test_the_next_step_is_told(rankjury: Rankjury) -> None:
    assert rankjury(*RR).err.startswith("Next: ") and "rankjury gate" in rankjury(*RR).err


def test_detect(rankjury: Rankjury) -> None:
    small, large = (_row(rankjury(*RR, "--json", "--detect", d))["to_detect"]["queries"] for d in ("0.02", "0.1"))
    assert small / large == pytest.approx(25, rel=0.1)
    (line,) = (line for line in rankjury(*RR, "--detect", "0.1").out.splitlines() if "power" in line)
    assert "0.1 " in line and f"{large:,}" in line
