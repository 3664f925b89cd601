"""Search spaces of a model's settings: a grid, or random draws by a seed, the same on every machine; and grid edges."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, product
from math import ceil, exp, floor, inf, isfinite, log, prod
from typing import Literal

from rankjury.core.params import Param, Params, Setting, is_whole
from rankjury.errors import RankjuryError, UsageError
from rankjury.retrieval.bench.grid import params_key

SearchKind = Literal["grid", "random"]
MAX_TRIALS = 10_000
_DIGITS = 6
"""Significant digits of a drawn number: further digits differ between machines."""
_DRAWS_PER_TRIAL = 200
"""After so many draws of settings seen before, hardly any are left."""


@dataclass(frozen=True)
class ParamRange:
    """Numbers between two ends, which are included; ``log``: drawn evenly by their logarithm."""

    low: float
    high: float
    log: bool = False

    def at(self, share: float, *, whole: bool) -> Setting:
        """Return the number that has this share of the range below it."""
        if whole and not self.log:
            return int(self.low) + int(share * (int(self.high) - int(self.low) + 1))
        if self.log:
            number = exp(log(self.low) + share * (log(self.high) - log(self.low)))
        else:
            number = self.low + share * (self.high - self.low)
        within = min(max(float(f"{number:.{_DIGITS}g}"), self.low), self.high)
        return round(within) if whole else within


SearchSpace = Mapping[str, Sequence[Setting] | ParamRange]
"""Values to try, by parameter."""


def check_search_space(known: Mapping[str, Param], tried: SearchSpace, search: SearchKind) -> None:
    """Refuse unknown parameters, values that are not valid, and grids that are too large."""
    if not tried:
        raise UsageError("no parameter to try", where="params", expected="params = { factors = [16, 64] }")
    for name, values in tried.items():
        try:
            if isinstance(values, ParamRange):
                _check_range(known, name, values, search)
                whole = name in known and is_whole(known[name].default)
                values = [int(end) if whole else float(end) for end in (values.low, values.high)]
            elif not values:
                raise UsageError("no value to try", expected="one or more")
            for value in values:
                params_key({name: value}, known)
        except RankjuryError as error:
            error.where = f"params.{name}"
            raise
    size = _size(known, tried)
    if search == "grid" and size is not None and size > MAX_TRIALS:
        hint = 'search = "random" draws some of them.'
        expected = f"{MAX_TRIALS:,} or fewer"
        raise UsageError(f"the grid has {size:,} settings", where="params", expected=expected, hint=hint)


def _check_range(known: Mapping[str, Param], name: str, values: ParamRange, search: SearchKind) -> None:
    if search == "grid":
        raise UsageError("found a range", expected='a list of values, or search = "random"')
    found = f"the range is from {values.low:g} to {values.high:g}"
    if not (isfinite(values.low) and isfinite(values.high)):
        raise UsageError(found, expected="an end on both sides")
    if not values.low < values.high:
        raise UsageError(found, expected="low below high")
    if values.log and values.low <= 0:
        raise UsageError(f"the range begins at {values.low:g}", expected="low above 0, with log = true")
    if name in known and not _is_number(known[name]):
        raise UsageError("found a range", expected="a list of values: the parameter is not a number")
    is_integer = values.low == int(values.low) and values.high == int(values.high)
    if name in known and is_whole(known[name].default) and not is_integer:
        raise UsageError(found, expected="whole numbers")


def _is_number(param: Param) -> bool:
    return isinstance(param.default, int | float) and not isinstance(param.default, bool)


def list_settings(
    known: Mapping[str, Param],
    current: Params,
    tried: SearchSpace,
    *,
    search: SearchKind = "grid",
    trials: int = 20,
    seed: int = 0,
    simpler: Params | None = None,
) -> list[dict[str, Setting]]:
    """Return the settings in use, then those to compare with them; each once, whatever its spelling.

    A grid turns the last parameter fastest. ``trials`` are drawn by the seed alone: more of them begin with the same.
    ``simpler`` are settings that make the model a simpler one: they are tried with those in use and, in a grid, with
    all combinations of the other parameters, so that the best is never worse than the simpler model.
    """
    check_search_space(known, tried, search)
    if not 1 <= trials <= MAX_TRIALS:
        raise UsageError(f"found {trials:,} trials", expected=f"1 to {MAX_TRIALS:,}")
    size = _size(known, tried)
    if search == "grid" or (size is not None and size <= trials):
        each = [
            range(int(values.low), int(values.high) + 1) if isinstance(values, ParamRange) else values
            for values in tried.values()
        ]
        others: Iterator[dict[str, Setting]] = (dict(zip(tried, chosen, strict=True)) for chosen in product(*each))
    else:
        others = islice(_drawn(known, current, tried, trials, seed), trials)
    settings: dict[str, dict[str, Setting]] = {params_key(current, known): dict(current)}
    for values in others:
        whole = {**current, **values}
        settings.setdefault(params_key(whole, known), whole)
    for whole in list(settings.values())[: None if search == "grid" else 1]:
        simple = {**whole, **(simpler or {})}
        settings.setdefault(params_key(simple, known), simple)
    return list(settings.values())


@dataclass(frozen=True)
class GridEdge:
    """A numeric parameter whose best value is the smallest or the largest that was tried."""

    parameter: str
    value: float
    end: Literal["smallest", "largest"]
    beyond: Setting
    """The next value to try: a geometric step where the grid is geometric, else an arithmetic one."""


def grid_edges(known: Mapping[str, Param], current: Params, tried: SearchSpace, best: Params) -> list[GridEdge]:
    """Return the numeric parameters of a grid whose best value has none of the tried ones on one side of it.

    A value at the parameter's own limit is no edge, nor is one of a parameter of which only one value was tried.
    """
    edges = []
    for name, values in tried.items():
        param = known[name]
        if isinstance(values, ParamRange) or not _is_number(param):
            continue
        numbers = [float(value) for value in (*values, current.get(name, param.default))]
        grid = sorted({number for number in numbers if not (param.auto and number == 0)})
        value = float(best.get(name, param.default))
        if len(grid) < 2 or value not in (grid[0], grid[-1]):
            continue
        beyond = _beyond(grid if value == grid[-1] else grid[::-1], param)
        if beyond is not None:
            edges.append(GridEdge(name, value, "largest" if value == grid[-1] else "smallest", beyond))
    return edges


def widen_grid(tried: SearchSpace, edges: Sequence[GridEdge]) -> SearchSpace:
    """Return the grid with the next value of each parameter whose best value lies on its edge."""
    beyond = {edge.parameter: edge.beyond for edge in edges}
    return {
        name: [*values, beyond[name]] if name in beyond and not isinstance(values, ParamRange) else values
        for name, values in tried.items()
    }


def _beyond(grid: Sequence[float], param: Param) -> Setting | None:
    """Return the value after the last of these, which rise or fall, within the parameter's limits; None at a limit."""
    step, last = grid[-1] - grid[-2], grid[-1]
    following = last * last / grid[-2] if _is_geometric(grid) else last + step
    if param.auto and following <= 0:
        return None  # 0 stands for something else
    within = max(following, -inf if param.min is None else param.min)
    within = float(f"{min(within, inf if param.max is None else param.max):.{_DIGITS}g}")
    if is_whole(param.default):
        within = ceil(within) if step > 0 else floor(within)
    return None if (within - last) * step <= 0 else within


