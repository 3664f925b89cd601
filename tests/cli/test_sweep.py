"""rankjury sweep: tables, files, the journal, and what is said when something is off."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankjury.retrieval.bench.sweep_result import SweepResult
from rankjury.retrieval.engines.faiss import FaissHnsw, FaissIvfPq
from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure, check_width, put
from tests.retrieval.bench.support import sweep_from_json

PLAN = """
gold = "gold.qrels"
statistics.resamples = 100
{top}
[systems.graph]
kind = "index"
engine = "faiss-hnsw"
path = "items.npz:vectors"
queries = "queries.npz:vectors"
{system}
[lab]
k = 5
rounds = 12
warm_up = 0
[sweep.graph]
build = {{ m = [4, 16] }}
search = {{ ef_search = [300, 8, 500] }}
{sweep}
"""
FILES = ("frontier.csv", "frontier.md", "frontier.png", "journal.jsonl", "sweep.json")


def put_plan(name: str = "rankjury.toml", *, top: str = "", system: str = "", sweep: str = "") -> str:
    return put(name, PLAN.format(top=top, system=system, sweep=sweep))


@pytest.fixture(autouse=True)
def _vectors(folder: Path) -> None:
    rng = np.random.default_rng(0)
    for name, count in (("item", 150), ("querie", 10)):
        values = rng.normal(size=(count, 8)).astype(np.float32)
        np.savez(folder / f"{name}s.npz", ids=np.array([f"{name[0]}{n}" for n in range(count)]), vectors=values)
    put("gold.qrels", "".join(f"q{n} 0 i{n} 1\n" for n in range(10)))


def sweep_of(path: str = "rankjury-sweep/sweep.json") -> SweepResult:
    form = json.loads(Path(path).read_text())
    assert form["schema"] == "rankjury.sweeps/1"
    (one,) = form["sweeps"]
    return sweep_from_json(one)


class TestWhatItMakes:
    def test_a_table_the_cheapest_setting_and_files_and_a_second_sweep_measures_nothing(
        self, rankjury: Rankjury, folder: Path
    ) -> None:
        put_plan(sweep="recall = 0.9")
        outcome = rankjury("sweep")
        assert outcome.code == 0, outcome.err
        check_width(outcome.out)
        assert "graph (faiss-hnsw, cosine): 150 items, 10 queries" in outcome.out
        assert "2 settings were pruned" in outcome.out
        assert "with recall@5 ≥ 0.9 and p95 ≤ 250 ms" in " ".join(outcome.out.split())
        assert "16 interleaved rounds of 8 queries" in " ".join(outcome.out.split())
        assert sorted(path.name for path in (folder / "rankjury-sweep").iterdir()) == sorted(FILES)
        assert "Wrote rankjury-sweep/sweep.json, rankjury-sweep/frontier.csv" in outcome.err
        assert "Next: put build = { m = " in outcome.err and "into [systems.graph] of rankjury.toml" in outcome.err
        assert Path("rankjury-sweep/frontier.png").read_bytes().startswith(b"\x89PNG")
        first = sweep_of()
        assert [one.status for one in first.points] == 2 * ["measured", "measured", "pruned"]

        again = rankjury("sweep", "--json")
        assert json.loads(again.out) == json.loads(Path("rankjury-sweep/sweep.json").read_text())
        assert (sweep_of().resumed, sweep_of().points) == (4, first.points)
        with Path("rankjury-sweep/frontier.csv").open() as file:
            assert [row["search.ef_search"] for row in csv.DictReader(file)] == 2 * ["8", "300", "500"]

        journal = Path("rankjury-sweep/journal.jsonl")
        journal.write_bytes(journal.read_bytes()[:-40])
        torn = rankjury("sweep")
        assert "1 unfinished or unreadable lines were passed over" in torn.err
        assert (sweep_of().resumed, sweep_of().points) == (4, first.points), "only the comparison was lost"
        assert any("was built again to be compared" in line for line in torn.warnings)

    def test_another_folder_all_settings_and_no_word_more_than_wanted(self, rankjury: Rankjury) -> None:
        put_plan()
        outcome = rankjury("sweep", "rankjury.toml", "-o", "out/here", "--no-prune", "--quiet")
        assert (outcome.code, outcome.err) == (0, "")
        assert not Path("rankjury-sweep").exists()
        first = sweep_of("out/here/sweep.json")
        assert [one.status for one in first.points] == 6 * ["measured"]

        put_plan(sweep='concurrency = 2\ncheapest = "size"')
        changed = rankjury("sweep", "-o", "out/here")
        assert any("under other conditions (concurrency): measured again" in line for line in changed.warnings)
        assert "(by size)" in " ".join(changed.out.split())

        put_plan()
        fresh = rankjury("sweep", "-o", "out/here", "--fresh")
        assert fresh.code == 0
        assert sweep_of("out/here/sweep.json").resumed == 0
        assert sweep_of("out/here/sweep.json").points != first.points

    def test_what_failed_is_told_and_tried_again_by_the_next(
        self, rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put_plan()
        whole = FaissHnsw.search

        def lost(self: Any, queries: Any, k: int, params: Any = None, **more: Any) -> Any:
            if self.metadata()["m"] == 16 and params["ef_search"] == 300:
                raise OSError("connection reset")
            return whole(self, queries, k, params, **more)

        with monkeypatch.context() as patch:
            patch.setattr(FaissHnsw, "search", lost)
            outcome = rankjury("sweep")
        assert outcome.code == 1
        assert "error: 2 of 6 settings failed" in outcome.err
        assert "results are kept; run rankjury sweep again to retry these" in outcome.err
        assert "OSError: connection reset" in outcome.out
        assert [one.status for one in sweep_of().points][3:] == ["measured", "failed", "failed"]
        assert rankjury("sweep").code == 0
        assert sweep_of().resumed == 3
        assert not sweep_of().of("failed")

    def test_settings_that_the_engine_refuses_are_no_failure_and_not_tried_again(
        self, rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """They used to end every sweep with exit code 1, and were built again by the next."""
        plan = PLAN.format(top="", system="", sweep="").replace("faiss-hnsw", "faiss-ivfpq")
        plan = plan.replace("m = [4, 16]", "m = [3, 4]").replace("ef_search = [300, 8, 500]", "nprobe = [1, 2]")
        put("rankjury.toml", plan)
        outcome = rankjury("sweep")
        assert outcome.code == 0, outcome.err
        assert "2 settings skipped, as the engine refuses them: m is 3, which does not divide 8" in " ".join(
            outcome.out.split()
        )
        assert [one.status for one in sweep_of().points] == ["skipped", "skipped", "measured", "measured"]

        def fail(*anything: Any, **more: Any) -> None:
            raise AssertionError("nothing is left to build")

        monkeypatch.setattr(FaissIvfPq, "build", fail)
        assert rankjury("sweep").code == 0
        assert sweep_of().resumed == 2


class TestRefusals:
    def test_no_plan(self, rankjury: Rankjury) -> None:
        check_failure(rankjury("sweep"), 3, "rankjury.toml", "no such file")

    def test_a_plan_without_a_sweep(self, rankjury: Rankjury) -> None:
        put("rankjury.toml", PLAN.format(top="", system="", sweep="").partition("[sweep.graph]")[0])
        check_failure(rankjury("sweep"), 2, "the plan has no sweep", "[sweep.NAME]")

    def test_a_sweep_of_what_is_no_index(self, rankjury: Rankjury) -> None:
        put_plan(sweep="[sweep.grahp]\nsearch = { ef_search = [1] }")
        check_failure(rankjury("sweep"), 2, "rankjury.toml:18", "sweep.grahp", "Did you mean graph")

    def test_parameters_that_the_engine_does_not_know(self, rankjury: Rankjury) -> None:
        put("rankjury.toml", PLAN.format(top="", system="", sweep="").replace("ef_search = [300", "ef_serch = [300"))
        check_failure(rankjury("sweep"), 2, "rankjury.toml:17", "sweep.graph.search.ef_serch", "Did you mean ef_search")

    def test_values_out_of_bounds(self, rankjury: Rankjury) -> None:
        put("rankjury.toml", PLAN.format(top="", system="", sweep="").replace("[4, 16]", "[4, 1]"))
        check_failure(rankjury("sweep"), 2, "sweep.graph.build.m", "m is 1; expected 2 or more")

    @pytest.mark.parametrize("wrong", ["recall = 1.5", "p95_ms = 0", 'cheapest = "price"', "recal = 0.9"])
    def test_keys_that_make_no_sense(self, rankjury: Rankjury, wrong: str) -> None:
        put_plan(sweep=wrong)
        check_failure(rankjury("sweep"), 2, "rankjury.toml:18", f"sweep.graph.{wrong.split()[0]}")

    def test_no_rounds_no_times(self, rankjury: Rankjury) -> None:
        put("rankjury.toml", PLAN.format(top="", system="", sweep="").replace("rounds = 12", "rounds = 0"))
        check_failure(rankjury("sweep"), 2, "lab.rounds", "a sweep measures times")

    def test_a_file_where_the_folder_should_be(self, rankjury: Rankjury) -> None:
        put_plan()
        put("out", "mine")
        check_failure(rankjury("sweep", "-o", "out"), 3, "this is a file")
        assert Path("out").read_text() == "mine"

    def test_a_journal_that_is_none_is_left_alone(self, rankjury: Rankjury) -> None:
        put_plan()
        put("rankjury-sweep/journal.jsonl", "dear diary\n")
        check_failure(rankjury("sweep", "--fresh"), 3, "not a journal of rankjury")
        assert Path("rankjury-sweep/journal.jsonl").read_text() == "dear diary\n"
