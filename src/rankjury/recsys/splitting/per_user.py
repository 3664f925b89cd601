"""Each user's last rows held out, at a time of their own."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rankjury.core.params import Param
from rankjury.core.text import plural
from rankjury.core.types import Bools, Ints
from rankjury.errors import DataError, UsageError
from rankjury.recsys.data.log import Log
from rankjury.recsys.split import FRACTIONS, WindowCodes, exact_fraction, fractions_record, read_fractions, rows_of
from rankjury.recsys.splitting import SplitResult, split_kind
from rankjury.recsys.splitting.random import leak_note, row_hashes
from rankjury.recsys.splitting.temporal import times_of
from rankjury.stats.resampling import keys_of

_SAME = -1
"""As many for validation as for test."""


@split_kind(
    "leave-last",
    "each user's last rows test, those before them validate",
    {
        "n": Param(1, "how many of each user's rows test", min=1),
        "validation": Param(_SAME, "how many of those before validate; -1: as many, 0: none", min=_SAME),
    },
)
def leave_last(log: Log, settings: Mapping[str, Any]) -> SplitResult:
    """Users with too few rows to train on one stay in train."""
    test, validation = settings["n"], settings["validation"]
    validation = test if validation == _SAME else validation
    rows = log.per_user
    enough = rows > test + validation
    before_test = np.where(enough, rows - test, rows)
    before_validation = np.where(enough, before_test - validation, rows)
    told = {"validation": validation, "users_in_train_only": int(((rows > 0) & ~enough).sum())}
    return _parted(log, before_validation, before_test, validation=validation > 0, told=told)


@split_kind("user-fraction", "each user's last share of rows tests, that before it validates", {"fractions": FRACTIONS})
def user_fraction(log: Log, settings: Mapping[str, Any]) -> SplitResult:
    """The number of rows nearest to the share; everybody trains on one row at least."""
    fractions = read_fractions(settings["fractions"])
    rows = log.per_user
    before_validation = np.clip(rows_of(fractions[0], rows), np.minimum(rows, 1), None)
    before_test = np.maximum(rows_of(fractions[0] + fractions[1], rows), before_validation)
    told = fractions_record(fractions) | {"users_in_train_only": _train_only(rows, before_validation)}
    return _parted(log, before_validation, before_test, validation=bool(fractions[1]), told=told)


@split_kind(
    "users",
    "folds of users: of one fold's users the last share of rows tests, everybody else trains",
    {
        "folds": Param(5, "how many folds of users there are", min=2, max=1000),
        "fold": Param(1, "whose rows are held out, from 1 on", min=1),
        "fraction": Param(0.2, "the share of these users' rows that tests", min=1e-6, max=0.999999),
        "validation": Param(0.0, "the share of their rows before that validates", min=0, max=0.999999),
        "seed": Param(0, "which users are in which fold", max=2**63 - 1),
    },
    number_of="folds",
    one_of="fold",
)
def user_folds(log: Log, settings: Mapping[str, Any]) -> SplitResult:
    """Folds are as large as each other, by the seed and the users' ids."""
    test, validation = exact_fraction(settings["fraction"]), exact_fraction(settings["validation"])
    if test + validation >= 1:
        raise UsageError("fraction and validation leave nothing to train on", expected="a sum below 1")
    rows, folds = log.per_user, settings["folds"]
    there = np.flatnonzero(rows)
    if folds > there.size:
        found = f"{folds} folds of {plural(there.size, 'user', 'users')}"
        raise DataError(found, where=log.source, expected="no more folds than users")
    fold = np.full(len(log.users), -1, dtype=np.int64)  # users without rows are in none
    order = np.argsort(keys_of(log.users.gather(there), settings["seed"]), kind="stable")
    fold[there[order]] = np.arange(there.size) % folds
    chosen = fold == settings["fold"] - 1
    before_validation = np.clip(rows_of(1 - test - validation, rows), np.minimum(rows, 1), None)
    before_test = np.maximum(rows_of(1 - test, rows), before_validation)
    before_validation, before_test = (np.where(chosen, one, rows) for one in (before_validation, before_test))
    told = {"users_in_fold": int((chosen & (rows > 0)).sum())}
    told |= {"users_in_train_only": _train_only(rows[chosen], before_validation[chosen])}
    return _parted(log, before_validation, before_test, validation=validation > 0, told=told)


def _train_only(rows: Ints, before: Ints) -> int:
    """How many users have too few rows for any of them to be held out."""
    return int(((rows > 0) & (before == rows)).sum())


def _parted(
    log: Log, before_validation: Ints, before_test: Ints, *, validation: bool, told: Mapping[str, Any]
) -> SplitResult:
    """By how many of each user's rows come before validation and before test."""
    part, tied = _cut_users(log, before_validation, before_test)
    leaks = [
        leak_note(log, part, "each user is cut at a time of their own", "others did after what is tested"),
        f"{plural(tied, 'user was', 'users were')} cut between rows of one time, where chance decides what is held out"
        if tied
        else None,
    ]
    return SplitResult(part, leaks=tuple(filter(None, leaks)), validation=validation, told=told)


def _cut_users(log: Log, *before: Ints) -> tuple[WindowCodes, int]:
    """The window of each row, and how many users were cut between rows of one time."""
    starts = np.concatenate(([0], np.cumsum(log.per_user)))
    order = _by_user_and_time(log)
    part = np.zeros(len(log), dtype=np.int8)
    within = np.arange(len(log), dtype=np.int32) - np.repeat(starts[:-1].astype(np.int32), log.per_user)
    for cut in before:
        part += within >= np.repeat(cut.astype(np.int32), log.per_user)
    windows = np.empty_like(part)
    windows[order] = part
    time, tied = times_of(log), np.zeros(len(log.users), dtype=bool)
    for cut in before:
        inside = np.flatnonzero((cut > 0) & (cut < log.per_user))
        at = starts[inside] + cut[inside]
        tied[inside] |= time[order[at]] == time[order[at - 1]]
    return windows, int(tied.sum())


def _by_user_and_time(log: Log) -> Ints:
    """Rows by user and time; those of one time by chance, which hangs on the ids of user and item, then by value.

    By the ids themselves the same items would be the last of everybody, and training would lack them.
    """
    time = times_of(log)
    first, span = int(time.min()), int(time.max()) - int(time.min()) + 1
    if span * len(log.users) < 2**63:
        places = time - first
    else:
        distinct, places = np.unique(time, return_inverse=True)
        span = distinct.size
    key: Ints = log.user.astype(np.int64)  # one number for user and time, in the order of both
    key *= span
    key += places
    order = np.argsort(key)
    key = key[order]
    again: Bools = key[1:] == key[:-1]
    tied = np.flatnonzero(np.append(again, False) | np.append(False, again))
    rows = order[tied]
    if rows.size:
        order[tied] = rows[np.lexsort((log.value[rows], log.item[rows], row_hashes(log, 0)(rows), key[tied]))]
    return order
