"""Plans carried out: paths, kinds of systems, aspects, slices, targets, and digits that hang on nothing else."""

import json
import math
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import rankjury
from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError
from rankjury.evaluation.scores import RecordedValue
from rankjury.evaluation.sections import FusionFacts
from rankjury.plan.parse import read_plan
from rankjury.plan.run import execute_plan, load_rankings
from rankjury.tracking.archive.archive import Archive
from tests import paths
from tests.plan import OTHER, QUICK, RUN, SHORT, carried_out, checked, means, plan_in, put, with_runs
from tests.specs import slow_movies as slow

Vector = tuple[float, ...]
CHANCE = random.Random(7)
ITEMS: dict[str, Vector] = {f"d{n}": tuple(CHANCE.gauss(0, 1) for _ in range(5)) for n in range(12)}
QUERIES: dict[str, Vector] = {f"q{n}": tuple(CHANCE.gauss(0, 1) for _ in range(5)) for n in range(4)}
LABELS = "query_id,item_id,grade\n" + "".join(f"{query},d{n},1\n" for n, query in enumerate(QUERIES))
SCORES: dict[str, Callable[[Sequence[float], Sequence[float]], float]] = {
    "cosine": slow.cosine,
    "ip": slow.dot,
    "l2": lambda u, v: -math.dist(u, v),
}


def arrays(vectors: dict[str, Vector], *, shuffled: int | None = None) -> dict[str, Any]:
    names = list(vectors) if shuffled is None else random.Random(shuffled).sample(list(vectors), len(vectors))
    return {"ids": np.array(names), "vectors": np.array([vectors[name] for name in names])}


def nearest(query: Vector, names: Sequence[str], metric: str = "cosine") -> tuple[str, ...]:
    return tuple(sorted(names, key=lambda name: -SCORES[metric](query, ITEMS[name])))


def searched(folder: Path, more: str) -> dict[str, tuple[str, ...]]:
    """The first items of each query of a system with vectors and queries of their own."""
    put(folder, labels__csv=LABELS, items__npz=arrays(ITEMS), queries__npz=arrays(QUERIES))
    text = f"gold = 'labels.csv'\nmeasures = ['rr@12']\n[systems.v]\nkind = 'vectors'\n{more}"
    report = carried_out(folder, text).report
    return dict(zip(report.scores["v"].queries, report.top_items["v"], strict=True))


ORDERED = [
    {"movie_id": f"m{n}", "2_most_similar_all_ordered": [f"m{(n + 1) % 6}", f"m{(n + 2) % 6}"],
     "2_most_similar_mood_ordered": [f"m{(n + 3) % 6}", f"m{(n + 1) % 6}"]} for n in range(6)
]  # fmt: skip
MOVIES: dict[str, Vector] = {f"m{n}": (math.cos(n), math.sin(n), n / 7) for n in range(6)}
SPACES = "gold = { kind = 'ordered', path = 'gold.json' }\nmeasures = ['hits@2', 'rr@2']\n"


def with_spaces(folder: Path, extra: dict[str, Vector] | None = None, shuffled: int | None = None) -> Path:
    put(folder, gold__json=json.dumps(ORDERED), v__npz=arrays(MOVIES | (extra or {}), shuffled=shuffled))
    put(folder, w__npz=arrays({name: (1.0, number**2, 3.0) for number, name in enumerate(MOVIES)}, shuffled=shuffled))
    return folder


