"""Two reports → Drift."""

from karat.arguments import check_arguments
from karat.comparisons import compare_scores
from karat.drift.churn import Churn, churn_between
from karat.drift.circumstances import changes_of
from karat.drift.moves import ALLOWED, moves_between
from karat.drift.pairs import Tested, pair_quality, pair_similarities
from karat.drift.value import Drift
from karat.errors import DataError, UnknownName, UsageError
from karat.report import Report
from karat.stability import Stability
from karat.statistics.intervals import Resampling

__all__ = ["drift_between", "systems_in_both"]


@check_arguments
def drift_between(
    new: Report, old: Report, *, system: str | None = None, old_system: str | None = None, allowed: float = ALLOWED
) -> Drift:
    """Compare a system of a report with an earlier report.

    Args:
        new: The report, fresh or read back.
        old: The earlier one.
        system: The system; the only one whose stability is known unless it is named.
        old_system: The earlier system; the one of the same name, or the only one, unless it is named.
        allowed: How far a value may move, as a share.

    Returns:
        What moved and what changed.

    Raises:
        UsageError: Where there are several systems and none is named, or ``allowed`` is negative.
        DataError: Where a report holds no stability of the system, or the reports have no query in common.
    """
    if not allowed >= 0:
        raise UsageError(f"a change of {allowed} is allowed", expected="a share such as 0.05, for 5 %")
    name = _choose(new, system, None)
    old_name = _choose(old, old_system, name)
    ours, theirs = _stability(new, name), _stability(old, old_name)
    if ours.k != theirs.k:
        raise DataError(
            f"the stability is over the first {ours.k} items here and the first {theirs.k} in {old.source}",
            where=new.source,
            expected="the same k in both reports",
        )
    resampling = new.resampling or Resampling()
    similarities, notes = pair_similarities((name, ours), (old_name, theirs), f"{new.source} × {old.source}")
    quality, more_notes = pair_quality((name, new), (old_name, old))
    pairs = [similarities, *([] if quality is None else [quality])]
    compared = compare_scores(pairs, resampling, relative=True)
    tested = [tuple(Tested(one, resampling.level) for one in some) for some in compared]
    churn = _churn(new, name, old, old_name, ours.k)
    if churn is None:
        more_notes.append("rank churn is not known: the reports do not hold the first items of the same queries")
    return Drift(
        *(name, old_name, new.source, old.source, ours.k, allowed),
        moved=tuple(moves_between(ours, theirs, allowed)),
        tested=tested[0],
        quality=() if quality is None else tested[1],
        churn=churn,
        circumstances=changes_of(old, old_name, new, name),
        notes=(*notes, *more_notes),
    )


def systems_in_both(new: Report, old: Report) -> list[str]:
    """Return the systems whose stability both reports hold under one name."""
    return [name for name in new.sections_of(Stability) if name in old.sections_of(Stability)]


def _choose(report: Report, named: str | None, alike: str | None) -> str:
    """Return the system that is named, that is called alike, or the only one whose stability is known."""
    if named is not None:
        if named not in report.systems:
            raise UnknownName("system", named, report.systems, where=report.source)
        return named
    if alike is not None and alike in report.systems:
        return alike
    known = list(report.sections_of(Stability) or report.systems)
    if len(known) > 1:
        raise UsageError(
            f"there are several systems: {', '.join(known)}",
            where=report.source,
            expected=f"one, or one called {alike}" if alike else "one",
            hint="Name it with --system.",
        )
    return known[0]


def _stability(report: Report, system: str) -> Stability:
    found = report.section(Stability, system)
    if found is None:
        raise DataError(
            f"the report holds no stability of {system}",
            where=report.source,
            expected="similarities of the first items and lengths of vectors",
            hint="karat run records them of systems that search vectors: make the report again with such a plan.",
        )
    return found


def _churn(new: Report, system: str, old: Report, old_system: str, k: int) -> Churn | None:
    ours, theirs = _first_items(new, system), _first_items(old, old_system)
    ids = sorted(set(ours) & set(theirs))
    return churn_between([theirs[id_] for id_ in ids], [ours[id_] for id_ in ids], ids, k=k)


def _first_items(report: Report, system: str) -> dict[str, tuple[str, ...]]:
    """Return the first items by query; none where the report does not hold them."""
    lists = report.top_items.get(system) or ()
    ids = [str(query) for query in report.queries.ids] if lists and report.queries is not None else []
    if len(lists) != len(ids):
        raise DataError(f"there are not as many first items of {system} as queries", where=report.source)
    return dict(zip(ids, lists, strict=True))
