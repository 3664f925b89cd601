"""The lab: an index built, searched, timed and held against exact search."""
