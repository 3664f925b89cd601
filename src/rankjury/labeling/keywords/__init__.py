"""Keyword labels: vocabulary, annotations, predicates, and mapping of texts to keywords."""
