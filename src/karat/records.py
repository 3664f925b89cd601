"""Records: frozen dataclasses that are written as JSON and read back, by their annotations alone.

The annotations are the schema. What a record holds is written under the names of its fields; reading checks every
value and builds the record in one pass of pydantic's core. A number that cannot be known (NaN) is null. Values that
follow from others (``computed``) are written for people who read the file, and ignored when it is read.
"""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from math import isfinite, nan
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from karat.errors import DataError, KaratError, shorten

if TYPE_CHECKING:
    from pydantic_core import CoreSchema, SchemaValidator

__all__ = ["FiniteFloat", "Positive", "Record", "RecordError", "SignedInt", "read_record", "to_json"]

_LARGEST = 1e150
"""Bound of the numbers that others are computed from: their differences and squares stay finite."""
_LARGEST_COUNT = 2**53
SignedInt = Annotated[int, "signed"]
"""A whole number of 64 bits; a plain ``int`` of a record is a count, which is not negative."""
Positive = Annotated[int, "positive"]
"""A count of at least 1."""
FiniteFloat = Annotated[float, "finite"]
"""A number up to the largest that there is; a plain ``float`` of a record is one to compute with, or NaN."""
_EXPECTED = "a report as karat writes it"
_PLAIN = {str, int, bool, NoneType}


class RecordError(DataError):
    """A value that is not as karat writes it, with its path."""

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
        found = {}
        for name, key, default in _written(type(self)):  # type: ignore[arg-type]
            value = getattr(self, name)
            if default is MISSING or value != default:
                found[key] = to_json(value)
        return found

    @classmethod
    def from_json(cls, value: Any, where: str = "report") -> Self:
        """Read what ``to_json`` wrote.

        Args:
            value: The JSON value.
            where: The file, for errors.

        Raises:
            DataError: With the path of the first value that is not as karat writes it.
        """
        return cast(Self, read_record(cls, value, where))

    @classmethod
    def prepare(cls, value: Any) -> Any:
        """Return the JSON value with what its record has and its JSON says in another way; it is not checked yet."""
        return value


@cache
def _float_fields(kind: type[Any]) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind) if one.type in (float, "float", float | None, "float | None"))


@cache
def _written(kind: type[Record]) -> tuple[tuple[str, str, Any], ...]:
    """Return what is written of a record: the name, the key, and the value that is omitted."""
    found = [
        (one.name, one.default if one.name in kind.omitted else MISSING)
        for one in fields(kind)  # type: ignore[arg-type]
        if one.name not in kind.unwritten
    ]
    found += [(name, MISSING) for name in kind.computed]
    return tuple((name, kind.json_keys.get(name, name), default) for name, default in found)


def to_json(value: Any) -> Any:
    """Return any value that a record holds as JSON values."""
    kind = type(value)
    if kind is float:  # most values are of these types: they are asked about first
        return value if isfinite(value) else None
    if kind in _PLAIN or isinstance(value, str | int):
        return value
    if kind is tuple or kind is list:
        return [to_json(held) for held in value]
    if isinstance(value, Record):
        return value.to_json()
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): to_json(held) for key, held in value.items()}
    if hasattr(value, "tolist"):  # an array or a scalar of NumPy
        return to_json(value.tolist())
    return [to_json(held) for held in value]


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

    def __init__(self, error: KaratError) -> None:
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
        known = [one for one in inner if one is not NoneType]
        each = [_number() if one is float else _schema_of(one) for one in known]
        found = each[0] if len(each) == 1 else schema.union_schema(list(each))
        return schema.nullable_schema(found) if NoneType in inner else found
    if origin is Literal:
        return schema.literal_schema(list(inner))
    if origin is tuple and inner == (float, float):
        return schema.no_info_after_validator_function(_check_interval, schema.tuple_schema([_number()] * 2))
    if origin is tuple:
        several = inner[-1] is Ellipsis
        return schema.tuple_schema(
            [_schema_of(one) for one in inner if one is not Ellipsis], variadic_item_index=0 if several else None
        )
    if getattr(origin, "__name__", None) == "ndarray":
        numbers = schema.list_schema(schema.nullable_schema(_number()), strict=True)
        return schema.no_info_after_validator_function(_array, numbers)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        keys = schema.int_schema() if inner[0] is int else schema.str_schema(strict=True)
        return schema.dict_schema(keys, _schema_of(inner[1]))
    if is_dataclass(kind) and isinstance(kind, type):
        own = getattr(kind, "from_json", None)
        if own is not None and own.__func__ is not Record.from_json.__func__:  # type: ignore[attr-defined]
            return schema.no_info_plain_validator_function(_within(own))
        return _record_schema(kind)
    simple = {
        str: schema.str_schema(strict=True),
        bool: schema.bool_schema(strict=True),
        int: schema.int_schema(strict=True, ge=0, le=_LARGEST_COUNT),
        float: _number_or_nan(),
        Any: schema.no_info_plain_validator_function(_check_value),
        SignedInt: schema.int_schema(strict=True, ge=-(2**63), le=2**63 - 1),
        Positive: schema.int_schema(strict=True, ge=1, le=_LARGEST_COUNT),
        FiniteFloat: schema.float_schema(strict=True, allow_inf_nan=False),
    }
    if kind not in simple:
        raise TypeError(f"no JSON schema for {kind!r}")
    return simple[kind]


