"""Shared building blocks: types, registry, parameters, validation, conversion of in-memory data, progress."""
