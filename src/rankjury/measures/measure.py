"""Measures: a metric with all its conventions, as a value that prints as its own spelling and parses back.

    ndcg@10    ndcg(gain=exp)@5    recall(over=k)@5    ap(over=found)@10    precision(rel=4)@10

Only what differs from the metric's default is printed, in the order in which the metric declares its options.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isinf
from typing import Any, Literal

from rankjury.core.registry import Registry
from rankjury.core.types import Floats
from rankjury.core.validation import check_arguments, check_fields
from rankjury.errors import UnknownName, UsageError, shorten

_LARGEST_CUT = 2**31 - 1  # positions are counted in 32 bits where lists are kept
Value = str | float | None
Cut = Literal["optional", "required", "none"]
Aggregate = Literal["mean", "sum", "geometric"]


@dataclass(frozen=True)
class Option:
    """One convention: a choice among names (the first is the default), or a number."""

    name: str
    about: str
    choices: tuple[str, ...] = ()
    default: Value = None
    low: float = float("-inf")
    high: float = float("inf")
    from_gold: bool = False
    """Without a value it is taken from the whole gold, which an evaluation in blocks of queries does not know."""

    @property
    def default_value(self) -> Value:
        return self.choices[0] if self.choices else self.default

    def read(self, text: str, where: str) -> Value:
        """Return the value that ``text`` spells, checked."""
        if self.choices:
            if text not in self.choices:
                raise UnknownName(f"value for {self.name}=", text, self.choices, where=where)
            return text
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        if not self.low <= number <= self.high or isinf(number):
            limits = "" if self.low == float("-inf") else f" from {self.low:g} to {self.high:g}"
            raise UsageError(f"{self.name}={text}", where=where, expected=f"a number{limits}")
        return number


COMMON_OPTIONS = (
    Option(
        "gold",
        "which gold items count: all, only the k best of each query, or these and all that tie with the k-th",
        ("all", "k", "tied"),
    ),
    Option("ties", "equal scores stand by id ascending, by id descending, or as given", ("id", "id-desc", "order")),
    Option("scores", "scores are compared as 64-bit numbers, or as 32-bit ones", ("double", "single")),
    Option("self", "an item whose id is the query's: kept in the ranking, or dropped from it", ("keep", "drop")),
    Option(
        "empty",
        "a query with nothing relevant: left out, 0, or an error; the default is skip where the formula divides by the "
        "number of relevant items, and zero where it does not",
        ("skip", "zero", "error"),
    ),
    Option("missing", "a gold query that the ranking lacks: 0, left out, or an error", ("zero", "skip", "error")),
)  # fmt: skip


@dataclass(frozen=True)
class Metric:
    """What a metric is, before conventions are chosen."""

    name: str
    title: str
    formula: str
    source: str
    function: Callable[..., Floats]
    options: tuple[Option, ...]
    aliases: tuple[str, ...] = ()
    cut: Cut = "optional"
    aggregate: Aggregate = "mean"
    needs_relevant: bool = True
    """Depends on which items are relevant, so that the option ``empty`` applies."""
    zero_when_empty: bool | tuple[str, ...] = False
    """Whether the formula gives 0 for a query with nothing relevant, since it does not divide by the number of relevant
    items; a tuple lists the values of the option ``over`` for which it does."""
    by_position: bool = True
    """Depends on where in the ranking items stand, and not only on which items are in the top k. In a slice of items
    positions are then counted among the slice's items; otherwise the top k of the whole ranking counts."""
    descriptive: bool = False
    """Describes the run or the gold, as the share of judged results does, rather than how good the ranking is: a
    difference is shown with its interval, but not tested, so that it makes no other p-value larger."""
    lower_is_better: bool = False
    needs_places: bool = False
    """Compares with the order of the gold, not only with its grades."""
    of_lists: bool = False
    """Looks at the lists that were shown and at what was known before, and at no gold."""
    whole: bool = False
    """One figure over all queries: each has a contribution, and the mean of these is the figure."""
    highest: float = float("inf")
    """No figure is above it, nor is its interval."""

    @cached_property
    def all_options(self) -> tuple[Option, ...]:
        """Options of the metric itself, then the common ones that it does not declare."""
        options = {option.name: option for option in self.options}
        common = {option.name: option for option in (COMMON_OPTIONS if self.needs_relevant else COMMON_OPTIONS[1:])}
        if self.of_lists and not self.needs_relevant:
            about = "a user whom the ranking lacks has no list, and is undefined; or an error"
            common["missing"] = replace(common["missing"], about=about)
            del common["empty"]
        options |= {name: option for name, option in common.items() if name not in options}
        if "empty" in options:  # its default comes first among the choices
            empty = options["empty"]
            default = self.default(empty, {})
            options["empty"] = replace(
                empty, choices=tuple(sorted(empty.choices, key=lambda choice: choice != default))
            )
        return tuple(options.values())

    def default(self, option: Option, values: Mapping[str, Value]) -> Value:
        """Return the default of an option; that of ``empty`` depends on the values of the others."""
        if option.name != "empty":
            return option.default_value
        zero = self.zero_when_empty
        if isinstance(zero, tuple):
            divisor = next(option.default_value for option in self.options if option.name == "over")
            zero = values.get("over", divisor) in zero
        return "zero" if zero else "skip"

    def option(self, name: str, where: str) -> Option:
        for option in self.all_options:
            if option.name == name:
                return option
        raise UnknownName(f"option of {self.name}", name, [o.name for o in self.all_options], where=where)


