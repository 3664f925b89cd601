"""safetensors: tensors by name; ids, where there are any, as a JSON list under ``ids`` in the metadata."""

import json
from typing import Any

import polars as pl

from karat.errors import DataError, MissingExtra
from karat.formats.source import Source
from karat.formats.vectors.checks import Raw, the_only_one

__all__ = ["read"]


def read(source: Source, key: str | None) -> Raw:
    """The tensor that the key names, or the only one."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError as error:
        raise MissingExtra("safetensors", "vectors", "reading .safetensors") from error
    try:
        with safe_open(source.path, framework="numpy") as held:
            chosen = the_only_one(list(held.keys()), key, "tensor", source.name)
            values = held.get_tensor(chosen)
            ids = _ids_of(held.metadata() or {}, source.name)
    except (SafetensorError, TypeError, ValueError, OSError) as error:
        raise DataError(
            f"cannot be read as safetensors: {error}",
            where=source.name,
            expected="tensors of float16, float32 or float64",
        ) from error
    return Raw(values, ids)


def _ids_of(metadata: dict[str, str], where: str) -> pl.Series | None:
    if "ids" not in metadata:
        return None
    listed: Any = json.loads(metadata["ids"])
    if not isinstance(listed, list) or not all(isinstance(one, str | int) for one in listed):
        raise DataError("the metadata's ids are no list of ids", where=where, expected='["a", "b", …]')
    return pl.Series([str(one) for one in listed], dtype=pl.String)
