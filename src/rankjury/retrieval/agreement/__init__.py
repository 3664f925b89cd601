"""Agreement of candidate embeddings with a reference embedding."""
