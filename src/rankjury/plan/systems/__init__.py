"""Kinds of systems in a plan."""
