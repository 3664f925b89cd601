"""rankjury history: figures over runs, steps in words, and files."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from rankjury.cli.shared.archive_tables import history_to_csv
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.files import display_time, shows_seconds
from rankjury.tracking.archive.history import HistoryPoint, Series, summarize_series
from tests.cli.archives import stepped
from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure, check_width
from tests.tracking.archive.made import PLAN, kept, put_small


@pytest.fixture(autouse=True)
def nobodys_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKJURY_ARCHIVE", raising=False)


def test_a_table_a_chart_and_the_step_in_words(rankjury: Rankjury, folder: Path) -> None:
    runs = stepped(folder)
    Archive(folder / ".rankjury").set_baseline(runs[2])
    outcome = rankjury("history", "--system", "new")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0] == "small: 12 runs" and "rr of new" in lines
    answer = " ".join(outcome.out.partition("rr of new")[0].split())
    assert "new: rr is 0.600 [" in answer and "+0.100 since the first of 12 runs" in answer
    assert "since the previous run" in answer and "+0.100 since the baseline" in answer
    assert "step at 2026-01-09 06:30: 0.500 → 0.600" in answer
    rows = [line.split() for line in lines if line.startswith("2026-01-") or line.startswith("01-")]
    assert len(rows) == 12 and rows[0][0].endswith("01-01") and "[0.400," in rows[0]
    assert [place for place, row in enumerate(rows) if "step" in row] == [8] and "+0.100" in rows[8]
    assert [place for place, row in enumerate(rows) if "baseline" in row] == [2]
    chart = [line for line in lines if "┤" in line]
    assert len(chart) == 7 and sum(line.count("●") for line in chart) == 12
    below = lines[lines.index(chart[-1]) + 1]
    assert below.strip() == "▲" and below.index("▲") == chart[0].index("┤") + 1 + 2 * 8
    head = lines.index(f"step at 2026-01-09 06:30 ({runs[8].digest[:8]}): 0.500 → 0.600, beyond the errors")
    assert lines[head + 1] == "  input new.trec has other contents"
    check_width(outcome.out)


def test_other_measures_and_systems(rankjury: Rankjury, folder: Path) -> None:
    stepped(folder, runs=3, at=9)
    outcome = rankjury("history", "small", "-m", "rr(missing=zero),ndcg@3", "-m", "precision@3")
    titles = [line for line in outcome.out.splitlines() if re.fullmatch(r"\S+ of \S+", line)]
    expected = [f"{measure} of {system}" for measure in ("rr", "ndcg@3", "precision@3") for system in ("old", "new")]
    assert titles == expected and outcome.code == 0
    check_width(outcome.out)


def test_one_run_and_an_undefined_measure(rankjury: Rankjury, folder: Path) -> None:
    stepped(folder, runs=1)
    outcome = rankjury("history", "--system", "new")
    assert "one run" in outcome.out and outcome.code == 0
    point = HistoryPoint("2026-01-01T00:00:00Z", "a", None, None, None, None, 0, "rr")
    assert "undefined in every run" in summarize_series(Series("new", "rr", (point, point)), [])
    known = replace(point, mean=0.5, low=0.4, high=0.6)
    sentence = summarize_series(Series("new", "rr", (known, replace(known, convention="other"), known, point)), [])
    assert "not comparable with the previous run" in sentence and "last run where it is defined" in sentence
    assert "0.000 since the first of 4 runs" in sentence and "no step" in sentence


def test_seconds_where_two_runs_share_a_minute() -> None:
    times = ["2026-11-19T06:17:40Z", "2026-11-19T06:18:02Z"]
    assert not shows_seconds(times) and shows_seconds([*times, "2026-11-19T06:18:09Z"])
    assert display_time(times[0]) == "2026-11-19 06:17" and display_time(times[0], seconds=True).endswith("06:17:40")


def test_only_the_last(rankjury: Rankjury, folder: Path) -> None:
    stepped(folder)
    outcome = rankjury("history", "--last", "3", "--system", "new", "--json")
    form = json.loads(outcome.out)
    assert len(form["runs"]) == 3 and [len(one["points"]) for one in form["series"]] == [3]
    assert form["series"][0]["steps"] == [], "what was before is not looked at"


def test_json_has_every_digit(rankjury: Rankjury, folder: Path) -> None:
    runs = stepped(folder)
    form = json.loads(rankjury("history", "--json", "--system", "new").out)
    assert form["schema"] == "rankjury.history/1" and form["plan"] == "small" and form["baseline"] is None
    assert [one["run"] for one in form["runs"]] == [run.name for run in runs]
    (series,) = form["series"]
    assert [point["mean"] for point in series["points"]] == [0.5] * 8 + [0.6] * 4
    (step,) = series["steps"]
    assert (step["run"], step["run_before"], step["beyond"]) == (runs[8].name, runs[7].name, True)
    assert [one["what"] for one in step["changed"]] == ["new.trec"]


def test_files(rankjury: Rankjury, folder: Path) -> None:
    stepped(folder)
    outcome = rankjury("history", "--system", "new", "-o", "h.csv", "-o", "h.json", "-o", "h.png", "-o", "h.svg")
    assert outcome.code == 0 and outcome.err.endswith("Wrote h.csv, h.json, h.png, h.svg\n")
    with Path("h.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12 and [row["step"] for row in rows] == ["0"] * 8 + ["1"] + ["0"] * 3
    assert [float(row["mean"]) for row in rows] == [0.5] * 8 + [0.6] * 4 and rows[0]["difference"] == ""
    assert json.loads(Path("h.json").read_text()) == json.loads(rankjury("history", "--system", "new", "--json").out)
    assert Path("h.png").read_bytes().startswith(b"\x89PNG") and "<svg" in Path("h.svg").read_text()


def test_long_histories_show_their_end(rankjury: Rankjury, folder: Path) -> None:
    stepped(folder, runs=25, at=20)
    out = rankjury("history", "--system", "new").out
    assert "… 5 earlier: --last 25 shows them" in out and out.count("\n2026-01-") == 20
    assert rankjury("history", "--system", "new", "--last", "25").out.count("\n2026-01-") == 25
    assert rankjury("history").out.count("\n2026-01-") == 16, "of several systems fewer"


def test_which_plan(rankjury: Rankjury, folder: Path) -> None:
    stepped(folder, runs=2)
    other = put_small(folder / "other", PLAN.replace('"small"', '"another"'))
    kept(Archive(folder / ".rankjury"), other, 99)
    outcome = rankjury("history")
    assert outcome.out.startswith("another: 1 run\n") and "also kept: small" in outcome.err
    assert rankjury("history", "small").out.startswith("small: 2 runs\n")
    assert rankjury("history", "plan.toml").out.startswith("small: 2 runs\n")
    assert rankjury("history", "other/plan.toml").out.startswith("another: 1 run\n")
    check_failure(rankjury("history", "smal"), 2, "unknown plan in the archive: 'smal'", "Did you mean small?")


def test_requests_that_make_no_sense(rankjury: Rankjury, folder: Path) -> None:
    check_failure(rankjury("history"), 3, ".rankjury: the archive has no run", "rankjury run keeps one")
    stepped(folder, runs=2)
    check_failure(rankjury("history", "--system", "nwe"), 2, "Did you mean new?")
    check_failure(rankjury("history", "-m", "ndcg@33"), 2, "unknown measure in these runs: 'ndcg@33'", "ndcg@3")
    check_failure(rankjury("history", "-o", "h.xls"), 2, ".png, .svg, .csv, .json")
    check_failure(rankjury("history", "-o", "no/h.csv"), 3, "no such folder")
    assert rankjury("history", "--last", "0").code == 2


def test_a_run_that_cannot_be_read_is_warned_of(rankjury: Rankjury, folder: Path) -> None:
    runs = stepped(folder, runs=3)
    (runs[1].path / "manifest.json").write_text("{")
    outcome = rankjury("history", "--system", "new")
    assert outcome.code == 0 and outcome.out.startswith("small: 2 runs\n")
    assert len(outcome.warnings) == 1 and runs[1].name in outcome.warnings[0]
    for run in (runs[0], runs[2]):
        (run.path / "manifest.json").unlink()
    check_failure(rankjury("history"), 3, "no run of the archive can be read")


def test_no_name_in_csv_is_a_formula() -> None:
    point = HistoryPoint("2026-01-01", "r", -0.5, None, None, None, 2, "ap")
    run = SimpleNamespace(name="r", verdict=None, manifest={})
    series = [(Series("@s", "ap", (point,)), [])]
    history = SimpleNamespace(plan="=x", baseline=None, series=series, by_name={"r": run})
    (row,) = csv.DictReader(history_to_csv(history).splitlines())  # type: ignore[arg-type]
    assert (row["plan"], row["system"], row["mean"]) == ("'=x", "'@s", "-0.5")
