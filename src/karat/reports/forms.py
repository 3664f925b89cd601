"""Importing this registers karat's own forms."""

from karat.reports import FORMS, csv, curves, html, json, markdown

__all__ = ["csv", "curves", "html", "json", "markdown"]

FORMS.add("png", curves.to_png)
FORMS.add("svg", curves.to_svg)
