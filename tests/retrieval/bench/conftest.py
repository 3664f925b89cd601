"""What the tests of the lab share."""

from tests.retrieval.bench.support import glance

__all__ = ["glance"]
