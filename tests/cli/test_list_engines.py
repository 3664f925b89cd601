"""rankjury list engines: every index that a plan can try, and everything that can be set of one."""

import json
from typing import Any

import pytest

from rankjury.core.params import Param
from rankjury.retrieval.engines.base import ENGINES
from rankjury.retrieval.engines.exact import Exact
from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure, check_width

OWN = ["exact", "faiss-flat", "faiss-hnsw", "faiss-ivf", "faiss-ivfpq", "usearch", "hnswlib", "pgvector", "lancedb",
       "sqlite-vec", "qdrant", "endpoint"]  # fmt: skip


def parameters(name: str) -> list[tuple[str, str, Param]]:
    kind = ENGINES.get(name)
    parts = (("open", kind.open_params), ("build", kind.build_params), ("search", kind.search_params))
    return [(part, one, param) for part, known in parts for one, param in known.items()]


def test_all_with_what_installs_them(rankjury: Rankjury) -> None:
    outcome = rankjury("list", "engines")
    assert (outcome.code, outcome.err) == (0, "")
    check_width(outcome.out)
    firsts = {line.split()[0]: line.split()[-1] for line in outcome.out.splitlines() if line.split() and line[0] != " "}
    assert set(OWN) <= set(ENGINES.names()) and set(ENGINES.names()) <= set(firsts)
    for name in ENGINES.names():
        assert ENGINES.get(name).description.split()[0] in outcome.out
    shown = firsts["exact"], firsts["faiss-hnsw"], firsts["pgvector"]
    assert shown == ("core", "rankjury[faiss]", "rankjury[pgvector]")
    assert firsts["usearch"] == "rankjury[engines]"
    assert outcome.out.endswith("Next: rankjury list engines NAME shows the parameters of one\n")


@pytest.mark.parametrize("name", OWN)
def test_everything_that_can_be_set_of_one(rankjury: Rankjury, name: str) -> None:
    outcome = rankjury("list", "engines", name)
    assert (outcome.code, outcome.err) == (0, "")
    kind, lines = ENGINES.get(name), outcome.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(outcome.out.split()).startswith(
        f"{name}: {kind.description} similarities: {', '.join(kind.metrics)}"
    )
    rows = [line.split() for line in lines if line]
    for part, parameter, param in parameters(name):
        assert any(row[:2] == [part, parameter] for row in rows), parameter
        assert all(choice in outcome.out for choice in param.choices)


def test_an_engine_without_parameters_has_no_empty_table(rankjury: Rankjury) -> None:
    outcome = rankjury("list", "engines", "faiss-flat")
    assert parameters("faiss-flat") == []
    assert "default" not in outcome.out and "─" not in outcome.out
    assert "no parameters" in outcome.out


def test_json_of_all(rankjury: Rankjury) -> None:
    found = json.loads(rankjury("list", "engines", "--json").out)
    assert list(found) == ENGINES.names()
    for name, facts in found.items():
        kind = ENGINES.get(name)
        assert (facts["about"], facts["extra"], facts["metrics"]) == (kind.description, kind.extra, list(kind.metrics))
        assert (facts["approximate"], facts["exact_mode"]) == (kind.approximate, kind.exact_mode)
        assert [(part, one) for part in ("open", "build", "search") for one in facts[part]] == [
            (part, one) for part, one, _ in parameters(name)
        ]


def test_json_of_one(rankjury: Rankjury) -> None:
    found: dict[str, Any] = json.loads(rankjury("list", "engines", "faiss-hnsw", "--json").out)
    param = ENGINES.get("faiss-hnsw").search_params["ef_search"]
    assert list(found) == ["faiss-hnsw"]
    assert found["faiss-hnsw"]["search"]["ef_search"] == {
        "default": param.default,
        "help": param.help,
        "min": param.min,
        "max": param.max,
        "choices": [],
        "monotonic_recall": True,
    }


def test_a_name_that_is_not_known(rankjury: Rankjury) -> None:
    check_failure(rankjury("list", "engines", "faiss-hnws"), 2, "'faiss-hnws'", "Did you mean faiss-hnsw")
    check_failure(rankjury("list", "engines", "pgvektor", "--json"), 2, "Did you mean pgvector")


def test_engines_of_others_are_listed_too(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(Exact):
        description = "my own"

    monkeypatch.setattr(ENGINES, "_entries", {name: ENGINES.get(name) for name in ENGINES.names()} | {"mine": Mine})
    assert any(line.split()[:3] == ["mine", "my", "own"] for line in rankjury("list", "engines").out.splitlines())


def test_help_shows_how_a_plan_names_one(rankjury: Rankjury) -> None:
    outcome = rankjury("list", "engines", "--help")
    assert outcome.code == 0 and "rankjury list engines pgvector" in outcome.out and "ef_search = 64" in outcome.out
