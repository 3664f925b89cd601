"""A log split into what models learn from and what they are evaluated on; each way says what it leaks.

A way of splitting is a function ``(log, settings) → Parted``, registered with what can be set of it. No way looks at
the order of rows: the same interactions in another order are parted alike.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from numbers import Real
from typing import Any

from rankjury.core.params import Param, Setting, settled
from rankjury.core.registry import Registry
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UsageError, shorten
from rankjury.recsys.data.log import Log
from rankjury.recsys.data.read import read_log
from rankjury.recsys.split import WINDOWS, Split, WindowCodes


@dataclass(frozen=True)
class SplitResult:
    """What a way of splitting found."""

    part: WindowCodes
    cutoffs: Mapping[str, int] = field(default_factory=dict)
    leaks: tuple[str, ...] = ()
    validation: bool = True
    """Whether a validation window was asked for."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """What goes into the record of how it was made, in place of settings of the same name or beside them."""


@dataclass(frozen=True)
class SplitKind:
    """A way of splitting."""

    part: Callable[[Log, Mapping[str, Any]], SplitResult]
    about: str
    params: Mapping[str, Param]
    timed: bool = True
    """Whether it needs to know when things happened."""
    number_of: str | None = None
    """The setting that says how many splits there are, where there are several …"""
    one_of: str | None = None
    """… and the one that says which of them is meant, from 1 on."""


SPLITS: Registry[SplitKind] = Registry("kind of split", home="rankjury.recsys.splitting", group="rankjury.splits")


def split_kind(
    name: str,
    about: str,
    params: Mapping[str, Param],
    *,
    timed: bool = True,
    number_of: str | None = None,
    one_of: str | None = None,
) -> Callable[[Callable[[Log, Mapping[str, Any]], SplitResult]], Callable[[Log, Mapping[str, Any]], SplitResult]]:
    """Register a way of splitting."""

    def register(
        part: Callable[[Log, Mapping[str, Any]], SplitResult],
    ) -> Callable[[Log, Mapping[str, Any]], SplitResult]:
        SPLITS.add(name, SplitKind(part, about, params, timed, number_of, one_of))
        return part

    return register


@check_arguments
def split_log(log: Any, kind: str = "temporal", **options: object) -> Split:
    """Split a log: ``temporal`` (by time, 80/10/10), or another of ``SPLITS`` with its options.

    ``log`` is a Log, a path (a file, or a MovieLens folder), or a Polars or pandas frame.
    """
    log = log if isinstance(log, Log) else read_log(log)
    found = SPLITS.get(kind)
    settings = _settings(found, kind, options)
    if not len(log):
        raise DataError("the log has no rows", where=log.source, expected="interactions to split")
    if found.timed and log.time is None:
        without = [one for one in SPLITS.names() if not SPLITS.get(one).timed]
        raise DataError(
            "the log has no times",
            where=log.source,
            expected=f"a column of times for a {kind} split",
            hint=f"Works without: {', '.join(without)}.",
        )
    if found.one_of and found.number_of:
        place, number = int(settings[found.one_of]), int(settings[found.number_of])
        if place > number:
            expected = f"1 to {number}, as there are {number} {found.number_of}"
            raise UsageError(f"{found.one_of} is {place}", expected=expected)
    parted = found.part(log, settings)
    split = Split(log, parted.part, {"kind": kind, **settings, **parted.told}, parted.cutoffs, parted.leaks)
    wanted = WINDOWS if parted.validation else ("train", "test")
    empty = [name for name in wanted if not split.size(name)]
    if empty:
        sizes = ", ".join(f"{name} {split.size(name):,}" for name in WINDOWS)
        raise DataError(
            f"no rows for {' and '.join(empty)} in a {kind} split ({sizes} of {len(log):,} rows)",
            where=log.source,
            expected=f"rows in {', '.join(wanted[:-1])} and {wanted[-1]}",
            hint="Choose other shares or dates; rows of one time are never parted by time.",
        )
    return split


def split_folds(log: Log, kind: str = "users", **options: object) -> list[Split]:
    """All splits of a kind that makes several: the folds of ``users``, the windows of ``rolling``."""
    number, which = number_of_folds(kind, **options), fold_option(kind)
    if which is None:
        several = [name for name in SPLITS.names() if SPLITS.get(name).one_of]
        raise UsageError(f"a {kind} split has no folds", expected=" or ".join(several))
    if options.get(which) is not None:
        raise UsageError(f"{which} was given, where all of them are made", hint="Leave it away.")
    return [split_log(log, kind, **{**options, which: place + 1}) for place in range(number)]


def number_of_folds(kind: str, **options: object) -> int:
    """How many splits a kind makes with these options."""
    found = SPLITS.get(kind)
    return int(_settings(found, kind, options)[found.number_of]) if found.number_of else 1


def fold_option(kind: str) -> str | None:
    """Which option says which of several splits is meant; None where there is but one."""
    return SPLITS.get(kind).one_of


def check_options(kind: str, options: Mapping[str, object]) -> None:
    """Refuse a kind that is not known, and options that it does not have, before a log is read."""
    _settings(SPLITS.get(kind), kind, options)


def _settings(kind: SplitKind, name: str, options: Mapping[str, object]) -> dict[str, Setting]:
    given = {key: _plain(value, kind.params.get(key)) for key, value in options.items() if value is not None}
    return settled(kind.params, given, f"option of the {name} split:")


def _plain(value: object, param: Param | None) -> Any:
    """Fractions as 0.8/0.1/0.1, dates and numbers as texts, where a text is expected."""
    if param is None or not isinstance(param.default, str) or isinstance(value, str | bool):
        return value
    if isinstance(value, Sequence):
        return "/".join(str(one) for one in value)
    if isinstance(value, date):
        return value.isoformat()
    return shorten(value) if isinstance(value, Real) else value
