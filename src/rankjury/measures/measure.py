"""Measures: a metric with all its conventions, as a value that is printed and parsed as its spelling.

    ndcg@10    ndcg(gain=exp)@5    recall(over=k)@5    ap(over=found)@10    precision(rel=4)@10

Only options that differ from the metric's default are printed, in the order in which the metric declares them.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isinf
from typing import Any, Literal, get_args

from rankjury.core.registry import Registry
from rankjury.core.types import Floats
from rankjury.core.validation import check_arguments, check_fields
from rankjury.errors import UnknownName, UsageError, shorten

_LARGEST_CUT = 2**31 - 1  # positions in stored lists are 32-bit
Value = str | float | None
Cut = Literal["optional", "required", "none"]
Aggregate = Literal["mean", "sum", "geometric"]
Ties = Literal["id", "id-desc", "order", "average", "group"]
"""Order of equal scores; the last two are known to some metrics only."""
ScorePrecision = Literal["double", "single"]
SelfMatches = Literal["keep", "drop"]
OnEmpty = Literal["skip", "zero", "error"]
OnMissing = Literal["zero", "skip", "error"]


@dataclass(frozen=True)
class Option:
    """A convention: a choice among names (the first is the default), or a number."""

    name: str
    about: str
    choices: tuple[str, ...] = ()
    default: Value = None
    low: float = float("-inf")
    high: float = float("inf")
    from_gold: bool = False
    """The default is computed from the whole gold, which is unknown in block-wise evaluation."""

    @property
    def default_value(self) -> Value:
        return self.choices[0] if self.choices else self.default

    def read(self, text: str, where: str) -> Value:
        """Return the validated value of ``text``."""
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
        "which gold items count: all, the k best of each query, or the k best and all tied with the k-th",
        ("all", "k", "tied"),
    ),
    Option("ties", "order of equal scores: by id ascending, by id descending, or input", ("id", "id-desc", "order")),
    Option("scores", "scores are compared as 64-bit numbers, or as 32-bit ones", get_args(ScorePrecision)),
    Option("self", "an item with the same id as the query: kept in the ranking, or dropped", get_args(SelfMatches)),
    Option(
        "empty",
        "a query without relevant items: skipped, 0, or an error; the default is skip if the formula divides by the "
        "number of relevant items, otherwise zero",
        get_args(OnEmpty),
    ),
    Option("missing", "a gold query missing in the ranking: 0, skipped, or an error", get_args(OnMissing)),
)  # fmt: skip


@dataclass(frozen=True)
class Metric:
    """Definition of a metric, without conventions."""

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
    """The metric depends on relevance, so that the option ``empty`` applies."""
    zero_when_empty: bool | tuple[str, ...] = False
    """Whether the formula gives 0 for a query without relevant items, since it does not divide by their number; a tuple
    lists the values of the option ``over`` for which it does."""
    by_position: bool = True
    """The metric depends on ranks, not only on which items are in the top k. In a slice of items, ranks are counted
    among the slice's items; otherwise the top k of the complete ranking counts."""
    descriptive: bool = False
    """The metric describes the run or the gold, such as the share of judged results, not the quality of the ranking: a
    difference is shown with its interval, but not tested, so that it does not increase other p-values."""
    lower_is_better: bool = False
    needs_places: bool = False
    """The metric uses the order of the gold, not only its grades."""
    of_lists: bool = False
    """The metric uses the recommended lists and the training data, and no gold."""
    whole: bool = False
    """One value for all queries together: each query has a contribution, and their mean is the value."""
    highest: float = float("inf")
    """Upper bound of values and intervals."""

    @cached_property
    def all_options(self) -> tuple[Option, ...]:
        """Options of the metric, followed by the common ones that it does not declare."""
        options = {option.name: option for option in self.options}
        common = {option.name: option for option in (COMMON_OPTIONS if self.needs_relevant else COMMON_OPTIONS[1:])}
        if self.of_lists and not self.needs_relevant:
            about = "a user missing in the ranking has no list: undefined, or an error"
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
        """Return the default of an option; that of ``empty`` depends on the other values."""
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

    Its docstring is shown by ``rankjury list metrics``: a title line, then ``Formula:`` and ``Source:`` paragraphs.

    Args:
        name: The name of the measure.
        options: The conventions that the function supports.
        aliases: Other names of the measure.
        fields: Other fields of ``Metric``; a metric of lists does not need relevant items by default.

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
    """Return whether a measure describes the run or the gold rather than the quality of the ranking."""
    found = METRICS.find(split_spelling(spelling)[0])
    return found is not None and found.descriptive


def metric_aliases() -> dict[str, str]:
    """Return the metric names by alias."""
    METRICS.load_own()
    return dict(_OWN_ALIASES)


