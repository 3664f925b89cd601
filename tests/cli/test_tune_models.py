"""rankjury tune of recommenders: trials on validation, going on after Ctrl-C, and the test window once."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Rankjury
from tests.cli.made import tree
from tests.cli.support import Outcome, check_failure, check_width, put
from tests.recsys.tuning.support import TEST, VALIDATION, Pointer, Row, as_csv, pointer, rows

__all__ = ["pointer"]

TOP = f"""
name = "small"
measures = ["ndcg@10", "recall@2"]
headline = ["ndcg@10"]
baseline = "popular"
statistics.resamples = 100
[gold]
kind = "interactions"
path = "log.csv"
split = {{ kind = "dates", validation = {VALIDATION}, test = {TEST} }}
"""
SYSTEMS = """
[systems.popular]
kind = "recommender"
model = "popularity"
[systems.points]
kind = "recommender"
model = "pointer"
params = { at = 9, weight = 2.0 }
"""
TUNE = """
[tune.points]
params = { at = [0, 5, 6] }
"""
BOTH = TUNE + "[tune.popular]\nparams = { days = [1, 30] }\n"


def put_plan(tune: str = TUNE, *, top: str = "", systems: str = SYSTEMS, name: str = "rankjury.toml") -> str:
    return put(name, top + TOP + systems + tune)


@pytest.fixture(autouse=True)
def _files(folder: Path, pointer: type[Pointer]) -> None:
    put("log.csv", as_csv(rows()))
    put_plan()


def found_by(outcome: Outcome) -> dict[str, Any]:
    assert outcome.code == 0, outcome.err
    found: dict[str, Any] = json.loads(outcome.out)
    assert found["schema"] == "rankjury.tuning-models/1"
    return found


def one_of(outcome: Outcome) -> dict[str, Any]:
    (one,) = found_by(outcome)["systems"]
    assert isinstance(one, dict)
    return one


def places(one: dict[str, Any]) -> list[Any]:
    return [trial["settings"]["at"] for trial in one["trials"]]


def untimed(form: Any) -> Any:
    """Without what differs between two calls: seconds, the hour, and what was taken from the journal."""
    if isinstance(form, dict):
        kept = {name: value for name, value in form.items() if name not in ("seconds", "made", "resumed")}
        return {name: untimed(value) for name, value in kept.items()}
    return [untimed(one) for one in form] if isinstance(form, list) else form


class TestEdges:
    """The best value of a grid's edge was reported like any other, though a better one may lie beyond it."""

    FIRST = SYSTEMS.replace("at = 9", "at = 2")
    NARROW = "[tune.points]\nparams = { at = [2, 3], weight = [1.0, 2.0] }\n"

    def test_are_said(self, rankjury: Rankjury) -> None:
        """Of weight, which changes nothing, no value is better than another: it has no edge."""
        put_plan(self.NARROW, systems=self.FIRST)
        outcome = rankjury("tune", "rankjury.toml")
        text = " ".join(outcome.out.split())
        assert "The best at, 3, is the largest that was tried: 4 may be better; --extend tries it." in text
        assert one_of(rankjury("tune", "rankjury.toml", "--json"))["edges"] == [
            {"parameter": "at", "value": 3.0, "end": "largest", "beyond": 4}
        ]
        put_plan(systems=self.FIRST)
        assert "was tried:" not in rankjury("tune", "rankjury.toml").out, "5 lies within 0, 5, 6"

    def test_are_extended_until_the_best_lies_within(self, rankjury: Rankjury, pointer: type[Pointer]) -> None:
        put_plan(self.NARROW, systems=self.FIRST)
        one = one_of(rankjury("tune", "rankjury.toml", "--json", "--extend"))
        assert one["best"]["params"]["at"] == 5 and one["search"] == {"kind": "grid", "extensions": 3}
        assert one["edges"] == []
        assert sorted(pointer.fitted) == [at for at in range(2, 7) for _ in range(2)], "each setting once"
        pointer.fitted.clear()
        again = one_of(rankjury("tune", "rankjury.toml", "--json", "--extend"))
        assert untimed(again) == untimed(one) and not pointer.fitted and again["resumed"] == len(one["trials"])
        put_plan(self.NARROW.replace("[2, 3]", "[2, 3, 4, 5, 6]"), systems=self.FIRST)
        wide = one_of(rankjury("tune", "rankjury.toml", "--json"))
        means = [[trial["estimate"]["mean"] for trial in found["trials"]] for found in (wide, one)]
        assert not pointer.fitted and means[0] == means[1], "as if the wider grid had been asked for"

    def test_go_on_after_an_interruption(self, rankjury: Rankjury, pointer: type[Pointer]) -> None:
        put_plan(self.NARROW, systems=self.FIRST)
        pointer.stops.add(5)
        assert rankjury("tune", "rankjury.toml", "--extend").code == 130
        pointer.stops.clear()
        pointer.fitted.clear()
        one = one_of(rankjury("tune", "rankjury.toml", "--json", "--extend"))
        assert one["best"]["params"]["at"] == 5 and sorted(pointer.fitted) == [5, 5, 6, 6]

    def test_are_extended_five_times_at_most(self, rankjury: Rankjury) -> None:
        put_plan("[tune.points]\nparams = { at = [10, 11] }\n", systems=SYSTEMS.replace("at = 9", "at = 11"))
        outcome = rankjury("tune", "rankjury.toml", "--extend")
        assert outcome.code == 0, outcome.err
        text = " ".join(outcome.out.split())
        assert "The best at, 5, is the smallest that was tried after 5 extensions of the grid: 4 may be better." in text

    def test_are_of_grids(self, rankjury: Rankjury) -> None:
        put_plan('[tune.points]\nsearch = "random"\nparams = { at = [1, 2] }\n')
        check_failure(rankjury("tune", "rankjury.toml", "--extend"), 2, "--extend", "random")
        check_failure(rankjury("tune", "gold.qrels", "run.trec", "run.trec", "--extend"), 2, "--extend")


