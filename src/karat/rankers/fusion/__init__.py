"""Several rankings made one.

``fuse`` does it once; ``Aligned`` lays the rankings on each other, so that many ways of fusing them are cheap to try.
"""

from karat.rankers.fusion.aligned import Aligned, fuse
from karat.rankers.fusion.normalising import NORMALISATIONS
from karat.rankers.fusion.value import METHODS, Fusion, Method, method

__all__ = ["METHODS", "NORMALISATIONS", "Aligned", "Fusion", "Method", "fuse", "method"]
