"""The archive that remembers: every run with what it was made of, whole or not at all, readable for ever."""

from rankjury.archive.archive import Archive
from rankjury.archive.files import is_forbidden
from rankjury.archive.manifest import SCHEMA, Origin
from rankjury.archive.run import Run
from rankjury.archive.storing import telling

__all__ = ["SCHEMA", "Archive", "Origin", "Run", "is_forbidden", "telling"]