class TestTheScreen:
    def test_trials_best_first_and_the_line_for_the_plan(self, rankjury: Rankjury) -> None:
        outcome = rankjury("tune", "rankjury.toml")
        assert outcome.code == 0, outcome.err
        check_width(outcome.out)
        lines = outcome.out.splitlines()
        flowing = " ".join(outcome.out.split())
        assert flowing.startswith("points: the best of 4 settings is at=5, ndcg@10 0.833 [0.772, 0.933], better than ")
        assert "points (pointer): 4 trials; learnt from train, scored on validation (30 users)" in flowing
        settings = re.findall(r"^(at=\d( \(in use\))?) ", outcome.out, re.MULTILINE)
        assert [one for one, _ in settings] == ["at=5", "at=6", "at=9 (in use)", "at=0"]
        assert any(line.startswith("best − those in use: +0.") and "[+0." in line for line in lines)
        assert any(line.startswith("best − the second best: +0.") for line in lines)
        assert "Best: params = { at = 5, weight = 2.0 }" in lines
        assert any("the best of 4 trials" in line and "optimistic" in line for line in outcome.warnings)
        last = outcome.err.splitlines()[-1]
        assert last.startswith("Next: put params = ") and last.endswith("into [systems.points] of rankjury.toml")

    def test_the_line_for_the_plan_gives_the_best_of_the_trials(self, rankjury: Rankjury) -> None:
        line = re.findall(r"params = \{.*\}", rankjury("tune", "rankjury.toml").err)[0]
        assert tomllib.loads(line) == {"params": {"at": 5, "weight": 2.0}}
        put_plan(systems=SYSTEMS.replace("params = { at = 9, weight = 2.0 }", line))
        again = one_of(rankjury("tune", "rankjury.toml", "--json"))
        assert again["best"] == again["own"] and again["best_to_own"] is None
        outcome = rankjury("tune", "rankjury.toml")
        assert "Next: rankjury tune rankjury.toml --final" in outcome.err and outcome.out.startswith(
            "points: keep the settings in use (at=5)"
        )

    def test_quiet_and_json(self, rankjury: Rankjury) -> None:
        outcome = rankjury("tune", "rankjury.toml", "-q", "-o", "trials.json")
        assert (outcome.code, outcome.err) == (0, "")
        written = json.loads(Path("trials.json").read_text())
        assert untimed(written) == untimed(found_by(rankjury("tune", "rankjury.toml", "--json")))
        told = rankjury("tune", "rankjury.toml", "--json", "-o", "again.json")
        assert "Wrote again.json" in told.err and "Next" not in told.err
        assert Path("again.json").read_text() == told.out

    def test_json_tells_everything(self, rankjury: Rankjury) -> None:
        found = found_by(rankjury("tune", "rankjury.toml", "--json"))
        assert set(found) == {"schema", "rankjury", "made", "plan", "systems", "final"}
        assert found["plan"] == "rankjury.toml" and found["final"] is None
        (one,) = found["systems"]
        assert {key: one[key] for key in ("system", "model", "measure", "window", "fit_on", "users", "search")} == {
            "system": "points", "model": "pointer", "measure": "ndcg@10", "window": "validation", "fit_on": ["train"],
            "users": 30, "search": {"kind": "grid"},
        }  # fmt: skip
        assert places(one) == [5, 6, 9, 0] and [trial["place"] for trial in one["trials"]] == [1, 2, 3, 4]
        best = one["trials"][0]
        assert best["params"] == one["best"]["params"] == {"at": 5, "weight": 2.0}
        assert best["estimate"]["n"] == 30 and len(best["estimate"]["ci"]) == 2
        assert best["seconds"]["fit"] >= 0 and best["status"] == "done" and best["error"] is None
        own = next(trial for trial in one["trials"] if trial["in_use"])
        assert one["best_to_own"]["difference"] == pytest.approx(best["estimate"]["mean"] - own["estimate"]["mean"])
        assert one["best_to_own"]["ci"][0] > 0 and one["better_than_own"] is True
        assert "optimistic" in one["caution"]
        assert one["resampling"]["resamples"] == 100, "as the plan says"

    def test_many_trials_fit_80_columns(self, rankjury: Rankjury) -> None:
        put_plan("[tune.points]\nparams = { at = { low = 0, high = 60 }, weight = [1.0, 3.5], quick = [true, false] }\n"
                 'search = "random"\ntrials = 30\n')  # fmt: skip
        outcome = rankjury("tune", "rankjury.toml", "--level", "0.9")
        check_width(outcome.out)
        assert "11 more trials are in the JSON" in outcome.out and "[90 %]" in outcome.out


