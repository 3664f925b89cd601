"""From texts to vectors: a corpus read, a model found by its name, its vectors made batch by batch."""
