"""Rankings in pytest: assert_ranking, the fixture ranking_baseline, the option that writes, and the summary."""

import json
import os
import random
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rankjury
from rankjury.errors import DataError, UsageError
from rankjury.tracking import assertion_log
from rankjury.tracking.assertion_log import BaselineRequest

HEAVY = {"numpy", "polars", "pydantic", "rich", "matplotlib", "jinja2", "typer"}
GOLD = {f"q{n:02}": {"a": 1, "b": 2} for n in range(30)}
PASSES, FAILS, UNSURE = "rr >= 0.2", "rr >= 0.95", "rr >= 0.42"


def made_run(seed: int) -> dict[str, dict[str, float]]:
    draw = random.Random(seed)
    return {query: {item: draw.random() for item in "abcdefg"} for query in GOLD if draw.random() > 0.1}


RUN, OTHER = made_run(1), made_run(2)


def failure(*targets: Any, **options: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        rankjury.assert_ranking(GOLD, RUN, *targets, **options)
    return str(caught.value)


class TestAssertion:
    """Outside of the plugin's tests: as in any program."""

    def test_the_verdicts_are_those_of_gate(self) -> None:
        found = rankjury.assert_ranking(GOLD, RUN, PASSES, UNSURE)
        expected = rankjury.gate(rankjury.evaluate(GOLD, RUN, "rr"), PASSES, UNSURE)
        assert found.verdicts == expected.verdicts
        assert [verdict.outcome for verdict in found.verdicts] == ["pass", "unsure"] and found.exit_code == 0

    def test_a_failure_shows_every_target(self) -> None:
        text = failure(PASSES, FAILS, UNSURE)
        gate = rankjury.gate(rankjury.evaluate(GOLD, RUN, "rr"), PASSES, FAILS, UNSURE)
        assert text.startswith(gate.sentence)
        for verdict in gate.verdicts:
            (line,) = (line for line in text.splitlines() if verdict.target.wanted in line and verdict.shown in line)
            assert line.startswith(verdict.outcome.upper()) and f" {verdict.n} " in line

    def test_a_failure_shows_the_warnings_in_three_lines(self) -> None:
        gold = GOLD | {"none": {"a": 0}, "\x1b[31m": {"a": 1}}
        run = {query: ["b", "x", "x1", "x2"] for query in GOLD} | {"none": ["a"], "extra": ["a"]}
        with pytest.raises(AssertionError) as caught:
            rankjury.assert_ranking(gold, run, "NDCG@3 >= 1")
        lines = [line for line in str(caught.value).splitlines() if line.startswith("warning: ")]
        found = rankjury.evaluate(gold, run, "NDCG@3").warnings
        assert len({warning.code for warning in found}) > 4 and len(lines) == 3
        assert "NDCG@3 is read as ir_measures" in lines[0] and "\x1b" not in str(caught.value)
        assert "unjudged" in lines[2] and "warning" in lines[2]
        assert not [line for line in failure(FAILS).splitlines() if line.startswith("warning: ") and "few" in line]

    def test_unsure_fails_under_strict_and_a_doubtful_failure_passes_under_lenient(self) -> None:
        assert failure(UNSURE, strict=True).startswith("UNSURE: rr")
        beyond = "rr >= 0.5"
        assert failure(beyond).startswith("FAIL")
        assert rankjury.assert_ranking(GOLD, RUN, beyond, lenient=True).unsure
        assert failure(beyond, lenient=True, strict=True).startswith("UNSURE")

    def test_a_failure_names_the_largest_losses(self) -> None:
        before = dict(rankjury.evaluate(GOLD, RUN, "rr").per_query.rows())
        lost = sorted((query for query in RUN if before[query] > 0), key=lambda query: (-before[query], query))[::6]
        worse = RUN | {query: dict.fromkeys("cdefg", 1.0) for query in lost}
        with pytest.raises(AssertionError) as caught:
            rankjury.assert_ranking(GOLD, worse, "rr drop <= 0.001", "ndcg@3 >= 0", baseline=RUN)
        (line,) = (line for line in str(caught.value).splitlines() if line.startswith("largest losses in rr: "))
        assert line.partition(": ")[2] == ", ".join(f"{query} {before[query]:.3f} → 0.000" for query in lost)
        assert 1 < len(lost) <= 5 and len({before[query] for query in lost}) > 1

    @pytest.mark.parametrize(
        "kind", ["run", "file of a run", "report", "saved report", "scores", "baseline file", "Path"]
    )
    def test_every_kind_of_baseline_gives_the_same_verdict(self, kind: str, tmp_path: Path) -> None:
        targets = ["rr drop <= 0.4", "ndcg@3 gain >= -0.5"]
        scores = rankjury.evaluate(GOLD, OTHER, ["rr", "ndcg@3"])
        (tmp_path / "other.json").write_text(json.dumps(OTHER))
        baseline: Any = {
            "run": OTHER,
            "file of a run": str(tmp_path / "other.json"),
            "report": rankjury.evaluate(GOLD, {"x": OTHER}, ["rr", "ndcg@3"]),
            "saved report": str(tmp_path / "report.json"),
            "scores": scores,
            "baseline file": str(tmp_path / "baseline.json"),
            "Path": tmp_path / "baseline.json",
        }[kind]
        scores.save(tmp_path / "report.json")
        rankjury.write_baseline(scores, tmp_path / "baseline.json")
        report = rankjury.compare(GOLD, {"old": OTHER, "new": RUN}, ["rr", "ndcg@3"], baseline="old")
        expected = [(verdict.value, verdict.ci, verdict.n) for verdict in rankjury.gate(report, targets).verdicts]
        found = rankjury.assert_ranking(GOLD, RUN, targets, baseline=baseline)
        assert [(verdict.value, verdict.ci, verdict.n) for verdict in found.verdicts] == expected

    def test_gold_and_ranking_in_any_form(self, tmp_path: Path) -> None:
        rankjury.as_gold(GOLD).frame().write_parquet(tmp_path / "gold.parquet")
        expected = rankjury.assert_ranking(GOLD, RUN, PASSES).verdicts[0]
        for gold in (tmp_path / "gold.parquet", rankjury.as_gold(GOLD), rankjury.as_gold(GOLD).frame()):
            for ranking in (rankjury.as_ranking(RUN), rankjury.as_ranking(RUN).frame()):
                found = rankjury.assert_ranking(gold, ranking, PASSES).verdicts[0]
                assert (found.value, found.ci) == (expected.value, expected.ci)

    def test_conventions_and_dialects_are_those_of_evaluate(self) -> None:
        some = {query: items for query, items in RUN.items() if query > "q09"}
        for options in (
            {"missing": "skip"},
            {"dialect": "trec_eval"},
            {"rel": 2},
            {"ties": "id-desc", "empty": "zero"},
        ):
            found = rankjury.assert_ranking(GOLD, some, "ap >= 0", **options)  # type: ignore[arg-type]
            expected = rankjury.evaluate(GOLD, some, "ap", **options)  # type: ignore[call-overload]
            assert found.verdicts[0].value == expected.mean()["ap"]
        found = rankjury.assert_ranking(GOLD, some, "ap drop <= 1", baseline=OTHER, missing="skip")
        assert found.verdicts[0].n is not None and found.verdicts[0].n < len(some), "the baseline skips its own too"

    def test_a_file_of_targets_names_its_baseline(self, tmp_path: Path) -> None:
        rankjury.write_baseline(rankjury.evaluate(GOLD, OTHER, "rr"), tmp_path / "b.json")
        (tmp_path / "t.toml").write_text('baseline = "b.json"\ntargets = ["rr drop <= 0.9", "rr >= 0"]\n')
        found = rankjury.assert_ranking(GOLD, RUN, str(tmp_path / "t.toml"))
        assert found.baseline == str(tmp_path / "b.json") and len(found.verdicts) == 2
        assert len(rankjury.assert_ranking(GOLD, RUN, [tmp_path / "t.toml", PASSES], baseline=OTHER).verdicts) == 3

    @pytest.mark.parametrize(
        ("targets", "options", "error", "fragment"),
        [
            ([], {}, UsageError, "no target was given"),
            (["rr drop <= 1"], {}, UsageError, "'rr drop <= 1' needs a baseline"),
            (["rr >= 0", "ap gain >= 2.5 %"], {}, UsageError, "'ap gain >= 2.5%' needs a baseline"),
            (["latency <= 3"], {}, UsageError, "recorded values are checked by rankjury.gate"),
            (["ndgc@3 >= 0"], {}, UsageError, "Did you mean ndcg@3?"),
            ([3], {}, UsageError, "type int"),
            ([PASSES], {"dialect": "trec"}, UsageError, "'trec'"),
            ([PASSES], {"k": 3}, UsageError, "unknown argument 'k'"),
            (["rr drop <= 1"], {"baseline": "nowhere.json"}, DataError, "rankjury.evaluate(gold, ranking_of_main"),
            (["rr drop <= 1"], {"baseline": "nowhere.trec"}, DataError, "nowhere.trec: no such file"),
        ],
    )
    def test_requests_that_make_no_sense(
        self, targets: list[Any], options: dict[str, Any], error: type[Exception], fragment: str
    ) -> None:
        with pytest.raises(error, match=re.escape(fragment)):
            rankjury.assert_ranking(GOLD, RUN, *targets, **options)

    def test_several_rankings_and_slices_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="2 rankings by name"):
            rankjury.assert_ranking(GOLD, {"a": RUN, "b": OTHER}, PASSES)
        (tmp_path / "t.toml").write_text('slices = "queries.csv:type"\ntargets = ["rr >= 0"]\n')
        with pytest.raises(UsageError, match="rankjury gate checks slices"):
            rankjury.assert_ranking(GOLD, RUN, tmp_path / "t.toml")

    def test_nothing_is_kept_outside_of_the_plugin(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(assertion_log, "log", None)
        rankjury.assert_ranking(GOLD, RUN, PASSES)
        assert assertion_log.log is None

    def test_control_characters_of_ids_are_shown(self) -> None:
        gold, old, new = {"q\x1b[31m": ["a"], "r": ["a"]}, ["a"], ["b", "a"]
        with pytest.raises(AssertionError) as caught:
            rankjury.assert_ranking(gold, dict.fromkeys(gold, new), "rr drop <= 0", baseline=dict.fromkeys(gold, old))
        assert "\x1b" not in str(caught.value) and "␛[31m 1.000 → 0.500" in str(caught.value)

    def test_without_pytest(self) -> None:
        """pytest is no dependency: the function works where it cannot be imported."""
        code = "import sys; sys.modules['pytest'] = None; import rankjury\n"
        code += "print(rankjury.assert_ranking({'q': ['a'], 'r': ['a']}, {'q': ['a'], 'r': ['a']}, 'rr >= 1').outcome)"
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert ended.stdout == "pass\n"


# --- within pytest ------------------------------------------------------------------------------------------------

HEAD = """
import random, rankjury, pytest
gold = {f"q{n:02}": {"a": 1, "b": 2} for n in range(30)}

def made_run(seed):
    draw = random.Random(seed)
    return {query: {item: draw.random() for item in "abcdefg"} for query in gold if draw.random() > 0.1}

"""
UPDATE = "--rankjury-update-baseline"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(assertion_log, "written", {})
    return pytester


def put_test(project: pytest.Pytester, body: str, name: str = "test_search") -> Path:
    return Path(project.makepyfile(**{name: HEAD + body}))


def summary(result: pytest.RunResult) -> list[str]:
    """The lines of the section rankjury, without warnings."""
    return [line for line in section(result) if not line.startswith("WARNING")]


def section(result: pytest.RunResult) -> list[str]:
    """All lines of the section rankjury."""
    lines = result.stdout.lines
    start = next((number for number, line in enumerate(lines) if re.fullmatch("=+ rankjury =+", line)), None)
    if start is None:
        return []
    end = next(number for number, line in enumerate([*lines, "="]) if number > start and line.startswith("="))
    return lines[start + 1 : end]


BASIC = """
def test_good():
    rankjury.assert_ranking(gold, made_run(1), "rr >= 0.2", "rr >= 0.42")

def test_bad():
    rankjury.assert_ranking(gold, made_run(1), "rr >= 0.95")

def test_plain():
    pass
"""
COMPARED = """
def test_against(ranking_baseline):
    rankjury.assert_ranking(gold, made_run({seed}), "rr drop <= 0.05", "rr >= 0.2", baseline=ranking_baseline({name}))
"""


class TestSummary:
    def test_one_line_per_target(self, project: pytest.Pytester) -> None:
        put_test(project, BASIC)
        result = project.runpytest_inprocess()
        result.assert_outcomes(passed=2, failed=1)
        expected = rankjury.gate(rankjury.evaluate(GOLD, RUN, "rr"), PASSES, UNSURE, FAILS).verdicts
        words = [("PASS", "test_good"), ("UNSURE", "test_good"), ("FAIL", "test_bad")]
        for line, verdict, (word, test) in zip(summary(result), expected, words, strict=True):
            assert line.split()[:2] == [word, f"test_search.py::{test}"]
            assert f"rr {verdict.shown}, n 30, {verdict.target.wanted}" in line

    def test_warnings_about_the_data_follow_the_lines_of_their_assertion(self, project: pytest.Pytester) -> None:
        put_test(project, BASIC)
        result = project.runpytest_inprocess()
        of_good = [line for line in section(result) if "::test_good" in line]
        assert [line.split()[0] for line in of_good] == ["PASS", "UNSURE", "WARNING", "WARNING"]
        missing = len(GOLD) - len(RUN)
        assert f"{missing} judged queries are missing" in of_good[2] and "scored 0" in of_good[2]
        assert "unjudged items" in of_good[3]
        assert [line.split()[0] for line in section(result) if "::test_bad" in line] == ["FAIL", "WARNING", "WARNING"]
        result.stdout.fnmatch_lines([f"E *warning: {missing} judged queries are missing*"])
        assert [line.split()[0] for line in section(project.runpytest_inprocess("-q"))] == ["UNSURE", "FAIL"]

    def test_data_without_faults_has_no_warning(self, project: pytest.Pytester) -> None:
        body = "def test_x():\n    rankjury.assert_ranking(gold, {query: ['a', 'b'] for query in gold}, 'rr >= 0.2')\n"
        put_test(project, body)
        assert [line.split()[0] for line in section(project.runpytest_inprocess())] == ["PASS"]

    def test_the_message_of_pytest_begins_with_the_verdict(self, project: pytest.Pytester) -> None:
        put_test(project, BASIC)
        result = project.runpytest_inprocess()
        result.stdout.fnmatch_lines(["E *AssertionError: FAIL: rr *", "FAILED test_search.py::test_bad - *FAIL: rr*"])
        assert not any("assert_ranking.py" in line or "validation.py" in line for line in result.stdout.lines)

    def test_an_error_shows_the_test_and_nothing_from_within(self, project: pytest.Pytester) -> None:
        put_test(project, "def test_x():\n    rankjury.assert_ranking(gold, {'other': ['a']}, 'rr >= 0')\n")
        result = project.runpytest_inprocess()
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["E *rankjury.errors.DataError: *"])
        assert not any("src/rankjury" in line for line in result.stdout.lines)

    def test_quiet_shows_what_did_not_pass(self, project: pytest.Pytester) -> None:
        put_test(project, BASIC)
        assert [line.split()[0] for line in summary(project.runpytest_inprocess("-q"))] == ["UNSURE", "FAIL"]
        assert summary(project.runpytest_inprocess("-qq")) == []

    def test_no_section_without_an_assertion(self, project: pytest.Pytester) -> None:
        put_test(project, "def test_plain():\n    pass\n")
        assert "= rankjury =" not in project.runpytest_inprocess("-v").stdout.str()

    def test_assertions_of_fixtures_count(self, project: pytest.Pytester) -> None:
        body = (
            "@pytest.fixture\ndef checked():\n    rankjury.assert_ranking(gold, made_run(1), 'rr >= 0.2')\n    yield\n"
        )
        body += "    rankjury.assert_ranking(gold, made_run(1), 'rr >= 0.25')\n"
        body += "rankjury.assert_ranking(gold, made_run(1), 'rr >= 0.1')\n\ndef test_x(checked):\n    pass\n"
        put_test(project, body)
        lines = summary(project.runpytest_inprocess())
        assert [line.rpartition(" ")[2] for line in lines] == ["0.2", "0.25"], "that of the module belongs to no test"

    def test_lines_are_properties_of_junit(self, project: pytest.Pytester) -> None:
        put_test(project, BASIC)
        project.runpytest_inprocess("--junitxml=out.xml")
        text = Path("out.xml").read_text(encoding="utf-8")
        assert len(re.findall('<property name="rankjury" value="(?!WARNING)', text)) == 3 and 'value="FAIL rr ' in text
        assert text.count('<property name="rankjury" value="WARNING ') == 4

    def test_workers_of_xdist_send_their_lines(self, project: pytest.Pytester) -> None:
        pytest.importorskip("xdist")
        put_test(project, BASIC + COMPARED.format(seed=1, name=""))
        alone = summary(project.runpytest_inprocess(UPDATE))
        Path("test_search-test_against.json").unlink()
        result = project.runpytest_subprocess("-n", "2", UPDATE)
        result.assert_outcomes(passed=3, failed=1)
        assert sorted(summary(result)) == sorted(alone) and any("BASELINE" in line for line in alone)
        compared = project.runpytest_subprocess("-n", "2")
        compared.assert_outcomes(passed=3, failed=1)
        assert any("difference 0.000" in line or "difference +0.000" in line for line in summary(compared))


