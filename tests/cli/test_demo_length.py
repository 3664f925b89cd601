"""Every demo fits a screen of 60 lines unless all is asked for."""

import re

import pytest

from rankjury.cli.demo import Sample
from tests.cli.conftest import Rankjury
from tests.cli.support import check_screen
from tests.demos import run_demo_once


@pytest.mark.parametrize("sample", list(Sample))
def test_a_demo_fits_a_screen(tmp_path_factory: pytest.TempPathFactory, sample: Sample) -> None:
    _, outcome = run_demo_once(sample.value, tmp_path_factory)
    assert outcome.code == 0, outcome.err
    check_screen(outcome)
    assert len(outcome.warnings) <= 5 * (2 if sample is Sample.driving else 1)
    cut = re.findall(r"^… ([\d,]+) more lines: --full$", outcome.out, re.MULTILINE)
    assert bool(cut) == (sample is not Sample.helpdesk)


def test_all_of_it(rankjury: Rankjury) -> None:
    short, whole = rankjury("demo", "movies"), rankjury("demo", "movies", "--full")
    kept = short.out.splitlines()[:-1]
    assert whole.out.splitlines()[:40] == kept[:40] and whole.out.count("\n") > 60
    assert "more lines" not in whole.out and "hub skew" in whole.out
