"""The pages of docs/reference are those that scripts/make_reference.py makes from the code."""

import importlib
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from types import ModuleType
from typing import Any

import pytest
import typer
import typer.main

import rankjury
from rankjury.cli import app
from rankjury.labeling.keywords.mapping import MAPPERS
from rankjury.measures.dialects import DIALECTS
from rankjury.measures.measure import METRICS, metric
from rankjury.plan import GOLD_KINDS, SYSTEM_KINDS
from rankjury.plan.parse import read_plan
from rankjury.plan.schema import plan_model
from rankjury.recsys.models import RECOMMENDERS
from rankjury.recsys.splitting import SPLITS
from rankjury.retrieval.embedding.models import MODELS
from rankjury.retrieval.engines.base import ENGINES
from rankjury.retrieval.fusion.fusion import METHODS
from tests.golden.recording import EXPECTED
from tests.paths import ROOT

FOLDER = ROOT / "docs" / "reference"
PAGES = {path.relative_to(FOLDER).as_posix(): path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.md")}
WRITTEN_BY_HAND = {"index.md", "completion.md"}
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def reference() -> Iterator[ModuleType]:
    """The generator, imported from the folder of scripts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "scripts")
        yield importlib.import_module("reference")
    for name in [name for name in sys.modules if name.split(".")[0] == "reference"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def generated(reference: ModuleType) -> dict[str, str]:
    return dict(reference.pages())


def headings(page: str) -> set[str]:
    return {line.lstrip("#").strip().strip("`") for line in PAGES[page].splitlines() if line.startswith("#")}


def test_pages_are_those_that_the_code_gives(generated: dict[str, str]) -> None:
    differing = [name for name, text in generated.items() if PAGES.get(name) != text]
    assert not differing, "run: python scripts/make_reference.py"
    assert PAGES.keys() - generated.keys() <= WRITTEN_BY_HAND


def test_every_entry_of_the_code_is_on_its_page() -> None:
    assert {f"measures/{name}.md" for name in METRICS.names()} < PAGES.keys()
    assert set(DIALECTS.names()) <= headings("dialects.md")
    assert set(ENGINES.names()) <= headings("engines.md")
    assert {*RECOMMENDERS.names(), *(f"Split: {name}" for name in SPLITS.names())} <= headings("recommenders.md")
    assert {f"rankjury {name}" for name in COMMANDS} <= headings("commands.md")
    kinds = [f"Kind of gold: {name}" for name in GOLD_KINDS.names()]
    assert {*kinds, *(f"Kind of system: {name}" for name in SYSTEM_KINDS.names())} <= headings("plan.md")
    methods = {*METHODS.names(), *MODELS.names(), *MAPPERS.names()}
    assert not [name for name in methods if f"| `{name}` |" not in PAGES["retrieval.md"]]


def test_every_public_name_is_on_the_page_of_python() -> None:
    exceptions = {name for name in rankjury.__all__ if name.endswith("Error")}
    named = {f"rankjury.{name}" for name in {*rankjury.__all__} - exceptions - {"scale", "__version__"}}
    named |= {f"rankjury.scale.{name}" for name in rankjury.scale.__all__}
    assert named <= headings("python.md")
    assert not [name for name in (*exceptions, "__version__") if f"rankjury.{name}" not in PAGES["python.md"]]


def test_every_option_of_every_command_is_on_the_page() -> None:
    sections = re.split(r"^### ", PAGES["commands.md"], flags=re.MULTILINE)
    by_command = {section.partition("\n")[0].removeprefix("rankjury "): section for section in sections}
    for name, command in COMMANDS.items():
        params = command.get_params(typer.Context(command))
        options = {spelling for param in params for spelling in param.opts if spelling.startswith("--")}
        assert not {option for option in options - {"--help"} if option not in by_command[name]}, name


def test_every_key_of_a_plan_is_on_its_page() -> None:
    definitions = plan_model().model_json_schema()
    tables = [definitions, *definitions["$defs"].values()]
    keys = {key for table in tables for key in table["properties"]} - {"kind"}
    assert not {key for key in keys if f"| `{key}` |" not in PAGES["plan.md"]}


def test_plans_of_the_page_are_plans(tmp_path: Path) -> None:
    plans = re.findall(r"```toml[^\n]*\n(.*?)```", PAGES["plan.md"], re.DOTALL)
    for plan in plans:
        (tmp_path / "rankjury.toml").write_text(plan, encoding="utf-8")
        assert read_plan(tmp_path / "rankjury.toml").plan.systems
    assert len(plans) >= 2


def test_a_new_metric_is_noticed_and_a_page_of_a_metric_that_is_gone(
    reference: ModuleType, generated: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(METRICS, "_entries", dict(METRICS._entries))
    monkeypatch.setattr(METRICS, "_modules", dict(METRICS._modules))

    def toy(judged: Any, k: int | None) -> Any:
        """Toy metric of a test.

        Formula: the number of items retrieved.

        Source: this test.
        """
        return judged.depth.astype(float)

    metric("toy_metric", lower_is_better=True)(toy)
    folder = tmp_path / "reference"
    copytree(FOLDER, folder)
    (folder / "measures" / "gone.md").write_text("# gone\n")
    new = {**generated, **importlib.import_module("reference.measures").measure_pages()}
    assert set(reference.write(folder, new)) == {"measures/index.md", "measures/toy_metric.md", "measures/gone.md"}
    page = (folder / "measures" / "toy_metric.md").read_text(encoding="utf-8")
    assert "The number of items retrieved." in page and "| better | lower |" in page
    assert re.search(r"\| rankjury \| \S+ \| `toy_metric@3` \|", page)
    assert not (folder / "measures" / "gone.md").exists()
    assert reference.differing(folder, new) == {}


def schemas_within(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON value that have a schema."""
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from schemas_within(inner)
    if isinstance(value, dict) and str(value.get("schema", "")).startswith("rankjury."):
        yield value


def test_keys_of_recorded_json_are_described() -> None:
    forms = tomllib.loads((ROOT / "scripts" / "reference" / "json_forms.toml").read_text(encoding="utf-8"))["forms"]
    found = set()
    for path in EXPECTED.rglob("*.json"):
        for form in schemas_within(json.loads(path.read_text(encoding="utf-8"))):
            described = forms[form["schema"]].get("keys")
            if described:
                found.add(form["schema"])
                assert not form.keys() - described.keys() - {"schema", "rankjury"}, path
    assert len(found) >= 6


def test_an_undescribed_schema_is_refused(reference: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    schemas = importlib.import_module("reference.schemas")
    monkeypatch.setattr(schemas, "schemas_in_code", lambda: {*schemas.FORMS, "rankjury.toy/1"})
    with pytest.raises(ValueError, match=r"not described: rankjury\.toy/1"):
        schemas.check_forms()


def test_generated_texts_are_plain(generated: dict[str, str]) -> None:
    from tests.test_architecture import BANNED

    found = [f"{name}: {match[0]}" for name, text in generated.items() for match in BANNED.finditer(text)]
    assert not found
