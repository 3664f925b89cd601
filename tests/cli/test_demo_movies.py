"""rankjury demo movies: a plan at work on bundled data."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Rankjury
from tests.cli.made import tree
from tests.cli.support import Outcome, check_failure, put
from tests.cli.terminal import in_terminal

DATA = ["gold.json", "movies.jsonl", "rankjury.schema.json", "rankjury.toml", "vectors.npz"]
RESULTS = ["rankjury.json", "report.html", "report.json", "scores.csv"]
SYSTEMS = ["denseanchor", "densecontent", "densevibe", "combined", "random"]


@pytest.fixture(autouse=True)
def same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


def names_in(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def next_steps(err: str) -> list[list[str]]:
    """The commands that the last line names."""
    line = err.splitlines()[-1]
    assert line.startswith("Next: rankjury "), line
    parts = [part for part in line.removeprefix("Next: ").split(", then ") if part.startswith("rankjury ")]
    return [shlex.split(part)[1:] for part in parts]


def check_next_steps(rankjury: Rankjury, outcome: Outcome) -> None:
    """With the targets that people would write, where it names any."""
    put("targets.toml", 'targets = ["hits@5 >= 0.1"]\n')
    steps = next_steps(outcome.err)
    assert steps
    for step in steps:
        followed = rankjury(*step)
        assert followed.code == 0, (step, followed.err)


def test_the_demo_shows_the_table_and_writes_a_page(rankjury: Rankjury, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    outcome = rankjury("demo", "movies", "--full")
    assert outcome.code == 0 and "\x1b" not in outcome.out
    assert outcome.out.startswith("movies: 50 queries, 5 systems\n")
    assert max(map(len, outcome.out.splitlines())) <= 80
    for system in SYSTEMS:
        assert re.search(rf"^{system} +0\.\d{{3,4}} ", outcome.out, re.MULTILINE), system
    for part in ("ndcg(gain=exp)@5", "cluster=horror", "Largest losses", "hub skew"):
        assert part in outcome.out
    page = folder / "rankjury-demo/movies.html"
    assert "Wrote rankjury-demo/movies.html (offline, " in outcome.err
    assert set(folder.rglob("*")) - set(before) == {page.parent, page} and "The Princess Bride" in page.read_text(
        "utf-8"
    )
    check_next_steps(rankjury, outcome)


def test_the_results_are_those_on_the_screen(rankjury: Rankjury) -> None:
    """What the screen rounds, the files hold; ids on the screen are titles."""
    outcome = rankjury("demo", "movies", "-o", "out")
    assert (outcome.code, names_in("out")) == (0, RESULTS)
    assert "Wrote out/report.html, out/rankjury.json, out/scores.csv, out/report.json" in outcome.err
    saved = json.loads(Path("out/rankjury.json").read_text(encoding="utf-8"))
    assert list(saved["systems"]) == SYSTEMS
    for name in SYSTEMS[:4]:
        one = saved["systems"][name]["measures"]["ndcg(gain=exp)@5"]
        low, high = one["ci"]
        assert f"{one['mean']:.3f} [{low:.3f}, {high:.3f}]" in outcome.out
    assert not re.search(r"\btt\d{7}\b", outcome.out)
    check_retrievers(json.loads(Path("out/report.json").read_text(encoding="utf-8")))
    check_next_steps(rankjury, outcome)


def check_retrievers(saved: dict[str, Any]) -> None:
    """Means are those of the queries, and each query has its first five, none of them itself."""
    assert saved["K"] == 5 and saved["model_tag"] == "all-MiniLM-L6-v2" and len(saved["per_query"]) == 50
    for title, name in (("denseanchor", "denseanchor"), ("combined_weighted_rrf", "combined")):
        entries = [query[name] for query in saved["per_query"].values()]
        for short, mean in (("hits", "mean_hits"), ("rr", "mean_mrr"), ("ndcg", "mean_ndcg")):
            assert saved[title][mean] == pytest.approx(sum(entry[short] for entry in entries) / 50, abs=1e-12)
        assert {len(set(entry["topK"])) for entry in entries} == {5}
    assert not any(query in one["topK"] for query, names in saved["per_query"].items() for one in names.values())


def test_kept_files_run_alike(rankjury: Rankjury) -> None:
    """To the byte."""
    outcome = rankjury("demo", "movies", "--keep", "kept/here")
    assert names_in("kept/here") == sorted([*DATA, *RESULTS])
    first = tree(Path("kept/here"))
    for name in RESULTS:
        Path("kept/here", name).unlink()
    again = rankjury("run", "kept/here/rankjury.toml")
    assert again.code == 0 and again.out == outcome.out != ""
    assert tree(Path("kept/here")) == first
    check_next_steps(rankjury, outcome)


def test_kept_in_one_folder_and_written_to_another(rankjury: Rankjury) -> None:
    outcome = rankjury("demo", "movies", "--keep", "kept", "-o", "out", "-q")
    assert (outcome.code, outcome.err) == (0, "")
    assert (names_in("kept"), names_in("out")) == (DATA, RESULTS)


def test_files_that_are_there_are_not_replaced(rankjury: Rankjury) -> None:
    """A plan of one's own is worth more than a sample."""
    put("rankjury.toml", "# mine\n")
    outcome = rankjury("demo", "movies", "--keep", ".")
    assert Path("rankjury.toml").read_text() == "# mine\n"
    check_failure(outcome, outcome.code, "rankjury.toml")


def test_refused_options_leave_nothing_behind(rankjury: Rankjury, folder: Path) -> None:
    check_failure(rankjury("demo", "helpdesk", "--keep", "kept", "-o", "out"), 2, "-o", "movies")
    assert not Path("kept").exists()


@pytest.mark.parametrize("option", ["--keep", "-o"])
@pytest.mark.parametrize("place", ["a-file", "a-file/below"])
def test_a_place_that_cannot_be_a_folder(rankjury: Rankjury, option: str, place: str) -> None:
    put("a-file", "x")
    check_failure(rankjury("demo", "movies", option, place), 3, place)


def test_an_unknown_sample(rankjury: Rankjury) -> None:
    outcome = rankjury("demo", "moveis")
    assert outcome.code == 2 and outcome.out == "" and "movies" in outcome.err and "Traceback" not in outcome.err


def test_help_teaches(rankjury: Rankjury) -> None:
    """It has examples, they work, and -o is for results, neither plan nor data.

    Those on users' own data are run in test_demo.py and test_demo_driving.py, plain demos in test_demo_length.py.
    """
    text = rankjury("demo", "--help").out
    examples = re.findall(r"^ +(rankjury .+)$", text, re.MULTILINE)
    assert examples
    for example in examples:
        elsewhere = "papers" in example or "--data" in example or re.fullmatch(r"rankjury demo( \w+)?", example)
        assert elsewhere or rankjury(*example.split()[1:]).code == 0, example
    assert "plan and data beside" not in " ".join(text.split())


def test_in_a_terminal(folder: Path) -> None:
    seen = in_terminal(["demo", "movies", "-q"], COLUMNS="80").replace("\r\n", "\n")
    without = re.sub(r"\x1b\[[0-9;]*m", "", seen)
    assert "\x1b[" in seen and "\x1b" not in without, "colours, and nothing else"
    assert max(map(len, without.splitlines())) <= 80