def test_paths_are_relative_to_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written into ``below``, read from beside it, with an absolute path in it and one that leads up."""
    put(tmp_path, q__csv="query_id,type\nq1,a\nq2,b\nq3,a\n", y__trec=OTHER)
    text = QUICK + SHORT + f"systems.y = '{tmp_path / 'y.trec'}'\nslices = '../q.csv:type'\nmeasures = ['rr']\n"
    plan_in(with_runs(tmp_path / "below"), text)
    monkeypatch.chdir(tmp_path)
    found = execute_plan(read_plan("below/plan.toml"))
    assert {part.name for part in found.report.slices} == {"type=a", "type=b"}
    monkeypatch.chdir("/")
    assert means(execute_plan(read_plan(tmp_path / "below" / "plan.toml")), "y") == means(found, "y")


class TestRuns:
    def test_by_hand(self, tmp_path: Path) -> None:
        """x finds something first for q1 and q3 and second for q2; y second for q1, and d before a for q3."""
        found = carried_out(with_runs(tmp_path), SHORT + "systems.y = 'y.trec'\nmeasures = ['rr', 'recall@1']\n")
        assert means(found, "x") == pytest.approx({"rr": (1 + 1 / 2 + 1) / 3, "recall@1": (1 + 0 + 1 / 2) / 3})
        assert means(found, "y") == pytest.approx({"rr": (1 / 2 + 1 + 1) / 3, "recall@1": (0 + 1 + 1 / 2) / 3})
        assert found.gate is None and found.report.comparisons == ()

    def test_conventions(self, tmp_path: Path) -> None:
        text = SHORT + "measures = ['rr']\n"
        put(with_runs(tmp_path), x__trec=RUN.replace("q3 Q0 d", "q4 Q0 d") + "q1 Q0 a 3 1 t\n")
        with pytest.raises(DataError, match="duplicate item"):
            carried_out(tmp_path, text)
        first = text + "[conventions]\nduplicates = 'first'\n"
        assert means(carried_out(tmp_path, first), "x") == {"rr": pytest.approx((1 + 1 / 2 + 0) / 3)}
        assert means(carried_out(tmp_path, first + "missing = 'skip'\n"), "x") == {"rr": (1 + 1 / 2) / 2}
        assert means(carried_out(tmp_path, first + "missing = 'skip'\nrel = 2\n"), "x") == {"rr": 0.5}
        both = "missing = 'skip'\nempty = 'skip'\nrel = 2\n"
        assert means(carried_out(tmp_path, first + both), "x") == {"rr": 1.0}
        with pytest.raises(DataError, match="q3' is missing from the ranking"):
            carried_out(tmp_path, first + "missing = 'error'\n")

    def test_dialect(self, tmp_path: Path) -> None:
        """b before a among equal scores, and the run's queries only, as trec_eval has it."""
        put(tmp_path, qrels__txt="q1 0 a 1\nq2 0 a 1\n", x__trec="q1 Q0 a 1 1 t\nq1 Q0 b 2 1 t\n")
        text, own = SHORT + "measures = ['rr', 'recip_rank']\n", "conventions.dialect = 'trec_eval'\n"
        assert means(carried_out(tmp_path, text), "x") == {"rr": (1 + 0) / 2, "recip_rank": 1 / 2}
        assert means(carried_out(tmp_path, text + own), "x") == {"rr": 1 / 2, "recip_rank": 1 / 2}
        found = carried_out(tmp_path, text + own + "conventions.ties = 'id'\n")
        assert means(found, "x") == {"rr": 1.0, "recip_rank": 1.0}
        assert found.report.provenance["dialect"] == "trec_eval"


