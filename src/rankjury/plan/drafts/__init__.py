"""Drafts of plans, one module for each kind or two; ``rankjury init`` writes them."""
