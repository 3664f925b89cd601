"""Splits per user: the last rows of each user are held out, at a different time for each user."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rankjury.core.params import Param
from rankjury.core.text import plural
from rankjury.core.types import Bools, Ints
from rankjury.errors import DataError, UsageError
from rankjury.recsys.data.log import Log, user_time_keys
from rankjury.recsys.split import FRACTIONS, exact_fraction, read_fractions, rows_of
from rankjury.recsys.splitting import SplitResult, split_kind
from rankjury.recsys.splitting.random import leak_note, row_hashes
from rankjury.stats.resampling import query_keys


@split_kind(
    "leave-last",
    "each user's last rows are test, the rows before them validation",
    {
        "n": Param(1, "test rows per user", min=1),
        "validation": Param(-1, "validation rows per user, before the test rows; -1: the same number, 0: none", min=-1),
    },
)
def leave_last(log: Log, settings: Mapping[str, Any]) -> SplitResult:
    """Hold out a number of rows per user; users with too few rows stay in training."""
    test, validation = settings["n"], settings["validation"]
    validation = test if validation == -1 else validation
    rows = log.per_user
    enough = rows > test + validation
    before_test = np.where(enough, rows - test, rows)
    before_validation = np.where(enough, before_test - validation, rows)
    record = {"validation": validation, "users_in_train_only": int(((rows > 0) & ~enough).sum())}
    return _split_users(log, before_validation, before_test, has_validation=validation > 0, record=record)


@split_kind("user-fraction", "each user's last rows by share: validation, then test", {"fractions": FRACTIONS})
def user_fraction(log: Log, settings: Mapping[str, Any]) -> SplitResult:
    """Hold out the number of rows nearest to the share; each user keeps at least one row for training."""
    fractions = read_fractions(settings["fractions"])
    rows = log.per_user
    before_validation = np.clip(rows_of(fractions[0], rows), np.minimum(rows, 1), None)
    before_test = np.maximum(rows_of(fractions[0] + fractions[1], rows), before_validation)
    record = {"fractions": [*map(float, fractions)], "users_in_train_only": _train_only(rows, before_validation)}
    return _split_users(log, before_validation, before_test, has_validation=bool(fractions[1]), record=record)


@split_kind(
    "users",
    "folds of users: the last share of rows of one fold's users is test, all other rows are training",
    {
        "folds": Param(5, "number of folds of users", min=2, max=1000),
        "fold": Param(1, "number of the fold, from 1", min=1),
        "fraction": Param(0.2, "test share of these users' rows", min=1e-6, max=0.999999),
        "validation": Param(0.0, "validation share of their rows, before the test rows", min=0, max=0.999999),
        "seed": Param(0, "seed for the assignment of users to folds", max=2**63 - 1),
    },
    folds_param="folds",
    fold_param="fold",
)
def user_folds(log: Log, settings: Mapping[str, Any]) -> SplitResult:
    """Hold out rows of one fold's users; folds are of equal size, determined by the seed and the user ids."""
    test, validation = exact_fraction(settings["fraction"]), exact_fraction(settings["validation"])
    if test + validation >= 1:
        raise UsageError("fraction and validation leave nothing to train on", expected="a sum below 1")
    rows, folds = log.per_user, settings["folds"]
    users = np.flatnonzero(rows)
    if folds > users.size:
        found = f"{folds} folds of {plural(users.size, 'user', 'users')}"
        raise DataError(found, where=log.source, expected="no more folds than users")
    fold = np.full(len(log.users), -1, dtype=np.int64)  # users without rows are in none
    order = np.argsort(query_keys(log.users.gather(users), settings["seed"]), kind="stable")
    fold[users[order]] = np.arange(users.size) % folds
    chosen = fold == settings["fold"] - 1
    before_validation = np.clip(rows_of(1 - test - validation, rows), np.minimum(rows, 1), None)
    before_test = np.where(chosen, np.maximum(rows_of(1 - test, rows), before_validation), rows)
    before_validation = np.where(chosen, before_validation, rows)
    record = {
        "users_in_fold": int((chosen & (rows > 0)).sum()),
        "users_in_train_only": _train_only(rows[chosen], before_validation[chosen]),
    }
    return _split_users(log, before_validation, before_test, has_validation=validation > 0, record=record)


def _train_only(rows: Ints, before: Ints) -> int:
    """Return the number of users with too few rows to hold any out."""
    return int(((rows > 0) & (before == rows)).sum())


def _split_users(
    log: Log, before_validation: Ints, before_test: Ints, *, has_validation: bool, record: Mapping[str, Any]
) -> SplitResult:
    """Split by the number of each user's rows before validation and before test."""
    assert log.time is not None
    starts = np.concatenate(([0], np.cumsum(log.per_user)))
    order = _order_by_user_and_time(log, log.time)
    ordered = np.zeros(len(log), dtype=np.int8)
    within = np.arange(len(log), dtype=np.int32) - np.repeat(starts[:-1].astype(np.int32), log.per_user)
    tied = np.zeros(len(log.users), dtype=bool)
    for cut in (before_validation, before_test):
        ordered += within >= np.repeat(cut.astype(np.int32), log.per_user)
        inside = np.flatnonzero((cut > 0) & (cut < log.per_user))
        at = starts[inside] + cut[inside]
        tied[inside] |= log.time[order[at]] == log.time[order[at - 1]]
    codes = np.empty_like(ordered)
    codes[order] = ordered
    leaks = [leak_note(log, codes, "each user is split at another time", "others did after the tested interactions")]
    if tied.any():
        users = plural(int(tied.sum()), "user was", "users were")
        leaks.append(f"{users} split between rows of equal time, so that the held-out row is random")
    return SplitResult(codes, leaks=tuple(filter(None, leaks)), has_validation=has_validation, record=record)


def _order_by_user_and_time(log: Log, time: Ints) -> Ints:
    """Return the rows by user and time; ties by a hash of user id and item id, then by value.

    In the order of ids, the same items would be the last of every user, and missing in training.
    """
    key, _, _ = user_time_keys(log, time)
    order = np.argsort(key)
    key = key[order]
    again: Bools = key[1:] == key[:-1]
    tied = np.flatnonzero(np.append(again, False) | np.append(False, again))
    rows = order[tied]
    if rows.size:
        order[tied] = rows[np.lexsort((log.value[rows], log.item[rows], row_hashes(log, 0)(rows), key[tied]))]
    return order
