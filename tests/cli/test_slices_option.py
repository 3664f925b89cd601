"""--slices and --item-slices: groups by hand, every form of table, 80 columns, and tables that will not do."""

import csv
import gzip
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.conftest import Rankjury
from tests.cli.made import QUERIES, RANKS, put_gold, put_run, shuffled
from tests.cli.support import check_failure, check_width, put, report_of

EVALUATE = ["evaluate", "g.qrels", "a.trec", "-m", "rr"]
COMPARE = ["compare", "g.qrels", "a.trec", "b.trec", "-m", "rr"]
LANGUAGES = ["fr" if query % 3 == 0 else "en" for query in range(QUERIES)]
KINDS = ["how-to" if query % 2 else "fact" for query in range(QUERIES)]
ROWS = [f"q{n:02},{KINDS[n]},{LANGUAGES[n]},{n + 1}\n" for n in range(QUERIES)]
HEADER = "query_id,type,lang,length\n"
TABLE = HEADER + "".join(ROWS)
WORSE = [3 if LANGUAGES[query] == "fr" else rank for query, rank in enumerate([1, 1, 1, 2] * 6)]


@pytest.fixture(autouse=True)
def _files(folder: Path) -> None:
    put_gold()
    put_run("a.trec", RANKS)
    put_run("b.trec", RANKS[::-1])
    put("s.csv", TABLE)


def _slices(rankjury: Rankjury, *arguments: str) -> dict[str, dict[str, Any]]:
    return {part["slice"]: part for part in report_of(rankjury(*arguments, "--json"))["slices"]}


# --- groups -------------------------------------------------------------------------------------------------------


def test_every_slice_has_n_estimates_and_the_gap_to_the_rest(rankjury: Rankjury) -> None:
    found = _slices(rankjury, *EVALUATE, "--slices", "s.csv:lang")
    assert list(found) == ["lang=en", "lang=fr"]
    inside = [1 / rank for rank, lang in zip(RANKS, LANGUAGES, strict=True) if lang == "fr"]
    outside = [1 / rank for rank, lang in zip(RANKS, LANGUAGES, strict=True) if lang == "en"]
    part = found["lang=fr"]
    entry, (gap,) = part["systems"]["a"]["measures"]["rr"], part["gaps"]
    assert (part["of"], part["n"], entry["n"], entry["undefined"]) == ("queries", 8, 8, 0)
    assert entry["mean"] == pytest.approx(sum(inside) / 8)
    assert entry["ci"][0] < entry["mean"] < entry["ci"][1]
    assert gap["difference"] == pytest.approx(sum(inside) / 8 - sum(outside) / 16)
    assert gap["ci"][0] < gap["difference"] < gap["ci"][1] and 0 < gap["p"] <= gap["p_holm"] <= 1
    assert part["comparisons"] == []


def test_compared_runs_are_compared_within_every_slice(rankjury: Rankjury) -> None:
    part = _slices(rankjury, *COMPARE, "-s", "s.csv:lang")["lang=fr"]
    (row,) = part["comparisons"]
    apart = [1 / RANKS[::-1][n] - 1 / RANKS[n] for n in range(QUERIES) if LANGUAGES[n] == "fr"]
    assert (row["system"], row["baseline"], row["n"], part["gaps"]) == ("b", "a", 8, [])
    assert row["difference"] == pytest.approx(sum(apart) / 8)
    assert row["better"] + row["equal"] + row["worse"] == 8


@pytest.mark.parametrize(
    ("attributes", "sizes"),
    [
        ("type", {"type=fact": 12, "type=how-to": 12}),
        ("length", {"length=q1": 6, "length=q2": 6, "length=q3": 6, "length=q4": 6}),
        ("length(quantiles=3)", {"length=q1": 8, "length=q2": 8, "length=q3": 8}),
        ("length(bins=5/10)", {"length<5": 4, "length=5..10": 5, "length>=10": 15}),
        (
            "lang*type",
            {"lang=en*type=fact": 8, "lang=en*type=how-to": 8, "lang=fr*type=fact": 4, "lang=fr*type=how-to": 4},
        ),
        (" lang , type ", {"lang=en": 16, "lang=fr": 8, "type=fact": 12, "type=how-to": 12}),
    ],
)
def test_what_may_be_asked_for(rankjury: Rankjury, attributes: str, sizes: dict[str, int]) -> None:
    found = _slices(rankjury, *EVALUATE, "--slices", f"s.csv:{attributes}")
    assert {name: part["n"] for name, part in found.items()} == sizes


