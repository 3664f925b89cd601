"""Validation by annotations: arguments of public functions, and records that are written as JSON and read back.

Without it, a wrong type shows up as an error of NumPy or Polars deep within. Arguments are checked against the
annotations, and only when a call has failed: a valid call costs nothing, the function's own errors come first, and
objects that behave like the annotated type are accepted.

The annotations are the schema. A record's fields are written under their names; reading checks every value and builds
the record in one pass of pydantic's core. A number that cannot be known (NaN) is null. Values that follow from others
(``computed``) are written for people who read the file, and ignored when it is read.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from functools import cache, partial, wraps
from itertools import islice
from math import isfinite, nan
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    ParamSpec,
    Self,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from rankjury.errors import DataError, RankjuryError, UsageError, shorten

if TYPE_CHECKING:  # NumPy and pydantic are imported where they are used: `rankjury --help` needs neither
    from pydantic_core import CoreSchema, SchemaValidator

P = ParamSpec("P")
R = TypeVar("R")

_MAX_ELEMENTS = 1_000
"""Elements of a list that are looked at: settings are short, and a long list is data, which readers check."""
_MAX_INT = 2**63
"""Integers beyond are not a count, a seed or an id of anything, and do not fit into an array."""


def check_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a public function: where it fails and an argument does not fit its annotation, raise a UsageError.

    Any other error passes unchanged.

    Example:
        >>> @check_arguments
        ... def half(number: int) -> float:
        ...     return number / 2
        >>> half("a")
        Traceback (most recent call last):
        rankjury.errors.UsageError: found number of type str: a; expected an integer
    """
    signature = inspect.signature(function)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True  # pytest shows the caller's line instead of this one
        places: Any = map(_plain, args)
        keywords: Any = {name: _plain(value) for name, value in kwargs.items()}
        try:
            return function(*places, **keywords)
        except (RankjuryError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # Polars' PanicException is not an Exception
            misfit = _misfit(function.__name__, signature, args, kwargs)
            if misfit is None:
                raise
            raise misfit from error

    return checked


def _plain(value: Any) -> Any:
    """Return a whole number of NumPy as Python's: its small ones overflow."""
    return value if isinstance(value, int) or not isinstance(value, Integral) else int(value)


def _misfit(
    function: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> UsageError | None:
    """Return the error of the first argument that does not fit; None where all do."""
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        return _unbound(function, signature, kwargs, str(error))
    for name, value in given.items():
        parameter = signature.parameters[name]
        pairs = [(name, value)]
        if parameter.kind is parameter.VAR_POSITIONAL:
            pairs = [(name, element) for element in value]
        elif parameter.kind is parameter.VAR_KEYWORD:
            pairs = list(value.items())
        for key, element in pairs:
            if not _fits(element, parameter.annotation):
                return _error(key, element, parameter.annotation)
    return None


_OTHER_NAMES = {
    **dict.fromkeys(("metrics", "metric", "measure"), "measures"),
    **dict.fromkeys(("qrels", "truth", "ground_truth", "judgments", "relevance"), "gold"),
    **dict.fromkeys(("run", "results", "hits", "predictions"), "ranking"),
    **dict.fromkeys(("runs", "systems"), "rankings"),
    **dict.fromkeys(("figures", "values", "record"), "recorded"),
    **dict.fromkeys(("how", "bootstrap", "resamples"), "resampling"),
    **dict.fromkeys(("vectors", "items", "embeddings", "documents"), "corpus"),
    **dict.fromkeys(("similarity", "distance"), "metric"),
    **dict.fromkeys(("k", "ks", "cutoffs", "top_k"), "k_values"),
    **dict.fromkeys(("topk", "top_k", "n"), "k"),
    **dict.fromkeys(("models", "candidate"), "candidates"),
}
"""Names of arguments in other libraries, and what they are called here."""
_CUTS = ("k", "ks", "k_values", "cutoff", "cutoffs", "top_k", "topk", "at")


def _unbound(function: str, signature: inspect.Signature, kwargs: Mapping[str, Any], problem: str) -> UsageError:
    """Return the error of a call with an argument that the function does not take, too many of them, or too few."""
    known = [name for name, parameter in signature.parameters.items() if parameter.kind.name != "VAR_POSITIONAL"]
    unknown = next((name for name in kwargs if name not in signature.parameters), None)
    where = f"{function}()"
    if unknown is None:
        in_order = [name for name in known if signature.parameters[name].kind.name != "KEYWORD_ONLY"]
        more = ["…"] if len(in_order) < len(known) else []
        hint = 'Give the rankings in one dict: {"old": a, "new": b}.' if {"gold", "rankings"} <= {*known} else None
        return UsageError(problem, where=where, expected=f"{function}({', '.join([*in_order, *more])})", hint=hint)
    value = kwargs[unknown]
    near = get_close_matches(unknown, known, n=1, cutoff=0.75)
    hint = f"Known: {', '.join(known)}."
    if _OTHER_NAMES.get(unknown) in known:
        hint = f"Did you mean {_OTHER_NAMES[unknown]}=?"
    elif unknown == "ids" and "corpus" in known:
        hint = "Give the ids with the vectors: rankjury.Vectors(ids, matrix)."
    elif "measures" in known and unknown in _CUTS:
        cut = value if isinstance(value, int) else 10
        hint = f'Write the cut-off in the measure: measures=["ndcg@{shorten(cut)}"].'
    elif near:
        hint = f"Did you mean {near[0]}=?"
    elif "measures" in known and isinstance(value, str | int | float):
        hint += f" An option of a measure is written in the measure: ndcg({unknown}={shorten(value)})@10."
    return UsageError(f"unknown argument {unknown!r}", where=where, hint=hint)


_MADE_BY = {
    "Ranking": "rankjury.as_ranking makes one of a dict or a frame, rankjury.read_run of a file.",
    "Gold": "rankjury.as_gold makes one of a dict or a frame, rankjury.read_gold of a file.",
    "Fusion": 'Such as rankjury.Fusion("rrf").',
    "ProductCatalogue": "rankjury.read_catalogue reads one.",
    "Vectors": "rankjury.Vectors(ids, matrix) makes them, rankjury.read_vectors reads them.",
}
"""How values of the types that functions take are made."""


def check_fields(given: Any, *names: str) -> None:
    """Check the fields of a dataclass against their annotations; to be called first in ``__post_init__``.

    Args:
        given: The instance.
        names: The fields to check; none: all.

    Raises:
        UsageError: A field is of another type.
    """
    for field in fields(given):
        if (not names or field.name in names) and not _fits(value := getattr(given, field.name), field.type):
            raise _error(field.name, value, field.type)


def _error(name: str, value: Any, annotation: Any) -> UsageError:
    shown = f": {shorten(value)}" if isinstance(value, str | int | float) else ""
    found = f"found {name} of type {type(value).__name__}{shown}"
    too_large = isinstance(value, Integral) and _fits(0, annotation)
    expected = "an integer of at most 64 bits" if too_large else _describe(annotation)
    if isinstance(value, list | tuple) and get_origin(annotation) in (Sequence, Iterable, list):
        wrong = next((element for element in value if not _fits(element, get_args(annotation)[0])), None)
        found += f" with an element of type {type(wrong).__name__}"
    hint = next((text for name, text in _MADE_BY.items() if re.search(rf"\b{name}\b", expected)), None)
    return UsageError(found, expected=expected, hint=hint)


def _is_checked(annotation: Any) -> bool:
    return annotation not in (Any, object, inspect.Parameter.empty) and not isinstance(annotation, str)


def _fits(value: Any, annotation: Any) -> bool:
    """Return whether a value is of a type, and so are its elements where it is a list or a dict."""
    if not _is_checked(annotation) or isinstance(annotation, TypeVar):
        return True
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _fits(value, inner[0])
    if origin in (Union, UnionType):
        return any(_fits(value, kind) for kind in inner)
    if origin is Literal:  # the function itself says which texts are known, with the nearest of them
        return any(isinstance(value, type(choice)) for choice in inner)
    if origin is tuple:
        if not isinstance(value, list | tuple) or (len(inner) == 2 and inner[1] is Ellipsis):
            return isinstance(value, list | tuple) and _fit_all(value, inner[0])
        return len(value) == len(inner) and all(map(_fits, value, inner))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        pairs = islice(value.items(), _MAX_ELEMENTS) if isinstance(value, Mapping) else ()
        return isinstance(value, Mapping) and (not inner or all(all(map(_fits, pair, inner)) for pair in pairs))
    if origin in (Sequence, Iterable, list):
        # Arrays and columns count as lists, tables do not.
        is_list = isinstance(value, Iterable) and not hasattr(value, "columns")
        is_list &= origin is Iterable or (hasattr(value, "__len__") and hasattr(value, "__getitem__"))
        return is_list and (isinstance(value, Iterator) or _fit_all(value, inner[0]))
    if origin is Callable:
        return callable(value)
    if getattr(origin, "__name__", None) == "ndarray":  # with numbers of the kind that is named, in whatever width
        import numpy as np

        number = next((kind for kind in get_args(inner[-1]) if isinstance(kind, type)), object)
        wanted = next((kind for kind in (np.bool_, np.integer, np.floating) if issubclass(number, kind)), np.generic)
        return isinstance(value, np.ndarray) and np.issubdtype(value.dtype, wanted)
    return _is_a(value, origin or annotation)


def _fit_all(values: Iterable[Any], annotation: Any) -> bool:
    if isinstance(values, str | bytes):
        return False
    try:
        return all(_fits(value, annotation) for value in islice(values, _MAX_ELEMENTS))
    except TypeError:  # it has an __iter__ that refuses
        return False


def _is_a(value: Any, kind: Any) -> bool:
    if kind is None or kind is NoneType:
        return value is None
    if kind is bool:
        import numpy as np

        return isinstance(value, bool | np.bool_)
    if kind is int:
        return not isinstance(value, bool) and isinstance(value, Integral) and -_MAX_INT <= int(value) < _MAX_INT
    if kind is float:
        return isinstance(value, Real) and not (isinstance(value, Integral) and not -_MAX_INT <= int(value) < _MAX_INT)
    if getattr(kind, "_is_protocol", False):  # isinstance does not take most protocols
        return all(hasattr(value, name) for name in vars(kind) if name == "__call__" or not name.startswith("_"))
    return not isinstance(kind, type) or isinstance(value, kind)


def _describe(annotation: Any) -> str:
    """Return an annotation in words."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _describe(inner[0])
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_describe(kind) for kind in inner if kind is not NoneType))
    if origin is Literal:
        return f"one of {', '.join(map(repr, inner))}"
    if origin is tuple and not (len(inner) == 2 and inner[1] is Ellipsis):
        return f"{len(inner)} values, each {_describe(inner[0])}"
    if origin in (Sequence, Iterable, list, tuple):
        return f"a list, each {_describe(inner[0])}" if inner and _is_checked(inner[0]) else "a list"
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return f"a dict, each value {_describe(inner[1])}" if inner and _is_checked(inner[1]) else "a dict"
    if origin is Callable:
        return "a function"
    names = {int: "an integer", float: "a number", bool: "True or False", str: "a text", NoneType: "None", None: "None"}
    return names.get(annotation, getattr(annotation, "__name__", str(annotation)))


LARGEST_NUMBER = 1e150
"""Bound of the numbers that others are computed from: their differences and squares stay finite."""
LARGEST_COUNT = 2**53
SignedInt = Annotated[int, "signed"]
"""A whole number of 64 bits; a plain ``int`` of a record is a count, which is not negative."""
Positive = Annotated[int, "positive"]
"""A count of at least 1."""
FiniteFloat = Annotated[float, "finite"]
"""A number up to the largest that there is; a plain ``float`` of a record is one to compute with, or NaN."""
_EXPECTED = "a report as rankjury writes it"
_PLAIN = {str, int, bool, NoneType}


class RecordError(DataError):
    """A value that is not as rankjury writes it, with its path."""

    def __init__(self, place: tuple[str, ...], reason: str, where: str) -> None:
        self.place, self.reason = place, reason
        path = " → ".join(shorten(part) for part in place)
        super().__init__(f"{path}: {reason}" if path else reason, where=where, expected=_EXPECTED)

    def within(self, *place: str) -> "RecordError":
        """Return it with the path of the value that holds the record."""
        return RecordError((*place, *self.place), self.reason, self.where or "report")


class Record:
    """Base class of dataclasses that are written as JSON."""

    computed: ClassVar[tuple[str, ...]] = ()
    """Names of properties that are written too."""
    json_keys: ClassVar[Mapping[str, str]] = {}
    """By field or property, its key in JSON where that is another."""
    json_field: ClassVar[str | None] = None
    """The one field whose JSON is that of the record."""
    omitted: ClassVar[tuple[str, ...]] = ()
    """Fields that are written only where they differ from their default."""
    unwritten: ClassVar[tuple[str, ...]] = ()
    """Fields that are not written; they have a default."""

    def __post_init__(self) -> None:
        """Replace any NaN by one object, so that records read back equal those written."""
        for name in _float_fields(type(self)):  # type: ignore[arg-type]
            value = getattr(self, name)
            if value is not None and value != value:
                object.__setattr__(self, name, nan)

    def to_json(self) -> Any:
        """Return the record as JSON values; what cannot be known is null."""
        if self.json_field is not None:
            return to_json(getattr(self, self.json_field))
        values = {}
        for name, key, default in _written(type(self)):  # type: ignore[arg-type]
            value = getattr(self, name)
            if default is MISSING or value != default:
                values[key] = value if type(value) in _PLAIN else to_json(value)
        return values

    @classmethod
    def from_json(cls, value: Any, where: str = "report") -> Self:
        """Read what ``to_json`` wrote.

        Args:
            value: The JSON value.
            where: The file, for errors.

        Raises:
            DataError: With the path of the first value that is not as rankjury writes it.
        """
        return cast(Self, read_record(cls, value, where))

    @classmethod
    def prepare(cls, value: Any) -> Any:
        """Return the JSON value with what its record has and its JSON says in another way; it is not checked yet."""
        return value


@cache
def _float_fields(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.type in (float, "float", float | None, "float | None"))


@cache
def _written(kind: type[Record]) -> tuple[tuple[str, str, Any], ...]:
    """Return what is written of a record: the name, the key, and the value that is omitted."""
    defaults = {field.name: field.default for field in fields(kind)}  # type: ignore[arg-type]
    names = [*(name for name in defaults if name not in kind.unwritten), *kind.computed]
    return tuple(
        (name, kind.json_keys.get(name, name), defaults[name] if name in kind.omitted else MISSING) for name in names
    )


def to_json(value: Any) -> Any:
    """Return any value that a record holds as JSON values."""
    kind = type(value)
    if kind is float:  # most values are of these types, which are therefore checked first
        return value if isfinite(value) else None
    if kind in _PLAIN:
        return value
    if kind is tuple or kind is list:
        return [to_json(element) for element in value]
    if isinstance(value, Record):
        return value.to_json()
    if isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): to_json(element) for key, element in value.items()}
    if hasattr(value, "tolist"):  # an array or a scalar of NumPy
        return to_json(value.tolist())
    return [to_json(element) for element in value]


def read_record(cls: type[Any], value: Any, where: str) -> Any:
    """Check a JSON value against the annotations of a dataclass, and return it as one."""
    from pydantic_core import ValidationError

    try:
        return _validator(cls).validate_python(value)  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = tuple(str(part) for part in first["loc"])
        inner = (first.get("ctx") or {}).get("error")
        if isinstance(inner, _WithinError):
            raise RecordError((*place, *inner.place), inner.reason, where) from error
        raise RecordError(place, first["msg"].removeprefix("Value error, "), where) from error


class _WithinError(ValueError):
    """The fault of a record that is read by its own function."""

    def __init__(self, error: RankjuryError) -> None:
        self.place = error.place if isinstance(error, RecordError) else ()
        self.reason = error.reason if isinstance(error, RecordError) else error.found
        super().__init__(self.reason)


@cache
def _validator(cls: type[Any]) -> "SchemaValidator":
    from pydantic_core import SchemaValidator

    return SchemaValidator(_record_schema(cls))


def _schema_of(kind: Any) -> "CoreSchema":
    """Return the schema of a type; records within records are read by their own ``from_json`` where they have one."""
    from pydantic_core import core_schema as schema

    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        choices = [_number() if choice is float else _schema_of(choice) for choice in inner if choice is not NoneType]
        either = choices[0] if len(choices) == 1 else schema.union_schema(list(choices))
        return schema.nullable_schema(either) if NoneType in inner else either
    if origin is Literal:
        return schema.literal_schema(list(inner))
    if origin is tuple and inner == (float, float):
        return schema.no_info_after_validator_function(check_interval, schema.tuple_schema([_number()] * 2))
    if origin is tuple:
        elements = [_schema_of(element) for element in inner if element is not Ellipsis]
        return schema.tuple_schema(elements, variadic_item_index=0 if inner[-1] is Ellipsis else None)
    if getattr(origin, "__name__", None) == "ndarray":
        import numpy as np

        numbers = schema.list_schema(schema.nullable_schema(_number()), strict=True)
        return schema.no_info_after_validator_function(partial(np.array, dtype=np.float64), numbers)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        keys = schema.int_schema() if inner[0] is int else schema.str_schema(strict=True)
        return schema.dict_schema(keys, _schema_of(inner[1]))
    if is_dataclass(kind) and isinstance(kind, type):
        own = getattr(kind, "from_json", None)
        if own is not None and own.__func__ is not Record.from_json.__func__:  # type: ignore[attr-defined]
            return schema.no_info_plain_validator_function(_within(own))
        return _record_schema(kind)
    if kind not in _simple_schemas():
        raise TypeError(f"no JSON schema for {kind!r}")
    return _simple_schemas()[kind]


@cache
def _simple_schemas() -> "Mapping[Any, CoreSchema]":
    from pydantic_core import core_schema as schema

    # A number or null, which becomes NaN: None passes the first check, fails the second, and so is its default.
    known = schema.with_default_schema(schema.float_schema(strict=True), default=nan, on_error="default")
    return {
        str: schema.str_schema(strict=True),
        bool: schema.bool_schema(strict=True),
        int: schema.int_schema(strict=True, ge=0, le=LARGEST_COUNT),
        float: schema.chain_schema([schema.nullable_schema(_number()), known]),
        Any: schema.no_info_plain_validator_function(check_json_value),
        SignedInt: schema.int_schema(strict=True, ge=-(2**63), le=2**63 - 1),
        Positive: schema.int_schema(strict=True, ge=1, le=LARGEST_COUNT),
        FiniteFloat: schema.float_schema(strict=True, allow_inf_nan=False),
    }


def _record_schema(kind: type[Any]) -> "CoreSchema":
    from pydantic_core import core_schema as schema

    hints = get_type_hints(kind, include_extras=True)
    json_field = getattr(kind, "json_field", None)
    if json_field is not None:
        return schema.no_info_after_validator_function(_within(kind), _schema_of(hints[json_field]))
    keys = getattr(kind, "json_keys", {})
    arguments = []
    for field in fields(kind):
        value = _schema_of(hints[field.name])
        if field.default is not MISSING:
            value = schema.with_default_schema(value, default=field.default)
        elif field.default_factory is not MISSING:
            value = schema.with_default_schema(value, default_factory=field.default_factory)
        arguments.append(schema.dataclass_field(field.name, value, validation_alias=keys.get(field.name)))
    table = schema.dataclass_args_schema(kind.__name__, arguments, extra_behavior="ignore")
    built: CoreSchema = schema.dataclass_schema(kind, table, [field.name for field in fields(kind)])
    if getattr(kind, "__post_init__", Record.__post_init__) is not Record.__post_init__:
        built = schema.no_info_after_validator_function(_within(_check_record), built)
    prepare = getattr(kind, "prepare", None)
    if prepare is not None and prepare.__func__ is not Record.prepare.__func__:  # type: ignore[attr-defined]
        built = schema.no_info_before_validator_function(_within(prepare), built)
    return built


def _check_record(record: Any) -> Any:
    record.__post_init__()  # checks the values against each other
    return record


def _within(read: Any) -> Any:
    def read_within(value: Any) -> Any:
        try:
            return read(value)
        except RankjuryError as error:
            raise _WithinError(error) from error

    return read_within


def _number() -> "CoreSchema":
    from pydantic_core import core_schema as schema

    return schema.float_schema(strict=True, allow_inf_nan=False, ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)


def check_interval(ends: Any) -> Any:
    """Return the two ends of an interval, and refuse those in the wrong order."""
    if ends[0] > ends[1]:
        raise ValueError("expected a lower and an upper end")
    return ends


def check_json_value(value: Any) -> Any:
    """Accept any JSON value but infinity, which JSON writes as 1e999 and cannot be written again."""
    if isinstance(value, float) and not isfinite(value):
        raise ValueError("the number is infinite")
    for element in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        check_json_value(element)
    return value
