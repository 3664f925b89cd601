"""The ways of splitting that rankjury brings: importing them registers them."""
