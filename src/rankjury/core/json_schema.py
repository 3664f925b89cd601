"""Types of untrusted JSON: a parser with limits, and the vocabulary in which schemas of JSON files are written.

A schema checks what a file holds and returns nothing: the values stay as they were parsed, to the last digit.
"""

from collections.abc import Mapping
from typing import Any

from pydantic_core import CoreSchema, SchemaValidator, ValidationError, core_schema, from_json

from rankjury.core.validation import LARGEST_COUNT, LARGEST_NUMBER, check_interval, check_json_value
from rankjury.errors import DataError, shorten

TEXT: CoreSchema = core_schema.str_schema(strict=True)
FLAG: CoreSchema = core_schema.bool_schema(strict=True)
COUNT: CoreSchema = core_schema.int_schema(strict=True, ge=0, le=LARGEST_COUNT)
NUMBER: CoreSchema = core_schema.float_schema(strict=True, allow_inf_nan=False, ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)
VALUE: CoreSchema = core_schema.no_info_plain_validator_function(check_json_value)


def optional(schema: CoreSchema) -> CoreSchema:
    """Return the schema of a value that may be null."""
    return core_schema.nullable_schema(schema)


def array(items: CoreSchema, *, length: int | None = None) -> CoreSchema:
    """Return the schema of a list of values; of so many where ``length`` is given."""
    return core_schema.list_schema(items, min_length=length, max_length=length, strict=True)


def table(values: CoreSchema, keys: CoreSchema = TEXT, *, least: int = 0) -> CoreSchema:
    """Return the schema of an object with any keys, ``least`` at least."""
    return core_schema.dict_schema(keys, values, min_length=least, strict=True)


def record(required: Mapping[str, CoreSchema], **others: CoreSchema) -> CoreSchema:
    """Return the schema of an object: ``required`` keys, ``others`` that may be absent or null, and any more."""
    fields = {key: core_schema.typed_dict_field(schema) for key, schema in required.items()}
    fields |= {key: core_schema.typed_dict_field(optional(schema), required=False) for key, schema in others.items()}
    return core_schema.typed_dict_schema(fields, extras_schema=VALUE, extra_behavior="allow", strict=True)


INTERVAL: CoreSchema = core_schema.no_info_after_validator_function(check_interval, array(NUMBER, length=2))


def parse_strict_json(octets: bytes, where: str) -> Any:
    """Parse JSON of unknown origin.

    Args:
        octets: The content of a file.
        where: The file, for errors.

    Raises:
        DataError: Where it is not JSON, is nested more than 200 levels deep or has a number of over 4,300 digits.
    """
    try:
        return from_json(octets, allow_inf_nan=False, cache_strings="keys")
    except ValueError as error:
        raise DataError(f"not JSON: {error}", where=where) from error


def check_json(validator: SchemaValidator, value: Any, where: str, expected: str) -> None:
    """Check a parsed file against its schema.

    Raises:
        DataError: With the path of the first value that is not as the schema has it.
    """
    try:
        validator.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = " → ".join(shorten(str(part)) for part in first["loc"])
        found = first["msg"].removeprefix("Value error, ")
        raise DataError(f"{place}: {found}" if place else found, where=where, expected=expected) from error
