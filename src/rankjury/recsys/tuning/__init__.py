"""Tuning of recommenders: settings chosen on the validation window."""
