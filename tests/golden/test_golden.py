"""Commands print and write what is stored in ``expected``; ``python -m tests.golden`` stores it again."""

from difflib import unified_diff

import pytest

from tests.golden.cases import CASES
from tests.golden.recording import EXPECTED, read_expected, record
from tests.golden.round_trip import every_report_checked

_MOST_LINES = 60
"""Of each file's difference."""


@pytest.mark.parametrize("name", CASES)
def test_outputs_are_as_stored_and_reports_are_read_back(name: str) -> None:
    with every_report_checked() as faults:
        expected, found = read_expected(name), record(name, CASES[name])
    assert (faults or name == "variants") and not any(faults), faults
    changes = []
    for path in sorted(expected.keys() | found.keys()):
        old, new = (outputs.get(path, "").splitlines() for outputs in (expected, found))
        if expected.get(path) != found.get(path):
            lines = list(unified_diff(old, new, f"expected/{name}/{path}", "found", n=1, lineterm=""))
            more = [f"… {len(lines) - _MOST_LINES:,} more lines"] if len(lines) > _MOST_LINES else []
            changes += [*lines[:_MOST_LINES], *more]
    if changes:
        pytest.fail("\n".join([*changes, "If this is meant: python -m tests.golden, and review the git diff"]), False)


def test_no_stored_outputs_are_left_over() -> None:
    assert {path.name for path in EXPECTED.iterdir()} == set(CASES)
