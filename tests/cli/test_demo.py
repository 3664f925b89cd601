"""rankjury demo: something real before anything is configured."""

import json
import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.conftest import Rankjury
from tests.cli.made import tree
from tests.cli.support import check_failure, check_width, put

PAPERS = ["candidate.npz", "papers.jsonl", "rankjury.schema.json", "rankjury.toml", "reference.npz"]
SYSTEMS = ["wordllama", "first-64", "int8", "binary"]
RESULTS = [
    "metrics_vs_k.png",
    "queries.parquet",
    "report.html",
    "report.json",
    *(f"{name}_results.csv" for name in SYSTEMS),
]


def test_the_demo_prints_a_table_and_a_next_step(rankjury: Rankjury, folder: Path) -> None:
    before = sorted(folder.iterdir())
    outcome = rankjury("demo")
    assert outcome.code == 0
    check_width(outcome.out)
    for measure in ("ndcg@10", "ap", "rr", "recall@100", "precision@10"):
        assert re.search(
            rf"^{re.escape(measure)} +bm25 +0\.\d{{3}} *\n +dense +0\.\d{{3}} +[+−]0\.\d{{3}} \[", outcome.out, re.M
        )
    assert "judged@10" not in outcome.out, "it describes a run, and is not compared"
    assert re.search(r"^type=keyword +10 ", outcome.out, re.MULTILINE)
    assert outcome.err.splitlines()[-1].startswith("Next: rankjury demo --keep")
    page = folder / "rankjury-demo/helpdesk.html"
    assert set(folder.iterdir()) - set(before) == {page.parent}, "without --keep nothing but the page is written"
    assert "how to cancle plus subscribtion" in page.read_text("utf-8")


def test_quiet(rankjury: Rankjury) -> None:
    assert rankjury("demo", "-q").err == ""


def test_kept_files_compare_alike(rankjury: Rankjury) -> None:
    shown = rankjury("demo", "--keep", "kept/here").out
    assert sorted(path.name for path in Path("kept/here").iterdir()) == [
        "bm25.trec",
        "dense.trec",
        "documents.jsonl",
        "qrels.trec",
        "queries.jsonl",
    ]
    files = [f"kept/here/{name}.trec" for name in ("qrels", "bm25", "dense")]
    again = rankjury("compare", *files, "--slices", "kept/here/queries.jsonl:type")
    # The demo knows the texts of the queries, which the sentences at the top name.
    assert again.out.partition("\n\n")[2] in shown
    assert again.out.count("\n") > 20


def test_the_next_step_works(rankjury: Rankjury) -> None:
    line = rankjury("demo", "--keep", "kept").err.splitlines()[-1]
    assert rankjury(*line.removeprefix("Next: rankjury ").split()).code == 0


