"""Several rankings made one.

``fuse`` does it once; ``Aligned`` lays the rankings on each other, so that many ways of fusing them are cheap to try.
"""

from rankjury.retrieval.fusion.align import Aligned, fuse
from rankjury.retrieval.fusion.fusion import METHODS, Fusion, Method, method
from rankjury.retrieval.fusion.normalize import NORMALISATIONS

__all__ = ["METHODS", "NORMALISATIONS", "Aligned", "Fusion", "Method", "fuse", "method"]
