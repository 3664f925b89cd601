"""NAME=FILE names any run or file of vectors; -o takes a file or a folder; -b a system or a file."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Rankjury
from tests.cli.support import GOLD, RUN, check_failure, check_width, put, report_of

OTHER = "q1 Q0 d2 1 2.5 tag\nq1 Q0 d1 2 1.5 tag\nq2 Q0 d1 1 0.9 tag\nq2 Q0 d3 2 0.5 tag\n"


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    more = [(text.replace("q1", "q3"), text.replace("q2", "q4")) for text in (GOLD, RUN, OTHER)]
    gold, run, other = (
        text + "".join(line + "\n" for part in parts for line in part.splitlines() if line[:2] in ("q3", "q4"))
        for text, parts in zip((GOLD, RUN, OTHER), more, strict=True)
    )
    put("g.qrels", gold)
    put("runs/a.trec", run)
    put("runs/b.trec", other)
    put("targets.toml", 'targets = ["ndcg@10 >= 0.1"]\n')
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(30, 4)).astype(np.float32)
    np.savez("ref.npz", ids=np.array([f"i{n}" for n in range(30)]), vectors=vectors)
    np.savez("cut.npz", ids=np.array([f"i{n}" for n in range(30)]), vectors=vectors[:, :3])


def systems_of(rankjury: Rankjury, *arguments: str) -> list[str]:
    return list(report_of(rankjury(*arguments, "--json"))["systems"])


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_runs_have_the_names_that_are_given(command: str, rankjury: Rankjury) -> None:
    assert systems_of(rankjury, command, "g.qrels", "old=runs/a.trec", "new=runs/b.trec") == ["old", "new"]
    assert systems_of(rankjury, command, "g.qrels", "old=runs/a.trec", "runs/b.trec") == ["old", "b"]


def test_one_file_may_have_two_names(rankjury: Rankjury) -> None:
    assert systems_of(rankjury, "compare", "g.qrels", "x=runs/a.trec", "y=runs/a.trec") == ["x", "y"]


def test_a_file_with_an_equals_sign_is_a_file(rankjury: Rankjury) -> None:
    put("a=b.trec", RUN)
    put("lr=0.1/run.trec", OTHER)
    assert systems_of(rankjury, "evaluate", "g.qrels", "a=b.trec", "lr=0.1/run.trec") == ["a=b", "run"]
    assert systems_of(rankjury, "evaluate", "g.qrels", "x=a=b.trec") == ["x"]
    check_failure(rankjury("evaluate", "g.qrels", "runs/lr=1.trec"), 3, "runs/lr=1.trec")


@pytest.mark.parametrize(
    ("runs", "code", "fragments"),
    [
        (["=runs/a.trec"], 2, ["NAME=FILE"]),
        (["x="], 2, ["NAME=FILE"]),
        (["a\x1b[31m=runs/a.trec"], 2, ["NAME=FILE"]),
        (["a\nb=runs/a.trec"], 2, ["NAME=FILE"]),
        (["x" * 101 + "=runs/a.trec"], 2, ["NAME=FILE"]),
        (["x=runs/a.trec", "x=runs/b.trec"], 2, ["runs/a.trec and runs/b.trec are both called x"]),
        (["b=runs/a.trec", "runs/b.trec"], 2, ["are both called b"]),
        (["x=runs/none.trec"], 3, ["runs/none.trec: no such file"]),
        (["x=-", "y=-"], 2, ["standard input was named twice"]),
    ],
)
@pytest.mark.parametrize("command", ["evaluate", "compare", "tune"])
def test_bad_names(command: str, runs: list[str], code: int, fragments: list[str], rankjury: Rankjury) -> None:
    more = ["ok=runs/b.trec"] if len(runs) == 1 and command != "evaluate" else []
    check_failure(rankjury(command, "g.qrels", *runs, *more, stdin=RUN.encode()), code, *fragments)


def test_names_never_break_tables(rankjury: Rankjury) -> None:
    """Pipes, brackets, wide and long names: the screen keeps its width, Markdown its columns."""
    names = ["a|b", "[red]x", "漢字" * 8, "n" * 60]
    runs = [f"{name}=runs/{file}.trec" for name, file in zip(names, "abab", strict=True)]
    outcome = rankjury(
        "compare", "g.qrels", *runs, "-m", "ndcg@10", "-o", "out.md", "-o", "out.json", "--resamples", "100"
    )
    assert outcome.code == 0, outcome.err
    assert max(map(len, outcome.out.splitlines())) <= 80
    for name in names[:2]:
        assert name in outcome.out
    tables = [line for line in Path("out.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    for line in tables:
        assert len(line.replace("\\|", "").split("|")) in {len(other.replace("\\|", "").split("|")) for other in tables}
    assert list(json.loads(Path("out.json").read_text(encoding="utf-8"))["systems"]) == names


def test_gate(rankjury: Rankjury) -> None:
    put("relative.toml", 'targets = ["ndcg@10 drop <= 0.9"]\n')
    for baseline in ("old", "old=runs/a.trec", "runs/a.trec"):
        runs = ["new=runs/b.trec"] if baseline == "old=runs/a.trec" else ["old=runs/a.trec", "new=runs/b.trec"]
        outcome = rankjury("gate", "relative.toml", "g.qrels", *runs, "-b", baseline, "--json", "--resamples", "100")
        assert outcome.code == 0 and '"new"' in outcome.out, outcome


def test_the_targets_may_come_last(rankjury: Rankjury) -> None:
    expected = rankjury("gate", "targets.toml", "g.qrels", "runs/a.trec", "--json")
    assert expected.code == 0
    assert rankjury("gate", "g.qrels", "runs/a.trec", "targets.toml", "--json").out == expected.out
    assert rankjury("gate", "g.qrels", "targets.toml", "runs/a.trec", "--json").out == expected.out


def test_explain_tune_and_neighbours(rankjury: Rankjury) -> None:
    named, plain = (rankjury("explain", "g.qrels", run, "--json") for run in ("x=runs/a.trec", "runs/a.trec"))
    assert named.code == 0 and named.out == plain.out
    tuned = rankjury(
        "tune", "g.qrels", "x=runs/a.trec", "y=runs/b.trec", "--folds", "2", "--resamples", "100", "--json"
    )
    assert tuned.code == 0 and list(json.loads(tuned.out)["best"]["weights"]) == ["x", "y"]
    near = rankjury("neighbours", "space=ref.npz", "-k", "2", "--json")
    assert near.code == 0 and near.out == rankjury("neighbours", "ref.npz", "--k", "2", "--json").out


def test_agree(rankjury: Rankjury) -> None:
    put("items.csv", "item_id,title\ni1,one\n")
    options = ["--pairs", "0", "--k-values", "3", "--names", "items.csv:title", "--json"]
    found = rankjury("agree", "r=ref.npz", "x=cut.npz", "y=ref.npz", "-b", "cut.npz", *options)
    form = report_of(found)
    assert list(form["systems"]) == ["x", "y"] and form["baseline"] == "x"
    by_name = json.loads(rankjury("agree", "r=ref.npz", "x=cut.npz", "y=ref.npz", "-b", "y", *options).out)
    assert by_name["baseline"] == "y"
    check_failure(rankjury("agree", "ref.npz", "cut.npz", "y=ref.npz", "-b", "z", *options), 2, "'z'")


def test_the_baseline_may_be_another_file(rankjury: Rankjury) -> None:
    report = report_of(rankjury("compare", "g.qrels", "new=runs/b.trec", "-b", "runs/a.trec", "--json"))
    assert (list(report["systems"]), report["baseline"]) == (["a", "new"], "a")
    check_failure(rankjury("compare", "g.qrels", "runs/b.trec", "-b", "runs/none.trec"), 2, "found one run")
    check_failure(
        rankjury("compare", "g.qrels", "runs/b.trec", "x=runs/a.trec", "-b", "runs/none.trec"), 3, "runs/none.trec"
    )


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (["evaluate", "g.qrels", "runs/a.trec"], ["report.html", "report.json", "report.md"]),
        (["compare", "g.qrels", "runs/a.trec", "runs/b.trec"], ["report.html", "report.json", "report.md"]),
        (["gate", "targets.toml", "g.qrels", "runs/a.trec"], ["gate.json", "gate.md", "gate.xml"]),
        (["neighbours", "ref.npz"], ["run.parquet"]),
        (["list", "schema"], ["rankjury.schema.json"]),
        (["tune", "g.qrels", "runs/a.trec", "runs/b.trec", "--folds", "2"], ["tuning.json"]),
    ],
)
def test_a_name_without_suffix_is_a_folder(arguments: list[str], written: list[str], rankjury: Rankjury) -> None:
    assert rankjury(*arguments, "-o", "out").code == 0
    assert sorted(path.name for path in Path("out").iterdir()) == written
    assert rankjury(*arguments, "-o", "out").code == 0, "it may be there already"


def test_a_folder_that_stays_empty_is_removed(rankjury: Rankjury) -> None:
    check_failure(rankjury("evaluate", "g.qrels", "runs/none.trec", "-o", "out"), 3, "runs/none.trec")
    assert not Path("out").exists()


@pytest.mark.parametrize("suffix", [".html", ".json", ".md"])
def test_a_command_that_writes_a_folder_also_writes_one_file(suffix: str, rankjury: Rankjury) -> None:
    assert rankjury("agree", "ref.npz", "cut.npz", "--pairs", "0", "-k", "3", "-o", f"only{suffix}").code == 0
    assert Path(f"only{suffix}").stat().st_size > 100
    assert [path.name for path in Path().glob("*.png")] == []


@pytest.mark.parametrize("spelling", [["-k", "1,2"], ["-k", "1", "-k", "2"], ["--k", "1,2"], ["--cutoffs", "2,1"]])
def test_cutoffs(spelling: list[str], rankjury: Rankjury) -> None:
    report = report_of(rankjury("evaluate", "g.qrels", "runs/a.trec", "-m", "ndcg,recall@1,bpref", *spelling, "--json"))
    assert list(report["systems"]["a"]["measures"]) == ["ndcg@1", "ndcg@2", "recall@1", "bpref"]


@pytest.mark.parametrize("option", ["--metric", "--metrics", "--measures", "-m", "--measure"])
def test_spellings_of_the_measure_option(option: str, rankjury: Rankjury) -> None:
    report = report_of(rankjury("evaluate", "g.qrels", "runs/a.trec", option, "ndcg_at_10,ndcg @ 5", "--json"))
    assert list(report["systems"]["a"]["measures"]) == ["ndcg@10", "ndcg@5"]


def test_a_distance_is_not_a_metric(rankjury: Rankjury) -> None:
    check_failure(rankjury("neighbours", "ref.npz", "--metric", "ip"), 2, "--metric", "Did you mean --distance?")
    check_width(rankjury("neighbours", "ref.npz", "--distance", "ip").out)


@pytest.mark.parametrize("key", ["metrics", "metric"])
def test_metrics_of_a_plan_are_its_measures(key: str, rankjury: Rankjury) -> None:
    put("p.toml", f'{key} = ["ndcg@10"]\ngold = "g.qrels"\n[systems]\nx = "runs/a.trec"\n')
    check_failure(rankjury("run", "p.toml", "--no-archive"), 2, "p.toml:1", repr(key), "Did you mean measures?")
