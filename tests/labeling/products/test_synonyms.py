"""What words mean: the list that comes with rankjury, and lists of one's own."""

from pathlib import Path

import pytest

from rankjury.errors import DataError, UnknownName
from rankjury.labeling.normalize import tokens
from rankjury.labeling.products.synonyms import KINDS, Synonyms, read_synonyms

SHIPPED = read_synonyms()


def phrase(text: str, synonyms: Synonyms = SHIPPED) -> tuple[str, ...]:
    return tuple(synonyms.tokens(text))


def same(kind: str, one: str, other: str, synonyms: Synonyms = SHIPPED) -> bool:
    return synonyms.name(kind, phrase(one, synonyms)) == synonyms.name(kind, phrase(other, synonyms))


def covers(kind: str, item: str, query: str, synonyms: Synonyms = SHIPPED) -> bool:
    return synonyms.name(kind, phrase(query, synonyms)) in synonyms.covers(kind, phrase(item, synonyms))


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("category", "sneakers", "running shoes"),
        ("category", "trainers", "sneaker"),
        ("category", "hoodie", "hooded sweatshirt"),
        ("category", "jumper", "sweater"),
        ("category", "pants", "trousers"),
        ("category", "tee", "t-shirts"),
        ("category", "tee shirt", "T shirt"),
        ("color", "gray", "grey"),
        ("audience", "ladies", "women's"),
        ("other", "crewneck", "round neck"),
    ],
)
def test_the_same(kind: str, one: str, other: str) -> None:
    assert same(kind, one, other)


def test_other_things_are_others() -> None:
    assert not same("category", "shirt", "t-shirt")
    assert not same("audience", "men", "women")
    assert not same("color", "sneakers", "trainers")  # of another kind


@pytest.mark.parametrize(
    ("kind", "item", "query"),
    [
        ("category", "ankle boots", "boots"),
        ("category", "sneakers", "shoes"),
        ("category", "hoodie", "sweatshirt"),
        ("color", "navy", "blue"),
        ("color", "dark blue", "blue"),
        ("audience", "unisex", "women"),
        ("audience", "girls", "children"),
    ],
)
def test_a_kind_of_it(kind: str, item: str, query: str) -> None:
    assert covers(kind, item, query)
    assert not covers(kind, query, item)


@pytest.mark.parametrize(
    ("kind", "item", "query"),
    [
        ("material", "faux leather", "leather"),
        ("color", "rose gold", "gold"),
        ("color", "rose gold", "rose"),
        ("category", "tee", "shirt"),
        ("category", "boots", "ankle boots"),
        ("category", "shirt dress", "shirt"),
    ],
)
def test_no_kind_of_it(kind: str, item: str, query: str) -> None:
    assert not covers(kind, item, query)


def test_groups_that_share_a_phrase_are_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[category]\nsame = [["kicks", "sneakers"], ["creps", "kicks"]]\n', encoding="utf-8")
    mine = read_synonyms(path)
    assert same("category", "creps", "running shoes", mine) and not same("category", "creps", "running shoes")
    assert same("category", "jumper", "sweater", mine)


def test_a_list_of_ones_own_may_take_the_place_of_rankjurys(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    groups = '[category]\nsame = [["lamp", "light"]]\n[color.counts_as]\nteal = ["green"]\n'
    path.write_text(f'replace = true\nignored = ["the"]\n{groups}', encoding="utf-8")
    mine = read_synonyms(path)
    assert same("category", "lamps", "light", mine) and not same("category", "jumper", "sweater", mine)
    assert covers("color", "teal", "green", mine) and not covers("color", "green", "teal", mine)
    assert mine.ignored == {"the"}


@pytest.mark.parametrize(
    ("text", "error", "fragment"),
    [
        ("[category", DataError, "not TOML"),
        ("[catgory]\nsame = []", UnknownName, "category"),
        ("[category]\nsmae = []", UnknownName, "same"),
        ('[category]\nsame = ["a", "b"]', DataError, "found 'a'"),
        ("[category]\nsame = [[1]]", DataError, "found 1"),
        ('[category]\nknown = ["  "]', DataError, "found '  '"),
        ('[category]\ncounts_as = ["a"]', DataError, "counts_as"),
        ('[category]\nwhole = ["leather"]', DataError, "two words"),
        ("category = 1", DataError, "[category]"),
        ("replace = 1", DataError, "true or false"),
        ('ignored = "the"', DataError, "found 'the'"),
    ],
)
def test_what_is_no_list_of_synonyms(text: str, error: type[Exception], fragment: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(error, match=r"mine\.toml") as found:
        read_synonyms(path)
    assert fragment in str(found.value)


def test_no_phrase_of_the_shipped_list_is_of_two_groups_by_chance() -> None:
    """A word that stands twice under one kind joins two groups: it must be meant."""
    for kind in KINDS:
        for phrases in SHIPPED.known(kind):
            assert len(phrases) <= 5, phrases


def test_whole_phrases_are_one_word() -> None:
    assert SHIPPED.tokens("a faux-leather, button-down jacket") == ["a", "fauxleather", ".", "buttondown", "jacket"]
    assert SHIPPED.words("Faux Leather Boots") == [("fauxleather", "faux leather"), ("boot", "boots")]
    assert tokens("faux leather") == ["faux", "leather"]