class TestWhatIsTried:
    def test_all_tuned_systems_or_the_one_that_is_named(self, rankjury: Rankjury) -> None:
        put_plan(BOTH)
        assert [one["system"] for one in found_by(rankjury("tune", "rankjury.toml", "--json"))["systems"]] == [
            "points",
            "popular",
        ]
        assert one_of(rankjury("tune", "rankjury.toml", "--system", "popular", "--json"))["system"] == "popular"

    def test_a_random_search_is_the_same_twice_and_by_another_seed_another(self, rankjury: Rankjury) -> None:
        put_plan('[tune.points]\nparams = { at = { low = 0, high = 60 } }\nsearch = "random"\ntrials = 4\n')
        first = one_of(rankjury("tune", "rankjury.toml", "--fresh", "--json"))
        assert untimed(one_of(rankjury("tune", "rankjury.toml", "--fresh", "--json"))) == untimed(first)
        assert first["search"] == {"kind": "random", "trials": 4, "seed": 0} and len(first["trials"]) == 5
        more = one_of(rankjury("tune", "rankjury.toml", "--trials", "6", "--json"))
        assert more["resumed"] == 5 and len(more["trials"]) == 7
        other = one_of(rankjury("tune", "rankjury.toml", "--seed", "5", "--json"))
        assert places(other) != places(first)

    def test_options_instead_of_the_table(self, rankjury: Rankjury) -> None:
        found = one_of(
            rankjury("tune", "rankjury.toml", "--search", "random", "--trials", "1", "-m", "recall@2", "--json")
        )
        assert found["measure"] == "recall@2" and len(found["trials"]) == 2

    def test_the_window_of_the_plan_does_not_count(self, rankjury: Rankjury) -> None:
        first = untimed(one_of(rankjury("tune", "rankjury.toml", "--json")))
        for change in ('window = "validation"', 'window = "test"\nfit_on = "train+validation"'):
            put("rankjury.toml", TOP.replace("[gold]", f"[gold]\n{change}") + SYSTEMS + TUNE)
            assert untimed(one_of(rankjury("tune", "rankjury.toml", "--window", "validation", "--json"))) == first

    def test_a_fusion_of_recommenders_is_tuned_on_validation(self, rankjury: Rankjury) -> None:
        """Pointing at i01 is right in the test window, at i05 in the validation window."""
        systems = TOP + "".join(
            f'[systems.{name}]\nkind = "recommender"\nmodel = "pointer"\nparams = {{ at = {at} }}\n'
            for name, at in (("early", 1), ("late", 5))
        ) + '[systems.both]\nkind = "fusion"\nof = ["early", "late"]\n'  # fmt: skip
        put("rankjury.toml", systems.replace('baseline = "popular"\n', ""))
        outcome = rankjury("tune", "rankjury.toml", "--system", "both", "--json")
        assert outcome.code == 0, outcome.err
        found = json.loads(outcome.out)
        assert found["schema"] == "rankjury.tuning/1" and found["best"]["weights"]["late"] > 0.5
        assert "chosen on the validation window" in outcome.err
        assert not Path("rankjury.opened.jsonl").exists()
        check_failure(rankjury("tune", "rankjury.toml", "--system", "both", "--final"), 2, "--final", "recommenders")


