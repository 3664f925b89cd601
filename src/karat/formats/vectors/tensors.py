"""safetensors: tensors by name; ids, where there are any, as a JSON list under ``ids`` in the metadata."""

from karat.errors import DataError, MissingExtra
from karat.formats.source import Source
from karat.formats.vectors.checks import Raw, the_only_one
from karat.formats.vectors.ids import ids_of_json

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
            listed = (held.metadata() or {}).get("ids")
    except (SafetensorError, AttributeError, TypeError, ValueError, OSError) as error:
        raise DataError(
            f"cannot be read as safetensors: {error}",
            where=source.name,
            expected="tensors of float16, float32 or float64",
        ) from error
    return Raw(values, None if listed is None else ids_of_json(listed, f"{source.name}, the metadata's ids"))
