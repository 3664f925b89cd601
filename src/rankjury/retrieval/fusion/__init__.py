"""Fusion of rankings: ``align.fuse`` fuses once; ``align.Aligned`` makes it cheap to try many fusions."""