class TestTheTestWindowIsShut:
    def test_absurd_rows_there_change_nothing(self, rankjury: Rankjury) -> None:
        first = untimed(found_by(rankjury("tune", "rankjury.toml", "--json")))
        absurd: list[Row] = [(f"u{n:02}", f"i{n % 16:02}", 1e6 * n, TEST + n) for n in range(30)]
        absurd += [("stranger", "i77", -5.0, TEST), ("u00", "i05", 1e9, TEST)]
        put("log.csv", as_csv(rows(test=absurd)))
        assert untimed(found_by(rankjury("tune", "rankjury.toml", "--fresh", "--json"))) == first
        assert not Path("rankjury.opened.jsonl").exists()

    @pytest.mark.parametrize("more", [[], ["--system", "points"], ["--json"]])
    def test_it_is_refused(self, rankjury: Rankjury, folder: Path, more: list[str]) -> None:
        outcome = rankjury("tune", "rankjury.toml", "--window", "test", *more)
        check_failure(outcome, 2, "not chosen on the test window", "how good the choice is", "--final")
        assert Pointer.fitted == [] and not (folder / "rankjury-tune").exists()


class TestFinal:
    def test_the_chosen_settings_beside_the_other_systems_once(self, rankjury: Rankjury) -> None:
        outcome = rankjury("tune", "rankjury.toml", "--final", "--json", "-o", "results")
        found = found_by(outcome)
        assert found["final"]["params"] == {"points": {"at": 5, "weight": 2.0}}
        assert (found["final"]["window"], found["final"]["fit_on"]) == ("test", "train")
        report = found["final"]["report"]
        assert list(report["systems"]) == ["popular", "points"]
        assert report["provenance"]["meta"] == {"tuned": "points (4 trials, ndcg@10 on validation)"}
        assert Pointer.fitted == [9, 0, 5, 6, 5], "four trials, and once more"
        (line,) = Path("rankjury.opened.jsonl").read_text().splitlines()
        assert json.loads(line)["systems"] == ["popular", "points"]
        assert json.loads(Path("results/trials.json").read_text()) == found

    def test_it_is_what_running_the_plan_with_these_params_gives(self, rankjury: Rankjury) -> None:
        final = found_by(rankjury("tune", "rankjury.toml", "--final", "--json"))["final"]["report"]
        put_plan(systems=SYSTEMS.replace("at = 9", "at = 5"))
        by_hand = json.loads(rankjury("run", "--json").out)
        assert final["systems"] == by_hand["systems"] and final["comparisons"] == by_hand["comparisons"]

    def test_learning_from_validation_as_well(self, rankjury: Rankjury) -> None:
        outcome = rankjury(
            "tune", "rankjury.toml", "--final", "--refit", "train+validation", "--window", "test", "--json"
        )
        assert found_by(outcome)["final"]["fit_on"] == "train+validation"
        *trials, last = [len(train) for train in Pointer.trains]
        assert set(trials) == {100} and last == 130
        put("rankjury.toml", (TOP + SYSTEMS + TUNE).replace("[gold]", '[gold]\nfit_on = "train+validation"'))
        assert found_by(rankjury("tune", "rankjury.toml", "--final", "--json"))["final"]["fit_on"] == "train+validation"
        only = rankjury("tune", "rankjury.toml", "--final", "--refit", "train", "--json")
        assert found_by(only)["final"]["fit_on"] == "train"

    def test_on_the_screen_with_outputs_and_targets(self, rankjury: Rankjury) -> None:
        put_plan(top='outputs = ["report.json"]\ntargets = ["ndcg@10 >= 0.99"]\n')
        outcome = rankjury("tune", "rankjury.toml", "--final", "-o", "out")
        assert outcome.code == 4, "the target failed"
        assert "The test window, opened with the chosen settings" in outcome.out and "FAIL" in outcome.out
        assert sorted(path.name for path in Path("out").iterdir()) == ["report.json", "trials.json"]
        assert "Wrote out/report.json, out/trials.json" in outcome.err
        check_width(outcome.out.partition("small:")[0])

    def test_it_stays_shut_where_nothing_could_be_chosen(self, rankjury: Rankjury) -> None:
        Pointer.breaks.update((0, 5, 6, 9))
        outcome = rankjury("tune", "rankjury.toml", "--final")
        assert outcome.code == 1 and "the test window was not opened" in outcome.err
        assert not Path("rankjury.opened.jsonl").exists()


