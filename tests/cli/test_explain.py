"""rankjury explain: one row a tool, and the convention that makes it differ."""

import json
import math
from typing import Any

import pytest

from rankjury.evaluation.explain import ExplainedValue, summarize_explanation
from rankjury.measures.dialects import DIALECTS
from tests.cli.conftest import Rankjury
from tests.cli.support import check_width, put

LOW = 1 / math.log2(3)


def _rows(rankjury: Rankjury, gold: str, run: str, measure: str = "ndcg@10") -> dict[str, dict[str, Any]]:
    put("g.qrels", gold)
    put("r.trec", run)
    outcome = rankjury("explain", "g.qrels", "r.trec", "-m", measure, "--json")
    assert outcome.code == 0, outcome.err
    shown = json.loads(outcome.out)
    assert (shown["schema"], shown["measure"]) == ("rankjury.explain/1", measure)
    return {row["who"]: row for row in shown["rows"]}


def test_a_row_for_every_dialect(rankjury: Rankjury) -> None:
    rows = _rows(rankjury, "q 0 a 1\n", "q Q0 a 1 1 t\n")
    assert [who for who, row in rows.items() if row["kind"] == "dialect"] == DIALECTS.names()
    assert rows["rankjury"]["kind"] == "rankjury" and next(iter(rows)) == "rankjury"
    assert all(row["error"] is None for row in rows.values())
    full = {"rectools": ["ideal=full"], "ideal=full": []}
    assert {who: row["because"] for who, row in rows.items() if row["mean"] != 1.0} == full
    assert all(row["because"] == [] for who, row in rows.items() if who not in full)


def test_only_ties_differ(rankjury: Rankjury) -> None:
    """b is relevant and ties with a; given first. By id it stands second."""
    rows = _rows(rankjury, "q 0 b 1\n", "q Q0 b 1 1.0 t\nq Q0 a 2 1.0 t\n")
    assert rows["rankjury"]["mean"] == pytest.approx(LOW, abs=1e-15)
    for tool, rule in {
        "trec_eval": "ties=id-desc",
        "trec_eval-10": "ties=id-desc",
        "ir_measures": "ties=id-desc",
        "beir": "ties=id-desc",
        "ranx": "ties=order",
        "elasticsearch": "ties=order",
        "opensearch": "ties=order",
        "recbole": "ties=order",
        "replay": "ties=id-desc",
        "implicit": "ties=order",
    }.items():
        assert (tool, rows[tool]["mean"], rows[tool]["because"]) == (tool, 1.0, [rule])
        assert rows[tool]["difference"] == pytest.approx(1 - LOW, abs=1e-15)
    assert rows["sentence-transformers"]["because"] == []
    assert rows["sklearn"]["because"] == ["ties=average"]
    assert rows["sklearn"]["mean"] == pytest.approx((1 + LOW) / 2, abs=1e-15)


def test_only_gain_differs(rankjury: Rankjury) -> None:
    rows = _rows(rankjury, "q 0 a 1\nq 0 b 2\n", "q Q0 a 1 2.0 t\nq Q0 b 2 1.0 t\n")
    own = (1 + 2 * LOW) / (2 + LOW)
    assert rows["rankjury"]["mean"] == pytest.approx(own, abs=1e-15)
    exponential, binary = (1 + 3 * LOW) / (3 + LOW), 1.0
    by_sets = ("sentence-transformers", "recbole", "replay", "implicit")
    expected = {"elasticsearch": exponential, "opensearch": exponential, **dict.fromkeys(by_sets, binary)}
    assert rows["lenskit"]["because"] == ["gain=binary", "discount=rank"]
    assert rows["rectools"]["because"] == ["gain=binary", "ideal=full"]
    for tool in set(DIALECTS.names()) - {"lenskit", "rectools"}:
        assert rows[tool]["mean"] == pytest.approx(expected.get(tool, own), abs=1e-15)
        causes = {exponential: ["gain=exp"], binary: ["gain=binary"]}
        assert rows[tool]["because"] == (causes[expected[tool]] if tool in expected else [])
    assert rows["gain=exp"]["mean"] == rows["opensearch"]["mean"]
    assert rows["gain=exp"]["kind"] == "convention"


def test_only_missing_queries_differ(rankjury: Rankjury) -> None:
    rows = _rows(rankjury, "q 0 a 1\nx 0 a 1\n", "q Q0 a 1 1 t\n")
    assert (rows["rankjury"]["mean"], rows["rankjury"]["n"]) == (0.5, 2)
    assert (rows["trec_eval"]["mean"], rows["trec_eval"]["n"], rows["trec_eval"]["because"]) == (
        1.0,
        1,
        ["missing=skip"],
    )
    assert rows["ranx"]["because"] == []
    strict = rows["trec_eval-10"]
    assert (strict["mean"], strict["n"], strict["difference"]) == (None, 0, None)
    assert "query 'x' is missing from the ranking" in strict["error"]


