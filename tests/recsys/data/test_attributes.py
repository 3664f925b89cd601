"""Attributes of items and users, and the matrices that are made of them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rankjury.errors import DataError
from rankjury.recsys.data.attributes import Attributes, read_items, read_users, side_features
from rankjury.recsys.data.log import Log, log_from_frame

Put = Callable[[str, str | bytes], Path]
MOVIES_DAT = "1::Toy Story (1995)::Animation|Comedy\n2::Le jour \xe0 venir (2001)::Drama\n\n3::No Year::\n"
MOVIES_CSV = (
    'movieId,title,genres\n1,Toy Story (1995),Animation|Comedy\n11,"American President, The (1995)",Drama\n'
    "007,Nothing (1999),(no genres listed)\n"
)
FLAGS = "|".join("0001" + "0" * 15)
FLAGS_2 = "|".join("1" + "0" * 18)
U_ITEM = (
    f"1|Toy Story (1995)|01-Jan-1995||http://x|{FLAGS}\n267|unknown||||{FLAGS_2}\n3|Caf\xe9|02-Feb-1996||u|{FLAGS}\n"
)


@pytest.fixture
def put(tmp_path: Path) -> Put:
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode("latin-1") if isinstance(content, str) else content)
        return path

    return write


def log_of(users: list[str], items: list[str]) -> Log:
    return log_from_frame(pl.DataFrame({"user": users, "item": items}))


def test_movies_dat_in_latin_1(put: Put) -> None:
    found = read_items(put("movies.dat", MOVIES_DAT))
    assert found.ids.to_list() == ["1", "2", "3"]
    assert found.titles == {"1": "Toy Story (1995)", "2": "Le jour à venir (2001)", "3": "No Year"}
    assert found.table["genres"].to_list() == [["Animation", "Comedy"], ["Drama"], []]
    assert found.table["year"].to_list() == [1995, 2001, None]
    assert found.source.endswith("movies.dat")


def test_movies_csv_with_quoted_titles_and_no_genres(put: Put) -> None:
    found = read_items(put("movies.csv", MOVIES_CSV))
    assert found.ids.to_list() == ["1", "11", "007"]
    assert found.titles["11"] == "American President, The (1995)"
    assert found.table["genres"].to_list() == [["Animation", "Comedy"], ["Drama"], []]
    assert found.table["year"].to_list() == [1995, 1995, 1999]


def test_u_item_with_the_known_genres_and_those_beside_it(put: Put) -> None:
    path = put("u.item", U_ITEM)
    found = read_items(path)
    assert found.ids.to_list() == ["1", "267", "3"]
    assert found.titles == {"1": "Toy Story (1995)", "267": "unknown", "3": "Café"}
    assert found.table["genres"].to_list() == [["Animation"], ["unknown"], ["Animation"]]
    assert found.table["year"].to_list() == [1995, None, 1996]
    put("u.genre", "".join(f"g{n}|{n}\n" for n in range(19)))
    assert read_items(path).table["genres"].to_list() == [["g3"], ["g0"], ["g3"]]
    put("u.genre", "a|0\nb|1\n")
    with pytest.raises(DataError, match=r"u\.genre: found 2 genres; expected 19"):
        read_items(path)


def test_users_of_both_kinds(put: Put) -> None:
    found = read_users(put("users.dat", "1::F::1::10::48067\n2::M::56::16::70072\n"))
    assert found.ids.to_list() == ["1", "2"] and found.titles == {}
    assert found.table.to_dicts()[1] == {"gender": "M", "age": 56, "occupation": "16", "zip": "70072"}
    found = read_users(put("u.user", "1|24|M|technician|85711\n2|53|F|other|94043\n"))
    assert found.table.to_dicts()[0] == {"age": 24, "gender": "M", "occupation": "technician", "zip": "85711"}


def test_folders_are_looked_into(put: Put, tmp_path: Path) -> None:
    put("movies.dat", MOVIES_DAT)
    put("users.dat", "1::F::1::10::48067\n")
    assert len(read_items(tmp_path)) == 3 and len(read_users(tmp_path)) == 1
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="found a folder without items"):
        read_items(tmp_path / "empty")


def test_any_table_with_ids(put: Put, tmp_path: Path) -> None:
    found = read_items(put("a.tsv", "product_id\tname\tcolour\n007\tPen\tred\n8\tInk\tblue\n"))
    assert (found.ids.to_list(), found.titles["007"]) == (["007", "8"], "Pen")
    assert found.table.to_dicts() == [{"colour": "red"}, {"colour": "blue"}]
    found = read_items(put("a.jsonl", '{"id": 1, "genres": ["a", "b"]}\n{"id": 2, "genres": []}\n'))
    assert found.table["genres"].to_list() == [["a", "b"], []]
    pl.DataFrame({"item": ["x"], "tags": ["a, b"]}).write_parquet(tmp_path / "a.parquet")
    assert read_items(tmp_path / "a.parquet").table["tags"].to_list() == [["a", "b"]]
    found = read_users(put("u.csv", "userId,age\n3,20\n"))
    assert (found.ids.to_list(), found.table["age"].to_list()) == (["3"], [20])


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (
            "movies.dat",
            "1::A::B\n2::C\n",
            "movies.dat:2: found 2 fields in the line '2::C'; expected 3: id, title, genres",
        ),
        ("movies.dat", "1::A::B\n ::C::D\n", "movies.dat:2: found no id"),
        ("movies.dat", "1::A::B\n1::C::D\n", "duplicate id '1' in rows 1 and 2"),
        ("movies.csv", "movieId,title\n1,a\n,b\n", "row 2 has no movieId"),
        ("movies.csv", "title,genres\na,b\n", "none holds ids"),
        ("movies.csv", "", "the file is empty"),
        ("u.item", f"1|A|||u|{FLAGS}\n2|B|||u|0|1\n", "u.item:2: found 7 fields"),
        ("u.item", "1|A|||u|0|1\n", "found 2 columns of genres; expected 19, or u.genre"),
        ("a.bin", b"\x00\x01\x02", "found bytes that are not text"),
    ],
)
def test_faults_of_files_of_items(put: Put, name: str, content: str | bytes, told: str) -> None:
    with pytest.raises(DataError) as caught:
        read_items(put(name, content))
    assert told in str(caught.value)


def test_genres_as_a_matrix_whose_rows_are_the_items_of_the_log(put: Put) -> None:
    items = read_items(put("movies.dat", MOVIES_DAT))
    features = side_features(log_of(["u"] * 4, ["2", "9", "3", "1"]), items)
    assert features.labels["genre"] == ("Animation", "Comedy", "Drama")
    assert features.items["genre"].dtype == np.float32
    assert features.items["genre"].tolist() == [[1, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert features.texts == ("Toy Story (1995) Animation Comedy", "Le jour à venir (2001) Drama", "No Year", "")
    assert features.users == {}


def test_users_as_columns_of_their_values() -> None:
    users = Attributes(
        pl.Series(["a", "b", "c"]),
        pl.DataFrame({"gender": ["F", "M", None], "same": ["x", "x", "x"], "likes": [["p", "q"], [], ["q"]]}),
    )
    features = side_features(log_of(["b", "c", "z", "a"], ["i"] * 4), None, users)
    assert list(features.users) == ["user_gender", "user_likes"]
    assert features.labels == {"user_gender": ("F", "M"), "user_likes": ("p", "q")}
    assert features.users["user_gender"].tolist() == [[1, 0], [0, 1], [0, 0], [0, 0]]
    assert features.users["user_likes"].tolist() == [[1, 1], [0, 0], [0, 1], [0, 0]]
    assert features.items == {} and features.texts == ()


def test_numbers_of_many_values_are_cut_and_texts_of_many_are_left_out() -> None:
    ids = [f"{n:03}" for n in range(120)]
    table = pl.DataFrame({"age": [*range(1, 120), None], "zip": ids, "few": [n % 2 for n in range(120)]})
    features = side_features(log_of(ids, ["i"] * 120), None, Attributes(pl.Series(ids), table))
    assert list(features.users) == ["user_age", "user_few"]
    matrix = features.users["user_age"]
    assert matrix.shape == (120, 6)
    assert matrix.sum(axis=1).tolist() == [1] * 119 + [0]
    assert set(matrix.sum(axis=0)) <= {19, 20}
    for row, label in enumerate(np.asarray(features.labels["user_age"])[matrix[:119].argmax(axis=1)]):
        low, high = map(float, label.split("–"))
        assert low <= row + 1 <= high


def test_without_attributes_there_are_no_features() -> None:
    log = log_of(["a"], ["b"])
    assert side_features(log).items == {} and side_features(log).texts == ()
    plain = Attributes(pl.Series(["b"]), pl.DataFrame({"colour": ["red|green"]}), {"b": "Pen"})
    assert side_features(log, plain).items == {} and side_features(log, plain).texts == ("Pen",)


def test_a_column_of_genres_without_any_is_no_feature(put: Put) -> None:
    found = read_items(put("movies.csv", "movieId,title,genres\n1,One (1999),\n2,Two (1999),(no genres listed)\n"))
    features = side_features(log_of(["u"], ["1"]), found)
    assert not features.items and not features.labels and features.texts == ("One (1999)",)


def test_tags_categories_and_a_single_genre_are_features_too(put: Put) -> None:
    found = read_items(put("items.csv", "item,Genre,tags,category\n1,A,x|y,c\n2,B,y,c\n"))
    features = side_features(log_of(["u", "u"], ["1", "2"]), found)
    assert {name: features.labels[name] for name in features.items} == {
        "tag": ("x", "y"),
        "category": ("c",),
        "genre": ("A", "B"),
    }
    assert features.items["tag"].tolist() == [[1, 1], [0, 1]] and features.items["genre"].tolist() == [[1, 0], [0, 1]]


def test_a_catalogue_may_be_ids_alone(put: Put) -> None:
    found = read_items(put("catalogue.csv", "item\n1\n02\n"))
    assert found.ids.to_list() == ["1", "02"] and not found.table.columns
    assert not side_features(log_of(["u"], ["1"]), found).items
    with pytest.raises(DataError, match="found no column but user"):
        read_users(put("users.csv", "user\n1\n"))
