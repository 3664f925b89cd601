"""How values of rankjury and of another tool are laid beside each other."""

import math
from collections.abc import Mapping

import numpy as np

import rankjury

ROUNDING = 1e-12


def per_query(scores: rankjury.Scores, label: str) -> dict[str, float]:
    """The defined values of one measure by query."""
    values = zip(scores.queries.to_list(), scores[label].tolist(), strict=True)
    return {query: value for query, value in values if not math.isnan(value)}


def assert_same(found: Mapping[str, float], expected: Mapping[str, float], label: str, *, exact: bool = True) -> None:
    """The same queries with the same values: to the last bit, or but for the order of additions."""
    assert found.keys() == expected.keys(), label
    for query, value in expected.items():
        assert_close(found[query], value, f"{label} of {query!r}", exact=exact)


def assert_close(found: float, expected: float, what: str, *, exact: bool = False) -> None:
    same = found == expected if exact else math.isclose(found, expected, rel_tol=ROUNDING)
    assert same, f"{what}: rankjury {found!r}, tool {expected!r}"


def mean_of(values: Mapping[str, float]) -> float:
    return float(np.mean(list(values.values())))
