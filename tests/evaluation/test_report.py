"""A report read back equals the report that was written; those of the samples are checked in tests/golden."""

import json
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import cache
from math import nan
from pathlib import Path
from shutil import copytree
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import rankjury
from rankjury.core.validation import FiniteFloat, Positive, SignedInt
from rankjury.errors import DataError
from rankjury.evaluation.gate import Verdict
from rankjury.evaluation.paired import Change
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import QueryData, RecordedValue, Scores, SystemResult
from rankjury.evaluation.sections import (
    SECTIONS,
    MappingSection,
    QuerySimilarities,
    ReportWarning,
    Section,
    UnknownSection,
)
from rankjury.evaluation.slices.stats import Gap, Slice
from rankjury.evaluation.targets import parse_target
from rankjury.recsys.sections import WindowSize
from rankjury.stats.comparison import Comparison
from rankjury.stats.estimates import Estimate, QuantileValues
from rankjury.stats.resampling import Resampling
from tests.golden.round_trip import check_round_trip
from tests.paths import SAMPLES

LABELS = ("ndcg@10", "mae", "coverage@5", "mine@3")
"""More is better, less is better, one value over all queries, and a metric that is not installed."""
thorough = settings(max_examples=60, deadline=None, derandomize=True, database=None)


# --- generated forms ----------------------------------------------------------------------------------------------

numbers = st.floats(-1e9, 1e9, allow_nan=False).map(lambda value: value + 0.0)
counts = st.integers(0, 10_000)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
intervals = st.tuples(numbers, numbers).map(lambda ends: (min(ends), max(ends)))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | numbers | names,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)


@cache
def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Return values of an annotated type, as the fields of a record have them."""
    simple = {
        str: names, bool: st.booleans(), int: counts, float: st.just(nan) | numbers, Any: json_values,
        SignedInt: st.integers(-(2**63), 2**63 - 1), Positive: st.integers(1, 100),
        FiniteFloat: st.floats(allow_nan=False, allow_infinity=False),
    }  # fmt: skip
    origin, inner = get_origin(kind), get_args(kind)
    if kind in SPECIAL:
        return SPECIAL[kind]()
    if kind in simple:
        return simple[kind]
    if origin in (Union, UnionType):
        known = [numbers if one is float else values_of(one) for one in inner if one is not NoneType]
        return st.one_of(*([st.none()] if NoneType in inner else []), *known)
    if origin is Literal:
        return st.sampled_from(inner)
    if origin is tuple and inner == (float, float):
        return intervals
    if origin is tuple and inner[-1] is Ellipsis:
        return st.lists(values_of(inner[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*(values_of(one) for one in inner))
    if origin is np.ndarray:
        return st.lists(st.just(nan) | numbers, max_size=3).map(lambda held: np.array(held, dtype=np.float64))
    if is_dataclass(kind):
        return records_of(kind)
    keys = st.integers(0, 100) if inner[0] is int else names
    return st.dictionaries(keys, values_of(inner[1]), max_size=2)


def records_of(kind: Any, **chosen: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return records of a kind; a field that is not written has its default."""
    hints = get_type_hints(kind, include_extras=True)
    unwritten = getattr(kind, "unwritten", ())
    return st.builds(
        kind,
        **{
            one.name: chosen[one.name] if one.name in chosen else values_of(hints[one.name])
            for one in fields(kind)
            if one.name not in unwritten
        },
    )


@st.composite
def similarities(draw: Any) -> QuerySimilarities:
    ids = tuple(draw(st.lists(names, unique=True, max_size=3)))
    columns = st.lists(st.just(nan) | numbers, min_size=len(ids), max_size=len(ids))
    return QuerySimilarities(ids, *(np.array(draw(columns), dtype=np.float64) for _ in range(3)))


