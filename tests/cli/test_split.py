"""rankjury split: windows on the screen and as JSON, files that read back, warnings of leaks, and refused input."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rankjury.core.params import Param
from rankjury.recsys.data.split_folder import read_folds, read_split
from rankjury.recsys.split import WINDOWS
from rankjury.recsys.splitting import SPLITS, SplitKind, SplitResult
from tests import paths
from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure, check_width, put

REAL = paths.SHARED / "interactions" / "ml-latest-small"
ROWS = 100


@pytest.fixture
def log(folder: Path) -> str:
    """A row a day from 2001-01-01 on."""
    rows = [f"{place % 9},{place % 13},{place % 5 + 1},{978_307_200 + 86_400 * place}" for place in range(ROWS)]
    return put("log.csv", "\n".join(["userId,movieId,rating,timestamp", *rows]) + "\n")


def test_by_time(rankjury: Rankjury, log: str) -> None:
    outcome = rankjury("split", log, "-o", "split")
    assert outcome.code == 0, outcome.err
    check_width(outcome.out)
    lines = [line.split() for line in outcome.out.splitlines()]
    assert " ".join(outcome.out.split()).startswith(
        "temporal split of 100 rows (train 80, validation 10, test 10); of the test, 0 of 9 users and 0 of 10 items"
    )
    lines = lines[lines.index([]) + 1 :]
    assert lines[0] == ["window", "rows", "users", "cold", "items", "cold", "from", "to"]
    assert lines[2] == ["train", "80", "9", "0", "13", "0", "2001-01-01", "2001-03-21"]
    assert lines[4] == ["test", "10", "9", "0", "10", "0", "2001-04-01", "2001-04-10"]
    assert "cut-offs: validation 2001-03-22T00:00:00Z, test 2001-04-01T00:00:00Z" in outcome.out
    assert not outcome.warnings
    assert "Wrote split: 3 Parquet files and split.json. Next: fit on split/train.parquet, tune on" in outcome.err
    assert [read_split("split").size(name) for name in WINDOWS] == [80, 10, 10]


def test_ratings_of_an_unknown_name(rankjury: Rankjury) -> None:
    """The option that is meant is suggested, and a log read without its ratings is a warning."""
    rows = [f"{place % 9};{place % 13};{place % 5 + 1};{978_307_200 + 86_400 * place}" for place in range(ROWS)]
    put("log.csv", "\n".join(["kunde;film;sterne;zeit", *rows]) + "\n")
    command = ["split", "log.csv", "-o", "split", "--user", "kunde", "--item", "film", "--time", "zeit"]
    check_failure(rankjury(*command, "--rating", "sterne"), 2, "--rating", "Did you mean --value?")
    outcome = rankjury(*command)
    assert outcome.code == 0 and len(outcome.warnings) == 1 and "sterne" in outcome.warnings[0]
    assert set(read_split("split").log.value.tolist()) == {1.0}
    outcome = rankjury(*command, "--value", "sterne", "--force")
    assert outcome.code == 0 and not outcome.warnings
    assert set(read_split("split").log.value.tolist()) == {1, 2, 3, 4, 5}


def test_as_json(rankjury: Rankjury, log: str) -> None:
    outcome = rankjury("split", log, "-o", "split", "--fractions", "70/0/30", "--json", "--quiet")
    assert (outcome.code, outcome.err) == (0, "")
    form = json.loads(outcome.out)
    assert form == json.loads(Path("split/split.json").read_text())
    assert form["schema"] == "rankjury.split/1"
    assert [form["windows"][name]["rows"] for name in WINDOWS] == [70, 0, 30]


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        (["--dates", "2001-01-11,2001-01-31"], [10, 20, 70]),
        (["--dates", "2001-01-31"], [30, 0, 70]),
        (["--kind", "dates", "--dates", "978393600,979257600"], [1, 10, 89]),
        (["--kind", "leave-last", "--n", "2", "--validation", "0"], [82, 0, 18]),
        (["--kind", "users", "--fold", "2", "--folds", "3", "--fraction", "0.5", "--seed", "4"], None),
        (["--kind", "rolling", "--windows", "2", "--window", "1", "--days", "10", "--train", "sliding"], [80, 0, 10]),
    ],
)
def test_other_kinds(rankjury: Rankjury, log: str, options: list[str], sizes: list[int] | None) -> None:
    outcome = rankjury("split", log, "-o", "split", *options)
    assert outcome.code == 0, outcome.err
    found = [read_split("split").size(name) for name in WINDOWS]
    assert found == sizes or (sizes is None and sum(found) == ROWS)
    assert ("tune on validation" in outcome.err) == (found[1] > 0)


def test_what_leaks_is_warned_of(rankjury: Rankjury, log: str) -> None:
    outcome = rankjury("split", log, "-o", "split", "--kind", "random", "--seed", "3")
    (warning,) = outcome.warnings
    assert "rows are drawn independent of time" in warning
    assert rankjury("split", log, "-o", "split", "--kind", "random", "--quiet").err == ""


def test_folds(rankjury: Rankjury, log: str) -> None:
    outcome = rankjury("split", log, "-o", "folds", "--kind", "rolling", "--windows", "2", "--share", "0.1")
    assert outcome.code == 0, outcome.err
    check_width(outcome.out)
    assert "fold-1: cut-offs: test 2001-03-22T00:00:00Z, end 2001-04-01T00:00:00Z" in outcome.out
    assert "fold-1: 10 of 100 rows are in no window" in outcome.out
    assert "Wrote folds: 2 splits. Next: fit on folds/fold-1/train.parquet, and open test once" in outcome.err
    assert [split.size("train") for split in read_folds("folds")] == [80, 90]
    form = json.loads(rankjury("split", log, "-o", "folds", "--kind", "rolling", "--windows", "2", "--json").out)
    assert form["schema"] == "rankjury.splits/1" and len(form["splits"]) == 2


def test_other_columns(rankjury: Rankjury, log: str) -> None:
    names = {"userId": "who", "movieId": "what", "rating": "stars", "timestamp": "at"}
    pl.read_csv(log).rename(names).write_parquet("log.parquet")
    columns = ["--user", "who", "--item", "what", "--value", "stars", "--time", "at"]
    assert rankjury("split", "log.parquet", "-o", "named", *columns).code == 0
    assert rankjury("split", log, "-o", "usual").code == 0
    for name in WINDOWS:
        assert pl.read_parquet(f"named/{name}.parquet").equals(pl.read_parquet(f"usual/{name}.parquet"))


@pytest.mark.parametrize(
    ("options", "code", "fragment"),
    [
        (["--kind", "tempral"], 2, "Did you mean temporal"),
        (["--n", "2"], 2, "unknown option of the temporal split: 'n'"),
        (["--fractions", "80/30/10"], 2, "expected shares of train, validation and test"),
        (["--dates", "soon"], 2, "expected a date like 2000-12-31"),
        (["--dates", "1,2,3"], 2, "expected one date or two"),
        (["--dates", "2001-01-31", "--kind", "random"], 2, "--dates beside --kind random"),
        (["--dates", "1999-01-01"], 3, "no rows for train"),
        (["--kind", "leave-last", "--validation", "0.5"], 2, "expected a whole number"),
        (["--kind", "users", "--fold", "7"], 2, "fold is 7; expected 1 to 5"),
    ],
)
def test_refused(rankjury: Rankjury, log: str, options: list[str], code: int, fragment: str) -> None:
    check_failure(rankjury("split", log, "-o", "split", *options), code, fragment)
    assert not Path("split").exists()


def test_a_folder_of_something_else(rankjury: Rankjury, log: str) -> None:
    put("split/thesis.tex", "words")
    check_failure(rankjury("split", log, "-o", "split"), 2, "such as thesis.tex", "--force")
    assert rankjury("split", log, "-o", "split", "--force").code == 0
    assert Path("split/thesis.tex").read_text() == "words"


def test_without_times(rankjury: Rankjury, folder: Path) -> None:
    put("bare.csv", "user,item\n" + "".join(f"{place % 5},{place}\n" for place in range(40)))
    check_failure(
        rankjury("split", "bare.csv", "-o", "split"), 3, "the log has no times", "Kinds without times: random"
    )
    assert rankjury("split", "bare.csv", "-o", "split", "--kind", "random").code == 0


@pytest.mark.skipif(not REAL.is_dir(), reason="the MovieLens log is not here")
def test_a_real_log(rankjury: Rankjury) -> None:
    outcome = rankjury("split", str(REAL / "ratings.csv"), "-o", "split", "--json")
    assert outcome.code == 0, outcome.err
    windows = json.loads(outcome.out)["windows"]
    rows = pl.read_csv(REAL / "ratings.csv").sort("timestamp")
    split = read_split("split")
    assert sum(one["rows"] for one in windows.values()) == rows.height
    assert [one["share"] for one in windows.values()] == pytest.approx([0.8, 0.1, 0.1], abs=0.001)
    before = rows.filter(pl.col("timestamp") < split.cutoffs["validation"])
    after = rows.filter(pl.col("timestamp") >= split.cutoffs["test"])
    assert (windows["train"]["rows"], windows["test"]["rows"]) == (before.height, after.height)
    assert windows["test"]["cold_users"] == len(set(after["userId"]) - set(before["userId"]))
    assert windows["test"]["cold_items"] == len(set(after["movieId"]) - set(before["movieId"]))


def test_each_parameter_of_a_kind_is_an_option(rankjury: Rankjury, log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a kind that a third party registers; its help names the kinds that have it."""
    kind = SplitKind(
        lambda log, settings: SplitResult(np.where(log.user < settings["first_users"], 0, 2).astype(np.int8)),
        "by user code",
        {"first_users": Param(3, "how many users train", min=1)},
        timed=False,
    )
    SPLITS.names()
    monkeypatch.setitem(SPLITS._entries, "codes", kind)
    outcome = rankjury("split", "--help")
    text = " ".join(outcome.out.split())
    for params in (SPLITS.get(name).params for name in SPLITS.names() if name != "dates"):
        assert all(f"--{name.replace('_', '-')} " in text for name in params)
    assert "codes: how many users train (default 3)." in text
    assert "users: number of the fold, from 1." in text and "random: random seed (default 0)" in text
    outcome = rankjury("split", log, "-o", "split", "--kind", "codes", "--first-users", "2")
    check_failure(outcome, 3, "no rows for validation in a codes split")
