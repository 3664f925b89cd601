"""The archive that remembers: every run with what it was made of, whole or not at all, readable for ever."""

from karat.archive.archive import Archive
from karat.archive.files import is_forbidden
from karat.archive.manifest import SCHEMA, Origin
from karat.archive.run import Run
from karat.archive.storing import telling

__all__ = ["SCHEMA", "Archive", "Origin", "Run", "is_forbidden", "telling"]
