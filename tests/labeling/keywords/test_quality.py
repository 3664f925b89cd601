"""The quality of a mapping: hand-worked, beside scikit-learn, and the files that it is measured on."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

from rankjury.errors import DataError, UnknownName
from rankjury.labeling.keywords.annotations import Vocabulary
from rankjury.labeling.keywords.quality import compare_mappings, quality, read_labelled_texts, summarize_quality

VOCABULARY = Vocabulary.of({"object": ["bicyclist", "bus"], "scene": ["night", "rain"]})
FOUND = [{0, 2}, {1}, set(), {3}]
GIVEN = [{0, 3}, {1}, set(), {3, 0}]


def test_by_hand() -> None:
    found = quality(FOUND, GIVEN)
    assert (found.right, found.found, found.given, found.n) == (3, 4, 5, 4)
    assert (found.precision, found.recall) == (3 / 4, 3 / 5)
    assert found.f1 == pytest.approx(2 * 3 / 9)
    assert found.exact == 2 / 4
    # bicyclist: 1 of 1 found and 2 given; bus: all; night: found, not given; rain: 1 of 1 found and 2 given
    assert found.macro_f1 == pytest.approx((2 / 3 + 1 + 0 + 2 / 3) / 4)


def test_nothing_to_divide_by_is_undefined() -> None:
    nothing = quality([set(), set()], [set(), set()])
    assert math.isnan(nothing.precision) and math.isnan(nothing.recall) and math.isnan(nothing.macro_f1)
    assert nothing.exact == 1.0 and nothing.to_json()["f1"] is None
    assert math.isnan(quality([], []).exact)
    assert quality([set()], [{1}]).recall == 0.0 and math.isnan(quality([set()], [{1}]).precision)


def test_by_group() -> None:
    found = compare_mappings(FOUND, GIVEN, VOCABULARY).by_group
    assert list(found) == ["object", "scene"]
    assert (found["object"].precision, found["object"].recall, found["object"].exact) == (1.0, 2 / 3, 3 / 4)
    assert (found["scene"].right, found["scene"].found, found["scene"].given) == (1, 2, 2)


def test_mistakes_for_people() -> None:
    first, last = compare_mappings(FOUND, GIVEN, VOCABULARY).mistakes(["a", "b", "c", "d"])
    assert (first.text, [str(one) for one in first.missed], [str(one) for one in first.wrong]) == (
        "a",
        ["scene=rain"],
        ["scene=night"],
    )
    assert (last.text, [one.name for one in last.missed], last.wrong) == ("d", ["bicyclist"], ())


sets = st.frozensets(st.integers(0, 5))


@given(st.lists(st.tuples(sets, sets), min_size=1, max_size=12))
def test_as_scikit_learn_does(pairs: list[tuple[frozenset[int], frozenset[int]]]) -> None:
    mine, theirs = [one for one, _ in pairs], [one for _, one in pairs]
    found = quality(mine, theirs)
    table = [np.array([[label in one for label in range(6)] for one in side], int) for side in (theirs, mine)]
    for value, score in ((found.precision, precision_score), (found.recall, recall_score), (found.f1, f1_score)):
        expected = score(*table, average="micro", zero_division=np.nan)
        assert value == pytest.approx(expected, nan_ok=True)
    labels = sorted(set().union(*mine, *theirs))
    if labels:
        assert found.macro_f1 == pytest.approx(f1_score(*table, average="macro", labels=labels, zero_division=np.nan))
    assert found.exact == np.mean((table[0] == table[1]).all(axis=1))


# --- texts with keywords ------------------------------------------------------------------------------------------


def write(folder: Path, *rows: object) -> Path:
    path = folder / "queries.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_labelled_texts(tmp_path: Path) -> None:
    rows = [
        {"query_id": "t1", "text": "cyclist at night", "keywords": ["bicyclist", "scene=night"]},
        {"query_id": "t2", "text": "music", "keywords": []},
    ]
    first, second = read_labelled_texts(write(tmp_path, *rows), VOCABULARY)
    assert (first.id, first.text) == ("t1", "cyclist at night")
    assert first.numbers == {VOCABULARY.find("bicyclist"), VOCABULARY.find("night")} and second.numbers == frozenset()
    table = tmp_path / "queries.csv"
    table.write_text("query_id,text,keywords\nt1,cyclist at night,bicyclist | night\n", encoding="utf-8")
    assert read_labelled_texts(table, VOCABULARY) == [first]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"query_id": "t1", "text": "x"}, r"queries\.jsonl:1: no keywords; expected a list"),
        ({"query_id": "t1", "text": "x", "keywords": 3}, "keywords is 3"),
        ({"query_id": "t1", "text": "x", "keywords": [3]}, r"keywords is \[3\]"),
        ({"query_id": "t1", "text": "x", "keywords": ["bicylist"]}, r"queries\.jsonl:1: unknown keyword.*bicyclist"),
    ],
)
def test_labelled_texts_that_are_refused(row: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises((DataError, UnknownName), match=message):
        read_labelled_texts(write(tmp_path, row), VOCABULARY)


def test_a_list_of_lines_has_no_keywords(tmp_path: Path) -> None:
    (tmp_path / "queries.txt").write_text("cyclist\n", encoding="utf-8")
    with pytest.raises(DataError, match="no keywords"):
        read_labelled_texts(tmp_path / "queries.txt", VOCABULARY)


def test_the_best_method_in_a_sentence() -> None:
    half, whole = quality(FOUND, GIVEN), quality(GIVEN, GIVEN)
    sentence = summarize_quality({"exact": half, "embedding": whole})
    assert sentence.startswith("embedding maps best: F1 1.000 (precision 1.000, recall 1.000) over 4 texts")
    assert sentence.endswith(f"then exact {half.f1:.3f}.")
    assert summarize_quality({"exact": half}).startswith(f"exact has F1 {half.f1:.3f}")
    assert "undefined" in summarize_quality({"exact": quality([set()], [set()])})
