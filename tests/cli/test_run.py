"""rankjury run: a plan from start to end; what is written and said, exit codes, and faults with their key and line."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.conftest import Rankjury
from tests.cli.gating import FAIL, PASS, TYPES, UNSURE, WORSE
from tests.cli.made import QUERIES, RANKS, put_gold, put_run
from tests.cli.support import Outcome, check_failure, check_width, put, report_of
from tests.cli.terminal import in_terminal

MEAN = sum(1 / rank for rank in RANKS) / QUERIES
TOP = 'baseline = "old"\noutputs = ["report.json", "scores.csv"]'
TWO = 'old = "old.trec"\nnew = "new.trec"'


@pytest.fixture(autouse=True)
def plan_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    put_gold()
    put_run("new.trec", RANKS)
    put_run("old.trec", WORSE)
    put("types.csv", TYPES)
    put_plan()


def put_plan(top: str = TOP, systems: str = TWO, rest: str = "", name: str = "rankjury.toml") -> str:
    return put(name, f'gold = "g.qrels"\nmeasures = ["rr", "ap"]\n{top}\n[systems]\n{systems}\n{rest}\n')


def files_of(folder: Path) -> dict[str, bytes]:
    """But for the archive."""
    files = [path for path in folder.rglob("*") if path.is_file() and ".rankjury" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def check_faults(outcome: Outcome, code: int, *lines: str) -> None:
    """A line that counts the faults, then a line for each, indented by two blanks; nothing else."""
    assert (outcome.code, outcome.out) == (code, ""), outcome
    first, *others = outcome.err.splitlines()
    assert first.startswith("error: ") and str(len(lines)) in first
    assert len(others) == len(lines) and "Traceback" not in outcome.err
    for line, expected in zip(others, lines, strict=True):
        assert line.startswith(f"  {expected}"), line


# --- what is computed, written and said ---------------------------------------------------------------------------


def test_the_plan_of_the_folder(rankjury: Rankjury, folder: Path) -> None:
    before = set(files_of(folder))
    outcome = rankjury("run")
    assert outcome.code == 0
    assert outcome.out.startswith(f"{QUERIES} queries, 2 systems\n")
    assert f"{MEAN:.3f} [" in outcome.out and "0.333" in outcome.out and "\x1b" not in outcome.out
    assert set(files_of(folder)) - before == {"report.json", "scores.csv"}
    wrote, kept, next_step = outcome.err.splitlines()
    assert wrote == "Wrote report.json, scores.csv"
    assert kept.startswith("Kept as ") and kept.endswith(" in .rankjury")
    assert next_step == "Next: decide on report.json with targets: rankjury gate --help"
    put("targets.toml", 'targets = ["ap >= 0"]')
    *_, next_step = rankjury("run").err.splitlines()
    assert next_step == "Next: decide with rankjury gate targets.toml report.json"
    saved = json.loads(Path("report.json").read_text())
    assert saved["systems"]["new"]["measures"]["rr"]["mean"] == pytest.approx(MEAN, abs=1e-12)
    assert saved["queries"]["scores"]["new"]["rr"] == pytest.approx([1 / rank for rank in RANKS])


def test_the_figures_are_those_of_compare(rankjury: Rankjury) -> None:
    outcome = rankjury("run", "--json", "--no-archive")
    assert outcome.err == "Wrote report.json, scores.csv\n"
    planned = report_of(outcome)
    compared = report_of(rankjury("compare", "g.qrels", "old.trec", "new.trec", "-m", "rr,ap", "--json"))
    for part in ("comparisons", "resampling", "baseline"):
        assert planned[part] == compared[part]
    for name, one in compared["systems"].items():
        assert planned["systems"][name]["measures"] == one["measures"]
    assert planned["provenance"]["plan"] == "rankjury.toml"


def test_the_next_step_works(rankjury: Rankjury) -> None:
    put("targets.toml", f'targets = ["{PASS}"]\n')
    line = rankjury("run").err.splitlines()[-1]
    assert rankjury(*line.partition("rankjury ")[2].split()).code == 0


@pytest.mark.parametrize("outputs", ["", '[[output]]\nfile = "r.json"\nform = "retrievers"\nk = 2\n'])
def test_without_report_and_archive_the_next_step_is_to_keep_one(rankjury: Rankjury, outputs: str) -> None:
    """The form of retrievers is JSON too, but no gate can read it."""
    measures = '["recall@2", "rr@2", "ndcg(gain=exp)@2"]'
    put("rankjury.toml", f'gold = "g.qrels"\nmeasures = {measures}\n{outputs}[systems]\nnew = "new.trec"\n')
    line = rankjury("run", "--no-archive").err.splitlines()[-1]
    assert line == 'Next: keep the results with outputs = ["report.json"] in rankjury.toml'


@pytest.mark.parametrize("form", [[], ["--json"], ["-o", "there"]])
def test_quiet_leaves_the_same_result(rankjury: Rankjury, form: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    put_gold(queries=5)
    loud, quiet = rankjury("run", *form), rankjury("run", *form, "-q")
    assert loud.err.startswith("warning: ") and quiet.err == "" and quiet.out == loud.out != ""


def test_the_output_folder(rankjury: Rankjury, folder: Path) -> None:
    """It is made; where there is nothing to write into it, that is said."""
    before = files_of(folder)
    outcome = rankjury("run", "-o", "a/b")
    assert outcome.code == 0 and outcome.err.startswith("Wrote a/b/report.json, a/b/scores.csv\n")
    assert set(files_of(folder)) - set(before) == {"a/b/report.json", "a/b/scores.csv"}
    put_plan(top="")
    outcome = rankjury("run", "-o", "there")
    assert "there" in outcome.err and "outputs" in outcome.err


def test_paths_are_relative_to_the_plan(rankjury: Rankjury, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_plan(top='slices = "types.csv:type"\noutputs = ["sub/report.md"]')
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    outcome = rankjury("run", "../rankjury.toml")
    assert outcome.code == 0 and "type=fact" in outcome.out
    assert (folder / "sub/report.md").is_file() and files_of(folder / "elsewhere") == {}
    assert rankjury("run", "../rankjury.toml", "-o", "here").code == 0, (
        "the folder of -o is relative to where one stands"
    )
    assert (folder / "elsewhere/here/sub/report.md").is_file()


def test_the_same_bytes_twice(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch) -> None:
    output = '[[output]]\nfile = "queries.parquet"\nform = "queries"'
    put_plan('slices = "types.csv"\noutputs = ["report.json", "scores.csv", "report.md"]', rest=output)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for place in ("one", "two"):
        assert rankjury("run", "-o", place).code == 0
    assert len(files_of(Path("one"))) == 4 and files_of(Path("one")) == files_of(Path("two"))
    made = json.loads(Path("one/report.json").read_text())["provenance"]["made"]
    assert datetime.fromisoformat(made).timestamp() == 1_700_000_000


@pytest.mark.parametrize("value", ["²", "99999999999999999", "yesterday"])
def test_an_invalid_time_is_a_usage_error(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", value)
    outcome = rankjury("run", "--json")
    assert outcome.code == 2 and f"SOURCE_DATE_EPOCH is {value!r}; expected whole seconds since 1970" in outcome.err


def test_an_empty_time_is_the_clock(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "")
    made = report_of(rankjury("run", "--json"))["provenance"]["made"]
    assert before <= datetime.fromisoformat(made) <= datetime.now(UTC), "now, as without it"


# --- targets ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [[], ["--json"], ["-q"]])
@pytest.mark.parametrize(
    ("targets", "code", "strict"),
    [([PASS], 0, 0), ([FAIL], 4, 4), ([UNSURE], 0, 5), ([PASS, UNSURE, FAIL], 4, 4), ([UNSURE, PASS], 0, 5)],
)
def test_exit_codes(rankjury: Rankjury, form: list[str], targets: list[str], code: int, strict: int) -> None:
    put_plan(f'targets = {json.dumps(targets)}\noutputs = "report.json"', 'new = "new.trec"')
    assert rankjury("run", *form).code == code
    assert rankjury("run", "--strict", *form).code == strict
    assert Path("report.json").exists(), "what was found is kept, whatever the verdict"


def test_verdicts_are_shown_failures_first(rankjury: Rankjury) -> None:
    rest = f'[[target]]\nrequire = "{PASS}"\nslice = "type=fact"\nname = "Facts"'
    put_plan(f'slices = "types.csv:type"\ntargets = ["{UNSURE}", "{FAIL}"]', 'new = "new.trec"', rest)
    lines = rankjury("run").out.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("verdict "))
    shown = [line.split()[:2] for line in lines[start:] if line.split()[:1] in (["FAIL"], ["UNSURE"], ["PASS"])]
    assert [word for word, _ in shown] == ["FAIL", "UNSURE", "PASS"] and shown[2][1] == "Facts"
    assert start < 10 and lines[2].startswith("May not ship"), "verdicts come before everything else"
    verdicts = json.loads(rankjury("run", "--json").out)["gate"]["targets"]
    assert [one["verdict"] for one in verdicts] == ["unsure", "fail", "pass"], "JSON says what is behind the exit code"


def test_a_reader_that_left_does_not_turn_failure_into_success(folder: Path) -> None:
    put_plan(f'targets = ["{FAIL}"]')
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "rankjury", "run"], stdout=writer, stderr=subprocess.PIPE, timeout=60
        )
    finally:
        os.close(writer)
    assert (done.returncode, b"Traceback" in done.stderr) == (4, False)


# --- faults -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("top", "systems", "rest", "line", "fragments"),
    [
        ('basline = "old"', TWO, "", 3, ["basline", "Did you mean baseline"]),
        ('baseline = "odl"', TWO, "", 3, ["baseline", "'odl'", "Did you mean old?"]),
        ("cutoffs = [5, 0]", TWO, "", 3, ["cutoffs[2]", "0"]),
        ('headline = ["rr@3"]', TWO, "", 3, ["headline[1]", "rr@3"]),
        ('targets = ["rr >= 0.5",\n"rr is good"]', TWO, "", 4, ["targets[2]"]),
        ("", 'new = { kind = "runn", path = "x" }', "", 5, ["systems.new.kind", "Did you mean run?"]),
        ("", 'new = { path = "x", form = "trec" }', "", 5, ["systems.new.form", "Did you mean format"]),
        ("", TWO, '[systems.both]\nkind = "fusion"\nof = ["old", "nww"]', 9, ["systems.both.of[2]", "mean new?"]),
        ("", TWO, '[[target]]\nrequire = "rr >= 0.5"\nsystem = "nww"', 9, ["target[1].system", "Did you mean new?"]),
        ("", TWO, "[statistics]\nlevel = 95", 8, ["statistics.level", "95"]),
    ],
)  # fmt: skip
def test_a_fault_has_its_key_and_line(
    rankjury: Rankjury, folder: Path, top: str, systems: str, rest: str, line: int, fragments: list[str]
) -> None:
    put_plan(top, systems, rest)
    before = files_of(folder)
    outcome = rankjury("run")
    assert (outcome.code, outcome.out) == (2, "") and "Traceback" not in outcome.err
    assert f"rankjury.toml:{line}, " in outcome.err and all(fragment in outcome.err for fragment in fragments)
    assert outcome.err.startswith("error: ") and files_of(folder) == before


def test_faults_are_told_together(rankjury: Rankjury) -> None:
    put_plan('baseline = "odl"\ntargets = "rr ≥ much"', TWO.replace("old", "an-old", 1))
    check_faults(rankjury("run"), 2, "rankjury.toml:4, targets[1]: ", "rankjury.toml:3, baseline: unknown system 'odl'")
    put_plan("cutofs = [5]\nlevel = 1")
    check_faults(rankjury("run"), 2, "rankjury.toml:3, cutofs: unknown key", "rankjury.toml:4, level: unknown key")


def test_an_output_of_no_known_form(rankjury: Rankjury) -> None:
    for output in ("report.xlsx", "report", "report.json.gz"):
        put_plan(f'outputs = ["ok.json", "{output}"]')
        check_failure(rankjury("run"), 2, "rankjury.toml", output)
    assert not Path("ok.json").exists()


@pytest.mark.parametrize(("content", "code"), [("gold = [", 2), (b"\xff\xfe", 3), ("", 3), ("a = 1\na = 2\n", 2)])
def test_what_is_no_plan(rankjury: Rankjury, content: str | bytes, code: int) -> None:
    put("rankjury.toml", content)
    check_failure(rankjury("run"), code, "rankjury.toml")


def test_all_violations_of_the_gold(rankjury: Rankjury) -> None:
    field = "2_most_similar_movies_overall_ordered"
    lists = {"m1": ["m2", "m3"], "m2": ["m2", "m1"], "m3": ["m1"], "m4": ["m9", "m1"], "m5": ["m1", "m1"]}
    put("gold.json", json.dumps([{"movie_id": movie, field: items} for movie, items in lists.items()]))
    put("rankjury.toml", '[gold]\nkind = "ordered"\npath = "gold.json"\n[systems]\nnew = "new.trec"\n')
    at = [f"{movie}, {field}: " for movie in ("m2", "m3", "m4", "m5")]
    found = ["the query itself is listed", "1 item, expected exactly 2", "m9 is not the id", "duplicate item m1"]
    check_faults(rankjury("run"), 3, *(where + what for where, what in zip(at, found, strict=True)))


@pytest.mark.parametrize(
    ("replaced", "by", "path"),
    [
        ('"g.qrels"', '"nowhere.qrels"', "nowhere.qrels"),
        ('"new.trec"', '"nowhere.trec"', "nowhere.trec"),
        ('"new.trec"', '{ kind = "vectors", path = "nowhere.npy" }', "nowhere.npy"),
        *(("base", f'{key} = "nowhere.csv:a"\nbase', "nowhere.csv") for key in ("slices", "item_slices", "names")),
    ],
)
def test_missing_files(rankjury: Rankjury, folder: Path, replaced: str, by: str, path: str) -> None:
    put("rankjury.toml", Path("rankjury.toml").read_text().replace(replaced, by))
    check_failure(rankjury("run"), 3, path, "no such file")
    assert not Path("report.json").exists()


def test_a_missing_plan(rankjury: Rankjury) -> None:
    check_failure(rankjury("run", "other.toml"), 3, "other.toml: no such file")
    Path("rankjury.toml").unlink()
    check_failure(rankjury("run"), 3, "rankjury.toml: no such file", "rankjury init", "rankjury demo movies")


@pytest.mark.parametrize("blocked", [0, 1, 2])
def test_all_outputs_or_none(rankjury: Rankjury, folder: Path, blocked: int) -> None:
    """A folder stands where the file should be."""
    names = ["report.json", "scores.csv", "queries.csv"]
    put_plan(f'outputs = ["{names[0]}", "{names[1]}"]', rest=f'[[output]]\nfile = "{names[2]}"\nform = "queries"')
    Path(names[blocked]).mkdir()
    put("taken", "x")
    before = files_of(folder)
    check_failure(rankjury("run"), 3, names[blocked])
    check_failure(rankjury("run", "-o", "taken"), 3, "taken", "cannot create this folder")
    assert files_of(folder) == before


def test_a_file_in_place_of_the_outputs(rankjury: Rankjury) -> None:
    put_plan('outputs = ["report.json", "scores.csv"]\nslices = "types.csv:type"')
    assert rankjury("run", "-o", "only.html").code == 0
    assert Path("only.html").exists() and not Path("report.json").exists() and not Path("scores.csv").exists()
    before = Path("types.csv").read_bytes()
    check_failure(rankjury("run", "-o", "types.csv"), 2, "types.csv", "the plan reads this file")
    assert Path("types.csv").read_bytes() == before


# --- the screen ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["new", "a-system-with-a-name-of-more-than-forty-letters"])
def test_everything_fits_80_columns(rankjury: Rankjury, name: str) -> None:
    systems = f'old = "old.trec"\n{name} = "new.trec"'
    put_plan(f'baseline = "old"\nslices = "types.csv:type"\ntargets = ["{FAIL}", "{PASS}"]', systems)
    outcome = rankjury("run", "--full")
    check_width(outcome.out)
    assert outcome.code == 4 and "type=how-to" in outcome.out


def test_in_a_terminal(folder: Path) -> None:
    plain = in_terminal(["run"], NO_COLOR="1", COLUMNS="80")
    # A busy machine takes longer than the two seconds after which progress is shown, and then erased.
    plain = re.sub(r"\x1b\[\?25l.*?\x1b\[\?25h(?:\r|\x1b\[1A|\x1b\[2K)*", "", plain, flags=re.DOTALL)
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", plain), "no colours"
    without = re.sub(r"\x1b\[[0-9;]*m", "", plain).replace("\r\n", "\n")
    check_width(without)
    assert f"{MEAN:.3f} [" in without and without.endswith("report.json with targets: rankjury gate --help\n")


def test_help_teaches(rankjury: Rankjury) -> None:
    put_plan(name="movies.toml")
    examples = re.findall(r"^ +rankjury (.+)$", rankjury("run", "--help").out, re.MULTILINE)
    assert len(examples) == 2
    for example in examples:
        assert rankjury(*example.split()).code == 0, example