class TestVectors:
    @pytest.mark.parametrize("metric", list(SCORES))
    def test_queries_of_their_own(self, tmp_path: Path, metric: str) -> None:
        found = searched(tmp_path, f"path = 'items.npz'\nqueries = 'queries.npz'\nmetric = '{metric}'\n")
        assert found == {name: nearest(query, list(ITEMS), metric) for name, query in QUERIES.items()}

    def test_ids_in_files(self, tmp_path: Path) -> None:
        put(tmp_path, a__npy=np.array(list(ITEMS.values())), b__npy=np.array(list(QUERIES.values())))
        put(
            tmp_path,
            names__txt="\n".join(ITEMS),
            q__csv="n,id\n" + "".join(f"{n},{q}\n" for n, q in enumerate(QUERIES)),
        )
        more = "path = 'a.npy'\nids = 'names.txt'\nqueries = 'b.npy'\nqueries_ids = 'q.csv:id'\n"
        assert searched(tmp_path, more) == {name: nearest(query, list(ITEMS)) for name, query in QUERIES.items()}

    TABLE = {"q0": ["d0", "d5", "d6"], "q1": ["d1"], "q2": ["d11", "d2", "d3"], "q3": ["d9", "d3"]}

    @pytest.mark.parametrize(
        ("more", "pools", "depth"),
        [
            ("depth = 3", {query: list(ITEMS) for query in QUERIES}, 3),
            ("candidates = 'some.txt'", {query: ["d0", "d3", "d7"] for query in QUERIES}, 12),
            ("candidates = 'own.csv'", TABLE, 12),
            pytest.param(
                *("candidates = 'own.csv'\ndepth = 2", TABLE, 2),
            ),
        ],
    )
    def test_candidates_and_depth(self, tmp_path: Path, more: str, pools: dict[str, list[str]], depth: int) -> None:
        rows = "".join(f"{query},{item}\n" for query, items in self.TABLE.items() for item in items)
        put(tmp_path, some__txt="d3\nd0\nd7\n", own__csv="query_id,item_id\n" + rows)
        found = searched(tmp_path, f"path = 'items.npz'\nqueries = 'queries.npz'\n{more}\n")
        assert found == {name: nearest(QUERIES[name], items)[:depth] for name, items in pools.items()}

    @pytest.mark.parametrize("candidates", ["", "candidates = 'gold'\n", "candidates = 'all'\n"])
    def test_extra_vectors(self, tmp_path: Path, candidates: str) -> None:
        """Of a closed gold only the queries are candidates, unless the plan says otherwise; others are warned of."""
        extra: dict[str, Vector] = {"z8": (0.1, 0.2, 0.3), "z9": (1.0, 0.0, 0.0)}
        text = SPACES + f"[systems.v]\nkind = 'vectors'\npath = 'v.npz'\ngold = 'all'\n{candidates}"
        report = carried_out(with_spaces(tmp_path, extra), text).report
        pool = MOVIES | extra if "all" in candidates else MOVIES
        assert report.top_items["v"][0] == tuple(
            slow.ranked({m: slow.unit(v) for m, v in pool.items()}, "m0", list(pool))
        )
        warned = [text for text in report.warning_lines if "not a candidate" in text]
        assert warned == ([] if "all" in candidates else ["v: 2 vectors are of no query, and not a candidate: z8, z9"])

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            (
                "path = 'items.npz'\nqueries = 'few.npz'",
                r"few\.npz \(plan\.toml:7, systems\.v\.queries\): the query id has no vector: q0",
            ),
            (
                "path = 'items.npz'",
                r"items\.npz \(plan\.toml:6, systems\.v\.path\): 4 query ids have no vector: q0, q1, q2, q3",
            ),
            (
                "path = 'items.npz'\nqueries = 'queries.npz'\ncandidates = 'strange.txt'",
                "candidate id has no vec.*: zz",
            ),
            ("path = 'items.npz'\nqueries = 'flat.npz'", "queries of 2 dimensions and a corpus of 5"),
            ("path = 'items.npz'\nids = 'strange.txt'", "already contains ids"),
            ("path = 'items.npz:nothing'", "no array is called 'nothing'"),
            ("path = 'nowhere.npz'", r"nowhere\.npz \(plan\.toml:6, systems\.v\.path\): no such file"),
        ],
    )
    def test_missing_ones_stop_it(self, tmp_path: Path, lines: str, message: str) -> None:
        put(tmp_path, few__npz=arrays({q: v for q, v in QUERIES.items() if q != "q0"}), strange__txt="d1\nzz\n")
        put(tmp_path, flat__npz=arrays({q: v[:2] for q, v in QUERIES.items()}))
        with pytest.raises(RankjuryError, match=message):
            searched(tmp_path, lines)


