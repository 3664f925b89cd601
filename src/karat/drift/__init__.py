"""Drift: a report beside an earlier one. Are similarities and lengths still what they were, and is a change real?

Two answers stand side by side. The rule: no figure may move by more than a share, ±5 % unless it is said otherwise. The
statistics: over the queries that both reports asked, is the mean difference more than noise? They may disagree: many
queries show a change that the rule lets pass, and few leave open what the rule forbids.
"""

from karat.drift.between import drift_between, systems_in_both
from karat.drift.churn import Churn, Churned, churn_between, overlap_of, rbo_of
from karat.drift.circumstances import Changed, Circumstances, changes_of
from karat.drift.moves import ALLOWED, Moved
from karat.drift.pairs import Tested
from karat.drift.value import DRIFT_SCHEMA, Drift

__all__ = [
    "ALLOWED",
    "DRIFT_SCHEMA",
    "Changed",
    "Churn",
    "Churned",
    "Circumstances",
    "Drift",
    "Moved",
    "Tested",
    "changes_of",
    "churn_between",
    "drift_between",
    "overlap_of",
    "rbo_of",
    "systems_in_both",
]
