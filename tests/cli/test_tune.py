"""rankjury tune: from runs and from a plan; what is said where tuned weights hold, and where they do not."""

import json
import random
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Rankjury
from tests.cli.made import tree
from tests.cli.support import Outcome, check_failure, check_width, put
from tests.cli.terminal import in_terminal
from tests.recsys.tuning.support import as_csv, rows

QUERIES = [f"q{number:02}" for number in range(40)]
ITEMS = [f"d{number}" for number in range(8)]
FILES = ["gold.qrels", "good.trec", "noise.trec"]
QUICK = ["--c", "60", "--resamples", "200"]
TUNE = ["tune", *FILES, *QUICK]
PLAN = """gold = "gold.qrels"
measures = ["ndcg@5", "ap"]
headline = ["ap"]
[systems]
good = "good.trec"
noise = "noise.trec"
[systems.both]
kind = "fusion"
of = ["good", "noise"]
"""
OF_MODELS = """[gold]
kind = "interactions"
path = "log.csv"
[systems.popular]
kind = "recommender"
model = "popularity"
[tune.popular]
params = { days = [1, 7, 30, 90] }
"""


@pytest.fixture(autouse=True)
def runs(folder: Path) -> None:
    """d0 is relevant; good puts it first three times of four, noise anywhere."""
    draw = random.Random(1)
    put("gold.qrels", "".join(f"{query} 0 {item} {int(item == 'd0')}\n" for query in QUERIES for item in ITEMS))
    for name, sure in (("good", 0.75), ("noise", 0.0), ("noise2", 0.0)):
        scores = {
            (query, item): draw.random() + (item == "d0" and draw.random() < sure)
            for query in QUERIES
            for item in ITEMS
        }
        put(f"{name}.trec", "".join(f"{query} Q0 {item} 0 {score} t\n" for (query, item), score in scores.items()))
    put("rankjury.toml", PLAN)


def found_by(outcome: Outcome) -> dict[str, Any]:
    assert outcome.code == 0, outcome.err
    found: dict[str, Any] = json.loads(outcome.out)
    assert found["schema"] == "rankjury.tuning/1" and "NaN" not in outcome.out
    return found


# --- from runs ----------------------------------------------------------------------------------------------------


def test_weights_that_hold(rankjury: Rankjury) -> None:
    outcome = rankjury(*TUNE)
    assert outcome.code == 0 and "\x1b" not in outcome.out
    answer = " ".join(outcome.out.partition("\n\n")[0].split())
    assert answer.startswith("Tuned weights are better than equal weights on held-out queries: ndcg@10 +0.")
    assert "best: good " in answer and "noise " in answer
    table = outcome.out.partition("\n\n")[2].splitlines()
    assert [line.split("  ")[0] for line in table[2:7]] == [
        "good alone", "noise alone", "equal weights", "tuned, in sample", "tuned, held out (5 folds)",
    ]  # fmt: skip
    assert table[-1].startswith("Note: good alone is better than") and "equal weights" in table[-1]
    check_width(outcome.out)
    (line,) = outcome.err.splitlines()
    assert line.startswith("Next: ")
    weights = tomllib.loads(re.findall(r"weights = \{.*\}", line)[0])["weights"]
    assert weights == found_by(rankjury(*TUNE, "--json"))["best"]["weights"]


def test_the_next_step_names_c(rankjury: Rankjury) -> None:
    """Weights were chosen together with c: with another, they are not what was found to be better."""
    options = ["tune", *FILES, "--resamples", "200", "--c", "5"]
    assert found_by(rankjury(*options, "--json"))["best"]["c"] == 5
    assert re.search(r"\bc = 5\b", rankjury(*options).err)


@pytest.mark.parametrize("files", [["noise.trec", "noise2.trec"], ["good.trec", "same.trec"]])
def test_weights_that_do_not_hold(rankjury: Rankjury, files: list[str]) -> None:
    """Noise with noise, and a run with itself."""
    put("same.trec", Path("good.trec").read_bytes())
    options = ["tune", "gold.qrels", *files, *QUICK]
    outcome = rankjury(*options)
    assert outcome.code == 0 and "put weights" not in outcome.err
    answer = " ".join(outcome.out.partition("\n\n")[0].split())
    assert (answer.endswith("; keep equal weights.") and "better than equal weights" in answer) or "worse" in answer
    found = found_by(rankjury(*options, "--json"))
    assert found["better_than_equal"] is False and found["verdict"].endswith("keep equal weights")


def test_the_screen_and_json_agree(rankjury: Rankjury) -> None:
    found = found_by(rankjury(*TUNE, "--json"))
    out = rankjury(*TUNE).out
    for key in ("in_sample", "held_out", "equal_weights"):
        low, high = found[key]["ci"]
        assert f"{found[key]['mean']:.3f} [{low:.3f}, {high:.3f}]" in out
    assert (found["measure"], found["tried"], found["folds"], len(found["by_fold"])) == ("ndcg@10", 21, 5, 5)
    assert "21 settings of rrf tried" in out and "ndcg@10 [95 %]" in out
    means = {name: one["mean"] for name, one in found["alone"].items()}
    evaluated = json.loads(rankjury("evaluate", *FILES, "-m", "ndcg@10", "--json").out)["systems"]
    assert means == {name: evaluated[name]["measures"]["ndcg@10"]["mean"] for name in ("good", "noise")}


