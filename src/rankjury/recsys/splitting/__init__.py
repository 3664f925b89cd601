"""Kinds of splits: ways to divide a log into training, validation and test windows.

A kind is a function ``(log, settings) → SplitResult``, registered with its parameters. Results do not depend on the
order of rows. Each result describes its leakage.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from numbers import Real
from typing import Any

from rankjury.core.params import Param, Setting, resolve_params
from rankjury.core.registry import Registry
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UsageError, shorten
from rankjury.recsys.data.log import Log
from rankjury.recsys.data.read import read_log
from rankjury.recsys.split import WINDOWS, Split, WindowCodes


@dataclass(frozen=True)
class SplitResult:
    """Windows assigned by a kind of split."""

    window_codes: WindowCodes
    cutoffs: Mapping[str, int] = field(default_factory=dict)
    leaks: tuple[str, ...] = ()
    has_validation: bool = True
    """Whether the settings request a validation window."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """Entries for the record of the split; they replace settings of the same name."""


SplitFunction = Callable[[Log, Mapping[str, Any]], SplitResult]


@dataclass(frozen=True)
class SplitKind:
    """Way to split a log: function, description and parameters."""

    function: SplitFunction
    description: str
    params: Mapping[str, Param]
    timed: bool = True
    """Whether it needs the times of rows."""
    folds_param: str | None = None
    """Parameter that sets the number of splits, for kinds that create several …"""
    fold_param: str | None = None
    """… and the parameter that selects one of them, from 1 on."""


SPLITS: Registry[SplitKind] = Registry("kind of split", home="rankjury.recsys.splitting", group="rankjury.splits")


def split_kind(
    name: str, description: str, params: Mapping[str, Param], **options: Any
) -> Callable[[SplitFunction], SplitFunction]:
    """Register a function as a kind of split; ``options`` are further fields of SplitKind."""

    def register(function: SplitFunction) -> SplitFunction:
        SPLITS.add(name, SplitKind(function, description, params, **options))
        return function

    return register


@check_arguments
def split_log(log: Any, kind: str = "temporal", **options: object) -> Split:
    """Split a log into train, validation and test.

    Args:
        log: A Log, a path (a file, or a MovieLens folder), or a Polars or pandas frame.
        kind: ``temporal`` (by time, 80/10/10), or another kind that ``rankjury split --help`` lists.
        options: Parameters of the kind, such as ``fractions`` or ``seed``.

    Returns:
        The split; ``split.window("train")`` is a Log, and ``split.leaks`` warns of what it leaks.

    Raises:
        UsageError: The kind or an option is not known, or has a value that is not possible.
        DataError: The log cannot be read, lacks times that the kind needs, or leaves a window empty.

    Example:
        >>> rankjury.split_log("ratings.csv", "leave-last", n=1).window("train")
    """
    log = log if isinstance(log, Log) else read_log(log)
    chosen = SPLITS.get(kind)
    settings = check_options(kind, options)
    if not len(log):
        raise DataError("the log has no rows", where=log.source, expected="interactions to split")
    if chosen.timed and log.time is None:
        untimed = [name for name in SPLITS.names() if not SPLITS.get(name).timed]
        expected = f"a column of times for a {kind} split"
        hint = f"Kinds without times: {', '.join(untimed)}. A time column of another name: "
        of_plan = f"{hint}time = NAME under [gold]."
        hint += "--time NAME, in Python rankjury.read_log(log, time=NAME)."
        raise DataError("the log has no times", where=log.source, expected=expected, hint=hint, plan_hint=of_plan)
    if chosen.fold_param and chosen.folds_param:
        fold, folds = int(settings[chosen.fold_param]), int(settings[chosen.folds_param])
        if fold > folds:
            expected = f"1 to {folds}, as there are {folds} {chosen.folds_param}"
            raise UsageError(f"{chosen.fold_param} is {fold}", expected=expected)
    result = chosen.function(log, settings)
    record = {"kind": kind, **settings, **result.record}
    split = Split(log, result.window_codes, record, result.cutoffs, result.leaks)
    wanted = WINDOWS if result.has_validation else ("train", "test")
    empty = [name for name in wanted if not split.size(name)]
    if empty:
        raise DataError(
            f"no rows for {' and '.join(empty)} in a {kind} split ({split.sizes_text()} of {len(log):,} rows)",
            where=log.source,
            expected=f"rows in {', '.join(wanted[:-1])} and {wanted[-1]}",
            hint="Choose other shares or dates; a split by time keeps rows with equal times together.",
        )
    return split


def split_folds(log: Log, kind: str = "users", **options: object) -> list[Split]:
    """Return all splits of a kind that creates several: the folds of ``users``, the windows of ``rolling``."""
    fold_param = SPLITS.get(kind).fold_param
    if fold_param is None:
        several = [name for name in SPLITS.names() if SPLITS.get(name).fold_param]
        raise UsageError(f"a {kind} split has no folds", expected=" or ".join(several))
    if options.get(fold_param) is not None:
        raise UsageError(f"found {fold_param}, but all folds are created", hint=f"Omit {fold_param}.")
    folds = range(1, number_of_folds(kind, **options) + 1)
    return [split_log(log, kind, **{**options, fold_param: fold}) for fold in folds]


def number_of_folds(kind: str, **options: object) -> int:
    """Return how many splits a kind creates with these options."""
    settings, folds_param = check_options(kind, options), SPLITS.get(kind).folds_param
    return int(settings[folds_param]) if folds_param else 1


def check_options(kind: str, options: Mapping[str, object]) -> dict[str, Setting]:
    """Return all settings of a kind; raise an error if the kind or an option is unknown or invalid."""
    params = SPLITS.get(kind).params
    given = {name: _as_setting(value, params.get(name)) for name, value in options.items() if value is not None}
    return resolve_params(params, given, f"option of the {kind} split:")


def _as_setting(value: object, param: Param | None) -> Any:
    """Return fractions as 0.8/0.1/0.1, and dates and numbers as text, if the parameter is text."""
    if param is None or not isinstance(param.default, str) or isinstance(value, str | bool):
        return value
    if isinstance(value, Sequence):
        return "/".join(str(share) for share in value)
    if isinstance(value, date):
        return value.isoformat()
    return shorten(value) if isinstance(value, Real) else value
