"""A measure is a metric with all its conventions, as a value that prints as its own spelling and parses back.

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

_LARGEST_CUT = 2**31 - 1
"""Positions are counted in 32 bits where lists are kept."""
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
        """The value that ``text`` spells, checked."""
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


_OF_LISTS = {
    "missing": Option(
        "missing", "a user whom the ranking lacks has no list, and is undefined; or an error", ("zero", "skip", "error")
    )
}
"""What common options mean to metrics that look at no gold."""


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
        """The metric's own options, then the common ones that it does not declare itself."""
        own = {option.name for option in self.options}
        common: Iterable[Option] = COMMON_OPTIONS if self.needs_relevant else COMMON_OPTIONS[1:]
        if self.of_lists and not self.needs_relevant:
            common = (_OF_LISTS.get(option.name, option) for option in common if option.name != "empty")
        found = self.options + tuple(option for option in common if option.name not in own)
        return tuple(self._default_first(option) if option.name == "empty" else option for option in found)

    def _default_first(self, empty: Option) -> Option:
        default = self.empty_default({})
        return replace(empty, choices=(default, *(choice for choice in empty.choices if choice != default)))

    def empty_default(self, given: Mapping[str, Value]) -> str:
        """Return the default of the option ``empty`` under the metric's other options."""
        if isinstance(self.zero_when_empty, bool):
            return "zero" if self.zero_when_empty else "skip"
        default = next(option.default_value for option in self.options if option.name == "over")
        return "zero" if given.get("over", default) in self.zero_when_empty else "skip"

    def default(self, option: Option, given: Mapping[str, Value]) -> Value:
        """Return the default of an option, given the values of the others."""
        return self.empty_default(given) if option.name == "empty" else option.default_value

    def option(self, name: str, where: str) -> Option:
        for option in self.all_options:
            if option.name == name:
                return option
        raise UnknownName(f"option of {self.name}", name, [o.name for o in self.all_options], where=where)


METRICS: Registry[Metric] = Registry("measure", home="rankjury.measures.metrics", group="rankjury.metrics")
_OWN_NAMES: dict[str, str] = {}


def metric(
    name: str,
    *options: Option,
    aliases: tuple[str, ...] = (),
    cut: Cut = "optional",
    aggregate: Aggregate = "mean",
    needs_relevant: bool | None = None,
    zero_when_empty: bool | tuple[str, ...] = False,
    by_position: bool = True,
    descriptive: bool = False,
    lower_is_better: bool = False,
    needs_places: bool = False,
    of_lists: bool = False,
    whole: bool = False,
    highest: float = float("inf"),
) -> Callable[[Callable[..., Floats]], Callable[..., Floats]]:
    """Register a function ``(judged, k, **options) → float64[queries]`` as a metric.

    Its docstring is what ``rankjury metrics`` shows: a title line, then ``Formula:`` and ``Source:`` paragraphs.
    """

    def add(function: Callable[..., Floats]) -> Callable[..., Floats]:
        title, parts = _documented(function.__doc__ or "")
        METRICS.add(
            name,
            Metric(
                name,
                title,
                parts.get("Formula", ""),
                parts.get("Source", ""),
                function,
                options,
                aliases=aliases,
                cut=cut,
                aggregate=aggregate,
                needs_relevant=not of_lists if needs_relevant is None else needs_relevant,
                zero_when_empty=zero_when_empty,
                by_position=by_position,
                descriptive=descriptive,
                lower_is_better=lower_is_better,
                needs_places=needs_places,
                of_lists=of_lists,
                whole=whole,
                highest=highest,
            ),
        )
        _OWN_NAMES.update(dict.fromkeys(aliases, name))
        return function

    return add


def is_descriptive(spelling: str) -> bool:
    """Return whether a measure describes the run or the gold rather than how good the ranking is."""
    found = METRICS.find(split_spelling(spelling)[0])
    return found is not None and found.descriptive


def metric_aliases() -> dict[str, str]:
    """rankjury's own second names of metrics."""
    METRICS.load_own()
    return dict(_OWN_NAMES)


