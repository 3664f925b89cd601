"""`rankjury init PROTOCOL` on the files of each sample, and on real data where it is there: the whole protocol runs."""

import json
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from rankjury.plan.draft import draft_plan
from rankjury.plan.folder_scan import scan_folder
from rankjury.plan.outputs import write_outputs
from rankjury.plan.parse import CheckedPlan, read_plan
from rankjury.plan.run import Outcome, execute_plan
from rankjury.retrieval.agreement.stats import Agreement
from tests.plan import QUICK

SHARED = Path("/work/shared/data")
SAMPLES = Path(str(files("rankjury.plan") / "samples"))
PLANS = ("rankjury.toml", "clips.toml", "chunks.toml", "variants.toml", "README.md")


def draft_in(folder: Path, kind: str) -> tuple[CheckedPlan, dict[str, str]]:
    drafted = draft_plan(kind, scan_folder(folder), kind)
    assert drafted.notes.summary and not drafted.notes.missing
    (folder / "rankjury.toml").write_text(QUICK + drafted.text)
    return read_plan(folder / "rankjury.toml"), dict(drafted.companions)


def carry_out(folder: Path, kind: str) -> tuple[Outcome, list[str]]:
    """The outcome of the drafted plan, and the names of the files that it writes."""
    checked, companions = draft_in(folder, kind)
    outcome = execute_plan(checked)
    written = write_outputs(checked, outcome.report, gate=outcome.gate)
    for key, text in companions.items():
        (folder / f"{key}.toml").write_text(QUICK + text)
        execute_plan(read_plan(folder / f"{key}.toml"))
    return outcome, sorted(path.name for path in written)


def sample_in(folder: Path, name: str) -> Path:
    for path in (SAMPLES / name).iterdir():
        if path.name not in PLANS:
            shutil.copy(path, folder)
    return folder


def test_movies_writes_the_report_of_section_8(tmp_path: Path) -> None:
    _, written = carry_out(sample_in(tmp_path, "movies"), "movies")
    assert {"report.html", "report.json"} <= set(written)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["K"] == 5 and set(report["anchor"]) == {"mean_hits", "mean_mrr", "mean_ndcg"}
    assert set(report["weights"]) == {"anchor", "content", "vibe"} and "combined_weighted_rrf" in report
    assert len(report["per_query"]) == 50
    assert all(len(one["combined"]["topK"]) == 5 for one in report["per_query"].values())


def test_papers_writes_tables_and_the_plot(tmp_path: Path) -> None:
    outcome, written = carry_out(sample_in(tmp_path, "papers"), "papers")
    assert {"metrics_vs_k.png", "candidate_results.csv", "report.html", "queries.parquet"} == set(written) - {
        "report.json"
    }
    assert {f"recall(over=k,gold=k)@{k}" for k in (1, 3, 5, 10)} <= set(outcome.report.labels)
    assert set(outcome.report.sections_of(Agreement)) == {"candidate"}


def test_fashion_tries_indexes_and_writes_one_evaluation_each(tmp_path: Path) -> None:
    folder = sample_in(tmp_path, "fashion")
    checked, _ = draft_in(folder, "fashion")
    assert {"exact"} <= set(checked.plan.systems) <= {"exact", "hnsw", "pgvector"}
    assert checked.plan.lab.queries == "queries.jsonl" and checked.plan.lab.items == "catalogue.jsonl"
    subjects = " ".join(str(target) for target in checked.targets)
    assert all(word in subjects for word in ("ndcg(gain=exp)@10", "ann_recall@10", "latency_p95_ms", "drift"))
    only = (folder / "rankjury.toml").read_text().replace("rate = 1000 ", "rounds = 1 ")
    (folder / "rankjury.toml").write_text(only)
    checked = read_plan(folder / "rankjury.toml")
    outcome = execute_plan(checked)
    written = {path.name for path in write_outputs(checked, outcome.report, gate=outcome.gate)}
    assert outcome.gate is not None
    assert all(any(name.startswith("eval_") and name.endswith(f"_{system}.json") for name in written)
               for system in outcome.report.systems)  # fmt: skip


def test_driving_has_both_searches_and_map_that_is_not_cut(tmp_path: Path) -> None:
    outcome, written = carry_out(sample_in(tmp_path, "driving"), "driving")
    assert {"Recall@1", "Recall@3", "Recall@5", "Precision@5", "NDCG@5", "MAP@5", "MAP"} <= set(outcome.report.labels)
    assert read_plan(tmp_path / "items.toml").plan.gold.queries is None  # type: ignore[attr-defined]
    assert "report.html" in written


def test_movielens_has_tiers_split_and_grids(tmp_path: Path) -> None:
    checked, _ = draft_in(sample_in(tmp_path, "movielens"), "movielens")
    assert {"ndcg@10", "precision(rel=4)@10", "recall(rel=4)@10"} <= set(checked.plan.headline)
    assert checked.plan.cutoffs == [5, 10, 20] and checked.plan.tune
    split, tiers = checked.plan.gold.split, checked.plan.gold.tiers  # type: ignore[attr-defined]
    assert split.kind == "temporal" and split.options["fractions"] == [0.8, 0.1, 0.1]
    assert (tiers.activity, tiers.popularity, tiers.cold_users) == (4, [0.5, 0.8], 10)


def linked(folder: Path, source: Path) -> Path:
    """The files of a folder of shared data, which cannot be written to."""
    if not source.is_dir():
        pytest.skip(f"{source} is not here")
    for path in source.iterdir():
        (folder / path.name).symlink_to(path)
    return folder


def test_real_papers(tmp_path: Path) -> None:
    checked, _ = draft_in(linked(tmp_path, SHARED / "papers"), "papers")
    assert checked.plan.gold.path == "reference_minilm.npy"  # type: ignore[attr-defined]
    assert list(checked.plan.systems) == ["candidate_wordllama"]
    asked = (tmp_path / "rankjury.toml").read_text().replace("# sample = 500 ", "sample = 50 ")
    (tmp_path / "rankjury.toml").write_text(asked)
    report = execute_plan(read_plan(tmp_path / "rankjury.toml")).report
    assert len(report.scores["candidate_wordllama"].queries) == 50


def test_real_ratings(tmp_path: Path) -> None:
    checked, _ = draft_in(linked(tmp_path, SHARED / "interactions" / "ml-latest-small"), "movielens")
    assert checked.plan.gold.items == "movies.csv"  # type: ignore[attr-defined]
    text = (tmp_path / "rankjury.toml").read_text().partition("[systems.item-knn]")[0]
    (tmp_path / "rankjury.toml").write_text(text)
    assert list(execute_plan(read_plan(tmp_path / "rankjury.toml")).report.systems) == ["popularity"]


def test_real_clips_lack_vectors(tmp_path: Path) -> None:
    found = scan_folder(linked(tmp_path, SHARED / "driving"))
    assert list(found.annotated) == ["jaad_clips.csv"]
    notes = draft_plan("driving", found, "x").notes
    assert not notes.summary and {"queries.jsonl", "vectors.npz:clips", "vectors.npz:queries"} == set(notes.missing)


def test_real_qrels_lack_a_run(tmp_path: Path) -> None:
    found = scan_folder(linked(tmp_path, SHARED / "vaswani"))
    queries = found.facts_of("qrels").queries
    assert found.golds == ["qrels"] and queries is not None and len(queries) == 93
