"""The driving protocol on random tables and on real annotations, against the slow implementation."""

import csv
import json
import math
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

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
from tests.specs.slow_driving import CUTS, SHARED, Keyword, Results, Truth, grades_of, read_truth, search, within

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