METRICS: Registry[Metric] = Registry("measure", home="rankjury.measures.metrics", group="rankjury.metrics")
_OWN_ALIASES: dict[str, str] = {}


def metric(
    name: str, *options: Option, aliases: tuple[str, ...] = (), **fields: Any
) -> Callable[[Callable[..., Floats]], Callable[..., Floats]]:
    """Register a function ``(judged, k, **options) → float64[queries]`` as a metric.

    Its docstring is what ``rankjury list metrics`` shows: a title line, then ``Formula:`` and ``Source:`` paragraphs.

    Args:
        name: The name in rankjury's spelling.
        options: The conventions that the function takes.
        aliases: Other names of rankjury's own.
        fields: Other fields of ``Metric``; a metric of lists does not need relevant items unless it says so.

    Returns:
        The decorator, which returns the function unchanged.
    """
    fields.setdefault("needs_relevant", not fields.get("of_lists", False))

    def add(function: Callable[..., Floats]) -> Callable[..., Floats]:
        title, _, rest = (function.__doc__ or "").strip().partition("\n")
        paragraphs = (paragraph.strip().partition(":") for paragraph in re.split(r"\n\s*\n", rest.strip()))
        parts = {key: " ".join(text.split()) for key, colon, text in paragraphs if colon}
        formula, source = parts.get("Formula", ""), parts.get("Source", "")
        METRICS.add(name, Metric(name, title.rstrip("."), formula, source, function, options, aliases, **fields))
        _OWN_ALIASES.update(dict.fromkeys(aliases, name))
        return function

    return add


def is_descriptive(spelling: str) -> bool:
    """Return whether a measure describes the run or the gold rather than how good the ranking is."""
    found = METRICS.find(split_spelling(spelling)[0])
    return found is not None and found.descriptive


def metric_aliases() -> dict[str, str]:
    """Return the names of metrics by rankjury's own aliases."""
    METRICS.load_own()
    return dict(_OWN_ALIASES)


