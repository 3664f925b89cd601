"""rankjury audit: the screen, the JSON, the warnings and the codes."""

import json
from typing import Any

import pytest
import typer

from rankjury.cli import audit
from tests import paths
from tests.cli.conftest import Rankjury
from tests.cli.support import Outcome, check_failure, check_width, put

REAL = paths.SHARED / "interactions" / "ml-latest-small"
APP = typer.Typer(add_completion=False, rich_markup_mode=None)
APP.callback()(lambda: None)
APP.command("audit", epilog=audit.EPILOG)(audit.audit_command)
BASE = 1_000_000_000


def ratings(users: int = 40, each: int = 20) -> str:
    rows = [
        f"{user},{(user * 7 + n * 3) % 97},{1 + (user + n) % 5},{BASE + 3600 * (n * users + user)}"
        for n in range(each)
        for user in range(users)
    ]
    return "userId,movieId,rating,timestamp\n" + "\n".join(rows) + "\n"


@pytest.fixture
def call(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch) -> Rankjury:
    monkeypatch.setattr("rankjury.cli.app", APP)
    return rankjury


def form_of(outcome: Outcome) -> dict[str, Any]:
    assert outcome.code == 0, outcome.err
    form: dict[str, Any] = json.loads(outcome.out)
    assert form["schema"] == "rankjury.audit/1"
    return form


def test_the_screen_tells_counts_times_and_ratings(call: Rankjury) -> None:
    outcome = call("audit", put("ratings.csv", ratings()))
    assert outcome.code == 0
    check_width(outcome.out)
    lines = outcome.out.splitlines()
    assert lines[0] == "Usable; no risk found."
    lines = lines[2:]
    assert lines[0] == "ratings.csv"
    assert lines[1] == "800 rows; sparsity 79.38 % (share of user-item pairs without a row)"
    assert lines[2] == "from 2001-09-09T01:46:40Z to 2001-10-12T08:46:40Z (33 days)"
    assert "repeated: 0 rows of a pair, 0 in full" in lines
    assert any(line.split() == ["number", "40", "97"] for line in lines)
    assert any(line.split()[:4] == ["1", "160", "20.0", "%"] and line.count("█") == 40 for line in lines)
    assert "A temporal split of 80/10/10 would test from " in outcome.out
    assert outcome.err == "Next: rankjury split ratings.csv -o split splits it into train, validation and test\n"


def test_json_is_everything_and_nothing_else(call: Rankjury) -> None:
    outcome = call("audit", put("ratings.csv", ratings()), "--json", "--cold", "3")
    form = form_of(outcome)
    assert (form["rows"], form["users"]["n"], form["cold"], form["warnings"]) == (800, 40, 3, [])
    assert outcome.err == ""


def test_warnings_stand_on_standard_error_and_quiet_silences_them(call: Rankjury) -> None:
    path = put("a.csv", "user,item\n" + "".join(f"{n},{n}\n" for n in range(40)))
    outcome = call("audit", path)
    assert outcome.code == 0
    assert outcome.warnings == [
        "warning: no column of times (--time COLUMN names one): it can only be split at random, and models then "
        "learn from what came later"
    ]
    assert "Next: rankjury split a.csv --kind random -o split" in outcome.err
    assert "Ratings" not in outcome.out and "equal times" not in outcome.out
    assert call("audit", path, "-q").err == ""


def test_a_folder_brings_its_items_and_others_are_named(call: Rankjury) -> None:
    put("ml/ratings.dat", "1::1::5::978300760\n2::2::3::978300761\n")
    put("ml/movies.dat", "1::A::B\n2::C::D\n3::E::F\n")
    form = form_of(call("audit", "ml", "--json"))
    assert (form["catalogue"]["n"], form["catalogue"]["never_taken"]) == (3, 1)
    assert form_of(call("audit", "ml/ratings.dat", "--json"))["catalogue"] is None
    named = form_of(call("audit", "ml/ratings.dat", "--items", "ml/movies.dat", "--json"))
    assert named["catalogue"] == form["catalogue"]
    assert "catalogue: 3 items, 1 never taken" in call("audit", "ml").out


def test_columns_formats_and_standard_input(call: Rankjury) -> None:
    table = "who,what,liked,at\na,x,3,978300760\nb,y,4,978300761\n"
    options = ("--user", "who", "--item", "what", "--value", "liked", "--time", "at", "--json")
    form = form_of(call("audit", "-", *options, stdin=table.encode()))
    assert (form["source"], form["ratings"]["mean"], form["times"]["last"]) == ("standard input", 3.5, 978300761)
    plain = put("odd", "1\tx\t3\t978300760\n")
    assert form_of(call("audit", plain, "--format", "u.data", "--json"))["rows"] == 1


@pytest.mark.parametrize(
    ("content", "options", "code", "told"),
    [
        ("user,item,rating\n1,2,9\n", ["--scale", "0.5,5"], 3, "a.csv:2: the rating of user 1 for item 2 is 9"),
        ("user,item,rating\n1,2,9\n", ["--scale", "5"], 2, "--scale is '5'; expected the lowest and the highest"),
        ("user,item,rating\n1,2,9\n", ["--scale", "5,1"], 2, "the scale 5 to 1 is empty"),
        ("user,item,rating\n1,2,9\n", ["--scale", "nan,5"], 2, "the scale nan to 5 is empty"),
        ("user,item,rating\n1,2,9\n", ["--cold", "-1"], 2, "the threshold of cold users and items is -1"),
        ("user,item,rating\n1,2,9\n", ["--user", "usr"], 2, "unknown column 'usr'. Did you mean user?"),
        ("user,item,rating\n1,2,9\n", ["--format", "xml"], 2, "unknown format 'xml'"),
        ("user,item,rating\n1,2,9\n", ["--items", "none.csv"], 3, "none.csv: no such file"),
        ("user,item,time\n1,2,978300760\n1,3,978300760000\n", [], 3, "1 in seconds (first 978300760 at a.csv:2), 1 in"),
        ("user,item,rating\n1,2,x\n", [], 3, "a.csv:2: the rating of user 1 for item 2 is 'x'"),
        ("", [], 3, "a.csv: the file is empty"),
    ],
)
def test_what_is_wrong_is_one_line_and_a_code(
    call: Rankjury, content: str, options: list[str], code: int, told: str
) -> None:
    check_failure(call("audit", put("a.csv", content), *options), code, told)


def test_standard_input_once(call: Rankjury) -> None:
    check_failure(call("audit", "-", "--items", "-", stdin=b"user,item\n1,2\n"), 2, "standard input was named twice")


@pytest.mark.skipif(not REAL.is_dir(), reason="the log of MovieLens (shared/data/interactions) is not here")
def test_the_real_log_fits_the_screen(call: Rankjury, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REAL.parent)
    outcome = call("audit", REAL.name)
    assert outcome.code == 0
    check_width(outcome.out)
    assert "100,004 rows; sparsity 98.36 % (share of user-item pairs without a row)" in outcome.out
    assert any("72 of 82 test users (87.8 %) have no row in training" in one for one in outcome.warnings)
