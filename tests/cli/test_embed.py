"""rankjury embed: texts to vectors and vectors to variants; interrupted, repeated, refused; what every option does."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rankjury.cli import embed
from rankjury.io.vectors import read_vectors
from rankjury.labeling.products.query_sets import read_queries
from tests.cli.conftest import Rankjury
from tests.cli.support import Outcome, check_failure, put
from tests.cli.terminal import in_terminal

TITLES = [f"title {number} x{'x' * number}" for number in range(10)]
ABSTRACTS = [f"abstract y{'y' * (number % 4)}" for number in range(10)]
ROWS = [
    {"paper_id": f"p{number}", "title": title, "abstract": abstract}
    for number, (title, abstract) in enumerate(zip(TITLES, ABSTRACTS, strict=True))
]
MODEL = """
from pathlib import Path

def counted(texts):
    with Path("calls.txt").open("a") as log:
        log.writelines(text.partition(chr(10))[0] + chr(10) for text in texts)
    return [[float(len(text)), float(text.count("x")), float(text.count("y")), 1.0] for text in texts]

def failing(texts):
    if Path("stop.txt").exists() and "title 6" in "".join(texts):
        raise RuntimeError(Path("stop.txt").read_text())
    return counted(texts)

def interrupted(texts):
    if Path("stop.txt").exists() and "title 6" in "".join(texts):
        raise KeyboardInterrupt
    return counted(texts)

def blank(texts):
    return [[0.0, 0.0] if "x" * 10 in text else [3.0, 4.0] for text in texts]