@st.composite
def comparisons(draw: Any) -> Comparison:
    """A value over all queries has no tally; a p-value over all signs is exact."""
    whole = draw(st.booleans())
    tallies = {name: st.just(0) if whole else counts for name in ("better", "equal", "worse")}
    found = draw(records_of(Comparison, **tallies))
    return replace(found, whole=whole, exact=found.p is not None and not whole and draw(st.booleans()))


@st.composite
def verdicts(draw: Any) -> Verdict:
    text = draw(st.sampled_from(["ap >= 0.5", "ap drop <= 2 %", "latency_p95_ms < 1e-7", "ndcg@10 gain > −1"]))
    about = draw(st.fixed_dictionaries({}, optional=dict.fromkeys(("slice", "system", "name"), names)))
    return draw(records_of(Verdict, target=st.just(parse_target(text.replace("−", "-"), about))))


SPECIAL: dict[Any, Callable[[], st.SearchStrategy[Any]]] = {
    QuerySimilarities: similarities,
    Comparison: comparisons,
    Verdict: verdicts,
    WindowSize: lambda: records_of(WindowSize, cold_users=counts, cold_items=counts),
    QuantileValues: lambda: records_of(
        QuantileValues, at=st.dictionaries(st.sampled_from(["0.05", "0.5", "1e-05"]), st.just(nan) | numbers)
    ),
    RecordedValue: lambda: records_of(
        RecordedValue, ci=st.none() | st.tuples(values_of(FiniteFloat), values_of(FiniteFloat))
    ),
}


def sections_of(kind: type[Section]) -> st.SearchStrategy[Section]:
    return (
        st.builds(kind, st.dictionaries(names, json_values, max_size=2))
        if issubclass(kind, MappingSection)
        else (records_of(kind))
    )


@pytest.mark.parametrize("name", SECTIONS.names())
@given(data=st.data())
@thorough
def test_every_kind_of_section(name: str, data: Any) -> None:
    kind = SECTIONS.get(name)
    section = data.draw(sections_of(kind))
    form = json.loads(json.dumps(section.to_json(), allow_nan=False))
    read = kind.from_json(form)
    assert read == section and read.to_json() == section.to_json()


@st.composite
def reports(draw: Any) -> Report:
    """Reports of one to three systems: with and without comparisons, slices, queries, and golds of their own."""
    systems = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True))
    labels = draw(st.lists(st.sampled_from(LABELS), min_size=1, unique=True))
    size = draw(st.integers(0, 4))
    queries = pl.Series("query_id", [f"q{number}" for number in range(size)], dtype=pl.String)
    cells = st.lists(st.just(nan) | numbers, min_size=size * len(labels), max_size=size * len(labels))
    kinds = [SECTIONS.get(name) for name in draw(st.lists(st.sampled_from(SECTIONS.names()), max_size=2, unique=True))]

    def estimates() -> dict[str, Estimate]:
        return {label: draw(records_of(Estimate)) for label in labels}

    def rows(kind: Any) -> tuple[Any, ...]:
        chosen = {"system": st.sampled_from(systems), "measure": st.sampled_from(labels)}
        if kind is Comparison:
            found = draw(st.lists(comparisons(), max_size=2))
            return tuple(replace(one, system=draw(chosen["system"]), measure=draw(chosen["measure"])) for one in found)
        return tuple(draw(st.lists(records_of(kind, **chosen), max_size=2)))

    results = {
        name: SystemResult(
            estimates(),
            {label: label for label in labels},
            draw(st.none() | st.sampled_from(["texts", "items"])),
            draw(st.booleans()),
            draw(st.dictionaries(names, values_of(RecordedValue), max_size=2)),
            {kind.name: draw(sections_of(kind)) for kind in kinds},
        )
        for name in systems
    }
    slices = [
        Slice(f"kind={number}", draw(names), "queries", draw(counts), {name: estimates() for name in systems},
              beside=rows(draw(st.sampled_from([Comparison, Gap]))))
        for number in range(draw(st.integers(0, 2)))
    ]  # fmt: skip
    scores = {
        name: Scores(queries, tuple(labels), tuple(labels), ("mean",) * len(labels),
                     np.array(draw(cells)).reshape(size, len(labels)))
        for name in systems
    }  # fmt: skip
    baseline = draw(st.none() | st.sampled_from(systems))
    return Report(
        results,
        draw(st.none() | st.just(Resampling(200, 0.9, -7, "percentile"))),
        baseline,
        rows(Comparison) if baseline else (),
        rows(Change) if baseline else (),
        tuple(slices),
        tuple(draw(st.lists(st.sampled_from(labels), unique=True))),
        draw(st.sampled_from([0.01, 0.05])) if baseline else 0.01,
        {kind.name: draw(sections_of(kind)) for kind in kinds if not kind.system_only},
        tuple(draw(st.lists(records_of(ReportWarning), max_size=2))),
        draw(st.dictionaries(names, json_values, max_size=2)),
        QueryData(scores) if size and draw(st.booleans()) else None,
    )


