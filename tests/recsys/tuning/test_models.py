"""Settings of a recommender tried on validation: what is best, what is kept, and what nobody looks at."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankjury.core.journal import Journal
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.errors import DataError, UsageError
from rankjury.evaluation.evaluate import evaluate, resolve_measures
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.models import make_recommender
from rankjury.recsys.recommend import recommend
from rankjury.recsys.task import Task
from rankjury.recsys.tuning.models import TuningSubject, tune_model, without_test
from rankjury.recsys.tuning.result import ModelTuning
from rankjury.stats.resampling import Resampling
from tests.recsys.tuning.support import TEST, USERS, Pointer, Row, rows, task_of

pytestmark = pytest.mark.usefixtures("pointer")
QUICK = Resampling(resamples=200)


def subject(places: list[int], task: Task | None = None, measure: str = "ndcg@10", **more: Any) -> TuningSubject:
    (asked,) = resolve_measures([measure])
    wrong = more.pop("wrong", {})
    settings = tuple({"at": at, **({"wrong": wrong[at]} if at in wrong else {})} for at in places)
    return TuningSubject(
        "points", "pointer", Pointer.params, lambda params: make_recommender("pointer", params),
        task or task_of(), settings, {"at": places}, asked, 10, **more,
    )  # fmt: skip


def tuned(places: list[int], task: Task | None = None, folder: Path | None = None, **more: Any) -> ModelTuning:
    fresh, progress = more.pop("fresh", False), more.pop("progress", NO_PROGRESS)
    one = subject(places, task, **more)
    if folder is None:
        return tune_model(one, resampling=QUICK, progress=progress)
    with Journal(folder / "journal.jsonl") as journal:
        return tune_model(one, resampling=QUICK, journal=journal, fresh=fresh, progress=progress)


def order(found: ModelTuning) -> list[Any]:
    return [trial.params["at"] for trial in found.ranked]


def known(found: ModelTuning) -> Any:
    """All that is found, but how long it took and where it came from."""
    form = json.loads(json.dumps(found.to_json(), allow_nan=False))
    for trial in form["trials"]:
        del trial["seconds"], trial["resumed"]
    del form["resumed"], form["notes"]
    return form


def entries_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()[1:]]


class TestTheBest:
    def test_the_best_its_figure_and_how_far_it_is_from_the_others(self) -> None:
        found = tuned([0, 9, 5, 6])
        assert order(found) == [5, 6, 9, 0]
        assert found.best is not None and found.best.number == 2
        second = 1 / np.log2(3)
        shares = {5: (20 + 10 * 1 / np.log2(4)) / 30, 6: (10 + 20 * second) / 30}
        for at, share in shares.items():
            (trial,) = [one for one in found.trials if one.params["at"] == at]
            assert found.estimates[trial.number].mean == pytest.approx(share, abs=1e-12)
        assert found.versus_second is not None
        assert found.versus_second.difference == pytest.approx(shares[5] - shares[6])
        assert found.versus_current is not None and found.versus_current.ci is not None
        current = found.estimates[0].mean
        assert found.versus_current.difference == pytest.approx(shares[5] - current)
        assert found.versus_current.ci[0] < found.versus_current.difference < found.versus_current.ci[1]
        assert found.better and found.verdict.startswith("the best setting is better than those in use")
        assert "4 trials" in found.caution and "optimistic" in found.caution and f"{USERS} users" in found.caution

    def test_a_trial_is_what_evaluating_the_model_by_hand_gives(self) -> None:
        task = without_test(task_of())
        model = Pointer({"at": 6})
        model.fit(task.train, SideFeatures())
        asked = resolve_measures(["recall@2"])
        by_hand = evaluate(task.gold, recommend(model, task, 10).ranking(task), asked)
        found = tuned([6], measure="recall@2")
        assert found.trials[0].values is not None
        assert np.array_equal(found.trials[0].values, by_hand["recall@2"])
        assert found.users.to_list() == by_hand.queries.to_list()

    def test_less_is_better_where_the_measure_says_so(self) -> None:
        up, down = tuned([9, 5, 0], measure="ndcg@10"), tuned([9, 5, 0], measure="unjudged@1")
        assert down.lower_is_better
        assert order(up) == [5, 9, 0]
        assert order(down)[0] == 5
        assert down.versus_current is not None and down.versus_current.difference < 0 < down.versus_current.gain

    def test_what_is_in_use_is_kept_where_others_are_no_better(self) -> None:
        found = tuned([5, 0, 9])
        assert found.best is found.current and found.versus_current is None and not found.better
        assert found.versus_second is not None
        assert "keep them" in found.verdict
        same = tuned([0, 0])
        assert same.best is same.current, "of equal ones the first"
        alone = tuned([5])
        assert alone.second is None and alone.caution == ""

    def test_progress_counts_trials(self) -> None:
        told: list[tuple[str, int, int]] = []
        tuned([0, 5], progress=Progress(lambda *step: told.append(step)))
        assert told == [("points: trial 1 of 2", 0, 2), ("points: trial 2 of 2", 1, 2), ("points", 2, 2)]

    def test_a_threshold_and_cold_users_count(self) -> None:
        assert tuned([0], threshold=0.0).estimates[0].mean == 0, "only i00 is shown"
        assert tuned([5], threshold=0.0).estimates[0].mean == pytest.approx(2 / 3)
        strangers = [*rows(), ("new", "i05", 5.0, TEST - 1)]

        class Knowing(Pointer):
            def knows(self, users: Any) -> Any:
                return users != 0

        def made(cold: str) -> ModelTuning:
            one = subject([5], task_of(strangers), cold=cold)
            return tune_model(replace(one, make=lambda params: Knowing(params)), resampling=QUICK)

        assert made("popularity").estimates[0].mean != made("nothing").estimates[0].mean
        assert made("nothing").trials[0].notes == ("1 user is unknown to the model, and gets nothing, and scores 0",)


class TestNoLeak:
    ABSURD: tuple[Row, ...] = (
        *(("u00", "i05", -1e300, TEST + n) for n in range(3)),
        *((f"u{n:02}", "i13", 1e300, TEST) for n in range(USERS)),
        ("only-in-test", "i99", 5.0, TEST + 10**9),
        ("u01", "i00", float("inf"), TEST),
    )

    def test_absurd_rows_of_the_test_window_change_nothing(self) -> None:
        """Other items, other users, other ratings, other times; the measures beyond accuracy as well."""
        for measure in ("ndcg@10", "novelty@5", "coverage@3"):
            found = [
                known(tuned([0, 5, 9, 13], task_of(given), measure=measure))
                for given in (rows(), rows(test=list(self.ABSURD)), rows(test=[]))
            ]
            assert found[0] == found[1] == found[2]

    def test_a_model_is_given_no_row_that_was_held_out(self) -> None:
        task = task_of(rows(test=list(self.ABSURD)))
        tuned([0, 5], task)
        for train in Pointer.trains:
            assert train.time is not None and train.time.max() < TEST - 10**7
            assert len(train) == len(task.train)
        sealed = without_test(task)
        assert sealed.split.size("test") == 0 and len(sealed.log) < len(task.log)
        assert sealed.split.size("validation") == USERS
        assert without_test(sealed) is sealed

    @pytest.mark.parametrize(
        ("window", "fit_on"),
        [("test", ("train",)), ("validation", ("train", "validation")), ("validation", ("train", "test"))],
    )
    def test_no_other_window_is_chosen_on(self, window: Any, fit_on: Any) -> None:
        with pytest.raises(UsageError, match=r"how good the choice is|be evaluated on validation"):
            tuned([0, 5], replace(task_of(), window=window, fit_on=fit_on))
        assert Pointer.fitted == []

    def test_an_empty_validation_window_is_no_fault_of_the_model(self) -> None:
        split = task_of().split
        part = np.where(split.window_codes == 1, 2, split.window_codes).astype(np.int8)
        with pytest.raises(DataError, match="validation window is empty"):
            tuned([0, 5], replace(task_of(), split=replace(split, window_codes=part)))
        assert Pointer.fitted == []


class TestFailures:
    def test_a_trial_that_fails_is_kept_with_its_error_and_the_search_goes_on(self, tmp_path: Path) -> None:
        found = tuned([0, 3, 4, 5], folder=tmp_path, wrong={3: "fit", 4: "nan"})
        assert order(found) == [5, 0, 3, 4], "failed ones are last"
        thrown, no_number = found.failed
        assert thrown.error == "RuntimeError: singular matrix at 3" and thrown.fit_seconds is None
        assert no_number.error is not None and "is not a number" in no_number.error
        assert "3 trials" not in found.caution and "2 trials" in found.caution
        assert [entry["point"]["error"] for entry in entries_of(tmp_path)] == [
            None,
            thrown.error,
            no_number.error,
            None,
        ]
        statuses = {one["number"]: (one["status"], one["place"]) for one in found.to_json()["trials"]}
        assert statuses == {3: ("done", 1), 0: ("done", 2), 1: ("failed", None), 2: ("failed", None)}

    def test_settings_in_use_that_fail(self) -> None:
        found = tuned([3, 5, 6], wrong={3: "fit"})
        assert found.versus_current is None and found.versus_second is not None and not found.better
        assert found.verdict.startswith("the settings in use failed")

    def test_all_fail(self) -> None:
        found = tuned([3, 4], wrong={3: "fit", 4: "fit"})
        assert found.best is None and found.second is None and found.versus_current is None
        assert found.verdict == "every trial failed"
        assert known(found)["best"] is None

    def test_a_measure_that_is_defined_for_nobody_fails(self) -> None:
        found = tuned([5], measure="recall(rel=6)@10")
        assert found.best is None
        assert "defined for none of 30 users" in str(found.current.error)

    def test_what_failed_is_tried_again(self, tmp_path: Path) -> None:
        Pointer.breaks.add(5)
        assert order(tuned([0, 5], folder=tmp_path)) == [0, 5]
        Pointer.breaks.clear()
        again = tuned([0, 5], folder=tmp_path)
        assert order(again) == [5, 0] and not again.failed
        assert [trial.resumed for trial in again.trials] == [True, False]


class TestGoingOn:
    def test_ctrl_c_keeps_what_is_done(self, tmp_path: Path) -> None:
        whole = tuned([0, 9, 5, 6])
        Pointer.fitted.clear()
        Pointer.stops.add(5)
        with pytest.raises(KeyboardInterrupt):
            tuned([0, 9, 5, 6], folder=tmp_path)
        assert Pointer.fitted == [0, 9] and len(entries_of(tmp_path)) == 2
        Pointer.stops.clear()
        found = tuned([0, 9, 5, 6], folder=tmp_path)
        assert Pointer.fitted == [0, 9, 5, 6]
        assert found.to_json()["resumed"] == 2
        assert known(found) == known(whole), "to the last digit"

    def test_nothing_is_tried_twice_unless_asked(self, tmp_path: Path) -> None:
        first = tuned([0, 5], folder=tmp_path)
        again = tuned([0, 5, 9], folder=tmp_path)
        assert Pointer.fitted == [0, 5, 9]
        assert [trial.fit_seconds for trial in again.trials[:2]] == [trial.fit_seconds for trial in first.trials]
        fresh = tuned([0, 5], folder=tmp_path, fresh=True)
        assert Pointer.fitted == [0, 5, 9, 0, 5] and not any(trial.resumed for trial in fresh.trials)
        assert len(entries_of(tmp_path)) == 5, "all trials are kept"

    def test_other_rows_of_the_test_window_leave_trials_as_they_are(self, tmp_path: Path) -> None:
        tuned([0, 5], folder=tmp_path)
        moved = [(user, "i02", 1.0, time) for user, _, _, time in rows() if time >= TEST]
        found = tuned([0, 5], task_of(rows(test=moved)), tmp_path)
        assert found.to_json()["resumed"] == 2 and found.notes == ()

    @pytest.mark.parametrize(
        ("changed", "word"),
        [
            ({"measure": "recall@2"}, "measure"),
            ({"cold": "nothing"}, "cold users"),
            ({"threshold": -4.0}, "threshold"),
            ({"about": {"libraries": {"implicit": "9"}}}, "libraries"),
            ({"task": task_of([(*rows()[0][:2], 1.0, rows()[0][3]), *rows()[1:]])}, "training interactions"),
            ({"task": task_of([one if one[3] < TEST - 9**8 else (*one[:2], 2.0, one[3]) for one in rows()])}, "ion"),
            ({"task": task_of(catalogue=12)}, "catalogue"),
            ({"task": replace(task_of(), features=SideFeatures(texts=("a",) * 16))}, "attributes"),
        ],
    )
    def test_what_changed_makes_old_trials_useless(self, tmp_path: Path, changed: dict[str, Any], word: str) -> None:
        tuned([0, 5], folder=tmp_path)
        found = tuned([0, 5], folder=tmp_path, **changed)
        assert found.to_json()["resumed"] == 0
        (note,) = found.notes
        assert note.startswith("2 settings were measured before under other conditions (") and word in note
        assert tuned([0, 5], folder=tmp_path).to_json()["resumed"] == 2, "the first ones are still there"

    def test_lines_that_somebody_spoiled_are_tried_anew(self, tmp_path: Path) -> None:
        tuned([0, 5, 9], folder=tmp_path)
        journal = tmp_path / "journal.jsonl"
        head, *lines = journal.read_text().splitlines()
        spoiled = []
        for line, values in zip(lines, ("!", "eJwDAAAAAAE=", None), strict=True):
            entry = json.loads(line)
            entry["point"]["values"] = values or entry["point"]["values"]
            spoiled.append(json.dumps(entry))
        journal.write_text("\n".join([head, *spoiled]) + "\n")
        assert tuned([0, 5, 9], folder=tmp_path).to_json()["resumed"] == 1
