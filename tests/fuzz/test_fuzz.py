"""Fuzz suite in short: some cases of every surface, the found ones again, and the harness against faults of our own."""

import os
from collections.abc import Iterator
from inspect import isfunction
from pathlib import Path

import pytest

import rankjury
from tests.fuzz import api, commands
from tests.fuzz.harness import FOUND, Case, Worker, attempt, load, read_found

SEED = 22


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as started:
        yield started


@pytest.mark.parametrize("name", sorted(load()))
def test_some_cases_of_a_surface_succeed_or_are_refused(name: str, worker: Worker) -> None:
    """Half of the cases of ``make test``, unless all are wanted: RANKJURY_THOROUGH=1 pytest …"""
    cases = load()[name].quick if os.environ.get("RANKJURY_THOROUGH") else load()[name].quick // 2
    outcome = worker.run(name, SEED, 0, cases)
    assert outcome.cases == cases
    assert not outcome.findings, "\n".join(map(str, outcome.findings))
    assert outcome.accepted, "not even a seed succeeds"


def test_every_public_function_is_called() -> None:
    """Functions that were renamed or removed are called no more, and new ones are not forgotten."""
    functions = {name for name in rankjury.__all__ if isfunction(getattr(rankjury, name))}
    assert {name for name, _ in api.CALLS} == functions


def test_every_command_is_called() -> None:
    called = {line.split()[0] for line in commands.LINES}
    assert called == commands.command_names() - commands.NOT_CALLED


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.json")), ids=lambda path: path.stem)
def test_a_found_case_is_found_no_more(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name, case = read_found(path)
    assert attempt(load()[name], case, tmp_path) in (True, False)


@pytest.fixture(scope="module")
def faulty() -> Iterator[Worker]:
    with Worker(["tests.fuzz.faulty"], memory=1 << 30) as started:
        yield started


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("raise", "ValueError"),
        ("abort", "signal SIGABRT"),
        ("hang", "hang"),
        ("fill", "MemoryError"),
        ("leave", "left files"),
        ("open", "open files"),
    ],
)
def test_a_fault_is_found_and_its_case_can_be_repeated(name: str, kind: str, faulty: Worker) -> None:
    outcome = faulty.run(name, SEED, 1, 20)
    (finding,) = outcome.findings
    assert finding.kind == kind
    assert outcome.cases == 20
    again = faulty.run(name, SEED, finding.number, 2 if name == "open" else 1)
    assert [found.kind for found in again.findings] == [kind]
    assert finding.case is not None and Case.from_json(finding.case.to_json()) == finding.case