class TestBaseline:
    def test_a_file_is_written_and_compared_with(self, project: pytest.Pytester) -> None:
        put_test(project, COMPARED.format(seed=1, name='"search.json"'))
        missing = project.runpytest_inprocess()
        missing.assert_outcomes(failed=1)
        command = re.search(r"Make it .*main branch: (pytest .*)", missing.stdout.str())
        assert command is not None and not Path("search.json").exists()
        written = project.runpytest_inprocess(*shlex.split(command[1])[1:])
        written.assert_outcomes(passed=1)
        assert summary(written)[0] == "BASELINE  search.json: new" and summary(written)[1].startswith("PASS")
        expected = rankjury.write_baseline(rankjury.evaluate(GOLD, RUN, "rr"), "expected.json").read_bytes()
        assert Path("search.json").read_bytes() == expected
        compared = project.runpytest_inprocess()
        compared.assert_outcomes(passed=1)
        assert Path("search.json").read_bytes() == expected, "written by the option alone"

    def test_a_loss_fails_until_it_is_accepted(self, project: pytest.Pytester) -> None:
        put_test(project, COMPARED.format(seed=2, name='"search.json"'))
        project.runpytest_inprocess(UPDATE).assert_outcomes(passed=1)
        put_test(project, COMPARED.format(seed=1, name='"search.json"'))
        failed = project.runpytest_inprocess()
        failed.assert_outcomes(failed=1)
        failed.stdout.fnmatch_lines(["E *largest losses in rr: *"])
        updated = project.runpytest_inprocess(UPDATE)
        updated.assert_outcomes(passed=1)
        report = rankjury.compare(GOLD, {"old": OTHER, "new": RUN}, "rr", baseline="old")
        difference = report.comparisons[0].difference
        assert re.match(
            rf"BASELINE  search.json: replaced; rr {difference:+.3f} \[".replace("-", "−"), summary(updated)[0]
        )
        project.runpytest_inprocess().assert_outcomes(passed=1)
        assert summary(project.runpytest_inprocess(UPDATE))[0] == "BASELINE  search.json: unchanged"

    def test_updating_passes_no_target_on_a_value(self, project: pytest.Pytester) -> None:
        put_test(project, COMPARED.format(seed=1, name="").replace("rr >= 0.2", "rr >= 0.95"))
        result = project.runpytest_inprocess(UPDATE)
        result.assert_outcomes(failed=1)
        assert [line.split()[0] for line in summary(result)] == ["BASELINE", "FAIL"]

    def test_targets_on_a_difference_alone(self, project: pytest.Pytester) -> None:
        put_test(
            project,
            COMPARED.format(seed=1, name="")
            .replace('"rr >= 0.2", ', "strict=True, ")
            .replace('"rr drop <= 0.05", strict=True, ', '"rr gain >= 0.1", strict=True, '),
        )
        project.runpytest_inprocess(UPDATE).assert_outcomes(passed=1)
        project.runpytest_inprocess().assert_outcomes(failed=1)

    def test_the_file_is_beside_the_test_and_named_after_it(self, project: pytest.Pytester) -> None:
        body = """
class TestSearch:
    @pytest.mark.parametrize("language", ["en", "zh hans/†", "x" * 200])
    def test_quality(self, language, ranking_baseline):
        rankjury.assert_ranking(gold, made_run(1), "rr drop <= 0", baseline=ranking_baseline())
"""
        folder = project.mkdir("quality")
        (folder / "test_it.py").write_text(HEAD + body)
        result = project.runpytest_inprocess("quality", UPDATE)
        result.assert_outcomes(passed=3)
        names = sorted(path.name for path in folder.glob("*.json"))
        assert names[0] == "test_it-TestSearch-test_quality-en.json" and len(names) == 3
        assert all(re.fullmatch(r"[\w.-]{1,110}", name) for name in names)
        project.runpytest_inprocess("quality").assert_outcomes(passed=3)

    def test_the_command_fits_where_pytest_was_started(self, project: pytest.Pytester) -> None:
        project.makeini("[pytest]\n")
        folder = project.mkdir("quality")
        body = COMPARED.format(seed=1, name='"files/a.json"').replace("(ranking_baseline)", "(ranking_baseline, name)")
        (folder / "test_it.py").write_text(HEAD + '@pytest.mark.parametrize("name", ["a b"])' + body)
        os.chdir(folder)
        result = project.runpytest_inprocess(f"--rootdir={project.path}")
        command = re.search(r"Make it .*main branch: (pytest .*)", result.stdout.str())
        assert command is not None and "quality" not in command[1]
        project.runpytest_inprocess(*shlex.split(command[1])[1:]).assert_outcomes(passed=1)
        assert (folder / "files" / "a.json").exists()

    def test_two_comparisons_do_not_share_a_file(self, project: pytest.Pytester) -> None:
        body = COMPARED.format(seed=1, name='"a.json"') + COMPARED.format(seed=2, name='"a.json"').replace(
            "test_against", "test_also"
        )
        put_test(project, body)
        result = project.runpytest_inprocess(UPDATE)
        result.assert_outcomes(passed=1, failed=1)
        result.stdout.fnmatch_lines(["*UsageError: a.json: two comparisons write the same baseline file*"])

    def test_another_gold_names_the_command_of_the_test(self, project: pytest.Pytester) -> None:
        path = put_test(project, COMPARED.format(seed=1, name='"a.json"'))
        project.runpytest_inprocess(UPDATE).assert_outcomes(passed=1)
        path.write_text(path.read_text().replace("range(30)", "range(31)"))
        result = project.runpytest_inprocess()
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(
            ["*DataError: *another gold*main branch*pytest test_search.py::test_against " + UPDATE]
        )
        project.runpytest_inprocess(UPDATE).assert_outcomes(passed=1)
        project.runpytest_inprocess().assert_outcomes(passed=1)

    def test_another_file_is_not_replaced(self, project: pytest.Pytester) -> None:
        put_test(project, COMPARED.format(seed=1, name='"package.json"'))
        Path("package.json").write_text("{}")
        project.runpytest_inprocess(UPDATE).assert_outcomes(failed=1)
        assert Path("package.json").read_text() == "{}"

    def test_a_damaged_file_fails_and_is_replaced(self, project: pytest.Pytester) -> None:
        put_test(project, COMPARED.format(seed=1, name='"a.json"'))
        project.runpytest_inprocess(UPDATE)
        whole = Path("a.json").read_text()
        Path("a.json").write_text(whole[:500])
        project.runpytest_inprocess().assert_outcomes(failed=1)
        assert "could not be read" in summary(project.runpytest_inprocess(UPDATE))[0]
        assert Path("a.json").read_text() == whole

    def test_the_request_works_without_the_fixture(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(assertion_log, "written", {})
        write = BaselineRequest(tmp_path / "b.json", True, "make baseline")
        assert rankjury.assert_ranking(GOLD, RUN, "rr drop <= 0", baseline=write).verdicts == ()
        read = BaselineRequest(tmp_path / "b.json", False, "make baseline")
        assert rankjury.assert_ranking(GOLD, RUN, "rr drop <= 0", baseline=read).verdicts[0].value == 0
        with pytest.raises(DataError, match="make baseline"):
            rankjury.assert_ranking(GOLD, RUN, "ap drop <= 0", baseline=read)


class TestLoading:
    def test_pytest_starts_without_numpy_and_polars(self, project: pytest.Pytester) -> None:
        """A suite that does not use rankjury pays nothing for its being installed."""
        project.makeconftest(
            "import sys\n\ndef pytest_unconfigure(config):\n    print('loaded', *(name for name in sys.modules))\n"
        )
        (project.path / "test_light.py").write_text("def test_x():\n    pass\n")
        result = project.runpytest_subprocess("-p", "no:hypothesispytest", "-p", "no:anyio")
        (line,) = (line for line in result.stdout.lines if line.startswith("loaded "))
        loaded = line.split()
        assert "rankjury.tracking.pytest_plugin" in loaded
        assert not HEAVY.intersection(loaded) and len([name for name in loaded if name.startswith("rankjury")]) <= 6

    def test_the_plugin_can_be_turned_off(self, project: pytest.Pytester) -> None:
        put_test(project, "def test_x():\n    rankjury.assert_ranking(gold, made_run(1), 'rr >= 0.2')\n")
        result = project.runpytest_subprocess("-p", "no:rankjury")
        result.assert_outcomes(passed=1)
        assert "= rankjury =" not in result.stdout.str()

    def test_public_names_are_found_under_assertion_rewriting(self, project: pytest.Pytester) -> None:
        """pytest rewrites the modules of an installed plugin's package; its loader has no get_source."""
        project.makeconftest("import pytest\n\npytest.register_assert_rewrite('rankjury')\n")
        body = "import rankjury\n\ndef test_x():\n    assert 'Rewriting' in type(rankjury.__spec__.loader).__name__\n"
        body += "    assert rankjury.DataError.exit_code == 3 and 'evaluate' in dir(rankjury)\n"
        (project.path / "test_rewritten.py").write_text(body)
        project.runpytest_subprocess("-p", "no:rankjury").assert_outcomes(passed=1)
