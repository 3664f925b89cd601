"""Recommender evaluation: interaction logs, splits, tasks, recommenders, tuning and audits."""
