"""rankjury neighbours: exact neighbours of small spaces against plain loops; every option; what is no vector."""

import csv
import gzip
import json
import re
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.cli.conftest import Rankjury
from tests.cli.made import tree
from tests.cli.support import check_failure, check_width, help_examples, put
from tests.cli.terminal import in_terminal

IDS = [f"d{number:02}" for number in range(30)]
ASKED = ["a", "b", "d03"]
NARROW = ["--queries", "narrow.npy", "--queries-ids", "asked-ids.json"]
Vector = list[float]
Found = dict[str, list[tuple[str, float]]]


@pytest.fixture(autouse=True)
def vectors(folder: Path) -> None:
    """Thirty items of which two are alike, and three queries of which one has an item's id."""
    draw = np.random.default_rng(4)
    items = draw.normal(size=(len(IDS), 5)).astype(np.float32)
    items[7] = items[8]
    np.save("items.npy", items)
    np.savez("both.npz", ids=np.array(IDS), space=items, other=draw.normal(size=items.shape))
    np.save("asked.npy", draw.normal(size=(3, 5)).astype(np.float32))
    put("ids.txt", "\n".join(IDS) + "\n")
    put("asked-ids.json", json.dumps(ASKED))
    put("some.txt", "d01\nd02\nd03\n")


def alike(one: Vector, other: Vector, metric: str) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    if metric == "ip":
        return product
    if metric == "l2":
        return -sqrt(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)))
    return product / sqrt(sum(a * a for a in one)) / sqrt(sum(b * b for b in other))


def slowly(
    queries: dict[str, Vector],
    k: int | None = None,
    metric: str = "cosine",
    of: set[str] | None = None,
    own: bool = False,
) -> Found:
    """By plain Python; ``own``: with the item of the query's id."""
    items = dict(zip(IDS, np.load("items.npy").astype(float).tolist(), strict=True))
    found = {}
    for query, vector in queries.items():
        scores = {
            item: alike(vector, other, metric)
            for item, other in items.items()
            if (own or item != query) and (of is None or item in of)
        }
        found[query] = sorted(scores.items(), key=lambda pair: (-round(pair[1], 12), pair[0]))[:k]
    return found


def items_as_queries() -> dict[str, Vector]:
    return dict(zip(IDS, np.load("items.npy").astype(float).tolist(), strict=True))


def asked() -> dict[str, Vector]:
    return dict(zip(ASKED, np.load("asked.npy").astype(float).tolist(), strict=True))


def found_in(path: str = "run.csv") -> Found:
    found: Found = {}
    for row in csv.DictReader(Path(path).read_text().splitlines()):
        found.setdefault(row["query_id"], []).append((row["item_id"], float(row["score"])))
    return found


def check_same(found: Found, expected: Found) -> None:
    assert {query: [item for item, _ in pairs] for query, pairs in found.items()} == {
        query: [item for item, _ in pairs] for query, pairs in expected.items()
    }
    for query, pairs in expected.items():
        assert [score for _, score in found[query]] == pytest.approx([score for _, score in pairs], abs=1e-9)


# --- what is found ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
@pytest.mark.parametrize("k", [1, 4, 29, 100, 0])
def test_against_plain_loops(rankjury: Rankjury, metric: str, k: int) -> None:
    outcome = rankjury("neighbours", "items.npy", "-k", str(k), "--distance", metric, "-o", "run.csv")
    assert outcome.code == 0, outcome.err
    check_same(found_in(), slowly(items_as_queries(), k or None, metric))


def test_ten_are_found_unless_asked_otherwise(rankjury: Rankjury) -> None:
    assert rankjury("neighbours", "both.npz:space", "-o", "run.csv").code == 0
    check_same(found_in(), slowly(items_as_queries(), 10))


def test_equal_scores_go_by_id(rankjury: Rankjury) -> None:
    rankjury("neighbours", "items.npy", "-o", "run.csv")
    found = found_in()
    assert (found["d07"][0][0], found["d08"][0][0]) == ("d08", "d07")
    for query, pairs in found.items():
        items = [item for item, _ in pairs]
        if query not in ("d07", "d08") and "d07" in items[:-1]:
            assert items[items.index("d07") + 1] == "d08"


def test_queries_of_their_own(rankjury: Rankjury) -> None:
    given = ["--queries", "asked.npy", "--queries-ids", "asked-ids.json"]
    assert rankjury("neighbours", "items.npy", *given, "-k", "0", "-o", "run.csv").code == 0
    check_same(found_in(), slowly(asked(), own=True))
    assert "d03" in dict(found_in()["d03"])