@dataclass(frozen=True)
class Measure:
    """A metric, its cut-off and its conventions. Hashable; equal when spelled alike.

    Args:
        name: Name of the metric: ``rankjury list metrics`` lists them.
        k: The cut-off; None for none.
        options: Pairs of convention and value, such as ``(("gain", "exp"),)``.

    Raises:
        UsageError: The metric is not known, or needs or has no cut-off.

    Example:
        >>> print(rankjury.Measure("ndcg", 10, (("gain", "exp"),)))
        ndcg(gain=exp)@10
    """

    name: str
    k: int | None = None
    options: tuple[tuple[str, Value], ...] = ()
    metric: Metric = field(init=False, repr=False, compare=False)
    __iter__ = None
    """Disables iteration: because of ``__getitem__``, Python would call it with 0, 1, 2 … forever."""

    def __post_init__(self) -> None:
        check_fields(self, "name", "k", "options")
        metric, values = METRICS.get(self.name), dict(self.options)
        object.__setattr__(self, "metric", metric)
        defaults = {option.name: metric.default(option, values) for option in metric.all_options}
        others = tuple((name, values[name]) for name, value in defaults.items() if values.get(name, value) != value)
        object.__setattr__(self, "options", others)
        if self.k is not None and self.metric.cut == "none":
            raise UsageError(f"{self.name} takes no cut-off", where=str(self))
        if self.k is None and self.metric.cut == "required":
            raise UsageError(f"{self.name} needs a cut-off", where=str(self), hint=f"Write {self.name}@10.")
        if self.k is not None and not 1 <= self.k <= _LARGEST_CUT:
            found, where = f"a cut-off of {shorten(self.k)}", f"{self.name}@{shorten(self.k)}"
            raise UsageError(found, where=where, expected=f"a whole number from 1 to {_LARGEST_CUT:,}")
        if self.k is None and self["gold"] in ("k", "tied"):
            raise UsageError(f"gold={self['gold']} needs a cut-off", where=str(self), hint=f"Write {self}@10.")

    def __getitem__(self, name: str) -> Value:
        """Return the value of an option, chosen or default; None if the metric does not have it."""
        values = dict(self.options)
        if name in values:
            return values[name]
        return next((self.metric.default(o, values) for o in self.metric.all_options if o.name == name), None)

    @check_arguments
    def with_options(self, changes: Mapping[str, Value]) -> "Measure":
        """Return the measure with other conventions.

        Args:
            changes: Conventions by name; those that the metric does not know are ignored.

        Example:
            >>> print(rankjury.Measure("ndcg", 10).with_options({"gain": "exp"}))
            ndcg(gain=exp)@10
        """
        known = {option.name for option in self.metric.all_options}
        merged = {**dict(self.options), **{name: value for name, value in changes.items() if name in known}}
        return Measure(self.name, self.k, tuple(merged.items()))

    def metric_options(self) -> dict[str, Any]:
        """Return the options that the metric's function takes.

        Example:
            >>> rankjury.Measure("ndcg", 10).metric_options()["gain"]
            'linear'
        """
        return {option.name: self[option.name] for option in self.metric.options}

    @property
    def relevant_from(self) -> float | None:
        """Grade from which an item is relevant; None: any above 0."""
        rel = self["rel"]
        return float(rel) if isinstance(rel, int | float) else None

    def spelled_out(self) -> str:
        """Return the spelling with every convention written, defaults too.

        Example:
            >>> rankjury.Measure("rr", 10).spelled_out()
        """
        known = [(option.name, self[option.name]) for option in self.metric.all_options]
        return _spell(self.name, [(name, value) for name, value in known if value is not None], self.k)

    def __str__(self) -> str:
        return _spell(self.name, self.options, self.k)

    @classmethod
    def parse(cls, text: str) -> "Measure":
        """Read rankjury's own spelling.

        Args:
            text: The spelling, such as ``ndcg(gain=exp)@10``.

        Returns:
            The measure.

        Raises:
            UsageError: The metric, an option or a value is not known.

        Example:
            >>> rankjury.Measure.parse("recall(rel=2)@100").k
            100
        """
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
    """Split ``name(key=value, …)@k``; only the syntax is checked."""
    # Markdown reports have a zero-width space after @, which is copied with the name.
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


# By metric and divisor. The other divisors (min, found, retrieved) have no common name.
_COMMON_NAMES = {("recall", "k"): "precision", ("precision", "relevant"): "recall"}


def common_name(measure: Measure | str) -> str | None:
    """Return ``precision@5`` for ``recall(over=k)@5``; None if the measure has no other common name.

    The other conventions (``rel``, ``self``, ``empty`` …) apply to both names. A measure with a cut gold has no other
    name: if the gold is long enough, the number of relevant items is k, and precision equals recall.
    """
    name, options, k = split_spelling(str(measure))
    common = _COMMON_NAMES.get((name, options.get("over", "")))
    if common is None or options.get("gold", "all") != "all":
        return None
    return common if k is None else f"{common}@{k}"


def common_names(conventions: Mapping[str, str]) -> dict[str, str]:
    """Return the common names of measures that have one, by label, from their spellings by label.

    ``hits@5`` is recall here and a hit rate elsewhere, so that its common name is always shown.
    """
    names = {}
    for label, spelling in conventions.items():
        name, cut = label.partition("@")[::2]
        if name == "hits" and split_spelling(spelling)[0] == "recall":
            names[label] = f"recall@{cut}" if cut else "recall"
        elif common := common_name(spelling):
            names[label] = common
    return names


def common_names_note(names: Mapping[str, str]) -> str:
    """Return what the second names in a table mean; empty where they are all of hits, which needs no explanation."""
    return "" if all(label.startswith("hits") for label in names) else "After =: the common name of the measure"


def with_common_name(label: str, common: str | None) -> str:
    """Return both names, if there is a common one: ``Recall@5 = precision@5``."""
    return label if common is None or common == label.lower() else f"{label} = {common}"
