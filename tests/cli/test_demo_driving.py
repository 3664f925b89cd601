"""rankjury demo driving: texts and clips, the bundled ones or somebody's own."""

import json
import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from tests import paths
from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure

SAMPLE = Path(str(files("rankjury.plan") / "samples" / "driving"))
JAAD = paths.SHARED / "driving/jaad_clips.csv"
REPORTS = ["clips.html", "clips.json", "clips.md", "report.html", "report.json", "report.md"]
KEPT = [
    "clips.csv",
    "clips.toml",
    "rankjury.schema.json",
    "rankjury.toml",
    "queries.jsonl",
    "synonyms.toml",
    "vectors.npz",
]


def names(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def test_both_examples_and_the_reports(rankjury: Rankjury) -> None:
    outcome = rankjury("demo", "driving", "--full")
    assert outcome.code == 0
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert "t01 “cyclist entering ego lane” by embedding\n  keywords: bicyclist, entering ego path\n" in outcome.out
    assert re.search(
        r"^ +4 +0\.65 +highway_cut_in_011 +✗ bicyclist +✓ entering ego path +1/2 partial", outcome.out, re.M
    )
    assert "Recall@1: 1.000 · Recall@3: 1.000 · Recall@5: 0.800 · " in outcome.out
    assert re.search(r"^Recall@5 = precision@5 +0\.507 \[", outcome.out, re.M)
    assert "urban_cyclist_crossing_001 by embedding" in outcome.out
    assert re.search(r"^exact +0\.899 +0\.660 +0\.761 +0\.400 +80$", outcome.out, re.M)
    assert names("rankjury-driving") == REPORTS
    assert outcome.err.count("Next: ") == 1


def test_kept_files_can_be_run_and_asked(rankjury: Rankjury) -> None:
    outcome = rankjury("demo", "driving", "--keep", "mine")
    assert names("mine") == sorted([*KEPT, *REPORTS]) and not Path("rankjury-driving").exists()
    line = outcome.err.splitlines()[-1]
    assert line.startswith("Next: rankjury keywords ")
    asked = rankjury("keywords", "guy on a bike", *line.split('" ')[1].split())
    assert (asked.code, "bicyclist" in asked.out) == (0, True)
    again = rankjury("run", "mine/clips.toml", "--json", "-o", "again")
    assert json.loads(again.out)["systems"]["embedding"]["measures"]["Recall@5"]["common_name"] == "precision@5"


TABLE = "name;what;does\na;car,bus;stops\nb;car;stops,turns\nc;bus;turns\nd;car;turns\n".replace(";", "\t")


@pytest.fixture
def own(folder: Path) -> Path:
    (folder / "mine.tsv").write_text(TABLE, encoding="utf-8")
    np.savez(folder / "mine.npz", ids=np.array(list("abcd")), v=np.eye(4)[:, :3] + 0.1)
    return folder


OWN = ["demo", "driving", "--data", "mine.tsv", "--id", "name", "--separator", ","]


def test_an_own_table_with_vectors(rankjury: Rankjury, own: Path) -> None:
    grouped = ["--group", "object=what", "--group", "act=does", "--select", "object"]
    outcome = rankjury(*OWN, *grouped, "--vectors", "mine.npz", "-o", "out")
    assert outcome.code == 0 and "4 queries, 2 systems" in outcome.out and names("out") == REPORTS[3:]
    report = json.loads(Path("out/report.json").read_text("utf-8"))
    assert report["keywords"]["groups"] == ["object"] and report["keywords"]["vocabulary"] == 2


def test_an_own_table_alone_is_embedded_by_what_it_says(rankjury: Rankjury, own: Path) -> None:
    pytest.importorskip("wordllama")
    outcome = rankjury(*OWN)
    assert outcome.code == 0 and "not how good any video model is" in " ".join(outcome.err.split())


def test_another_separator_is_suspected(rankjury: Rankjury, own: Path) -> None:
    outcome = rankjury("demo", "driving", "--data", "mine.tsv", "--id", "name", "--vectors", "mine.npz")
    assert any("no cell holds '|', but many hold ','" in line for line in outcome.warnings)


@pytest.mark.skipif(not JAAD.is_file(), reason="the annotations of JAAD are not here")
def test_real_annotations(rankjury: Rankjury) -> None:
    pytest.importorskip("wordllama")
    groups = ["--group", "object=objects", "--group", "actor=ped_action,ped_cross", "--select", "object"]
    outcome = rankjury("demo", "driving", "--data", str(JAAD), *groups)
    assert outcome.code == 0 and re.search(r"^Recall@5 = precision@5 +0\.\d{3} ", outcome.out, re.M)


def test_options_that_need_data(rankjury: Rankjury) -> None:
    check_failure(rankjury("demo", "driving", "--select", "object"), 2, "--data clips.csv")
    check_failure(rankjury("demo", "papers", "--data", ".", "--select", "object"), 2, "rankjury demo driving")
    check_failure(rankjury("demo", "movies", "--data", "."), 2, "--data is for")