def test_only_empty_queries_differ(rankjury: Rankjury) -> None:
    rows = _rows(rankjury, "q 0 a 1\nx 0 a 0\n", "q Q0 a 1 1 t\nx Q0 a 1 1 t\n")
    assert (rows["rankjury"]["mean"], rows["rankjury"]["n"]) == (1.0, 1)
    assert (rows["trec_eval"]["mean"], rows["trec_eval"]["because"]) == (0.5, ["empty=zero"])
    assert rows["sentence-transformers"]["because"] == []


def test_only_self_matches_differ(rankjury: Rankjury) -> None:
    rows = _rows(rankjury, "q 0 a 1\n", "q Q0 q 1 2 t\nq Q0 a 2 1 t\n")
    assert rows["beir"]["because"] == ["self=drop"]
    assert rows["trec_eval"]["because"] == []


def test_another_measure_under_the_same_name(rankjury: Rankjury) -> None:
    rows = _rows(rankjury, "q 0 a 1\n", "q Q0 a 1 1 t\n", "precision@10")
    assert rows["implicit"]["mean"] == 1.0
    assert rows["implicit"]["because"] == ["another measure: pooled_precision"]


def test_a_tool_whose_name_is_another_measure(rankjury: Rankjury) -> None:
    """ir_measures calls the share of correctly ordered pairs Accuracy; BEIR calls the hit rate so."""
    rows = _rows(rankjury, "q 0 a 1\n", "q Q0 a 1 1 t\n", "Accuracy@10")
    assert rows["beir"]["mean"] == rows["trec_eval"]["mean"] == 1.0
    assert rows["ir_measures"]["mean"] is None and "does not compute" in rows["ir_measures"]["error"]


def test_causes_that_act_together_leave_out_idle_ones(rankjury: Rankjury) -> None:
    """a and b tie in single precision only, and only id-desc then puts b first: it takes these two and no other."""
    rows = _rows(rankjury, "q 0 a 1\n", "q Q0 a 1 1.000000001 t\nq Q0 b 2 1.0 t\n")
    assert rows["trec_eval"]["mean"] == pytest.approx(LOW, abs=1e-15)
    (cause,) = rows["trec_eval"]["because"]
    assert set(cause.split(" with ")) == {"ties=id-desc", "scores=single"}


def test_a_value_where_rankjury_has_none_is_a_difference(rankjury: Rankjury) -> None:
    rows = _rows(rankjury, "q 0 a 0\n", "q Q0 a 1 1 t\n")
    assert rows["rankjury"]["mean"] is None
    assert rows["trec_eval"]["because"] == ["empty=zero"]


@pytest.mark.parametrize("measure", ["gm_ap", "num_rel_ret"])
def test_explain_and_evaluate_agree(rankjury: Rankjury, measure: str) -> None:
    gold, run = "q 0 a 1\nx 0 a 1\n", "q Q0 a 1 1 t\nx Q0 b 1 2 t\nx Q0 a 2 1 t\n"
    own = _rows(rankjury, gold, run, measure)["rankjury"]["mean"]
    entry = json.loads(rankjury("evaluate", "g.qrels", "r.trec", "-m", measure, "--json").out)
    found = entry["systems"]["r"]["measures"][measure]
    assert own == pytest.approx(found.get("sum", found["mean"]), abs=1e-15)


def test_the_table(rankjury: Rankjury) -> None:
    put("g.qrels", "q 0 a 1\nq 0 b 2\n")
    put("r.trec", "q Q0 a 1 2.0 t\nq Q0 b 2 1.0 t\n")
    outcome = rankjury("explain", "g.qrels", "r.trec", "-m", "ndcg@10")
    check_width(outcome.out.partition("No difference here")[0])
    by_tool = {line.split()[0]: line.split() for line in outcome.out.splitlines() if line.strip()}
    assert by_tool["tool"] == ["tool", "ndcg@10", "differs", "by", "n", "because", "of"]
    assert by_tool["rankjury"][2:] == ["=", "1", "–"]
    assert by_tool["opensearch"][2:] == ["−0.0630", "1", "gain=exp"]
    assert "No difference here: " in outcome.out and "ties=order" in outcome.out.rpartition("No difference here")[2]
    assert outcome.err.startswith("Next: ")
    assert rankjury("explain", "g.qrels", "r.trec", "-q").err == ""


def test_the_table_shows_an_error_in_its_row(rankjury: Rankjury) -> None:
    put("g.qrels", "q 0 a 1\nx 0 a 1\n")
    put("r.trec", "q Q0 a 1 1 t\n")
    outcome = rankjury("explain", "g.qrels", "r.trec")
    assert outcome.code == 0
    (line,) = [line for line in outcome.out.splitlines() if line.startswith("trec_eval-10")]
    assert "error" in line and "query 'x' is missing" in line
    check_width(outcome.out.partition("No difference here")[0])


