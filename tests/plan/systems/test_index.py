"""Plans with indexes: faults with key and line, the usual gate, what may be left out, filters, pinned queries, drift,
and the files that come of it.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankjury.errors import DataError, MissingExtra, UsageError
from rankjury.evaluation.gate import check_targets
from rankjury.evaluation.report import read_report
from rankjury.evaluation.sections import Fingerprints, Stability
from rankjury.evaluation.targets import parse_target
from rankjury.labeling.products.query_sets import pin_queries, read_query_set
from rankjury.plan.outputs import check_outputs, write_outputs
from rankjury.plan.run import Outcome, execute_plan, run_plan as run_file
from rankjury.plan.trials import prepare_sweeps
from rankjury.retrieval.bench.result import IndexResult
from rankjury.retrieval.engines.base import ENGINES
from rankjury.retrieval.engines.exact import Exact
from tests.plan import QUICK, carried_out, checked, plan_in, put

RNG = np.random.default_rng(11)
N, Q, K = 60, 12, 5
ITEMS = RNG.normal(size=(N, 6)).astype(np.float32)
QUERIES = RNG.normal(size=(Q, 6)).astype(np.float32)
ITEM_IDS, QUERY_IDS = [f"i{number:02}" for number in range(N)], [f"q{number:02}" for number in range(Q)]
KINDS = ("boots", "dress", "hats")
COSINES = QUERIES @ ITEMS.T / np.linalg.norm(ITEMS, axis=1)
ROUGHLY = np.argsort(-(COSINES + RNG.normal(scale=0.3, size=COSINES.shape)), axis=1)
"""What people find relevant, with which the vectors agree by and large."""

GOLD = QUICK + "gold = { path = 'labels.jsonl', relevant_from = 2 }\n"
PLAN = GOLD + "measures = ['ndcg(gain=exp)@5', 'recall@5', 'precision@5', 'rr@5']\n"
NDCG, RECALL, P95 = "ndcg(gain=exp)@5", "ann_recall@5", "latency_p95_ms"
IVF = "build = { nlist = 8 }\nsearch = { nprobe = 1 }\n"
"""Looks into one list of eight, and misses much."""


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def asked(**changes: Any) -> list[dict[str, Any]]:
    rows = [
        {"id": name, "text": f"text of {name}", "type": "ab"[n % 2], "category": KINDS[n % 3], "version": "v1"}
        for n, name in enumerate(QUERY_IDS)
    ]
    return [row | changes for row in rows]


def with_lab(folder: Path) -> Path:
    """Labels, vectors of items and queries in one file, a catalogue and a query set."""
    grades = [
        {"query_id": query, "item_id": ITEM_IDS[item], "grade": grade}
        for query, order in zip(QUERY_IDS, ROUGHLY.tolist(), strict=True)
        for item, grade in zip(order, (3, 2, 2, 1, 0), strict=False)
    ]
    arrays = {"items": ITEMS, "items_ids": np.array(ITEM_IDS), "queries": QUERIES, "queries_ids": np.array(QUERY_IDS)}
    things = [{"id": name, "title": f"Item {name}", "category": KINDS[n % 3]} for n, name in enumerate(ITEM_IDS)]
    run = "".join(f"{query} Q0 {item} 1 {9 - n} t\n" for query in QUERY_IDS for n, item in enumerate(ITEM_IDS[:5]))
    put(folder, labels__jsonl=lines(grades), vectors__npz=arrays, run__trec=run)
    put(folder, items__jsonl=lines(things), queries__jsonl=lines(asked()))
    return folder


def index(name: str = "x", engine: str = "exact", more: str = "") -> str:
    head = f"[systems.{name}]\nkind = 'index'\nengine = '{engine}'\n"
    return f"{head}path = 'vectors.npz:items'\nqueries = 'vectors.npz:queries'\n{more}"


def lab(more: str = "", *, texts: bool = False) -> str:
    """Each query timed once, by one caller."""
    files = "queries = 'queries.jsonl'\nitems = 'items.jsonl'\n" if texts else ""
    rounds = "" if "rounds" in more else "rounds = 1\n"
    return f"[lab]\nk = 5\nwarm_up = 0\nconcurrency = [1]\n{rounds}{files}{more}"


def outcome_of(folder: Path, *parts: str) -> Outcome:
    return execute_plan(checked(with_lab(folder), "".join(parts)))


def verdicts(outcome: Outcome) -> dict[tuple[str, str], str]:
    assert outcome.gate is not None
    return {(one.target.subject, one.system): one.outcome for one in outcome.gate.verdicts}


def faults(folder: Path, text: str) -> list[str]:
    """Each without the name of the plan: its line, its key and what is wrong."""
    with pytest.raises(UsageError) as caught:
        checked(folder, text)
    assert caught.value.exit_code == 2
    told = caught.value.details or (str(caught.value),)
    return [one.removeprefix(f"{folder / 'plan.toml'}:") for one in told]


def by_text(query: str, k: int) -> list[str]:
    """A service that is asked with texts."""
    return by_vector(QUERIES[QUERY_IDS.index(query.removeprefix("text of "))], k)


def by_vector(query: Any, k: int) -> list[str]:
    return [ITEM_IDS[row] for row in np.argsort(-(ITEMS @ query / np.linalg.norm(ITEMS, axis=1)))[:k]]


def service(name: str, call: str, more: str = "") -> str:
    opened = f"open = {{ call = '{__name__}:{call}'{more} }}\n"
    return f"[systems.{name}]\nkind = 'index'\nengine = 'endpoint'\n{opened}"


class TestFaults:
    @pytest.mark.parametrize(
        ("more", "key", "told"),
        [
            ("build = { mm = 3 }", "build", "unknown parameter 'mm'"),
            ("build = { m = 'x' }", "build", "m is 'x'; expected a whole number"),
            ("build = { m = 2.5 }", "build", "m is 2.5; expected a whole number"),
            ("build = { m = true }", "build", "m is True; expected a whole number"),
            ("build = { m = 0 }", "build", "m is 0; expected"),
            ("search = { ef_serach = 3 }", "search", "unknown parameter 'ef_serach'. Did you mean ef_search?"),
            ("search = { ef_search = 'x' }", "search", "ef_search is 'x'; expected a whole number"),
            ("open = { url = 'x' }", "open", "unknown parameter 'url'; expected no"),
            ("metric = 'cos'", "metric", "unknown similarity 'cos'. Did you mean cosine"),
            ("dtype = 'int9'", "dtype", "unknown dtype 'int9'. Did you mean int8?"),
            ("depth = 0", "depth", "found 0, expected greater than or equal to 1"),
            ("optional = 'yes'", "optional", "found 'yes', expected a valid boolean"),
            ("serach = {}", "serach", "unknown key 'serach'. Did you mean search"),
        ],
    )
    def test_key_and_line(self, tmp_path: Path, more: str, key: str, told: str) -> None:
        """The sixth line of the system, which stands behind three others."""
        (found,) = faults(tmp_path, PLAN + index("x", "faiss-hnsw", f"{more}\n"))
        assert found.startswith(f"9, systems.x.{key}: {told}")

    def test_a_list_where_a_setting_belongs(self, tmp_path: Path) -> None:
        (found,) = faults(tmp_path, PLAN + index("x", "faiss-hnsw", "build = { m = [8, 16] }\n"))
        assert found.startswith("9, systems.x.build.m: ")

    def test_an_unknown_engine(self, tmp_path: Path) -> None:
        (found,) = faults(tmp_path, PLAN + index("x", "faiss-hnws"))
        assert found.startswith("6, systems.x.engine: unknown engine 'faiss-hnws'. Did you mean faiss-hnsw")

    @pytest.mark.parametrize("text", ["", "path = ''\n"])
    def test_no_path(self, tmp_path: Path, text: str) -> None:
        """Only services can do without vectors."""
        (found,) = faults(tmp_path, PLAN + f"[systems.x]\nkind = 'index'\nengine = 'exact'\n{text}")
        assert "systems.x.path: is missing; expected the items' vectors, FILE or FILE:KEY" in found

    def test_no_engine(self, tmp_path: Path) -> None:
        (found,) = faults(tmp_path, PLAN + "[systems.x]\nkind = 'index'\npath = 'vectors.npz:items'\n")
        assert found == "4, systems.x.engine: missing"

    def test_all_together(self, tmp_path: Path) -> None:
        more = "build = { mm = 3 }\nsearch = { ef_search = 'x' }\n"
        found = faults(tmp_path, PLAN + index("x", "faiss-hnsw", more) + index("y", "nothing"))
        assert [one.partition(": ")[0] for one in found] == ["9, systems.x.build", "10, systems.x.search",
                                                             "13, systems.y.engine"]  # fmt: skip

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("rounds = -1", "lab.rounds: found -1, expected greater than or equal to 0"),
            ("k = 0", "lab.k: found 0, expected greater than or equal to 1"),
            ("concurrency = [1, 0]", "lab.concurrency[2]: found 0, expected greater than or equal to 1"),
            ("rate = 0", "lab.rate: found 0, expected greater than 0"),
            ("allowed_drift = -0.1", "lab.allowed_drift: found -0.1, expected greater than 0"),
            ("rouns = 3", "lab.rouns: unknown key 'rouns'. Did you mean rounds"),
        ],
    )
    def test_the_lab(self, tmp_path: Path, text: str, told: str) -> None:
        (found,) = faults(tmp_path, PLAN + index() + f"[lab]\n{text}\n")
        assert found.startswith(f"10, {told}")

    def test_a_key_of_a_sweep(self, tmp_path: Path) -> None:
        (found,) = faults(tmp_path, PLAN + index("x", "faiss-ivf") + "[sweep.x]\nserach = { nprobe = [1] }\n")
        assert found.startswith("10, sweep.x.serach: unknown key 'serach'. Did you mean search")

    @pytest.mark.parametrize("name", ["y", "run"])
    def test_a_sweep_of_what_is_no_index(self, tmp_path: Path, name: str) -> None:
        (found,) = faults(tmp_path, PLAN + "systems.run = 'run.trec'\n" + index() + f"[sweep.{name}]\n")
        assert found.startswith(f"10, sweep.{name}: unknown system of the kind index '{name}'. Known: x")

    @pytest.mark.parametrize(
        ("target", "more", "told"),
        [
            ("ann_recall@10 >= 0.9", "", "unknown measure or figure 'ann_recall@10'. Did you mean ann_recall@5?"),
            ("latency_p59_ms <= 9", "", "unknown measure or figure 'latency_p59_ms'. Did you mean latency_p9"),
            ("drift <= 5 %", "", "drift is unknown"),
            ("churn <= 0.1", "", "churn is unknown"),
            ("open_loop_p95_ms <= 9", "", "open_loop_p95_ms is unknown"),
            ("latency_p95_ms <= 9", "rounds = 0\n", "latency_p95_ms is unknown"),
        ],
    )
    def test_targets_on_what_will_not_be_known(self, tmp_path: Path, target: str, more: str, told: str) -> None:
        """Before anything is built."""
        (found,) = faults(tmp_path, PLAN + f"targets = ['{target}']\n" + index() + lab(more))
        assert found.startswith("4, targets[1]: ") and told in found

    def test_a_model_without_texts_to_embed(self, tmp_path: Path) -> None:
        """End to end would be timed without it, and nobody would know."""
        with pytest.raises(UsageError, match=r"lab\.queries"):
            outcome_of(tmp_path, PLAN, index(), lab("model = 'wordllama'\n"))

    def test_missing_files(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="2 files are missing") as caught:
            outcome_of(tmp_path, PLAN, index().replace("vectors.npz:items'", "nothing.npz'\nids = 'a.txt'"))
        for file, line, key in (("nothing.npz", 7, "path"), ("a.txt", 8, "ids")):
            assert re.search(rf"{file}: no such file \(.*plan\.toml:{line}, systems\.x\.{key}\)", str(caught.value))

    def test_vectors_of_another_width(self, tmp_path: Path) -> None:
        put(with_lab(tmp_path), short__npz={"ids": np.array(QUERY_IDS), "vectors": QUERIES[:, :4]})
        text = PLAN + index().replace("vectors.npz:queries", "short.npz")
        with pytest.raises(DataError, match=r"systems\.x\.path"):
            execute_plan(checked(tmp_path, text))

    def test_a_service_without_vectors_is_asked_with_texts(self, tmp_path: Path) -> None:
        """And needs to know what items there are, and what the queries say."""
        text = service("x", "by_text", ", text = true")
        with pytest.raises(UsageError, match=r"the items are unknown; expected lab\.items"):
            outcome_of(tmp_path, PLAN, "targets = []\n", text)
        with pytest.raises(UsageError, match=r"the queries have no texts; expected lab\.queries"):
            outcome_of(tmp_path, PLAN, "targets = []\n", text, "[lab]\nitems = 'items.jsonl'\n")
        with pytest.raises(UsageError, match="vectors"):
            outcome_of(tmp_path, PLAN, "targets = []\n", service("x", "by_vector"), lab(texts=True))


class TestUsualGate:
    def usual(self, folder: Path, text: str) -> list[str]:
        return [f"{one.subject} {one.wanted}" for one in checked(folder, text).targets]

    FULL = (f"{NDCG} at least 0.85", f"{RECALL} at least 0.95", f"{P95} at most 250")

    def test_of_an_index(self, tmp_path: Path) -> None:
        assert self.usual(tmp_path, PLAN + index() + lab()) == [*self.FULL]

    def test_drift_with_an_earlier_report(self, tmp_path: Path) -> None:
        text = PLAN + index() + lab("earlier = 'old.json'\n")
        assert self.usual(tmp_path, text) == [*self.FULL, "drift at most 0.05"]
        assert self.usual(tmp_path, text + "allowed_drift = 0.07\n")[-1] == "drift at most 0.07"

    def test_ten_unless_the_lab_says_otherwise(self, tmp_path: Path) -> None:
        found = self.usual(tmp_path, GOLD + "measures = ['ndcg@10']\n" + index())
        assert found == ["ndcg@10 at least 0.85", "ann_recall@10 at least 0.95", f"{P95} at most 250"]

    def test_nothing_of_what_is_not_measured(self, tmp_path: Path) -> None:
        """Neither nDCG at another k, nor latency where nothing is timed."""
        assert self.usual(tmp_path, PLAN + index() + "[lab]\nk = 7\nrounds = 0\n") == ["ann_recall@7 at least 0.95"]
        assert self.usual(tmp_path, GOLD + "measures = ['rr']\n" + index() + lab())[0] == f"{RECALL} at least 0.95"

    @pytest.mark.parametrize("text", ["systems.x = 'run.trec'\n", "[lab]\nk = 5\n[systems.x]\npath = 'run.trec'\n"])
    def test_none_without_an_index(self, tmp_path: Path, text: str) -> None:
        assert self.usual(tmp_path, PLAN + text) == []

    def test_switched_off(self, tmp_path: Path) -> None:
        text = PLAN + "targets = []\n" + index() + lab()
        assert self.usual(tmp_path, text) == []
        assert execute_plan(checked(with_lab(tmp_path), text)).gate is None

    def test_a_target_of_the_plan_stands_for_all(self, tmp_path: Path) -> None:
        assert self.usual(tmp_path, PLAN + f"targets = '{RECALL} >= 0.5'\n" + index() + lab()) == [
            f"{RECALL} at least 0.5"
        ]
        table = "[[target]]\nrequire = 'rr@5 >= 0.5'\n"
        assert self.usual(tmp_path, PLAN + index() + lab() + table) == ["rr@5 at least 0.5"]

    def test_verdicts(self, tmp_path: Path) -> None:
        """Exact search finds all; one list of eight does not; neither needs a quarter of a second."""
        found = outcome_of(tmp_path, PLAN, index(), index("ivf", "faiss-ivf", IVF), lab())
        told = verdicts(found)
        assert (told[RECALL, "x"], told[RECALL, "ivf"]) == ("pass", "fail")
        assert {told[P95, "x"], told[P95, "ivf"]} == {"pass"} and len(told) == 6
        assert found.gate is not None and found.gate.exit_code == 4

    def test_aimed_at_what_they_can_hold_for(self, tmp_path: Path) -> None:
        """Quality of every system, figures of an index of indexes only."""
        others = "systems.run = 'run.trec'\nsystems.chance = { kind = 'random', candidates = 60 }\n"
        space = "[systems.space]\nkind = 'vectors'\npath = 'vectors.npz:items'\nqueries = 'vectors.npz:queries'\n"
        found = outcome_of(tmp_path, PLAN, others, index(), space, index("y", "faiss-flat"), lab())
        aimed = {subject: [name for one, name in verdicts(found) if one == subject] for subject in (NDCG, RECALL, P95)}
        assert aimed == {NDCG: ["run", "x", "space", "y"], RECALL: ["x", "y"], P95: ["x", "y"]}

    def test_not_at_the_baseline_unless_it_is_the_only_index(self, tmp_path: Path) -> None:
        two = outcome_of(tmp_path, "baseline = 'x'\n", PLAN, index(), index("y", "faiss-flat"), lab())
        assert {name for _, name in verdicts(two)} == {"y"}
        one = outcome_of(tmp_path, "baseline = 'x'\n", PLAN, "systems.run = 'run.trec'\n", index(), lab())
        assert verdicts(one).keys() == {(NDCG, "run"), (RECALL, "x"), (P95, "x")}

    def test_what_cannot_be_known_is_no_part_of_it(self, tmp_path: Path) -> None:
        """Of a service that takes texts it is not known what is nearest; its latency is that of all, end to end."""
        found = outcome_of(tmp_path, PLAN, service("svc", "by_text", ", text = true"), lab(texts=True))
        assert verdicts(found).keys() == {(NDCG, "svc"), (P95, "svc")}
        assert [one for one in found.report.warning_lines if RECALL in one]
        figures = found.report.to_json()["systems"]["svc"]["figures"]
        assert figures[P95] == figures["end_to_end_p95_ms"]
        both = outcome_of(tmp_path, PLAN, service("svc", "by_text", ", text = true"), index(), lab(texts=True))
        assert verdicts(both).keys() == {(NDCG, "svc"), (P95, "svc"), (NDCG, "x"), (RECALL, "x"), (P95, "x")}

    def test_what_the_plan_demands_must_be_known(self, tmp_path: Path) -> None:
        target = f"targets = ['{RECALL} >= 0.9']\n"
        with pytest.raises(UsageError, match=f"unknown measure or figure '{RECALL}'"):
            outcome_of(tmp_path, PLAN, target, service("svc", "by_text", ", text = true"), lab(texts=True))


class TestVerdicts:
    def at(self, folder: Path, target: str, more: str = "") -> str:
        text = f"targets = ['{target}']\n"
        (found,) = verdicts(outcome_of(folder, PLAN, text, index("ivf", "faiss-ivf", IVF + more), lab())).values()
        return found

    def test_unsure_where_the_limit_lies_in_the_interval(self, tmp_path: Path) -> None:
        recall = (
            outcome_of(tmp_path, PLAN, "targets = []\n", index("ivf", "faiss-ivf", IVF), lab())
            .report.sections_of(IndexResult)["ivf"]
            .recall
        )
        assert recall.ci is not None and recall.ci[0] < recall.mean < recall.ci[1]
        between = (recall.ci[0] + recall.mean) / 2
        assert self.at(tmp_path, f"{RECALL} >= {between}") == "unsure", "though the mean is above"
        assert self.at(tmp_path, f"{RECALL} >= {recall.ci[0] - 0.01}") == "pass"
        assert self.at(tmp_path, f"{RECALL} >= {recall.ci[1] + 0.01}") == "fail"

    def test_latency_by_its_interval_and_other_figures_by_their_value(self, tmp_path: Path) -> None:
        assert self.at(tmp_path, f"{P95} <= 100000") == "pass" and self.at(tmp_path, f"{P95} <= 0.00001") == "fail"
        assert self.at(tmp_path, "failed_queries <= 0") == "pass" and self.at(tmp_path, "index_mb >= 1") == "fail"
        assert self.at(tmp_path, "build_seconds <= 1000") == "pass"

    def test_the_figure_and_its_interval_are_in_the_verdict(self, tmp_path: Path) -> None:
        found = outcome_of(tmp_path, PLAN, f"targets = '{RECALL} >= 0.9'\n", index("ivf", "faiss-ivf", IVF), lab())
        assert found.gate is not None
        (verdict,) = found.gate.verdicts
        recall = found.report.sections_of(IndexResult)["ivf"].recall
        assert (verdict.value, verdict.ci, verdict.n) == (recall.mean, recall.ci, Q)


class Absent(Exact):
    """An engine whose library nobody has."""

    libraries = ("rankjury_has_no_such_library",)
    extra = "absent"

    def __init__(self, *given: Any, **more: Any) -> None:
        raise MissingExtra("rankjury_has_no_such_library", "absent", "the engine absent")


class Foreign(Absent):
    """One of somebody else, that no extra of rankjury installs."""

    extra = None


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = {name: ENGINES.get(name) for name in ENGINES.names()}
    monkeypatch.setattr(ENGINES, "_entries", entries | {"absent": Absent, "foreign": Foreign})


@pytest.mark.usefixtures("absent")
class TestOptional:
    GONE = index("gone", "absent", "optional = true\n")

    def test_left_out_with_a_warning(self, tmp_path: Path) -> None:
        found = outcome_of(tmp_path, PLAN, index(), self.GONE, lab())
        assert list(found.report.systems) == ["x"] and {name for _, name in verdicts(found)} == {"x"}
        assert "gone: omitted, as absent is not installed: pip install 'rankjury[absent]'" in found.report.warning_lines

    def test_an_engine_of_somebody_else(self, tmp_path: Path) -> None:
        (note,) = checked(tmp_path, PLAN + index() + index("gone", "foreign", "optional = true\n")).notes
        assert note.startswith("gone: omitted, as foreign is not installed") and "None" not in note

    def test_what_is_installed_stays(self, tmp_path: Path) -> None:
        assert not checked(tmp_path, PLAN + index("x", "faiss-flat", "optional = true\n")).notes

    def test_not_optional_is_an_error_that_names_the_extra(self, tmp_path: Path) -> None:
        with pytest.raises(MissingExtra, match=r"pip install 'rankjury\[absent\]'"):
            outcome_of(tmp_path, PLAN, index("gone", "absent"))

    @pytest.mark.parametrize("more", ["", "baseline = 'gone'\n"])
    def test_nothing_left_or_nothing_to_compare_with(self, tmp_path: Path, more: str) -> None:
        with pytest.raises(UsageError, match="gone: omitted, as absent is not installed"):
            checked(tmp_path, more + PLAN + (index() if more else "") + self.GONE)

    def test_its_targets_sweeps_figures_and_files_go_with_it(self, tmp_path: Path) -> None:
        more = (
            f"[[target]]\nrequire = '{RECALL} >= 0.5'\nsystem = 'gone'\n[[target]]\nrequire = '{RECALL} >= 0.4'\n"
            "[sweep.gone]\n[figures.gone]\ncost = 3.0\n"
            "[[output]]\nform = 'evaluation'\nfile = 'e.json'\nsystem = 'gone'\n"
        )
        plan = checked(with_lab(tmp_path), PLAN + index() + self.GONE + lab() + more)
        check_outputs(plan)
        found = execute_plan(plan)
        assert verdicts(found) == {(RECALL, "x"): "pass"} and plan.plan.sweep == {}
        assert not write_outputs(plan, found.report, None, found.gate)

    def test_what_is_made_from_it_goes_with_it(self, tmp_path: Path) -> None:
        fused = "[systems.fused]\nkind = 'fusion'\nof = ['x', 'gone']\n"
        found = outcome_of(tmp_path, PLAN, "targets = []\n", index(), self.GONE, fused, lab())
        assert list(found.report.systems) == ["x"]
        assert [one for one in found.report.warning_lines if one.startswith("fused: omitted")]

    def test_without_the_only_index_the_usual_gate_goes_too(self, tmp_path: Path) -> None:
        found = outcome_of(tmp_path, PLAN, "systems.run = 'run.trec'\n", self.GONE)
        assert list(found.report.systems) == ["run"] and found.gate is None


class TestFilters:
    def test_by_the_querys_own_value(self, tmp_path: Path) -> None:
        """Every item that a query finds is of its category; recall is against what passes."""
        found = outcome_of(tmp_path, PLAN, index("x", "faiss-hnsw", "filter = 'category'\n"), lab(texts=True)).report
        kinds = dict(zip(ITEM_IDS, [KINDS[n % 3] for n in range(N)], strict=True))
        for n, items in enumerate(found.top_items["x"]):
            assert {kinds[item] for item in items} == {KINDS[n % 3]} and len(items) == K
        one = found.sections_of(IndexResult)["x"]
        assert one.recall.mean == 1.0
        assert [(part.filter, part.items, part.queries) for part in one.filters] == [
            (f"category={kind}", 20, 4) for kind in KINDS
        ]

    @pytest.mark.parametrize("nothing", [None, ""])
    def test_a_query_that_does_not_say_is_not_filtered(self, tmp_path: Path, nothing: str | None) -> None:
        rows = asked()
        rows[0]["category"] = nothing
        put(with_lab(tmp_path), queries__jsonl=lines(rows))
        text = PLAN + "targets = []\n" + index("x", "exact", "filter = 'category'\n") + lab(texts=True)
        found = execute_plan(checked(tmp_path, text)).report
        assert found.top_items["x"][0] == tuple(by_vector(QUERIES[0], K))
        assert [part.filter for part in found.sections_of(IndexResult)["x"].filters][-1] == "none"

    @pytest.mark.parametrize(
        ("more", "error", "told"),
        [
            ("items = 'items.jsonl'\n", UsageError, "a filter needs the queries' attributes; expected lab.queries"),
            ("queries = 'queries.jsonl'\n", UsageError, "the items are unknown; expected lab.items"),
        ],
    )
    def test_it_needs_both_tables(self, tmp_path: Path, more: str, error: type[Exception], told: str) -> None:
        with pytest.raises(error, match=told):
            outcome_of(tmp_path, PLAN, index("x", "exact", "filter = 'category'\n"), lab(more))

    def test_an_attribute_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"unknown attribute 'categroy'\. Did you mean category"):
            outcome_of(tmp_path, PLAN, index("x", "exact", "filter = 'categroy'\n"), lab(texts=True))

    def test_an_attribute_of_which_no_query_has_a_value(self, tmp_path: Path) -> None:
        put(with_lab(tmp_path), queries__jsonl=lines([row | {"brand": None} for row in asked()]))
        put(tmp_path, items__jsonl=lines([{"id": name, "brand": "b"} for name in ITEM_IDS]))
        text = PLAN + index("x", "exact", "filter = 'brand'\n") + lab(texts=True)
        with pytest.raises(DataError, match="no query has a value of 'brand'"):
            execute_plan(checked(tmp_path, text))


class TestQuerySet:
    TEXT = PLAN + "targets = []\n" + index() + lab(texts=True)

    def test_version_and_hash_are_recorded(self, tmp_path: Path) -> None:
        found = outcome_of(tmp_path, self.TEXT).report
        known = read_query_set(tmp_path / "queries.jsonl")
        assert found.provenance["query_set"] == {"version": "v1", "sha256": known.sha256, "queries": Q}
        assert found.texts["q03"] == "text of q03"

    def test_changed_queries_under_a_pinned_version_are_an_error(self, tmp_path: Path) -> None:
        pin_queries(read_query_set(with_lab(tmp_path) / "queries.jsonl"))
        execute_plan(checked(tmp_path, self.TEXT))
        rows = asked()
        rows[3]["text"] = "something else"
        put(tmp_path, queries__jsonl=lines(rows))
        with pytest.raises(DataError, match="differ from those pinned as version v1: changed: q03") as caught:
            execute_plan(checked(tmp_path, self.TEXT))
        assert caught.value.exit_code == 3
        put(tmp_path, queries__jsonl=lines([row | {"version": "v2"} for row in rows]))
        assert execute_plan(checked(tmp_path, self.TEXT)).report.provenance["query_set"]["version"] == "v2"

    def test_a_judged_query_without_a_text(self, tmp_path: Path) -> None:
        put(with_lab(tmp_path), queries__jsonl=lines(asked()[1:]))
        with pytest.raises(DataError, match="queries without a text: q00") as caught:
            execute_plan(checked(tmp_path, self.TEXT))
        assert "queries.jsonl" in str(caught.value)

    def test_without_one_nothing_is_recorded(self, tmp_path: Path) -> None:
        assert "query_set" not in outcome_of(tmp_path, PLAN, index(), lab()).report.provenance


class TestDrift:
    def earlier(self, folder: Path, *systems: str) -> Path:
        """A report of last week, in which these systems were."""
        text = "".join([PLAN, "targets = []\noutputs = 'old.json'\n", *systems, lab()])
        plan = checked(with_lab(folder), text)
        (path,) = write_outputs(plan, execute_plan(plan).report)
        return path

    def test_against_the_same_system(self, tmp_path: Path) -> None:
        self.earlier(tmp_path, index())
        found = outcome_of(tmp_path, PLAN, index(), lab("earlier = 'old.json'\n"))
        assert verdicts(found)["drift", "x"] == "pass"
        form = found.report.to_json()["systems"]["x"]
        assert form["drift"]["verdict"] == "pass" and form["drift"]["worst"]["change"] == 0.0
        assert form["figures"]["drift"] == 0.0 and form["drift"]["changed"] == []

    def test_vectors_that_were_not_normalised(self, tmp_path: Path) -> None:
        """Their length shows it, though the cosine is the same; it is said what was done otherwise."""
        self.earlier(tmp_path, index("x", "exact", "normalise = true\n"))
        found = outcome_of(tmp_path, PLAN, index(), lab("earlier = 'old.json'\n"))
        assert verdicts(found)["drift", "x"] == "fail"
        form = found.report.to_json()["systems"]["x"]["drift"]
        assert form["worst"]["figure"].startswith("norm") and form["undeclared"] == []
        assert [(one["what"], one["found"]) for one in form["changed"]] == [("index", ["normalise true → false"])]

    def test_how_much_is_allowed(self, tmp_path: Path) -> None:
        self.earlier(tmp_path, index("x", "exact", "normalise = true\n"))
        found = outcome_of(tmp_path, PLAN, index(), lab("earlier = 'old.json'\nallowed_drift = 100.0\n"))
        told = found.report.to_json()["systems"]["x"]["drift"]
        assert told["allowed"] == 100.0

    def test_the_only_system_of_a_report_under_another_name(self, tmp_path: Path) -> None:
        self.earlier(tmp_path, index("before"))
        found = outcome_of(tmp_path, PLAN, index(), lab("earlier = 'old.json'\n"))
        assert found.report.to_json()["systems"]["x"]["drift"]["old_system"] == "before"

    def test_none_of_the_systems(self, tmp_path: Path) -> None:
        self.earlier(tmp_path, index("a"), index("b"))
        with pytest.raises(DataError, match=r"lab.earlier\): found none of the plan's systems; expected one of x"):
            outcome_of(tmp_path, PLAN, index(), lab("earlier = 'old.json'\n"))

    def test_a_system_that_is_new_has_not_drifted(self, tmp_path: Path) -> None:
        self.earlier(tmp_path, index("a"), index("b"))
        found = outcome_of(tmp_path, PLAN, index("a"), index("new", "faiss-flat"), lab("earlier = 'old.json'\n"))
        assert [name for subject, name in verdicts(found) if subject == "drift"] == ["a"]

    def test_only_of_systems_that_search_vectors(self, tmp_path: Path) -> None:
        self.earlier(tmp_path, index())
        run = "systems.run = 'run.trec'\n"
        found = outcome_of(tmp_path, PLAN, run, index(), lab("earlier = 'old.json'\n"))
        assert [name for subject, name in verdicts(found) if subject == "drift"] == ["x"]

    def test_no_such_report(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"old\.json"):
            outcome_of(tmp_path, PLAN, index(), lab("earlier = 'old.json'\n"))


class TestEarlierRuns:
    """``lab.earlier`` over the dated files that the plan itself writes, run by run."""

    FILE = "[[output]]\nform = 'evaluation'\nfile = 'reports/eval_{date}_{model}_{index}.json'\n"
    EARLIER = "earlier = 'reports/eval_*_{index}.json'\n"
    UNIT = "normalise = true\n"
    """Other norms than the vectors in the file have: a drift beyond 5 %."""

    @pytest.fixture(autouse=True)
    def _listen(self) -> None:
        self.told: list[str] = []

    def run(self, folder: Path, day: int, *systems: str, earlier: str = EARLIER, plan: str = PLAN) -> Outcome:
        """Run the plan on a day, and write its files."""
        text = "".join([plan, *systems, lab(f"rounds = 0\n{earlier}"), self.FILE])
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SOURCE_DATE_EPOCH", str(day * 86_400))
            checked_plan = checked(with_lab(folder), text)
            check_outputs(checked_plan)
            found = execute_plan(checked_plan)
            write_outputs(checked_plan, found.report, None, found.gate, self.told.append)
        return found

    def drift(self, found: Outcome, system: str = "x") -> tuple[str, str]:
        """The verdict and the file that it was compared with."""
        form = found.report.to_json()["systems"][system]["drift"]
        return verdicts(found)["drift", system], Path(form["old_report"]).name

    def test_a_failed_run_is_not_the_reference_of_the_next(self, tmp_path: Path) -> None:
        """The second of two failing runs was compared with the first, and passed."""
        good = "eval_1970-01-02_model_x.json"
        self.run(tmp_path, 1, index())
        assert self.drift(self.run(tmp_path, 2, index("x", "exact", self.UNIT))) == ("fail", good)
        again = self.run(tmp_path, 3, index("x", "exact", self.UNIT))
        assert self.drift(again) == ("fail", good)
        assert any("eval_1970-01-03_model_x.json" in note and good in note for note in again.report.warning_lines)
        assert self.drift(self.run(tmp_path, 4, index())) == ("pass", good)
        assert self.drift(self.run(tmp_path, 5, index())) == ("pass", "eval_1970-01-05_model_x.json")

    def test_the_baseline_is_compared_with_its_own_past(self, tmp_path: Path) -> None:
        """A target on drift was not for the baseline: the run passed where the baseline alone had drifted."""
        plan = "baseline = 'x'\n" + PLAN
        self.run(tmp_path, 1, index(), index("y"), plan=plan)
        found = self.run(tmp_path, 2, index("x", "exact", self.UNIT), index("y"), plan=plan)
        assert [self.drift(found, name)[0] for name in ("x", "y")] == ["fail", "pass"]
        assert found.gate is not None and found.gate.exit_code == 4
        report = found.report
        assert report.baseline == "x"
        gate = check_targets([parse_target("drift <= 5 %")], report)
        assert {one.system: one.outcome for one in gate.verdicts} == {"x": "fail", "y": "pass"}

    def test_a_report_of_another_plan_is_noted(self, tmp_path: Path) -> None:
        """Two plans that write into one folder take each other's reports as earlier ones."""
        self.run(tmp_path, 1, index(), plan="name = 'first'\n" + PLAN)
        found = self.run(tmp_path, 2, index(), plan="name = 'second'\n" + PLAN)
        assert any("eval_1970-01-02_model_x.json" in one and "first" in one for one in found.report.warning_lines)
        again = self.run(tmp_path, 3, index(), plan="name = 'second'\n" + PLAN)
        assert not any("another plan" in one for one in again.report.warning_lines)

    def test_naming_a_failed_file_accepts_it(self, tmp_path: Path) -> None:
        self.run(tmp_path, 1, index())
        self.run(tmp_path, 2, index("x", "exact", self.UNIT))
        named = "earlier = 'reports/eval_1970-01-03_model_{index}.json'\n"
        unit = index("x", "exact", self.UNIT)
        assert self.drift(self.run(tmp_path, 3, unit, earlier=named)) == ("pass", "eval_1970-01-03_model_x.json")
        assert self.drift(self.run(tmp_path, 4, unit)) == ("pass", "eval_1970-01-04_model_x.json")

    def test_a_failure_of_another_target_does_not_matter(self, tmp_path: Path) -> None:
        self.run(tmp_path, 1, index())
        plan = PLAN + "targets = ['rr@5 >= 1.5', 'drift <= 5 %']\n"
        failed = self.run(tmp_path, 2, index(), plan=plan)
        assert verdicts(failed)["rr@5", "x"] == "fail"
        assert self.drift(self.run(tmp_path, 3, index())) == ("pass", "eval_1970-01-03_model_x.json")

    def test_where_all_failed_none_is_taken(self, tmp_path: Path) -> None:
        self.run(tmp_path, 1, index())
        self.run(tmp_path, 2, index("x", "exact", self.UNIT))
        (tmp_path / "reports" / "eval_1970-01-02_model_x.json").unlink()
        with pytest.raises(DataError, match=r"all earlier reports of x failed .*eval_1970-01-03_model_x\.json"):
            self.run(tmp_path, 3, index("x", "exact", self.UNIT))

    def test_a_second_run_of_a_day_keeps_the_first_file(self, tmp_path: Path) -> None:
        """The first file of the day was overwritten, and with it the reference."""
        self.run(tmp_path, 1, index())
        first = (tmp_path / "reports" / "eval_1970-01-02_model_x.json").read_text()
        assert not self.told and self.drift(self.run(tmp_path, 1, index("x", "exact", self.UNIT)))[0] == "fail"
        (line,) = self.told
        assert "_2" in line
        assert self.drift(self.run(tmp_path, 1, index()))[1] == "eval_1970-01-02_model_x.json"
        names = [f"eval_1970-01-02_model_x{end}.json" for end in ("", "_2", "_3")]
        assert sorted(path.name for path in (tmp_path / "reports").iterdir()) == names
        assert (tmp_path / "reports" / names[0]).read_text() == first
        assert self.drift(self.run(tmp_path, 1, index()))[1] == names[2], "the latest that passed"

    def test_the_latest_is_told_by_the_time_inside(self, tmp_path: Path) -> None:
        """By name a file of another model came last, whatever its date."""
        self.run(tmp_path, 1, index(), plan=PLAN)
        (tmp_path / "reports" / "eval_1970-01-02_model_x.json").rename(tmp_path / "reports" / "eval_z_x.json")
        self.run(tmp_path, 2, index())
        assert self.drift(self.run(tmp_path, 3, index()))[1] == "eval_1970-01-03_model_x.json"

    def test_files_of_an_index_whose_name_ends_alike(self, tmp_path: Path) -> None:
        """``eval_*_hnsw.json`` matches the files of ``raw_hnsw`` too."""
        raw, unit = index("raw_hnsw"), index("hnsw", "exact", self.UNIT)
        self.run(tmp_path, 1, raw, unit)
        found = self.run(tmp_path, 2, raw, unit)
        assert self.drift(found, "hnsw") == ("pass", "eval_1970-01-02_model_hnsw.json")
        assert self.drift(found, "raw_hnsw") == ("pass", "eval_1970-01-02_model_raw_hnsw.json")
        (tmp_path / "reports" / "eval_1970-01-02_model_hnsw.json").unlink()
        (tmp_path / "reports" / "eval_1970-01-03_model_hnsw.json").unlink()
        found = self.run(tmp_path, 3, raw, unit)
        assert "drift" not in found.report.to_json()["systems"]["hnsw"]

    @pytest.mark.parametrize("targets", ["", "targets = ['drift <= 5 %', 'rr@5 >= 0']\n"])
    def test_the_first_run_is_noted_and_no_error(self, tmp_path: Path, targets: str) -> None:
        """It was an error before the work; of a second index, after it."""
        found = self.run(tmp_path, 1, index(), plan=PLAN + targets)
        assert not any(subject == "drift" for subject, _ in verdicts(found))
        assert any("eval_*_x.json" in note for note in found.report.warning_lines)
        both = self.run(tmp_path, 2, index(), index("new"), plan=PLAN + targets)
        assert [name for subject, name in verdicts(both) if subject == "drift"] == ["x"]
        assert [note.partition(":")[0] for note in both.report.warning_lines if "no earlier report" in note] == ["new"]

    def test_a_target_on_the_drift_of_a_new_index(self, tmp_path: Path) -> None:
        self.run(tmp_path, 1, index())
        target = "[[target]]\nrequire = 'drift <= 5 %'\nsystem = 'new'\n"
        found = self.run(tmp_path, 2, index(), index("new"), target)
        assert found.gate is None and any(
            "target on drift was not checked" in note for note in found.report.warning_lines
        )

    def test_a_system_without_files_of_its_own_is_not_looked_for(self, tmp_path: Path) -> None:
        """Only indexes have evaluation files; looking for those of other systems was an error after the work."""
        vectors = index("v").replace("kind = 'index'\nengine = 'exact'", "kind = 'vectors'")
        self.run(tmp_path, 1, index(), vectors)
        found = self.run(tmp_path, 2, index(), vectors)
        assert self.drift(found)[0] == "pass" and not any(
            "no earlier report" in one for one in found.report.warning_lines
        )

    def test_an_index_whose_name_is_not_a_file_name(self, tmp_path: Path) -> None:
        system = index("'a b'")
        self.run(tmp_path, 1, system)
        assert self.drift(self.run(tmp_path, 2, system), "a b") == ("pass", "eval_1970-01-02_model_a_b.json")

    def test_a_file_that_is_not_a_report_is_skipped_with_a_note(self, tmp_path: Path) -> None:
        self.run(tmp_path, 1, index())
        (tmp_path / "reports" / "eval_cut_x.json").write_text('{"schema": "rankjury.rep')
        found = self.run(tmp_path, 2, index())
        assert self.drift(found) == ("pass", "eval_1970-01-02_model_x.json")
        assert any("eval_cut_x.json" in note for note in found.report.warning_lines)

    @pytest.mark.parametrize("file", ["reports/eval_last_{index}.json", "last_{index}.json", "reports/eval_all_x.json"])
    def test_the_reference_is_not_written_over(self, tmp_path: Path, file: str) -> None:
        """A failed run would replace what it was compared with."""
        pattern = self.EARLIER if "reports" in file else "earlier = 'last_{index}.json'\n"
        form = "form = 'evaluation'\n" if "{index}" in file else ""
        text = PLAN + index() + lab(pattern) + f"[[output]]\n{form}file = '{file}'\n"
        with pytest.raises(UsageError, match=r"earlier report from this file.*\{date\}"):
            check_outputs(checked(with_lab(tmp_path), text))


