"""Records: frozen dataclasses that are written as JSON and read back, by their annotations alone.

The annotations are the schema. What a record holds is written under the names of its fields; reading checks every
value and builds the record in one pass. A number that cannot be known (NaN) is null. Values that follow from others
(``computed``) are written for people who read the file, and ignored when it is read.
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

from karat.errors import DataError, shorten

if TYPE_CHECKING:
    from pydantic_core import CoreSchema, SchemaValidator

__all__ = ["FiniteFloat", "Record", "SignedInt", "keep_one_nan", "read_record", "to_json"]

_LARGEST = 1e150
"""Bound of the numbers that others are computed from: their differences and squares stay finite."""
_LARGEST_COUNT = 2**53
SignedInt = Annotated[int, "signed"]
"""A whole number of 64 bits; a plain ``int`` of a record is a count, which is not negative."""
FiniteFloat = Annotated[float, "finite"]
"""A number up to the largest that there is; a plain ``float`` of a record is one to compute with, or NaN."""


class Record:
    """Base class of dataclasses that are written as JSON."""

    computed: ClassVar[tuple[str, ...]] = ()
    """Names of properties that are written too."""
    json_keys: ClassVar[Mapping[str, str]] = {}
    """By field, its key in JSON where that is another."""
    unwritten: ClassVar[tuple[str, ...]] = ()
    """Fields that are not written; they have a default."""

    def to_json(self) -> Any:
        """Return the record as JSON values; what cannot be known is null."""
        written = [one.name for one in fields(self) if one.name not in self.unwritten]  # type: ignore[arg-type]
        return {self.json_keys.get(name, name): to_json(getattr(self, name)) for name in (*written, *self.computed)}

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


def keep_one_nan(record: Any, *names: str) -> None:
    """Replace any NaN of a frozen record by one object, so that records read back equal those written."""
    for name in names:
        value = getattr(record, name)
        if value is not None and value != value:
            object.__setattr__(record, name, nan)


def to_json(value: Any) -> Any:
    """Return any value that a record holds as JSON values."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    if isinstance(value, Record):
        return value.to_json()
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
        place = " → ".join(shorten(str(part)) for part in first["loc"])
        found = first["msg"].removeprefix("Value error, ")
        raise DataError(
            f"{place}: {found}" if place else found, where=where, expected="a report as karat writes it"
        ) from error


@cache
def _validator(cls: type[Any]) -> "SchemaValidator":
    from pydantic_core import SchemaValidator

    return SchemaValidator(_schema_of(cls, top=True))


def _schema_of(kind: Any, *, top: bool = False) -> "CoreSchema":
    """Return the schema of a type; records within records are read by their own ``from_json`` where they have one."""
    from pydantic_core import core_schema as schema

    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        known = [one for one in inner if one is not NoneType]
        found = _number() if known == [float] else _schema_of(known[0])
        if len(known) > 1:
            found = schema.union_schema([_number() if one is float else _schema_of(one) for one in known])
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
    if isinstance(origin, type) and issubclass(origin, Mapping):
        keys = schema.int_schema() if inner[0] is int else schema.str_schema(strict=True)
        return schema.dict_schema(keys, _schema_of(inner[1]))
    if is_dataclass(kind) and isinstance(kind, type):
        own = getattr(kind, "from_json", None)
        if not top and own is not None and own.__func__ is not Record.from_json.__func__:  # type: ignore[attr-defined]
            return schema.no_info_plain_validator_function(_reader(kind))
        return _record_schema(kind)
    simple = {
        str: schema.str_schema(strict=True),
        bool: schema.bool_schema(strict=True),
        int: schema.int_schema(strict=True, ge=0, le=_LARGEST_COUNT),
        float: schema.no_info_after_validator_function(_known, schema.nullable_schema(_number())),
        Any: schema.no_info_plain_validator_function(_check_value),
        SignedInt: schema.int_schema(strict=True, ge=-(2**63), le=2**63 - 1),
        FiniteFloat: schema.float_schema(strict=True, allow_inf_nan=False),
    }
    if kind not in simple:
        raise TypeError(f"no JSON schema for {kind!r}")
    return simple[kind]


def _record_schema(kind: type[Any]) -> "CoreSchema":
    from pydantic_core import core_schema as schema

    hints = get_type_hints(kind, include_extras=True)
    keys, unwritten = getattr(kind, "json_keys", {}), getattr(kind, "unwritten", ())
    held = [one for one in fields(kind) if one.init and one.name not in unwritten]
    arguments = []
    for one in held:
        found = _schema_of(hints[one.name])
        if one.default is not MISSING:
            found = schema.with_default_schema(found, default=one.default)
        elif one.default_factory is not MISSING:
            found = schema.with_default_schema(found, default_factory=one.default_factory)
        arguments.append(schema.typed_dict_field(found, required=found["type"] != "default", validation_alias=None))
    names = [keys.get(one.name, one.name) for one in held]
    table = schema.typed_dict_schema(dict(zip(names, arguments, strict=True)), extra_behavior="ignore")
    fields_by_key = dict(zip(names, [one.name for one in held], strict=True))

    def build(found: dict[str, Any]) -> Any:
        try:
            return kind(**{fields_by_key[key]: value for key, value in found.items()})
        except DataError as error:
            raise ValueError(str(error)) from error

    return schema.no_info_after_validator_function(build, table)


def _reader(kind: type[Any]) -> Any:
    def read(value: Any) -> Any:
        try:
            return kind.from_json(value)
        except DataError as error:
            raise ValueError(error.found) from error

    return read


def _number() -> "CoreSchema":
    from pydantic_core import core_schema as schema

    return schema.float_schema(strict=True, allow_inf_nan=False, ge=-_LARGEST, le=_LARGEST)


def _known(value: float | None) -> float:
    return nan if value is None else value


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
