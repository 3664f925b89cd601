"""The lab: an index built, searched, timed and compared with exact search."""
