"""Tests of the kinds of systems."""