@pytest.mark.parametrize("name", ["run.trec", "run.trec.gz", "run.csv", "run.parquet"])
def test_a_saved_run_keeps_the_order_of_tied_row_numbers(rankjury: Rankjury, name: str) -> None:
    """The ranks of a TREC file had row 10 before row 2, unlike the search itself and the other formats."""
    Path("ids.txt").unlink(missing_ok=True)
    np.save("equal.npy", np.ones((12, 2)))
    assert rankjury("neighbours", "equal.npy", "-k", "0", "-o", name).code == 0
    if name.endswith(".parquet"):
        rows = [(row["query_id"], row["item_id"]) for row in pl.read_parquet(name).iter_rows(named=True)]
    else:
        text = gzip.decompress(Path(name).read_bytes()).decode() if name.endswith(".gz") else Path(name).read_text()
        cells = [re.split("[ ,]", line) for line in text.splitlines()]
        rows = [(cell[0], cell[2] if cell[1] == "Q0" else cell[1]) for cell in cells]
    assert [item for query, item in rows if query == "0"] == [str(row) for row in range(1, 12)]


def test_a_document_with_the_query_id_is_kept_where_files_differ(rankjury: Rankjury) -> None:
    """With two files that are numbered from 0, query i lost document i."""
    np.save("corpus.npy", np.load("items.npy"))
    np.save("queries.npy", np.load("items.npy")[:5] + 0.01)
    Path("ids.txt").unlink(missing_ok=True)
    two = ["neighbours", "corpus.npy", "--queries", "queries.npy", "-k", "3", "-o", "run.csv"]
    outcome = rankjury(*two)
    assert all(pairs[0][0] == query for query, pairs in found_in().items())
    (line,) = [line for line in outcome.warnings if "id of an item" in line]
    assert "5 queries" in line and "--exclude-self" in line
    (line,) = [line for line in rankjury(*two, "--exclude-self").warnings if "id of an item" in line]
    assert "--keep-self" in line
    assert all(query not in dict(pairs) for query, pairs in found_in().items())


def test_queries_that_are_the_corpus_by_another_name(rankjury: Rankjury) -> None:
    """The same file is the same items, also where ids are in a file beside it."""
    Path("link.npy").symlink_to("items.npy")
    for given in ([], ["--queries", "items.npy"], ["--queries", "./link.npy"]):
        outcome = rankjury("neighbours", "items.npy", *given, "-k", "0", "-o", "run.csv")
        check_same(found_in(), slowly(items_as_queries()))
        assert "own item is excluded" in outcome.err and "--keep-self" in outcome.err
    outcome = rankjury("neighbours", "items.npy", "--keep-self", "-k", "0", "-o", "run.csv")
    check_same(found_in(), slowly(items_as_queries(), own=True))
    assert "own item is kept" in outcome.err


def test_candidates_by_id(rankjury: Rankjury) -> None:
    assert rankjury("neighbours", "items.npy", "--candidates", "some.txt", "-o", "run.csv").code == 0
    check_same(found_in(), slowly(items_as_queries(), 10, of={"d01", "d02", "d03"}))


@pytest.mark.parametrize("k", [2, 0])
def test_candidates_of_each_query(rankjury: Rankjury, k: int) -> None:
    lists = {"a": {"d01", "d05", "d09"}, "d03": {"d03", "d04"}}
    rows = "".join(f"{query},{item}\n" for query, items in lists.items() for item in sorted(items))
    put("lists.csv", "query_id,item_id\n" + rows)
    given = ["--queries", "asked.npy", "--queries-ids", "asked-ids.json", "--candidates", "lists.csv"]
    assert rankjury("neighbours", "items.npy", *given, "-k", str(k), "-o", "run.csv").code == 0
    expected = {query: slowly({query: asked()[query]}, k or None, of=lists[query], own=True)[query] for query in lists}
    check_same(found_in(), expected)


