"""Several rankings made one.

``fuse`` does it once; ``Aligned`` lays the rankings on each other, so that many ways of fusing them are cheap to try.
"""

from rankjury.rankers.fusion.aligned import Aligned, fuse
from rankjury.rankers.fusion.normalising import NORMALISATIONS
from rankjury.rankers.fusion.value import METHODS, Fusion, Method, method

__all__ = ["METHODS", "NORMALISATIONS", "Aligned", "Fusion", "Method", "fuse", "method"]