def _record_schema(kind: type[Any]) -> "CoreSchema":
    from pydantic_core import core_schema as schema

    hints = get_type_hints(kind, include_extras=True)
    json_field = getattr(kind, "json_field", None)
    if json_field is not None:
        return schema.no_info_after_validator_function(_within(kind), _schema_of(hints[json_field]))
    keys = getattr(kind, "json_keys", {})
    arguments = []
    for one in fields(kind):
        found = _schema_of(hints[one.name])
        if one.default is not MISSING:
            found = schema.with_default_schema(found, default=one.default)
        elif one.default_factory is not MISSING:
            found = schema.with_default_schema(found, default_factory=one.default_factory)
        arguments.append(schema.dataclass_field(one.name, found, validation_alias=keys.get(one.name)))
    table = schema.dataclass_args_schema(kind.__name__, arguments, extra_behavior="ignore")
    built: CoreSchema = schema.dataclass_schema(kind, table, [one.name for one in fields(kind)])
    if getattr(kind, "__post_init__", Record.__post_init__) is not Record.__post_init__:
        built = schema.no_info_after_validator_function(_checked, built)
    prepare = getattr(kind, "prepare", None)
    if prepare is not None and prepare.__func__ is not Record.prepare.__func__:  # type: ignore[attr-defined]
        built = schema.no_info_before_validator_function(_within(prepare), built)
    return built


def _checked(record: Any) -> Any:
    """Return a record after the check of its values against each other, which its class makes when it is built."""
    try:
        record.__post_init__()
    except KaratError as error:
        raise _WithinError(error) from error
    return record


def _within(read: Any) -> Any:
    def read_within(value: Any) -> Any:
        try:
            return read(value)
        except KaratError as error:
            raise _WithinError(error) from error

    return read_within


def _number() -> "CoreSchema":
    from pydantic_core import core_schema as schema

    return schema.float_schema(strict=True, allow_inf_nan=False, ge=-_LARGEST, le=_LARGEST)


def _number_or_nan() -> "CoreSchema":
    """A number or null, which becomes NaN: None passes the first check, fails the second, and so is its default."""
    from pydantic_core import core_schema as schema

    known = schema.with_default_schema(schema.float_schema(strict=True), default=nan, on_error="default")
    return schema.chain_schema([schema.nullable_schema(_number()), known])


def _array(values: list[float | None]) -> Any:
    import numpy as np  # not at the top: most commands do not need it at their start

    return np.array(values, dtype=np.float64)


def _check_interval(ends: tuple[float, float]) -> tuple[float, float]:
    if ends[0] > ends[1]:
        raise ValueError("expected a lower and an upper end")
    return ends


def _check_value(value: Any) -> Any:
    """Accept any JSON value but infinity, which JSON writes as 1e999 and cannot be written again."""
    if isinstance(value, float) and not isfinite(value):
        raise ValueError("the number is infinite")
    for held in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_value(held)
    return value
