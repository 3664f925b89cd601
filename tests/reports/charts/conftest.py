"""Forms of real reports: the bundled plans, carried out with few resamples."""

import json
import re
import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from karat.plan.api import run_plan

SAMPLES = ("movies", "fashion", "driving", "movielens")


@pytest.fixture(scope="session")
def form_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Any]]:
    """Made when first asked for. Without what takes long and no chart shows: a server, other mappers, more models."""
    made: dict[str, dict[str, Any]] = {}

    def find(name: str) -> dict[str, Any]:
        if name not in made:
            folder = tmp_path_factory.mktemp("samples") / name
            shutil.copytree(Path(str(files("karat") / "samples" / name)), folder)
            plan = folder / "karat.toml"
            text = re.sub(r"^check = .*\n", "", plan.read_text("utf-8"), flags=re.M)
            text = re.sub(
                r"^\[systems\.(pgvector|als|stars|hybrid|item-knn)\].*\n(?:[^\[\n].*\n|\n)*", "", text, flags=re.M
            )
            plan.write_text(
                "statistics.resamples = 200\n" + re.sub(r"^\[tune.*\n(?:[^\[\n].*\n?|\n)*", "", text, flags=re.M)
            )
            outcome = run_plan(plan)
            form = outcome.report.to_json() | ({"gate": outcome.gate.to_json()} if outcome.gate else {})
            made[name] = json.loads(json.dumps(form))
        return made[name]

    return find


@pytest.fixture(params=SAMPLES)
def form(request: pytest.FixtureRequest, form_of: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    return form_of(request.param)
