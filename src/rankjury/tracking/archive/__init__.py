"""The archive that remembers: every run with what it was made of, whole or not at all, readable for ever."""

from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.files import is_forbidden
from rankjury.tracking.archive.manifest import SCHEMA, Origin
from rankjury.tracking.archive.run import Run
from rankjury.tracking.archive.store import telling

__all__ = ["SCHEMA", "Archive", "Origin", "Run", "is_forbidden", "telling"]
