"""The bundled fashion sample is what its README says: made by the script, and all its files of one another."""

import importlib.util
import json
import re
import unicodedata
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from rankjury.io.vectors import read_vectors
from tests import paths

FOLDER = paths.SAMPLES / "fashion"
SCRIPTS = Path(__file__).parents[2] / "scripts"


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


ITEMS, QUERIES, HUMAN = read("catalogue.jsonl"), read("queries.jsonl"), read("human.jsonl")
IDS = {"items": [item["id"] for item in ITEMS], "queries": [query["id"] for query in QUERIES]}
FIELDS = ["id", "title", "brand", "category", "color", "material", "audience", "price", "bullets", "description"]
REAL = (
    r"adidas|amazon|asics|balenciaga|birkenstock|burberry|carhartt|chanel|columbia|converse|cordura|crocs|dior|"
    r"gap|gore-tex|gucci|hermès|hilfiger|h&m|lacoste|levi's|lululemon|lycra|mango|nike|patagonia|polartec|"
    r"prada|primaloft|puma|reebok|salomon|tencel|timberland|uniqlo|vans|velcro|vibram|wrangler|zara"
)


def words(text: str) -> set[str]:
    """Lower case, without accents; hyphens and apostrophes part words."""
    plain = unicodedata.normalize("NFKD", text.lower())
    return set(re.findall(r"[a-z0-9]+", "".join(letter for letter in plain if not unicodedata.combining(letter))))


def all_text(item: dict[str, Any]) -> str:
    return " ".join(str(item[field]) for field in FIELDS if item[field] is not None)


