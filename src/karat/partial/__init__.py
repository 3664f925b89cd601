"""Partial matches: which of a query's keywords each of its results has and which it lacks, and what that shows.

Which keyword is missed most and what stands in its place, and whether results that are wrong are alike in what was not
asked for: the look of the scene rather than what happens in it.
"""

from karat.partial.counting import partial_matches
from karat.partial.value import Alike, LookAlike, Looked, Missed, Partial, Result

__all__ = ["Alike", "LookAlike", "Looked", "Missed", "Partial", "Result", "partial_matches"]
