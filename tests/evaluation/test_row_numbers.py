"""Vectors without ids: their row numbers, from 0, as ids of queries and of items."""

import numpy as np
import pytest

import rankjury
from rankjury.errors import DataError
from rankjury.retrieval.rank import Space

ROWS = 12
MATRIX = np.eye(ROWS) + 0.01
ITEMS = rankjury.Vectors([f"d{row}" for row in range(ROWS)], MATRIX, "items")
"""Item d3 is nearest to row 3 of the queries."""


def labels(queries: list[int], first: int = 0) -> dict[str, dict[str, int]]:
    return {str(query): {f"d{query - first}": 1} for query in queries}


def ranked() -> Space:
    return rankjury.rank_vectors(ITEMS, MATRIX, k=ROWS)


def codes(scores: rankjury.Scores | rankjury.Report) -> list[str]:
    return [warning.code for warning in scores.warnings]


class TestQueries:
    def test_numbered_from_zero(self) -> None:
        scores = rankjury.evaluate(labels([*range(ROWS)]), ranked(), "rr")
        assert scores.mean() == {"rr": 1.0} and codes(scores).count("row-numbers") == 1
        assert "queries" in str(scores.warnings[0]) and "queries_ids" in str(scores.warnings[0])

    def test_with_ids(self) -> None:
        queries = rankjury.Vectors([str(row + 1) for row in range(ROWS)], MATRIX)
        scores = rankjury.evaluate(
            labels([*range(1, ROWS + 1)], 1), rankjury.rank_vectors(ITEMS, queries, k=ROWS), "rr"
        )
        assert scores.mean() == {"rr": 1.0} and "row-numbers" not in codes(scores)

    @pytest.mark.parametrize("queries", [[*range(1, ROWS + 1)], [*range(1, ROWS)], [3, ROWS]])
    def test_gold_counts_from_one(self, queries: list[int]) -> None:
        with pytest.raises(DataError, match=r"count from 1 .*numbered from 0.*queries_ids"):
            rankjury.evaluate(labels(queries, 1), ranked(), "rr")

    @pytest.mark.parametrize("queries", [[0, 3, 7], [3, 7], [3, 7, ROWS + 1]])
    def test_not_recognisable(self, queries: list[int]) -> None:
        """A gold with query 0, with gaps, or with a query above the number of rows may count the rows from 0."""
        assert codes(rankjury.evaluate(labels(queries), ranked(), "rr")).count("row-numbers") == 1

    def test_one_warning_of_several_systems(self) -> None:
        report = rankjury.evaluate(labels([*range(ROWS)]), {"a": ranked(), "b": ranked()}, "rr", resampling=None)
        (warning,) = [warning for warning in report.warnings if warning.code == "row-numbers"]
        assert warning.system is None

    def test_run_without_record(self) -> None:
        """A run of the queries 0 … n − 1 and a gold of 1 … n are refused wherever the run came from."""
        run = {str(row): [f"d{row}"] for row in range(ROWS)}
        with pytest.raises(DataError, match="count from 1 to 12, and those of the ranking from 0 to 11"):
            rankjury.evaluate(labels([*range(1, ROWS + 1)], 1), run, "rr")
        assert rankjury.evaluate(labels([*range(1, ROWS)]), run, "rr").mean() == {"rr": 1.0}


class TestItems:
    def test_items_count_from_one(self) -> None:
        found = rankjury.rank_vectors(MATRIX, {"q": MATRIX[3]}, k=ROWS)
        with pytest.raises(DataError, match=r"the item ids of .* count from 1"):
            rankjury.evaluate({"q": {"4": 1, str(ROWS): 1}}, found, "rr")
        assert codes(rankjury.evaluate({"q": {"3": 1, "7": 1}}, found, "rr")).count("row-numbers") == 1

    def test_queries_are_items(self) -> None:
        """A few labelled items without item 0 are no sign of another count, unless the last number is among them."""
        found = rankjury.rank_vectors(MATRIX, k=ROWS)
        assert codes(rankjury.evaluate({"3": {"7": 1}}, found, "rr")).count("row-numbers") == 1
        with pytest.raises(DataError, match=r"the query ids of .* count from 1"):
            rankjury.evaluate({"3": {"7": 1}, str(ROWS): {"7": 1}}, found, "rr")

    def test_models_without_ids(self) -> None:
        """The rows of a reference and of a candidate without ids are matched by their numbers, as is intended."""
        report = rankjury.agree(MATRIX, {"same": MATRIX}, k_values=2)
        assert "row-numbers" not in codes(report) and set(report.mean()["same"].values()) == {1.0}
