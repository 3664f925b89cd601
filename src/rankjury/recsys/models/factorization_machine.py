"""Factorization machines (myFM): users, items and their attributes in one model.

In every posterior sample, the score of a pair is the sum of a user term, an item term, and the product of a user vector
and an item vector. So the mean over samples is an inner product too, of the concatenated vectors of all samples.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from rankjury.core.params import Param
from rankjury.core.progress import Progress
from rankjury.core.types import Floats, Ints, Matrix
from rankjury.errors import UnknownName
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log
from rankjury.recsys.models import RECOMMENDERS
from rankjury.recsys.models.base import TrainedFactorModel, TrainingMatrix


@dataclass(frozen=True, eq=False)
class _Side:
    """Features of users, or of items: one indicator each, and their attributes."""

    rows: Any
    """One row per user or item of training."""
    widths: tuple[int, ...]
    cold: Ints
    """Codes of users or items that are not in training but have some of its attributes."""
    of_cold: Any
    """Their features: a one in place of the indicator, then their attributes."""


@RECOMMENDERS.register("fm")
class FactorizationMachine(TrainedFactorModel):
    """Bayesian regression with factors, by Gibbs sampling (Rendle 2012; Freudenthaler et al. 2011)."""

    name = "fm"
    description = (
        "factorization machine over users, items and their attributes (myFM), of interactions against random "
        "negatives, or of ratings, which predicts ratings and can be worse than random; users without training rows "
        "are scored by their attributes"
    )
    extra = "recsys"
    libraries = ("myfm", "scipy")
    params: ClassVar = {
        "values": Param("implicit", "learned values: interactions or ratings", choices=("implicit", "ratings")),
        "rank": Param(8, "number of factors", min=1),
        "iterations": Param(50, "sampling iterations", min=2),
        "samples": Param(20, "number of last iterations over which scores are averaged", min=1),
        "negatives": Param(5, "for implicit: random negative items per interaction", min=1),
        "attributes": Param("all", "attributes of items and users: all, none, or comma-separated names"),
        "seed": Param(0, "random seed", min=0, max=2**31 - 1),
    }

    def learn(self, train: Log, features: SideFeatures, progress: Progress) -> None:
        users, items = self.known.rows, self.known.columns.astype(np.int64)
        if self.settings["values"] == "ratings":
            target = self.ratings(train)
        else:
            drawn = _drawn(self.known, int(self.settings["negatives"]), int(self.settings["seed"]))
            target = np.concatenate((np.ones(users.size), np.zeros(drawn[0].size)))
            users, items = np.concatenate((users, drawn[0])), np.concatenate((items, drawn[1]))
        wanted = _wanted(str(self.settings["attributes"]), features)
        of_users = _side(self.known.users, features.users, wanted)
        of_items = _side(self.known.items, features.items, wanted)
        constants, weights, factors = self._sample((of_users, of_items), users, items, target, progress)
        n = of_users.rows.shape[1]
        user_vectors, user_terms = _vectors_and_terms(of_users.rows, weights[:, :n], factors[:, :n])
        item_vectors, item_terms = _vectors_and_terms(of_items.rows, weights[:, n:], factors[:, n:])
        user_terms += constants.mean()
        self.set_factors(
            np.column_stack((user_vectors, user_terms, np.ones(len(user_vectors)))),
            np.column_stack((item_vectors, np.ones(len(item_vectors)), item_terms)),
        )
        # Users missing in training are scored by their attributes. Their weights are the mean of all users' weights,
        # which is the expectation of the model's prior.
        n_known = of_users.widths[0]
        weights = np.column_stack((weights[:, :n_known].mean(axis=1), weights[:, n_known:n]))
        factors = np.concatenate((factors[:, :n_known].mean(axis=1, keepdims=True), factors[:, n_known:n]), axis=1)
        vectors, terms = _vectors_and_terms(of_users.of_cold, weights, factors)
        cold = np.column_stack((vectors, terms + constants.mean(), np.ones(len(vectors))))
        self.of_users[of_users.cold] = cold

    def _sample(
        self, sides: tuple[_Side, _Side], users: Ints, items: Ints, target: Floats, progress: Progress
    ) -> tuple[Floats, Floats, Floats]:
        """Return samples of the posterior: constants, weights, factors."""
        import myfm

        iterations = int(self.settings["iterations"])
        model = myfm.MyFMGibbsRegressor(int(self.settings["rank"]), random_seed=int(self.settings["seed"]))
        places = (users.tolist(), items.tolist())

        def report(done: int, *_: Any) -> tuple[bool, None]:
            progress.update("Fitting", done + 1, iterations)
            return False, None  # True would stop it

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
    tables = [table[:, table[codes].any(axis=0)] for table in tables]  # others would change the samples
    rows = hstack(
        [identity(codes.size), *(csr_matrix(table[codes]) for table in tables)], format="csr", dtype=np.float64
    )
    cold = np.empty(0, dtype=np.int64)  # other codes with one of the attributes
    if tables:
        has_attributes = np.any([table.any(axis=1) for table in tables], axis=0)
        has_attributes[codes] = False
        cold = np.flatnonzero(has_attributes)
    of_cold = csr_matrix(np.hstack([np.ones((cold.size, 1)), *(table[cold] for table in tables)]), dtype=np.float64)
    return _Side(rows, (codes.size, *(table.shape[1] for table in tables)), cold, of_cold)


def _drawn(known: TrainingMatrix, n: int, seed: int) -> tuple[Ints, Ints]:
    """Return n random items for each pair, except those of the user."""
    users = np.repeat(known.rows, n)
    items = np.random.default_rng(seed).integers(0, known.shape[1], users.size)
    free = ~np.isin(users * known.shape[1] + items, known.rows * known.shape[1] + known.columns)
    return users[free], items[free]


def _vectors_and_terms(rows: Any, weights: Floats, factors: Floats) -> tuple[Floats, Floats]:
    """Return the concatenated vectors of all samples, divided by the root of their number, and the linear terms."""
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
