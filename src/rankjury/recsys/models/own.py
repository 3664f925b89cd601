"""Makes rankjury's own recommenders known, in the order in which they are listed."""
