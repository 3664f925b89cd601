"""The driving protocol against an implementation that shares nothing with karat: csv, sets and loops.

The first part of the file is the protocol as it is printed: Algorithm 1 from line 15, Algorithm 2, and the formulas.
Three things it leaves open are read as its examples show them. The query's own clip takes no place among the K results
(the example's five similarities begin at 0.95). A result below the threshold is not shown, and K stays K. The
Precision@k within AP is that of k results shown, since a share of all that is relevant would make no average precision.
"""

import csv
import json
import math
import random
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from operator import mul
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

import karat
from karat.report import Report

CUTS = (1, 3, 5)
LABELS = [*(f"{name}@{k}" for name in ("Recall", "Precision", "NDCG") for k in CUTS), "MAP", "MAP@5"]
SHARED = Path(__file__).parents[2].parent / "shared/data/driving"
NOTHING = ("", "n/a", "nan", "null")

Keyword = tuple[str, str]
"""A group and a name."""
Truth = dict[str, set[Keyword]]
Results = list[tuple[str, float]]
"""Ids and similarities, best first."""
Figures = dict[str, float | None]

# --- the protocol, slowly -----------------------------------------------------------------------------------------


def read_truth(path: Path, groups: Mapping[str, Sequence[str]]) -> Truth:
    """GT = {(slice_id, keywords)}: a cell holds values split by |, a column of yes and no is a keyword by itself."""
    with path.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    truth: Truth = {row["clip"]: set() for row in rows}
    for group, columns in groups.items():
        for column in columns:
            cells = {row["clip"]: [part.strip() for part in row[column].split("|")] for row in rows}
            values = {part.lower() for parts in cells.values() for part in parts} - set(NOTHING)
            is_switch = values <= {"true", "false", "yes", "no"}
            for clip, parts in cells.items():
                for part in parts:
                    if is_switch and part.lower() in ("true", "yes"):
                        truth[clip].add((group, column))
                    if not is_switch and part.lower() not in NOTHING:
                        truth[clip].add((group, part))
    return truth


def within(keywords: Iterable[Keyword], select: Sequence[str]) -> set[Keyword]:
    """Those of the groups that the user selected."""
    return {keyword for keyword in keywords if not select or keyword[0] in select}


def grade(asked: set[Keyword], has: set[Keyword], match: str) -> float:
    if match == "all":
        return 1.0 if asked <= has else 0.0
    met = sum(1 for keyword in asked if keyword in has)
    if match == "graded":
        return met / len(asked)
    least = 1 if match == "any" else int(match.removeprefix("at-least-"))
    return 1.0 if met >= min(least, len(asked)) else 0.0


def grades_of(query: str, asked: set[Keyword], truth: Truth, match: str) -> dict[str, float]:
    return {clip: grade(asked, has, match) for clip, has in truth.items() if clip != query}


def dcg(grades: Sequence[float]) -> float:
    return sum(one / math.log2(i + 1) for i, one in enumerate(grades, start=1))


def figures(results: Results, grades: Mapping[str, float], threshold: float | None) -> Figures:
    """Of one query; None where a formula divides by nothing."""
    retrieved = [clip for clip, similarity in results if threshold is None or similarity >= threshold]
    relevant = {clip for clip, one in grades.items() if one == 1.0}
    found: Figures = {}
    for k in CUTS:
        true_positives = 0
        for i in range(min(k, len(retrieved))):
            if retrieved[i] in relevant:
                true_positives += 1
        found[f"Recall@{k}"] = true_positives / k
        found[f"Precision@{k}"] = true_positives / len(relevant) if relevant else None
        ideal = dcg(sorted(grades.values(), reverse=True)[:k])
        found[f"NDCG@{k}"] = dcg([grades.get(clip, 0.0) for clip in retrieved[:k]]) / ideal if ideal else None
    for label, depth in (("MAP", len(retrieved)), ("MAP@5", 5)):
        total, hits = 0.0, 0
        for i, clip in enumerate(retrieved[:depth], start=1):
            if clip in relevant:
                hits += 1
                total += hits / i
        found[label] = total / len(relevant) if relevant else None
    return found


