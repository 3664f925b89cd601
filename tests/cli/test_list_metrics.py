"""rankjury list metrics: what can be measured, from the code itself."""

import json
import re

import pytest

from rankjury.measures.dialects import DIALECTS
from rankjury.measures.measure import METRICS
from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure, check_width


def _words(text: str) -> str:
    """Text as it reads, wherever lines were broken."""
    return " ".join(text.split())


@pytest.mark.parametrize("name", METRICS.names())
def test_every_metric_prints_in_full(rankjury: Rankjury, name: str) -> None:
    metric = METRICS.get(name)
    assert metric.title and metric.formula and metric.source and metric.all_options
    outcome = rankjury("list", "metrics", name)
    assert (outcome.code, outcome.err) == (0, "")
    check_width(outcome.out)
    shown = _words(outcome.out)
    assert shown.startswith(f"{name}: {_words(metric.title)}")
    assert f"Formula: {_words(metric.formula)}" in shown
    assert f"Source: {_words(metric.source)}" in shown
    for option in metric.all_options:
        assert option.about
        assert f" {option.name}=" in shown
        assert _words(option.about) in shown


@pytest.mark.parametrize("name", METRICS.names())
def test_every_metric_has_its_facts_in_json(rankjury: Rankjury, name: str) -> None:
    (facts,) = json.loads(rankjury("list", "metrics", name, "--json").out)
    metric = METRICS.get(name)
    assert facts["name"] == name
    assert (facts["title"], facts["formula"], facts["source"]) == (metric.title, metric.formula, metric.source)
    assert [option["name"] for option in facts["options"]] == [option.name for option in metric.all_options]
    assert all(option["about"] for option in facts["options"])


def test_the_list_names_every_metric(rankjury: Rankjury) -> None:
    outcome = rankjury("list", "metrics")
    check_width(outcome.out)
    listed = re.findall(r"^(\w+) ", outcome.out, re.MULTILINE)
    assert set(METRICS.names()) <= set(listed)
    assert [facts["name"] for facts in json.loads(rankjury("list", "metrics", "--json").out)] == METRICS.names()


def test_the_list_of_dialects(rankjury: Rankjury) -> None:
    outcome = rankjury("list", "dialects")
    check_width(outcome.out)
    shown = _words(outcome.out)
    for dialect in DIALECTS:
        assert re.search(rf"^{re.escape(dialect.name)} ", outcome.out, re.MULTILINE)
        assert dialect.about.split()[0] in shown


def test_the_list_of_dialects_in_json(rankjury: Rankjury) -> None:
    listed = json.loads(rankjury("list", "dialects", "--json").out)
    assert [entry["name"] for entry in listed] == DIALECTS.names()


@pytest.mark.parametrize(
    ("name", "metric", "read_as"),
    [
        ("ndcg_cut_10", "ndcg", "ndcg(rel=1,ties=id-desc,scores=single,empty=zero,missing=skip)@10"),
        ("map", "ap", "ap"),
        (
            "ndcg_burges@10",
            "ndcg",
            "ndcg(gain=exp,rel=1,ties=order,empty=zero,missing=zero)@10".replace(",missing=zero", ""),
        ),
        ("recall@5", "recall", "recall@5"),
    ],
)
def test_a_name_of_another_tool_is_told(rankjury: Rankjury, name: str, metric: str, read_as: str) -> None:
    outcome = rankjury("list", "metrics", name)
    assert outcome.code == 0
    assert outcome.out.startswith(f"{metric}: ")
    assert _words(outcome.out).endswith(f"{name} is read as {read_as}")


def test_a_metric_by_its_own_name_is_not_explained_twice(rankjury: Rankjury) -> None:
    assert "is read as" not in rankjury("list", "metrics", "ndcg").out


@pytest.mark.parametrize(("name", "near"), [("ndgc", "ndcg"), ("precison", "precision"), ("recip_rnk", "recip_rank")])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_an_unknown_name_is_answered_with_the_nearest(
    rankjury: Rankjury, name: str, near: str, form: list[str]
) -> None:
    check_failure(rankjury("list", "metrics", name, *form), 2, f"unknown measure {name!r}", f"Did you mean {near}")