class TestFailuresAndGoingOn:
    def test_a_trial_that_fails_is_told_and_the_search_goes_on(self, rankjury: Rankjury) -> None:
        put_plan('[tune.points]\nparams = { at = [5, 6], wrong = ["no", "fit", "nan"] }\n')
        outcome = rankjury("tune", "rankjury.toml")
        assert outcome.code == 0
        check_width(outcome.out)
        unfolded = " ".join(outcome.out.split())
        assert "failed: at=5 wrong=fit: RuntimeError: singular matrix at 5" in unfolded
        assert "is not a number" in unfolded
        assert "warning: points: 4 of 7 trials failed" in outcome.warnings
        found = one_of(rankjury("tune", "rankjury.toml", "--json"))
        assert found["failed"] == 4 and found["resumed"] == 3
        assert [trial["error"] is None for trial in found["trials"]] == 3 * [True] + 4 * [False]

    def test_all_trials_fail(self, rankjury: Rankjury) -> None:
        put_plan(BOTH)
        Pointer.breaks.update((0, 5, 6, 9))
        outcome = rankjury("tune", "rankjury.toml")
        assert outcome.code == 1
        assert outcome.out.startswith("points: every trial failed.") and "popular (popularity)" in outcome.out
        assert "error: all trials of points failed" in outcome.err

    def test_ctrl_c_says_how_to_go_on_and_the_next_call_does(self, rankjury: Rankjury) -> None:
        Pointer.stops.add(5)
        outcome = rankjury("tune", "rankjury.toml")
        assert outcome.code == 130 and outcome.out == ""
        assert "2 finished trials are kept in rankjury-tune/journal.jsonl: the same command goes on" in outcome.err
        Pointer.stops.clear()
        found = rankjury("tune", "rankjury.toml")
        assert "4 trials, 2 of them made before" in " ".join(found.out.split())
        assert Pointer.fitted == [9, 0, 5, 6]
        assert one_of(rankjury("tune", "rankjury.toml", "--json"))["resumed"] == 4
        assert one_of(rankjury("tune", "rankjury.toml", "--fresh", "--json"))["resumed"] == 0

    def test_a_torn_line_costs_one_trial(self, rankjury: Rankjury) -> None:
        rankjury("tune", "rankjury.toml")
        journal = Path("rankjury-tune/journal.jsonl")
        journal.write_bytes(journal.read_bytes()[:-30])
        outcome = rankjury("tune", "rankjury.toml", "--json")
        assert one_of(outcome)["resumed"] == 3
        assert "1 unfinished or unreadable lines were passed over" in outcome.err

    @pytest.mark.parametrize(
        ("before", "after", "word"),
        [
            (f"validation = {VALIDATION}", f"validation = {VALIDATION + 3}", "training interactions"),
            ('path = "log.csv"', 'path = "log.csv"\ncatalogue = "train"\ncandidates = { sampled = 5 }', "candidates"),
            ("weight = 2.0 }", 'weight = 2.0 }\ncold_users = "nothing"', "cold users"),
            ('"ndcg@10", "recall@2"]', '"ndcg@10", "recall@2"]\nconventions.missing = "skip"', "measure"),
        ],
    )
    def test_another_split_or_setting_of_the_plan_begins_anew(
        self, rankjury: Rankjury, before: str, after: str, word: str
    ) -> None:
        rankjury("tune", "rankjury.toml")
        content = TOP + SYSTEMS + TUNE
        assert before in content
        put("rankjury.toml", content.replace(before, after))
        outcome = rankjury("tune", "rankjury.toml", "--json")
        assert one_of(outcome)["resumed"] == 0
        (note,) = [line for line in outcome.warnings if "under other conditions" in line]
        assert word in note

    def test_another_log_begins_anew(self, rankjury: Rankjury) -> None:
        rankjury("tune", "rankjury.toml")
        put("log.csv", as_csv([("u00", "i02", 1.0, 1_600_000_001), *rows()]))
        assert one_of(rankjury("tune", "rankjury.toml", "--json"))["resumed"] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "fragments"),
    [
        (["--system", "poinst"], 2, ["'poinst'", "Did you mean points"]),
        (["--system", "popular"], 2, ["no settings to try for popular;", "[tune.popular]"]),
        (["--search", "gird"], 2, ["unknown search 'gird'", "Did you mean grid"]),
        (["--trials", "5"], 2, ["--trials", "--search random"]),
        (["--search", "random", "--trials", "0"], 2, ["0 trials"]),
        (["-m", "ndgc@10"], 2, ["ndgc@10", "Did you mean"]),
        (["-m", "ndcg@10,rr"], 2, ["2 measures"]),
        (["--window", "train"], 2, ["unknown window 'train'", "validation"]),
        (["--refit", "train"], 2, ["--refit", "--final"]),
        (["--final", "--refit", "test"], 2, ["'test'", "train"]),
        (["--final", "-o", "a.json"], 2, ["a.json", "a folder"]),
        (["-o", "trials.csv"], 2, ["trials.csv", ".json"]),
        (["-o", "nowhere/trials.json"], 3, ["nowhere/trials.json"]),
        (["--folds", "3"], 2, ["--folds is for fusions"]),
        (["--method", "rrf"], 2, ["--method is for fusions"]),
        (["--resamples", "1"], 2, ["1 resamples"]),
    ],
)
def test_refused(rankjury: Rankjury, folder: Path, arguments: list[str], code: int, fragments: list[str]) -> None:
    before = tree(folder)
    check_failure(rankjury("tune", "rankjury.toml", *arguments), code, *fragments)
    assert tree(folder) == before and Pointer.fitted == []