class TestOutputs:
    EVALUATION = "[[output]]\nform = 'evaluation'\nfile = '{file}'\n"

    def written(self, folder: Path, *parts: str) -> list[Path]:
        plan = checked(with_lab(folder), "".join(parts))
        check_outputs(plan)
        found = execute_plan(plan)
        return list(write_outputs(plan, found.report, None, found.gate))

    def test_one_an_index_with_date_and_model(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
        meta = "[meta]\nmodel_version = 'org/mini lm'\n"
        file = self.EVALUATION.format(file="reports/eval_{date}_{model}_{index}.json")
        systems = "systems.run = 'run.trec'\n" + index() + index("ivf", "faiss-ivf", IVF)
        paths = self.written(tmp_path, PLAN, systems, lab(), meta, file)
        assert [str(path.relative_to(tmp_path)) for path in paths] == [
            "reports/eval_2023-11-14_org_mini_lm_x.json",
            "reports/eval_2023-11-14_org_mini_lm_ivf.json",
        ]
        for path, name in zip(paths, ("x", "ivf"), strict=True):
            saved = read_report(str(path))
            assert list(saved.systems) == [name] and saved.provenance["made"] == "2023-11-14T22:13:20Z"

    def test_a_model_that_is_not_declared(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
        (path,) = self.written(
            tmp_path, PLAN, index(), lab(), self.EVALUATION.format(file="{date}_{model}_{index}.json")
        )
        assert path.name == "1970-01-01_model_x.json"

    def test_the_same_to_the_byte_but_for_times(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
        forms = []
        for folder in ("a", "b"):
            file = self.EVALUATION.format(file="e_{index}.json")
            (path,) = self.written(tmp_path / folder, PLAN, "targets = []\n", index("x", "faiss-ivf", IVF),
                                   lab("rounds = 0\n"), file)  # fmt: skip
            forms.append(json.loads(path.read_text()))
        for form in forms:
            form["systems"]["x"]["index"].pop("build_seconds")
            form["systems"]["x"]["figures"].pop("build_seconds")
        assert forms[0] == forms[1]

    def test_a_date_in_the_name_of_any_output(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
        (path,) = self.written(tmp_path, PLAN, "outputs = 'report_{date}.md'\n", index(), lab())
        assert path.name == "report_1970-01-01.md"

    def test_one_index_that_is_named(self, tmp_path: Path) -> None:
        file = self.EVALUATION.format(file="one.json") + "system = 'ivf'\n"
        (path,) = self.written(tmp_path, PLAN, index(), index("ivf", "faiss-ivf", IVF), lab(), file)
        assert list(read_report(str(path)).systems) == ["ivf"]

    @pytest.mark.parametrize(
        ("system", "more", "told"),
        [
            (index(), "file = 'e.json'\n", "which index is not said; expected {index} in the name of the file"),
            (index(), "file = 'e.json'\nsystem = 'y'\n", "no index is called 'y'"),
            (index(), "file = 'e_{index}.md'\n", "the form evaluation is JSON, not .md"),
            ("systems.run = 'run.trec'\n", "file = 'e_{index}.json'\n", "which index is not said"),
            (index("a b") + index("a_b"), "file = 'e_{index}.json'\n", "two outputs have one name"),
        ],
    )
    def test_refused_before_anything_is_built(self, tmp_path: Path, system: str, more: str, told: str) -> None:
        system = system.replace("[systems.a b]", "[systems.'a b']")
        with pytest.raises(UsageError) as caught:
            check_outputs(checked(tmp_path, PLAN + system + f"[[output]]\nform = 'evaluation'\n{more}"))
        assert told in str(caught.value)

    @pytest.mark.parametrize("file", ["queries.jsonl", "items.jsonl", "old.jsonl", "vectors.jsonl", "labels.jsonl"])
    def test_what_the_lab_reads_is_not_written_over(self, tmp_path: Path, file: str) -> None:
        more = lab("earlier = 'old.jsonl'\n", texts=True) + f"[[output]]\nform = 'queries'\nfile = '{file}'\n"
        text = PLAN + index().replace("vectors.npz", "vectors.jsonl") + more
        with pytest.raises(UsageError, match="the plan reads this file"):
            check_outputs(checked(tmp_path, text))

    def test_a_script_gets_the_verdicts_too(self, tmp_path: Path) -> None:
        text = PLAN + index() + lab() + self.EVALUATION.format(file="e_{index}.json")
        outcome = run_file(plan_in(with_lab(tmp_path), text), output=tmp_path / "out", archive=False)
        assert outcome.gate is not None
        form = json.loads((tmp_path / "out" / "e_x.json").read_text())
        assert form["targets"] == [one.to_json() for one in outcome.gate.verdicts]


class TestReports:
    def test_normalised_vectors_are_checked_for_rank_alike(self, tmp_path: Path) -> None:
        systems = index("raw") + index("unit", "exact", "normalise = true\n") + index("far", "exact", "metric = 'l2'\n")
        found = outcome_of(tmp_path, PLAN, systems, index("ip", "exact", "normalise = true\nmetric = 'ip'\n"), lab())
        same = {name: one.equivalence for name, one in found.report.sections_of(IndexResult).items()}
        assert same["raw"] is None and same["far"] is None
        for name in ("unit", "ip"):
            one = same[name]
            assert one is not None and (one.normalised, one.differing, one.queries, one.k) == (True, 0, Q, K)
        off = outcome_of(tmp_path, PLAN, index("unit", "exact", "normalise = true\n"), lab("verify = false\n"))
        assert off.report.sections_of(IndexResult)["unit"].equivalence is None

    def test_cosine_and_inner_product_score_alike_on_normalised_vectors_and_not_on_raw(self, tmp_path: Path) -> None:
        unit, ip = "normalise = true\n", "metric = 'ip'\n"
        systems = index("a", "exact", unit) + index("b", "exact", unit + ip) + index("c") + index("d", "exact", ip)
        found = outcome_of(tmp_path, PLAN, systems, lab()).report
        assert found.top_items["a"] == found.top_items["b"] == found.top_items["c"] != found.top_items["d"]
        assert found.estimates["a"] == found.estimates["b"]

    @pytest.mark.parametrize("more", ["", "truncate = 4\n", "dtype = 'float16'\n", "truncate = 4\ndtype = 'float16'\n"])
    def test_normalised_vectors_are_of_length_one_whatever_else_is_done(self, tmp_path: Path, more: str) -> None:
        found = outcome_of(tmp_path, PLAN, index("x", "exact", f"normalise = true\n{more}"), lab()).report
        norm = found.sections_of(Stability)["x"].norm
        assert norm.mean == pytest.approx(1.0, abs=1e-6) and norm.std < 1e-6
        assert outcome_of(tmp_path, PLAN, index(), lab()).report.sections_of(Stability)["x"].norm.mean > 1.5

    def test_losses_add_up(self, tmp_path: Path) -> None:
        found = outcome_of(tmp_path, PLAN, index("ivf", "faiss-ivf", IVF), lab()).report
        form = found.sections_of(IndexResult)["ivf"].to_json()["loss"]
        assert form["measure"] == NDCG and form["index"]["mean"] == found.estimates["ivf"][NDCG].mean
        assert form["embedding_loss"] + form["index_loss"]["mean"] == pytest.approx(1 - form["index"]["mean"])
        assert form["embedding_loss"] > 0 and form["index_loss"]["mean"] > 0

    def test_queries_that_are_items_do_not_find_themselves(self, tmp_path: Path) -> None:
        grades = [{"query_id": ITEM_IDS[n], "item_id": ITEM_IDS[n + 1], "grade": 1} for n in range(4)]
        put(with_lab(tmp_path), labels__jsonl=lines(grades))
        text = (
            PLAN + "targets = []\n" + index("x", "faiss-hnsw").replace("queries = 'vectors.npz:queries'\n", "") + lab()
        )
        found = execute_plan(checked(tmp_path, text)).report
        for name, items in zip(ITEM_IDS, found.top_items["x"], strict=False):
            assert name not in items and len(items) == K
        assert (
            found.sections_of(IndexResult)["x"].recall.mean == 1.0 and found.sections_of(IndexResult)["x"].recall.n == 4
        )

    def test_fingerprints(self, tmp_path: Path) -> None:
        """Another engine has the same vectors, normalised ones are others of the same items."""
        systems = index() + index("y", "faiss-flat") + index("unit", "exact", "normalise = true\n")
        prints = outcome_of(tmp_path, PLAN, systems, lab()).report.sections_of(Fingerprints)
        assert prints["x"] == prints["y"] and set(prints["x"]) == {"items", "vectors", "queries", "query_vectors"}
        differ = {name for name in prints["x"] if prints["x"][name] != prints["unit"][name]}
        assert differ == {"vectors", "query_vectors"}

    def test_of_a_service_without_vectors_only_ids_are_known(self, tmp_path: Path) -> None:
        """Vectors of which nothing is known are not the same as last week's."""
        text = service("svc", "by_text", ", text = true")
        found = outcome_of(tmp_path, PLAN, "targets = []\n", text, lab(texts=True)).report
        assert set(found.sections_of(Fingerprints)["svc"]) == {"items", "queries"}
        assert found.sections_of(IndexResult)["svc"].loss is None
        assert found.sections_of(Stability)["svc"].to_json()["norm"] == {
            "mean": None,
            "std": None,
        }
        assert found.top_items["svc"][0] == tuple(by_vector(QUERIES[0], K))
        json.dumps(found.to_json(queries=True), allow_nan=False)

    def test_as_deep_as_the_measures_look(self, tmp_path: Path) -> None:
        text = GOLD + "targets = []\nmeasures = ['ndcg@5', 'recall@20']\n"
        found = outcome_of(tmp_path, text, index(), index("cut", "exact", "depth = 7\n"), lab()).report
        assert {len(items) for items in found.top_items["x"]} == {20} and {
            len(items) for items in found.top_items["cut"]
        } == {7}
        assert found.sections_of(IndexResult)["x"].recall.k == K

    def test_examples_have_texts_and_names(self, tmp_path: Path) -> None:
        found = outcome_of(tmp_path, PLAN, "names = 'items.jsonl:title'\n", index(), lab(texts=True)).report
        examples = found.to_json()["systems"]["x"]["examples"]
        assert [one["kind"] for one in examples] == ["success"] * 5 + ["failure"] * 5
        assert all(one["text"] == f"text of {one['query']}" for one in examples)
        assert all(item["name"] == f"Item {item['id']}" for one in examples for item in one["items"])

    def test_sides_of_one_file_by_their_own_ids(self, tmp_path: Path) -> None:
        found = carried_out(with_lab(tmp_path), PLAN + "targets = []\n" + index() + lab()).report
        assert found.scores["x"].queries.to_list() == QUERY_IDS
        assert found.top_items["x"] == tuple(tuple(by_vector(query, K)) for query in QUERIES)


class TestSweeps:
    def test_wrong_values_are_told_with_their_key(self, tmp_path: Path) -> None:
        text = PLAN + index("x", "faiss-ivf") + "[sweep.x]\nsearch = { nprobe = [1, 'x'] }\n"
        with pytest.raises(UsageError, match=r"plan\.toml:10, sweep\.x\.search\.nprobe: .*'x'"):
            prepare_sweeps(checked(with_lab(tmp_path), text))

    def test_nothing_to_sweep(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="the plan has no sweep"):
            prepare_sweeps(checked(with_lab(tmp_path), PLAN + index()))

    def test_the_usual_gate_sets_the_aims(self, tmp_path: Path) -> None:
        text = PLAN + index("x", "faiss-ivf") + lab() + "[sweep.x]\nsearch = { nprobe = [1, 2] }\n"
        (found,) = prepare_sweeps(checked(with_lab(tmp_path), text))
        assert (found.target, found.limit_p95_ms) == (0.95, 250) and found.bench.k == K