def load(name: str) -> np.ndarray:
    with np.load(FOLDER / "vectors.npz", allow_pickle=False) as held:
        return np.asarray(held[name])


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The generator, imported by its path."""
    spec = importlib.util.spec_from_file_location("make_fashion", SCRIPTS / "make_fashion.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestCatalogue:
    def test_the_script_makes_it(self, script: ModuleType) -> None:
        assert script.to_lines(script.compose()).encode() == (FOLDER / "catalogue.jsonl").read_bytes()

    def test_three_hundred_with_ids_in_order(self) -> None:
        assert [f"f{number:03}" for number in range(1, 301)] == IDS["items"]
        assert len({item["title"] for item in ITEMS}) == 300

    def test_fields_are_filled(self) -> None:
        for item in ITEMS:
            assert list(item) == FIELDS
            assert item["audience"] in {"women", "men", "girls", "boys", "unisex"}
            assert 5 < item["price"] < 500
            assert 3 <= len(item["bullets"]) <= 5 and len(set(item["bullets"])) == len(item["bullets"]), item["id"]
            assert 2 <= item["description"].count(".") <= 4 and item["description"].endswith("."), item["id"]

    def test_what_is_absent_is_null_and_rare(self) -> None:
        """As the README counts them; an empty text would be read as a value."""
        absent = {field: sum(item[field] is None for item in ITEMS) for field in FIELDS}
        assert {field: count for field, count in absent.items() if count} == {"brand": 7, "material": 5, "color": 1}
        assert [item["id"] for item in ITEMS if "" in item.values() or "" in item["bullets"]] == []

    def test_no_slot_is_left_open(self) -> None:
        assert [item["id"] for item in ITEMS if re.search(r"[{}~®™]|  | ,|\.\.", all_text(item))] == []

    @pytest.mark.parametrize(("field", "kinds", "least"), [("category", 24, 8), ("brand", 15, 10), ("audience", 5, 20)])
    def test_fields_are_large_enough_to_be_slices(self, field: str, kinds: int, least: int) -> None:
        sizes = Counter(item[field] for item in ITEMS if item[field] is not None)
        assert len(sizes) == kinds and min(sizes.values()) >= least

    def test_no_brand_is_real(self) -> None:
        text = " ".join(map(all_text, ITEMS)) + " ".join(query["text"] for query in QUERIES)
        assert re.findall(rf"\b(?:{REAL})\b", text.lower()) == []

    def test_some_items_differ_in_colour_only(self) -> None:
        alike = Counter((item["description"], *item["bullets"]) for item in ITEMS)
        assert sum(times > 1 for times in alike.values()) >= 40

    def test_some_titles_name_another_category(self) -> None:
        titles = {item["title"]: item["category"] for item in ITEMS}
        assert titles["Hobnell Men's Dress Boots, Brown Leather"] == "ankle boots"
        assert titles["Ollenby Women's T-Shirt Dress, Grey"] == "summer dress"


class TestQueries:
    def test_eighty_of_four_types(self) -> None:
        assert [f"q{number:02}" for number in range(1, 81)] == IDS["queries"]
        assert Counter(query["type"] for query in QUERIES) == dict.fromkeys(
            ("category", "attribute", "audience", "brand"), 20
        )
        assert len({query["text"].lower() for query in QUERIES}) == 80
        assert all(list(query) == ["id", "text", "type", "category", "brand", "version"] for query in QUERIES)
        assert {query["version"] for query in QUERIES} == {"2026-11"}

    def test_their_words_occur_in_the_catalogue(self) -> None:
        known = set().union(*(words(all_text(item)) for item in ITEMS))
        assert {query["text"]: words(query["text"]) - known for query in QUERIES if words(query["text"]) - known} == {}

    def test_categories_and_brands_are_those_of_the_catalogue(self) -> None:
        for query in QUERIES:
            assert query["category"] is None or query["category"] in {item["category"] for item in ITEMS}
            assert (query["brand"] is not None) == (query["type"] == "brand")
            if query["brand"] is not None:
                assert words(query["brand"]) <= words(query["text"])
                assert query["brand"] in {item["brand"] for item in ITEMS}
        assert all(query["category"] is not None for query in QUERIES if query["type"] == "category")


class TestHuman:
    def test_ten_of_each_grade_over_all_types(self) -> None:
        assert Counter(pair["grade"] for pair in HUMAN) == dict.fromkeys(range(4), 10)
        types = {query["id"]: query["type"] for query in QUERIES}
        assert min(Counter(types[pair["query_id"]] for pair in HUMAN).values()) >= 8
        assert len({(pair["query_id"], pair["item_id"]) for pair in HUMAN}) == 40

    def test_pairs_are_of_this_sample_and_say_why(self) -> None:
        for pair in HUMAN:
            assert list(pair) == ["query_id", "item_id", "grade", "why"]
            assert pair["query_id"] in IDS["queries"] and pair["item_id"] in IDS["items"]
            assert len(pair["why"].split()) >= 3


class TestVectors:
    @pytest.mark.parametrize("name", IDS)
    def test_arrays(self, name: str) -> None:
        vectors = load(name)
        assert vectors.dtype == np.float16 and vectors.shape == (len(IDS[name]), 384)
        assert load(f"{name}_ids").tolist() == IDS[name]
        assert len(np.unique(vectors, axis=0)) == len(vectors)
        np.testing.assert_allclose(np.linalg.norm(vectors.astype(np.float64), axis=1), 1.0, atol=1e-3)

    @pytest.mark.parametrize("name", IDS)
    def test_they_are_read_with_their_own_ids(self, name: str) -> None:
        vectors = read_vectors(f"{FOLDER / 'vectors.npz'}:{name}")
        assert vectors.ids.to_list() == IDS[name]

    def test_they_find_the_category(self) -> None:
        """Chance would give 0.04."""
        categories = np.array([item["category"] for item in ITEMS])
        scores = load("queries").astype(np.float64) @ load("items").astype(np.float64).T
        firsts = np.argsort(-scores, axis=1, kind="stable")[:, :10]
        pairs = zip(QUERIES, firsts, strict=True)
        shares = [
            np.mean(categories[rows] == query["category"]) for query, rows in pairs if query["type"] == "category"
        ]
        assert 0.6 < np.mean(shares) < 0.9
        assert f"{np.mean(shares):.0%}".replace("%", " %") in (FOLDER / "README.md").read_text("utf-8")

    def test_a_red_and_a_navy_dress_are_near_but_not_the_same(self) -> None:
        red, navy = load("items").astype(np.float64)[:2]
        assert 0.9 < red @ navy < 0.999


def test_it_is_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < 700_000
