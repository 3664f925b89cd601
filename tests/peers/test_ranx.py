"""The ranx dialect against values that ranx computed with make_comparable=True (``make_ranx_oracles.py``)."""

import json
from pathlib import Path
from typing import Any

import pytest

import rankjury
from tests.peers.agreement import assert_close, assert_same, per_query
from tests.peers.make_ranx_oracles import BPREF, NAMES

ORACLES = json.loads((Path(__file__).parent / "data" / "ranx.json").read_text())
# Names that rankjury has too, where they mean rankjury's own; the others are ranx's wherever they are read.
ONLY_RANX = tuple(name for name in NAMES if "-" in name or "_burges" in name or name.startswith("rbp."))


def assert_agrees(case: dict[str, Any], names: tuple[str, ...], dialect: str | None = "ranx") -> None:
    order = BPREF if names == BPREF else NAMES
    scores = rankjury.evaluate(case["gold"], case["run"], names, dialect=dialect)
    for name in names:
        column = order.index(name)
        values = {query: row[column] for query, row in case["values"].items()}
        # numba raises p to whole powers by multiplying, so rbp's last digit is its own.
        assert_same(per_query(scores, name), values, name, exact=not name.startswith("rbp"))
        assert_close(scores.summary(name).mean, case["means"][column], f"{name} of all")


def test_the_recorded_names_are_those_of_the_script() -> None:
    assert tuple(ORACLES["names"]) == NAMES


@pytest.mark.parametrize("kind", ["short lists with ties", "long lists", "one score"])
def test_every_measure(kind: str) -> None:
    assert ORACLES[kind]
    for case in ORACLES[kind]:
        assert_agrees(case, NAMES)


def test_names_that_are_only_ranx_need_no_dialect() -> None:
    for case in ORACLES["short lists with ties"]:
        assert_agrees(case, ONLY_RANX, dialect=None)


def test_bpref() -> None:
    assert ORACLES["bpref"]
    for case in ORACLES["bpref"]:
        assert_agrees(case, BPREF)


def test_equal_scores_keep_the_order_of_the_run() -> None:
    means = [case["means"][NAMES.index("mrr")] for case in ORACLES["one score"]]
    assert means == [0.5, 1 / 14]
