"""What can be chosen with data, chosen: weights of a fusion by cross-validation, settings of a model on validation."""

from rankjury.retrieval.fusion.tune import CONSTANTS, TUNING_SCHEMA, Tuning, settings_of, tune

__all__ = ["CONSTANTS", "TUNING_SCHEMA", "Tuning", "settings_of", "tune"]
