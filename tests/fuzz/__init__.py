"""Fuzz suite: mutated inputs for readers, plans, targets, archives, functions and commands; see harness.py."""
