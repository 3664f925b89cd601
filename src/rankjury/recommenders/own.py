"""Makes rankjury's own recommenders known, in the order in which they are listed."""

# ruff: noqa: I001
from rankjury.recommenders import popularity, neighbours, factors, linear, machines, content, hybrid, given, called

__all__ = ["called", "content", "factors", "given", "hybrid", "linear", "machines", "neighbours", "popularity"]
