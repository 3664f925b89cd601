"""Factorization machines (myFM): users, items and their attributes in one model.

In every sample of the posterior, the score of a pair is the sum of a term of the user, a term of the item, and a
product of one vector each. So the mean over samples is an inner product too, of all samples' vectors side by side.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from rankjury.core.params import Param
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Bools, Floats, Ints, Matrix
from rankjury.errors import UnknownName
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log
from rankjury.recsys.models import RECOMMENDERS
from rankjury.recsys.models.base import FactorModel, TrainedFactorModel, TrainingMatrix, ratings_of, training_matrix


@dataclass(frozen=True, eq=False)
class _Side:
    """The features of users, or of items: an indicator each, and their attributes."""

    rows: Any
    """One row per user or item of training."""
    widths: tuple[int, ...]
    cold: Ints
    """The codes of those that training lacks and whose attributes it has."""
    of_cold: Any
    """Their features: a one in place of the indicator, then their attributes."""


@RECOMMENDERS.register("fm")
class FactorizationMachine(TrainedFactorModel):
    """Bayesian regression with factors, by Gibbs sampling (Rendle 2012; Freudenthaler et al. 2011)."""

    about = (
        "factorization machine over users, items and their attributes (myFM): of who took what against items drawn by "
        "chance, or of ratings, which predicts stars and can rank below random; users without training interactions "
        "are scored by their attributes"
    )
    extra = "recsys"
    libraries = ("myfm", "scipy")
    params: ClassVar = {
        "values": Param("implicit", "what is learned: who took what, or ratings", choices=("implicit", "ratings")),
        "rank": Param(8, "how many factors", min=1),
        "iterations": Param(50, "rounds of sampling", min=2),
        "samples": Param(20, "the last rounds, over which scores are averaged", min=1),
        "negatives": Param(5, "of implicit: items drawn for each that was taken", min=1),
        "attributes": Param("all", "of items and users: all, none, or names with commas between"),
        "seed": Param(0, "the seed", min=0, max=2**31 - 1),
    }

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        self.known = training_matrix(train)
        users, items, target = self._examples(train)
        wanted = _wanted(str(self.settings["attributes"]), features)
        sides = (
            _side(self.known.users, features.users, wanted),
            _side(self.known.items, features.items, wanted),
        )
        sampled = self._sampled(sides, users, items, target, progress)
        self.set_factors(*_factors(*sampled, sides))
        self.of_users[sides[0].cold] = _factors_of_cold(*sampled, sides[0])

    def knows(self, users: Ints) -> Bools:
        """Return which users are of training, or have attributes that users of training have."""
        return FactorModel.knows(self, users)

    def _examples(self, train: Log) -> tuple[Ints, Ints, Floats]:
        """Return the rows to learn from: user, item, and target."""
        users, items = self.known.rows, self.known.columns.astype(np.int64)
        if self.settings["values"] == "ratings":
            return users, items, ratings_of(self.known, train, "fm")
        drawn = _drawn(self.known, int(self.settings["negatives"]), int(self.settings["seed"]))
        target = np.concatenate((np.ones(users.size), np.zeros(drawn[0].size)))
        return np.concatenate((users, drawn[0])), np.concatenate((items, drawn[1])), target

    def _sampled(
        self, sides: tuple[_Side, _Side], users: Ints, items: Ints, target: Floats, progress: Progress
    ) -> tuple[Floats, Floats, Floats]:
        """Return samples of the posterior: constants, weights, factors."""
        import myfm

        iterations = int(self.settings["iterations"])
        model = myfm.MyFMGibbsRegressor(int(self.settings["rank"]), random_seed=int(self.settings["seed"]))
        places = (users.tolist(), items.tolist())

        def report(done: int, *_: Any) -> tuple[bool, None]:
            progress.update("Fitting", done + 1, iterations)
            return False, None  # which would stop it, were it True

        with _without_bar():
            model.fit(
                None,
                target,
                X_rel=[myfm.RelationBlock(place, side.rows) for place, side in zip(places, sides, strict=True)],
                n_iter=iterations,
                n_kept_samples=min(iterations, int(self.settings["samples"])),
                group_shapes=[*sides[0].widths, *sides[1].widths],
                callback=report,
            )
        self.model = model
        return model.w0_samples, model.w_samples, model.V_samples


def _wanted(attributes: str, features: SideFeatures) -> set[str]:
    known = {*features.items, *features.users}
    if attributes in ("all", "none"):
        return known if attributes == "all" else set()
    names = {name.strip() for name in attributes.split(",")}
    for name in sorted(names - known):
        raise UnknownName("attribute of items or users", name, {*known, "all", "none"})
    return names


def _side(codes: Ints, features: Mapping[str, Matrix], wanted: set[str]) -> _Side:
    from scipy.sparse import csr_matrix, hstack, identity

    tables = [features[name] for name in sorted(wanted & set(features))]
    tables = [table[:, table[codes].any(axis=0)] for table in tables]  # only the future's would move what is drawn
    rows = hstack(
        [identity(codes.size), *(csr_matrix(table[codes]) for table in tables)], format="csr", dtype=np.float64
    )
    cold = np.empty(0, dtype=np.int64)  # those that are not among the codes but have one of the attributes
    if tables:
        has_attributes = np.any([table.any(axis=1) for table in tables], axis=0)
        has_attributes[codes] = False
        cold = np.flatnonzero(has_attributes)
    of_cold = csr_matrix(np.hstack([np.ones((cold.size, 1)), *(table[cold] for table in tables)]), dtype=np.float64)
    return _Side(rows, (codes.size, *(table.shape[1] for table in tables)), cold, of_cold)


def _drawn(known: TrainingMatrix, n: int, seed: int) -> tuple[Ints, Ints]:
    """Return n random items for each pair, without those that the user has."""
    users = np.repeat(known.rows, n)
    items = np.random.default_rng(seed).integers(0, known.shape[1], users.size)
    width = known.shape[1]
    free = ~np.isin(users * width + items, known.rows * width + known.columns)
    return users[free], items[free]


def _factors(constants: Floats, weights: Floats, factors: Floats, sides: tuple[_Side, _Side]) -> tuple[Floats, Floats]:
    n = sides[0].rows.shape[1]
    users, of_users = _vectors_and_terms(sides[0].rows, weights[:, :n], factors[:, :n])
    items, of_items = _vectors_and_terms(sides[1].rows, weights[:, n:], factors[:, n:])
    of_users += constants.mean()
    return (
        np.column_stack((users, of_users, np.ones(len(users)))),
        np.column_stack((items, np.ones(len(items)), of_items)),
    )


def _factors_of_cold(constants: Floats, weights: Floats, factors: Floats, side: _Side) -> Floats:
    """Return the factors of users that training lacks, by their attributes.

    In place of their own weights they have the mean of all users', which is the expectation of the model's prior.
    """
    n, width = side.widths[0], side.rows.shape[1]
    weights = np.column_stack((weights[:, :n].mean(axis=1), weights[:, n:width]))
    factors = np.concatenate((factors[:, :n].mean(axis=1, keepdims=True), factors[:, n:width]), axis=1)
    users, of_users = _vectors_and_terms(side.of_cold, weights, factors)
    return np.column_stack((users, of_users + constants.mean(), np.ones(len(users))))


def _vectors_and_terms(rows: Any, weights: Floats, factors: Floats) -> tuple[Floats, Floats]:
    """Return all samples' vectors side by side, over the root of their number; and the linear terms."""
    squares = rows.multiply(rows).tocsr()
    vectors = [rows @ sample for sample in factors]
    terms = [
        rows @ linear + 0.5 * (vector**2 - squares @ sample**2).sum(axis=1)
        for linear, vector, sample in zip(weights, vectors, factors, strict=True)
    ]
    return np.hstack(vectors) / np.sqrt(len(vectors)), np.mean(terms, axis=0)


@contextmanager
def _without_bar() -> Iterator[None]:
    """Suppress the progress bar of myFM, which has no option for it."""
    from myfm import base

    bar = base.tqdm
    base.tqdm = partial(bar, disable=True)
    try:
        yield
    finally:
        base.tqdm = bar