@pytest.mark.parametrize(
    ("tune", "fragments"),
    [
        ("[tune.points]\nparams = { att = [1] }\n", ["rankjury.toml:20", "tune.points.params.att", "Did you mean at"]),
        ("[tune.points]\nparams = { at = [100] }\n", ["tune.points.params.at", "99 or less"]),
        ("[tune.points]\nparams = { at = [] }\n", ["tune.points.params.at", "no value to try"]),
        ("[tune.points]\nparams = {}\n", ["tune.points.params", "no parameter to try"]),
        ("[tune.points]\nparams = { at = 5 }\n", ["tune.points.params.at: found 5, expected a valid list\n"]),
        (
            '[tune.points]\nsearch = "grid"\nparams = { at = { low = 1, high = 5 } }\n',
            ["tune.points.params.at", 'search = "random"'],
        ),
        (
            "[tune.points]\nparams = { at = { low = 1, high = inf } }\n",
            ["tune.points.params.at", "a finite number"],
        ),
        (
            '[tune.points]\nsearch = "random"\nparams = { at = { low = 1, hihg = 5 } }\n',
            ["tune.points.params.at.high: missing", "tune.points.params.at.hihg", "Did you mean high", "2 faults"],
        ),
        ("[tune.points]\n", ["tune.points.params", "missing"]),
        ("[tune.points]\nparam = { at = [1] }\n", ["Did you mean params"]),
        ("[tune.point]\nparams = { at = [1] }\n", ["tune.point", "recommender", "Did you mean points"]),
        (TUNE + 'measure = "ndgc@10"\n', ["tune.points.measure", "Did you mean ndcg"]),
        (TUNE + 'search = "gird"\n', ["tune.points.search", "grid"]),
        (TUNE + "trials = 0\n", ["tune.points.trials"]),
    ],
)
def test_tables_that_make_no_sense(rankjury: Rankjury, tune: str, fragments: list[str]) -> None:
    put_plan(tune)
    for command in ("tune", "run"):
        outcome = rankjury(command, "rankjury.toml")
        assert outcome.code == 2 and outcome.out == ""
        for fragment in fragments:
            assert fragment in outcome.err