"""
MADE = ["papers.jsonl", "--text", "title,abstract", "--model", "models_for_cli:counted", "-o", "v.npz"]


@pytest.fixture(autouse=True)
def corpus(folder: Path) -> None:
    """Ten papers, and a module of models beside them."""
    put("papers.jsonl", "\n".join(map(json.dumps, ROWS)))
    put("models_for_cli.py", MODEL)


def vector_of(text: str) -> list[float]:
    return [float(len(text)), float(text.count("x")), float(text.count("y")), 1.0]


def expected(joint: str = "\n") -> list[list[float]]:
    return [vector_of(f"{title}{joint}{abstract}") for title, abstract in zip(TITLES, ABSTRACTS, strict=True)]


def done(outcome: Outcome) -> Outcome:
    assert outcome.code == 0, outcome.err
    return outcome


def calls() -> list[str]:
    path = Path("calls.txt")
    found = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return found


def test_texts_become_vectors(rankjury: Rankjury) -> None:
    outcome = done(rankjury("embed", *MADE))
    found = read_vectors("v.npz")
    assert found.values.tolist() == expected() and found.ids.to_list() == [row["paper_id"] for row in ROWS]
    assert outcome.out == ""
    assert (
        outcome.err
        == "Wrote v.npz: 10 vectors of 4 dimensions, float32. Next: rankjury neighbours v.npz · rankjury list vectors\n"
    )


def test_codes_are_searched_as_the_numbers_they_stand_for(rankjury: Rankjury) -> None:
    done(rankjury("embed", *MADE))
    done(rankjury("embed", "--from", "v.npz", "--dtype", "int8", "-o", "small.npz"))
    done(rankjury("neighbours", "small.npz", "-k", "0", "-o", "run.csv"))
    codes = np.load("small.npz")["vectors"].astype(float)
    units = codes / np.linalg.norm(codes, axis=1, keepdims=True)
    cosines = units @ units.T
    rows = pl.read_csv("run.csv").select("query_id", "item_id", "score").rows()
    assert len(rows) == 90
    for query, item, score in rows:
        assert score == pytest.approx(cosines[int(query[1:]), int(item[1:])], abs=1e-12)


def test_quiet_and_json(rankjury: Rankjury) -> None:
    outcome = done(rankjury("embed", *MADE, "--quiet", "--json"))
    form = json.loads(outcome.out)
    assert (
        outcome.err == "" and form["schema"] == "rankjury.embed/1" and form["anew"] is True and form["file"] == "v.npz"
    )
    assert (form["vectors"]["model"], form["vectors"]["join"]) == ("models_for_cli:counted", "\n")
    assert json.loads(done(rankjury("embed", *MADE, "--json")).out) == {**form, "anew": False}


def test_columns_of_ids_and_what_joins_texts(rankjury: Rankjury) -> None:
    pl.DataFrame(ROWS).rename({"paper_id": "key"}).write_csv("papers.csv")
    given = ["papers.csv", *MADE[1:]]
    check_failure(rankjury("embed", *given), 3, "none holds ids")
    done(rankjury("embed", *given, "--id", "key", "--join", ". "))
    assert read_vectors("v.npz").values.tolist() == expected(". ")


def test_empty_texts(rankjury: Rankjury) -> None:
    put("papers.jsonl", "\n".join(map(json.dumps, [*ROWS, {"paper_id": "bare", "title": " ", "abstract": None}])))
    check_failure(rankjury("embed", *MADE), 3, "no text in title, abstract for bare", "--empty skip")
    assert "warning: 1 row without text was left out" in done(rankjury("embed", *MADE, "--empty", "skip")).err
    assert len(read_vectors("v.npz")) == 10


def test_normalised_cut_and_rounded(rankjury: Rankjury) -> None:
    done(rankjury("embed", *MADE, "--normalise", "--truncate", "2", "--dtype", "float16"))
    found = read_vectors("v.npz")
    rows = np.array(expected())[:, :2]
    np.testing.assert_allclose(found.values, rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=1e-3)
    assert found.values.dtype == np.float16


def test_zeros_are_told(rankjury: Rankjury) -> None:
    given = ["papers.jsonl", "--text", "title", "--model", "models_for_cli:blank", "-o", "v.npz"]
    assert "warning: the vectors of p9 are zero" in done(rankjury("embed", *given)).err


# --- again ----------------------------------------------------------------------------------------------------------


def test_the_same_again_is_no_work(rankjury: Rankjury) -> None:
    done(rankjury("embed", *MADE))
    calls()
    before = Path("v.npz").read_bytes()
    assert "is there already" in done(rankjury("embed", *MADE)).err
    assert calls() == [] and Path("v.npz").read_bytes() == before


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        (["--text", "title"], "text title,abstract, now title"),
        (["--join", " "], "joint '\\n', now ' '"),
        (["--model", "models_for_cli:blank"], "model models_for_cli:counted, now models_for_cli:blank"),
        (["--normalise"], "normalisation off, now on"),
        (["--truncate", "2"], "truncation none, now 2"),
        (["--dtype", "binary"], "dtype float32, now binary"),
    ],
)
def test_embed_refuses_a_file_made_with_other_settings(rankjury: Rankjury, changed: list[str], difference: str) -> None:
    done(rankjury("embed", *MADE))
    before = Path("v.npz").read_bytes()
    check_failure(
        rankjury("embed", *MADE, *changed), 2, "v.npz: ", f"made differently: {difference}", "another name with -o"
    )
    assert Path("v.npz").read_bytes() == before
    done(rankjury("embed", *MADE, *changed, "-o", "other.npz"))


def test_another_corpus_is_another_file(rankjury: Rankjury) -> None:
    done(rankjury("embed", *MADE))
    put("papers.jsonl", "\n".join(map(json.dumps, ROWS[1:])))
    check_failure(rankjury("embed", *MADE), 2, "made differently: corpus ")


def test_a_run_that_failed_goes_on(rankjury: Rankjury) -> None:
    put("stop.txt", "no more quota")
    given = [*MADE, "--model", "models_for_cli:failing", "--batch-size", "2"]
    failed = rankjury("embed", *given)
    assert failed.code == 3 and failed.out == ""
    assert "6 of 10 texts are kept: the same command goes on from there" in failed.err
    assert "error: models_for_cli:failing: the model failed at the texts of p6, p7: RuntimeError: no more" in failed.err
    assert calls() == TITLES[:6] and Path(".v.npz.parts").is_dir()
    Path("stop.txt").unlink()
    assert "Going on from 6 of 10 texts" in done(rankjury("embed", *given)).err
    assert calls() == TITLES[6:] and not Path(".v.npz.parts").exists()
    assert read_vectors("v.npz").values.tolist() == expected()


def test_a_run_that_was_interrupted_goes_on(rankjury: Rankjury) -> None:
    put("stop.txt", "")
    given = [*MADE, "--model", "models_for_cli:interrupted", "--batch-size", "3"]
    stopped = rankjury("embed", *given)
    assert stopped.code == 130 and "6 of 10 texts are kept" in stopped.err and not Path("v.npz").exists()
    calls()
    Path("stop.txt").unlink()
    done(rankjury("embed", *given))
    assert calls() == TITLES[6:]


EDITED = """
from pathlib import Path

