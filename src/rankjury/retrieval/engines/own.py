"""Makes rankjury's own engines known. Their libraries are loaded when an engine is made, not here."""
