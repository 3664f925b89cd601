"""Hostile texts come through rankjury's readers as they are, so that pages are really shown them."""

import json
from pathlib import Path

import pytest

from rankjury.errors import DataError
from rankjury.io.formats import read_run
from rankjury.plan.run import run_plan
from tests.browser.hostile import HOSTILE, LONE_SURROGATE, SYSTEMS, hostile_plan, item_of, slices_of, title_of

TEXTS = list(HOSTILE.values())


def test_all_texts_come_through_unchanged(tmp_path: Path) -> None:
    outcome = run_plan(hostile_plan(tmp_path), archive=False, write=False)
    report, answers = outcome.report, outcome.report.answers
    assert answers is not None
    assert set(answers.queries) == set(TEXTS)
    assert list(report.systems) == list(answers.systems) == list(SYSTEMS)
    for listed in (*answers.systems.values(), *answers.golds.values()):
        assert set(listed.items) == set(map(item_of, TEXTS))
    assert [report.names[item_of(text)] for text in TEXTS] == [title_of(place) for place in range(len(TEXTS))]
    assert {part.name for part in report.slices} >= set(slices_of(TEXTS))
    assert outcome.gate is not None
    assert {verdict.outcome for verdict in outcome.gate.verdicts} == {"pass", "fail"}
    json.dumps(report.to_json(), allow_nan=False)


def test_queries_get_better_and_worse(tmp_path: Path) -> None:
    changes = [
        change.to_json() for change in run_plan(hostile_plan(tmp_path), archive=False, write=False).report.changes
    ]
    assert {change["system"] for change in changes} == set(SYSTEMS[1:])


def test_half_of_a_pair_does_not_get_in(tmp_path: Path) -> None:
    nested, lines = tmp_path / "run.json", tmp_path / "run.jsonl"
    nested.write_text(json.dumps({LONE_SURROGATE: {"a": 1.0}}))
    lines.write_text(json.dumps({"query_id": LONE_SURROGATE, "item_id": "a", "score": 1}) + "\n")
    for path in (nested, lines):
        with pytest.raises(DataError, match="surrogate"):
            read_run(path)
