"""Odd values given to every argument of every public function: an error of rankjury, never one from inside."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankjury
from rankjury.errors import RankjuryError, UsageError
from rankjury.evaluation.targets import Target
from rankjury.retrieval.engines.base import ENGINES

GOLD, RUN = {"q": {"a": 1, "b": 0}}, {"q": {"a": 2.0, "b": 1.0}}
IDS, MATRIX = ["a", "b", "c"], np.eye(3) + 0.1


class _Odd:
    pass


def _odd_values() -> Iterator[Any]:
    """Values of every kind, new ones for each call: some can be read once."""
    yield from (None, 0, -1, 2**63, 10**5000, 1.5, float("nan"), True, "", "a", "\0", "x" * 5000, b"a", _Odd(), _Odd)
    yield from ([], [None], [[1, 2], [3]], (), {}, {"a": None}, {"q": {"a": 10**400}}, {None: 1}, {1, 2}, iter([1]))
    yield from (np.array(1), np.array([]), np.array(["a"]), np.zeros((2, 2, 2)), np.array([None]), np.int8(3))
    yield from (pl.Series([[1]]), pl.Series([None]), pl.DataFrame(), pl.DataFrame({"query_id": [[1]], "item_id": [1]}))
    yield from (pl.LazyFrame({"a": [1]}).select("b"), pl.col("a"), rankjury.Measure("ndcg", 5), Path("a\0b"))


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Arguments with which each function works."""
    folder = tmp_path_factory.mktemp("arguments")
    rows = [f"u{user},i{item},{user + item},{1000 * item + user}" for user in range(8) for item in range(6)]
    (folder / "log.csv").write_text("user_id,item_id,rating,timestamp\n" + "\n".join(rows) + "\n")
    (folder / "clips.csv").write_text("clip,thing\nc1,car|van\nc2,bike\n")
    (folder / "items.jsonl").write_text('{"id": "a", "title": "red dress"}\n')
    vectors, log = rankjury.Vectors(IDS, MATRIX), rankjury.read_log(folder / "log.csv")
    split, annotations = rankjury.split_log(log), rankjury.read_annotations(folder / "clips.csv")
    quick = rankjury.Resampling(resamples=100)
    report = rankjury.compare(GOLD, {"x": RUN, "y": RUN}, "ap", resampling=quick)
    ranking = rankjury.as_ranking(RUN)
    return {
        "agree": {"reference": vectors, "candidates": {"w": vectors}, "k_values": [1], "pairs": 5, "resampling": None},
        "as_gold": {"given": GOLD},
        "as_ranking": {"given": RUN},
        "audit": {"log": log},
        "compare": {"gold": GOLD, "rankings": {"x": RUN, "y": RUN}, "measures": ["ap"], "resampling": quick},
        "drift_between": {"new": report, "old": report},
        "evaluate": {"gold": GOLD, "ranking": RUN, "measures": ["ap"]},
        "evaluate_arrays": {"recommended": np.array([[0, 1]]), "held_out": np.array([[0]]), "measures": ["ap"]},
        "explain": {"gold": GOLD, "ranking": RUN, "measure": "ap"},
        "fuse": {"rankings": [ranking, ranking], "fusion": rankjury.Fusion()},
        "gate": {"report": report, "baseline": "x"},
        "held_out": {"log": split},
        "keyword_gold": {"annotations": annotations},
        "label": {
            "catalogue": rankjury.read_catalogue(folder / "items.jsonl"),
            "queries": pl.DataFrame({"id": ["q"], "text": ["red"]}),
        },
        "map_texts": {"texts": ["a car"], "vocabulary": annotations.vocabulary},
        "ordered_gold": {"lists": {"q": ["a"]}},
        "rank_vectors": {"corpus": vectors},
        "read_annotations": {"given": folder / "clips.csv"},
        "read_catalogue": {"given": folder / "items.jsonl"},
        "read_log": {"path": folder / "log.csv"},
        "recommend": {"task": rankjury.held_out(split), "model": "popularity", "k": 2},
        "split_log": {"log": log},
        "try_index": {"corpus": vectors, "engine": "exact", "k": 1, "clock": None, "resampling": None},
        "Fusion": {},
        "Measure": {"name": "ndcg", "k": 5},
        "Resampling": {},
        "Vectors": {"ids": IDS, "values": MATRIX},
    }


