"""Catalogues: rankjury's own columns in every format, exports of shops, and errors that name their place."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.labeling.products.catalog import ProductCatalogue, as_price, read_catalogue, write_catalogue
from rankjury.retrieval.embedding.corpus import read_corpus

OWN: list[dict[str, Any]] = [
    {
        **{"id": "a1", "title": "Wrap dress", "brand": "Marlo", "category": "Dresses", "color": "red"},
        **{"material": "cotton", "audience": "women", "price": 39.5, "bullets": ["Light", "Washable"]},
        "description": "For long days.",
    },
    {
        **{"id": "a2", "title": "Trail boots", "brand": None, "category": "Shoes > Boots", "color": None},
        **{"material": None, "audience": "men", "price": None, "bullets": None, "description": None},
    },
]
AMAZON: dict[str, Any] = {
    "parent_asin": "B0001",
    "asin": "B0001X",
    "main_category": "AMAZON FASHION",
    "title": "Women's Summer Dress",
    "store": "Marlo",
    "features": ["100% cotton", "Machine wash"],
    "description": ["A light dress.", "For summer."],
    "price": "$24.99",
    "categories": ["Clothing, Shoes & Jewelry", "Women", "Clothing", "Dresses"],
    "details": {"Color": "Red", "Material": "Cotton", "Department": "Womens", "Pattern": "Floral"},
    "average_rating": 4.5,
    "images": [{"large": "https://example.com/x.jpg"}],
}


def put(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def read(tmp_path: Path, *records: Any, name: str = "items.json", **options: Any) -> ProductCatalogue:
    return read_catalogue(put(tmp_path / name, json.dumps(list(records))), **options)


def only(catalogue: ProductCatalogue) -> dict[str, Any]:
    assert len(catalogue) == 1
    return catalogue.frame.to_dicts()[0]


# --- rankjury's own columns ---


def own_files(folder: Path) -> list[Path]:
    frame = pl.DataFrame(OWN)
    frame.write_parquet(folder / "own.parquet")
    texts = frame.with_columns(pl.col("bullets").list.join("\n"))
    texts.write_csv(folder / "own.csv")
    texts.write_csv(folder / "own.tsv", separator="\t")
    put(folder / "own.jsonl", "\n".join(map(json.dumps, OWN)) + "\n\n")
    put(folder / "own.json", json.dumps(OWN, indent=1))
    put(folder / "items.json", json.dumps({"version": 3, "items": OWN}))
    return sorted(folder.iterdir())


def test_the_same_from_every_form(tmp_path: Path) -> None:
    files = own_files(tmp_path)
    assert len(files) == 6
    for path in files:
        found = read_catalogue(path).frame
        assert found.drop("categories").to_dicts()[0] == OWN[0], path
        assert found["categories"].to_list() == [["Dresses"], ["Shoes > Boots"]]
        assert found["category"].to_list() == ["Dresses", "Boots"]
        assert found["bullets"].to_list() == [["Light", "Washable"], None]


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet", "out.csv", "out.tsv"])
def test_written_and_read_again(name: str, tmp_path: Path) -> None:
    before = read(tmp_path, AMAZON, {**AMAZON, "parent_asin": "B0002", "price": 3})
    write_catalogue(before, tmp_path / name)
    after = read_catalogue(tmp_path / name)
    own = before.frame.columns[:11]
    assert after.frame.select(own).to_dicts() == before.frame.select(own).to_dicts()
    with pytest.raises(UsageError, match="suffix"):
        write_catalogue(before, tmp_path / "out.html")


def test_texts_are_those_that_rankjury_embed_reads(tmp_path: Path) -> None:
    catalogue = read_catalogue(put(tmp_path / "own.jsonl", "\n".join(map(json.dumps, OWN))))
    write_catalogue(catalogue, tmp_path / "out.jsonl")
    corpus = read_corpus(str(tmp_path / "out.jsonl"), ["title", "bullets", "price"])
    assert corpus.texts.to_list() == ["Wrap dress\nLight, Washable\n39.5", "Trail boots"]
    assert catalogue.texts(("title", "bullets", "price")).to_list() == corpus.texts.to_list()
    assert catalogue.corpus(("title", "bullets", "price")).sha256 == corpus.sha256
    with pytest.raises(UnknownName, match="title"):
        catalogue.texts(("titel",))
    with pytest.raises(UsageError, match="no field"):
        catalogue.texts(())


def test_attributes_are_what_items_are_grouped_by(tmp_path: Path) -> None:
    found = read(tmp_path, AMAZON).attributes()
    assert {"id", "brand", "category", "categories", "color", "material", "audience", "price"} < set(found.columns)
    assert {"pattern", "average_rating"} < set(found.columns)
    assert not {"title", "bullets", "description", "images"} & set(found.columns)
    bare = read(tmp_path, {"id": 1, "title": "x"}).attributes()
    assert bare.columns == ["id"]


# --- shops' ---------------------------------------------------------------------------------------------------------


def test_a_record_of_amazon(tmp_path: Path) -> None:
    found = only(read(tmp_path, AMAZON))
    assert found == {
        "id": "B0001",
        "title": "Women's Summer Dress",
        "brand": "Marlo",
        "category": "Dresses",
        "color": "Red",
        "material": "Cotton",
        "audience": "Womens",
        "price": 24.99,
        "bullets": ["100% cotton", "Machine wash"],
        "description": "A light dress.\nFor summer.",
        "categories": ["Clothing, Shoes & Jewelry > Women > Clothing > Dresses"],
        "asin": "B0001X",
        "average_rating": 4.5,
        "pattern": "Floral",
    }


@pytest.mark.parametrize(
    ("change", "field", "expected"),
    [
        ({"brand": "Own", "store": "Shop"}, "brand", "Own"),
        ({"store": None, "details": {"Brand": "Inside"}}, "brand", "Inside"),
        ({"store": "Visit the Marlo Store"}, "brand", "Marlo"),
        ({"store": "Brand: Marlo"}, "brand", "Marlo"),
        ({"store": None}, "brand", None),
        ({"details": '{"Color": "Blue"}'}, "color", "Blue"),
        ({"details": "{'Color': 'Blue'}"}, "color", "Blue"),
        ({"details": {"Colour Name": "Blue"}}, "color", "Blue"),
        ({"color": None, "details": {"Color": "Blue"}}, "color", "Blue"),
        ({"color": "Green", "details": {"Color": "Blue"}}, "color", "Green"),
        ({"details": None}, "color", None),
        ({"details": "Made with care"}, "color", None),
        ({"color": ["Red", "Blue"]}, "color", "Red, Blue"),
        ({"details": {"Fabric Type": "95% Cotton, 5% Elastane"}}, "material", "95% Cotton, 5% Elastane"),
        ({"details": {"Target Audience": "Girls"}}, "audience", "Girls"),
        ({"categories": [["Clothing", "Women", "Dresses"], ["Sale"]]}, "category", "Dresses"),
        ({"categories": [["Clothing", "Dresses"], ["Sale"]]}, "categories", ["Clothing > Dresses", "Sale"]),
        ({"categories": "['Clothing', 'Dresses']"}, "category", "Dresses"),
        ({"categories": "Clothing > Dresses"}, "category", "Dresses"),
        ({"categories": []}, "category", None),
        ({"categories": None, "main_category": None}, "category", None),
        ({"category": "Gowns"}, "category", "Gowns"),
        ({"features": "Soft\nWarm"}, "bullets", ["Soft", "Warm"]),
        ({"features": "['Soft', 'Warm']"}, "bullets", ["Soft", "Warm"]),
        ({"features": [], "feature": ["Soft", None, ""]}, "bullets", ["Soft"]),
        ({"features": None, "bullet_points": "Soft"}, "bullets", ["Soft"]),
        ({"features": []}, "bullets", None),
        ({"description": []}, "description", None),
        ({"price": 12}, "price", 12.0),
        ({"price": "None"}, "price", None),
        ({"price": None}, "price", None),
        ({"price": ""}, "price", None),
    ],
)
def test_shapes_of_amazon(change: dict[str, Any], field: str, expected: Any, tmp_path: Path) -> None:
    assert only(read(tmp_path, {**AMAZON, **change}))[field] == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (12.5, 12.5),
        ("$12.99", 12.99),
        ("12,99 €", 12.99),
        ("1.299,00 €", 1299.0),
        ("$1,299.00", 1299.0),
        ("1,299", 1299.0),
        ("$12.99 - $19.99", 12.99),
        ("from 8", 8.0),
        ("free", None),
        ("-5", None),
        (-5, None),
        (float("nan"), None),
        (True, None),
    ],
)
def test_prices(given: Any, expected: float | None) -> None:
    assert as_price(given) == expected


def test_lines_of_json_under_either_name(tmp_path: Path) -> None:
    text = "\n".join(json.dumps({**AMAZON, "parent_asin": f"B{n}"}) for n in range(3))
    for name in ("meta.json", "meta.jsonl"):
        assert read_catalogue(put(tmp_path / name, text)).ids.to_list() == ["B0", "B1", "B2"]
    alone = read_catalogue(put(tmp_path / "one.json", json.dumps(AMAZON)))
    assert alone.ids.to_list() == ["B0001"]
    written_by_python = "\n".join(repr({**AMAZON, "parent_asin": f"B{n}"}) for n in range(2))
    assert len(read_catalogue(put(tmp_path / "loose.json", written_by_python))) == 2


def test_which_field_is_the_id(tmp_path: Path) -> None:
    both = [{**AMAZON, "asin": "X1"}, {**AMAZON, "asin": "X2"}]
    with pytest.raises(DataError, match=r"number 2: duplicate parent_asin 'B0001', first at .*number 1.*--id asin"):
        read(tmp_path, *both)
    assert read(tmp_path, *both, id_field="asin").ids.to_list() == ["X1", "X2"]
    with pytest.raises(UnknownName, match="asin"):
        read(tmp_path, *both, id_field="assin")
    mixed = [{"item_id": 7, "title": "x"}, {"item_id": 8.0, "asin": "B1", "title": "y"}]
    assert read(tmp_path, *mixed).ids.to_list() == ["7", "8"]
    partly = [{"sku": "s1", "asin": "B1", "title": "x"}, {"sku": "s2", "title": "y"}]
    assert read(tmp_path, *partly).ids.to_list() == ["s1", "s2"]


def test_what_else_is_simple_is_kept(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        {
            "id": 1,
            "title": "x",
            "rating": 4,
            "fit": "slim",
            "tags": ["a", "b"],
            "new": True,
            "mixed": 1,
            "deep": {"a": 1},
        },
        {"id": 2, "title": "y", "rating": 4.5, "fit": None, "tags": "c", "new": False, "mixed": "two"},
    )
    assert found.extras == ["rating", "fit", "tags", "new", "mixed"]
    assert found.frame.select(found.extras).to_dict(as_series=False) == {
        "rating": [4.0, 4.5],
        "fit": ["slim", None],
        "tags": [["a", "b"], ["c"]],
        "new": [True, False],
        "mixed": ["1", "two"],
    }
    many = [{"id": n, "title": "x", **({"odd": "1"} if n == 0 else {})} for n in range(300)]
    assert read(tmp_path, *many).extras == []


@pytest.mark.parametrize(
    ("main", "others", "expected"),
    [
        ("AMAZON FASHION", ["Clothing > Women > Dresses"], None),
        ("Clothing", ["Clothing > Women > Dresses"], None),
        ("Women", ["Clothing > Women > Dresses"], None),
        ("DRESSES", ["Clothing > Women > Dresses"], "DRESSES"),
        ("Shoes > Boots", ["Boots"], "Boots"),
        ("Shoes", ["Shoes", "Shoes > Boots"], None),
        ("Dresses", [], None),
    ],
)
def test_a_main_category_counts_only_where_others_end_in_it(
    main: str, others: list[str], expected: str | None, tmp_path: Path
) -> None:
    items = [{"id": n, "title": "x", "category": one, "main_category": "All"} for n, one in enumerate(others)]
    found = read(tmp_path, *items, {"id": "it", "title": "x", "categories": [], "main_category": main})
    assert found.frame["category"].to_list() == [*(one.split(" > ")[-1] for one in others), expected]
    assert found.frame["categories"].to_list()[-1] == (None if expected is None else [main])
    assert "main_category" not in found.frame.columns


def test_items_without_texts_stay_where_something_else_is_told(tmp_path: Path) -> None:
    fields: list[dict[str, Any]] = [
        *({"title": "Dress", "price": "?"}, {"store": "Marlo"}, {"categories": ["Clothing", "Dresses"]}),
        *({"details": {"Color": "Red"}}, {"details": {"Pattern": "Floral"}}, {"description": "Long"}),
        *({}, {"title": " ", "features": [], "main_category": "AMAZON FASHION", "price": 3, "average_rating": 4.5}),
    ]
    items = [{"parent_asin": f"B{n}", "asin": f"A{n}", **one} for n, one in enumerate(fields)]
    found = read(tmp_path, *items)
    assert found.ids.to_list() == ["B0", "B1", "B2", "B3", "B4", "B5"]
    assert found.notes[1:] == (
        "6 of 8 items have no title, bullets or description; only their other fields are used: "
        "B1, B2, B3, B4, B6 … (6 in all); omitted, as they have no other fields either: B6, B7",
    )
    assert found.notes[0] == "1 of 8 prices could not be read: B0 (?)"
    assert read(tmp_path, *items[:2]).notes[1:] == (
        "1 of 2 items have no title, bullets or description; only their other fields are used: B1",
    )
    assert read(tmp_path, items[5]).notes == ()


def test_prices_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    found = read(tmp_path, {**AMAZON, "price": "on request"}, {**AMAZON, "parent_asin": "B2"})
    assert found.notes == ("1 of 2 prices could not be read: B0001 (on request)",)


# --- faults ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "fragments"),
    [
        ("c.json", '[{"id": 1, "title": "x"}, 5]', ["c.json, number 2", "'5'", "an object"]),
        ("c.json", '{\n"a": [1,\n}', ["c.json:3", "not JSON"]),
        ("c.jsonl", '{"id": 1, "title": "x"}\n{"id": 2,\n', ["c.jsonl:2", "not JSON"]),
        (
            "c.jsonl",
            '{"id": 1, "title": "x"}\n\n{"id": 1, "title": "y"}',
            ["c.jsonl:3", "'1'", "first at", "c.jsonl:1"],
        ),
        ("c.jsonl", '{"id": 1, "title": "x"}\n{"title": "Lost"}', ["c.jsonl:2", "the id is None", "'Lost'"]),
        ("c.jsonl", '{"id": 1.5, "title": "x"}', ["c.jsonl:1", "the id is 1.5"]),
        ("c.jsonl", '\n{"id": 1.5 "title"}', ["c.jsonl:2", "not JSON"]),
        ("c.jsonl", '{"id": 1, "title": "x"}\nnull', ["c.jsonl:2", "'None'", "an object"]),
        ("c.jsonl", '{"title": "x"}', ["found the fields title", "none holds ids", "--id"]),
        ("c.jsonl", '{"id": "p7", "title": " "}', ["c.jsonl:1", "no item has a text", "bullets"]),
        ("c.jsonl", '{"asin": "B7", "title": "x", "details": "{\\"Color\\": "}', ["B7", "details", "Color"]),
        ("c.csv", "id,title\n1,x\n2\n", ["c.csv:3", "found 1 columns"]),
        ("c.csv", "id,title,id\n1,x,1\n", ["duplicate column 'id'"]),
        ("c.csv", "id,title\n", ["no records"]),
        ("c.json", "[]", ["no records"]),
        ("c.parquet", "PAR1 not really", ["c.parquet", "Parquet"]),
    ],
)
def test_faults_name_their_place(name: str, content: str, fragments: list[str], tmp_path: Path) -> None:
    with pytest.raises(DataError) as found:
        read_catalogue(put(tmp_path / name, content))
    for fragment in (name, *fragments):
        assert fragment in str(found.value)


def test_products_by_id(tmp_path: Path) -> None:
    """{id: product} was taken for one product without an id."""
    content = '{"p1": {"title": "Red Dress", "brand": "Marlo"}, "p2": {"title": "Boots", "id": "p2"}}'
    found = read_catalogue(put(tmp_path / "items.json", content))
    assert found.frame.select("id", "title", "brand").rows() == [("p1", "Red Dress", "Marlo"), ("p2", "Boots", None)]
    assert read_corpus(str(tmp_path / "items.json"), ["title"]).ids.to_list() == ["p1", "p2"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"p1": {"title": "Dress"}, "p1": {"title": "Boots"}}', "duplicate keys: p1"),
        ('{"p1": {"title": "Dress", "id": "p2"}}', "under the key 'p1' has the id 'p2'"),
    ],
)
def test_products_by_id_that_are_refused(tmp_path: Path, content: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_catalogue(put(tmp_path / "items.json", content))