class TestPlansThatCannotBeTuned:
    def test_recommenders_without_a_table(self, rankjury: Rankjury) -> None:
        put_plan("")
        check_failure(rankjury("tune", "rankjury.toml"), 2, "no settings to try for popular, points", "[tune.NAME]")

    def test_no_recommenders(self, rankjury: Rankjury) -> None:
        put("rankjury.toml", 'gold = "gold.qrels"\n[systems]\nrun = "run.trec"\n')
        check_failure(rankjury("tune", "rankjury.toml"), 2, "0 fused systems")
        put("rankjury.toml", 'gold = "gold.qrels"\n[systems]\nrun = "run.trec"\n[tune.run]\nparams = { at = [1] }\n')
        check_failure(rankjury("tune", "rankjury.toml"), 2, "tune.run", "recommender")

    def test_a_gold_that_is_no_log(self, rankjury: Rankjury) -> None:
        put("rankjury.toml", 'gold = "gold.qrels"\n' + SYSTEMS + TUNE)
        check_failure(rankjury("tune", "rankjury.toml"), 2, "recommenders need a gold of interactions", "interactions")

    def test_an_empty_validation_window(self, rankjury: Rankjury) -> None:
        put("log.csv", as_csv([row for row in rows() if not VALIDATION <= row[3] < TEST]))
        check_failure(rankjury("tune", "rankjury.toml"), 3, "log.csv", "no rows for validation")
        put("log.csv", as_csv(rows()))
        put("rankjury.toml", (TOP + SYSTEMS + TUNE).replace(f"validation = {VALIDATION}, ", ""))
        check_failure(rankjury("tune", "rankjury.toml"), 3, "log.csv", "the validation window is empty")
        assert Pointer.fitted == [] and not Path("rankjury-tune").exists()

    def test_a_file_where_the_journal_should_be(self, rankjury: Rankjury) -> None:
        put("rankjury-tune", "mine")
        check_failure(rankjury("tune", "rankjury.toml"), 3, "rankjury-tune", "this folder")
        assert Path("rankjury-tune").read_text() == "mine"


def test_a_plan_may_have_tables_and_be_run(rankjury: Rankjury) -> None:
    assert rankjury("run", "rankjury.toml", "--json").code == 0
    schema = json.loads(rankjury("list", "schema").out)
    assert "tune" in schema["properties"]
