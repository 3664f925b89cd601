"""rankjury list recommenders: every model that a plan can try, and everything that can be set of one."""

import json
from typing import Any

import pytest

from rankjury.recsys.models import RECOMMENDERS
from rankjury.recsys.models.popularity import Popularity
from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure, check_width

OWN = ["popularity", "random", "item-knn", "user-knn", "svd", "als", "bpr", "ease", "slim", "fm", "content", "hybrid",
       "scores", "factors", "callable"]  # fmt: skip


def test_all_with_what_installs_them(rankjury: Rankjury) -> None:
    outcome = rankjury("list", "recommenders")
    assert (outcome.code, outcome.err) == (0, "")
    check_width(outcome.out)
    firsts = {line.split()[0]: line.split()[-1] for line in outcome.out.splitlines() if line.split() and line[0] != " "}
    assert set(OWN) == set(RECOMMENDERS.names()) and set(OWN) <= set(firsts)
    assert (firsts["popularity"], firsts["als"], firsts["content"]) == ("core", "rankjury[recsys]", "core")
    assert outcome.out.endswith("Next: rankjury list recommenders NAME shows the parameters of one\n")


@pytest.mark.parametrize("name", OWN)
def test_everything_that_can_be_set_of_one(rankjury: Rankjury, name: str) -> None:
    outcome = rankjury("list", "recommenders", name)
    assert (outcome.code, outcome.err) == (0, "")
    kind, lines = RECOMMENDERS.get(name), outcome.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(outcome.out.split()).startswith(f"{name}: {kind.description} libraries: ")
    rows = [line.split() for line in lines if line]
    for parameter, param in kind.params.items():
        assert any(row[0] == parameter for row in rows), parameter
        assert all(choice in outcome.out for choice in param.choices)
    for library, version in kind.versions().items():
        assert f"{library} {version}" in " ".join(outcome.out.split())


def test_json(rankjury: Rankjury) -> None:
    found = json.loads(rankjury("list", "recommenders", "--json").out)
    assert list(found) == RECOMMENDERS.names()
    one: dict[str, Any] = json.loads(rankjury("list", "recommenders", "als", "--json").out)
    assert one == {"als": found["als"]}
    kind = RECOMMENDERS.get("als")
    assert (one["als"]["about"], one["als"]["extra"], one["als"]["installed"]) == (kind.description, "recsys", True)
    assert one["als"]["libraries"] == kind.versions()
    assert one["als"]["params"]["factors"] == {
        "default": 16, "help": kind.params["factors"].help, "min": 1, "max": None, "choices": [],
    }  # fmt: skip


def test_a_name_that_is_not_known(rankjury: Rankjury) -> None:
    check_failure(rankjury("list", "recommenders", "item-nn"), 2, "'item-nn'", "Did you mean item-knn")


def test_one_whose_library_is_missing(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RECOMMENDERS.get("als"), "libraries", ("no_such_library",))
    assert "not installed: pip install 'rankjury[recsys]'" in rankjury("list", "recommenders", "als").out
    facts = json.loads(rankjury("list", "recommenders", "als", "--json").out)["als"]
    assert (facts["installed"], facts["libraries"]) == (False, {"no_such_library": None})


def test_recommenders_of_others_are_listed_too(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(Popularity):
        description = "my own"
        params = {}

    entries = {name: RECOMMENDERS.get(name) for name in RECOMMENDERS.names()} | {"mine": Mine}
    monkeypatch.setattr(RECOMMENDERS, "_entries", entries)
    assert any(line.split()[:3] == ["mine", "my", "own"] for line in rankjury("list", "recommenders").out.splitlines())
    assert "There are no parameters to set." in rankjury("list", "recommenders", "mine").out


def test_help_shows_how_a_plan_names_one(rankjury: Rankjury) -> None:
    outcome = rankjury("list", "recommenders", "--help")
    assert outcome.code == 0 and "rankjury list recommenders als" in outcome.out and "factors = 64" in outcome.out
