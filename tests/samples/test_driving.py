"""The bundled driving sample is what its README says: made by the script, with the protocol's examples in it."""

import csv
import importlib.util
import json
import random
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from rankjury.io.vectors import read_vectors
from rankjury.labeling.keywords.annotations import Vocabulary
from tests import paths

FOLDER = paths.SAMPLES / "driving"
SCRIPTS = Path(__file__).parents[2] / "scripts"
OBJECT, ACTOR, RELATION, EGO, SCENE = GROUPS = [
    *("pv_object_type", "pv_actor_behavior", "pv_spatial_relation", "pv_ego_behavior", "pv_scene_type")
]


def read_rows() -> list[dict[str, str]]:
    with (FOLDER / "clips.csv").open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


ROWS = read_rows()
CLIPS = [row["clip"] for row in ROWS]
QUERIES: list[dict[str, Any]] = [
    json.loads(line) for line in (FOLDER / "queries.jsonl").read_text("utf-8").splitlines()
]
LABELLED = [number for number, query in enumerate(QUERIES) if query["keywords"]]
SYNONYMS: dict[str, Any] = tomllib.loads((FOLDER / "synonyms.toml").read_text("utf-8"))
README = (FOLDER / "README.md").read_text("utf-8")
IDS = {"clips": CLIPS, "queries": [query["query_id"] for query in QUERIES]}
VOCABULARY = Vocabulary.of({group: [one for row in ROWS for one in row[group].split("|")] for group in GROUPS})


def keywords(row: dict[str, str], *groups: str) -> set[str]:
    return {keyword for group in groups or GROUPS for keyword in row[group].split("|")}


def with_all(wanted: set[str]) -> list[str]:
    return [row["clip"] for row in ROWS if wanted <= keywords(row)]


def others_like(clip: str, *groups: str) -> list[str]:
    wanted = keywords(ROWS[CLIPS.index(clip)], *groups)
    return [row["clip"] for row in ROWS if row["clip"] != clip and wanted <= keywords(row, *groups)]


def load(name: str) -> np.ndarray:
    """The vectors, widened to float64."""
    with np.load(FOLDER / "vectors.npz", allow_pickle=False) as held:
        return np.asarray(held[name], dtype=np.float64)


