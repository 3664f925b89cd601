"""Kinds of gold in a plan."""
