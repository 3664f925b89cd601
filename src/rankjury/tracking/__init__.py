"""Tracking: the archive of runs, the local page over it, and loggers of other tools."""
