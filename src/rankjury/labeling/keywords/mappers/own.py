"""Makes rankjury's own methods known. Models and libraries are loaded when a method is used, not here."""