def _is_geometric(grid: Sequence[float]) -> bool:
    """Whether ratios of neighbours are more alike than differences; of two numbers: whether one is twice the other.

    So 1, 3, 10, 30 is geometric as well; a 0 before it does not count.
    """
    positive = sorted(value for value in grid if value > 0)
    if len(positive) < 2 or grid[-1] <= 0 or grid[-2] <= 0:
        return False
    ratios = [high / low for low, high in pairwise(positive)]
    steps = [high - low for low, high in pairwise(positive)]
    if len(ratios) == 1:
        return ratios[0] >= 2
    return max(ratios) / min(ratios) < max(steps) / min(steps)


def _size(known: Mapping[str, Param], tried: SearchSpace) -> int | None:
    """Return the number of settings; None where a range of real numbers makes it infinite."""
    sizes = []
    for name, values in tried.items():
        if not isinstance(values, ParamRange):
            sizes.append(len(values))
        elif is_whole(known[name].default):
            sizes.append(int(values.high) - int(values.low) + 1)
        else:
            return None
    return prod(sizes)


def _drawn(
    known: Mapping[str, Param], current: Params, tried: SearchSpace, trials: int, seed: int
) -> Iterator[dict[str, Setting]]:
    """Yield different settings as long as there are any; they do not depend on the order of parameters."""
    draw = random.Random(seed)
    seen: set[str] = set()
    for _ in range(trials * _DRAWS_PER_TRIAL):
        drawn: dict[str, Setting] = {}
        for name in sorted(tried):
            values, share = tried[name], draw.random()
            if isinstance(values, ParamRange):
                drawn[name] = values.at(share, whole=is_whole(known[name].default))
            else:
                drawn[name] = values[int(share * len(values))]
        key = params_key({**current, **drawn}, known)
        if key not in seen:
            seen.add(key)
            yield {name: drawn[name] for name in tried}
