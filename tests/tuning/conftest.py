"""What the tests of tuning share."""

from .support import pointer

__all__ = ["pointer"]