# --- what is written ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["run.trec", "run.csv", "run.tsv", "run.jsonl", "run.json", "run.parquet", "run.csv.gz"]
)
def test_a_run_evaluates_in_the_order_found(rankjury: Rankjury, name: str) -> None:
    """The gold's grades fall with the place: only the very same order has an ndcg of 1."""
    expected = slowly(items_as_queries(), 6)
    put(
        "g.qrels",
        "".join(f"{q} 0 {item} {6 - n}\n" for q, pairs in expected.items() for n, (item, _) in enumerate(pairs)),
    )
    outcome = rankjury("neighbours", "items.npy", "-k", "6", "-o", name)
    assert outcome.err.splitlines()[-1] == f"Wrote {name}: 180 rows. Next: rankjury evaluate GOLD {name}"
    line = outcome.err.partition("Next: rankjury ")[2].replace("GOLD", "g.qrels").split()
    report = json.loads(rankjury(*line, "-m", "ndcg(gain=exp),judged@6", "--json").out)
    means = [one["mean"] for one in report["systems"]["run"]["measures"].values()]
    assert means == [pytest.approx(1, abs=1e-12), 1]


def test_all_digits_are_written(rankjury: Rankjury) -> None:
    for name in ("run.parquet", "run.csv", "run.trec", "run.csv.gz"):
        assert rankjury("neighbours", "items.npy", "-o", name).code == 0
    scores = pl.read_parquet("run.parquet")["score"].to_list()
    assert [score for pairs in found_in().values() for _, score in pairs] == scores
    assert [float(line.split()[4]) for line in Path("run.trec").read_text().splitlines()] == scores
    assert gzip.decompress(Path("run.csv.gz").read_bytes()) == Path("run.csv").read_bytes()


def test_json(rankjury: Rankjury) -> None:
    outcome = rankjury("neighbours", "items.npy", "-k", "3", "--json")
    assert outcome.code == 0 and "NaN" not in outcome.out and "Next" not in outcome.err
    form: dict[str, Any] = json.loads(outcome.out)
    assert (form["schema"], form["queries"], form["rows"]) == ("rankjury.neighbours/1", 30, 90)
    space = form["space"]
    assert (space["vectors"], space["dimensions"], space["duplicates"]["exact"]) == (30, 5, 1)
    lengths = [sqrt(sum(x * x for x in vector)) for vector in items_as_queries().values()]
    assert space["norm"]["mean"] == pytest.approx(sum(lengths) / 30, abs=1e-6)
    assert (space["norm"]["min"], space["norm"]["max"]) == (pytest.approx(min(lengths)), pytest.approx(max(lengths)))


def test_one_vector_has_no_neighbours(rankjury: Rankjury) -> None:
    put("one.json", '{"x": [1, 2, 3]}')
    form = json.loads(rankjury("neighbours", "one.json", "--json").out)
    assert (form["queries"], form["rows"], form["space"]["mean_similarity"]) == (1, 0, None)
    assert rankjury("neighbours", "one.json").code == 0


@pytest.mark.parametrize("suffix", ["npy", "npz", "parquet", "json", "jsonl", "safetensors"])
def test_forms_of_vectors(rankjury: Rankjury, suffix: str) -> None:
    items, name = np.load("items.npy"), f"some.{suffix}"
    rows = [{"item_id": id_, "vector": vector} for id_, vector in zip(IDS, items.tolist(), strict=True)]
    if suffix in ("npy", "npz"):
        np.save(name, items) if suffix == "npy" else np.savez(name, ids=np.array(IDS), vector=items)
    elif suffix == "parquet":
        pl.DataFrame(rows).write_parquet(name)
    elif suffix == "safetensors":
        pytest.importorskip("safetensors.numpy").save_file({"vector": items}, name, {"ids": json.dumps(IDS)})
    else:
        by_id = {row["item_id"]: row["vector"] for row in rows}
        put(name, json.dumps(by_id) if suffix == "json" else "\n".join(map(json.dumps, rows)))
    assert rankjury("neighbours", name, "-o", "run.csv").code == 0
    check_same(found_in(), slowly(items_as_queries(), 10))


# --- the screen ---------------------------------------------------------------------------------------------------


def test_the_screen(rankjury: Rankjury) -> None:
    outcome = rankjury("neighbours", "items.npy", "-k", "3")
    check_width(outcome.out)
    assert re.search(r"^vectors +30 × 5 *$", outcome.out, re.MULTILINE) and "\x1b" not in outcome.out
    shown = ", ".join(f"{item} ({score:.4f})" for item, score in slowly(items_as_queries(), 3)["d00"])
    assert shown in outcome.out.replace("−", "-")
    assert outcome.err.splitlines()[-1] == "Next: keep the run with -o run.parquet"
    quiet = rankjury("neighbours", "items.npy", "-k", "3", "-q")
    assert (quiet.out, quiet.err) == (outcome.out, "")


