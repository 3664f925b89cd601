"""rankjury beside the slow protocol: a plan carried out, and its report held against it query by query."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankjury
from rankjury.evaluation.report import Report
from rankjury.labeling.keywords.partial_match import PartialMatches
from tests.specs.slow_driving import CUTS, LABELS, Keyword, Results, Truth, figures, grades_of

CLIP_SEARCH = 'kind = "vectors"\npath = "vectors.npz:clips"\n'
TEXT_SEARCH = f'{CLIP_SEARCH}queries = "vectors.npz:queries"\n'


def plan_text(gold: str, system: str, more: str = "") -> str:
    measures = json.dumps(LABELS)
    headline = json.dumps(LABELS[: len(CUTS)])
    head = f'measures = {measures}\nheadline = {headline}\nconventions.dialect = "alfa"\n'
    head += f"statistics.resamples = 100\n{more}"
    return f'{head}[systems.search]\n{system}\n[gold]\nkind = "keywords"\n{gold}\n'


def run(folder: Path, gold: str, system: str, more: str = "") -> Report:
    path = folder / "plan.toml"
    path.write_text(plan_text(gold, system, more), encoding="utf-8")
    return rankjury.run_plan(path, output=folder / "out", archive=False).report


def scores_of(report: Report, query: str) -> dict[str, float]:
    scores = report.scores["search"]
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
    scores = report.scores["search"]
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
    told = {one["query"]: one for one in report.sections_of(PartialMatches)["search"].to_json()["queries"]}
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
    assert report.sections_of(PartialMatches)["search"].to_json()["results"] == counted


def spelled(keywords: Iterable[Keyword]) -> set[str]:
    return {f"{group}={name}" for group, name in keywords}


def relevant_told(report: Report) -> dict[str, int]:
    return {one["query"]: one["relevant"] for one in report.sections_of(PartialMatches)["search"].to_json()["queries"]}


def write_vectors(path: Path, **spaces: Mapping[str, Sequence[float]]) -> None:
    arrays: dict[str, Any] = {}
    for name, vectors in spaces.items():
        arrays[name] = np.array(list(vectors.values()))
        arrays[f"{name}_ids"] = np.array(list(vectors))
    np.savez(path, **arrays)


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
