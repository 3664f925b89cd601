"""rankjury list: topics, their other names, details of dialects, and formats."""

import json

import pytest

from rankjury.io.formats import FORMATS
from rankjury.measures.dialects import DIALECTS
from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure, check_width

TOPICS = ["metrics", "dialects", "engines", "recommenders", "formats", "schema", "vectors"]


def test_the_topics(rankjury: Rankjury) -> None:
    outcome = rankjury("list")
    check_width(outcome.out)
    assert outcome.code == 0 and [line.split()[0] for line in outcome.out.splitlines()[2:]] == TOPICS
    assert list(json.loads(rankjury("list", "--json").out)) == TOPICS


@pytest.mark.parametrize(
    ("word", "topic"),
    [("measures", "metrics"), ("models", "recommenders"), ("engine", "engines"), ("tools", "dialects")],
)
def test_other_names_of_a_topic(word: str, topic: str, rankjury: Rankjury) -> None:
    assert rankjury("list", word).out == rankjury("list", topic).out != ""


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (["metrcs"], ["'metrcs'", "metrics"]),
        (["ndcg@10"], ["ndcg@10 is a measure", "rankjury list metrics ndcg@10"]),
        (["metrics", "ndcg", "ap"], ["ndcg, ap"]),
        (["dialects", "bier"], ["'bier'", "beir"]),
        (["formats", ".cvs"], ["'.cvs'", ".csv"]),
        (["schema", "gold"], ["'gold'"]),
        (["metrics", "-o", "x.json"], ["-o", "schema"]),
    ],
)
def test_errors(arguments: list[str], fragments: list[str], rankjury: Rankjury) -> None:
    check_failure(rankjury("list", *arguments), 2, *fragments)


def test_a_dialect_in_full(rankjury: Rankjury) -> None:
    outcome = rankjury("list", "dialects", "elasticsearch")
    check_width(outcome.out)
    dialect = DIALECTS.get("elasticsearch")
    text = " ".join(outcome.out.split())
    assert text.startswith(f"elasticsearch: {dialect.about}")
    assert "gain=exp, ideal=retrieved" in text and "rel=1, ties=order" in text
    (facts,) = json.loads(rankjury("list", "dialects", "elasticsearch", "--json").out)
    assert facts["by_metric"]["ndcg"] == {"gain": "exp", "ideal": "retrieved"}


def test_formats(rankjury: Rankjury) -> None:
    outcome = rankjury("list", "formats")
    check_width(outcome.out)
    rows = json.loads(rankjury("list", "formats", "--json").out)
    assert [row["format"] for row in rows if row["of"] == "gold, runs"] == list(FORMATS)
    assert {suffix for row in rows for suffix in row["suffixes"]} >= {".npz", ".html", ".trec", ".parquet"}
    assert {row["of"] for row in json.loads(rankjury("list", "formats", ".parquet", "--json").out)} >= {
        "gold, runs",
        "vectors",
    }
