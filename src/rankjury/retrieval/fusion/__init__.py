"""Several rankings made one.

``fuse`` does it once; ``Aligned`` lays the rankings on each other, so that many ways of fusing them are cheap to try.
"""
