"""Where rankings come from."""
