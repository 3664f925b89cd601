"""Baseline recommenders: popularity, overall or recent; and a random order."""

from typing import ClassVar

import numpy as np

from rankjury.core.params import Param
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Floats, Ints, Matrix
from rankjury.errors import UsageError
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log
from rankjury.recsys.data.times import PER_SECOND, SECONDS_PER_DAY
from rankjury.recsys.models import RECOMMENDERS, Recommender
from rankjury.stats.resampling import Keys, pair_words, query_keys


@RECOMMENDERS.register("popularity")
class Popularity(Recommender):
    """The same list for all users, without their training items."""

    description = "items with the most training users, overall or recent (share = 0.1, or days = 30)"
    params: ClassVar = {
        "share": Param(1.0, "use only the latest share of training: 0.1 is its last tenth", min=1e-9, max=1),
        "days": Param(0.0, "use only the last days of training; 0: all of it", min=0),
    }
    personal = False
    counts: Floats

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        share, days = float(self.settings["share"]), float(self.settings["days"])
        if share < 1:
            if train.time is None:
                raise UsageError("the log has no times", where="popularity, share", expected="share = 1")
            if len(train):  # includes rows with the same time as the first row of the share
                first = len(train) - max(1, round(share * len(train)))
                train = train.take(train.time >= np.partition(train.time, first)[first])
        if days:
            if train.time is None or train.unit not in PER_SECOND:
                raise UsageError("the log has no dates", where="popularity, days", expected="days = 0")
            since = int(train.time.max(initial=0)) - round(days * SECONDS_PER_DAY * PER_SECOND[train.unit])
            train = train.take(train.time > since)
        self.counts = np.bincount(train.pairs.items, minlength=len(train.items)).astype(np.float64)

    def score(self, users: Ints, items: Ints) -> Matrix:
        return np.broadcast_to(self.counts[items], (users.size, items.size))


@RECOMMENDERS.register("random")
class RandomOrder(Recommender):
    """Random order for each user, determined by the seed and the ids."""

    description = "random order, determined by the seed and the ids of user and item"
    params: ClassVar = {"seed": Param(0, "random seed", min=0, max=2**63 - 1)}
    of_users: Keys
    of_items: Keys

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        seed = int(self.settings["seed"])
        self.of_users, self.of_items = query_keys(train.users, seed), query_keys(train.items, seed)

    def score(self, users: Ints, items: Ints) -> Matrix:
        words = pair_words(self.of_users[users], self.of_items[items])
        return (words >> np.uint64(11)).astype(np.float64) / 2.0**53
