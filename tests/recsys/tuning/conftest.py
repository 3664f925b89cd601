"""What the tests of tuning share."""

from tests.recsys.tuning.support import pointer

__all__ = ["pointer"]
