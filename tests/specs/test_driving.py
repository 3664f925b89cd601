"""The driving protocol's own examples, and the bundled sample, against the slow implementation."""

import json
import math
import subprocess
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from rankjury.evaluation.report import Report
from rankjury.labeling.keywords.partial_match import PartialMatches
from tests.specs.beside_driving import (
    CLIP_SEARCH,
    TEXT_SEARCH,
    check,
    relevant_told,
    run,
    scores_of,
    write_lines,
    write_vectors,
)
from tests.specs.slow_driving import CUTS, Keyword, Results, Truth, read_truth, search, within

# --- the protocol's own examples ----------------------------------------------------------------------------------

HEADER = "clip,pv_object_type,pv_actor_behavior,pv_ego_behavior,pv_scene_type\n"
NAMES = ("object_type", "actor_behavior", "ego_behavior", "scene_type")
GROUPS = {name: [f"pv_{name}"] for name in NAMES}
GOLD = 'path = "clips.csv"\ngroups = { ' + ", ".join(f'{name} = "pv_{name}"' for name in NAMES) + " }\n"


def at(similarity: float) -> list[float]:
    """A clip that is so similar to [1, 0]."""
    return [similarity, math.sqrt(1 - similarity**2)]


class TestTextExample:
    """“cyclist entering ego lane”: rank 5, below the threshold, has one of two keywords."""

    SIMILARITIES = (0.92, 0.88, 0.85, 0.53, 0.12)
    CLIPS = ("cyclist_001", "cyclist_002", "cyclist_003", "cyclist_004", "car2pedestrian_001")
    ASKED: Mapping[str, set[Keyword]] = {
        "text": {("object_type", "bicyclist"), ("actor_behavior", "entering ego path")}
    }
    SYNONYMS = '[synonyms]\nbicyclist = ["cyclist"]\n"entering ego path" = ["entering ego lane"]\n'

    @pytest.fixture(params=["given", "mapped"])
    def folder(self, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
        rows = [f"{clip},bicyclist|small vehicle,entering ego path,going straight,urban\n" for clip in self.CLIPS[:4]]
        last = f"{self.CLIPS[4]},pedestrian,entering ego path,stopped,\n"
        (tmp_path / "clips.csv").write_text(HEADER + "".join([*rows, last]), encoding="utf-8")
        given = {"keywords": ["bicyclist", "entering ego path"]} if request.param == "given" else {}
        write_lines(tmp_path / "queries.jsonl", [{"query_id": "text", "text": "cyclist entering ego lane"} | given])
        (tmp_path / "synonyms.toml").write_text(self.SYNONYMS, encoding="utf-8")
        clips = {clip: at(one) for clip, one in zip(self.CLIPS, self.SIMILARITIES, strict=True)}
        write_vectors(tmp_path / "vectors.npz", clips=clips, queries={"text": [1.0, 0.0]})
        return tmp_path

    @pytest.fixture
    def report(self, folder: Path) -> Report:
        gold = f'{GOLD}queries = "queries.jsonl"\nmapping.synonyms = "synonyms.toml"\nshow = ["text"]\n'
        return run(folder, gold, f"{TEXT_SEARCH}threshold = 0.15\n", 'outputs = ["report.md", "report.json"]\n')

    def test_recall(self, report: Report) -> None:
        found = scores_of(report, "text")
        assert [found[f"Recall@{k}"] for k in CUTS] == [1.0, 1.0, 0.8]
        assert report.common_names["Recall@5"] == "precision@5"

    def test_against_the_slow_one(self, report: Report, folder: Path) -> None:
        truth = read_truth(folder / "clips.csv", GROUPS)
        lists = {"text": list(zip(self.CLIPS, self.SIMILARITIES, strict=True))}
        check(report, self.ASKED, truth, lists, threshold=0.15)
        assert relevant_told(report) == {"text": 4}

    def test_the_partial_match(self, report: Report, folder: Path) -> None:
        lines = (folder / "out" / "report.md").read_text("utf-8").splitlines()
        (row,) = [line for line in lines if "car2pedestrian_001" in line]
        cells = [cell.strip() for cell in row.strip("| ").split("|")]
        partial = "1/2 partial, below 0.15: not shown"
        assert cells == ["5", "0.12", "car2pedestrian_001", "✗ bicyclist", "✓ entering ego path", partial]
        assert sum("2/2" in line and "✓ bicyclist | ✓ entering ego path" in line for line in lines) == 4

    def test_on_screen(self, report: Report, folder: Path) -> None:
        """The same table in the terminal, with the query's own figures below it."""
        done = subprocess.run(
            [sys.executable, "-m", "rankjury", "run", "plan.toml", "-o", "there"],
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            env={"COLUMNS": "120", "PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1"},
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        (row,) = [line for line in done.stdout.splitlines() if "car2pedestrian_001" in line]
        assert "✗ bicyclist  ✓ entering ego path  1/2 partial" in row
        assert "Recall@1: 1.000 · Recall@3: 1.000 · Recall@5: 0.800" in done.stdout
        assert "keywords: bicyclist, entering ego path" in done.stdout
        assert "Recall@5 = precision@5" in done.stdout


class TestVideoExample:
    """highway_merge_002: eight relevant, three of them among the first five."""

    QUERY = "highway_merge_002"
    SIMILARITIES = (0.95, 0.91, 0.32, 0.10, 0.09)

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        alike = "small vehicle,overtaking,lane change,highway|rain\n"
        rows = [f"{self.QUERY},small vehicle,,lane change,highway\n"]
        rows += [f"merge_{number},{alike}" for number in range(8)]
        rows += [f"other_{number},small vehicle,,lane change,urban\n" for number in range(2)]
        (tmp_path / "clips.csv").write_text(HEADER + "".join(rows), encoding="utf-8")
        first = dict(zip(("merge_3", "merge_1", "merge_6", "other_1", "other_0"), self.SIMILARITIES, strict=True))
        rest = {f"merge_{number}": 0.01 * number for number in (0, 2, 4, 5, 7)}
        clips = {self.QUERY: [1.0, 0.0], **{clip: at(one) for clip, one in (first | rest).items()}}
        write_vectors(tmp_path / "vectors.npz", clips=clips)
        return tmp_path

    @pytest.mark.parametrize("threshold", [None, 0.15])
    def test_recall(self, folder: Path, threshold: float | None) -> None:
        """Ranks 4 and 5 are not relevant: the threshold takes them away, and what is left is still divided by 5."""
        system = CLIP_SEARCH + (f"threshold = {threshold}\n" if threshold else "")
        report = run(folder, GOLD, system)
        assert scores_of(report, self.QUERY)["Recall@5"] == 0.6
        assert scores_of(report, self.QUERY)["Precision@5"] == 3 / 8
        assert relevant_told(report)[self.QUERY] == 8
        (looked,) = [one for one in report.sections_of(PartialMatches)["search"].queries if one.query == self.QUERY]
        assert {one.rpartition("=")[2] for one in looked.keywords} == {"highway", "lane change", "small vehicle"}
        assert [round(one.score or 0.0, 6) for one in looked.results] == list(self.SIMILARITIES)

    def test_against_the_slow_one(self, folder: Path) -> None:
        truth = read_truth(folder / "clips.csv", GROUPS)
        with np.load(folder / "vectors.npz") as held:
            clips = dict(zip(held["clips_ids"].tolist(), held["clips"].tolist(), strict=True))
        check(run(folder, GOLD, CLIP_SEARCH), truth, truth, search(clips, clips))


class TestWorkflowExample:
    """Two groups count, five clips are relevant, and the first result only looks like the query."""

    QUERY = "urban_cyclist_crossing_001"
    GOLD = f'{GOLD}select = ["object_type", "actor_behavior"]\nshow = ["{QUERY}"]\n'

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        rows = [f"{self.QUERY},bicyclist,crossing|entering ego path,going straight,urban|night\n"]
        rows += ["look_alike,motorcyclist,crossing|entering ego path,going straight,urban|night\n"]
        rows += [f"right_{number},bicyclist|bus,entering ego path|crossing,stopped,rural\n" for number in range(5)]
        (tmp_path / "clips.csv").write_text(HEADER + "".join(rows), encoding="utf-8")
        clips = {self.QUERY: [1.0, 0.0], "look_alike": at(0.99)}
        clips |= {f"right_{number}": at(0.9 - number / 10) for number in range(5)}
        write_vectors(tmp_path / "vectors.npz", clips=clips)
        return tmp_path

    def test_recall(self, folder: Path) -> None:
        report = run(folder, self.GOLD, CLIP_SEARCH)
        found = scores_of(report, self.QUERY)
        assert [f"{found[f'Recall@{k}']:.3f}" for k in CUTS] == ["0.000", "0.667", "0.800"]
        assert relevant_told(report)[self.QUERY] == 5

    def test_the_bias_toward_looks_is_told(self, folder: Path) -> None:
        """The wrong first result has all of the query's keywords in the groups that do not count."""
        golds = (f"{self.GOLD}sample = 1\nseed = {seed}\n" for seed in range(100))
        reports = (run(folder, gold, CLIP_SEARCH) for gold in golds)
        report = next(report for report in reports if self.QUERY in relevant_told(report))
        alike = report.sections_of(PartialMatches)["search"].to_json()["alike"]
        assert alike["groups"] == ["ego_behavior", "scene_type"]
        assert (alike["other_results"], alike["relevant_results"]) == (1.0, 0.0)
        assert alike["any_item"] == pytest.approx(1 / 6), "one of the six others has all three, five have none"


# --- the bundled sample -------------------------------------------------------------------------------------------

SAMPLE_GROUPS = {
    name: [f"pv_{name}"] for name in ("object_type", "actor_behavior", "spatial_relation", "ego_behavior", "scene_type")
}
SAMPLE_GOLD = 'path = "clips.csv"\ngroups = { ' + ", ".join(f'{name} = "pv_{name}"' for name in SAMPLE_GROUPS) + " }\n"

Space = dict[str, list[float]]


@pytest.fixture(scope="module")
def sample_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("driving") / "sample"
    copytree(str(files("rankjury.plan") / "samples" / "driving"), place)
    return place


@pytest.fixture(scope="module")
def sample_truth(sample_folder: Path) -> Truth:
    return read_truth(sample_folder / "clips.csv", SAMPLE_GROUPS)


@pytest.fixture(scope="module")
def spaces(sample_folder: Path) -> tuple[Space, Space]:
    with np.load(sample_folder / "vectors.npz") as held:
        clips, queries = (
            dict(zip(held[f"{name}_ids"].tolist(), held[name].astype(float).tolist(), strict=True))
            for name in ("clips", "queries")
        )
    return clips, queries


@pytest.fixture(scope="module")
def by_text(spaces: tuple[Space, Space]) -> dict[str, Results]:
    clips, queries = spaces
    return search(queries, clips)


@pytest.fixture(scope="module")
def by_clip(spaces: tuple[Space, Space]) -> dict[str, Results]:
    clips, _ = spaces
    return search(clips, clips)


@pytest.fixture(scope="module")
def given(sample_folder: Path, sample_truth: Truth) -> dict[str, set[Keyword]]:
    group_of = {name: group for has in sample_truth.values() for group, name in has}
    rows = map(json.loads, (sample_folder / "queries.jsonl").read_text("utf-8").splitlines())
    return {row["query_id"]: {(group_of[name], name) for name in row["keywords"]} for row in rows}


class TestSample:
    @pytest.mark.parametrize("match", ["all", "any", "at-least-2", "graded"])
    @pytest.mark.parametrize("select", [(), ("object_type", "actor_behavior")])
    def test_texts_with_given_keywords(
        self,
        sample_folder: Path,
        sample_truth: Truth,
        by_text: dict[str, Results],
        given: dict[str, set[Keyword]],
        match: str,
        select: tuple[str, ...],
    ) -> None:
        gold = f'{SAMPLE_GOLD}select = {json.dumps(select)}\nqueries = "queries.jsonl"\nkeywords = "given"\n'
        report = run(sample_folder, f'{gold}match = "{match}"\n', f"{TEXT_SEARCH}threshold = 0.15\n")
        asked = {query: within(keywords, select) for query, keywords in given.items()}
        assert sum(map(bool, asked.values())) == (58 if select else 77)
        check(report, asked, sample_truth, by_text, match, 0.15)

    @pytest.mark.parametrize("select", [(), ("object_type", "scene_type")])
    def test_texts_with_mapped_keywords(
        self, sample_folder: Path, sample_truth: Truth, by_text: dict[str, Results], select: tuple[str, ...]
    ) -> None:
        """What a text maps to is taken as it is told; all from there on is computed anew."""
        gold = f'{SAMPLE_GOLD}select = {json.dumps(select)}\nqueries = "queries.jsonl"\nkeywords = "mapped"\n'
        report = run(sample_folder, f'{gold}mapping.synonyms = "synonyms.toml"\n', f"{TEXT_SEARCH}threshold = 0.15\n")
        told = report.to_json()["keywords"]["mapping"]["queries"]
        asked = {
            query: {(one["group"], one["keyword"]) for one in extraction["mapped"]}
            for query, extraction in told.items()
        }
        assert asked["t01"] == within({("object_type", "bicyclist"), ("actor_behavior", "entering ego path")}, select)
        assert len(asked) == 80 and sum(map(bool, asked.values())) > 40
        check(report, asked, sample_truth, by_text, threshold=0.15)

    @pytest.mark.parametrize(
        ("select", "match"),
        [
            (("object_type", "actor_behavior"), "all"),
            (("scene_type",), "all"),
            ((), "all"),
            (("object_type", "actor_behavior", "ego_behavior"), "graded"),
            (("spatial_relation", "ego_behavior"), "any"),
            ((), "at-least-3"),
        ],
    )
    def test_clips(
        self, sample_folder: Path, sample_truth: Truth, by_clip: dict[str, Results], select: tuple[str, ...], match: str
    ) -> None:
        gold = f'{SAMPLE_GOLD}select = {json.dumps(select)}\nmatch = "{match}"\n'
        report = run(sample_folder, gold, CLIP_SEARCH)
        check(report, {clip: within(has, select) for clip, has in sample_truth.items()}, sample_truth, by_clip, match)

    def test_relevant_clips_of_the_examples(self, sample_folder: Path) -> None:
        """The sample holds the protocol's clips: five others like the one, eight like the other."""
        report = run(sample_folder, f'{SAMPLE_GOLD}select = ["object_type", "actor_behavior"]\n', CLIP_SEARCH)
        assert relevant_told(report)["urban_cyclist_crossing_001"] == 5
        select = '["object_type", "ego_behavior", "scene_type"]'
        report = run(sample_folder, f"{SAMPLE_GOLD}select = {select}\n", CLIP_SEARCH)
        assert relevant_told(report)["highway_merge_002"] == 8