def units(vectors: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    lengths = {name: math.sqrt(sum(map(mul, one, one))) for name, one in vectors.items()}
    return {name: [value / lengths[name] for value in one] for name, one in vectors.items()}


def search(queries: Mapping[str, Sequence[float]], clips: Mapping[str, Sequence[float]]) -> dict[str, Results]:
    """All clips by cosine, but for the query's own."""
    asked, corpus = units(queries), units(clips)
    found = {
        query: [(clip, sum(map(mul, vector, one))) for clip, one in corpus.items() if clip != query]
        for query, vector in asked.items()
    }
    return {query: sorted(pairs, key=lambda pair: (-pair[1], pair[0])) for query, pairs in found.items()}


# --- karat beside it ----------------------------------------------------------------------------------------------


def plan_text(gold: str, system: str, more: str = "") -> str:
    measures = json.dumps(LABELS)
    headline = json.dumps(LABELS[: len(CUTS)])
    head = f'measures = {measures}\nheadline = {headline}\nconventions.dialect = "alfa"\n'
    head += f"statistics.resamples = 100\n{more}"
    return f'{head}[systems.search]\n{system}\n[gold]\nkind = "keywords"\n{gold}\n'


def run(folder: Path, gold: str, system: str, more: str = "") -> Report:
    path = folder / "plan.toml"
    path.write_text(plan_text(gold, system, more), encoding="utf-8")
    return karat.run_plan(path, output=folder / "out").report


def scores_of(report: Report, query: str) -> dict[str, float]:
    scores = report.systems["search"]
    row = scores.queries.to_list().index(query)
    return dict(zip(scores.labels, scores.values[row].tolist(), strict=True))


def check(
    report: Report,
    asked: Mapping[str, set[Keyword]],
    truth: Truth,
    lists: Mapping[str, Results],
    match: str = "all",
    threshold: float | None = None,
) -> None:
    """Every query under every measure, the means, and what the first five results have and lack."""
    bare = {query for query, keywords in asked.items() if not keywords}
    scores = report.systems["search"]
    queries = [str(query) for query in scores.queries]
    assert sorted(queries) == sorted(set(asked) - bare) and len(queries) == len(set(queries))
    grades = {query: grades_of(query, asked[query], truth, match) for query in queries}
    expected = {query: figures(lists.get(query, []), grades[query], threshold) for query in queries}
    assert list(scores.labels) == LABELS
    for label in LABELS:
        found = [None if math.isnan(value) else value for value in scores[label].tolist()]
        wanted = [expected[query][label] for query in queries]
        assert [one is None for one in found] == [one is None for one in wanted], label
        assert [one or 0.0 for one in found] == pytest.approx([one or 0.0 for one in wanted], abs=1e-12), label
        known = [one for one in wanted if one is not None]
        if known:
            mean = report.estimates["search"][label].mean
            assert mean == pytest.approx(math.fsum(known) / len(known), abs=1e-12), label
    check_partial(report, asked, truth, lists, grades, threshold)


def check_partial(
    report: Report,
    asked: Mapping[str, set[Keyword]],
    truth: Truth,
    lists: Mapping[str, Results],
    grades: Mapping[str, Mapping[str, float]],
    threshold: float | None,
) -> None:
    told = {one["query"]: one for one in report.partials["search"].as_json()["queries"]}
    assert set(told) == set(grades)
    counted = {"whole": 0, "some": 0, "none": 0}
    for query, looked in told.items():
        assert set(looked["keywords"]) == spelled(asked[query])
        results = lists.get(query, [])[:5]
        assert [one["item"] for one in looked["results"]] == [clip for clip, _ in results]
        for rank, (one, (clip, similarity)) in enumerate(zip(looked["results"], results, strict=True), start=1):
            has = asked[query] & truth.get(clip, set())
            assert (set(one["has"]), set(one["lacks"])) == (spelled(has), spelled(asked[query] - has))
            shown = threshold is None or similarity >= threshold
            assert (one["rank"], one["shown"], one["annotated"]) == (rank, shown, clip in truth)
            assert one["relevant"] == (grades[query].get(clip, 0.0) == 1.0)
            assert one["score"] == pytest.approx(similarity, abs=1e-6)
            if shown:
                counted["whole" if has == asked[query] else "some" if has else "none"] += 1
    assert report.partials["search"].as_json()["results"] == counted


def spelled(keywords: Iterable[Keyword]) -> set[str]:
    return {f"{group}={name}" for group, name in keywords}


def relevant_told(report: Report) -> dict[str, int]:
    return {one["query"]: one["relevant"] for one in report.partials["search"].as_json()["queries"]}


def write_vectors(path: Path, **spaces: Mapping[str, Sequence[float]]) -> None:
    arrays: dict[str, Any] = {}
    for name, vectors in spaces.items():
        arrays[name] = np.array(list(vectors.values()))
        arrays[f"{name}_ids"] = np.array(list(vectors))
    np.savez(path, **arrays)


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


# --- the protocol's own examples ----------------------------------------------------------------------------------

HEADER = "clip,pv_object_type,pv_actor_behavior,pv_ego_behavior,pv_scene_type\n"
NAMES = ("object_type", "actor_behavior", "ego_behavior", "scene_type")
GROUPS = {name: [f"pv_{name}"] for name in NAMES}
GOLD = 'path = "clips.csv"\ngroups = { ' + ", ".join(f'{name} = "pv_{name}"' for name in NAMES) + " }\n"
CLIP_SEARCH = 'kind = "vectors"\npath = "vectors.npz:clips"\n'
TEXT_SEARCH = f'{CLIP_SEARCH}queries = "vectors.npz:queries"\n'


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
        assert report.usual_names["Recall@5"] == "precision@5"

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
            [sys.executable, "-m", "karat", "run", "plan.toml", "-o", "there"],
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
        (looked,) = [one for one in report.partials["search"].queries if one.query == self.QUERY]
        assert {keyword.name for keyword in looked.keywords} == {"highway", "lane change", "small vehicle"}
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
        alike = report.partials["search"].as_json()["alike"]
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
    copytree(str(files("karat") / "samples" / "driving"), place)
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
        told = report.as_json()["keywords"]["mapping"]["queries"]
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


# --- random tables ------------------------------------------------------------------------------------------------

MATCHES = ("all", "any", "at-least-2", "graded")
COLUMNS = {"thing": ["thing_a", "thing_b"], "act": ["act"], "place": ["place", "is_wet"], "light": ["light"]}


class RandomCase:
    """Annotations, queries and a run with gaps: clips without a keyword, results that are no clip, queries that found
    nothing, and clips that find themselves.
    """

    def __init__(self, seed: int, *, texts: bool) -> None:
        self.random = random.Random(seed)
        self.texts = texts
        self.clips = [f"clip{number:03}" for number in range(self.random.randint(6, 60))]
        self.select = self.random.choice([(), ("thing",), ("act", "place"), ("place", "light", "thing")])
        self.threshold = self.random.choice([None, 0.2, 0.5, 0.8])
        self.most = self.random.choice([2, 4, 12, 100])
        """How many results a query has."""
        rows = [self._row(clip, full=place == 0) for place, clip in enumerate(self.clips)]
        self.table = [["clip", *(name for names in COLUMNS.values() for name in names)], *rows]

    def _row(self, clip: str, *, full: bool) -> list[str]:
        cells = []
        for column in (name for names in COLUMNS.values() for name in names):
            if column == "is_wet":
                cells.append("true" if full else self.random.choice(["true", "false", "", "N/A"]))
                continue
            values = [f"{column[:5]} {letter}" for letter in "abcd"]
            chosen = self.random.sample(values, self.random.randint(1 if full else 0, 3))
            cells.append(self.random.choice(["|", " | "]).join(chosen) or self.random.choice(["", "n/a"]))
        return [clip, *cells]

    def write(self, folder: Path) -> tuple[Truth, dict[str, set[Keyword]], dict[str, Results]]:
        with (folder / "clips.csv").open("w", encoding="utf-8", newline="") as opened:
            csv.writer(opened).writerows(self.table)
        truth = read_truth(folder / "clips.csv", COLUMNS)
        asked = truth
        if self.texts:
            known = sorted({keyword for has in truth.values() for keyword in has})
            lists = {f"q{number}": self.random.sample(known, self.random.randint(0, 4)) for number in range(12)}
            lists["sure"] = [next(one for one in known if not self.select or one[0] in self.select)]
            write_lines(
                folder / "queries.jsonl",
                [
                    {"query_id": query, "text": f"text {query}", "keywords": [f"{a}={b}" for a, b in keywords]}
                    for query, keywords in lists.items()
                ],
            )
            asked = {query: set(keywords) for query, keywords in lists.items()}
        found = {query: self._results(query) for query in asked if query in ("sure", self.clips[0]) or self._likely()}
        rows = [(query, clip, similarity) for query, results in found.items() for clip, similarity in results]
        self.random.shuffle(rows)
        if not self.texts:  # a search that brings back what it was asked with
            rows += [(query, query, 1.0) for query in found]
        lines = (f"{query} Q0 {clip} 1 {similarity!r} run\n" for query, clip, similarity in rows)
        (folder / "run.trec").write_text("".join(lines), encoding="utf-8")
        return truth, {query: within(keywords, self.select) for query, keywords in asked.items()}, found

    def _likely(self) -> bool:
        return self.random.random() < 0.9

    def _results(self, query: str) -> Results:
        pool = [clip for clip in [*self.clips, "stranger1", "stranger2"] if clip != query]
        chosen = self.random.sample(pool, min(len(pool), self.random.randint(1, self.most)))
        scores = self.random.sample(range(1000), len(chosen))
        return sorted(((clip, one / 1000) for clip, one in zip(chosen, scores, strict=True)), key=lambda one: -one[1])

    def gold(self, match: str) -> str:
        groups = ", ".join(f"{group} = {json.dumps(names)}" for group, names in COLUMNS.items())
        queries = 'queries = "queries.jsonl"\n' if self.texts else ""
        select = f'select = {json.dumps(self.select)}\nmatch = "{match}"\n'
        return f'path = "clips.csv"\ngroups = {{ {groups} }}\n{select}{queries}'

    @property
    def system(self) -> str:
        return 'path = "run.trec"\n' + ("" if self.threshold is None else f"threshold = {self.threshold}\n")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("match", MATCHES)
@pytest.mark.parametrize("texts", [True, False], ids=["texts", "clips"])
def test_random_tables(tmp_path: Path, seed: int, match: str, texts: bool) -> None:
    case = RandomCase(seed, texts=texts)
    truth, asked, lists = case.write(tmp_path)
    report = run(tmp_path, case.gold(match), case.system)
    check(report, asked, truth, lists, match, case.threshold)
    if match != "graded":
        queries = [query for query, keywords in asked.items() if keywords]
        wanted = {query: sum(grades_of(query, asked[query], truth, match).values()) for query in queries}
        assert relevant_told(report) == wanted


def test_random_tables_are_not_trivial(tmp_path: Path) -> None:
    """Among them are queries with less than K results and none, with nothing relevant, and left out; and both signs."""
    seen = dict.fromkeys(("fewer than five", "nothing found", "nothing relevant", "left out", "a stranger"), 0)
    for seed in range(8):
        for texts in (True, False):
            case = RandomCase(seed, texts=texts)
            truth, asked, lists = case.write(tmp_path)
            for query, keywords in asked.items():
                results = lists.get(query, [])
                shown = [clip for clip, one in results if case.threshold is None or one >= case.threshold]
                seen["fewer than five"] += 0 < len(shown) < 5
                seen["nothing found"] += not shown
                seen["nothing relevant"] += bool(keywords) and not any(
                    grades_of(query, keywords, truth, "all").values()
                )
                seen["left out"] += not keywords
                seen["a stranger"] += any(clip not in truth for clip in shown)
    assert min(seen.values()) > 10, seen


def test_fewer_than_k_results_are_divided_by_k(tmp_path: Path) -> None:
    """Two results above the threshold, both relevant: 1/1, 2/3, 2/5; nDCG is held against the ideal of all three."""
    (tmp_path / "clips.csv").write_text("clip,thing\na,car\nb,car\nc,car\nd,bus\n", encoding="utf-8")
    write_lines(tmp_path / "queries.jsonl", [{"query_id": "q", "text": "a car", "keywords": ["car"]}])
    (tmp_path / "run.trec").write_text("q Q0 a 1 0.9 r\nq Q0 b 2 0.15 r\nq Q0 c 3 0.1499 r\n", encoding="utf-8")
    gold = 'path = "clips.csv"\nqueries = "queries.jsonl"\n'
    found = scores_of(run(tmp_path, gold, 'path = "run.trec"\nthreshold = 0.15\n'), "q")
    assert [found[f"Recall@{k}"] for k in CUTS] == [1.0, 2 / 3, 2 / 5]
    assert [found[f"Precision@{k}"] for k in CUTS] == [1 / 3, 2 / 3, 2 / 3]
    assert found["MAP"] == 2 / 3
    assert found["NDCG@5"] == pytest.approx((1 + 1 / math.log2(3)) / (1 + 1 / math.log2(3) + 1 / 2), abs=1e-15)


def test_relevant_items_of_a_graded_query_are_those_that_measures_count(tmp_path: Path) -> None:
    """“relevant: 3 items” stands above results of which only full matches are marked, and a Precision over these."""
    case = RandomCase(1, texts=True)
    truth, asked, _ = case.write(tmp_path)
    report = run(tmp_path, case.gold("graded"), case.system)
    queries = [query for query, keywords in asked.items() if keywords]
    assert relevant_told(report) == {
        query: sum(grades_of(query, asked[query], truth, "all").values()) for query in queries
    }


# --- real annotations ---------------------------------------------------------------------------------------------

JAAD_GROUPS = {
    "person": ["objects", "ped_age"],
    "act": ["ped_action", "ped_cross", "ped_look", "motion_direction"],
    "ego": ["ego_behaviour"],
    "scene": ["time_of_day", "weather", "location", "road_type"],
    "road": ["ped_crossing", "stop_sign", "intersection", "signalized"],
}


@pytest.mark.skipif(not (SHARED / "jaad_clips.csv").is_file(), reason="the annotations of JAAD are not here")
class TestJaad:
    @pytest.fixture
    def truth(self) -> Truth:
        return read_truth(SHARED / "jaad_clips.csv", JAAD_GROUPS)

    @pytest.fixture
    def folder(self, tmp_path: Path, truth: Truth) -> Path:
        """With random vectors: nobody has embedded the videos, and nothing here hangs on what they show."""
        chance = random.Random(7)
        clips = {clip: [chance.gauss(0, 1) for _ in range(12)] for clip in truth}
        queries = {f"t{number}": [chance.gauss(0, 1) for _ in range(12)] for number in range(60)}
        write_vectors(tmp_path / "vectors.npz", clips=clips, queries=queries)
        return tmp_path

    def gold(self, select: Sequence[str]) -> str:
        groups = ", ".join(f"{group} = {json.dumps(names)}" for group, names in JAAD_GROUPS.items())
        path = json.dumps(str(SHARED / "jaad_clips.csv"))
        return f"path = {path}\ngroups = {{ {groups} }}\nselect = {json.dumps(select)}\n"

    def lists(self, folder: Path, *, texts: bool) -> dict[str, Results]:
        with np.load(folder / "vectors.npz") as held:
            clips, queries = (
                dict(zip(held[f"{name}_ids"].tolist(), held[name].tolist(), strict=True))
                for name in ("clips", "queries")
            )
        return search(queries if texts else clips, clips)

    def test_it_is_what_it_was(self, truth: Truth) -> None:
        assert len(truth) == 346
        assert {group for has in truth.values() for group, _ in has} == set(JAAD_GROUPS)
        assert ("road", "stop_sign") in truth["video_0003"] and ("road", "stop_sign") not in truth["video_0001"]

    @pytest.mark.parametrize(
        ("select", "match"),
        [(["person", "act"], "all"), (["ego"], "all"), (["scene", "road"], "all"), ([], "graded"), ([], "at-least-2")],
    )
    def test_clips(self, folder: Path, truth: Truth, select: list[str], match: str) -> None:
        report = run(folder, f'{self.gold(select)}match = "{match}"\n', CLIP_SEARCH)
        asked = {clip: within(has, select) for clip, has in truth.items()}
        check(report, asked, truth, self.lists(folder, texts=False), match)
        if match == "all":
            told = relevant_told(report)
            assert told == {
                clip: sum(keywords <= has for other, has in truth.items() if other != clip)
                for clip, keywords in asked.items()
                if keywords
            }
            assert max(told.values()) > 5

    @pytest.mark.parametrize("match", MATCHES)
    def test_texts(self, folder: Path, truth: Truth, match: str) -> None:
        chance = random.Random(3)
        asked = {f"t{n}": set(chance.sample(sorted(truth[chance.choice(sorted(truth))]), 3)) for n in range(60)}
        write_lines(
            folder / "queries.jsonl",
            [
                {"query_id": query, "text": query, "keywords": [f"{group}={name}" for group, name in sorted(keywords)]}
                for query, keywords in asked.items()
            ],
        )
        gold = f'{self.gold([])}queries = "queries.jsonl"\nmatch = "{match}"\n'
        report = run(folder, gold, f"{TEXT_SEARCH}threshold = 0.3\n")
        check(report, asked, truth, self.lists(folder, texts=True), match, 0.3)
