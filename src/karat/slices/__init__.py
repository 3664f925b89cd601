"""Groups of queries, or of items, by their attributes: type=how-to, length=q1, type=how-to*lang=fr.

An attribute is asked for by its name, with how to cut it where it is a number: ``length`` (quartiles),
``length(quantiles=3)``, ``length(bins=5/10)``. ``type*lang`` crosses two. What groups there are follows from how often
each value stands (``census``), so it can be told from blocks of rows as well as from all of them.
"""

from karat.slices.attributes import Attribute, parse_attributes
from karat.slices.cuts import Cuts, ItemGroups
from karat.slices.groups import Group, group_by, suitable_attributes

__all__ = ["Attribute", "Cuts", "Group", "ItemGroups", "group_by", "parse_attributes", "suitable_attributes"]
