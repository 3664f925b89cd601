"""Where truth comes from; one file a kind."""
