"""Tests of the kinds of gold."""
