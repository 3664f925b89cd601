"""Targets of a gate: limits such as ``ndcg@10 >= 0.85`` or ``recall@100 drop <= 0.005``, read from text or TOML."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from json import dumps
from math import isfinite
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from rankjury.core.validation import FiniteFloat, Record, check_arguments
from rankjury.errors import UnknownName, UsageError, parse_toml, shorten
from rankjury.io.source import Source

Outcome = Literal["pass", "fail", "unsure"]
Sign = Literal[">=", "<=", ">", "<"]
Direction = Literal["drop", "gain", "rise"]
_FAILED, _UNSURE = 4, 5
ABOUT_DRIFT = ("drift", "churn")
"""How the names of all values begin that compare with an earlier report."""

_SPELLING = re.compile(
    r"(?P<subject>\S.*?)(?<![=<>!])(?:\s+(?P<change>drop|gain|rise))?\s*(?P<sign>>=|<=|≥|≤|>|<)\s*(?P<limit>[^\s%]+)\s*(?P<percent>%)?"
)
_SIGNS = {"≥": ">=", "≤": "<="}
_WORDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_ROUNDING = 1e-12
_EXAMPLE = '"ndcg@10 >= 0.85", "recall@100 drop <= 0.005" or "latency_p95_ms <= 50"'


class Decision:
    """Base class of decisions by targets or rules: the outcome as properties and as an exit code."""

    if TYPE_CHECKING:

        @property
        def outcome(self) -> Outcome: ...

    @property
    def passed(self) -> bool:
        """Whether the outcome is ``pass``: also False where it is unsure."""
        return self.outcome == "pass"

    @property
    def failed(self) -> bool:
        """Whether the outcome is ``fail``."""
        return self.outcome == "fail"

    @property
    def unsure(self) -> bool:
        """Whether the outcome is ``unsure``: the value holds, but its interval crosses the limit."""
        return self.outcome == "unsure"

    def _exit_code(self, strict: bool) -> int:
        """Return the exit code of a command that decides: 4 for fail; 5 for unsure where ``strict``; else 0."""
        return _FAILED if self.failed else _UNSURE if self.unsure and strict else 0


@dataclass(frozen=True)
class Target(Record):
    """A limit on a measure, on its difference to the baseline, or on a recorded figure."""

    subject: str
    """The measure or figure, as spelled."""
    sign: Sign
    limit: FiniteFloat
    """As spelled; of a share, 0.02 for 2 %."""
    change: Direction | None = None
    """``drop``, ``gain`` or ``rise``: the limit is on the difference to the baseline. A rise may be good or bad."""
    share: bool = False
    """The limit is a share of the baseline's mean."""
    slice: str | None = None
    system: str | None = None
    name: str | None = None

    @property
    def relative(self) -> bool:
        return self.change is not None

    @property
    def demands_loss(self) -> bool:
        """Whether only a value that is worse, or not much better, satisfies it, where higher is better."""
        return (self.change, self.sign[0]) in (("drop", ">"), ("gain", "<"))

    @property
    def about_drift(self) -> bool:
        """Whether it limits the change since an earlier report, which concerns the baseline as any other system."""
        return self.subject.startswith(ABOUT_DRIFT)

    @check_arguments
    def holds(self, value: float) -> bool:
        """Return whether a value is within the limit; for a change, the value is system − baseline."""
        apart = (-value if self.change == "drop" else value) - self.limit
        apart = 0.0 if abs(apart) <= _ROUNDING else apart
        return {">=": apart >= 0, "<=": apart <= 0, ">": apart > 0, "<": apart < 0}[self.sign]

    @property
    def signed_limit(self) -> float:
        """The limit as a value has it: of a drop, which is a negative difference, negative."""
        return -self.limit if self.change == "drop" else self.limit

    @property
    def beyond(self) -> str:
        """Where a value is that does not hold: ``below 0.85``, ``above 50``, ``not more than 0.5``."""
        words = {">=": "below", "<=": "above", ">": "not more than", "<": "not less than"}
        return f"{words[self.sign]} {self.limit:g}".replace("-", "−")

    @property
    def wanted(self) -> str:
        """``at least 0.85``, ``drop at most 0.005``."""
        number = f"{self.limit * 100:g} %" if self.share else f"{self.limit:g}"
        text = f"{_WORDS[self.sign]} {number.replace('-', '−')}"
        return f"{self.change} {text}" if self.change else text

    @property
    def spelling(self) -> str:
        """The limit as it is written: ``recall@100 drop <= 0.005``, ``rr gain >= 2%``."""
        subject = f"{self.subject} {self.change}" if self.change else self.subject
        return f"{subject} {self.sign} " + (f"{self.limit * 100:.12g}%" if self.share else f"{self.limit:.12g}")

    @property
    def title(self) -> str:
        """What it is about: its name, or the measure and the slice."""
        return self.name or (f"{self.subject}, {self.slice}" if self.slice else self.subject)


