"""Makes karat's own kinds of gold and systems known."""

from karat.plan import golds, indexes, keywords, systems, texts

__all__ = ["golds", "indexes", "keywords", "systems", "texts"]