class TestFusion:
    TEXT = SPACES + "[systems]\nv = { kind = 'vectors', path = 'v.npz', gold = 'all' }\n"
    TEXT += "w = { kind = 'vectors', path = 'w.npz', gold = 'mood' }\n"
    TEXT += "f = { kind = 'fusion', of = ['v', 'w'], gold = 'all', weights = { v = 2, w = 1 }, c = 1 }\n"
    TEXT += "g = { kind = 'fusion', of = ['f', 'w'], gold = 'all' }\n"

    def test_of_fusions(self, tmp_path: Path) -> None:
        found = carried_out(with_spaces(tmp_path), self.TEXT).report
        for row in range(len(MOVIES)):
            lists = [list(found.top_items[name][row]) for name in ("v", "w")]
            first = slow.fused(lists, [2.0, 1.0], 1.0, None)
            assert list(found.top_items["f"][row]) == first
            assert list(found.top_items["g"][row]) == slow.fused([first, lists[1]], [1.0, 1.0], 60.0, None)
        assert found.sections_of(FusionFacts)["f"]["weights"] == {"v": 2.0, "w": 1.0}
        assert found.sections_of(FusionFacts)["g"]["c"] == 60

    def test_what_a_system_is_made_from(self, tmp_path: Path) -> None:
        gold, made, closed = load_rankings(checked(with_spaces(tmp_path), self.TEXT), "g")
        assert closed
        assert gold.source.endswith("gold.json:all") and {name: len(made[name]) for name in made} == {"f": 6, "w": 6}

    def test_no_ranking_of_a_random_order(self, tmp_path: Path) -> None:
        text = self.TEXT.replace("of = ['f', 'w']", "of = ['f', 'r']") + "r = { kind = 'random', gold = 'all' }\n"
        with pytest.raises(UsageError, match="random order, which has no ranking"):
            carried_out(with_spaces(tmp_path), text)


class TestAspects:
    def test_are_named_where_there_are_several(self, tmp_path: Path) -> None:
        text = SPACES + "[systems.v]\nkind = 'vectors'\npath = 'v.npz'\n"
        with pytest.raises(UsageError, match=r'plan\.toml:\d+, systems\.v\.gold: .*gold = one of "all", "mood"'):
            carried_out(with_spaces(tmp_path), text)
        with pytest.raises(
            UnknownName, match=r"systems\.v\.gold: unknown aspect of the gold 'mod'\. Did you mean mood"
        ):
            carried_out(tmp_path, text + "gold = 'mod'\n")

    def test_compared_only_with_those_of_the_baselines(self, tmp_path: Path) -> None:
        text = "baseline = 'v'\n" + TestFusion.TEXT + "r = { kind = 'random', gold = 'all' }\n"
        report = carried_out(with_spaces(tmp_path), text).report
        assert {one.system for one in report.comparisons} == {"f", "g"}
        assert report.golds == {"v": "all", "w": "mood", "f": "all", "g": "all", "r": "all"}

    def test_a_random_order_is_no_baseline(self, tmp_path: Path) -> None:
        text = "baseline = 'r'\n" + SHORT + "systems.r = { kind = 'random', candidates = 9 }\n"
        with pytest.raises(UsageError, match="baseline"):
            carried_out(with_runs(tmp_path), text)


class TestRandom:
    def test_expectations(self, tmp_path: Path) -> None:
        """Two of five candidates: each is within the first two with 2/5; the first is at 1 with 2/5, at 2 with 3/10."""
        found = carried_out(with_spaces(tmp_path), SPACES + "systems.r = { kind = 'random', gold = 'mood' }")
        assert means(found, "r") == pytest.approx({"hits@2": 2 / 5, "rr@2": 2 / 5 + (3 / 5) * (2 / 4) / 2})
        assert found.report.estimates["r"]["rr@2"].ci is None and "r" not in found.report.top_items

    def test_of_open_golds_the_number_of_candidates_is_asked_for(self, tmp_path: Path) -> None:
        text = SHORT + "measures = ['recall@3']\n[systems.r]\nkind = 'random'\n"
        with pytest.raises(UsageError, match="candidates = NUMBER"):
            carried_out(with_runs(tmp_path), text)
        assert means(carried_out(tmp_path, text + "candidates = 12\n"), "r") == {"recall@3": pytest.approx(3 / 12)}


