"""Makes karat's own recommenders known."""

from karat.recommenders import popularity

__all__ = ["popularity"]
