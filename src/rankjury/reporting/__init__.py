"""Reports shown on the console, in notebooks and as files; ``writers`` has one module per output format."""
