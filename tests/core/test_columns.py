"""Columns are found in many spellings, and two that may be the same thing are refused."""

import pandas as pd
import polars as pl
import pytest

import rankjury
from rankjury.core.columns import find_id_column
from rankjury.errors import DataError


@pytest.mark.parametrize(
    ("query", "item", "grade", "score"),
    [
        ("queryId", "docId", "Relevance", "Score"),
        ("Query ID", "product-id", "is_relevant", "cosine_similarity"),
        ("question_id", "passage_id", "gain", "logit"),
        ("q_id", "sku", "relevance_grade", "y_score"),
        ("uid", "iid", "rating", "est"),
    ],
)
def test_spellings_of_columns(query: str, item: str, grade: str, score: str) -> None:
    gold = pd.DataFrame({query: ["q", "q"], item: ["a", "b"], grade: [1, 0]})
    run = pd.DataFrame({query: ["q", "q"], item: ["a", "b"], score: [0.5, 0.75]})
    assert rankjury.evaluate(gold, run, "rr").mean() == {"rr": 0.5}


def test_an_id_column_comes_before_rarer_names_of_ids() -> None:
    assert find_id_column(["sku", "title", "id"], "item", "items.csv") == "id"
    assert find_id_column(["title", "sku"], "item", "items.csv") == "sku"


@pytest.mark.parametrize("names", [("_id", "id"), ("id", "_id"), ("docid", "doc_id")])
def test_two_columns_for_the_same_thing_are_refused(names: tuple[str, str]) -> None:
    run = pl.DataFrame({"query": ["q"], names[0]: ["a"], names[1]: ["b"], "score": [1.0]})
    with pytest.raises(DataError, match=rf"{names[0]} and {names[1]} may both be item_id"):
        rankjury.as_ranking(run)


def test_the_exact_name_of_a_column_comes_before_other_spellings() -> None:
    run = pl.DataFrame({"query": ["q", "q"], "doc_id": ["a", "b"], "_score": [2.0, 1.0], "score": [1.0, 2.0]})
    assert rankjury.evaluate({"q": {"a": 1}}, run, "rr").mean() == {"rr": 0.5}


def test_an_id_comes_before_a_url_and_two_kinds_of_scores_are_refused() -> None:
    hits = {"query": ["q"], "id": ["a"], "url": ["http://a"], "bm25": [3.0]}
    assert rankjury.evaluate({"q": {"a": 1}}, pl.DataFrame(hits), "rr").mean() == {"rr": 1.0}
    with pytest.raises(DataError, match=r"cosine and bm25 may both be score"):
        rankjury.as_ranking(pl.DataFrame(hits | {"cosine": [0.5]}))


def test_distances_are_no_scores() -> None:
    run = pd.DataFrame({"query": ["q"], "id": ["a"], "distance": [0.25]})
    with pytest.raises(DataError, match=r"[Hh]igher scores are better.*distance"):
        rankjury.evaluate({"q": {"a": 1}}, run, "rr")
