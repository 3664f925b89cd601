"""rankjury baseline: set by a person, or written to a file that is committed."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from rankjury.tracking.archive.archive import Archive
from tests.cli.archives import two_runs
from tests.cli.conftest import Rankjury
from tests.cli.gating import FILES, GATE, gate_files, make_report, put_targets, verdicts_of
from tests.cli.made import QUERIES, RANKS, put_gold, put_run, shuffled, tree
from tests.cli.support import check_failure, check_width, put

__all__ = ["gate_files"]
WRITE = ["baseline", "write"]
FILE = ["-o", "baseline.json"]


@pytest.fixture(autouse=True)
def nobodys_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKJURY_ARCHIVE", raising=False)


def test_set_shown_and_unset(rankjury: Rankjury, folder: Path) -> None:
    first, last = two_runs(folder)
    outcome = rankjury("baseline")
    assert (outcome.code, outcome.out) == (0, "") and "rankjury baseline set RUN" in outcome.err
    assert rankjury("baseline", "set", first.name).err == f"{first.name} is now the baseline of small\n"
    assert rankjury("baseline").out == f"small: {first.name}\n"
    rankjury("baseline", "set", "latest", "-q")
    assert json.loads(rankjury("baseline", "--json").out) == {"small": last.name}
    assert rankjury("baseline", "unset", "small").err == "small has no baseline any more\n"
    assert rankjury("baseline").out == "" and Archive(folder / ".rankjury").baseline("small") is None


def test_unset_without_a_name_is_of_the_last_plan(rankjury: Rankjury, folder: Path) -> None:
    two_runs(folder)
    rankjury("baseline", "set", "latest")
    assert rankjury("baseline", "unset").code == 0 and rankjury("baseline").out == ""


def test_a_baseline_that_is_gone_is_told(rankjury: Rankjury, folder: Path) -> None:
    first, _ = two_runs(folder)
    rankjury("baseline", "set", first.name)
    first.path.rename(first.path.with_name(".away"))
    assert rankjury("baseline").out == f"small: {first.name} (not there any more)\n"
    assert rankjury("diff").code == 3, "there is no run before the one that is left"


def test_runs_never_set_it(rankjury: Rankjury, folder: Path) -> None:
    two_runs(folder)
    rankjury("run", "plan.toml")
    assert rankjury("baseline").out == ""


def test_requests_that_make_no_sense(rankjury: Rankjury, folder: Path) -> None:
    check_failure(rankjury("baseline", "unset"), 3, "no baseline is set")
    check_failure(rankjury("baseline", "set"), 2, "no run is named")
    check_failure(rankjury("baseline", "wirte", "latest"), 2, "'wirte'", "Did you mean write?")
    check_failure(rankjury("baseline", "set", "latest"), 3, "the archive has no run")
    two_runs(folder)
    rankjury("baseline", "set", "latest")
    check_failure(rankjury("baseline", "unset", "smal"), 2, "Did you mean small?")


# --- baseline files -----------------------------------------------------------------------------------------------


def write(rankjury: Rankjury, *options: str, run: str = "old.trec") -> bytes:
    outcome = rankjury(*WRITE, "g.qrels", run, "-m", "rr,ap", *FILE, *options)
    assert outcome.code == 0, outcome
    return Path("baseline.json").read_bytes()


def renewal(error: str, accepted: str = "old.trec", placeholder: str = "RUN_OF_MAIN") -> list[str]:
    """The arguments of the command that a refusal names, with a file for its placeholder and nothing of the new run."""
    words = shlex.split(error.partition("rankjury baseline write ")[2])
    assert words.count(placeholder) == 1 and "main branch" in error
    assert not {"new.trec", "a report.json"}.intersection(words)
    return [accepted if word == placeholder else word for word in words]


@pytest.mark.usefixtures("gate_files")
class TestFiles:
    @pytest.mark.parametrize("where", ["option", "targets"])
    def test_the_verdict_is_that_of_the_run_itself(self, rankjury: Rankjury, folder: Path, where: str) -> None:
        write(rankjury)
        targets = ["rr gain >= 0.1", "ap drop <= 0", "rr >= 0.5", "rr drop <= 5%"]
        put_targets(*targets, "ndcg@10 >= 0")
        expected = verdicts_of(rankjury(*GATE, *FILES, "-b", "old.trec", "--json"))
        put("sub/baseline.json", Path("baseline.json").read_bytes())
        shutil.move("t.toml", "sub/t.toml")
        if where == "targets":
            put_targets(*targets, "ndcg@10 >= 0", name="sub/t.toml", baseline="baseline.json")
        given = [] if where == "targets" else ["-b", "sub/baseline.json"]
        outcome = rankjury("gate", "sub/t.toml", *FILES, *given, "--json")
        assert verdicts_of(outcome) == expected and len(expected) == 5 and expected[0]["ci"]
        assert json.loads(outcome.out)["baseline"] == "sub/baseline.json"

    def test_a_saved_report_and_an_archived_run_are_checked_alike(self, rankjury: Rankjury) -> None:
        write(rankjury)
        put_targets("rr gain >= 0.1")
        expected = verdicts_of(rankjury(*GATE, *FILES, "-b", "baseline.json", "--json"))
        saved = make_report(rankjury, "new.json", "new.trec")
        assert verdicts_of(rankjury(*GATE, saved, "-b", "baseline.json", "--json")) == expected

    def test_slices_of_queries(self, rankjury: Rankjury) -> None:
        write(rankjury)
        put("t.toml", '[[target]]\nrequire = "rr drop <= 0.1"\nslice = "type=fact"\n')
        given = [*GATE, *FILES, "-s", "types.csv:type", "--json"]
        expected = verdicts_of(rankjury(*given, "-b", "old.trec"))
        assert verdicts_of(rankjury(*given, "-b", "baseline.json")) == expected and expected[0]["n"] == QUERIES // 2

    def test_the_order_of_rows_and_the_format_change_no_byte(self, rankjury: Rankjury) -> None:
        expected = write(rankjury)
        for name in ("g.qrels", "old.trec"):
            shuffled(name, 3)
        assert write(rankjury) == expected
        assert rankjury("convert", "g.qrels", "g.csv").code == 0
        assert rankjury(*WRITE, "g.csv", "old.trec", "-m", "rr,ap", *FILE).code == 0
        assert Path("baseline.json").read_bytes() == expected
        saved = make_report(rankjury, "old.json", "old.trec")
        assert rankjury(*WRITE, saved, *FILE).code == 0 and Path("baseline.json").read_bytes() == expected

    def test_measures_of_targets(self, rankjury: Rankjury) -> None:
        put_targets("rr >= 0.5", "ndcg@3 drop <= 0.1", "rr drop <= 1", "latency <= 9")
        assert rankjury(*WRITE, "g.qrels", "old.trec", "--targets", "t.toml", *FILE).code == 0
        assert list(json.loads(Path("baseline.json").read_text())["measures"]) == ["rr", "ndcg@3"]
        assert rankjury(*GATE, *FILES, "-b", "baseline.json", "--record", "latency=3").code == 0
        put_targets("rr >= 0.5", "latency drop <= 9")
        failed = rankjury(*WRITE, "g.qrels", "old.trec", "--targets", "t.toml", *FILE)
        check_failure(failed, 2, "unknown measure or figure 'latency'")

    def test_recorded_values(self, rankjury: Rankjury) -> None:
        write(rankjury, "--record", "latency=10")
        put_targets("latency gain <= 5")
        (verdict,) = verdicts_of(rankjury(*GATE, *FILES, "--record", "latency=12", "-b", "baseline.json", "--json"))
        assert (verdict["value"], verdict["verdict"]) == (2, "pass")

    def test_a_query_that_the_run_lacks(self, rankjury: Rankjury) -> None:
        put_run("old.trec", RANKS[:-3])
        write(rankjury)
        put_targets("rr gain >= 0.1")
        given = [*GATE, *FILES, "--json"]
        expected = verdicts_of(rankjury(*given, "-b", "old.trec"))
        assert verdicts_of(rankjury(*given, "-b", "baseline.json")) == expected and expected[0]["n"] == QUERIES
        given += ["--missing", "skip"]
        expected = verdicts_of(rankjury(*given, "-b", "old.trec"))
        rankjury(*WRITE, "g.qrels", "old.trec", "--missing", "skip", *FILE, "-m", "rr")
        assert verdicts_of(rankjury(*given, "-b", "baseline.json")) == expected and expected[0]["n"] == QUERIES - 3


@pytest.mark.usefixtures("gate_files")
class TestReplacing:
    def test_the_difference_is_printed_before_the_file_is_replaced(self, rankjury: Rankjury) -> None:
        write(rankjury)
        outcome = rankjury(*WRITE, "g.qrels", "new.trec", "-m", "rr,ndcg@3", *FILE)
        assert outcome.code == 0 and "Wrote baseline.json" in outcome.err
        check_width(outcome.out)
        compared = rankjury("compare", "g.qrels", "old.trec", "new.trec", "-m", "rr", "--json")
        row = json.loads(compared.out)["comparisons"][0]
        shown = f"+{row['difference']:.3f} [+{row['ci'][0]:.3f}, +{row['ci'][1]:.3f}]"
        assert shown in outcome.out and "ndcg@3 is new" in outcome.out and "ap is not in" in outcome.out
        assert json.loads(Path("baseline.json").read_text())["system"] == "new"

    def test_as_json(self, rankjury: Rankjury) -> None:
        write(rankjury)
        outcome = rankjury(*WRITE, "g.qrels", "new.trec", "-m", "rr", *FILE, "--json")
        found = json.loads(outcome.out)
        assert (found["file"], found["system"]) == ("baseline.json", "new")
        assert found["comparisons"][0]["difference"] == pytest.approx(0.375)

    def test_nothing_changed(self, rankjury: Rankjury) -> None:
        before = write(rankjury)
        assert "unchanged" in rankjury(*WRITE, "g.qrels", "old.trec", "-m", "rr,ap", *FILE).out
        assert Path("baseline.json").read_bytes() == before

    def test_another_gold_and_other_conventions_are_named(self, rankjury: Rankjury) -> None:
        write(rankjury)
        outcome = rankjury(*WRITE, "g.qrels", "old.trec", "-m", "rr,ap", "--missing", "skip", *FILE)
        shown = outcome.out.replace("\n", "")
        assert shown.count("missing=zero") == shown.count("missing=skip") == 2
        put_gold(queries=QUERIES - 1)
        outcome = rankjury(*WRITE, "g.qrels", "old.trec", "-m", "rr,ap", *FILE)
        assert outcome.code == 0 and "24 queries and 72 judgments before, 23 queries and 69 judgments" in " ".join(
            outcome.out.split()
        )

    def test_a_damaged_baseline_is_replaced_and_another_file_is_not(self, rankjury: Rankjury, folder: Path) -> None:
        whole = write(rankjury)
        put("baseline.json", whole[:400])
        assert "cannot be read" in rankjury(*WRITE, "g.qrels", "old.trec", "-m", "rr,ap", *FILE).out
        assert Path("baseline.json").read_bytes() == whole
        put("package.json", '{"name": "mine"}')
        before = tree(folder)
        failed = rankjury(*WRITE, "g.qrels", "old.trec", "-o", "package.json")
        check_failure(failed, 3, "package.json", "not a baseline file")
        assert tree(folder) == before


@pytest.mark.usefixtures("gate_files")
class TestRefusals:
    def test_another_gold_and_the_command_that_renews(self, rankjury: Rankjury) -> None:
        write(rankjury)
        put_targets("rr gain >= -1")
        put_gold(queries=QUERIES - 4)
        outcome = rankjury(*GATE, *FILES, "-b", "baseline.json", "--ties", "id-desc")
        check_failure(outcome, 3, "baseline.json", "24 queries and 72 judgments, and here 20 queries and 60 judgments")
        assert rankjury(*WRITE, *renewal(outcome.err)).code == 0
        assert rankjury(*GATE, *FILES, "-b", "baseline.json", "--ties", "id-desc").code == 0

    def test_the_same_numbers_of_other_judgments(self, rankjury: Rankjury) -> None:
        write(rankjury)
        put_targets("rr >= 0")
        put("g.qrels", Path("g.qrels").read_text().replace("q03 0 d1 0", "q03 0 d1 1"))
        check_failure(rankjury(*GATE, *FILES, "-b", "baseline.json"), 3, "another gold", "with other content")

    def test_other_conventions_and_the_command_that_renews(self, rankjury: Rankjury) -> None:
        write(rankjury)
        put_targets("rr gain >= -1")
        options = ["--missing", "skip", "--rel", "1", "--dialect", "ranx", "--duplicates", "first", "--format", "trec"]
        outcome = rankjury(*GATE, *FILES, "-b", "baseline.json", *options)
        check_failure(outcome, 3, "missing=zero", "missing=skip", "rel=1")
        assert rankjury(*WRITE, *renewal(outcome.err)).code == 0
        assert rankjury(*GATE, *FILES, "-b", "baseline.json", *options).code == 0

    def test_a_missing_measure_and_the_command_that_renews(self, rankjury: Rankjury) -> None:
        write(rankjury)
        put_targets("ndcg@3 drop <= 1", "rr >= 0")
        outcome = rankjury(*GATE, *FILES, "-b", "baseline.json")
        check_failure(outcome, 3, "the baseline has no ndcg@3", "rr, ap")
        assert rankjury(*WRITE, *renewal(outcome.err)).code == 0
        assert rankjury(*GATE, *FILES, "-b", "baseline.json").code == 0

    @pytest.mark.parametrize("runs", [["new.trec"], ["new.trec", "old.trec"]])
    def test_a_report_and_the_command_that_renews(self, rankjury: Rankjury, runs: list[str]) -> None:
        write(rankjury)
        put_gold(queries=QUERIES - 4)
        put_targets("rr gain >= -1")
        saved = make_report(rankjury, "a report.json", *runs)
        outcome = rankjury(*GATE, saved, "-b", "baseline.json")
        check_failure(outcome, 3, "another gold")
        assert rankjury(*WRITE, *renewal(outcome.err, saved, "REPORT_OF_MAIN")).code == 0
        assert rankjury(*GATE, saved, "-b", "baseline.json").code == 0

    def test_a_report_that_does_not_record_its_gold(self, rankjury: Rankjury) -> None:
        write(rankjury)
        put_targets("rr gain >= -1")
        form = json.loads(Path(make_report(rankjury, "new.json", "new.trec")).read_text())
        del form["gold"]
        put("new.json", json.dumps(form))
        check_failure(rankjury(*GATE, "new.json", "-b", "baseline.json"), 3, "new.json", "does not record its gold")
        check_failure(rankjury(*WRITE, "new.json", *FILE), 3, "new.json", "does not record its gold")

    def test_a_file_that_is_missing_names_the_command_that_makes_it(self, rankjury: Rankjury) -> None:
        put_targets("rr gain >= -1")
        outcome = rankjury(*GATE, *FILES, "-b", "baseline.json")
        check_failure(outcome, 3, "baseline.json: no such file")
        assert rankjury(*WRITE, *renewal(outcome.err)).code == 0
        assert rankjury(*GATE, *FILES, "-b", "baseline.json").code == 0

    def test_a_regression_fails_after_the_command_that_renews(self, rankjury: Rankjury) -> None:
        write(rankjury, run="new.trec")
        put_gold(queries=QUERIES - 4)
        put_targets("rr drop <= 0.1")
        outcome = rankjury(*GATE, "g.qrels", "old.trec", "-b", "baseline.json")
        check_failure(outcome, 3, "another gold")
        assert "old.trec" not in outcome.err
        assert rankjury(*WRITE, *renewal(outcome.err, "new.trec")).code == 0
        assert rankjury(*GATE, "g.qrels", "old.trec", "-b", "baseline.json").code == 4

    def test_a_failed_gate_suggests_no_comparison_with_the_file(self, rankjury: Rankjury) -> None:
        write(rankjury)
        put_targets("rr gain >= 0.9")
        outcome = rankjury(*GATE, *FILES, "-b", "baseline.json")
        assert outcome.code == 4 and "rankjury compare" not in outcome.err

    @pytest.mark.parametrize(
        ("given", "code", "fragments"),
        [
            (["g.qrels", "old.trec"], 2, ("not named", "-o baseline.json")),
            (["g.qrels", "old.trec", "-o", "b.trec"], 2, ("b.trec", ".json")),
            (["g.qrels", "old.trec", "new.trec", *FILE], 2, ("2 runs", "one run")),
            ([*FILE], 2, ("no run", "GOLD RUN")),
            (["both.json", *FILE], 2, ("there are 2: old, new", "--system")),
            (["both.json", "--system", "nwe", *FILE], 2, ("'nwe'", "Did you mean new?")),
            (["both.json", "-m", "rr", *FILE], 2, ("saved report",)),
            (["both.json", "--ties", "id", *FILE], 2, ("saved report",)),
            (["g.qrels", "old.trec", "-m", "rr", "--targets", "t.toml", *FILE], 2, ("--targets", "one of them")),
            (["g.qrels", "-", "-m", "rr", "-o", "nowhere/b.json"], 3, ("nowhere/b.json",)),
            (["g.qrels", "old.trec", "-m", "rrr", *FILE], 2, ("'rrr'",)),
            (["g.qrels", "nowhere.trec", *FILE], 3, ("nowhere.trec: no such file",)),
            (["old.trec", *FILE], 3, ("old.trec", "not a report")),
        ],
    )
    def test_requests_that_cannot_be_met(
        self, rankjury: Rankjury, folder: Path, given: list[str], code: int, fragments: tuple[str, ...]
    ) -> None:
        make_report(rankjury, "both.json", "old.trec", "new.trec")
        put_targets("rr >= 0")
        before = tree(folder)
        check_failure(rankjury(*WRITE, *given), code, *fragments)
        assert tree(folder) == before

    @pytest.mark.parametrize("action", [[], ["set", "latest"], ["unset"]])
    def test_options_of_write_are_not_ignored(self, rankjury: Rankjury, action: list[str]) -> None:
        for options in (FILE, ["-m", "rr"], ["--ties", "id"]):
            check_failure(rankjury("baseline", *action, *options), 2, "no effect", "rankjury baseline write")
        check_failure(rankjury("baseline", "set", "a", "b"), 2, "2 names")


def test_an_archived_run_becomes_a_file(rankjury: Rankjury, folder: Path) -> None:
    first, last = two_runs(folder)
    check_failure(rankjury(*WRITE, "latest", *FILE), 2, "--system")
    assert rankjury(*WRITE, first.name, "--system", "new", *FILE).code == 0
    put_targets("rr gain >= -1")
    outcome = rankjury(*GATE, last.name, "-b", "baseline.json", "--json")
    verdicts = {verdict["system"]: verdict for verdict in verdicts_of(outcome)}
    expected = {
        verdict["system"]: verdict for verdict in verdicts_of(rankjury(*GATE, last.name, "-b", first.name, "--json"))
    }
    low, high = verdicts["new"]["ci"]
    assert verdicts["new"] == expected["new"] and low < high
