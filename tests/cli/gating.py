"""Targets, and runs whose verdicts are known, for the tests of rankjury gate."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Rankjury
from tests.cli.made import QUERIES, RANKS, put_gold, put_run
from tests.cli.support import Outcome, put

WORSE = [3] * QUERIES
TYPES = "query_id,type\n" + "".join(f"q{n:02},{'how-to' if n % 2 else 'fact'}\n" for n in range(QUERIES))
ITEMS = "item_id,part\nd0,head\nd1,tail\nd2,tail\n"
GATE = ["gate", "t.toml"]
FILES = ["g.qrels", "new.trec"]
# The mean of new is 0.708 [0.59, 0.83], that of old 0.333 for every query.
PASS, FAIL, UNSURE = "rr >= 0.5", "rr >= 0.95", "rr >= 0.7"


@pytest.fixture
def gate_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    put_gold()
    put_run("new.trec", RANKS)
    put_run("old.trec", WORSE)
    put("types.csv", TYPES)
    put("items.csv", ITEMS)


def put_targets(*targets: str, name: str = "t.toml", **keys: str | list[str]) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in {"targets": list(targets), **keys}.items()]
    return put(name, "\n".join(lines) + "\n")


def put_one_target(**keys: str) -> None:
    put("t.toml", "[[target]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items()))


def make_report(
    rankjury: Rankjury, name: str, *runs: str, compared: bool = False, options: tuple[str, ...] = ()
) -> str:
    given = ["-m", "rr,ap", "-s", "types.csv:type", "-o", name, *options]
    assert rankjury("compare" if compared else "evaluate", "g.qrels", *runs, *given).code == 0
    return name


def verdicts_of(outcome: Outcome) -> list[dict[str, Any]]:
    gate = json.loads(outcome.out)
    assert gate["schema"] == "rankjury.gate/1" and "NaN" not in outcome.out
    verdicts: list[dict[str, Any]] = gate["targets"]
    return verdicts