def encode(texts):
    if Path("stop.txt").exists() and "title 6" in "".join(texts):
        raise RuntimeError("stopped")
    return [[{value}, float(len(text))] for text in texts]
{version}
"""


@pytest.mark.parametrize("version", ["", "encode.version = 3"])
def test_a_function_that_was_edited_starts_anew(
    rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """Resumed after an edit, one file held vectors of two models; a declared version may be forgotten to be raised."""
    given = [*MADE, "--model", "edited_for_cli:encode", "--batch-size", "2"]

    def write(value: str) -> None:
        put("edited_for_cli.py", EDITED.format(value=value, version=version))
        monkeypatch.delitem(sys.modules, "edited_for_cli", raising=False)
        importlib.invalidate_caches()

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    put("stop.txt", "")
    write("1.0")
    assert "6 of 10 texts are kept" in rankjury("embed", *given).err
    Path("stop.txt").unlink()
    write("2.0")
    resumed = done(rankjury("embed", *given)).err
    assert "Going on" not in resumed and ".v.npz.parts" in resumed
    assert {row[0] for row in read_vectors("v.npz").values.tolist()} == {2.0}
    assert "is there already" in done(rankjury("embed", *given)).err
    if not version:
        write("3.0")
        check_failure(rankjury("embed", *given), 2, "v.npz", "version of the model")


@pytest.mark.parametrize("name", ["query_id", "qid", "query"])
def test_queries_are_embedded_by_their_own_ids(rankjury: Rankjury, name: str) -> None:
    """A table of queries, as every other command reads it, was refused: none holds ids."""
    put("queries.jsonl", "\n".join(json.dumps({name: f"q{n}", "text": title}) for n, title in enumerate(TITLES)))
    done(rankjury("embed", "queries.jsonl", "--text", "text", "--model", "models_for_cli:counted", "-o", "q.npz"))
    assert read_vectors("q.npz").ids.to_list() == [f"q{n}" for n in range(10)]


def test_queries_that_have_no_ids(rankjury: Rankjury) -> None:
    put("queries.csv", "query\nred dress\nboots\n")
    outcome = rankjury("embed", "queries.csv", "--text", "query", "--model", "models_for_cli:counted", "-o", "q.npz")
    check_failure(outcome, 3, "queries.csv", "none holds ids", "--id")


def test_queries_of_a_plain_text_file(rankjury: Rankjury) -> None:
    put("queries.txt", "# version: 1\nsummer dress\nq2\tboots\n")
    done(rankjury("embed", "queries.txt", "--model", "models_for_cli:counted", "-o", "q.npz"))
    found = read_vectors("q.npz")
    assert found.ids.to_list() == read_queries("queries.txt")["id"].to_list()
    assert found.values[:, 0].tolist() == [12.0, 5.0]
    put("table.txt", "query_id\ttext\nq1\tsummer dress\n")
    done(rankjury("embed", "table.txt", "--model", "models_for_cli:counted", "-o", "t.npz"))
    assert read_vectors("t.npz").ids.to_list() == ["q1"], "a table with a header may be called .txt, too"


# --- variants -------------------------------------------------------------------------------------------------------


def test_a_variant_of_a_file(rankjury: Rankjury) -> None:
    done(rankjury("embed", *MADE))
    before = Path("v.npz").read_bytes()
    outcome = done(
        rankjury("embed", "--from", "v.npz", "--truncate", "2", "--dtype", "int8", "-o", "small.npz", "--json")
    )
    told = json.loads(outcome.out)["vectors"]
    assert (told["dimensions"], told["dtype"], told["model"]) == (2, "int8", "models_for_cli:counted")
    assert told["of"]["name"] == "v.npz" and Path("v.npz").read_bytes() == before
    rows = np.array(expected())[:, :2]
    np.testing.assert_allclose(read_vectors("small.npz").values, rows, atol=rows.max() / 254 * 1.001)
    again = ["--from", "v.npz", "--truncate", "2", "-o", "small.npz"]
    assert "is there already" in done(rankjury("embed", *again, "--dtype", "int8")).err
    check_failure(rankjury("embed", *again), 2, "dtype int8, now float32")


def test_a_variant_of_another_source_is_another_file(rankjury: Rankjury) -> None:
    given = ["--dtype", "binary", "-o", "small.npz"]
    np.savez("a.npz", ids=np.array(["a", "b"]), one=np.eye(2), two=-np.eye(2))
    done(rankjury("embed", "--from", "a.npz:one", *given))
    check_failure(rankjury("embed", "--from", "a.npz:two", *given), 2, "source a.npz:one (", "now a.npz:two (")


def test_ids_of_a_variant(rankjury: Rankjury) -> None:
    np.save("a.npy", np.eye(2))
    put("names.txt", "x\ny\n")
    done(rankjury("embed", "--from", "a.npy", "--ids", "names.txt", "--dtype", "float16", "-o", "small.npz"))
    assert read_vectors("small.npz").ids.to_list() == ["x", "y"]
    done(rankjury("embed", "--from", "a.npy", "--dtype", "float16", "-o", "bare.npz"))
    assert read_vectors("bare.npz").numbered


# --- what makes no sense --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "code", "told"),
    [
        (["-o", "v.npz"], 2, "neither a corpus nor --from"),
        (["papers.jsonl", "--from", "v.npz", "-o", "w.npz"], 2, "a corpus and --from"),
        (["papers.jsonl", "--model", "wordllama", "-o", "v.npz"], 2, "--text is missing"),
        (["papers.jsonl", "--text", "title", "-o", "v.npz"], 2, "--model is missing"),
        (["--from", "v.npz", "--model", "m", "--dtype", "int8", "-o", "w.npz"], 2, "--model with --from"),
        (["--from", "v.npz", "--id", "m", "--dtype", "int8", "-o", "w.npz"], 2, "--id with --from"),
        ([*MADE, "--ids", "ids.txt"], 2, "--ids without --from"),
        ([*MADE, "-o", "v.npy"], 2, "ends in .npz"),
        ([*MADE, "-o", "nowhere/v.npz"], 3, "no such folder"),
        ([*MADE, "--text", ","], 2, "no text column"),
        ([*MADE, "--model", "all-MiniLM-L6-v2"], 2, "rankjury downloads nothing"),
        ([*MADE, "--truncate", "9"], 2, "from 1 to 4"),
        (["--from", "v.npz", "--dtype", "int8", "-o", "w.npz"], 3, "v.npz: no such file"),
        (["nothing.csv", *MADE[1:]], 3, "nothing.csv: no such file"),
    ],
)
def test_what_makes_no_sense(rankjury: Rankjury, given: list[str], code: int, told: str) -> None:
    outcome = rankjury("embed", *given)
    assert outcome.code == code and outcome.out == ""
    assert told in outcome.err and outcome.err.splitlines()[-1].startswith("error: ")


def test_nothing_to_change(rankjury: Rankjury) -> None:
    done(rankjury("embed", *MADE))
    check_failure(rankjury("embed", "--from", "v.npz", "-o", "w.npz"), 2, "no change requested")
    check_failure(rankjury("embed", "--from", "v.npz", "--truncate", "5", "-o", "w.npz"), 2, "from 1 to 4")
    assert not Path("w.npz").exists()


def test_every_dtype_can_be_asked_for() -> None:
    from rankjury.io.vectors.quantize import DTYPES
    from rankjury.retrieval.embedding.corpus import EMPTY_POLICIES

    assert tuple(embed.Dtype) == DTYPES and tuple(embed.Empty) == EMPTY_POLICIES


def test_the_same_bytes_at_the_same_time(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    found: list[Any] = []
    for name in ("a.npz", "b.npz"):
        done(rankjury("embed", *MADE, "-o", name))
        found.append(Path(name).read_bytes())
    assert found[0] == found[1]


def test_wordllama(rankjury: Rankjury) -> None:
    pytest.importorskip("wordllama", reason="wordllama is not installed")
    done(rankjury("embed", *MADE, "--model", "wordllama", "--normalise"))
    found = read_vectors("v.npz")
    assert (len(found), found.dimensions) == (10, 256)
    np.testing.assert_allclose(np.linalg.norm(found.values, axis=1), 1.0, atol=1e-6)


def test_at_a_terminal_it_ends_with_what_was_written() -> None:
    assert "Wrote v.npz: 10 vectors of 4 dimensions" in in_terminal(["embed", *MADE])
