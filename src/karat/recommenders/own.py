"""Makes karat's own recommenders known."""

from karat.recommenders import called, content, factors, given, hybrid, linear, machines, neighbours, popularity

__all__ = ["called", "content", "factors", "given", "hybrid", "linear", "machines", "neighbours", "popularity"]