FUNCTIONS = [
    *("agree", "as_gold", "as_ranking", "audit", "compare", "drift_between", "evaluate", "evaluate_arrays", "explain"),
    *("fuse", "gate", "held_out", "keyword_gold", "label", "map_texts", "ordered_gold", "rank_vectors"),
    *("read_annotations", "read_catalogue", "read_log", "recommend", "split_log", "try_index"),
    *("Fusion", "Measure", "Resampling", "Vectors"),
]
CALLED = ("progress", "search")
"""Functions of the caller, whose errors are the caller's."""


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_an_odd_argument_is_an_error_of_rankjury(
    calls: dict[str, dict[str, Any]], name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    function = getattr(rankjury, name)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL) or parameter.name in CALLED:
            continue
        for value in _odd_values():
            try:
                function(**calls[name] | {parameter.name: value})
            except RankjuryError as error:
                assert len(str(error)) < 5000
            except BaseException as error:
                shown = type(value).__name__
                pytest.fail(f"{name}({parameter.name}=<{shown}>) raised {type(error).__name__}: {str(error)[:200]}")


def _methods(calls: dict[str, dict[str, Any]]) -> Iterator[Any]:
    split, report = calls["held_out"]["log"], calls["gate"]["report"]
    vectors, annotations = calls["rank_vectors"]["corpus"], calls["keyword_gold"]["annotations"]
    yield from (vectors.take, vectors.rows_of, split.log.take, split.log.with_items, split.size, split.held_out)
    yield split.window
    yield from (annotations.keywords_of, annotations.rows_of, annotations.select)
    yield from (report.only, report.name_of, report.both_names, report.scores["x"].__getitem__)
    yield from (report.scores["x"].estimates, report.scores["x"].part, report.scores["x"].summary)
    yield from (
        rankjury.Measure("ndcg").with_options,
        rankjury.Fusion().weights_of,
        Target("ap", ">=", 0.5).holds,
    )
    yield calls["label"]["catalogue"].corpus


def test_an_odd_argument_of_a_method_is_an_error_of_rankjury(calls: dict[str, dict[str, Any]]) -> None:
    odd = (
        None,
        [],
        "",
        "a",
        b"a",
        10**400,
        _Odd(),
        [None],
        np.array(["a"]),
        np.array([]),
        pl.Series([[1]]),
        pl.col("a"),
    )
    for method in _methods(calls):
        for value in odd:
            try:
                method(value)
            except RankjuryError:
                pass
            except BaseException as error:
                shown = type(value).__name__
                pytest.fail(f"{method.__qualname__}(<{shown}>) raised {type(error).__name__}: {str(error)[:200]}")


@pytest.mark.parametrize("function", [rankjury.Measure.parse, rankjury.Fusion.parse, ENGINES.get])
@pytest.mark.parametrize("value", [None, 3, [], b"a", "x" * 5000, "ndcg@" + "9" * 5000])
def test_spellings_that_are_none(function: Any, value: Any) -> None:
    with pytest.raises(UsageError):
        function(value)


def test_vectors_leave_the_array_of_the_caller_as_it_is() -> None:
    matrix = np.eye(3)
    vectors = rankjury.Vectors(pl.Series(IDS), matrix)
    matrix[0, 0] = 2
    assert matrix.flags.writeable and not vectors.values.flags.writeable


def test_vectors_by_space_are_refused_with_a_hint() -> None:
    with pytest.raises(rankjury.DataError) as caught:
        rankjury.Vectors({"a": {"plot": [1.0, 2.0]}})
    assert "'a'" in str(caught.value) and caught.value.hint


def test_small_numbers_of_numpy_do_not_overflow() -> None:
    vectors = rankjury.Vectors(IDS, MATRIX)
    report = rankjury.agree(vectors, {"w": vectors}, [1], pairs=np.int8(3), seed=np.int8(3), resampling=None)  # type: ignore[arg-type]
    assert "w" in report.systems
