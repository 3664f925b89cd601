"""What the files and modules hold that settings of a plan name: other contents are another model of the same name."""

from collections.abc import Iterator, Mapping
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from karat.formats.vectors import ids_beside, split_off_key
from karat.functions import is_function_name, looked_for_here

__all__ = ["contents_of"]


def contents_of(settings: Any, folder: Path) -> dict[str, str]:
    """By path, or by the name of a module, digests of all that the texts among settings name; the rest is passed over.

    Of a module only its own file counts, not what it imports.
    """
    found: dict[str, str] = {}
    for text in sorted(set(_texts(settings))):
        for name, file in _files(text, folder):
            with file.open("rb") as content:
                found[name] = file_digest(content, "sha256").hexdigest()
    return found


def _texts(settings: Any) -> Iterator[str]:
    if isinstance(settings, str):
        yield settings
    elif isinstance(settings, Mapping):
        for value in settings.values():
            yield from _texts(value)
    elif isinstance(settings, list | tuple):
        for value in settings:
            yield from _texts(value)


def _files(text: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """The file that a text names, perhaps as FILE:KEY, and that of its ids; or the file of a module."""
    for spelling in dict.fromkeys((text, split_off_key(text)[0])):
        path = folder / spelling
        if _is_file(path):
            yield spelling, path
            ids = ids_beside(str(path))
            if ids is not None and _is_file(Path(ids)):
                yield f"{spelling}, ids", Path(ids)
            return
    if is_function_name(text):
        module = text.partition(":")[0]
        origin = _origin(module)
        if origin is not None:
            yield module, origin


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a text that can be no path
        return False


def _origin(module: str) -> Path | None:
    """The file of a module, without its being run; packages that it is in are."""
    with looked_for_here():
        try:
            spec = find_spec(module)
        except (Exception, SystemExit):  # told of when it is imported
            return None
    origin = None if spec is None else spec.origin
    return Path(origin) if origin is not None and _is_file(Path(origin)) else None
