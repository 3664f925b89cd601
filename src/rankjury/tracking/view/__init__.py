"""The page that explores: a local server over the archive, read-only, for one person on this machine."""