def test_long_ids_fit_80_columns(rankjury: Rankjury) -> None:
    put("ids.txt", "".join(f"{id_}-of-a-length-that-nobody-would-choose-but-hashes-have\n" for id_ in IDS))
    check_width(rankjury("neighbours", "items.npy").out.replace(" …", ""))


def test_in_a_terminal(folder: Path) -> None:
    seen = in_terminal(["neighbours", "items.npy"], NO_COLOR="1", COLUMNS="80").replace("\r\n", "\n")
    check_width(re.sub(r"\x1b\[[0-9;]*m", "", seen))
    assert "\x1b[?25" not in seen and seen.endswith("Next: keep the run with -o run.parquet\n")


def test_examples_of_help_work(rankjury: Rankjury) -> None:
    np.savez("vectors.npz", ids=np.array(IDS), anchor=np.load("items.npy"), vibe=np.load("items.npy"))
    np.save("corpus.npy", np.load("items.npy"))
    np.save("queries.npy", np.load("asked.npy"))
    rows = zip(IDS, np.load("items.npy").tolist(), strict=True)
    pl.DataFrame([{"id": id_, "embedding": vector} for id_, vector in rows]).write_parquet("items.parquet")
    put("in-stock.txt", "d01\nd02\n")
    examples = help_examples(rankjury("neighbours", "--help").out)
    assert len(examples) == 3
    for example in examples:
        assert rankjury(*example.split()[1:]).code == 0, example


# --- what is no vector --------------------------------------------------------------------------------------------


def put_bad() -> None:
    items = np.load("items.npy")
    for name, value in (("inf.npy", np.inf), ("zero.npy", 0.0)):
        bad = items.copy()
        bad[4] = value
        np.save(name, bad)
    np.save("narrow.npy", items[:3, :4])
    put("broken.json", "[1,")
    put("strange.txt", "d01\nnobody\n")
    put("lists.csv", "query_id,item_id\na,d01\n")
    put("twice.txt", "d00\n" * 30)


@pytest.mark.parametrize(
    ("arguments", "code", "fragments"),
    [
        (["inf.npy"], 3, ["inf.npy", "infinite", "d04"]),
        (["zero.npy"], 3, ["zero.npy", "d04", "zero"]),
        (["both.npz:spac"], 3, ["both.npz", "'spac'"]),
        (["both.npz:space", "--ids", "ids.txt"], 2, ["both.npz:space", "already contains ids"]),
        (["items.npy", "--ids", "twice.txt"], 3, ["d00", "duplicate ids"]),
        (["items.npy", "--ids", "broken.json"], 3, ["broken.json"]),
        (["items.npy", *NARROW, "--candidates", "lists.csv"], 3, ["narrow.npy", "4 dim", "of 5"]),
        (["items.npy", "--queries-ids", "asked-ids.json"], 2, ["--queries-ids", "--queries"]),
        (["items.npy", "--candidates", "strange.txt"], 3, ["nobody"]),
        (["items.npy", "--candidates", "lists.csv"], 3, ["query", "a"]),
        (["items.npy", "--candidates", "nowhere.txt"], 3, ["nowhere.txt", "no such file"]),
        (["nowhere.npy"], 3, ["nowhere.npy", "no such file"]),
        (["ids.txt"], 2, ["ids.txt", ".npy"]),
        (["items.npy", "--distance", "cosin"], 2, ["cosin", "Did you mean cosine"]),
        (["items.npy", "-k", "-1"], 2, ["-k", "-1"]),
        (["items.npy", "-o", "run.xlsx"], 2, ["run.xlsx"]),
        (["items.npy", "-o", "nowhere/run.csv"], 3, ["nowhere/run.csv"]),
    ],
)
def test_errors(rankjury: Rankjury, folder: Path, arguments: list[str], code: int, fragments: list[str]) -> None:
    put_bad()
    before = tree(folder)
    check_failure(rankjury("neighbours", *arguments), code, *fragments)
    assert tree(folder) == before


def test_where_ids_come_from_is_printed(rankjury: Rankjury) -> None:
    assert "ids.txt" in rankjury("neighbours", "items.npy").err
    Path("ids.txt").unlink()
    assert "--ids FILE" in rankjury("neighbours", "items.npy").err
    assert "--ids FILE" not in rankjury("neighbours", "both.npz:space").err
