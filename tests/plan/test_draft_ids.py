"""Drafts of plans for vectors whose ids are in lists of their own, such as doc_ids.txt and query_ids.txt."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from rankjury.plan.draft import DraftedPlan, draft_plan, kind_for
from rankjury.plan.folder_scan import scan_folder
from rankjury.plan.run import run_plan

QUERIES, ITEMS = 12, 30


def drafted(folder: Path, *, lists: bool = True, grade: int = 1) -> tuple[str, DraftedPlan]:
    """Row i of the queries, called i + 1, is alike to item di."""
    matrix = np.eye(ITEMS) + 0.01
    for model in ("bge", "minilm"):
        np.save(folder / f"{model}_corpus.npy", matrix)
        np.save(folder / f"{model}_queries.npy", matrix[:QUERIES])
    if lists:
        (folder / "doc_ids.txt").write_text("".join(f"d{row}\n" for row in range(ITEMS)))
        (folder / "query_ids.txt").write_text("".join(f"{row + 1}\n" for row in range(QUERIES)))
    rows = "".join(f"{row + 1}\td{row}\t{grade}\n" for row in range(QUERIES))
    (folder / "qrels.tsv").write_text("query_id\titem_id\tgrade\n" + rows)
    found = scan_folder(folder)
    kind = kind_for(found)
    return kind, draft_plan(kind, found, "test")


def test_lists_of_ids(tmp_path: Path) -> None:
    kind, plan = drafted(tmp_path)
    systems = tomllib.loads(plan.text)["systems"]
    assert kind == "search" and not plan.notes.left_out
    for model in ("bge", "minilm"):
        assert systems[f"{model}_corpus"] == {
            "kind": "vectors",
            "path": f"{model}_corpus.npy",
            "ids": "doc_ids.txt",
            "queries": f"{model}_queries.npy",
            "queries_ids": "query_ids.txt",
        }
    (tmp_path / "plan.toml").write_text(plan.text)
    report = run_plan(tmp_path / "plan.toml", archive=False, write=False).report
    assert {means["ndcg@10"] for means in report.mean().values()} == {1.0}


def test_gold_that_is_not_used(tmp_path: Path) -> None:
    kind, plan = drafted(tmp_path, lists=False)
    assert kind == "reference" and "qrels.tsv" in plan.notes.left_out


@pytest.mark.parametrize(("grade", "assumed"), [(1, False), (3, True)])
def test_threshold_is_assumed(tmp_path: Path, grade: int, assumed: bool) -> None:
    _, plan = drafted(tmp_path, grade=grade)
    assert ("rel=2" in plan.text) == assumed
    assert any("rel=2" in text for text in plan.notes.assumed) == assumed