def test_options_are_heeded(rankjury: Rankjury) -> None:
    found = found_by(rankjury(*TUNE, "-m", "ap", "--folds", "8", "--seed", "3", "--level", "0.9", "--json"))
    assert (found["measure"], found["folds"]) == ("ap", 8)
    assert found["resampling"] | {"interval": ""} == {"resamples": 200, "level": 0.9, "seed": 3, "interval": ""}
    combined = found_by(rankjury(*TUNE, "--method", "combsum", "--normalise", "z-score", "--json"))
    usual = found_by(rankjury(*TUNE, "--method", "combsum", "--json"))
    assert combined["method"] == usual["method"] == "combsum" and "c" not in combined["best"]
    assert combined["equal_weights"]["mean"] != usual["equal_weights"]["mean"]
    shallow = found_by(rankjury(*TUNE, "--depth", "1", "--json"))
    assert shallow["equal_weights"]["mean"] != found_by(rankjury(*TUNE, "--json"))["equal_weights"]["mean"]


def test_a_method_without_c_shows_none(rankjury: Rankjury) -> None:
    header, _, *rows = rankjury(*TUNE, "--method", "combsum").out.splitlines()
    assert " c " not in header or not any(re.search(r"\b60\b", row) for row in rows[:5])


def test_the_same_bytes_twice_whatever_the_order_of_rows(rankjury: Rankjury) -> None:
    first = rankjury(*TUNE, "--json").out
    lines = Path("noise.trec").read_text().splitlines(keepends=True)
    put("noise.trec", "".join(reversed(lines)))
    assert rankjury(*TUNE, "--json").out == first


def test_output(rankjury: Rankjury) -> None:
    outcome = rankjury(*TUNE, "-o", "tuning.json")
    assert outcome.err.splitlines()[0] == "Wrote tuning.json"
    assert Path("tuning.json").read_text() == rankjury(*TUNE, "--json").out
    both = rankjury(*TUNE, "--json", "-o", "again.json")
    assert both.err == "Wrote again.json\n" and Path("again.json").read_text() == both.out


def test_quiet(rankjury: Rankjury) -> None:
    assert rankjury(*TUNE, "-q", "-o", "tuning.json").err == ""
    assert rankjury(*TUNE, "-q").out == rankjury(*TUNE).out


# --- from a plan --------------------------------------------------------------------------------------------------


def test_a_plan_is_tuned_for_its_headline(rankjury: Rankjury) -> None:
    found = found_by(rankjury("tune", "rankjury.toml", *QUICK, "--json"))
    in_use = found.pop("in_use")
    assert in_use["mean"] == pytest.approx(found["equal_weights"]["mean"], abs=1e-12), "the plan's weights are equal"
    assert "as in the plan" in rankjury("tune", "rankjury.toml", *QUICK).out
    by_files = found_by(rankjury(*TUNE, "-m", "ap", "--json"))
    assert by_files.pop("in_use") is None
    assert found == by_files
    assert found_by(rankjury("tune", "rankjury.toml", *QUICK, "-m", "rr", "--json"))["measure"] == "rr"


def test_weights_from_the_next_step_give_the_in_sample_figure(rankjury: Rankjury) -> None:
    """What was found goes into the plan, and rankjury run then shows it."""
    best = found_by(rankjury("tune", "rankjury.toml", *QUICK, "--json"))
    line = rankjury("tune", "rankjury.toml", *QUICK).err.splitlines()[-1]
    put("rankjury.toml", PLAN + re.findall(r"weights = \{.*\}", line)[0] + "\n")
    report = json.loads(rankjury("run", "--json").out)
    assert report["systems"]["both"]["measures"]["ap"]["mean"] == pytest.approx(best["in_sample"]["mean"], abs=1e-12)


def test_one_of_several_fused_systems(rankjury: Rankjury) -> None:
    put(
        "rankjury.toml",
        PLAN + 'depth = 1\n[systems.sum]\nkind = "fusion"\nof = ["noise", "good"]\nmethod = "combsum"\n',
    )
    check_failure(rankjury("tune", "rankjury.toml"), 2, "rankjury.toml", "2 fused systems", "--system")
    check_failure(rankjury("tune", "rankjury.toml", "--system", "bth"), 2, "'bth'", "Did you mean both?")
    found = found_by(rankjury("tune", "rankjury.toml", "--system", "sum", *QUICK, "--json"))
    assert found["method"] == "combsum" and list(found["best"]["weights"]) == ["noise", "good"]
    shallow = found_by(rankjury("tune", "rankjury.toml", "--system", "both", *QUICK, "--json"))
    assert shallow["equal_weights"] == found_by(rankjury(*TUNE, "-m", "ap", "--depth", "1", "--json"))["equal_weights"]


