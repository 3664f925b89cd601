"""Run files evaluated by one function: what the commands print is what a script gets."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import rankjury as package
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.evaluation.report import Report
from tests import paths
from tests.cli.conftest import Rankjury

SAMPLE = paths.SAMPLES / "helpdesk"
GOLD, BM25, DENSE = (str(SAMPLE / name) for name in ("qrels.trec", "bm25.trec", "dense.trec"))
RESAMPLING = package.Resampling(resamples=200)


def printed(command: Rankjury, *arguments: str) -> Report:
    return Report.from_json(json.loads(command(*arguments, "--json", "--quiet").out))


def test_a_script_gets_what_evaluate_prints(rankjury: Rankjury) -> None:
    report = package.evaluate_files(GOLD, [BM25, DENSE], ["ndcg@10", "ap"], resampling=RESAMPLING, quantiles=[0.5])
    command = printed(
        rankjury, "evaluate", GOLD, BM25, DENSE, "-m", "ndcg@10,ap", "--resamples", "200", "--quantiles", "50"
    )
    assert command == report and list(report.scores) == ["bm25", "dense"]


def test_a_script_gets_what_compare_prints(rankjury: Rankjury) -> None:
    slices = f"{SAMPLE / 'queries.jsonl'}:type"
    report = package.evaluate_files(
        GOLD, [BM25, DENSE], ["ndcg@10"], resampling=RESAMPLING, baseline="dense", slices=[slices],
        recorded={"bm25": {"latency_p95_ms": 12.5}},
    )  # fmt: skip
    command = printed(
        rankjury, "compare", GOLD, BM25, DENSE, "-b", DENSE, "-m", "ndcg@10", "--resamples", "200", "-s", slices,
        "--record", "bm25:latency_p95_ms=12.5",
    )  # fmt: skip
    assert command == report and report.baseline == "dense" and report.slices


def test_systems_are_called_as_the_mapping_says() -> None:
    report = package.evaluate_files(GOLD, {"old": BM25, "new": DENSE}, ["ap"], intervals=False)
    assert list(report.systems) == ["old", "new"] and report.resampling is None
    assert report.provenance["runs"] == {"old": BM25, "new": DENSE}


def test_intervals_are_those_of_the_command(rankjury: Rankjury) -> None:
    assert package.evaluate_files(GOLD, [BM25], ["ap"]) == printed(rankjury, "evaluate", GOLD, BM25, "-m", "ap")


def test_scores_of_every_query_are_written(rankjury: Rankjury, tmp_path: Path) -> None:
    report = package.evaluate_files(GOLD, [BM25], ["ap"], intervals=False, per_query=tmp_path / "script.csv")
    rankjury("evaluate", GOLD, BM25, "-m", "ap", "--no-ci", "--per-query", str(tmp_path / "command.csv"))
    text = (tmp_path / "script.csv").read_text()
    assert (
        text == (tmp_path / "command.csv").read_text()
        and len(text.splitlines()) == len(report.scores["bm25"].queries) + 1
    )


def test_names_and_texts_are_read() -> None:
    report = package.evaluate_files(
        GOLD, [BM25], ["ap"], names=f"{SAMPLE / 'documents.jsonl'}:title", texts=f"{SAMPLE / 'queries.jsonl'}:text"
    )
    assert report.names and report.texts
    assert replace(report, queries=None) == package.evaluate_files(GOLD, [BM25], ["ap"])


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"baseline": "nothing"}, UnknownName),
        ({"baseline": "gone.trec"}, DataError),
        ({"recorded": {"nothing": {"a": 1.0}}}, UnknownName),
        ({"temp": Path("x")}, UsageError),
        ({"memory": "2GB", "format": "trec"}, UsageError),
        ({"master": "local[1]"}, UsageError),
        ({"per_query": "scores.txt"}, UsageError),
        ({"quantiles": 5}, UsageError),
        ({"quantiles": [2.0]}, UsageError),
        ({"slices": 5}, UsageError),
        ({"resampling": 5}, UsageError),
        ({"on": "mars"}, UnknownName),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        package.evaluate_files(GOLD, [BM25], ["ap"], **{"resampling": RESAMPLING, **options})  # type: ignore[arg-type]


def test_one_run_and_one_measure_need_no_lists() -> None:
    listed = package.evaluate_files(GOLD, [BM25], ["ap"], intervals=False)
    assert package.evaluate_files(GOLD, Path(BM25), "ap", intervals=False) == listed


def test_without_a_run_there_is_nothing_to_evaluate() -> None:
    with pytest.raises(UsageError, match="no run"):
        package.evaluate_files(GOLD, [])
