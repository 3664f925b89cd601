"""Schema of a report's JSON: everything that a reader of a saved or archived report relies on.

Whatever passes ``check_report`` can be shown, drawn, compared and logged without a further check. Keys that are not
named here are only ever printed, or not read at all.
"""

from functools import cache
from typing import Any, get_args

from pydantic_core import CoreSchema, SchemaValidator, core_schema

from karat.json_types import (
    COUNT,
    FINITE,
    FLAG,
    INTERVAL,
    NUMBER,
    TEXT,
    VALUE,
    array,
    check_json,
    optional,
    record,
    table,
)
from karat.statistics.intervals import IntervalMethod

__all__ = ["check_report"]

_INTEGER = core_schema.int_schema(strict=True, ge=-(2**63), le=2**63 - 1)
_VALUES = table(VALUE)


def check_report(form: Any, where: str, expected: str) -> None:
    """Check the JSON of a report, with or without its queries.

    Args:
        form: The parsed file.
        where: The file, for errors.
        expected: What the file should have been, for errors.

    Raises:
        DataError: With the path of the first value that is not as karat writes it.
    """
    check_json(_validator(), form, where, expected)


@cache
def _validator() -> SchemaValidator:
    return SchemaValidator(core_schema.no_info_after_validator_function(_check_references, _report()))


def _report() -> CoreSchema:
    slice_ = record(
        {"slice": TEXT, "systems": table(record({"measures": table(_estimate())}))},
        note=TEXT,
        of=TEXT,
        n=COUNT,
        comparisons=array(_comparison()),
        gaps=array(_comparison()),
    )
    resampling = record(
        {
            "resamples": COUNT,
            "level": core_schema.float_schema(strict=True, gt=0, lt=1),
            "seed": _INTEGER,
            "interval": core_schema.literal_schema(list(get_args(IntervalMethod))),
        }
    )
    return record(
        {"systems": table(_system())},
        karat=TEXT,
        headline=array(TEXT),
        resampling=resampling,
        baseline=TEXT,
        comparisons=array(_comparison()),
        changes=array(_change()),
        spaces=table(_space()),
        slices=array(slice_),
        worst_slices=array(_VALUES),
        keywords=_VALUES,
        interactions=_interactions(),
        hints=array(record({"system": TEXT, "hint": TEXT}, figure=TEXT, value=FINITE)),
        queries=_queries(),
        warnings=array(VALUE),
        provenance=record({}, **dict.fromkeys(("name", "plan", "made", "dialect", "per_query"), TEXT), meta=VALUE),
        gate=_gate(),
    )


def _system() -> CoreSchema:
    histogram = record({}, edges=array(NUMBER), counts=array(COUNT), fallback_queries=COUNT)
    item = record({"id": TEXT}, name=TEXT, grade=NUMBER)
    example = record({"query": TEXT, "score": NUMBER}, kind=TEXT, text=TEXT, items=array(item), missed=array(item))
    return record(
        {"measures": table(_estimate())},
        gold=TEXT,
        by_chance=FLAG,
        fusion=_VALUES,
        first_scores=histogram,
        space=_space(),
        agreement=_VALUES,
        facts=_VALUES,
        partial_matches=_partial_matches(),
        exposure=_VALUES,
        index=_index(),
        stability=_stability(),
        fingerprints=_VALUES,
        examples=array(example),
        drift=_drift(),
        figures=table(_figure()),
        quantiles=table(record({"at": table(optional(NUMBER), _share())}, relative_error=NUMBER)),
    )


def _estimate() -> CoreSchema:
    numbers = dict.fromkeys(("std", "se", "sum"), NUMBER)
    return record(
        {"mean": optional(NUMBER), "n": COUNT, "undefined": COUNT},
        ci=INTERVAL,
        convention=TEXT,
        usual_name=TEXT,
        **numbers,
    )


def _share() -> CoreSchema:
    """A share of the queries, as the text of a key."""
    return core_schema.str_schema(strict=True, pattern=r"^[0-9.e-]{1,30}$")


def _comparison() -> CoreSchema:
    tallies = dict.fromkeys(("better", "equal", "worse", "left_out", "p_resamples"), COUNT)
    numbers = ("mean", "baseline_mean", "p", "p_holm", "p_bh", "relative", "std", "detectable", "queries_needed")
    comparison = record(
        {"system": TEXT, "measure": TEXT, "n": COUNT, "difference": optional(NUMBER)},
        ci=INTERVAL,
        relative_ci=array(NUMBER, length=2),
        p_method=TEXT,
        **tallies,
        **dict.fromkeys(numbers, NUMBER),
    )
    return core_schema.no_info_after_validator_function(_check_tally, comparison)


def _check_tally(one: dict[str, Any]) -> dict[str, Any]:
    if len({one.get(key) is None for key in ("better", "equal", "worse")}) > 1:
        raise ValueError("expected better, equal and worse together")
    return one


def _change() -> CoreSchema:
    move = record({"item_id": TEXT, "grade": NUMBER, "from": optional(COUNT), "to": optional(COUNT)})
    texts = dict.fromkeys(("system", "measure", "query_id"), TEXT)
    return record(texts | dict.fromkeys(("baseline", "value", "difference"), NUMBER), moves=array(move))


def _figure() -> CoreSchema:
    recorded = record({"value": FINITE}, ci=array(FINITE, length=2), n=COUNT)
    return optional(core_schema.union_schema([FINITE, recorded]))


def _space() -> CoreSchema:
    return record({}, norm=record({}, histogram=record({}, edges=array(NUMBER), counts=array(COUNT))))