def test_the_conventions_of_the_plan_hold_for_another_measure(rankjury: Rankjury) -> None:
    """Of two systems that lack q00, with missing = "skip" it is left out."""
    for name in ("good", "noise"):
        lines = Path(f"{name}.trec").read_text().splitlines(keepends=True)
        put(f"{name}.trec", "".join(line for line in lines if not line.startswith("q00")))
    put("rankjury.toml", PLAN + '[conventions]\nmissing = "skip"\n')
    for measure in ([], ["-m", "rr"]):
        found = found_by(rankjury("tune", "rankjury.toml", *measure, *QUICK, "--json"))
        assert found["held_out"]["n"] == len(QUERIES) - 1


def test_a_plan_without_fusion(rankjury: Rankjury) -> None:
    put("rankjury.toml", PLAN.partition("[systems.both]")[0])
    check_failure(rankjury("tune", "rankjury.toml"), 2, "rankjury.toml", "0 fused systems")


def test_a_random_order_is_not_fused(rankjury: Rankjury) -> None:
    put("rankjury.toml", PLAN.replace('"noise"]', '"chance"]') + '[systems.chance]\nkind = "random"\ncandidates = 9\n')
    check_failure(rankjury("tune", "rankjury.toml"), 2, "chance")


# --- what cannot be done ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "fragments"),
    [
        ([*FILES[:2]], 2, ["found one run", "two or more"]),
        (["gold.qrels"], 2, ["gold.qrels", "plan"]),
        ([*FILES, "good.trec"], 2, ["good.trec", "twice"]),
        ([*FILES, "-m", "ap,rr"], 2, ["2 measures"]),
        ([*FILES, "-m", "ndgc@10"], 2, ["ndgc@10", "Did you mean"]),
        ([*FILES, "--method", "rff"], 2, ["rff", "Did you mean rrf?"]),
        ([*FILES, "--normalise", "minmax", "--method", "combsum"], 2, ["minmax", "Did you mean min-max?"]),
        ([*FILES, "--c", "sixty"], 2, ["--c", "'sixty'"]),
        ([*FILES, "--c", "-1"], 2, ["c=-1"]),
        ([*FILES, "--c", ","], 2, ["no value of c"]),
        ([*FILES, "--depth", "0"], 2, ["depth", "0"]),
        ([*FILES, "--folds", "1"], 2, ["1 fold", "2 to 40"]),
        ([*FILES, "--folds", "41"], 2, ["41 folds", "2 to 40"]),
        ([*FILES, "--system", "both"], 2, ["--system", "plan"]),
        ([*FILES, "-o", "tuning.csv"], 2, ["tuning.csv", ".json"]),
        ([*FILES, "-o", "nowhere/tuning.json"], 3, ["nowhere/tuning.json"]),
        ([*FILES[:2], "nowhere.trec"], 3, ["nowhere.trec", "no such file"]),
        (["nowhere.toml"], 3, ["nowhere.toml", "no such file"]),
    ],
)
def test_errors(rankjury: Rankjury, folder: Path, arguments: list[str], code: int, fragments: list[str]) -> None:
    before = tree(folder)
    check_failure(rankjury("tune", *arguments), code, *fragments)
    assert tree(folder) == before


# --- the screen ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("systems", [3, 6])
def test_everything_fits_80_columns(rankjury: Rankjury, systems: int) -> None:
    text = Path("noise.trec").read_bytes()
    names = [put(f"a-run-with-a-name-of-about-thirty-letters-{n}.trec", text) for n in range(systems)]
    check_width(rankjury("tune", "gold.qrels", *names, *QUICK).out)


def test_help_teaches(rankjury: Rankjury) -> None:
    for name, source in (("qrels.txt", "gold.qrels"), ("bm25.trec", "good.trec"), ("dense.trec", "noise.trec")):
        put(name, Path(source).read_bytes())
    for name in ("a.trec", "b.trec", "c.trec"):
        put(name, Path("noise.trec").read_bytes())
    put("rankjury.toml", PLAN.replace("both", "combined"))
    put("log.csv", as_csv(rows()))
    put("movies.toml", OF_MODELS)
    examples = re.findall(r"^ +rankjury (.+)$", rankjury("tune", "--help").out, re.MULTILINE)
    assert len(examples) == 7
    for example in examples:
        assert rankjury(*example.split()).code == 0, example


def test_in_a_terminal(folder: Path) -> None:
    seen = re.sub(r"\x1b\[[0-9;]*m", "", in_terminal(TUNE, NO_COLOR="1", COLUMNS="80")).replace("\r\n", "\n")
    table, _, hint = seen.partition("\nNext: ")
    assert "\x1b" not in seen and hint
    check_width(table)
