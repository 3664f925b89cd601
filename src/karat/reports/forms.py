"""Importing this registers karat's own forms."""

from karat.reports import csv, json, markdown

__all__ = ["csv", "json", "markdown"]
