"""What can be chosen with data, chosen: weights of a fusion by cross-validation, settings of a model on validation."""
