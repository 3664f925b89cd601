"""safetensors: tensors by name; ids, where there are any, as a JSON list under ``ids`` in the metadata."""

from karat.errors import MissingExtra
from karat.formats.source import Source
from karat.formats.vectors.checks import Raw, the_only_one
from karat.formats.vectors.ids import ids_of_json
from karat.guard import guard_reading

__all__ = ["read"]


def read(source: Source, key: str | None) -> Raw:
    """The tensor that the key names, or the only one."""
    try:
        from safetensors import safe_open
    except ImportError as error:
        raise MissingExtra("safetensors", "vectors", "reading .safetensors") from error
    with guard_reading(source.name, "safetensors"), safe_open(source.path, framework="numpy") as held:
        chosen = the_only_one(list(held.keys()), key, "tensor", source.name)
        values = held.get_tensor(chosen)
        listed = (held.metadata() or {}).get("ids")
    return Raw(values, None if listed is None else ids_of_json(listed, f"{source.name}, the metadata's ids"))
