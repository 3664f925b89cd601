"""Makes karat's own kinds of gold and systems known."""

from karat.plan import golds, indexes, interactions, keywords, recommenders, systems, texts

__all__ = ["golds", "indexes", "interactions", "keywords", "recommenders", "systems", "texts"]
