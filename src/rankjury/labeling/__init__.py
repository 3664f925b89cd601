"""Labels for texts: keyword annotations and mapping, and graded relevance of products by rules."""