@dataclass(frozen=True)
class Measure:
    """A metric, its cut-off and its conventions. Hashable; equal when spelled alike."""

    name: str
    k: int | None = None
    options: tuple[tuple[str, Value], ...] = ()
    metric: Metric = field(init=False, repr=False, compare=False)
    __iter__ = None
    """Not a list, though it has items by name: Python would ask it for the items 0, 1, 2 … for ever."""

    def __post_init__(self) -> None:
        check_fields(self, "name", "k", "options")
        metric, values = METRICS.get(self.name), dict(self.options)
        object.__setattr__(self, "metric", metric)
        defaults = {option.name: metric.default(option, values) for option in metric.all_options}
        others = tuple((name, values[name]) for name, value in defaults.items() if values.get(name, value) != value)
        object.__setattr__(self, "options", others)
        if self.k is not None and self.metric.cut == "none":
            raise UsageError(f"{self.name} has no cut-off, but one was given", where=str(self))
        if self.k is None and self.metric.cut == "required":
            raise UsageError(f"{self.name} needs a cut-off", where=str(self), hint=f"Write {self.name}@10.")
        if self.k is not None and not 1 <= self.k <= _LARGEST_CUT:
            found, where = f"a cut-off of {shorten(self.k)}", f"{self.name}@{shorten(self.k)}"
            raise UsageError(found, where=where, expected=f"a whole number from 1 to {_LARGEST_CUT:,}")
        if self.k is None and self["gold"] in ("k", "tied"):
            raise UsageError(f"gold={self['gold']} needs a cut-off", where=str(self), hint=f"Write {self}@10.")

    def __getitem__(self, name: str) -> Value:
        """Return the value of an option, chosen or default; None where the metric has no such option."""
        values = dict(self.options)
        if name in values:
            return values[name]
        return next((self.metric.default(o, values) for o in self.metric.all_options if o.name == name), None)

    @check_arguments
    def with_options(self, changes: Mapping[str, Value]) -> "Measure":
        """Return the measure with other conventions; those that the metric does not know are ignored."""
        known = {option.name for option in self.metric.all_options}
        merged = {**dict(self.options), **{name: value for name, value in changes.items() if name in known}}
        return Measure(self.name, self.k, tuple(merged.items()))

    def metric_options(self) -> dict[str, Any]:
        """Return the options that the metric's function takes."""
        return {option.name: self[option.name] for option in self.metric.options}

    def spelled_out(self) -> str:
        """Return the spelling with every convention written, defaults too."""
        known = [(option.name, self[option.name]) for option in self.metric.all_options]
        return _spell(self.name, [(name, value) for name, value in known if value is not None], self.k)

    def __str__(self) -> str:
        return _spell(self.name, self.options, self.k)

    @classmethod
    def parse(cls, text: str) -> "Measure":
        """Read rankjury's own spelling."""
        name, options, k = split_spelling(text)
        name = metric_aliases().get(name, name)
        metric = METRICS.find(name)
        if metric is None:
            raise UnknownName("measure", name, [*METRICS.names(), *_OWN_ALIASES])
        values = {key: metric.option(key, where=text).read(value, where=text) for key, value in options.items()}
        return cls(name, k, tuple(values.items()))


def _spell(name: str, options: Iterable[tuple[str, Value]], k: int | None) -> str:
    texts = [
        f"{key}={int(value) if isinstance(value, float) and value.is_integer() else value}" for key, value in options
    ]
    return name + (f"({','.join(texts)})" if texts else "") + (f"@{k}" if k is not None else "")


_SPELLING = re.compile(r"(?P<name>[^\s()@,=]+)(?:\((?P<options>[^()]*)\))?(?:@(?P<k>[^\s()@]+))?")


def split_spelling(text: str) -> tuple[str, dict[str, str], int | None]:
    """Split ``name(key=value, …)@k``; only its syntax is checked."""
    # Markdown reports have a zero-width space behind @, which comes along when a name is copied.
    match = _SPELLING.fullmatch(text.strip().replace("\u200b", "")) if isinstance(text, str) else None
    if match is None:
        found = f"cannot read the measure {shorten(text, quoted=True)}"
        raise UsageError(found, expected="a spelling like ndcg(gain=exp)@10")
    options: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in (match["options"] or "").split(","))):
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise UsageError(f"cannot read {shorten(part)!r} in the measure {shorten(text)!r}", expected="key=value")
        options[key.strip()] = value.strip().strip("'\"")
    k = match["k"]
    if k is not None and not (k.isdecimal() and len(k) <= len(str(_LARGEST_CUT))):
        found = f"the cut-off {shorten(k)!r} in the measure {shorten(text)!r}"
        raise UsageError(found, expected=f"a whole number from 1 to {_LARGEST_CUT:,}")
    return match["name"], options, None if k is None else int(k)


LEGEND = "After =: what the measure is usually called"
# By metric and divisor. The other divisors (min, found, retrieved) give quantities that have no other name.
_COMMON_NAMES = {("recall", "k"): "precision", ("precision", "relevant"): "recall"}


def common_name(measure: Measure | str) -> str | None:
    """Return ``precision@5`` for ``recall(over=k)@5``; None where exactly the same quantity has no other name.

    The other conventions (``rel``, ``self``, ``empty`` …) hold for both names. A measure whose gold is cut has no other
    name: wherever the gold is long enough, as many items are relevant as are shown, and precision and recall are one.
    """
    name, options, k = split_spelling(str(measure))
    common = _COMMON_NAMES.get((name, options.get("over", "")))
    if common is None or options.get("gold", "all") != "all":
        return None
    return common if k is None else f"{common}@{k}"


def common_names(conventions: Mapping[str, str]) -> dict[str, str]:
    """Return the common names of those measures that have one, by label, from their spellings by label."""
    names = {label: common_name(spelling) for label, spelling in conventions.items()}
    return {label: name for label, name in names.items() if name is not None}


def with_common_name(label: str, common: str | None) -> str:
    """Return both names where there are two: ``Recall@5 = precision@5``."""
    return label if common is None else f"{label} = {common}"
