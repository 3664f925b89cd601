"""rankjury init: a plan that is filled in with what lies in the folder, and that runs."""

import json
import os
import re
import shutil
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Rankjury
from tests.cli.made import RANKS, put_gold, put_run, tree
from tests.cli.support import check_failure, check_width, put
from tests.cli.terminal import in_terminal

KINDS = ["runs", "spaces", "movies", "reference", "papers", "search", "fashion"]


@pytest.fixture(autouse=True)
def empty_folder(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def put_sample(name: str) -> None:
    """The files of a sample, without its plan."""
    for path in (files("rankjury.plan") / "samples" / name).iterdir():
        if path.name not in ("rankjury.toml", "README.md"):
            put(path.name, path.read_bytes())


def put_vectors(name: str, rows: int = 12, seed: int = 0) -> None:
    np.save(name, np.random.default_rng(seed).normal(size=(rows, 4)).astype(np.float32))


def plan_of(path: str = "rankjury.toml") -> dict[str, Any]:
    return tomllib.loads(Path(path).read_text(encoding="utf-8"))


# --- the files decide ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", ["movies", "helpdesk"])
def test_a_plan_for_a_sample_runs_as_it_is(rankjury: Rankjury, sample: str) -> None:
    put_sample(sample)
    outcome = rankjury("init")
    facts = {"movies": ["3 embeddings", "gold.json", "50 queries"], "helpdesk": ["2 runs", "qrels.trec", "40 queries"]}
    assert (outcome.code, outcome.out) == (0, "")
    answer = " ".join(outcome.err.partition("\nFound")[0].split())
    assert [fact for fact in facts[sample] if fact not in answer] == []
    assert answer.startswith("Wrote rankjury.toml: ") and answer.endswith("Next: rankjury run")
    check_width(outcome.err)
    ran = rankjury("run")
    assert ran.code == 0, ran.err
    assert "by slice" in ran.out
    check_width(ran.out.replace("…", ""))


def test_a_space_whose_name_tells_no_aspect_is_an_assumption(rankjury: Rankjury) -> None:
    put_sample("movies")
    with np.load("vectors.npz") as held:
        arrays = {"ids": held["ids"], "DenseVibe": held["vibe"], "mystery": held["content"]}
    np.savez("vectors.npz", **arrays)
    outcome = rankjury("init")
    assert outcome.code == 0
    assumed = outcome.err.partition("Assumed:")[2]
    assert "mystery is compared with the lists overall" in assumed and "DenseVibe is compared" not in assumed
    systems = plan_of()["systems"]
    assert systems["DenseVibe"]["gold"] == "vibes" and systems["mystery"]["gold"] == "overall"
    assert rankjury("run").code == 0


def test_runs_and_labels(rankjury: Rankjury) -> None:
    put_gold("labels.qrels")
    put_run("bm25.trec", RANKS)
    put_run("dense.trec", RANKS)
    put("queries.csv", "query_id,type\n" + "".join(f"q{n:02},{'ab'[n % 2]}\n" for n in range(24)))
    outcome = rankjury("init")
    found = outcome.err.partition("Found:")[2]
    assert [name for name in ("labels.qrels", "bm25.trec", "dense.trec", "queries.csv") if name not in found] == []
    plan = plan_of()
    assert plan["gold"] == {"kind": "labels", "path": "labels.qrels"} and plan["baseline"] == "bm25"
    assert {name: system["path"] for name, system in plan["systems"].items()} == {
        "bm25": "bm25.trec",
        "dense": "dense.trec",
    }
    assert plan["slices"] == "queries.csv:type"
    assert rankjury("run").code == 0


def test_a_reference_model(rankjury: Rankjury) -> None:
    for seed, name in enumerate(["reference.npy", "small.npy", "tiny.npy"]):
        put_vectors(name, 40, seed)
    assert rankjury("init").code == 0
    plan = plan_of()
    assert plan["gold"]["kind"] == "reference"
    assert plan["gold"]["path"] == "reference.npy" and list(plan["systems"]) == ["small", "tiny"]
    assert rankjury("run").code == 0


def test_search_by_vectors_of_queries(rankjury: Rankjury) -> None:
    put_vectors("items.npy")
    put_vectors("queries.npy", 3, 1)
    put("labels.csv", "query_id,item_id,grade\n0,1,3\n1,2,2\n2,3,2\n")
    assert rankjury("init").code == 0
    assert plan_of()["systems"]["items"]["queries"] == "queries.npy"
    assert rankjury("run").code == 0


def test_results_are_not_taken_for_data(rankjury: Rankjury) -> None:
    """A second look at a folder where a plan has run finds what the first one found."""
    put_sample("movies")
    first = rankjury("init").err
    assert rankjury("run").code == 0
    assert rankjury("init", "--force").err == first


# --- a kind is asked for ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_plan_that_can_be_read(rankjury: Rankjury, kind: str) -> None:
    """Nothing lies here: all that is wrong with the plan is that its files are not there."""
    outcome = rankjury("init", kind)
    assert outcome.code == 0 and "missing" in outcome.err.splitlines()[0] and "rankjury demo" in outcome.err
    text = Path("rankjury.toml").read_text()
    assert text.startswith("#:schema rankjury.schema.json\n# ") and text.count("#") >= 8, "it is commented"
    missing = [line.split('"')[1].partition(":")[0] for line in text.splitlines() if line.endswith("# MISSING")]
    assert missing, "what is missing is marked, and told with its format"
    ran = rankjury("run")
    assert ran.code == 3 and ran.err.startswith("error: ")
    assert [name for name in missing if name not in outcome.err or f"{name}: no such file" not in ran.err] == []


def test_all_kinds_are_in_the_help(rankjury: Rankjury) -> None:
    text = rankjury("init", "--help").out
    assert [kind for kind in KINDS if not re.search(rf"\b{kind}\b", text)] == []


def test_a_misspelt_kind(rankjury: Rankjury, folder: Path) -> None:
    check_failure(rankjury("init", "movie"), 2, "unknown kind of plan 'movie'", "Did you mean movies or movielens?")
    assert tree(folder) == {}


# --- where it goes ------------------------------------------------------------------------------------------------


def test_a_plan_that_is_there_is_kept(rankjury: Rankjury) -> None:
    put("rankjury.toml", "# mine\n")
    check_failure(rankjury("init"), 2, "rankjury.toml exists already", "-o", "--force")
    assert Path("rankjury.toml").read_text() == "# mine\n" and not Path("rankjury.schema.json").exists()
    assert rankjury("init", "--force").code == 0 and plan_of()["gold"]["kind"] == "labels"


def test_another_name_and_folder(rankjury: Rankjury) -> None:
    put_gold("plans/g.qrels")
    put_run("plans/one.trec", RANKS)
    put_run("not-here.trec", RANKS)
    outcome = rankjury("init", "-o", "plans/mine.toml")
    assert list(plan_of("plans/mine.toml")["systems"]) == ["one"], "its own folder is looked at"
    answer = " ".join(outcome.err.partition("\nFound")[0].split())
    assert answer.startswith("Wrote plans/mine.toml: 1 run against g.qrels, ")
    assert rankjury(*answer.partition("Next: rankjury ")[2].split()).code == 0


@pytest.mark.parametrize("place", ["a-file/rankjury.toml", "a-file/folder"])
def test_a_place_that_cannot_be_written(rankjury: Rankjury, place: str) -> None:
    put("a-file", "x")
    outcome = rankjury("init", "-o", place, "--force")
    check_failure(outcome, outcome.code)
    assert outcome.code in (2, 3) and not Path("rankjury.schema.json").exists()


def test_a_folder_gets_the_plan_under_its_usual_name(rankjury: Rankjury) -> None:
    assert rankjury("init", "runs", "-o", "plans", "-q").code == 0
    assert Path("plans/rankjury.toml").exists() and Path("plans/rankjury.schema.json").exists()


@pytest.mark.parametrize("name", ["größe", "two words", "a.b", "quo\"te's", "back\\slash", "日本", "--", "new\nline"])
def test_names_of_files_and_folders_are_quoted(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    place = Path(name)
    place.mkdir()
    monkeypatch.chdir(place)
    put_gold("g.qrels")
    put_run(f"{name}.trec", RANKS)
    put_run("other.trec", RANKS)
    outcome = rankjury("init")
    assert outcome.code == 0, outcome.err
    assert sorted(system["path"] for system in plan_of()["systems"].values()) == sorted([f"{name}.trec", "other.trec"])
    assert plan_of()["name"] == name
    assert rankjury("run").code == 0


def test_runs_of_one_name(rankjury: Rankjury) -> None:
    put_gold()
    for suffix in ("trec", "run", "res"):
        put_run(f"same.{suffix}", RANKS)
    assert rankjury("init").code == 0 and len(plan_of()["systems"]) == 3
    assert rankjury("run").code == 0


def test_data_of_the_current_folder_for_a_plan_elsewhere(rankjury: Rankjury) -> None:
    put_gold("g.qrels")
    put_run("one.trec", RANKS)
    assert rankjury("init", "-o", "plans/mine.toml").code == 0
    assert plan_of("plans/mine.toml")["gold"]["path"] == "../g.qrels"
    assert rankjury("run", "plans/mine.toml").code == 0


def test_data_of_another_folder(rankjury: Rankjury) -> None:
    put_gold("elsewhere/deep/g.qrels")
    put_run("elsewhere/one.trec", RANKS)
    assert rankjury("init", "--data", "elsewhere").code == 0
    assert plan_of()["gold"]["path"] == "elsewhere/deep/g.qrels" and plan_of()["name"] == "elsewhere"
    assert rankjury("run").code == 0


@pytest.mark.parametrize("place", ["nowhere", "a-file"])
def test_a_folder_that_is_none(rankjury: Rankjury, folder: Path, place: str) -> None:
    put("a-file", "x")
    check_failure(rankjury("init", "--data", place), 3, place, "expected a folder")
    assert not Path("rankjury.toml").exists()


def test_a_second_plan_is_not_replaced_either(rankjury: Rankjury) -> None:
    put_sample("driving")
    Path("clips.toml").unlink()
    put("rankjury-items.toml", "# mine\n")
    check_failure(rankjury("init"), 2, "rankjury-items.toml exists already", "--force")
    assert Path("rankjury-items.toml").read_text() == "# mine\n" and not Path("rankjury.toml").exists()


def test_garbage_called_qrels(rankjury: Rankjury) -> None:
    put("qrels.txt", bytes(range(256)) * 20)
    put_run("one.trec", RANKS)
    outcome = rankjury("init")
    assert outcome.code == 0 and "missing" in outcome.err.splitlines()[0]
    assert "qrels.txt: found" in outcome.err.partition("Not used:")[2]
    check_width(outcome.err)
    check_failure(rankjury("run"), 3, "qrels.txt")


def test_what_is_not_used_is_told_with_the_reason(rankjury: Rankjury) -> None:
    put_gold("g.qrels")
    put_run("one.trec", RANKS)
    put("other.trec", "no-such-query Q0 d0 1 1.5 t\n")
    err = rankjury("init").err
    assert "1 run against g.qrels, 24 queries" in err and "other.trec" in err.partition("Not used:")[2]
    assert list(plan_of()["systems"]) == ["one"]


def test_files_that_do_not_belong_together(rankjury: Rankjury) -> None:
    """The plan names the files that are there, and the run says what is wrong with them."""
    put("qrels.csv", "query_id,item_id,grade\nq1,a,1\nq2,b,1\n")
    matrix = np.eye(2, dtype=np.float32)
    np.savez("items.npz", ids=np.array(["a", "b"]), v=matrix)
    np.savez("queries.npz", ids=np.array(["q1", "x"]), v=matrix)
    outcome = rankjury("init")
    assert (
        outcome.code == 0
        and "do not belong together" in outcome.err
        and "MISSING" not in Path("rankjury.toml").read_text()
    )
    check_failure(rankjury("run"), 3, "q2", "queries.npz")


def test_vectors_alone_lack_a_gold(rankjury: Rankjury) -> None:
    put_vectors("items.npy")
    outcome = rankjury("init")
    assert plan_of()["systems"]["vectors"]["path"] == "items.npy" and "qrels.txt: graded labels" in outcome.err


def test_files_that_cannot_be_read(rankjury: Rankjury) -> None:
    put_gold("g.qrels")
    put_run("one.trec", RANKS)
    put_run("two.trec", RANKS)
    Path("two.trec").chmod(0)
    if os.access("two.trec", os.R_OK):
        pytest.skip("root reads every file")
    assert "two.trec: no permission" in rankjury("init").err


# --- the rest -----------------------------------------------------------------------------------------------------


def test_the_schema_beside_it_is_that_of_rankjury_schema(rankjury: Rankjury) -> None:
    rankjury("init")
    assert json.loads(Path("rankjury.schema.json").read_text()) == json.loads(rankjury("list", "schema").out)


def test_quiet(rankjury: Rankjury) -> None:
    outcome = rankjury("init", "-q")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "") and Path("rankjury.toml").exists()


def test_help_teaches(rankjury: Rankjury) -> None:
    """Whoever copies an example gets what it says."""
    examples = re.findall(r"^ +rankjury (.+)$", rankjury("init", "--help").out, re.MULTILINE)
    assert len(examples) == 3
    put_gold("beir/scifact/qrels/test.tsv")
    for example in examples:
        outcome = rankjury(*example.split())
        assert outcome.code == 0, (example, outcome.err)
        shutil.rmtree("plans", ignore_errors=True)


def test_in_a_terminal(folder: Path) -> None:
    put_sample("movies")
    seen = in_terminal(["init"], COLUMNS="80")
    assert "\x1b" not in seen
    assert seen.startswith("Wrote rankjury.toml: ") and max(map(len, seen.splitlines())) <= 80
