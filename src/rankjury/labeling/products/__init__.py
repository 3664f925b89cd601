"""Product labels: catalogs, query parsing, graded relevance by rules."""
