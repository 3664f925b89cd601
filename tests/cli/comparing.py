"""Two runs whose differences are known, for the tests of rankjury compare."""

from pathlib import Path

import pytest

from tests.cli.made import RANKS, put_gold, put_run

A, B = RANKS, [2, 1, 1, 3, 1, 1, 1, 2] * 3
COMPARE = ["compare", "g.qrels", "a.trec", "b.trec"]
RR = [*COMPARE, "-m", "rr"]
LONG = "a-system-with-a-name-of-more-than-forty-letters"


@pytest.fixture
def compare_files(folder: Path) -> None:
    put_gold()
    put_run("a.trec", A)
    put_run("b.trec", B)