def _documented(docstring: str) -> tuple[str, dict[str, str]]:
    title, _, rest = docstring.strip().partition("\n")
    parts: dict[str, str] = {}
    for paragraph in re.split(r"\n\s*\n", rest.strip()):
        key, colon, text = paragraph.strip().partition(":")
        if colon:
            parts[key] = " ".join(text.split())
    return title.rstrip("."), parts


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
        found = METRICS.get(self.name)
        object.__setattr__(self, "metric", found)
        given = dict(self.options)
        defaults = {option.name: found.default(option, given) for option in found.all_options}
        kept = tuple((name, given[name]) for name, default in defaults.items() if given.get(name, default) != default)
        object.__setattr__(self, "options", kept)
        self._check_cut()

    def _check_cut(self) -> None:
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
        """The value of an option, chosen or default; None where the metric has no such option."""
        for option, value in self.options:
            if option == name:
                return value
        given = dict(self.options)
        return next((self.metric.default(o, given) for o in self.metric.all_options if o.name == name), None)

    @check_arguments
    def with_options(self, changes: Mapping[str, Value]) -> "Measure":
        """The same measure with other conventions; those that the metric does not know are passed over."""
        known = {option.name for option in self.metric.all_options}
        merged = {**dict(self.options), **{name: value for name, value in changes.items() if name in known}}
        return Measure(self.name, self.k, tuple(merged.items()))

    def metric_options(self) -> dict[str, Any]:
        """The options that the metric's function takes."""
        return {option.name: self[option.name] for option in self.metric.options}

    def spelled_out(self) -> str:
        """The spelling with every convention written, defaults too."""
        known = [(option.name, self[option.name]) for option in self.metric.all_options]
        return _spell(self.name, [(name, value) for name, value in known if value is not None], self.k)

    def __str__(self) -> str:
        return _spell(self.name, list(self.options), self.k)

    @classmethod
    def parse(cls, text: str) -> "Measure":
        """Read rankjury's own spelling."""
        name, options, k = split_spelling(text)
        name = metric_aliases().get(name, name)
        found = METRICS.find(name)
        if found is None:
            raise UnknownName("measure", name, [*METRICS.names(), *_OWN_NAMES])
        values = {key: found.option(key, where=text).read(value, where=text) for key, value in options.items()}
        return cls(name, k, tuple(values.items()))


def _spell(name: str, options: list[tuple[str, Value]], k: int | None) -> str:
    inside = ",".join(f"{key}={_shown(value)}" for key, value in options)
    return name + (f"({inside})" if inside else "") + (f"@{k}" if k is not None else "")


def _shown(value: Value) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)


_SPELLING = re.compile(r"(?P<name>[^\s()@,=]+)(?:\((?P<options>[^()]*)\))?(?:@(?P<k>[^\s()@]+))?")


def split_spelling(text: str) -> tuple[str, dict[str, str], int | None]:
    """``name(key=value, …)@k`` taken apart, unchecked but for its form."""
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
_USUAL = {("recall", "k"): "precision", ("precision", "relevant"): "recall"}
"""By metric and divisor. The other divisors (min, found, retrieved) give quantities that have no other name."""


def common_name(measure: Measure | str) -> str | None:
    """``precision@5`` for ``recall(over=k)@5``; None where there is no other name for exactly the same quantity.

    The other conventions (``rel``, ``self``, ``empty`` …) hold for both names. A measure whose gold is cut has no other
    name: wherever the gold is long enough, as many items are relevant as are shown, and precision and recall are one.
    """
    name, options, k = split_spelling(str(measure))
    common = _USUAL.get((name, options.get("over", "")))
    if common is None or options.get("gold", "all") != "all":
        return None
    return common if k is None else f"{common}@{k}"


def common_names(conventions: Mapping[str, str]) -> dict[str, str]:
    """By label, from the spellings by label: the common names of those that have one."""
    found = {label: common_name(spelling) for label, spelling in conventions.items()}
    return {label: common for label, common in found.items() if common is not None}


def with_common_name(label: str, common: str | None) -> str:
    """``Recall@5 = precision@5``: both names where there are two."""
    return label if common is None else f"{label} = {common}"