def test_what_makes_no_difference_fits_80_columns_too(rankjury: Rankjury) -> None:
    outcome = rankjury("explain", "gold.qrels", "run.trec")
    assert "No difference here" in outcome.out
    check_width(outcome.out)


@pytest.mark.parametrize(
    ("given", "own", "tool"),
    [("ndcg_cut_10", "ndcg@10", "trec_eval"), ("NDCG@10", "ndcg@10", "ir_measures"), ("nDCG@10", "ndcg@10", "beir")],
)
def test_a_name_of_another_tool_is_a_row_beside_rankjurys_own_value(
    rankjury: Rankjury, given: str, own: str, tool: str
) -> None:
    """b is relevant and ties with a: by id it is second, by id descending first."""
    rows = _rows(rankjury, "q 0 b 1\n", "q Q0 b 1 1.0 t\nq Q0 a 2 1.0 t\n", given)
    assert (rows["rankjury"]["measure"], rows["rankjury"]["mean"]) == (own, pytest.approx(LOW, abs=1e-15))
    read = rows[f"as given: {given}"]
    assert (read["kind"], read["mean"], read["because"]) == ("given", 1.0, ["ties=id-desc"])
    assert list(rows)[:2] == ["rankjury", f"as given: {given}"]
    assert rows[tool]["mean"] == 1.0 and rows[tool]["because"] == ["ties=id-desc"]
    scored = json.loads(rankjury("evaluate", "g.qrels", "r.trec", "-m", given, "--json").out)
    assert scored["systems"]["r"]["measures"][given]["mean"] == read["mean"]


@pytest.mark.parametrize("given", ["Ndcg@10", "ndcg(gain=exp)@10", "p@10"])
def test_a_spelling_of_rankjury_has_no_row_of_its_own(rankjury: Rankjury, given: str) -> None:
    rows = _rows(rankjury, "q 0 b 1\n", "q Q0 b 1 1.0 t\n", given)
    assert not [row for row in rows.values() if row["kind"] == "given"]


def test_options_that_a_foreign_spelling_sets_are_kept(rankjury: Rankjury) -> None:
    rows = _rows(rankjury, "q 0 b 1\n", "q Q0 b 1 1.0 t\nq Q0 a 2 1.0 t\n", "ndcg_burges@10")
    assert rows["rankjury"]["measure"] == "ndcg(gain=exp)@10"


def test_duplicates_and_formats_reach_explain(rankjury: Rankjury) -> None:
    put("g.txt", "query_id,item_id,grade\nq,a,1\n")
    put("r.txt", "query_id,item_id,score\nq,a,1\nq,a,2\nq,b,1.5\n")
    assert rankjury("explain", "g.txt", "r.txt", "-m", "rr").code == 3
    shown = json.loads(rankjury("explain", "g.txt", "r.txt", "-m", "rr", "--duplicates", "first", "--json").out)
    assert shown["rows"][0]["mean"] == 0.5
    assert rankjury("explain", "g.txt", "r.txt", "-m", "rr", "--duplicates", "max", "--format", "json").code == 3


def answer(rankjury: Rankjury, gold: str, run: str) -> str:
    put("g.qrels", gold)
    put("r.trec", run)
    return " ".join(rankjury("explain", "g.qrels", "r.trec").out.partition("\n\n")[0].split())


def test_the_answer_names_the_largest_difference_and_its_causes(rankjury: Rankjury) -> None:
    sentence = answer(rankjury, "q 0 b 1\n", "q Q0 b 1 1.0 t\nq Q0 a 2 1.0 t\n")
    assert sentence.startswith(f"ndcg@10 is {LOW:.4f}; ") and "differ by up to 0." in sentence
    assert "ties=order" in sentence and "ties=id-desc" in sentence


def test_the_answer_where_no_tool_differs_or_none_can_compute_it() -> None:
    own = ExplainedValue("rankjury", "rankjury", "ap", 0.5, 3, 0.0, ())
    same = ExplainedValue("ranx", "dialect", "ap", 0.5, 3, 0.0, ())
    error = ExplainedValue("beir", "dialect", "ap", math.nan, 0, math.nan, (), "no such measure")
    assert "all 1 tools agree" in summarize_explanation([own, same, error])
    assert summarize_explanation([own, same, error]).endswith("beir cannot compute it.")
    assert "no tool computes it" in summarize_explanation([own, error])
    defined = ExplainedValue("ranx", "dialect", "ap", 0.5, 3, math.nan, ("empty=zero",), differs=True)
    undefined = ExplainedValue("rankjury", "rankjury", "ap", math.nan, 0, 0.0, ())
    sentence = summarize_explanation([undefined, defined])
    assert sentence == "ap is undefined; 1 of 1 tools differ: empty=zero."