def test_queries_and_documents_are_those_of_the_runs(rankjury: Rankjury) -> None:
    rankjury("demo", "--keep", "kept")
    queries = [json.loads(line) for line in Path("kept/queries.jsonl").read_text(encoding="utf-8").splitlines()]
    documents = [json.loads(line) for line in Path("kept/documents.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (len(queries), len(documents)) == (40, 90)
    ids = {str(value) for document in documents for value in document.values()}
    assert {line.split()[2] for line in Path("kept/qrels.trec").read_text().splitlines()} <= ids


@pytest.mark.parametrize("place", ["a-file", "a-file/below"])
def test_a_place_that_cannot_be_a_folder(rankjury: Rankjury, place: str) -> None:
    put("a-file", "x")
    check_failure(rankjury("demo", "--keep", place), 3, place)


# --- papers -------------------------------------------------------------------------------------------------------


def put_papers(folder: str, rows: int, dimensions: int, names: list[str]) -> None:
    """Matrices without ids, of which the first is the reference's."""
    Path(folder).mkdir(exist_ok=True)
    draw = np.random.default_rng(rows)
    shared = draw.normal(size=(rows, dimensions))
    for name in names:
        np.save(Path(folder) / f"{name}.npy", (shared + draw.normal(size=shared.shape)).astype(np.float32))


def bundled() -> list[str]:
    return sorted(path.name for path in (files("rankjury.plan") / "samples" / "papers").iterdir())


def quicker(plan: str) -> None:
    """Fewer queries and resamples, as a user would change them."""
    text = Path(plan).read_text(encoding="utf-8")
    assert "# sample = 500" in text
    put(plan, "statistics.resamples = 100\n" + text.replace("# sample = 500", "sample = 40").replace("20000", "200"))


def test_papers_kept_and_written(rankjury: Rankjury, folder: Path) -> None:
    """The tables, the sentence, plan and data in one folder, results in another; the plan runs when it is changed."""
    before = bundled()
    outcome = rankjury("demo", "papers", "--keep", "kept/here", "-o", "out", "--full")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("papers: 1,000 queries, 4 systems\n") and "\x1b" not in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80
    for name in SYSTEMS:
        assert f"\n{name}:\n" in outcome.out
    assert len(re.findall(r"\d\.\d{3}±\d\.\d{3}", outcome.out)) == len(SYSTEMS) * 6 * 5
    assert re.search(r"^binary vs wordllama: NDCG@10 −\d+\.\d % \[−.+\]$", outcome.out, re.MULTILINE)
    for part in ("Spearman ρ", "over 20,000 pairs drawn by seed 42 (1,000 queries)", "field=biology", "hub skew"):
        assert part in outcome.out
    assert sorted(path.name for path in Path("kept/here").iterdir()) == PAPERS
    assert sorted(path.name for path in Path("out").iterdir()) == sorted(RESULTS)
    check_saved(outcome.out)
    assert outcome.err.splitlines()[-1] == "Next: rankjury run kept/here/rankjury.toml"
    assert bundled() == before, "nothing is written into the package"
    quicker("kept/here/rankjury.toml")
    again = rankjury("run", "kept/here/rankjury.toml")
    assert again.code == 0, again.err
    assert again.out.startswith("papers: 40 queries, 4 systems\n")
    assert sorted(path.name for path in Path("kept/here").iterdir()) == sorted([*PAPERS, *RESULTS])


def check_saved(screen: str) -> None:
    """What the screen rounds, the files hold."""
    saved = json.loads(Path("out/report.json").read_text(encoding="utf-8"))
    assert list(saved["systems"]) == SYSTEMS and saved["baseline"] == "wordllama"
    for name in SYSTEMS:
        mean = saved["systems"][name]["measures"]["ndcg(gain=binary,gold=k)@10"]["mean"]
        assert f" {mean:.3f}±" in screen
    table = pl.read_parquet("out/queries.parquet")
    assert table.height == 4000 and table["query_id"].n_unique() == 1000
    assert Path("out/metrics_vs_k.png").read_bytes().startswith(b"\x89PNG")


def test_papers_are_not_kept_over_ones_own(rankjury: Rankjury) -> None:
    put("mine/papers.jsonl", "mine\n")
    check_failure(rankjury("demo", "papers", "--keep", "mine"), 2, "mine/papers.jsonl", "--keep")
    assert [path.name for path in Path("mine").iterdir()] == ["papers.jsonl"]


def test_matrices_of_ones_own(rankjury: Rankjury, folder: Path) -> None:
    """Named like a reference, whatever the order; the candidate is also cut and quantised."""
    put_papers("mine", 60, 130, ["z_reference", "small"])
    before = tree(Path("mine"))
    outcome = rankjury("demo", "papers", "--data", "mine", "-o", "out")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("agreement with z_reference: 60 queries, 3 systems\n")
    names = ["small", "small-128", "small-int8"]
    assert all(f"\n{name}:\n" in outcome.out for name in names)
    written = {
        "report.html",
        "report.json",
        "metrics_vs_k.png",
        "queries.parquet",
        *(f"{name}_results.csv" for name in names),
    }
    assert {path.name for path in Path("out").iterdir()} == written
    assert tree(Path("mine")) == before


def test_small_matrices_of_ones_own(rankjury: Rankjury) -> None:
    """Cut-offs and variants that nobody asked for are left away where they do not fit."""
    put_papers("mine", 30, 8, ["reference", "small"])
    before = sorted(Path.cwd().rglob("*"))
    outcome = rankjury("demo", "papers", "--data", "mine")
    assert outcome.code == 0, outcome.err
    assert "2 systems" in outcome.out and re.search(r"^ *20 ", outcome.out, re.MULTILINE)
    assert not re.search(r"^ +50 ", outcome.out, re.MULTILINE)
    assert outcome.err.splitlines()[-1] == "Next: keep tables, plot and report with -o results"
    assert sorted(Path.cwd().rglob("*")) == before, "without -o nothing is written"


@pytest.mark.parametrize(
    ("arguments", "code", "fragments"),
    [
        (["papers", "--data", "nowhere"], 3, ["nowhere", "no such folder"]),
        (["papers", "--data", "gold.qrels"], 3, ["gold.qrels", "no such folder"]),
        (["papers", "--data", "empty"], 3, ["empty", "found vectors: none", "a file named reference"]),
        (["papers", "--data", "alone"], 3, ["alone", "reference.npy", "at least one other"]),
        (["papers", "--data", "nameless"], 3, ["nameless", "a.npy, b.npy", "a file named reference"]),
        (["papers", "--data", "apart"], 3, ["60 rows and 61 rows"]),
        (["movies", "--data", "alone"], 2, ["--data", "papers"]),
        (["--data", "alone"], 2, ["--data", "papers"]),
        (["papers", "--data", "alone", "--keep", "kept"], 2, ["--data", "--keep"]),
    ],
)
def test_data_that_will_not_do(rankjury: Rankjury, arguments: list[str], code: int, fragments: list[str]) -> None:
    Path("empty").mkdir()
    put_papers("alone", 60, 4, ["reference"])
    put_papers("nameless", 60, 4, ["a", "b"])
    put_papers("apart", 61, 130, ["small"])
    put_papers("apart", 60, 130, ["reference"])
    check_failure(rankjury("demo", *arguments), code, *fragments)
    assert not Path("kept").exists()
