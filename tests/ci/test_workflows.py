"""The workflows: their targets exist, their permissions are minimal, and they name no secret and no registry."""

import re
from typing import Any

import pytest
import yaml

from tests.ci.composite import ACTION
from tests.paths import ROOT

FOLDER = ROOT / ".github" / "workflows"
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.iterdir())}
WORKFLOWS: dict[str, dict[Any, Any]] = {name: yaml.safe_load(text) for name, text in TEXTS.items()}
WRITES = {
    ("docs.yml", "deploy"): {"pages": "write", "id-token": "write"},
    ("release.yml", "publish"): {"id-token": "write"},
}
"""Permissions of jobs; all others may read the repository only."""
PINNED = re.compile(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)")


def jobs() -> list[tuple[str, str, dict[str, Any]]]:
    return [(name, job, content) for name, flow in WORKFLOWS.items() for job, content in flow["jobs"].items()]


def steps_of(workflow: str, job: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = WORKFLOWS[workflow]["jobs"][job]["steps"]
    return steps


def make_targets(text: str) -> list[str]:
    return [target for line in re.findall(r"\bmake ([a-z ]+)$", text, re.MULTILINE) for target in line.split()]


def test_the_targets_that_are_made_exist() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    asked = {name: make_targets(text) for name, text in TEXTS.items()}
    assert asked == {"docs.yml": ["docs"], "release.yml": ["dist"], "tests.yml": ["check", "test"]}
    assert {target for targets in asked.values() for target in targets} <= set(phony.split())


def test_permissions_are_minimal() -> None:
    assert all(flow["permissions"] == {"contents": "read"} for flow in WORKFLOWS.values())
    assert {(name, job): content["permissions"] for name, job, content in jobs() if "permissions" in content} == WRITES


def test_a_job_that_may_write_runs_no_code_of_the_repository() -> None:
    for workflow, job in WRITES:
        assert all(
            set(step) <= {"uses", "with", "id"} and "checkout" not in step["uses"] for step in steps_of(workflow, job)
        )


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_secret_and_no_address_is_named(name: str) -> None:
    assert not re.search(r"secrets\.|(?<!id-)token:|password|https?://|index-url|repository-url", TEXTS[name])


def test_actions_are_pinned_to_major_versions() -> None:
    used = [step["uses"] for _, _, job in jobs() for step in job["steps"] if "uses" in step]
    used += [step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step]
    assert len(used) >= 10
    assert [name for name in used if not PINNED.fullmatch(name)] == []


def test_scripts_take_nothing_from_expressions() -> None:
    scripts = [step["run"] for _, _, job in jobs() for step in job["steps"] if "run" in step]
    assert scripts and not [script for script in scripts if "${{" in script]


def test_the_suite_runs_on_the_oldest_and_the_newest_python() -> None:
    classifiers = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    assert WORKFLOWS["tests.yml"]["jobs"]["test"]["strategy"]["matrix"]["python"] == [classifiers[0], classifiers[-1]]


def test_a_release_publishes_what_the_build_uploaded() -> None:
    triggers = WORKFLOWS["release.yml"][True]  # YAML reads the key "on" as true
    assert list(triggers) == ["push"] and list(triggers["push"]) == ["tags"]
    assert all(pattern.startswith("v") for pattern in triggers["push"]["tags"])
    publish = WORKFLOWS["release.yml"]["jobs"]["publish"]
    assert (publish["needs"], publish["environment"]) == ("build", "pypi")
    download, upload = steps_of("release.yml", "publish")
    assert download["with"]["name"] == steps_of("release.yml", "build")[-1]["with"]["name"]
    assert upload["uses"].startswith("pypa/gh-action-pypi-publish@")
