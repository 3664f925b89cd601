"""The rules of grading, and what each grade rests on.

3   the category, and two attributes or more
2   the category, or two attributes or more
1   one attribute, or nothing but the brand
0   else
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.convert import GRADE, ITEM, QUERY
from rankjury.core.types import Bools, Ints
from rankjury.labeling.products.match import Matcher
from rankjury.labeling.products.parse_query import Reading
from rankjury.labeling.products.scan import NOWHERE, Codes

RULES = {
    "category and attributes": 3,
    "category": 2,
    "attributes": 2,
    "one attribute": 1,
    "brand": 1,
    "nothing": 0,
}
"""The grade that each rule gives; the first that holds counts."""
_NAMES = tuple(RULES)
_SEVERAL = 2
_AT_ONCE = 4
"""Codes of eight bits that are packed into one number beside one of 31 bits."""
SCHEMA: dict[str, Any] = {
    **{QUERY: pl.String, ITEM: pl.String, GRADE: pl.Int64, "rule": pl.String},
    **{"category": pl.String, "attributes": pl.List(pl.String), "brand": pl.String},
}
_MATCHES = {name: SCHEMA[name] for name in ("category", "attributes", "brand")}


def rules_of(category: Bools, attributes: Ints, brand: Bools) -> Ints:
    """The number of each item's rule: whether the category fits, how many attributes do, whether the brand does."""
    several = attributes >= _SEVERAL
    conditions = [category & several, category, several, attributes > 0, brand]
    return np.select(conditions, list(range(len(conditions))), len(conditions)).astype(np.int64)


def grade_pairs(readings: Mapping[str, Reading], items: pl.Series, matcher: Matcher) -> pl.DataFrame:
    """The pairs above grade 0, query by query, with their rules and matches."""
    rows, rules, which = ([np.empty(0, dtype=np.int64)] for _ in range(3))
    told: list[dict[str, Any]] = []
    nowhere = np.empty((0, len(items)), dtype=np.uint8)
    for reading in readings.values():
        codes = np.concatenate([nowhere, *(matcher.codes(term)[None] for term in reading.terms)])  # terms × items
        has = codes != NOWHERE
        first = 1 if reading.category else 0
        last = first + len(reading.attributes)
        of_query = rules_of(has[:first].any(axis=0), has[first:last].sum(axis=0), has[last:].any(axis=0))
        rows.append(np.flatnonzero(of_query < _NAMES.index("nothing")))
        rules.append(of_query[rows[-1]])
        patterns, places = _patterns(codes[:, rows[-1]])
        which.append(places + len(told))
        told += [_told(reading, pattern, matcher.places) for pattern in patterns.T]
    numbers = np.repeat(np.arange(len(readings)), [part.size for part in rows[1:]])
    rule = np.concatenate(rules)
    held = {
        QUERY: pl.Series(list(readings), dtype=pl.String).gather(numbers),
        ITEM: items.gather(np.concatenate(rows)),
        GRADE: pl.Series(list(RULES.values())).gather(rule),
        "rule": pl.Series(_NAMES).gather(rule),
    }
    matches = pl.DataFrame(told, schema=_MATCHES).select(pl.all().gather(np.concatenate(which)))
    return pl.DataFrame(held, schema_overrides=SCHEMA).hstack(matches)


def _patterns(codes: Codes) -> tuple[Codes, Ints]:
    """The different columns, and which of them each is: as ``np.unique`` along an axis finds them, but quicker."""
    which = np.zeros(codes.shape[1], dtype=np.int64)
    first = np.zeros(min(1, which.size), dtype=np.int64)
    for start in range(0, len(codes), _AT_ONCE):
        for code in codes[start : start + _AT_ONCE]:
            which = which * (NOWHERE + 1) + code
        _, first, which = np.unique(which, return_index=True, return_inverse=True)
    return codes[:, first], which


def _told(reading: Reading, pattern: Codes, places: tuple[str, ...]) -> dict[str, Any]:
    """Matches as ``red (color)``, with the place that says so."""
    shown = [
        None if code == NOWHERE else f"{term.shown} ({places[code]})"
        for term, code in zip(reading.terms, pattern.tolist(), strict=True)
    ]
    first = 1 if reading.category else 0
    last = first + len(reading.attributes)
    return {
        "category": shown[0] if first else None,
        "attributes": [one for one in shown[first:last] if one],
        "brand": next((one for one in shown[last:] if one), None),
    }