@given(reports())
@thorough
def test_generated_reports(report: Report) -> None:
    check_round_trip(report)


def test_a_report_in_blocks_has_no_queries(tmp_path: Path) -> None:
    gold = pl.DataFrame({"query_id": ["a", "b"], "item_id": ["x", "y"], "grade": [1.0, 2.0]})
    gold.write_parquet(tmp_path / "gold.parquet")
    gold.rename({"grade": "score"}).write_parquet(tmp_path / "run.parquet")
    report = rankjury.scale.evaluate(tmp_path / "gold.parquet", {"run": tmp_path / "run.parquet"}, ["ndcg@10"])
    assert report.queries is None
    check_round_trip(report)


# --- what is read with care ---------------------------------------------------------------------------------------


def test_a_section_that_is_not_installed_is_kept() -> None:
    report = Report({"s": SystemResult({"ap": Estimate(0.5, 2, 0)}, {"ap": "ap"})})
    form = report.to_json() | {"weather": {"wind": 3}}
    read = Report.from_json(form)
    assert read.sections["weather"] == UnknownSection("weather", {"wind": 3}) and read.to_json() == form


DAMAGES: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda index: index["latency"]["end_to_end"]["p50"].update(ci=[2, 1]), "latency → end_to_end → p50 → ci"),
    (lambda index: index["recall"].pop("k"), "recall → k: Field required"),
    (lambda index: index["recall"].update(n=-1), "recall → n: Input should be greater than or equal to 0"),
    (lambda index: index.update(build=3), "build: Input should be a valid dictionary"),
    (lambda index: index.update(items=2**60), "items: Input should be less than"),
    (lambda index: index["loss"]["exact"].update(mean="much"), "loss → exact → mean: Input should be a valid number"),
    (lambda index: index["facts"].update(deep=[float("inf")]), "facts → deep: the number is infinite"),
]


@pytest.fixture(scope="module")
def index_report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the JSON of a report with an index benchmark: the fashion sample without PostgreSQL."""
    folder = tmp_path_factory.mktemp("fashion")
    copytree(SAMPLES / "fashion", folder, dirs_exist_ok=True)
    plan = folder / "rankjury.toml"
    text = re.sub(r"^\[systems\.pgvector\]\n(?:[^\[\n].*\n)*", "", plan.read_text(encoding="utf-8"), flags=re.MULTILINE)
    plan.write_text(text, encoding="utf-8")
    return json.dumps(rankjury.run_plan(plan, archive=False, write=False).report.to_json())


@pytest.mark.parametrize(("damage", "told"), DAMAGES, ids=[told for _, told in DAMAGES])
def test_a_damaged_section_is_refused_with_its_path(
    damage: Callable[[dict[str, Any]], Any], told: str, index_report: str
) -> None:
    form = json.loads(index_report)
    name = next(name for name, one in form["systems"].items() if one.get("index"))
    damage(form["systems"][name]["index"])
    with pytest.raises(DataError) as caught:
        Report.from_json(form, "r.json")
    assert f"r.json: systems → {name} → index → {told}" in str(caught.value)
