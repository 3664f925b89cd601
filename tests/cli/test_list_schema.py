"""rankjury list schema: what editors need to know of plans."""

import json
import re
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from rankjury.plan import GOLD_KINDS, SYSTEM_KINDS
from rankjury.plan.schema import schema_text
from tests.cli.conftest import Rankjury
from tests.cli.made import RANKS, put_gold, put_run
from tests.cli.support import check_failure, put
from tests.cli.terminal import in_terminal

MOVIES = (files("rankjury.plan") / "samples" / "movies" / "rankjury.toml").read_text(encoding="utf-8")


@cache
def validator() -> Any:
    schema = json.loads(schema_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def errors_of(text: str) -> list[Any]:
    return list(validator().iter_errors(tomllib.loads(text)))


def test_it_is_a_schema_and_names_everything(rankjury: Rankjury) -> None:
    outcome = rankjury("list", "schema")
    assert (outcome.code, outcome.err) == (0, "") and "\x1b" not in outcome.out
    assert outcome.out == schema_text()
    schema = json.loads(outcome.out)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    for kind in (*GOLD_KINDS.names(), *SYSTEM_KINDS.names()):
        assert f'"const": "{kind}"' in outcome.out, kind
    for key, value in schema["properties"].items():
        named = schema["$defs"][value["$ref"].rpartition("/")[2]] if "$ref" in value else {}
        assert "description" in named | value, f"an editor shows what {key} is for"


def test_plans_that_run_are_valid() -> None:
    assert errors_of(MOVIES) == []


@pytest.mark.parametrize("kind", ["runs", "spaces", "reference", "search"])
def test_drafts_are_valid(rankjury: Rankjury, kind: str) -> None:
    assert rankjury("init", kind, "-q").code == 0
    assert errors_of(Path("rankjury.toml").read_text()) == []


def test_short_forms_are_valid(rankjury: Rankjury) -> None:
    """gold = FILE, a system = FILE, and a table without its kind: rankjury run takes them, so an editor must."""
    put_gold()
    put_run("new.trec", RANKS)
    for text in (
        'gold = "g.qrels"\n[systems]\nnew = "new.trec"\n',
        '[gold]\npath = "g.qrels"\n[systems.new]\npath = "new.trec"\n',
    ):
        put("rankjury.toml", text)
        assert rankjury("run").code == 0
        assert errors_of(text) == []


@pytest.mark.parametrize(
    ("replaced", "by"),
    [
        ('baseline = "', 'basline = "'),
        ('kind = "ordered"', 'kind = "ordred"'),
        ("cutoffs = [5,", "cutoffs = [0,"),
        ('measures = ["', 'measures = [1, "'),
        ("k = 5", 'k = "5"'),
        ('path = "vectors.npz:vibe"', ""),
        ('method = "rrf"', 'methd = "rrf"'),
    ],
)
def test_what_rankjury_refuses_is_invalid(rankjury: Rankjury, replaced: str, by: str) -> None:
    assert MOVIES.count(replaced) == 1
    text = MOVIES.replace(replaced, by)
    assert errors_of(text)
    put("rankjury.toml", text)
    assert rankjury("run").code == 2


def test_output(rankjury: Rankjury) -> None:
    outcome = rankjury("list", "schema", "-o", "plan.json")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "Wrote plan.json\n")
    assert Path("plan.json").read_text(encoding="utf-8") == rankjury("list", "schema").out
    assert rankjury("list", "schema", "-o", "plan.json", "-q").err == ""


def test_a_place_that_cannot_be_written(rankjury: Rankjury) -> None:
    check_failure(rankjury("list", "schema", "-o", "nowhere/plan.json"), 3, "nowhere/plan.json")
    Path("folder.json").mkdir()
    check_failure(rankjury("list", "schema", "-o", "folder.json"), 3, "folder.json")


def test_help_teaches(rankjury: Rankjury) -> None:
    text = rankjury("list", "schema", "--help").out
    (example,) = re.findall(r"^ +rankjury (list schema .+)$", text, re.MULTILINE)
    assert rankjury(*example.split()).code == 0 and json.loads(Path("rankjury.schema.json").read_text())
    assert "#:schema rankjury.schema.json" in text


def test_in_a_terminal(folder: Path) -> None:
    seen = in_terminal(["list", "schema"])
    assert "\x1b" not in seen and json.loads(seen)["title"]