def _partial_matches() -> CoreSchema:
    missed = record(
        {"name": TEXT, "results": COUNT, "lacking": COUNT},
        instead=array(record({"keyword": TEXT, "results": COUNT})),
    )
    result = record({"item": TEXT, "has": array(TEXT), "lacks": array(TEXT)})
    looked = record({"query": TEXT, "keywords": array(TEXT), "results": array(result)})
    return record({}, keywords=array(missed), queries=array(looked))


def _index() -> CoreSchema:
    estimate = record({}, mean=NUMBER, ci=INTERVAL, k=COUNT, n=COUNT, p5=NUMBER, own_exact=_VALUES)
    percentile = record({}, ms=NUMBER, ci=INTERVAL)
    latency = record(
        {}, p50=percentile, p95=percentile, p99=percentile, late=COUNT, n=COUNT, failed=COUNT, qps=NUMBER, rate=NUMBER
    )
    tables = dict.fromkeys(("settings", "build", "search", "vectors", "facts"), _VALUES)
    brief = record({}, mean=NUMBER, ci=INTERVAL)
    loss = record({}, measure=TEXT, exact=brief, index=brief, index_loss=brief, embedding_loss=NUMBER)
    return record(
        {},
        engine=TEXT,
        metric=TEXT,
        recall=estimate,
        latency=record({}, index_only=latency, end_to_end=latency, closed=array(latency), open=latency),
        loss=loss,
        failed=COUNT,
        items=COUNT,
        dimensions=COUNT,
        build_seconds=NUMBER,
        size_bytes=COUNT,
        filters=array(_VALUES),
        equivalence=_VALUES,
        **tables,
    )


def _stability() -> CoreSchema:
    """What ``Stability.from_json`` does not check itself: charts read the similarities of the first items alone."""
    return record({}, queries=record({}, top1=array(optional(NUMBER))))


def _drift() -> CoreSchema:
    moved = record({"figure": TEXT}, change=VALUE, old=VALUE, new=VALUE, within=FLAG, relative_to=TEXT)
    paired = record({}, measure=TEXT, relative_ci=array(VALUE))
    return record(
        {},
        figures=array(moved),
        paired=array(paired),
        allowed=NUMBER,
        verdict=TEXT,
        old_report=TEXT,
        churn=_VALUES,
        worst=record({}, figure=TEXT, change=VALUE),
    )


def _interactions() -> CoreSchema:
    counts = dict.fromkeys(("rows", "users", "items", "cold_users", "cold_items"), COUNT)
    window = record({}, **counts, **dict.fromkeys(("from", "to"), VALUE))
    tier = record({"held_out": COUNT, "range": VALUE})
    catalogue = record({"items": COUNT, "kind": core_schema.literal_schema(["items", "seen", "train"])})
    drawn = record({"sampled": COUNT})
    return core_schema.no_info_after_validator_function(
        _check_windows,
        record(
            {
                "split": _VALUES,
                "fit_on": TEXT,
                "window": TEXT,
                "catalogue": catalogue,
                "windows": table(window),
            },
            candidates=core_schema.union_schema([TEXT, drawn]),
            cutoffs=table(NUMBER),
            cutoff_times=table(optional(TEXT)),
            tiers=table(table(table(tier))),
        ),
    )


def _check_windows(about: dict[str, Any]) -> dict[str, Any]:
    for name, window in about["windows"].items():
        if name != "train" and None in (window.get("cold_users"), window.get("cold_items")):
            raise ValueError(f"the window {name} does not say how many users and items are new")
    return about


def _gate() -> CoreSchema:
    target = record(
        {"verdict": TEXT, "target": TEXT, "system": TEXT},
        **dict.fromkeys(("measure", "slice", "wanted", "note"), TEXT),
        value=FINITE,
        ci=array(FINITE, length=2),
        n=COUNT,
        relative=FLAG,
    )
    return record({}, verdict=TEXT, targets=array(target), baseline=TEXT, report=TEXT, strict=FLAG)


def _queries() -> CoreSchema:
    scores = table(table(array(optional(NUMBER))))
    return record({"ids": array(TEXT), "scores": scores}, slices=table(array(COUNT)), top=table(array(array(TEXT))))


def _check_references(form: dict[str, Any]) -> dict[str, Any]:
    """Check what parts of a report say of each other: systems, measures and queries that are named are there."""
    labels = {name: set(system["measures"]) for name, system in form["systems"].items()}
    if not labels:
        raise ValueError("the report has no system")
    if not any(labels.values()):
        raise ValueError("the report has no measure")
    for part in form.get("slices") or ():
        found = {name: set(system["measures"]) for name, system in part["systems"].items()}
        if not (found.keys() <= labels.keys() and all(found[name] <= labels[name] for name in found)):
            raise ValueError(f"the slice {part['slice']} has other systems or measures than the report")
    for name in ("comparisons", "changes"):
        if any(one["measure"] not in labels.get(one["system"], ()) for one in form.get(name) or ()):
            raise ValueError(f"{name} name a system or a measure that the report does not have")
    if form.get("queries") is not None:
        _check_queries(form["queries"], labels)
    return form


def _check_queries(queries: dict[str, Any], labels: dict[str, set[str]]) -> None:
    n = len(queries["ids"])
    if len(set(queries["ids"])) < n:
        raise ValueError("a query occurs twice")
    if {name: set(columns) for name, columns in queries["scores"].items()} != labels:
        raise ValueError("the queries' scores have other systems or measures than the report")
    if any(len(column) != n for columns in queries["scores"].values() for column in columns.values()):
        raise ValueError("there are not as many scores as queries")
    if any(row >= n for rows in (queries.get("slices") or {}).values() for row in rows):
        raise ValueError("a slice has a query that is not there")
