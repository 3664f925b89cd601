"""Fusion of rankings: ``align.fuse`` fuses once; ``align.Aligned`` makes many fusions of the same rankings cheap."""
