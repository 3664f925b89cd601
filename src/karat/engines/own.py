"""Makes karat's own engines known. Their libraries are loaded when an engine is made, not here."""

from karat.engines import exact

__all__ = ["exact"]
