"""Keyword mappers: one module per method."""
