"""The JSON Schema of plans: a schema itself, true of every plan that is right, and aware of plug-ins."""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import Field

from rankjury.errors import UsageError
from rankjury.plan import SYSTEM_KINDS
from rankjury.plan.context import Loaded, SystemContext, SystemTable
from rankjury.plan.draft import draft, draft_names
from rankjury.plan.folder_scan import FolderContents
from rankjury.plan.parse import read_plan
from rankjury.plan.schema import plan_schema
from tests.plan import SHORT, checked, plan_in, with_own_registries

SAMPLE = Path(str(files("rankjury.plan") / "samples" / "movies" / "rankjury.toml"))
LONG = "[gold]\nkind = 'labels'\npath = 'q'\n[systems.x]\nkind = 'run'\npath = 'x'\n"


def faults_in(text: str) -> list[str]:
    """What the schema finds, by the path of each."""
    found = Draft202012Validator(plan_schema()).iter_errors(tomllib.loads(text))
    return [".".join(map(str, error.absolute_path)) for error in found]


def test_it_is_a_schema() -> None:
    schema = plan_schema()
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    assert set(schema["required"]) == {"gold", "systems"}


def test_everything_is_described() -> None:
    """Every key of every table says what it is, or the table it refers to does; save the kinds."""
    schema: dict[str, Any] = plan_schema()
    tables = schema["$defs"]
    described = {f"#/$defs/{name}" for name, table in tables.items() if "description" in table}
    keys = [(name, key) for table in (schema, *tables.values()) for name, key in table["properties"].items()]
    assert {name for name, key in keys if "description" not in key and key.get("$ref") not in described} == {"kind"}


class TestPlansThatAreRight:
    def test_the_bundled_one(self) -> None:
        assert faults_in(SAMPLE.read_text()) == []
        assert read_plan(SAMPLE).plan.name == "movies"

    @pytest.mark.parametrize("kind", draft_names())
    def test_drafts(self, kind: str, tmp_path: Path) -> None:
        text = draft(kind, FolderContents(), "drafted")
        assert faults_in(text) == []
        assert checked(tmp_path, text).plan.name == "drafted"

    def test_kinds_left_out(self) -> None:
        """A gold without a kind is of labels, a system a run."""
        assert faults_in(LONG.replace("kind", "# kind")) == []

    def test_short_forms(self) -> None:
        assert faults_in(SHORT) == []


class TestPlansThatAreWrong:
    @pytest.mark.parametrize(
        ("line", "path"),
        [
            ("basline = 'x'", ""),
            ("name = 3", "name"),
            ("cutoffs = [5, 0]", "cutoffs.1"),
            ("version = 2", "version"),
            ("targets = 3", "targets"),
            ("statistics.level = 1.0", "statistics.level"),
            ("statistics.seeds = 1", "statistics"),
            ("conventions.ties = 'x'", "conventions.ties"),
            ("figures.x.latency = 'fast'", "figures.x.latency"),
            ("meta.x = []", "meta.x"),
            ("output = [{ form = 'report' }]", "output.0"),
            ("target = [{ require = 'ap > 0', slise = 'x' }]", "target.0"),
            ("systems.y = { kind = 'vectors' }", "systems.y"),
            ("systems.y = { kind = 'nope', path = 'y' }", "systems.y"),
            ("systems.y = { kind = 'run', path = 'y', depth = 3 }", "systems.y"),
            ("systems.y = { kind = 'fusion', of = [] }", "systems.y"),
        ],
    )
    def test_one_fault(self, line: str, path: str, tmp_path: Path) -> None:
        """The schema and the reader agree."""
        text = f"{line}\n{LONG}"
        assert faults_in(text) == [path]
        with pytest.raises(UsageError):
            checked(tmp_path, text)

    @pytest.mark.parametrize(
        ("text", "paths"),
        [
            ("", ["", ""]),
            ("gold = { path = 'q' }", [""]),
            ("systems.x = { path = 'x' }", [""]),
            ("gold = { path = 'q' }\nsystems = {}", ["systems"]),
        ],
    )
    def test_without_a_gold_or_systems(self, text: str, paths: list[str]) -> None:
        assert faults_in(text) == paths


class TestPlugIns:
    def test_a_kind_of_system_is_in_the_schema_and_can_be_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with_own_registries(monkeypatch)
        text = LONG + "[systems.mine]\nkind = 'echo'\nloudness = 3\n"
        assert faults_in(text) == ["systems.mine"]

        @SYSTEM_KINDS.register("echo")
        class Echo(SystemTable):
            """What was said."""

            kind: Literal["echo"]
            loudness: int = Field(ge=1, description="From 1.")

            def load(self, context: SystemContext) -> Loaded:
                raise NotImplementedError

        definition = plan_schema()["$defs"]["Echo"]
        assert definition["properties"]["loudness"]["description"] == "From 1."
        assert definition["additionalProperties"] is False
        assert faults_in(text) == [] and faults_in(text.replace("3", "0")) == ["systems.mine"]
        table = read_plan(plan_in(tmp_path, text)).plan.systems["mine"]
        assert isinstance(table, Echo) and table.loudness == 3
        with pytest.raises(UsageError, match=r"plan\.toml:9, systems\.mine\.loudness: found 0"):
            checked(tmp_path, text.replace("3", "0"))

    def test_it_is_gone_afterwards(self) -> None:
        assert "echo" not in SYSTEM_KINDS.names() and "Echo" not in plan_schema()["$defs"]
