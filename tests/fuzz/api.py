"""Fuzz surface of the Python API: valid calls of every public function with one argument, key, cell or type replaced.

Arguments are JSON trees in which an object with a single key that begins with ``$`` stands for a value that JSON does
not know: ``{"$array": [...]}``, ``{"$frame": {...}}``, ``{"$gold": {...}}``. So a case can be kept and repeated, and
mutations of trees reach into arrays and frames.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl

import rankjury
from rankjury.errors import RankjuryError
from rankjury.evaluation.report import read_report
from tests.fuzz import inputs, mutators
from tests.fuzz.harness import Case, Surface, register


class _Skip(Exception):  # noqa: N818 - not an error
    """A tree that stands for no argument."""


# Trees and the values that they stand for.

_OBJECTS: Mapping[str, Callable[[], Any]] = {
    "object": object,
    "bytes": lambda: b"a",
    "set": lambda: {"a"},
    "iterator": lambda: iter(["a", "b"]),
    "function": lambda: len,
    "type": lambda: int,
    "complex": lambda: 1j,
    "nan": lambda: float("nan"),
    "datetime": lambda: np.datetime64("2026-01-01"),
    "float32": lambda: np.float32(0.5),
    "int8": lambda: np.int8(-1),
    "bool": lambda: np.bool_(True),
    "series": lambda: pl.Series(["a", None]),
    "frame": lambda: pl.DataFrame({"a": [1]}),
    "lazy": lambda: pl.LazyFrame({"a": [1]}),
    "empty frame": pl.DataFrame,
    "pandas": lambda: pd.DataFrame({"a": [1, None]}),
    "array": lambda: np.zeros((2, 0)),
    "objects": lambda: np.array(["a", 1, None], dtype=object),
    "structured": lambda: np.zeros(2, dtype=[("a", "i4")]),
    "path": lambda: Path("missing"),
    "folder": lambda: Path(),
}
"""Values of other types, by name."""
_DTYPES = (
    *("float64", "float32", "float16", "int64", "int32", "uint8", "bool", "object", "str", "complex128", "S3"),
    *("datetime64[s]", "longdouble"),
)
_POLARS: dict[str, Any] = {
    "Int8": pl.Int8,
    "UInt64": pl.UInt64,
    "Float32": pl.Float32,
    "String": pl.String,
    "Binary": pl.Binary,
    "Categorical": pl.Categorical,
    "Date": pl.Date,
    "Datetime": pl.Datetime,
    "Boolean": pl.Boolean,
    "Null": pl.Null,
    "Decimal": pl.Decimal(10, 2),
    "Object": pl.Object,
}


def _value(tree: Any) -> Any:
    """Return what a tree stands for."""
    if isinstance(tree, list):
        return [_value(one) for one in tree]
    if not isinstance(tree, dict):
        return tree
    tag = next(iter(tree), "")
    make = _MADE.get(tag) if len(tree) == 1 else None
    if make is None:
        return {key: _value(one) for key, one in tree.items()}
    try:
        return make(tree[tag])
    except RankjuryError:
        raise
    except BaseException as error:  # the value cannot even be made, whatever NumPy or Polars says about it
        not_taken = isinstance(error, TypeError) and "argument" in str(error)
        if isinstance(error, KeyboardInterrupt) or (_innermost(error) and not not_taken):
            raise
        raise _Skip from error


def _innermost(error: BaseException) -> str:
    trace = error.__traceback__
    files = []
    while trace is not None:
        files.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    return next((name for name in reversed(files) if "/src/rankjury/" in name), "")


def _array(tree: Any) -> Any:
    given = tree if isinstance(tree, dict) else {"values": tree}
    array = np.array(_value(given.get("values")), dtype=given.get("dtype"))
    order = given.get("order")
    return np.asfortranarray(array) if order == "F" else array[::-1] if order == "reversed" else array


def _frame(tree: Any) -> Any:
    given = tree if isinstance(tree, dict) and "columns" in tree else {"columns": tree}
    frame = pl.DataFrame(_value(given["columns"]), strict=False)
    for column, name in (given.get("dtypes") or {}).items():
        frame = frame.with_columns(pl.col(column).cast(_POLARS[name], strict=False))
    return frame.to_pandas() if given.get("pandas") else frame.lazy() if given.get("lazy") else frame


def _pairs(tree: Any) -> Any:
    return {_hashable(_value(key)): _value(value) for key, value in tree}


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


_MADE: Mapping[str, Callable[[Any], Any]] = {
    "$array": _array,
    "$frame": _frame,
    "$pairs": _pairs,
    "$tuple": lambda tree: tuple(_value(tree)),
    "$path": Path,
    "$object": lambda name: _OBJECTS[name](),
    "$gold": lambda tree: rankjury.as_gold(_value(tree)),
    "$ranking": lambda tree: rankjury.as_ranking(_value(tree)),
    "$report": lambda tree: _compared(json.dumps(tree)),
    "$resampling": lambda tree: rankjury.Resampling(**_value(tree)),
    "$fusion": lambda tree: rankjury.Fusion(**_value(tree)),
    "$vectors": lambda tree: rankjury.Vectors(pl.Series(_value(tree["ids"])), _value(tree["values"])),
    "$annotations": lambda tree: rankjury.read_annotations(tree),
    "$vocabulary": lambda tree: rankjury.read_annotations(tree).vocabulary,
    "$catalogue": lambda tree: rankjury.read_catalogue(tree),
    "$saved": lambda tree: read_report(str(tree)),
    "$log": lambda tree: rankjury.read_log(_value(tree)),
    "$task": lambda tree: rankjury.held_out(_value(tree), kind="leave-last", n=1),
}


@cache
def _compared(arguments: str) -> Any:
    return rankjury.compare(**_value(json.loads(arguments)))


# Valid calls.

_GOLD = {"q1": {"a": 1, "b": 0}, "q2": {"c": 2, "a": 1}, "q3": {"b": 1}}
_RUN = {"q1": {"a": 2.5, "b": 1.5}, "q2": {"d": 0.9, "c": 0.5}, "q3": {"b": 0.1}}
_OTHER = {"q1": ["b", "a"], "q2": ["c", "d", "a"], "q3": ["a", "b"]}
_GOLD_FRAME = {
    "$frame": {
        "columns": {"query_id": ["q1", "q1", "q2"], "item_id": ["a", "b", "c"], "grade": [1, 0, 2]},
        "dtypes": {},
        "pandas": False,
    }
}
_RUN_FRAME = {
    "$frame": {
        "columns": {"query_id": ["q1", "q1", "q2"], "item_id": ["a", "b", "d"], "score": [0.5, 0.25, 1.0]},
        "dtypes": {},
        "pandas": True,
    }
}
_SLICES = {"$frame": {"columns": {"query_id": ["q1", "q2", "q3"], "type": ["x", "y", "x"], "length": [1, 2, 3]}}}
_ITEM_SLICES = {"$frame": {"columns": {"item_id": ["a", "b", "c"], "kind": ["x", "y", "x"]}}}
_HOW = {"$resampling": {"resamples": 100, "level": 0.95, "seed": 0, "interval": "auto"}}
_COMPARED = {"gold": _GOLD, "rankings": {"old": _RUN, "new": _OTHER}, "measures": ["rr", "ndcg@3"], "resampling": _HOW}
_MATRIX = [[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.9, 0.1, 0.4], [0.5, 0.5, 0.5], [0.1, 0.7, 0.2]]
_NEARLY = [[1.0, 0.1], [0.1, 1.0], [0.8, 0.2], [0.5, 0.4], [0.2, 0.7]]
_VECTORS = {
    "$vectors": {"ids": ["a", "b", "c", "d", "e"], "values": {"$array": {"values": _MATRIX, "dtype": "float32"}}}
}
_LOG = {
    "$frame": {
        "columns": {
            "user": [f"u{n % 5}" for n in range(30)],
            "item": [f"i{(n * 7 + n // 5) % 9}" for n in range(30)],
            "rating": [1.0 + n % 5 for n in range(30)],
            "time": [1_000_000_000 + 3600 * n for n in range(30)],
        }
    }
}

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "evaluate",
        {"gold": _GOLD, "ranking": _RUN, "measures": ["rr", "ndcg@3"], "ties": "order", "missing": "skip", "rel": 1},
    ),
    (
        "evaluate",
        {"gold": _GOLD_FRAME, "ranking": _RUN_FRAME, "measures": "ap", "duplicates": "first", "dialect": None},
    ),
    (
        "evaluate",
        {
            "gold": {"$array": {"values": [[1, 2], [3, -1]], "dtype": "int64"}},
            "ranking": {"$array": {"values": [[2, 1, 5], [3, 4, -1]], "dtype": "int32", "order": "F"}},
            "measures": {"$tuple": ["precision@2", "recall@2"]},
        },
    ),
    ("evaluate", {"gold": "gold.qrels", "ranking": {"$path": "run.trec"}, "measures": ["rr"], "dialect": "trec_eval"}),
    ("explain", {"gold": "gold.qrels", "ranking": {"$path": "run.trec"}, "measure": "ndcg@5", "duplicates": "max"}),
    (
        "evaluate",
        {
            "gold": {"$gold": _GOLD},
            "ranking": {"$ranking": _RUN},
            "measures": ["ndcg@3"],
            "ties": "id-desc",
            "self": "drop",
            "scores": "single",
            "empty": "zero",
            "duplicates": "max",
        },
    ),
    (
        "evaluate_files",
        {
            "gold": "gold.qrels",
            "runs": {"old": "run.trec", "new": {"$path": "other.trec"}},
            "measures": ["rr", "ndcg@3"],
            "resampling": _HOW,
            "baseline": "old",
            "slices": ["queries.csv:type"],
            "item_slices": ["items.csv:title"],
            "names": "items.csv:title",
            "recorded": {"new": {"latency_p95_ms": 12.5}},
            "quantiles": [0.5, 0.9],
            "conventions": {"ties": "order"},
            "duplicates": "first",
            "format": "trec",
            "keep_top": 2,
        },
    ),
    ("evaluate_files", {"gold": "gold.parquet", "runs": ["run.parquet"], "intervals": False, "memory": "1GB"}),
    (
        "evaluate",
        {
            "gold": {"$pairs": [[1, [1, 2]], [2, [3]]]},
            "ranking": {"$pairs": [[1, {"$pairs": [[1, 0.5]]}]]},
            "measures": ["rr"],
        },
    ),
    (
        "compare",
        {
            **_COMPARED,
            "baseline": "old",
            "slices": _SLICES,
            "by": "type,length(quantiles=2),type*length",
            "item_slices": _ITEM_SLICES,
            "items_by": "kind",
            "recorded": {"new": {"latency_p95_ms": 12.5}},
        },
    ),
    (
        "gate",
        {
            "report": {"$report": _COMPARED},
            "targets": ["rr >= 0.3", "rr drop <= 0.5"],
            "baseline": "old",
            "strict": True,
        },
    ),
    ("gate", {"report": "report.json", "targets": ["targets.toml"], "baseline": {"$path": "older.json"}}),
    ("write_baseline", {"report": {"$report": _COMPARED}, "path": "out.json", "system": "new"}),
    (
        "assert_ranking",
        {
            "gold": _GOLD,
            "ranking": _RUN,
            "targets": ["rr >= 0.0", "ndcg@3 drop <= 1"],
            "baseline": _OTHER,
            "strict": False,
            "lenient": True,
            "dialect": "ranx",
            "rel": 1.0,
            "ties": "id",
            "missing": "skip",
            "empty": "zero",
        },
    ),
    (
        "assert_ranking",
        {"gold": "gold.qrels", "ranking": "run.trec", "targets": "rr drop <= 1", "baseline": "baseline.json"},
    ),
    ("as_gold", {"data": _GOLD, "relevant_from": 1.0}),
    ("as_gold", {"data": _GOLD_FRAME}),
    ("as_ranking", {"data": _OTHER}),
    ("as_ranking", {"data": _RUN_FRAME}),
    ("ordered_gold", {"lists": _OTHER, "source": "x"}),
    (
        "evaluate_arrays",
        {
            "recommended": {"$array": {"values": [[2, 1, 0], [3, 4, -1]], "dtype": "int64"}},
            "held_out": [[1, 2], [3, -1]],
            "grades": [[1.0, 2.0], [1.0, 0.0]],
            "measures": ["ndcg@3", "rr"],
            "n_items": 6,
        },
    ),
    (
        "fuse",
        {
            "rankings": [{"$ranking": _RUN}, {"$ranking": _OTHER}],
            "fusion": {
                "$fusion": {
                    "method": "rrf",
                    "weights": {"$tuple": [0.3, 0.7]},
                    "c": 60.0,
                    "depth": 10,
                    "normalise": None,
                }
            },
        },
    ),
    (
        "fuse",
        {
            "rankings": [{"$ranking": _RUN}, {"$ranking": _RUN}],
            "fusion": {"$fusion": {"method": "combsum", "normalise": "min-max"}},
        },
    ),
    (
        "keyword_gold",
        {
            "annotations": {"$annotations": "clips.csv"},
            "queries": {"x": ["bicyclist"], "y": ["bus", "night"]},
            "match": "any",
        },
    ),
    ("keyword_gold", {"annotations": {"$annotations": "clips.csv"}, "groups": ["object"], "without": "all"}),
    (
        "label",
        {
            "catalogue": {"$catalogue": "products.json"},
            "queries": {
                "$frame": {"columns": {"id": ["q1", "q2"], "text": ["red shirt", "dress"], "type": ["a", "b"]}}
            },
            "own_category": True,
        },
    ),
    (
        "map_texts",
        {"texts": ["cyclist at night", "bus"], "vocabulary": {"$vocabulary": "clips.csv"}, "groups": ["object"]},
    ),
    (
        "rank_vectors",
        {"corpus": _VECTORS, "queries": _VECTORS, "k": 3, "metric": "cosine", "cuts": [1, 2], "exclude_self": True},
    ),
    (
        "agree",
        {
            "reference": {"$array": {"values": _MATRIX, "dtype": "float32", "order": "C"}},
            "candidates": {"small": {"$array": {"values": _NEARLY, "dtype": "float64"}}},
            "k_values": [1, 2],
            "ids": ["a", "b", "c", "d", "e"],
            "pairs": 10,
            "seed": 1,
            "ties": "any",
            "resampling": _HOW,
        },
    ),
    (
        "try_index",
        {
            "corpus": {"$array": {"values": _MATRIX, "dtype": "float32"}},
            "queries": {"$array": {"values": _MATRIX[:2], "dtype": "float32"}},
            "engine": "exact",
            "metric": "l2",
            "build": {},
            "search": {},
            "settings": {},
            "k": 2,
            "clock": None,
            "resampling": None,
        },
    ),
    ("read_gold", {"path": "gold.qrels", "format": "trec", "relevant_from": 1.0}),
    ("read_run", {"path": "run.trec", "format": None}),
    ("read_vectors", {"path": "ref.npz:vectors", "ids": None, "taken": None}),
    ("read_vectors", {"path": "bare.npy", "ids": "ids.txt"}),
    (
        "read_annotations",
        {"path": "clips.csv", "groups": {"object": "object"}, "separator": "|", "no_value": ["", "n/a"]},
    ),
    ("read_catalogue", {"path": {"$path": "products.json"}, "id_field": "asin"}),
    (
        "read_log",
        {"path": _LOG, "user": "user", "item": "item", "value": "rating", "time": "time", "scale": {"$tuple": [1, 5]}},
    ),
    ("read_log", {"path": "log.csv", "format": None, "catalogue": "items.csv"}),
    ("split_log", {"log": {"$log": _LOG}, "kind": "temporal", "fractions": {"$tuple": [0.6, 0.2, 0.2]}}),
    ("split_log", {"log": "log.csv", "kind": "leave-last", "n": 1, "validation": 1}),
    ("split_log", {"log": {"$log": _LOG}, "kind": "users", "folds": 2, "fold": 1, "seed": 3, "fraction": 0.5}),
    ("split_log", {"log": {"$log": _LOG}, "kind": "rolling", "windows": 2, "days": 0.25}),
    ("audit", {"log": {"$log": _LOG}, "items": "items.csv", "cold": 2, "fractions": {"$tuple": [0.8, 0.1, 0.1]}}),
    (
        "held_out",
        {
            "log": {"$log": _LOG},
            "kind": "leave-last",
            "n": 1,
            "window": "test",
            "fit_on": {"$tuple": ["train"]},
            "sampled": 3,
        },
    ),
    (
        "recommend",
        {
            "task": {"$task": {"$log": _LOG}},
            "model": "popularity",
            "k": 3,
            "params": {"days": 7},
            "cold_users": "popularity",
        },
    ),
    ("recommend", {"task": {"$task": {"$log": _LOG}}, "model": "item-knn", "k": 3, "measures": ["rr"], "params": {}}),
    (
        "drift_between",
        {"new": {"$saved": "moved.json"}, "old": {"$saved": "still.json"}, "system": "hnsw", "allowed": 0.05},
    ),
    ("run_plan", {"plan": "rankjury.toml", "output": "out"}),
)


def _seeds() -> list[Case]:
    return [Case(options={"function": name, "arguments": arguments}) for name, arguments in CALLS]


def _mutate(rng: Random, case: Case) -> Case:
    arguments = dict(case.options["arguments"])
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3))):
        name = rng.choice(list(arguments))
        arguments[name] = _changed(rng, arguments[name])
    return case.with_options(arguments=arguments)


def _changed(rng: Random, tree: Any, depth: int = 0) -> Any:
    """Return a tree with one change, which keeps most tags."""
    if rng.random() < (0.15 if depth else 0.1):
        return {"$object": rng.choice(sorted(_OBJECTS))} if rng.random() < 0.5 else mutators.odd_value(rng)
    if isinstance(tree, dict) and len(tree) == 1 and next(iter(tree)).startswith("$"):
        ((tag, inner),) = tree.items()
        if rng.random() < 0.05:
            return {rng.choice(sorted(_MADE)): inner}
        return {tag: _changed_options(rng, tag, inner)}
    if isinstance(tree, dict) and tree and rng.random() < 0.7:
        key = rng.choice(list(tree))
        return {**tree, key: _changed(rng, tree[key], depth + 1)}
    if isinstance(tree, list) and tree and rng.random() < 0.7:
        at = rng.randrange(len(tree))
        return [*tree[:at], _changed(rng, tree[at], depth + 1), *tree[at + 1 :]]
    return mutators.mutate_tree(rng, tree)


def _changed_options(rng: Random, tag: str, inner: Any) -> Any:
    if isinstance(inner, dict) and tag == "$array" and rng.random() < 0.3:
        choice = rng.choice(("dtype", "order"))
        return {**inner, choice: rng.choice(_DTYPES if choice == "dtype" else ("F", "reversed"))}
    if isinstance(inner, dict) and tag == "$frame" and isinstance(inner.get("columns"), dict) and rng.random() < 0.4:
        if rng.random() < 0.3 or not inner["columns"]:
            return {**inner, rng.choice(("pandas", "lazy")): True}
        return {**inner, "dtypes": {rng.choice(list(inner["columns"])): rng.choice(sorted(_POLARS))}}
    return _changed(rng, inner, 1)


def _call(case: Case) -> object:
    inputs.write_all(inputs.files(), case.files)
    function = getattr(rankjury, case.options["function"])
    try:
        arguments = {name: _value(tree) for name, tree in case.options["arguments"].items()}
    except _Skip:
        return None
    positional = []
    if function is rankjury.gate:
        targets = arguments.pop("targets")
        positional = [arguments.pop("report"), *(targets if isinstance(targets, list) else [targets])]
    if function is rankjury.assert_ranking:
        targets = arguments.pop("targets")
        given = [arguments.pop(name) for name in ("gold", "ranking")]
        with suppress(AssertionError):  # a target that fails
            _use(function(*given, *(targets if isinstance(targets, list) else [targets]), **arguments))
        return None
    chosen = arguments.get("engine" if function is rankjury.try_index else "model")
    if isinstance(chosen, str) and chosen not in ("exact", "arrays", "popularity", "item-knn"):
        return None  # others load libraries, and servers
    _use(function(*positional, **arguments))
    return None


def _use(result: Any, depth: int = 0) -> None:
    """Look at all that a result offers without further arguments."""
    repr(result)
    if not type(result).__module__.startswith("rankjury."):
        if isinstance(result, list | tuple | dict) and depth < 2:
            for one in list(result.values() if isinstance(result, dict) else result)[:2]:
                _use(one, depth + 1)
        return
    for name in _offers(type(result)):
        try:
            found = getattr(result, name)
            found = found() if inspect.ismethod(found) else found
        except RankjuryError:
            continue
        if depth == 0:
            _use(found, 1)


_NOT_ASKED = {"open", "close", "fit", "build", "write", "save", "_repr_html_"}


@cache
def _offers(kind: type) -> tuple[str, ...]:
    """Return the names of properties, and of methods that need no argument."""
    found = []
    for name in dir(kind):
        held = inspect.getattr_static(kind, name)
        if name.startswith("_") or name in _NOT_ASKED:
            continue
        if isinstance(held, property | cached_property):
            found.append(name)
        elif inspect.isfunction(held):
            _, *needed = inspect.signature(held).parameters.values()
            if all(one.default is not one.empty or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in needed):
                found.append(name)
    return tuple(found)


register(Surface("api", _seeds, _mutate, _call, writes=True, quick=120))
