"""Parameter grid of a sweep: the product of the values of each parameter, in a fixed order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from json import dumps
from math import prod

from rankjury.core.params import Param, Params, Setting, resolve_params
from rankjury.errors import RankjuryError, UsageError
from rankjury.retrieval.engines.base import Engine

MAX_POINTS = 10_000
Values = Mapping[str, Sequence[Setting]]


@dataclass(frozen=True)
class SweepGrid:
    """Values of the build and search parameters; the grid is every combination of them."""

    build: Values
    search: Values

    def __len__(self) -> int:
        return self.number_of_builds * prod(map(len, self.search.values()))

    @property
    def number_of_builds(self) -> int:
        return prod(map(len, self.build.values()))

    def builds(self) -> Iterator[dict[str, Setting]]:
        """Yield the build settings in the given order; the last parameter changes fastest."""
        return _combined(self.build, {})

    def searches(self, known: Mapping[str, Param]) -> Iterator[dict[str, Setting]]:
        """Yield the search settings; ``monotonic_recall`` values ascend, so that cheap settings come first."""
        return _combined(self.search, known)

    def check(self, engine: type[Engine]) -> None:
        """Refuse unknown parameters, duplicate values, and more than ``MAX_POINTS`` settings."""
        for name, values in self.build.items():
            _check_values(f"build.{name}", name, values, engine.build_params)
        for name, values in self.search.items():
            _check_values(f"search.{name}", name, values, engine.search_params)
        if len(self) > MAX_POINTS:
            raise UsageError(f"the sweep has {len(self):,} settings", expected=f"{MAX_POINTS:,} or fewer")


def _combined(values: Values, known: Mapping[str, Param]) -> Iterator[dict[str, Setting]]:
    is_rising = (name in known and known[name].monotonic_recall for name in values)
    lists = (sorted(tried) if rises else tried for tried, rises in zip(values.values(), is_rising, strict=True))
    for combination in product(*lists):
        yield dict(zip(values, combination, strict=True))


def _check_values(where: str, name: str, values: Sequence[Setting], known: Mapping[str, Param]) -> None:
    if not values:
        raise UsageError("no value to try", where=where, expected="one or more")
    try:
        keys = [params_key({name: value}, known) for value in values]
    except RankjuryError as error:
        error.where = where
        raise
    for place, value in enumerate(values):
        if keys[place] in keys[:place]:
            raise UsageError(f"{value!r} is a duplicate", where=where, expected="each value once")


def params_key(params: Params, known: Mapping[str, Param]) -> str:
    """Return a canonical key: equal settings have equal keys, whatever their order; defaults may be omitted."""
    whole = resolve_params(known, params, "parameter")
    for name, value in whole.items():
        if isinstance(known[name].default, float):
            whole[name] = float(value)
    return dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def is_at_most(lower: Params, other: Params, known: Mapping[str, Param]) -> bool:
    """Return whether two settings differ only in ``monotonic_recall`` parameters, and the first is higher in none."""
    first, second = (resolve_params(known, params, "parameter") for params in (lower, other))
    return all(
        first[name] <= second[name] if param.monotonic_recall else first[name] == second[name]  # type: ignore[operator]
        for name, param in known.items()
    )


def format_params(params: Params) -> str:
    """Return ``m=16 ef_construction=64``, or "as usual" if there are no parameters."""

    def shown(value: Setting) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        return f"{value:g}" if isinstance(value, float) else str(value)

    return " ".join(f"{name}={shown(value)}" for name, value in params.items()) or "as usual"
