"""A small log, and a model of which is known beforehand how good each of its settings is."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from rankjury.core.params import Param
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Ints, Matrix
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log, log_from_frame
from rankjury.recsys.models import RECOMMENDERS, Recommender
from rankjury.recsys.split import Split
from rankjury.recsys.task import Task

USERS = 30
TRAIN, VALIDATION, TEST = 1_600_000_000, 1_610_000_000, 1_620_000_000
"""When the windows begin, in seconds."""
Row = tuple[str, str, float, int]


def rows(*, test: list[Row] | None = None) -> list[Row]:
    """Everybody took i10, i11 and one more; then two thirds take i05 and the others i06; then i01, unless given."""
    found: list[Row] = []
    for number in range(USERS):
        user = f"u{number:02}"
        found += [(user, item, 4.0, TRAIN + number) for item in ("i10", "i11", f"i{number % 4 + 12}")]
        found.append((user, "i06" if number % 3 == 0 else "i05", 5.0, VALIDATION + number))
    last = [(f"u{number:02}", "i01", 3.0, TEST + number) for number in range(USERS)]
    unseen = [("zz", f"i{number:02}", 1.0, TRAIN) for number in range(10)]
    return [*found, *unseen, *(last if test is None else test)]


def as_csv(given: list[Row]) -> str:
    return "user,item,rating,timestamp\n" + "".join(f"{a},{b},{c},{d}\n" for a, b, c, d in given)


def split_of(given: list[Row] | None = None) -> Split:
    frame = pl.DataFrame(given or rows(), schema=["user", "item", "value", "time"], orient="row")
    log = log_from_frame(frame)
    assert log.time is not None
    part = (log.time >= VALIDATION).astype(np.int8) + (log.time >= TEST).astype(np.int8)
    return Split(log, part, {"kind": "dates"})


def task_of(given: list[Row] | None = None, catalogue: int = 14) -> Task:
    """To be chosen on validation, from i00 … i13 and whatever a user held out."""
    split = split_of(given)
    return Task(split, "validation", ("train",), np.array([one < f"i{catalogue:02}" for one in split.log.items]))


class Pointer(Recommender):
    """Recommends the item it points at, then those nearest to it: pointing at i05 is best."""

    description = "points at an item"
    params: ClassVar = {
        "at": Param(0, "the number of the item", min=0, max=99),
        "weight": Param(1.0, "changes nothing", min=0.0),
        "wrong": Param("no", "what goes wrong", choices=("no", "fit", "nan", "stop")),
        "quick": Param(True, "changes nothing"),
    }
    fitted: ClassVar[list[int]] = []
    """Where each one that was fitted points."""
    trains: ClassVar[list[Log]] = []
    stops: ClassVar[set[int]] = set()
    """Where somebody presses Ctrl-C."""
    breaks: ClassVar[set[int]] = set()
    """Where it does not fit this time."""

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        at = int(self.settings["at"])
        if at in self.stops:
            raise KeyboardInterrupt
        if self.settings["wrong"] == "fit" or at in self.breaks:
            raise RuntimeError(f"singular matrix\nat {at}")
        Pointer.fitted.append(at)
        Pointer.trains.append(train)
        self.places = np.array([int(item[1:]) for item in train.items.to_list()])

    def score(self, users: Ints, items: Ints) -> Matrix:
        scores = -np.abs(self.places[items] - float(self.settings["at"])) / 2
        if self.settings["wrong"] == "nan":
            scores[3] = np.nan
        return np.tile(scores, (users.size, 1))


@pytest.fixture
def pointer(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Pointer]]:
    """The model under its name, with nothing fitted yet and nothing broken."""
    entries = {name: RECOMMENDERS.get(name) for name in RECOMMENDERS.names()}
    monkeypatch.setattr(RECOMMENDERS, "_entries", {**entries, "pointer": Pointer})
    for name in ("fitted", "trains"):
        monkeypatch.setattr(Pointer, name, [])
    for name in ("stops", "breaks"):
        monkeypatch.setattr(Pointer, name, set())
    yield Pointer
