"""The archive that remembers: every run with what it was made of, whole or not at all, readable for ever."""

from karat.archive.archive import Archive
from karat.archive.durable import is_forbidden
from karat.archive.origin import Origin
from karat.archive.run import Run
from karat.archive.running import telling
from karat.archive.upgrading import SCHEMA

__all__ = ["SCHEMA", "Archive", "Origin", "Run", "is_forbidden", "telling"]
