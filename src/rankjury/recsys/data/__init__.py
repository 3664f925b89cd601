"""Interaction logs: reading, columns, attributes."""
