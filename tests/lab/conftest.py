"""What the tests of the lab share."""

from .support import glance

__all__ = ["glance"]