class TestRest:
    MANY = "".join(f"q{n} 0 d 1\n" for n in range(40))
    HALF = "".join(f"q{n} Q0 {'d' if n % 2 else 'e'} 1 1 t\n" for n in range(40))
    """One of two queries finds d first, the others never."""
    TEXT = SHORT + "measures = ['rr', 'num_rel_ret']\n"

    def test_slices(self, tmp_path: Path) -> None:
        """For q1 and q3 a is in the head, of which x finds the first only; in the tail are c of q2 and d of q3."""
        put(with_runs(tmp_path), q__csv="query_id,type\nq1,a\nq2,b\nq3,a\n")
        put(tmp_path, d__csv="item_id,tier\na,head\nb,head\nc,tail\nd,tail\n")
        text = SHORT + "measures = ['rr']\nslices = 'q.csv'\nitem_slices = ['d.csv:tier']\n"
        parts = carried_out(tmp_path, text).report.slices
        assert {part.name: (part.n, part.estimates["x"]["rr"].mean) for part in parts} == {
            "type=a": (2, (1 + 1) / 2),
            "type=b": (1, 1 / 2),
            "item.tier=head": (2, (1 + 0) / 2),
            "item.tier=tail": (2, 1.0),
        }

    TARGETS = {
        "pass": ["rr >= 0.1", "latency_ms <= 50", "num_rel_ret >= 1"],
        "fail": ["rr >= 0.9", "latency_ms <= 5"],
        "unsure": ["rr >= 0.45"],
    }

    @pytest.mark.parametrize(
        ("target", "outcome"), [(one, outcome) for outcome, all_ in TARGETS.items() for one in all_]
    )
    def test_targets(self, tmp_path: Path, target: str, outcome: str) -> None:
        put(tmp_path, qrels__txt=self.MANY, x__trec=self.HALF)
        gate = carried_out(tmp_path, self.TEXT + f"targets = '{target}'\nfigures.x.latency_ms = 12.5\n").gate
        assert gate is not None and gate.outcome == outcome and [one.system for one in gate.verdicts] == ["x"]

    @pytest.mark.parametrize("target", ["rr@2 >= 0", "rr@2 gain >= -1"])
    def test_targets_of_systems_that_can_be_held_against_them(self, tmp_path: Path, target: str) -> None:
        text = f"baseline = 'v'\ntargets = '{target}'\n{TestFusion.TEXT}r = {{ kind = 'random', gold = 'all' }}\n"
        gate = carried_out(with_spaces(tmp_path), text).gate
        wanted = ["f", "g"] if "gain" in target else ["w", "f", "g"]
        assert gate is not None and [one.system for one in gate.verdicts] == wanted

    def test_names_and_what_is_recorded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", slow.EPOCH)
        put(with_runs(tmp_path), d__csv="item_id,title\na,Alpha\nb,\n")
        text = "name = 'N'\nnames = 'd.csv:title'\n" + SHORT + "meta = { model = 'm', size = 3 }\nfigures.x.ms = 2\n"
        report = carried_out(tmp_path, text).report
        assert [report.name_of(item) for item in "abz"] == ["Alpha", "b", "z"]
        made = {"plan": "plan.toml", "name": "N", "made": slow.TIME, "dialect": None, "meta": {"model": "m", "size": 3}}
        assert report.provenance == made and report.systems["x"].recorded == {"ms": RecordedValue(2.0)}
        with pytest.raises(UnknownName, match=r"unknown column 'titel'\. Did you mean title"):
            carried_out(tmp_path, text.replace("d.csv:title", "d.csv:titel"))

    def test_queries_are_items_where_the_plan_says_so(self, tmp_path: Path) -> None:
        """Labels and runs do not say so, whatever the ids; a closed gold that vectors are searched with does."""
        put(with_runs(tmp_path), d__csv="item_id,title\na,Alpha\nq1,A document\n")
        report = carried_out(tmp_path, "names = 'd.csv:title'\n" + SHORT).report
        assert (
            report.queries
            and not report.queries.queries_are_items
            and not report.texts
            and report.names["q1"] == "A document"
        )
        put(with_spaces(tmp_path), gold__json=json.dumps(ORDERED))
        queries = carried_out(tmp_path, "baseline = 'v'\n" + TestFusion.TEXT).report.queries
        assert queries is not None and queries.queries_are_items

    def test_the_order_of_rows_changes_no_digit(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", slow.EPOCH)
        seen = set()
        for seed in (None, 1, 2):
            rows = random.Random(seed).sample(ORDERED, len(ORDERED)) if seed else ORDERED
            put(with_spaces(tmp_path, shuffled=seed), gold__json=json.dumps(rows))
            form = carried_out(tmp_path, "baseline = 'v'\n" + TestFusion.TEXT).report.to_json(queries=True)
            seen.add(json.dumps(form, allow_nan=False))
        assert len(seen) == 1


class TestOwnItem:
    """Query i lost document i wherever queries and documents of different files have the same ids."""

    TEXT = QUICK + "measures = ['rr']\n[gold]\npath = 'gold.json'\n[systems.x]\n"
    ITEMS = np.eye(4)

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        """Every query is most like the document of its own number, which is the relevant one."""
        gold = json.dumps({str(n): {str(n): 1} for n in range(4)})
        put(tmp_path, docs__npy=self.ITEMS, asked__npy=self.ITEMS + 0.1, gold__json=gold)
        return tmp_path

    @pytest.mark.parametrize("kind", ["kind = 'vectors'\n", "kind = 'index'\nengine = 'exact'\n"])
    def test_vectors_and_indexes(self, place: Path, kind: str) -> None:
        text = ("lab.rounds = 0\n" if "index" in kind else "") + self.TEXT + kind  # no times are measured
        two = text + "path = 'docs.npy'\nqueries = 'asked.npy'\n"
        found = carried_out(place, two)
        assert means(found, "x") == {"rr": 1.0}
        (line,) = [line for line in found.report.warning_lines if "id of an item" in line]
        assert "4 queries" in line and "is kept" in line
        found = carried_out(place, two + "exclude_self = true\n")
        assert means(found, "x") == {"rr": 0.0}
        assert any("is excluded" in line for line in found.report.warning_lines)
        for same in ("", "queries = 'docs.npy'\n", "queries = './docs.npy'\n"):
            assert means(carried_out(place, text + "path = 'docs.npy'\n" + same), "x") == {"rr": 0.0}
        kept = text + "path = 'docs.npy'\nexclude_self = false\n"
        assert means(carried_out(place, kept), "x") == {"rr": 1.0}

    def test_a_reference_and_its_candidates(self, place: Path) -> None:
        gold = "[gold]\nkind = 'reference'\npath = 'docs.npy'\nqueries = 'asked.npy'\n"
        system = "[systems.x]\nkind = 'vectors'\npath = 'docs.npy'\nqueries = 'asked.npy'\n"
        head = QUICK + "measures = ['recall(over=k,gold=k)']\ncutoffs = [1]\n"
        found = carried_out(place, head + gold + system)
        assert found.report.answers is not None
        (truth,) = found.report.answers.golds.values()
        assert [truth.of(row)[0].item for row in range(4)] == list("0123")
        assert any(line.startswith("reference: 4 queries") for line in found.report.warning_lines)
        found = carried_out(place, head + gold + "exclude_self = true\n" + system)
        assert found.report.answers is not None
        for listed in (*found.report.answers.golds.values(), *found.report.answers.systems.values()):
            assert all(entry.item != str(row) for row in range(4) for entry in listed.of(row))

    def test_runs(self, place: Path) -> None:
        put(place, run__json=json.dumps({str(n): {str(n): 0.9, str((n + 1) % 4): 0.5} for n in range(4)}))
        text = self.TEXT + "path = 'run.json'\n"
        assert means(carried_out(place, text), "x") == {"rr": 1.0}
        assert means(carried_out(place, text + "exclude_self = true\n"), "x") == {"rr": 0.0}


PLAN = "outputs = ['r.json']\ntargets = ['ap >= 0.0']\n" + SHORT


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("RANKJURY_ARCHIVE", raising=False)
    monkeypatch.chdir(tmp_path)
    return plan_in(with_runs(tmp_path), PLAN)


class TestFiles:
    def test_beside_the_plan(self, plan: Path) -> None:
        result = rankjury.run_plan(plan, archive=False)
        assert list(result.written) == [plan.parent / "r.json"] and result.record is None
        assert json.loads((plan.parent / "r.json").read_text())["systems"].keys() == result.report.systems.keys()
        assert not (plan.parent / ".rankjury").exists()

    def test_in_another_folder(self, plan: Path, tmp_path: Path) -> None:
        assert list(rankjury.run_plan(plan, output=tmp_path / "out", archive=False).written) == [
            tmp_path / "out/r.json"
        ]
        assert not (plan.parent / "r.json").exists()

    def test_none(self, plan: Path) -> None:
        assert not rankjury.run_plan(plan, archive=False, write=False).written
        assert not (plan.parent / "r.json").exists()


class TestWhatIsNotThere:
    """A plan of run files does not run functions of what it has no table for."""

    @staticmethod
    def visited(plan: Path) -> set[str]:
        """Return the modules in which a function runs; the first run, which imports them, does not count."""
        root, found = Path(rankjury.__file__).parent, set[str]()

        def note(frame: FrameType, event: str, argument: object) -> None:
            path = Path(frame.f_code.co_filename)
            if event == "call" and frame.f_code.co_name != "<module>" and path.is_relative_to(root):
                found.add(path.relative_to(root).with_suffix("").as_posix())

        rankjury.run_plan(plan, archive=False)
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            rankjury.run_plan(plan, archive=False)
        finally:
            sys.setprofile(before)
        return found

    def test_is_not_visited(self, tmp_path: Path) -> None:
        found = self.visited(plan_in(with_runs(tmp_path), SHORT))
        assert {"plan/run", "plan/parse", "plan/systems/run", "evaluation/compare"} <= found
        other = {"archive", "bench", "draft", "earlier_reports", "folder_scan", "input_digests", "outputs", "trials"}
        assert not found & {f"plan/{name}" for name in (*other, "systems/index", "gold/keywords")}
        lower = {"core/secrets", "core/temp_files", "io/atomic", "reporting/writers/__init__"}
        assert not found & {"retrieval/engines/temp_folder", *lower}

    def test_is_visited_where_it_is_there(self, tmp_path: Path) -> None:
        found = self.visited(plan_in(with_runs(tmp_path), f"outputs = ['r.json']\nmeta.model = 'm'\n{SHORT}"))
        assert {"plan/outputs", "core/secrets", "core/temp_files", "io/atomic", "reporting/writers/__init__"} <= found


class TestArchive:
    def test_the_nearest_unless_one_is_given(self, plan: Path, tmp_path: Path) -> None:
        first = rankjury.run_plan(plan, write=False)
        assert first.record is not None and first.repeats is None and first.archive_error is None
        assert [run.name for run in Archive.at(path=tmp_path / ".rankjury").runs()] == [first.record.name]
        other = rankjury.run_plan(plan, archive=tmp_path / "kept", write=False)
        assert other.record is not None and len(Archive.at(path=tmp_path / "kept").runs()) == 1

    def test_as_the_environment_says(self, plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RANKJURY_ARCHIVE", str(tmp_path / "named"))
        rankjury.run_plan(plan, write=False)
        assert len(Archive.at(path=tmp_path / "named").runs()) == 1

    def test_a_repetition_comes_to_the_same(self, plan: Path) -> None:
        first, again = rankjury.run_plan(plan, write=False), rankjury.run_plan(plan, write=False)
        assert first.record is not None and again.repeats == (first.record.name, True)

    def test_what_cannot_be_kept_is_not_lost(self, plan: Path, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("no folder")
        result = rankjury.run_plan(plan, archive=tmp_path / "file", write=False)
        assert result.record is None and result.archive_error is not None and result.report.systems


def test_the_gate_is_strict_where_that_is_asked(plan: Path) -> None:
    assert not rankjury.run_plan(plan, archive=False, write=False).gate.strict  # type: ignore[union-attr]
    assert rankjury.run_plan(plan, archive=False, write=False, strict=True).gate.strict  # type: ignore[union-attr]


def test_an_archived_run_calls_queries_as_the_fresh_report_does(tmp_path: Path) -> None:
    movies = paths.SAMPLES / "movies" / "rankjury.toml"
    result = rankjury.run_plan(movies, archive=tmp_path / "kept", write=False)
    (run,) = Archive.at(path=tmp_path / "kept").runs()
    queries = [change.query for change in result.report.changes]
    assert [run.report.query_name(query) for query in queries] == [result.report.query_name(query) for query in queries]
    assert any(result.report.query_name(query) != query for query in queries)