def test_without_attributes_whatever_groups_is_taken(rankjury: Rankjury) -> None:
    names = {name.split("=")[0] for name in _slices(rankjury, *EVALUATE, "-s", "s.csv")}
    assert names == {"type", "lang", "length"}


def test_the_option_may_be_repeated(rankjury: Rankjury) -> None:
    assert len(_slices(rankjury, *EVALUATE, "-s", "s.csv:lang", "-s", "s.csv:type")) == 4


def test_the_name_may_hold_a_colon(rankjury: Rankjury) -> None:
    put("C:s.csv", TABLE)
    assert len(_slices(rankjury, *EVALUATE, "-s", "C:s.csv:lang")) == 2
    assert len(_slices(rankjury, *EVALUATE, "-s", "C:s.csv")) == 8


def test_a_list_is_in_several_slices(rankjury: Rankjury) -> None:
    rows = [{"query_id": f"q{n:02}", "tags": ["all", *(["first"] if n < 4 else [])]} for n in range(QUERIES)]
    put("s.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    found = _slices(rankjury, *EVALUATE, "-s", "s.jsonl:tags")
    assert {name: part["n"] for name, part in found.items()} == {"tags=all": QUERIES, "tags=first": 4}


def _as(form: str) -> bytes:
    if form == "csv.gz":
        return gzip.compress(TABLE.encode())
    if form == "tsv":
        return TABLE.replace(",", "\t").encode()
    frame = pl.read_csv(TABLE.encode())
    if form == "jsonl":
        return frame.write_ndjson().encode()
    held = io.BytesIO()
    frame.write_parquet(held)
    return held.getvalue()


@pytest.mark.parametrize("form", ["csv.gz", "tsv", "jsonl", "parquet"])
def test_every_form_of_table_gives_the_same(rankjury: Rankjury, form: str) -> None:
    put(f"t.{form}", _as(form))
    asked = "type,length,type*lang"
    assert _slices(rankjury, *EVALUATE, "-s", f"t.{form}:{asked}") == _slices(
        rankjury, *EVALUATE, "-s", f"s.csv:{asked}"
    )


def test_a_table_from_standard_input(rankjury: Rankjury) -> None:
    outcome = rankjury(*EVALUATE, "-s", "-:lang", "--json", stdin=TABLE.encode())
    assert len(report_of(outcome)["slices"]) == 2


def test_standard_input_is_read_once(rankjury: Rankjury) -> None:
    outcome = rankjury("evaluate", "g.qrels", "-", "-s", "-:lang", stdin=TABLE.encode())
    check_failure(outcome, 2, "standard input was named twice")


def test_digits_hang_on_nothing_else(rankjury: Rankjury) -> None:
    before = _slices(rankjury, *EVALUATE, "-s", "s.csv:lang")["lang=fr"]["systems"]
    put("s.csv", HEADER + "".join(ROWS[::-1]))
    shuffled("a.trec", 3)
    found = _slices(rankjury, *EVALUATE, "-m", "ap", "-s", "s.csv:type,lang,length")["lang=fr"]["systems"]
    assert found["a"]["measures"]["rr"] == before["a"]["measures"]["rr"]


# --- items --------------------------------------------------------------------------------------------------------


def test_the_gold_restricted_to_items(rankjury: Rankjury) -> None:
    """Of the tail only d2 is relevant, and only in q00: at rank 2; d0 is the only item of the head, at rank 1 there."""
    put("g.qrels", Path("g.qrels").read_text().replace("q00 0 d2 0", "q00 0 d2 1"))
    put_run("a.trec", [3] * QUERIES)
    put("items.csv", "item_id,part\nd0,head\nd1,tail\nd2,tail\nelsewhere,tail\n")
    for command in (EVALUATE, COMPARE):
        outcome = rankjury(*command, "--empty", "skip", "--item-slices", "items.csv:part", "--json")
        found = {part["slice"]: part for part in report_of(outcome)["slices"]}
        assert list(found) == ["item.part=head", "item.part=tail"] and outcome.code == 0
        assert found["item.part=tail"]["of"] == "items"
        entry = found["item.part=tail"]["systems"]["a"]["measures"]["rr"]
        assert (entry["mean"], entry["n"], entry["undefined"]) == (0.5, 1, QUERIES - 1)
        assert found["item.part=head"]["systems"]["a"]["measures"]["rr"]["mean"] == 1.0
        assert found["item.part=head"]["positions"] == "within the slice"


@pytest.mark.parametrize("command", [EVALUATE, COMPARE])
@pytest.mark.parametrize("form", ["screen", "report.md", "report.csv"])
def test_slices_of_items_are_shown_in_every_form(rankjury: Rankjury, command: list[str], form: str) -> None:
    put("items.csv", "item_id,part\nd0,head\nd1,tail\nd2,tail\n")
    outcome = rankjury(*command, "--item-slices", "items.csv:part", *([] if form == "screen" else ["-o", form]))
    text = outcome.out if form == "screen" else Path(form).read_text()
    assert "item.part=head" in text
    assert form == "report.csv" or "items of the slice alone" in " ".join(text.split())


# --- on the screen ------------------------------------------------------------------------------------------------


def test_a_planted_loss_is_found_and_a_null_one_is_noise(rankjury: Rankjury) -> None:
    put_run("a.trec", [1, 1, 1, 2] * 6)
    put_run("b.trec", WORSE)
    outcome = rankjury(*COMPARE, "-s", "s.csv:lang,type")
    lines = outcome.out.split("by slice, largest loss first")[1].splitlines()
    verdicts = {line.split()[0]: line.split()[-2] for line in lines if line.startswith(("lang=", "type="))}
    assert next(iter(verdicts)) == "lang=fr" and verdicts["lang=fr"] == "worse"
    assert verdicts["lang=en"] == "same", "no query of it differs"
    worst = report_of(rankjury(*COMPARE, "-s", "s.csv:lang,type", "--json"))["worst_slices"]
    assert (worst[0]["slice"], worst[0]["within_noise"]) == ("lang=fr", False)
    assert [one["difference"] for one in worst] == sorted(one["difference"] for one in worst)
    assert all(one["difference"] < 0 for one in worst)


@pytest.mark.parametrize("command", ["evaluate", "compare"])
@pytest.mark.parametrize("name", ["s", "a-system-with-a-name-of-more-than-forty-letters"])
@pytest.mark.parametrize("systems", [2, 3])
def test_the_table_of_slices_fits_80_columns(rankjury: Rankjury, command: str, name: str, systems: int) -> None:
    """And every slice is shown whole: the means of all systems, and with a baseline its interval and its verdict."""
    runs = [put_run(f"{name}-{n}.trec", RANKS if n % 2 else RANKS[::-1]) for n in range(systems)]
    outcome = rankjury(command, "g.qrels", *runs, "-m", "rr", "-s", "s.csv:lang,type", "--full")
    check_width(outcome.out)
    heading = "weakest first" if command == "evaluate" else "largest loss first"
    table = outcome.out.split(f"by slice, {heading}")[1].split("Largest losses")[0]
    rows = 4 * (systems if command == "evaluate" else systems - 1)
    if command == "compare":
        marks = ("not shown", "▲", "▼", "= same")
        text = " ".join(table.split())
        assert sum(text.count(mark) for mark in marks) >= rows or "else not shown" in text, "in words, or as signs"
        assert table.count("]") >= rows
    else:
        assert len(re.findall(r"\b[01]\.\d+", table.partition("p: Holm")[0])) >= rows


def test_long_names_of_slices_are_wrapped_not_cut(rankjury: Rankjury) -> None:
    long = "a-kind-of-question-that-takes-a-great-many-letters-to-describe-in-full-length"
    put("s.csv", TABLE.replace("how-to", long))
    outcome = rankjury(*COMPARE, "-s", "s.csv:type")
    check_width(outcome.out)
    table = outcome.out.split("by slice, ")[1]
    assert table.count("not shown") >= 2 and long in "".join(line.split("  ")[0].strip() for line in table.splitlines())


def test_csv_has_a_row_for_every_slice(rankjury: Rankjury) -> None:
    rankjury(*COMPARE, "-s", "s.csv:lang", "-o", "report.csv", "-o", "report.md")
    rows = list(csv.DictReader(Path("report.csv").read_text().splitlines()))
    assert [(row["slice"], row["system"]) for row in rows] == [
        (name, system) for name in ("", "lang=en", "lang=fr") for system in ("a", "b")
    ]
    assert rows[3]["baseline"] == "a" and math.isfinite(float(rows[3]["difference_low"]))
    assert "lang=fr" in Path("report.md").read_text()


def test_slices_where_nothing_is_defined(rankjury: Rankjury) -> None:
    put_gold(grade=0)
    for command in ([*EVALUATE, "--empty", "skip"], [*COMPARE[:4], "-m", "rr,judged@10", "--empty", "skip"]):
        outcome = rankjury(*command, "-s", "s.csv:lang", "-o", "report.md")
        assert outcome.code == 0 and "nan" not in outcome.out.lower()
        assert "lang=fr" in outcome.out and "lang=fr" in Path("report.md").read_text()
        assert (
            _slices(rankjury, *command, "-s", "s.csv:lang")["lang=fr"]["systems"]["a"]["measures"]["rr"]["mean"] is None
        )


# --- tables that will not do --------------------------------------------------------------------------------------


def test_ids_unknown_to_the_gold_are_said(rankjury: Rankjury) -> None:
    put("s.csv", TABLE + "zz,fact,en,3\n")
    outcome = rankjury(*EVALUATE, "-s", "s.csv:lang", "--json")
    (warning,) = (one["text"] for one in report_of(outcome)["warnings"] if "s.csv" in one["text"])
    assert "1 id is unknown to the gold" in warning and "zz" in warning
    assert f"warning: {warning}" in outcome.warnings


def test_queries_that_the_table_lacks_are_said(rankjury: Rankjury) -> None:
    put("s.csv", HEADER + "".join(ROWS[2:]))
    outcome = rankjury(*EVALUATE, "-s", "s.csv:lang", "--json")
    assert any("s.csv: 2 of the gold's 24" in text and "(none)" in text for text in outcome.warnings)
    assert [(part["slice"], part["n"]) for part in report_of(outcome)["slices"]][-1] == ("lang=(none)", 2)


def test_ids_stay_as_they_are_written(rankjury: Rankjury) -> None:
    put("s.csv", TABLE.replace("\nq", "\n0"))
    put("g.qrels", Path("g.qrels").read_text().replace("q", "0"))
    put("a.trec", Path("a.trec").read_text().replace("q", "0"))
    assert _slices(rankjury, *EVALUATE, "-s", "s.csv:lang")["lang=fr"]["n"] == 8


BAD: dict[str, tuple[str, str, int, tuple[str, ...]]] = {
    "other ids": (TABLE.replace("\nq", "\nx"), "lang", 3, ("unknown to the gold", "'x00'", "'q00'")),
    "some misspelt": (TABLE.replace("q07", "Q07"), "lang", 3, ("unknown to the gold", "'Q07'", "'q07'")),
    "repeated": (TABLE + ROWS[4], "lang", 3, ("duplicate query_id 'q04'", "each id once")),
    "empty": ("", "lang", 3, ("s.csv: the file is empty",)),
    "a header alone": (HEADER, "lang", 3, ("s.csv: found a header but no rows",)),
    "no ids": ("type,lang\nfact,fr\n", "lang", 3, ("found the columns type, lang", "query_id")),
    "ids alone": ("query_id\nq00\n", "lang", 3, ("no column but query_id",)),
    "an id missing": (TABLE.replace("q03", ""), "lang", 3, ("row 4 has no query_id",)),
    "a row too long": (TABLE + "q99,fact,fr,3,4\n", "lang", 3, ("s.csv",)),
    "the items' table": (
        "item_id,lang\nd0,fr\n",
        "lang",
        3,
        ("1 id is unknown to the gold", "expected the ids of the gold"),
    ),
    "a report": ('{\n "schema": "rankjury.report/1",\n "systems": {}\n}\n', "lang", 3, ("s.csv",)),
    "a qrels": ("q00 0 d0 1\n", "lang", 3, ("s.csv", "query_id")),
    "misspelt": (TABLE, "lnag", 2, ("unknown attribute 'lnag'", "Did you mean lang")),
    "misspelt in a crossing": (TABLE, "type*lnag", 2, ("unknown attribute 'lnag'", "Did you mean lang")),
    "three crossed": (TABLE, "type*lang*length", 2, ("crosses 3 attributes", "two different ones at most")),
    "a text cut": (TABLE, "lang(quantiles=2)", 3, ("lang is not a number",)),
    "one quantile": (TABLE, "length(quantiles=1)", 2, ("quantiles=1", "2 to")),
    "edges that are none": (TABLE, "length(bins=low/high)", 2, ("bins=low/high", "bins=5/10")),
    "no option": (TABLE, "length(parts=3)", 2, ("'length(parts=3)'", "quantiles", "bins")),
    "nothing named": (TABLE, ",", 2, ("no attribute was named",)),
    "a name twice": (TABLE.replace("type,lang", "lang,lang"), "lang", 3, ("lang", "duplicate")),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("command", [EVALUATE, COMPARE])
def test_a_table_that_will_not_do(rankjury: Rankjury, folder: Path, command: list[str], case: str) -> None:
    text, attributes, code, fragments = BAD[case]
    put("s.csv", text)
    put("old.md", "as it was")
    before = sorted(folder.iterdir())
    check_failure(rankjury(*command, "-s", f"s.csv:{attributes}", "-o", "new.json", "-o", "old.md"), code, *fragments)
    assert sorted(folder.iterdir()) == before and Path("old.md").read_text() == "as it was"


def test_too_many_groups(rankjury: Rankjury) -> None:
    put_gold(queries=101)
    put_run("a.trec", [1] * 101)
    put("s.csv", "query_id,text\n" + "".join(f"q{n:02},text {n}\n" for n in range(101)))
    check_failure(rankjury(*EVALUATE, "-s", "s.csv:text"), 3, "text makes 101 groups", "at most 100")


@pytest.mark.parametrize(("given", "name"), [("nowhere.csv:lang", "nowhere.csv"), ("nowhere.csv", "nowhere.csv")])
def test_a_table_that_is_not_there(rankjury: Rankjury, given: str, name: str) -> None:
    check_failure(rankjury(*EVALUATE, "--slices", given), 3, f"{name}: no such file")
    check_failure(rankjury(*EVALUATE, "--item-slices", given), 3, f"{name}: no such file")


@pytest.mark.parametrize("option", ["--slices", "--item-slices"])
def test_slices_need_intervals(rankjury: Rankjury, option: str) -> None:
    check_failure(rankjury(*EVALUATE, "--no-ci", option, "s.csv:lang"), 2, "--no-ci", "--slices")


@pytest.mark.parametrize(
    "given",
    [["-s", "s.csv:length(quantiles=2),length(quantiles=4)"], ["-s", "s.csv:type", "-s", "again.csv:type"]],
    ids=["one file", "two files"],
)
def test_a_slice_cannot_be_there_twice(rankjury: Rankjury, given: list[str]) -> None:
    put("again.csv", TABLE)
    check_failure(rankjury(*EVALUATE, *given), 2, "duplicate slice")


def test_a_name_too_long_for_a_file_is_none(rankjury: Rankjury) -> None:
    check_failure(rankjury(*EVALUATE, "-s", "x" * 300), 3)


def test_small_slices_are_warned_of(rankjury: Rankjury) -> None:
    assert any("fewer than 20 queries" in text for text in rankjury(*EVALUATE, "-s", "s.csv:type").warnings)