def firsts(scores: np.ndarray, k: int = 5) -> np.ndarray:
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def nearest_clips() -> np.ndarray:
    """The five nearest of each clip, never the clip itself."""
    scores = load("clips") @ load("clips").T
    np.fill_diagonal(scores, -np.inf)
    return firsts(scores)


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    """The generator, imported by its path; its tables lie beside it."""
    before = set(sys.modules)
    sys.path.insert(0, str(SCRIPTS))
    try:
        spec = importlib.util.spec_from_file_location("make_driving", SCRIPTS / "make_driving.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(SCRIPTS))
        for name in set(sys.modules) - before:
            if name.startswith("driving_"):
                del sys.modules[name]


class TestClips:
    def test_the_script_makes_them(self, script: ModuleType) -> None:
        assert script.to_csv(script.compose()).encode() == (FOLDER / "clips.csv").read_bytes()

    def test_another_seed_makes_others(self, script: ModuleType) -> None:
        assert script.compose(script.SEED + 1) != script.compose()

    def test_four_hundred_numbered_within_their_scenario(self) -> None:
        assert list(ROWS[0]) == ["clip", *GROUPS]
        assert len(set(CLIPS)) == 400
        assert all(re.fullmatch(r"[a-z0-9_]+_\d{3}", clip) for clip in CLIPS)
        sizes = Counter(clip[:-4] for clip in CLIPS)
        assert sorted(CLIPS) == sorted(f"{name}_{one:03}" for name, size in sizes.items() for one in range(1, size + 1))

    def test_every_group_of_every_clip_is_filled_without_repetition(self) -> None:
        for row in ROWS:
            for group in GROUPS:
                cell = row[group].split("|")
                assert all(cell) and len(set(cell)) == len(cell), (row["clip"], group)

    def test_the_vocabulary_is_that_of_the_script(self, script: ModuleType) -> None:
        tables = sys.modules["driving_vocabulary"]
        assert Vocabulary.of(tables.VOCABULARY) == VOCABULARY
        alike = {one for keyword, others in tables.LOOK_ALIKES.items() for one in (keyword, *others)}
        assert alike <= {one.name for one in VOCABULARY.keywords}

    def test_no_keyword_is_rare_or_stands_in_two_groups(self) -> None:
        assert len(VOCABULARY) == 57 and len({one.name for one in VOCABULARY.keywords}) == 57
        assert min(Counter(one for row in ROWS for one in keywords(row)).values()) >= 10

    def test_what_does_not_go_together_is_rare(self) -> None:
        for apart in (
            "highway crosswalk",
            "highway intersection",
            "tunnel rain",
            "tunnel snow",
            "rain snow",
            "night dusk",
        ):
            assert with_all(set(apart.split())) == []
        assert len(with_all({"highway", "pedestrian", "crossing"})) == 1
        assert len(with_all({"merging"})) - len(with_all({"merging", "highway"})) <= 2


class TestExamples:
    """Of the protocol."""

    def test_text_to_clip(self) -> None:
        assert (QUERIES[0]["query_id"], QUERIES[0]["text"]) == ("t01", "cyclist entering ego lane")
        assert QUERIES[0]["keywords"] == ["bicyclist", "entering ego path"]
        assert len(with_all(set(QUERIES[0]["keywords"]))) == 25

    def test_its_five_nearest_hold_a_partial_match(self) -> None:
        wanted = set(QUERIES[0]["keywords"])
        matched = [len(wanted & keywords(ROWS[row])) for row in firsts(load("queries")[:1] @ load("clips").T)[0]]
        assert matched == [2, 2, 2, 1, 2]

    def test_a_merge_has_eight_others(self) -> None:
        selected = (OBJECT, EGO, SCENE)
        wanted = keywords(ROWS[CLIPS.index("highway_merge_002")], *selected)
        assert wanted == {"highway", "lane change", "small vehicle"}
        assert len(others_like("highway_merge_002", *selected)) == 8

    def test_a_crossing_cyclist_has_five_others(self) -> None:
        assert len(others_like("urban_cyclist_crossing_001", OBJECT, ACTOR)) == 5

    def test_a_pedestrian_enters_the_path(self) -> None:
        assert {"pedestrian", "entering ego path"} <= keywords(ROWS[CLIPS.index("car2pedestrian_001")])


class TestQueries:
    def test_eighty_in_one_form(self) -> None:
        assert [f"t{number:02}" for number in range(1, 81)] == IDS["queries"]
        assert len({query["text"].lower() for query in QUERIES}) == 80
        assert all(list(query) == ["query_id", "text", "keywords", "type"] for query in QUERIES)
        lines = "".join(json.dumps(query, ensure_ascii=False) + "\n" for query in QUERIES)
        assert lines.encode() == (FOLDER / "queries.jsonl").read_bytes()

    def test_of_all_types_and_lengths(self) -> None:
        types = Counter(query["type"] for query in QUERIES)
        assert set(types) == {"short", "sentence", "question", "colloquial", "none"} and types["none"] == 3
        assert {len(query["keywords"]) for query in QUERIES} == set(range(6))
        assert all((query["type"] == "none") == (not query["keywords"]) for query in QUERIES)

    def test_labels_are_keywords_and_all_keywords_are_asked_for(self) -> None:
        for query in QUERIES:
            for keyword in query["keywords"]:
                VOCABULARY.find(keyword, query["query_id"])
            assert len(set(query["keywords"])) == len(query["keywords"])
        assert {one for query in QUERIES for one in query["keywords"]} == {one.name for one in VOCABULARY.keywords}

    def test_nearly_all_have_a_clip(self) -> None:
        sizes = {QUERIES[one]["query_id"]: len(with_all(set(QUERIES[one]["keywords"]))) for one in LABELLED}
        assert [query for query, size in sizes.items() if size == 0] == ["t56", "t73"]
        assert sum(0 < size < 5 for size in sizes.values()) == 24

    def test_most_are_not_in_the_words_of_the_vocabulary(self) -> None:
        spoken = [all(one in QUERIES[row]["text"].lower() for one in QUERIES[row]["keywords"]) for row in LABELLED]
        assert sum(spoken) < len(spoken) / 10


class TestSynonyms:
    def test_every_keyword_has_some(self) -> None:
        assert set(SYNONYMS) == {"ignored", "synonyms"}
        assert set(SYNONYMS["synonyms"]) == {one.name for one in VOCABULARY.keywords}
        assert all(len(phrases) >= 3 for phrases in SYNONYMS["synonyms"].values())

    def test_no_phrase_means_two_keywords_or_nothing(self) -> None:
        phrases = Counter(one for listed in SYNONYMS["synonyms"].values() for one in listed)
        phrases.update({one.name for one in VOCABULARY.keywords} | set(SYNONYMS["ignored"]))
        assert [phrase for phrase, times in phrases.items() if times > 1] == []


class TestVectors:
    @pytest.mark.parametrize("name", IDS)
    def test_arrays(self, name: str) -> None:
        with np.load(FOLDER / "vectors.npz", allow_pickle=False) as held:
            assert held[name].dtype == np.float16 and held[name].shape == (len(IDS[name]), 256)
            assert len(np.unique(held[name], axis=0)) == len(IDS[name])
        np.testing.assert_allclose(np.linalg.norm(load(name), axis=1), 1.0, atol=1e-3)

    @pytest.mark.parametrize("name", IDS)
    def test_they_are_read_with_their_own_ids(self, name: str) -> None:
        assert read_vectors(f"{FOLDER / 'vectors.npz'}:{name}").ids.to_list() == IDS[name]

    def test_the_script_makes_them(self, script: ModuleType) -> None:
        pytest.importorskip("wordllama", reason="wordllama is not installed")
        made = script.vectors_of(FOLDER)
        assert set(made) == {"clips", "queries", "clips_ids", "queries_ids"}
        for name, ids in IDS.items():
            assert made[f"{name}_ids"].tolist() == ids
            np.testing.assert_allclose(made[name].astype(np.float64), load(name), atol=1e-3)

    def test_texts_find_clips_in_part(self) -> None:
        rows = firsts(load("queries") @ load("clips").T)
        found = [[set(QUERIES[one]["keywords"]) <= keywords(ROWS[row]) for row in rows[one]] for one in LABELLED]
        assert f"is {np.mean(found):.2f} over the 77" in README and 0.38 < np.mean(found) < 0.7

    def test_clips_find_clips_in_part(self) -> None:
        held = [keywords(row, OBJECT, ACTOR) for row in ROWS]
        found = [[held[one] <= held[row] for row in rows] for one, rows in enumerate(nearest_clips())]
        assert f"{np.mean(found):.2f} from clip to clip" in README and 0.4 < np.mean(found) < 0.8
        alone = sum(not others_like(clip, OBJECT, ACTOR) for clip in CLIPS)
        assert f"{alone} have no relevant clip" in README

    def test_some_keywords_are_mistaken_for_others_of_their_group(self, script: ModuleType) -> None:
        slips = random.Random(script.SEED)
        pairs = [(clip, script.mistake(clip, slips)) for clip in script.compose().values()]
        assert f"{sum(clip != seen for clip, seen in pairs)} clips seem something else" in " ".join(README.split())
        seen_in_all = {group: [one for _, seen in pairs for one in seen[group]] for group in GROUPS}
        assert Vocabulary.of(seen_in_all) == VOCABULARY

    def test_look_alikes_are_near(self, script: ModuleType) -> None:
        looks = [script.look_of(clip) for clip in script.compose().values()]
        alike = np.mean([[looks[one] == looks[row] for row in rows] for one, rows in enumerate(nearest_clips())])
        assert f"nearest clips {alike:.0%}".replace("%", " %") in " ".join(README.split())


def test_it_is_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < 500_000
