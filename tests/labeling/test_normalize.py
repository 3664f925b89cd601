"""Words as they are compared."""

import pytest

from rankjury.labeling.normalize import BREAK, phrase_key, singular, surfaces, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Women's Dresses", ["women", "dress"]),
        ("women’s kids' LEVI'S levis", ["women", "kid", "levi", "levi"]),
        ("slim-fit slim\u2011fit", ["slim", "fit", "slim", "fit"]),
        ("T-Shirts, t shirt", ["tshirt", BREAK, "tshirt"]),
        ("V-neck v neck a-line", ["vneck", "vneck", "aline"]),
        ("a dress in size m", ["a", "dress", "in", "size", "m"]),
        ("Rosé Élodée Straße", ["rose", "elodee", "strasse"]),
        ("black/white & grey", ["black", BREAK, "white", "and", "grey"]),
        ("H&M h & m", ["hm", "h", "and", "m"]),
        ("short sleeves, shorts", ["short", "sleeve", BREAK, "shorts"]),
        ("95% Cotton", ["95", "cotton"]),
        ("soft - warm", ["soft", BREAK, "warm"]),
        ("", []),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("dress", "dresses"),
        ("hoodie", "hoodies"),
        ("accessory", "accessories"),
        ("watch", "watches"),
        ("shoe", "shoes"),
        ("blouse", "blouses"),
        ("tie", "ties"),
        ("scarf", "scarves"),
        ("woman", "women"),
        ("bikini", "bikinis"),
        ("box", "boxes"),
        ("t-shirt", "t-shirts"),
    ],
)
def test_one_and_many_are_the_same(one: str, many: str) -> None:
    assert singular(one) == singular(many)


@pytest.mark.parametrize("word", ["shorts", "jeans", "tights", "heels", "boardshorts"])
def test_what_means_something_else_without_its_s_is_left_alone(word: str) -> None:
    assert singular(word) == word


def test_phrases_are_looked_up_written_together() -> None:
    assert phrase_key(tokens("slim-fit")) == phrase_key(tokens("slim fit")) == phrase_key(tokens("slimfit"))


def test_words_are_shown_as_they_are_known() -> None:
    assert surfaces("Women's T Shirts") == ["women", "t-shirts"]
