"""rankjury embed --chunking: a vector a window."""

import json
from pathlib import Path

import pytest

from rankjury.io.vectors import read_vectors
from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure, put

ROWS = [
    {"id": "a", "title": "Red dress", "bullets": ["of silk", "for summer"]},
    {"id": "b", "title": "Boots", "bullets": None},
]
MODEL = "def lengths(texts):\n    return [[float(len(text)), 1.0] for text in texts]\n"
MADE = ["items.jsonl", "--chunking", "title+bullets/3+1", "--model", "chunk_models:lengths", "-o", "v.npz"]


@pytest.fixture(autouse=True)
def corpus(folder: Path) -> None:
    put("items.jsonl", "\n".join(map(json.dumps, ROWS)))
    put("chunk_models.py", MODEL)


def test_windows_become_vectors(rankjury: Rankjury) -> None:
    assert rankjury("embed", *MADE).code == 0
    found = read_vectors("v.npz")
    assert found.ids.to_list() == ["a#0", "a#1", "a#2", "b#0"]
    texts = ["Red dress\nof", "of silk, for", "for summer", "Boots"]
    assert found.values[:, 0].tolist() == [len(text) for text in texts]


def test_it_is_recorded_and_another_chunking_is_another_file(rankjury: Rankjury) -> None:
    made = rankjury("embed", *MADE, "--json")
    assert json.loads(made.out)["vectors"]["text"] == ["title+bullets/3+1"]
    assert rankjury("embed", *MADE).code == 0
    other = rankjury("embed", *[part.replace("3+1", "3") for part in MADE])
    check_failure(other, 2, "text title+bullets/3+1, now title+bullets/3")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--text", "title"], "--text and --chunking were given"),
        (["--chunking", "title/0"], "a window of 0 tokens"),
        (["--chunking", "titel"], "unknown column 'titel'"),
    ],
)
def test_what_is_refused(rankjury: Rankjury, more: list[str], told: str) -> None:
    check_failure(rankjury("embed", *MADE, *more), 2, told)


def test_not_with_vectors(rankjury: Rankjury) -> None:
    rankjury("embed", *MADE)
    check_failure(
        rankjury("embed", "--from", "v.npz", "--chunking", "title", "-o", "w.npz"), 2, "--chunking with --from"
    )
