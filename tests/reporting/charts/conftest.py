"""Real reports: the bundled plans, carried out with few resamples, written and read back."""

import json
import re
import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from rankjury.evaluation.report import Report
from rankjury.plan.run import run_plan

SAMPLES = ("movies", "fashion", "driving", "movielens")


@pytest.fixture(scope="session")
def report_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Report]:
    """Made when first asked for. Without what takes long and no chart shows: a server, other mappers, more models."""
    made: dict[str, Report] = {}

    def find(name: str) -> Report:
        if name not in made:
            folder = tmp_path_factory.mktemp("samples") / name
            shutil.copytree(Path(str(files("rankjury.plan") / "samples" / name)), folder)
            plan = folder / "rankjury.toml"
            text = re.sub(r"^check = .*\n", "", plan.read_text("utf-8"), flags=re.M)
            text = re.sub(
                r"^\[systems\.(pgvector|als|stars|hybrid|item-knn)\].*\n(?:[^\[\n].*\n|\n)*", "", text, flags=re.M
            )
            plan.write_text(
                "statistics.resamples = 200\n" + re.sub(r"^\[tune.*\n(?:[^\[\n].*\n?|\n)*", "", text, flags=re.M)
            )
            made[name] = Report.from_json(
                json.loads(json.dumps(run_plan(plan, archive=False, write=False).report.to_json()))
            )
        return made[name]

    return find


@pytest.fixture(params=SAMPLES)
def report(request: pytest.FixtureRequest, report_of: Callable[[str], Report]) -> Report:
    return report_of(request.param)
