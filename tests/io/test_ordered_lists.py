"""Ordered lists as gold: grades by place, all forms they come in, and violations told with their query and field."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from rankjury.core.types import Gold
from rankjury.errors import DataError, RankjuryError
from rankjury.io.ordered_lists import ONLY_ASPECT, read_ordered
from tests import paths

SAMPLE = paths.SAMPLES / "movies" / "gold.json"
OVERALL, CONTENT, VIBES = (f"5_most_similar_movies_{aspect}_ordered" for aspect in ("overall", "content", "vibes"))
MOVIES = [f"tt000000{number}" for number in range(1, 8)]


def put(folder: Path, content: Any, name: str = "gold.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def lists_of(gold: Gold) -> dict[str, list[tuple[str, float]]]:
    found: dict[str, list[tuple[str, float]]] = {query: [] for query in gold.queries}
    for query, item, grade in gold.frame().iter_rows():
        found[query].append((str(item), grade))
    return found


def best_first(gold: Gold) -> dict[str, list[str]]:
    return {
        query: [item for item, _ in sorted(pairs, key=lambda pair: -pair[1])] for query, pairs in lists_of(gold).items()
    }


def valid() -> list[dict[str, Any]]:
    """Seven movies; each has the five that follow it, as in a ring, in three orders."""
    entries: list[dict[str, Any]] = []
    for place, movie in enumerate(MOVIES):
        others = [MOVIES[(place + step) % 7] for step in range(1, 6)]
        entries.append({"movie_id": movie, OVERALL: others, CONTENT: others[::-1], VIBES: sorted(others)})
    return entries


def violations(path: Path, **options: Any) -> tuple[str, ...]:
    with pytest.raises(DataError) as caught:
        read_ordered(path, **options)
    error = caught.value
    assert error.exit_code == 3 and error.where == str(path)
    many = "1 violation" if len(error.details) == 1 else f"{len(error.details)} violations"
    assert error.found.startswith(f"{many} of ")
    assert all(detail in str(error) for detail in error.details)
    return error.details


def refused(path: Path) -> DataError:
    with pytest.raises(DataError) as caught:
        read_ordered(path)
    assert caught.value.exit_code == 3 and str(path) in str(caught.value.where)
    return caught.value


class TestGrades:
    def test_five_to_one(self, tmp_path: Path) -> None:
        golds = read_ordered(put(tmp_path, valid()))
        assert list(golds) == ["overall", "content", "vibes"]
        first = MOVIES[1:6]
        assert lists_of(golds["overall"])[MOVIES[0]] == list(zip(first, [5.0, 4.0, 3.0, 2.0, 1.0], strict=True))
        assert lists_of(golds["content"])[MOVIES[0]] == list(zip(first[::-1], [5.0, 4.0, 3.0, 2.0, 1.0], strict=True))
        for aspect, gold in golds.items():
            assert gold.ordered and gold.source.endswith(f"gold.json:{aspect}")
            assert gold.queries.to_list() == MOVIES and len(gold.items) == 35

    @pytest.mark.parametrize(
        ("field", "aspect", "length"),
        [
            ("3_most_similar_movies_mood_ordered", "mood", 3),
            ("10_most_similar_books_plot_ordered", "plot", 10),
            ("1_most_similar_songs_tempo_and_key_ordered", "tempo_and_key", 1),
            ("2_most_similar_overall_ordered", "overall", 2),
        ],
    )
    def test_any_length_and_aspect(self, tmp_path: Path, field: str, aspect: str, length: int) -> None:
        names = [f"b{number}" for number in range(length + 1)]
        entries = [{"id": name, field: [other for other in names if other != name]} for name in names]
        gold = read_ordered(put(tmp_path, entries))[aspect]
        assert [grade for _, grade in lists_of(gold)["b0"]] == [float(length - place) for place in range(length)]
        entries[0][field] = names[1:length]
        shown = "0 items" if length == 1 else "1 item" if length == 2 else f"{length - 1} items"
        assert violations(put(tmp_path, entries)) == (f"b0, {field}: {shown}, expected exactly {length}",)

    def test_any_number_of_aspects_and_no_others(self, tmp_path: Path) -> None:
        aspects = [f"a{number}" for number in range(12)]
        entries = [
            {
                "movie_id": one,
                "genres": ["g"],
                **{f"1_most_similar_movies_{aspect}_ordered": [other] for aspect in aspects},
            }
            for one, other in (("x", "y"), ("y", "x"))
        ]
        assert list(read_ordered(put(tmp_path, entries))) == aspects

    def test_whole_numbers_are_ids(self, tmp_path: Path) -> None:
        field = "1_most_similar_movies_mood_ordered"
        golds = read_ordered(put(tmp_path, [{"movie_id": 7, field: ["8"]}, {"movie_id": "8", field: [7]}]))
        assert best_first(golds["mood"]) == {"7": ["8"], "8": ["7"]}


def test_the_sample() -> None:
    golds = read_ordered(SAMPLE)
    entries = json.loads(SAMPLE.read_text(encoding="utf-8"))
    for aspect, field in (("overall", OVERALL), ("content", CONTENT), ("vibes", VIBES)):
        assert lists_of(golds[aspect]) == {
            entry["movie_id"]: list(zip(entry[field], [5.0, 4.0, 3.0, 2.0, 1.0], strict=True)) for entry in entries
        }


class TestOtherForms:
    def test_plain_fields_hold_lists_of_any_length_and_of_any_items(self, tmp_path: Path) -> None:
        entries = [{"query_id": "q", "plot": ["a", "b", "c"], "mood": ["z"], "note": "n"}]
        entries += [{"query_id": "r", "plot": ["a"], "mood": ["y", "x"], "note": "n"}]
        golds = read_ordered(put(tmp_path, entries))
        assert {aspect: best_first(gold) for aspect, gold in golds.items()} == {
            "plot": {"q": ["a", "b", "c"], "r": ["a"]},
            "mood": {"q": ["z"], "r": ["y", "x"]},
        }
        assert lists_of(golds["plot"])["q"] == [("a", 3.0), ("b", 2.0), ("c", 1.0)]
        assert "q, plot: b is not the id of a query" in violations(put(tmp_path, entries), closed=True)

    def test_a_mapping_to_lists(self, tmp_path: Path) -> None:
        golds = read_ordered(put(tmp_path, {"q": ["b", "a"], "r": ["c"]}))
        assert lists_of(golds[ONLY_ASPECT]) == {"q": [("b", 2.0), ("a", 1.0)], "r": [("c", 1.0)]}

    def test_a_mapping_to_aspects(self, tmp_path: Path) -> None:
        tree = {"q": {"plot": ["b", "a"], "mood": ["c"]}, "r": {"mood": ["d"], "plot": ["e"]}}
        golds = read_ordered(put(tmp_path, tree))
        assert best_first(golds["plot"]) == {"q": ["b", "a"], "r": ["e"]}
        assert best_first(golds["mood"]) == {"q": ["c"], "r": ["d"]}

    def test_a_mapping_to_named_fields_is_held_to_them(self, tmp_path: Path) -> None:
        tree = {entry.pop("movie_id"): entry for entry in valid()}
        assert list(read_ordered(put(tmp_path, tree))) == ["overall", "content", "vibes"]
        tree[MOVIES[0]][VIBES].pop()
        assert violations(put(tmp_path, tree)) == (f"{MOVIES[0]}, {VIBES}: 4 items, expected exactly 5",)

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("g.csv", "query_id,item_id,rank\nq,b,2\nq,a,1\nr,9,1\nr,10,1\n"),
            ("g.tsv", "query_id\titem_id\trank\nq\tb\t2\nq\ta\t1\nr\t9\t1\nr\t10\t1\n"),
            ("g.jsonl", "\n".join(f'{{"query_id": "{q}", "item_id": "{i}", "rank": {n}}}' for q, i, n in
                                  [("q", "b", 2), ("q", "a", 1), ("r", "9", 1), ("r", "10", 1)])),
            ("g.run", "q Q0 b 2 0.5 t\nq Q0 a 1 0.9 t\nr Q0 9 1 0.1 t\nr Q0 10 2 0.1 t\n"),
        ],
    )  # fmt: skip
    def test_a_table_with_a_rank(self, tmp_path: Path, name: str, text: str) -> None:
        """Equal ranks go by id as strings."""
        golds = read_ordered(put(tmp_path, text, name))
        assert best_first(golds[ONLY_ASPECT]) == {"q": ["a", "b"], "r": ["10", "9"]}
        assert lists_of(golds[ONLY_ASPECT])["q"] == [("a", 2.0), ("b", 1.0)]

    def test_a_table_is_held_to_the_same(self, tmp_path: Path) -> None:
        path = put(tmp_path, "query_id,item_id,rank\nq,a,1\nq,a,2\nq,q,3\n", "g.csv")
        assert violations(path) == (
            "q, list: the query itself is listed, at 3",
            "q, list: duplicate item a, listed 2 times",
        )

    def test_parquet(self, tmp_path: Path) -> None:
        path = tmp_path / "g.parquet"
        pl.DataFrame({"query_id": ["q", "q"], "item_id": [7, 8], "rank": [2, 1]}).write_parquet(path)
        assert best_first(read_ordered(path)[ONLY_ASPECT]) == {"q": ["8", "7"]}


A, B, C, D, E, F, G = MOVIES
RING = MOVIES[1:6]
# What is done to the valid gold, and what is told of it.
FAULTS: dict[str, tuple[Any, str]] = {
    "too few": (lambda e: e[0].update({OVERALL: RING[:4]}), f"{A}, {OVERALL}: 4 items, expected exactly 5"),
    "too many": (lambda e: e[0].update({OVERALL: MOVIES[1:]}), f"{A}, {OVERALL}: 6 items, expected exactly 5"),
    "none": (lambda e: e[0].update({OVERALL: []}), f"{A}, {OVERALL}: 0 items, expected exactly 5"),
    "itself": (lambda e: e[1].update({CONTENT: [C, D, E, F, B]}), f"{B}, {CONTENT}: the query itself is listed, at 5"),
    "twice": (lambda e: e[2].update({VIBES: [A, B, A, F, G]}), f"{C}, {VIBES}: duplicate item {A}, listed 2 times"),
    "stranger": (lambda e: e[3].update({VIBES: [A, B, "tt9", F, G]}), f"{D}, {VIBES}: tt9 is not the id of a query"),
    "two entries": (lambda e: e.append(dict(e[4])), f"{E}, movie_id: duplicate (entry 8)"),
    "missing": (lambda e: e[5].pop(CONTENT), f"{F}, {CONTENT}: missing"),
    "null": (lambda e: e[5].update({VIBES: None}), f"{F}, {VIBES}: found null, expected a list of ids"),
    "text": (lambda e: e[6].update({OVERALL: "tt1"}), f'{G}, {OVERALL}: found "tt1", expected a list of ids'),
    "object": (lambda e: e[6].update({CONTENT: {}}), f"{G}, {CONTENT}: found {{}}, expected a list of ids"),
    "no object": (lambda e: e.append(3), "entry 8: no movie_id"),
    "no object first": (lambda e: e.insert(0, None), "entry 1: no movie_id"),
    "no id first": (lambda e: e.insert(0, {OVERALL: RING}), "entry 1: no movie_id"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_each_violation_alone(tmp_path: Path, fault: str) -> None:
    entries = valid()
    FAULTS[fault][0](entries)
    assert violations(put(tmp_path, entries)) == (FAULTS[fault][1],)


def test_all_violations_together(tmp_path: Path) -> None:
    """Each at a query and a field of its own; a numbered entry moves by those put in front of it."""
    chosen = ["too few", "itself", "twice", "stranger", "two entries", "missing", "null", "text", "object", "no object"]
    entries = valid()
    for fault in chosen:
        FAULTS[fault][0](entries)
    expected = {FAULTS[fault][1] for fault in chosen[:-1]} | {"entry 9: no movie_id"}
    found = violations(put(tmp_path, entries))
    assert set(found) == expected and len(found) == len(expected)


@pytest.mark.parametrize("item", [None, 1.5, True, ["x"], {"a": 1}, ""])
def test_items_that_are_no_ids(tmp_path: Path, item: Any) -> None:
    entries = valid()
    entries[0][OVERALL] = [item, *RING[1:]]
    (told,) = violations(put(tmp_path, entries))
    assert told.startswith(f"{A}, {OVERALL}: found [{json.dumps(item)}, ") and told.endswith("expected a list of ids")


@pytest.mark.parametrize("name", [None, 1.5, True, ["x"], {"a": 1}, ""])
def test_queries_that_have_no_id(tmp_path: Path, name: Any) -> None:
    entries: list[dict[str, Any]] = [{"movie_id": "a", "list": ["x"]}, {"movie_id": name, "list": ["y"]}]
    assert violations(put(tmp_path, entries)) == ("entry 2: no movie_id",)


class TestNothingIsLostInSilence:
    """What a JSON reader or a dict would swallow."""

    def test_a_duplicate_query_in_a_mapping(self, tmp_path: Path) -> None:
        (told,) = violations(put(tmp_path, '{"q": ["a"], "r": ["b"], "q": ["c"]}'))
        assert re.match(r"q\b.*duplicate", told)

    def test_a_duplicate_field_in_an_entry(self, tmp_path: Path) -> None:
        (told,) = violations(put(tmp_path, '[{"id": "q", "plot": ["a"], "plot": ["b"]}]'))
        assert told == "q, plot: duplicate key"

    def test_two_fields_of_one_aspect(self, tmp_path: Path) -> None:
        fields = ["1_most_similar_movies_mood_ordered", "1_most_similar_books_mood_ordered"]
        entries = [{"id": one, **{field: [other] for field in fields}} for one, other in (("x", "y"), ("y", "x"))]
        (told,) = violations(put(tmp_path, entries))
        assert all(field in told for field in fields) and "'mood'" in told


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "empty"),
        ("nope", "not JSON"),
        ('[{"movie_id": "a",', "not JSON"),
        ("[]", "found []"),
        ("{}", "found {}"),
        ("[1, 2]", "found [1, 2]"),
        ("[{}]", "none holds ids"),
        ('[{"movie_id": "a"}]', "no field contains lists"),
        ('{"a": {}, "b": {}}', "no field contains lists"),
        ("[" * 100_000, "JSON"),
        ('{"a": ' * 100_000, "JSON"),
        ('{"\\ud800": ["a"]}', "surrogate"),
        ('[{"movie_id": "a", "list": ["\\ud800"]}]', "surrogate"),
    ],
)
def test_what_is_no_gold(tmp_path: Path, text: str, found: str) -> None:
    assert found in str(refused(put(tmp_path, text)))


def test_not_there_and_not_text(tmp_path: Path) -> None:
    assert "no such file" in str(refused(tmp_path / "none.json"))
    (tmp_path / "g.json").write_bytes(b'{"a": ["\xff"]}')
    assert "not UTF-8" in str(refused(tmp_path / "g.json"))


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(0, 9), st.floats(allow_nan=False), st.sampled_from(["a", "b", ""])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "a", "x", OVERALL]), inner),
    max_leaves=8,
)


@given(tree=json_values)
@settings(
    max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_json_is_read_or_refused(tmp_path: Path, tree: Any) -> None:
    try:
        golds = read_ordered(put(tmp_path, tree))
    except RankjuryError as error:
        assert error.exit_code == 3
    else:
        assert golds
        for gold in golds.values():
            for query, pairs in lists_of(gold).items():
                assert [grade for _, grade in pairs] == [float(len(pairs) - place) for place in range(len(pairs))]
                assert query not in dict(pairs) and pairs and len(dict(pairs)) == len(pairs)