@dataclass(frozen=True)
class Targets:
    """The content of a targets file."""

    targets: tuple[Target, ...]
    baseline: str | None = None
    slices: tuple[str, ...] = ()
    item_slices: tuple[str, ...] = ()

    @property
    def relative(self) -> bool:
        return any(target.relative for target in self.targets)


def read_targets(given: Iterable[Any]) -> Targets:
    """Return targets given in Python as one value.

    Args:
        given: Targets as texts or values, paths of files, or lists of these. A file names its baseline relative to
            itself.

    Raises:
        UsageError: A target cannot be read, or is of another type.
    """
    found = Targets(())
    for target in given:
        if isinstance(target, list | tuple | set):
            more = read_targets(target)
        elif isinstance(target, Target):
            more = Targets((target,))
        elif not isinstance(target, str | Path):
            is_report = type(target).__name__ == "Report"
            hint = "The report comes first: rankjury.gate(report, targets)." if is_report else None
            found_type = f"found a target of type {type(target).__name__}"
            raise UsageError(found_type, expected='text such as "ap >= 0.5"', hint=hint)
        elif isinstance(target, Path) or target.endswith(".toml"):
            more = parse_targets(Source.open(target).text(), str(target))
            beside = Path(target).parent / (more.baseline or "")
            more = replace(more, baseline=str(beside) if more.baseline and exists(beside) else more.baseline)
        else:
            more = Targets((parse_target(target),))
        found = Targets(
            (*found.targets, *more.targets),
            found.baseline or more.baseline,
            (*found.slices, *more.slices),
            (*found.item_slices, *more.item_slices),
        )
    return found


def parse_targets(text: str, where: str) -> Targets:
    """Read a targets file; a key that is not known is an error."""
    expected = 'targets = ["ndcg@10 >= 0.85"]; the command is rankjury gate TARGETS.toml GOLD RUN'
    content = parse_toml(text, where, fault=UsageError, expected=expected)
    _check_keys(content, ("target", "targets", "baseline", "slices", "item_slices"), where)
    texts = _texts(content.get("targets", []), "targets", where)
    found = [*(parse_target(text, None, where) for text in texts), *_long_form(content.get("target", []), where)]
    if not found:
        raise UsageError("found no target", where=where, expected='something like targets = ["ndcg@10 >= 0.85"]')
    baseline = content.get("baseline")
    if baseline is not None and not isinstance(baseline, str):
        raise UsageError(f"baseline is {shorten(baseline)}", where=where, expected="the name of a system or a file")
    slices, item_slices = (_texts(content.get(key, []), key, where) for key in ("slices", "item_slices"))
    return Targets(tuple(found), baseline, slices, item_slices)


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            raise UnknownName("key", key, known, where=where)


def _long_form(given: Any, where: str) -> Iterator[Target]:
    if not isinstance(given, list) or not all(isinstance(table, dict) for table in given):
        texts = [given] if isinstance(given, str) else given if isinstance(given, list) else []
        is_short = bool(texts) and all(isinstance(text, str) for text in texts)
        hint = f"Did you mean targets = {shorten(dumps(texts, ensure_ascii=False))}?" if is_short else None
        raise UsageError("target is not a list of tables", where=where, expected="[[target]] with require", hint=hint)
    for table in given:
        _check_keys(table, ("require", "slice", "system", "name"), f"{where}, [[target]]")
        for key, value in table.items():
            if not isinstance(value, str):
                raise UsageError(f"{key} is {shorten(value)}", where=f"{where}, [[target]]", expected="a text")
        if "require" not in table:
            raise UsageError(
                f"a target without require: {shorten(table)}", where=where, expected='require = "ndcg@10 >= 0.85"'
            )
        yield parse_target(table["require"], table, where)


def _texts(given: Any, key: str, where: str) -> tuple[str, ...]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"{key} is {shorten(given)}", where=where, expected="a text, or a list of texts")
    return tuple(texts)


def parse_target(text: str, table: Mapping[str, str] | None = None, where: str = "target") -> Target:
    """Read a target such as ``ndcg@10 >= 0.85``; ``table`` may give a slice, a system and a name."""
    match = _SPELLING.fullmatch(text.strip())
    try:
        limit = float(match["limit"]) if match else float("nan")
    except ValueError:
        limit = float("nan")
    if match is None or not isfinite(limit):
        of_slice = re.search(r"[<>]=?.* \S+=\S", text) is not None
        hint = 'A slice is named in a table [[target]]: require = "…" and slice = "lang=fr".' if of_slice else None
        found = f"cannot read the target {shorten(text)!r}"
        raise UsageError(found, where=where, expected=f"something like {_EXAMPLE}", hint=hint)
    sign = cast(Sign, _SIGNS.get(match["sign"], match["sign"]))
    percent = match["percent"] is not None
    chosen = {key: (table or {}).get(key) for key in ("slice", "system", "name")}
    change = cast(Direction | None, match["change"])
    return Target(
        match["subject"], sign, limit / 100 if percent else limit, change, percent and change is not None, **chosen
    )
