"""The usual name of a measure whose own name misleads: recall divided by k is what everybody else calls precision."""

from collections.abc import Mapping

from karat.measure import Measure, split_spelling

__all__ = ["LEGEND", "beside", "usual_name", "usual_names"]

LEGEND = "After =: what the measure is usually called"
_USUAL = {("recall", "k"): "precision", ("precision", "relevant"): "recall"}
"""By metric and divisor. The other divisors (min, found, retrieved) give quantities that have no other name."""


def usual_name(measure: Measure | str) -> str | None:
    """``precision@5`` for ``recall(over=k)@5``; None where there is no other name for exactly the same quantity.

    The other conventions (``rel``, ``self``, ``empty`` …) hold for both names. A measure whose gold is cut has no other
    name: wherever the gold is long enough, as many items are relevant as are shown, and precision and recall are one.
    """
    name, options, k = split_spelling(str(measure))
    usual = _USUAL.get((name, options.get("over", "")))
    if usual is None or options.get("gold", "all") != "all":
        return None
    return usual if k is None else f"{usual}@{k}"


def usual_names(conventions: Mapping[str, str]) -> dict[str, str]:
    """By label, from the spellings by label: the usual names of those that have one."""
    found = {label: usual_name(spelling) for label, spelling in conventions.items()}
    return {label: usual for label, usual in found.items() if usual is not None}


def beside(label: str, usual: str | None) -> str:
    """``Recall@5 = precision@5``: both names where there are two."""
    return label if usual is None else f"{label} = {usual}"
