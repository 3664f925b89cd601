"""An answer → ids and scores, best first."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real
from sys import float_info
from typing import Any

from rankjury.errors import DataError
from rankjury.retrieval.engines.endpoint.client import shortened

_LISTED = 10
_LARGEST = float_info.max
"""JSON has integers that no float can hold."""


@dataclass(frozen=True)
class Hits:
    """What was found; without scores the order counts."""

    ids: list[str]
    scores: list[float] | None


@dataclass(frozen=True)
class Reading:
    """Where things are in an answer: paths of keys and places, with a dot between (``hits.hits``, ``ids.0``)."""

    results: str
    """To the list; empty: the answer itself is the list."""
    id: str
    score: str
    """Empty: the order counts. With a minus before it the lower is the better, as of distances."""
    where: str
    clean: Callable[[str], str] = shortened
    """Cuts what is repeated of an answer, and takes out secrets."""

    def hits(self, answer: Any) -> Hits:
        """A result is an object, a pair of an id and a score, or an id."""
        found = self._listed(answer)
        pairs = [self._read(result) for result in found]
        ids = [name for name, _ in pairs]
        scores = [score for _, score in pairs if score is not None]
        if scores and len(scores) < len(ids):
            raise DataError("some results have a score and others have none", where=self.where)
        rises = next((place for place in range(1, len(scores)) if scores[place] > scores[place - 1]), None)
        if rises is not None:
            raise DataError(
                f"the score of result {rises + 1} is better than that of the one before it",
                where=self.where,
                expected="the best first",
                hint='Distances are named with a minus: score = "-distance". score = "" goes by the order alone.',
            )
        return Hits(ids, scores or None)

    def _listed(self, answer: Any) -> Sequence[Any]:
        found = answer if _is_list(answer) and not self.results[:1].isdecimal() else self._dug(answer, self.results)
        if not _is_list(found):
            raise DataError(f"found {_kind(found)} at results = {self.results!r}", where=self.where, expected="a list")
        return list(found)

    def _read(self, result: Any) -> tuple[str, float | None]:
        if isinstance(result, Mapping):
            score = self._number(self._dug(result, self.score.removeprefix("-"))) if self.score else None
            return self._name(self._dug(result, self.id)), score
        if _is_list(result):
            pair = list(result)
            if len(pair) != 2:
                raise DataError(f"found a result of {len(pair)} parts", where=self.where, expected="an id and a score")
            return self._name(pair[0]), self._number(pair[1])
        return self._name(result), None

    def _dug(self, value: Any, path: str) -> Any:
        """What is at a path."""
        for part in path.split(".") if path else ():
            if isinstance(value, Mapping) and part in value:
                value = value[part]
            elif isinstance(value, list | tuple) and part.isdecimal() and int(part) < len(value):
                value = value[int(part)]
            else:
                there = ", ".join(sorted(map(str, value))[:_LISTED]) if isinstance(value, Mapping) else _kind(value)
                raise DataError(f"found no {part!r} of the path {path!r}", where=self.where,
                                expected=f"one of what is there: {self.clean(there) or 'nothing'}")  # fmt: skip
        return value

    def _name(self, value: Any) -> str:
        if isinstance(value, str):
            return str(value)
        if not isinstance(value, bool) and isinstance(value, Integral):
            return str(int(value))
        raise DataError(f"found {_kind(value)} as an id", where=self.where, expected="a text or a whole number")

    def _number(self, value: Any) -> float:
        if not isinstance(value, bool) and isinstance(value, Real) and _is_finite(value):
            return -float(value) if self.score.startswith("-") else float(value)
        raise DataError(f"found {_kind(value)} as a score", where=self.where, expected="a finite number")


def _is_finite(value: Any) -> bool:
    return abs(value) <= _LARGEST if isinstance(value, int) else isfinite(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return f"{value:g}"
    return {dict: "an object", list: "a list", str: "a text", int: "a number"}.get(type(value), type(value).__name__)
