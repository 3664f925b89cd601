"""Makes rankjury's own methods known. Models and libraries are loaded when a method is used, not here."""

from rankjury.labeling.keywords.mappers import embedding, exact, keybert

__all__ = ["embedding", "exact", "keybert"]
