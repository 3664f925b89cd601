"""Documentation of public functions and methods: every parameter is described, and examples run."""

import doctest
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankjury
from rankjury.errors import UnknownName
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.sections import ScoreHistogram

MADE_BY_USERS = {"Fusion", "Measure", "Resampling", "Vectors"}
"""Classes whose constructor users call; the others come from functions."""
NOT_RUN = re.compile("spark|run_plan|drift_between")
"""Needs Java, a plan, or the stability of an index, which only a plan records."""


def _functions() -> Iterator[tuple[str, Any]]:
    for name in rankjury.__all__:
        found = getattr(rankjury, name)
        if inspect.isfunction(found):
            yield name, found
        elif inspect.isclass(found):
            if not issubclass(found, Exception):
                yield name, found
            for method, value in vars(found).items():
                function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
                if not method.startswith("_") and inspect.isfunction(function):
                    yield f"{name}.{method}", function
    for name in rankjury.scale.__all__:
        yield f"scale.{name}", getattr(rankjury.scale, name)


FUNCTIONS = dict(_functions())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_described(name: str) -> None:
    function, text = FUNCTIONS[name], inspect.getdoc(FUNCTIONS[name]) or ""
    described = re.findall(r"^    \*{0,2}(\w+): ", (text.partition("\nArgs:\n")[2]).partition("\n\n")[0], re.MULTILINE)
    if inspect.isclass(function) and name not in MADE_BY_USERS:
        return
    taken = list(inspect.signature(function).parameters)
    taken = taken[1:] if "." in name and not name.startswith("scale.") and taken[0] in ("self", "cls") else taken
    assert described == taken, f"{name}: Args has {described}, the signature {taken}"
    assert ">>> " in text, f"{name} has no example"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_result_is_described(name: str) -> None:
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    if inspect.isclass(FUNCTIONS[name]):
        return
    verb = text.split(maxsplit=1)[0]
    assert "Returns:" in text or "Yields:" in text or verb in ("Return", "Drop"), f"{name} does not say what it returns"


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What examples may use: files in the current folder, and a value of each kind."""
    monkeypatch.chdir(tmp_path)
    gold, run = {"q1": {"a": 2, "b": 1}, "q2": {"b": 1}}, {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 2.0, "b": 1.0}}
    Path("qrels.trec").write_text("q1 0 a 2\nq1 0 b 1\nq2 0 b 1\n")
    for name in ("run", "dense"):
        Path(f"{name}.trec").write_text("q1 Q0 a 1 2.0 x\nq1 Q0 b 2 1.0 x\nq2 Q0 a 1 2.0 x\nq2 Q0 b 2 1.0 x\n")
    rankjury.as_gold(gold).frame().write_parquet("gold.parquet")
    for name in ("old", "new"):
        rankjury.as_ranking(run).frame().write_parquet(f"{name}.parquet")
    rows = [f"u{user},i{item},{1 + (user + item) % 5},{1000 * item + user}" for user in range(12) for item in range(10)]
    Path("ratings.csv").write_text("user_id,item_id,rating,timestamp\n" + "\n".join(rows) + "\n")
    Path("movies.csv").write_text("item_id,genre\n" + "\n".join(f"i{item},g{item % 2}" for item in range(10)) + "\n")
    Path("clips.csv").write_text("clip,thing\nc1,car|van\nc2,bike|car\n")
    Path("items.jsonl").write_text(json.dumps({"id": "a", "title": "red dress"}) + "\n")
    np.savez("vectors.npz", anchor=np.eye(3), anchor_ids=np.array(["a", "b", "c"]), other=np.eye(3))
    report = rankjury.compare(gold, {"bm25": run, "dense": run}, ["rr", "ndcg@10"])
    task = rankjury.held_out("ratings.csv", items="movies.csv")
    return {
        **{"Gate": Gate, "ScoreHistogram": ScoreHistogram},
        **{"rankjury": rankjury, "np": np, "pl": pl, "report": report, "task": task},
        **{"scores": rankjury.evaluate(gold, run, ["rr", "ndcg@10"]), "gold": rankjury.as_gold(gold)},
        **{"ranking": rankjury.as_ranking(run), "vectors": rankjury.Vectors(["a", "b"], np.eye(2))},
        **{"error": UnknownName("measure", "ndgc", ["ndcg"]), "log": rankjury.read_log("ratings.csv")},
    }


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_examples_run(name: str, names: dict[str, Any]) -> None:
    for example in doctest.DocTestParser().get_examples(inspect.getdoc(FUNCTIONS[name]) or ""):
        if NOT_RUN.search(example.source):
            continue
        try:
            shown = eval(example.source, names)
        except SyntaxError:
            exec(example.source, names)
            continue
        if example.want:
            assert repr(shown) == example.want.strip() if shown is not None else True, example.source


def test_examples_that_print(names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    for function in FUNCTIONS.values():
        for example in doctest.DocTestParser().get_examples(inspect.getdoc(function) or ""):
            if example.source.startswith("print("):
                exec(example.source, names)
                assert capsys.readouterr().out == example.want, example.source
